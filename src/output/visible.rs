//! Makes text from elsewhere safe to print.

use std::path::Path;

/// `text` without anything that a terminal would obey or hide: control characters, invisible characters and characters
/// that change the direction of text ("Trojan Source", CVE-2021-42574) are written as escapes (`\n`, `\u{1b}`).
///
/// Names and messages of other programs go through this before they are shown.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else if is_invisible(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A path for a message, without anything that a terminal would obey.
pub fn visible_path(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_would_obey_are_shown_as_escapes() {
        let table = [
            ("plain", "plain"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("日本 µ é", "日本 µ é"),
        ];
        for (text, expected) in table {
            assert_eq!(visible(text), expected);
        }
    }
}
