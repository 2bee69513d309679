//! Documents as JSON.

use serde::Serialize;

/// The document as indented JSON with a final newline.
///
/// # Panics
///
/// Never: serialising to memory fails only for maps whose keys are not strings, and no document has one.
pub fn render(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document).expect("every key of a document is a string");
    text + "\n"
}
