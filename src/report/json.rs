//! The document as JSON.

use super::document::Document;

/// The document as indented JSON with a final newline.
pub fn render(document: &Document) -> String {
    // Serialising to memory can only fail for maps whose keys are not strings: the document has none.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
