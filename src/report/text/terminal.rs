//! The terminal, and text that fits it.

use crate::output::visible;
use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Where text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// In columns.
    pub width: usize,
    /// In lines.
    pub height: usize,
    /// Colours and bold text are wanted.
    pub colour: bool,
}

/// 80 columns, 24 lines, no colour.
impl Default for Terminal {
    fn default() -> Terminal {
        Terminal { width: 80, height: 24, colour: false }
    }
}

impl Terminal {
    /// `text` in `style`, or unchanged if colours are not wanted.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// `text` in bold, or unchanged.
    pub fn bold(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Breaks `text` at spaces. No line is wider than this terminal, and lines after the first are indented. A word that
    /// is wider than a line is broken, not cut.
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        let width = self.width.max(indent + 2);
        let (mut wrapped, mut used) = (String::new(), 0);
        for piece in text.split_inclusive(' ').flat_map(|word| broken(word, width - indent)) {
            if used + columns(piece.trim_end()) > width {
                wrapped.truncate(wrapped.trim_end().len());
                wrapped.push('\n');
                wrapped.extend(std::iter::repeat_n(' ', indent));
                used = indent;
            }
            used += columns(piece);
            wrapped.push_str(piece);
        }
        wrapped
    }

    /// [`Terminal::wrap`] for every line of a text.
    pub fn wrap_lines(&self, text: &str, indent: usize) -> String {
        text.lines().map(|line| self.wrap(line, indent) + "\n").collect()
    }
}

