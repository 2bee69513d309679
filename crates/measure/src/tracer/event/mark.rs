//! Marks: a program names its own phases by looking up a path that does not exist and begins with `MARK`.
//!
//! `access("MARK: plugins loaded", 0)` needs no library, and costs about a microsecond when nobody looks.

/// How many bytes of a name are kept. `…` follows if there are more. Every backend sees at least as many.
const MOST_BYTES: usize = 200;

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// `MARK: name`: what it names is done, and the next part begins.
    Done,
    /// `MARK+: name`: a span begins.
    Begins,
    /// `MARK-: name`: it ends.
    Ends,
}

/// A mark as a path spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkPath<'p> {
    /// What it does.
    pub kind: MarkKind,
    /// The name, of any bytes; not empty.
    pub name: &'p [u8],
}

impl MarkPath<'_> {
    /// The mark that a path is; `None` if it is none.
    pub fn of(path: &[u8]) -> Option<MarkPath<'_>> {
        let rest = path.strip_prefix(b"MARK")?;
        let (kind, name) = if let Some(name) = rest.strip_prefix(b":") {
            (MarkKind::Done, name)
        } else if let Some(name) = rest.strip_prefix(b"+:") {
            (MarkKind::Begins, name)
        } else {
            (MarkKind::Ends, rest.strip_prefix(b"-:")?)
        };
        let name = name.trim_ascii();
        (!name.is_empty()).then_some(MarkPath { kind, name })
    }

    /// The name as it is shown.
    pub fn displayed(&self) -> String {
        let mut text = String::from_utf8_lossy(self.name).into_owned();
        if text.len() > MOST_BYTES {
            let end = (0..=MOST_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_path_makes_it_a_mark() {
        let of = |path: &'static str| MarkPath::of(path.as_bytes()).map(|mark| (mark.kind, mark.name));
        assert_eq!(of("MARK: plugins loaded"), Some((MarkKind::Done, &b"plugins loaded"[..])));
        assert_eq!(of("MARK:x"), Some((MarkKind::Done, &b"x"[..])));
        assert_eq!(of("MARK+: a/b "), Some((MarkKind::Begins, &b"a/b"[..])));
        assert_eq!(of("MARK-: a\nb"), Some((MarkKind::Ends, &b"a\nb"[..])));
        for other in ["", "MARK", "MARK:", "MARK: ", "MARK+", "MARK+x: y", "mark: x", "/MARK: x", "MARKED: x"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_long_or_broken_name_is_the_same_on_each_backend() {
        let displayed = |name: &[u8]| MarkPath { kind: MarkKind::Done, name }.displayed();
        let long = "ä".repeat(2000);
        assert_eq!(displayed(long.as_bytes()), format!("{}…", "ä".repeat(100)));
        assert_eq!(displayed(&long.as_bytes()[..249]), displayed(long.as_bytes()));
        assert_eq!(displayed(b"a\xffb"), "a\u{fffd}b");
    }
}
