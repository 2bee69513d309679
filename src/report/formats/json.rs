//! The document as JSON.

use crate::document::Document;

/// The document as indented JSON with a final newline.
///
/// # Panics
///
/// Never: serialising to memory fails only for maps whose keys are not strings, and the document has none.
pub fn render(document: &Document) -> String {
    let text = serde_json::to_string_pretty(document).expect("every key of a document is a string");
    text + "\n"
}