/// `word` in pieces of at most `width` columns, not counting a space at its end.
fn broken(word: &str, width: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), word);
    while columns(rest.trim_end()) > width {
        let end = rest.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
        let fitting = end.take_while(|end| columns(&rest[..*end]) <= width).last().unwrap_or(rest.len());
        let (piece, after) = rest.split_at(fitting);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// The width of `text` without the colours that [`Terminal::paint`] adds.
pub fn columns(text: &str) -> usize {
    let mut painted = text.split("\u{1b}[");
    let plain = painted.next().map_or(0, UnicodeWidthStr::width);
    let after = |part: &str| UnicodeWidthStr::width(part.split_once('m').map_or(part, |(_, text)| text));
    plain + painted.map(after).sum::<usize>()
}

/// `text`, made [`visible`], in at most `width` columns. The rest is replaced by `…`, between graphemes.
pub fn truncated(text: &str, width: usize) -> String {
    let text = visible(text);
    if columns(&text) <= width {
        return text;
    }
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        if columns(&kept) + columns(grapheme) + 1 > width {
            break;
        }
        kept.push_str(grapheme);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The end of a path says more than its beginning: `path`, made [`visible`], in at most `width` columns, without its
/// beginning if it is longer.
pub fn truncated_front(path: &str, width: usize) -> String {
    let path = visible(path);
    if columns(&path) <= width {
        return path;
    }
    let mut kept = String::new();
    for grapheme in path.graphemes(true).rev() {
        if columns(&kept) + columns(grapheme) + 1 > width {
            break;
        }
        kept.insert_str(0, grapheme);
    }
    if width > 0 { format!("…{kept}") } else { kept }
}

/// `text` in at most `width` columns. If it is longer, the paths in it lose their beginnings first: what stands after them
/// says more.
pub fn truncated_paths(text: &str, width: usize) -> String {
    truncated(&short_paths(text, width), width)
}

/// `text`, made [`visible`], whose paths lose their beginnings, the longest path first, until it has at most `width` columns
/// or they are short.
pub fn short_paths(text: &str, width: usize) -> String {
    let mut text = visible(text);
    while columns(&text) > width {
        let excess = columns(&text) - width;
        let Some(path) =
            paths(&text).max_by_key(|path| path.end - path.start).filter(|path| path.len() > SHORT_PATH)
        else {
            break;
        };
        let room = columns(&text[path.clone()]).saturating_sub(excess).max(SHORT_PATH);
        let short = truncated_front(&text[path.clone()], room);
        if short.len() >= path.len() {
            break;
        }
        text.replace_range(path, &short);
    }
    text
}

/// The ends of paths that remain in any case, in columns.
const SHORT_PATH: usize = 20;

/// The places of the paths in a text: words with a `/`, after a space, a quote or a bracket. The beginnings of options,
/// assignments and addresses of the web say more than their ends.
fn paths(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    const ENDS: [char; 7] = [' ', '"', '<', '>', ',', '+', '`'];
    let mut from = 0;
    text.split_inclusive(ENDS).filter_map(move |word| {
        let start = from;
        from += word.len();
        let bare = word.trim_end_matches(ENDS);
        let is_path =
            bare.contains('/') && !bare.starts_with('-') && !bare.contains('=') && !bare.contains("://");
        is_path.then(|| start..start + bare.len())
    })
}

/// `text`, truncated or padded with spaces to exactly `width` columns.
pub fn fitted(text: &str, width: usize) -> String {
    padded(truncated(text, width), width)
}

/// `text`, padded to `width` columns, or with its paths truncated as by [`truncated_paths`].
pub fn fitted_paths(text: &str, width: usize) -> String {
    padded(truncated_paths(text, width), width)
}

/// A path in exactly `width` columns: without its beginning if it is longer, as by [`truncated_front`].
pub fn fitted_path(path: &str, width: usize) -> String {
    padded(truncated_front(path, width), width)
}

fn padded(mut text: String, width: usize) -> String {
    text.extend(std::iter::repeat_n(' ', width.saturating_sub(columns(&text))));
    text
}

/// Parts in lines of at most `width` columns, three spaces apart. A part is what it says and how it is painted.
pub fn flowed(parts: &[(String, String)], width: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for (plain, painted) in parts {
        let part_width = columns(plain);
        if used > 0 && used + 3 + part_width > width {
            text.push('\n');
            used = 0;
        } else if used > 0 {
            text.push_str("   ");
            used += 3;
        }
        text += painted;
        used += part_width;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_by_columns_not_by_bytes() {
        assert_eq!(truncated("abcdef", 6), "abcdef");
        assert_eq!(truncated("abcdefg", 6), "abcde…");
        assert_eq!(truncated("日本語日本語", 6), "日本…");
        assert_eq!(truncated("日本語", 0), "");
        assert_eq!(truncated("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn paths_are_cut_in_front() {
        assert_eq!(truncated_front("/usr/lib/libc.so", 8), "…libc.so");
        assert_eq!(truncated_front("/usr/lib/libc.so", 0), "");
        let call =
            "openat(AT_FDCWD, \"/usr/share/locale/C.UTF-8/LC_MESSAGES/coreutils.mo\", O_RDONLY) = -1 ENOENT";
        let cut = "openat(AT_FDCWD, \"…/LC_MESSAGES/coreutils.mo\", O_RDONLY) = -1 ENOENT";
        assert_eq!(truncated_paths(call, columns(cut)), cut);
        assert_eq!(truncated_paths(call, 200), call);
        for width in 0..90 {
            assert!(columns(&truncated_paths(call, width)) <= width, "{width}");
        }
    }

    #[test]
    fn relative_paths_are_cut_in_front_too_and_options_are_not() {
        let recording = "recordings/of-a-long-name/2026-11-23/app.rec";
        assert_eq!(truncated_paths(recording, 30), "…-long-name/2026-11-23/app.rec");
        assert_eq!(columns(&fitted_paths(recording, 30)), 30);
        let option = "app --configuration=/etc/app/of/a/long/name.toml";
        assert_eq!(truncated_paths(option, 30), truncated(option, 30));
    }

    #[test]
    fn parts_flow_into_lines_of_the_width() {
        let parts = ["one", "two", "three"].map(|part| (part.to_owned(), part.to_uppercase()));
        assert_eq!(flowed(&parts, 9), "ONE   TWO\nTHREE");
        assert_eq!(flowed(&parts, 2), "ONE\nTWO\nTHREE");
    }

    #[test]
    fn fitted_text_has_exactly_the_requested_width() {
        for text in ["", "a", "日本語日本語", "\u{1b}[0m", "👩‍👩‍👧 family"] {
            for width in 0..12 {
                assert_eq!(columns(&fitted(text, width)), width, "{text:?} in {width}");
            }
        }
    }

    #[test]
    fn wrapped_lines_are_within_the_width_and_lose_no_word() {
        let terminal = Terminal { width: 12, ..Terminal::default() };
        let wrapped = terminal.wrap("one two three four five", 2);
        assert_eq!(wrapped, "one two\n  three four\n  five");
        let painted = Terminal { width: 12, height: 24, colour: true };
        let bold = terminal.wrap(&format!("one {} three", painted.bold("two")), 2);
        assert_eq!(bold, "one \u{1b}[1mtwo\u{1b}[0m\n  three");
        let broken = terminal.wrap("a word_that_is_far_too_long", 2);
        assert_eq!(broken, "a word_that_\n  is_far_too\n  _long");
    }

    #[test]
    fn without_colour_nothing_is_painted() {
        assert_eq!(Terminal::default().bold("x"), "x");
        assert_eq!(Terminal { width: 80, height: 24, colour: true }.bold("x"), "\u{1b}[1mx\u{1b}[0m");
    }
}
