//! Finds what only a shell would interpret in a command that runs without one: passed on literally, it would measure
//! another program than the user means. The rules are those of "Shell Command Language" in POSIX, and brace expansion.

use std::iter::Peekable;
use std::str::CharIndices;

/// Commands that are part of the shell's language. Most have no program of the same name.
const OF_SHELLS: [&str; 25] = [
    "!", ".", "[[", "{", "alias", "case", "cd", "declare", "eval", "exec", "export", "for", "function", "if",
    "let", "local", "read", "set", "shift", "source", "trap", "ulimit", "unset", "until", "while",
];

/// The first part of a command that needs a shell, as it is written there.
pub(super) fn find(command: &str) -> Option<&str> {
    first_word(command).or_else(|| Scan { command, chars: command.char_indices().peekable() }.run())
}

/// An assignment before the program's name, or a command of the shell itself.
fn first_word(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    (is_assignment(word) || OF_SHELLS.contains(&word)).then_some(word)
}

/// Whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(begins_name) && chars.all(|c| begins_name(c) || c.is_ascii_digit())
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

struct Scan<'c> {
    command: &'c str,
    chars: Peekable<CharIndices<'c>>,
}

impl<'c> Scan<'c> {
    fn run(mut self) -> Option<&'c str> {
        let (mut in_double, mut word_begins) = (false, true);

        while let Some((at, c)) = self.chars.next() {
            match c {
                '\\' => drop(self.chars.next()),
                '"' => in_double = !in_double,
                '\'' if !in_double => drop(self.chars.by_ref().find(|(_, c)| *c == '\'')),
                '$' if self.expands() => return Some(self.expansion(at)),
                '`' => return Some(self.word(at)),
                _ if in_double => {}
                '|' | '&' | ';' | '<' | '>' | '(' | ')' | '\n' => return Some(self.operator(at)),
                '*' | '?' | '[' => return Some(self.word(at)),
                '~' if word_begins => return Some(self.word(at)),
                '{' if self.braces(at) => return Some(self.word(at)),
                _ => {}
            }
            word_begins = c.is_whitespace() && !in_double;
        }
        None
    }

    /// Whether the `$` before the next character begins an expansion.
    fn expands(&mut self) -> bool {
        self.chars
            .peek()
            .is_some_and(|(_, c)| begins_name(*c) || c.is_ascii_digit() || "{(@*#?$!-'".contains(*c))
    }

    /// `$NAME`, or the rest of the word for other expansions.
    fn expansion(&self, at: usize) -> &'c str {
        let name = self.command[at + 1..].find(|c: char| !begins_name(c) && !c.is_ascii_digit());
        match name {
            Some(0) => self.word(at),
            Some(length) => &self.command[at..at + 1 + length],
            None => &self.command[at..],
        }
    }

    /// Whether these braces hold a list or a range: `{a,b}`, `{1..9}`.
    fn braces(&self, at: usize) -> bool {
        let inner = self.command[at + 1..].split_once('}').map(|(inner, _)| inner);
        inner.is_some_and(|inner| {
            !inner.contains(char::is_whitespace) && (inner.contains(',') || inner.contains(".."))
        })
    }

    /// The word around a place, without the quotes before it.
    fn word(&self, at: usize) -> &'c str {
        let separates = |c: char| c.is_whitespace() || c == '"';
        let begin = self.command[..at].rfind(separates).map_or(0, |before| before + 1);
        let end = self.command[at..].find(separates).map_or(self.command.len(), |length| at + length);
        &self.command[begin..end]
    }

    /// An operator, doubled where it is: `&&`, `||`, `>>`.
    fn operator(&self, at: usize) -> &'c str {
        let one = &self.command[at..=at];
        let doubled = self.command[at + 1..].starts_with(one);
        &self.command[at..at + 1 + usize::from(doubled)]
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn syntax_that_only_a_shell_interprets_is_found() {
        for (command, part) in [
            ("echo $HOME", "$HOME"),
            ("echo \"a $HOME b\"", "$HOME"),
            ("echo x${HOME}y", "x${HOME}y"),
            ("echo $(date)", "$(date)"),
            ("echo `date`", "`date`"),
            ("ls *.c", "*.c"),
            ("ls ~/src", "~/src"),
            ("FOO=1 env", "FOO=1"),
            ("cd x", "cd"),
            ("a; b", ";"),
            ("a && b", "&&"),
            ("a | b", "|"),
            ("a > /dev/null", ">"),
            ("touch {a,b}", "{a,b}"),
            ("seq {1..3}", "{1..3}"),
        ] {
            assert_eq!(find(command), Some(part), "{command}");
        }
    }

    #[test]
    fn what_a_shell_would_pass_on_as_it_is_is_not_found() {
        for command in [
            "awk '{print $1; exit}'",
            "echo \\$HOME a\\*b",
            "grep 'a*b' a~b",
            "node -e \"console.log('a;b')\"",
            "echo 5$ $ \"$\"",
            "xargs -I {} echo {}",
            "seq --format=%g 1 3",
            "test a = b",
            "printf {lines}",
        ] {
            assert_eq!(find(command), None, "{command}");
        }
    }
}
