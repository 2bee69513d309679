//! Text from elsewhere in Markdown, without markup of its own.

use crate::output::visible;

/// Plain text, also inside a table cell.
pub(super) fn plain(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

/// Our own text outside of tables. Its code spans stay.
pub(super) fn with_code(text: &str) -> String {
    text.replace('<', "&lt;").replace('*', "\\*").replace('~', "\\~")
}

/// `text` as a code span inside a table cell. A `|` would end the cell even there; the fence is longer than any run of
/// backticks in the text (`CommonMark` 6.1, GitHub's table extension).
pub(super) fn code(text: &str) -> String {
    let text = visible(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_cell_or_their_code_span() {
        let table = [
            ("plain", "`plain`"),
            ("a|b", "`a\\|b`"),
            ("x\ny", "`x\\ny`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("", "`  `"),
        ];
        for (text, expected) in table {
            assert_eq!(code(text), expected);
        }
    }

    #[test]
    fn text_has_no_markup_of_its_own() {
        assert_eq!(plain("a|b *c* <d> \\"), "a\\|b \\*c\\* &lt;d> \\\\");
        assert_eq!(with_code("`a|b` *c* ~d~"), "`a|b` \\*c\\* \\~d\\~");
    }
}
