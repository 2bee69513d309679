//! Texts of a first screen, cut to the lines that there are: never within a first sentence, and never what helps.

use super::terminal::{Terminal, columns, short_paths, truncated, truncated_front};

/// A text of a list.
pub(super) struct ListedText {
    text: String,
    /// What comes behind it, and is never cut.
    ending: Option<String>,
    indent: usize,
    /// The lines without which it says less than a sentence, or not what helps.
    pub(super) least: usize,
    /// The same without the ending.
    least_alone: usize,
}

impl ListedText {
    pub(super) fn new(text: String, indent: usize, terminal: &Terminal) -> ListedText {
        let first = first_sentence(&text);
        let all = first.len() == text.len() || text.contains("help: ");
        let needed = if all { text.clone() } else { format!("{first} …") };
        let least = terminal.wrap(&needed, indent).lines().count();
        ListedText { text, ending: None, indent, least, least_alone: least }
    }

    /// The same with an ending, which gets lines of its own where the text is cut.
    pub(super) fn ending_with(self, ending: Option<String>, terminal: &Terminal) -> ListedText {
        let text = ListedText { ending, ..self };
        let apart = text.least + text.apart(terminal).lines().count();
        ListedText { least: apart.min(text.whole(terminal).lines().count()), ..text }
    }

    /// All of it.
    pub(super) fn whole(&self, terminal: &Terminal) -> String {
        let ending = self.ending.iter().map(|ending| format!(" {ending}"));
        let text: String = [self.text.clone()].into_iter().chain(ending).collect();
        terminal.wrap(&text, self.indent) + "\n"
    }

    /// The ending below the text.
    fn apart(&self, terminal: &Terminal) -> String {
        let line = |ending: &String| format!("{:indent$}{ending}", "", indent = self.indent);
        self.ending.as_ref().map_or(String::new(), |ending| terminal.wrap(&line(ending), self.indent) + "\n")
    }

    /// As much of it as fits into `most` lines.
    fn clipped(&self, most: usize, terminal: &Terminal) -> String {
        let whole = self.whole(terminal);
        if whole.lines().count() <= most {
            return whole;
        }
        let ending = if most < self.least { String::new() } else { self.apart(terminal) };
        clipped(&self.text, self.indent, most.saturating_sub(ending.lines().count()), terminal) + &ending
    }
}

/// The end of a sentence is followed by a capital or a name in backquotes, and is not within such a name.
fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(". ").filter(|(at, _)| {
        let goes_on = text[at + 2..].starts_with(|c: char| c.is_uppercase() || c == '`');
        // the number of a finding is no sentence
        goes_on && *at > 2 && text[..*at].matches('`').count().is_multiple_of(2)
    });
    ends.map(|(at, _)| &text[..=at]).next().unwrap_or(text)
}

/// Texts below each other, as far as they fit.
pub(super) struct Listed {
    pub(super) text: String,
    /// How many of them it has.
    pub(super) shown: usize,
}

/// The first texts in at most `lines` lines, or the first one in the lines that it needs, if need be without its ending. Those
/// that remain go to the first ones.
pub(super) fn listed(texts: &[ListedText], lines: usize, terminal: &Terminal) -> Listed {
    let mut needed = 0;
    let fits = |text: &&ListedText| {
        needed += text.least;
        needed <= lines
    };
    let shown = texts.iter().take_while(fits).count().max(texts.len().min(1));
    let least = |text: &ListedText| if text.least > lines { text.least_alone } else { text.least };
    let needed: usize = texts[..shown].iter().map(least).sum();

    let (mut text, mut left) = (String::new(), lines.saturating_sub(needed));
    for each in &texts[..shown] {
        let least = least(each);
        let clipped = each.clipped(least + left, terminal);
        left -= clipped.lines().count().saturating_sub(least).min(left);
        text += &clipped;
    }
    Listed { text, shown }
}

/// What remains free at the end of a line, because the next word is too long for it.
const RAGGED: usize = 8;
/// The end of a path says something from this width on, in columns.
const PATH_END: usize = 10;

/// `text` in at most `most` lines. If it needs more, its paths lose their beginnings, and `…` stands for what still does not
/// fit.
pub(super) fn clipped(text: &str, indent: usize, most: usize, terminal: &Terminal) -> String {
    let mut wrapped = terminal.wrap(text, indent);
    if wrapped.lines().count() > most {
        let room = most * terminal.width.saturating_sub(indent + RAGGED);
        wrapped = terminal.wrap(&short_paths(text, room), indent);
    }

    let mut lines: Vec<String> = wrapped.lines().take(most).map(str::to_owned).collect();
    let next = wrapped.lines().nth(most).and_then(|line| line.split_whitespace().next());
    if let (Some(next), Some(last)) = (next, lines.last_mut()) {
        *last = broken_off(last, next, terminal.width);
    }
    lines.join("\n") + "\n"
}

/// A line that goes on with the word `next`: with the end of this word, if it is a path and there is room, and `…`.
fn broken_off(line: &str, next: &str, width: usize) -> String {
    let room = width.saturating_sub(columns(line) + 3);
    let next = next.trim_matches(['`', ',']);
    let is_path = next.contains('/') || next.starts_with('…');
    if is_path && room >= PATH_END {
        return format!("{line} {} …", truncated_front(next, room));
    }
    let is_room = columns(line) + 2 <= width;
    let words = if is_room { line } else { line.rsplit_once(' ').map_or("", |(words, _)| words) };
    truncated(&format!("{words} …"), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_the_first_sentence_are_never_cut() {
        let long = "a word and ".repeat(20);
        let text = format!("It failed: {long} so. help: type `this`");
        let listed = listed(&[ListedText::new(text, 2, &Terminal::default())], 1, &Terminal::default());
        assert!(listed.text.ends_with("help: type `this`\n"), "{}", listed.text);
        assert_eq!(
            first_sentence("1. 3 ms, 5 %: `a. B` is 1.5 MB. Shorten it. Or not."),
            "1. 3 ms, 5 %: `a. B` is 1.5 MB."
        );
    }

    #[test]
    fn clipped_text_ends_with_a_whole_word() {
        let terminal = Terminal { width: 12, ..Terminal::default() };
        assert_eq!(clipped("one two three four", 2, 1, &terminal), "one two …\n");
        assert_eq!(clipped("one two four five", 2, 1, &terminal), "one two …\n");
        assert_eq!(clipped("one two", 2, 1, &terminal), "one two\n");
    }

    #[test]
    fn clipped_text_keeps_the_ends_of_its_paths() {
        let terminal = Terminal { width: 60, ..Terminal::default() };
        let text = "9 %: It reads `/usr/share/of/a/long/name/and/of/another/module.js`, and works on it";
        let shown = clipped(text, 3, 1, &terminal);
        assert!(shown.starts_with("9 %: It reads `…f/another/module.js`, and works"), "{shown}");
        let terminal = Terminal { width: 30, ..Terminal::default() };
        assert_eq!(clipped(text, 3, 1, &terminal), "9 %: It reads …her/module.js …\n");
        let long_name = "9 %: It reads `/etc/ssl/ca-certificates.crt` and works on it";
        assert_eq!(clipped(long_name, 3, 1, &terminal), "9 %: It reads …tificates.crt …\n");
    }
}
