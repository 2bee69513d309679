//! A way to start the program: its words, and the variables that it changes.

use super::start::Start;
use firstbyte_measure::launch::{Command, ResolveError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One change of the plain command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Start the end of the chain of execs.
    Direct,
    /// The same, without the variables that the chain changes.
    DirectPlain,
    /// Start the child that prints, in the environment of the command.
    DirectChild,
    Set(String, String),
    Unset(String),
    /// Add options to the runtime.
    Options(Vec<String>),
    /// Use these words instead of the runtime.
    Program(Vec<String>),
    /// Put these words before the command.
    Before(Vec<String>),
}

impl Edit {
    /// In this order they are applied: what comes later works on the words that what comes earlier has made.
    fn order(&self) -> u8 {
        match self {
            Edit::Direct | Edit::DirectPlain | Edit::DirectChild => 0,
            Edit::Set(..) | Edit::Unset(_) => 1,
            Edit::Program(_) => 2,
            Edit::Options(_) => 3,
            Edit::Before(_) => 4,
        }
    }

    /// It adds no words.
    pub fn is_empty(&self) -> bool {
        match self {
            Edit::Options(words) | Edit::Program(words) | Edit::Before(words) => words.is_empty(),
            Edit::Direct | Edit::DirectPlain | Edit::DirectChild | Edit::Set(..) | Edit::Unset(_) => false,
        }
    }

    /// Both cannot be used together.
    pub fn conflicts(&self, other: &Edit) -> bool {
        match (self, other) {
            (Edit::Set(name, _) | Edit::Unset(name), Edit::Set(other, _) | Edit::Unset(other)) => {
                name == other
            }
            // the child is another program
            (Edit::DirectChild | Edit::Program(_), Edit::Program(_))
            | (Edit::DirectChild, Edit::Options(_))
            | (Edit::Options(_) | Edit::Program(_), Edit::DirectChild) => true,
            (one, other) => one == other || one.is_direct() && other.is_direct(),
        }
    }

    pub fn is_direct(&self) -> bool {
        matches!(self, Edit::Direct | Edit::DirectPlain | Edit::DirectChild)
    }
}

/// How the program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    pub words: Vec<String>,
    pub set: BTreeMap<String, String>,
    pub unset: BTreeSet<String>,
}

impl Way {
    /// As the user gave it.
    pub fn plain(start: &Start) -> Way {
        Way { words: start.words.clone(), ..Way::default() }
    }

    /// The plain way with some changes.
    pub fn of<'e>(start: &Start, edits: impl IntoIterator<Item = &'e Edit>) -> Way {
        let mut edits: Vec<&Edit> = edits.into_iter().collect();
        edits.sort_by_key(|edit| edit.order());
        let mut way = Way::plain(start);
        for edit in edits {
            way.apply(edit, start);
        }
        way
    }

    fn apply(&mut self, edit: &Edit, start: &Start) {
        match edit {
            Edit::Direct => {
                if let Some(end) = &start.end {
                    self.words.clone_from(&end.words);
                    self.set.extend(end.set.clone());
                    self.unset.extend(end.unset.clone());
                }
            }
            Edit::DirectPlain => {
                if let Some(end) = &start.end {
                    self.words.clone_from(&end.words);
                }
            }
            Edit::DirectChild => {
                if let Some(child) = &start.child {
                    self.words.clone_from(&child.words);
                }
            }
            Edit::Set(name, value) => {
                self.unset.remove(name);
                self.set.insert(name.clone(), value.clone());
            }
            Edit::Unset(name) => {
                self.set.remove(name);
                self.unset.insert(name.clone());
            }
            Edit::Options(options) => {
                self.name_runtime(start);
                self.words.splice(1..1, options.iter().cloned());
            }
            Edit::Program(words) => {
                self.name_runtime(start);
                self.words.splice(0..1, words.iter().cloned());
            }
            Edit::Before(words) => {
                self.words.splice(0..0, words.iter().cloned());
            }
        }
    }

    /// A script has no place for options of its interpreter.
    fn name_runtime(&mut self, start: &Start) {
        if self.words == start.words
            && let Some(words) = start.runtime_words()
        {
            self.words = words.to_vec();
        }
    }

    /// Ready to be run.
    pub fn command(&self) -> Result<Command, ResolveError> {
        let mut command = Command::new(&self.words)?;
        self.unset.iter().for_each(|name| command.remove_variable(name));
        for (name, value) in &self.set {
            command.set_variable(name, value.as_ref())?;
        }
        Ok(command)
    }

    /// As a shell takes it. `folder`: what variants write to, which is called `DIR`.
    pub fn pasted(&self, folder: Option<&Path>) -> String {
        let set = self.set.iter().map(|(name, value)| format!("{name}={}", shell_words::quote(value)));
        let unset = self.unset.iter().map(|name| format!("-u {}", shell_words::quote(name)));
        let unset: Vec<String> = unset.collect();
        let env = if unset.is_empty() { None } else { Some(format!("env {}", unset.join(" "))) };
        let words = [shell_words::join(&self.words)];
        let text = env.into_iter().chain(set).chain(words).collect::<Vec<_>>().join(" ");
        folder.map_or(text.clone(), |folder| text.replace(&*folder.to_string_lossy(), "DIR"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::start::ChainEnd;
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn behind_a_shim() -> Start {
        let end = ChainEnd {
            words: words("/opt/python3 app.py"),
            set: BTreeMap::from([("SHIM".to_owned(), "a b".to_owned())]),
            unset: BTreeSet::from(["GONE".to_owned()]),
        };
        Start { words: words("python3 app.py"), end: Some(end), ..Start::default() }
    }

    #[test]
    fn changes_are_applied_in_their_order_whatever_order_they_are_given_in() {
        let start = behind_a_shim();
        let edits = [
            Edit::Before(words("taskset -c 0")),
            Edit::Options(words("-X dev")),
            Edit::Set("A".to_owned(), "1".to_owned()),
            Edit::Direct,
        ];
        let way = Way::of(&start, &edits);
        assert_eq!(way, Way::of(&start, edits.iter().rev()));
        let pasted = "env -u GONE A=1 SHIM='a b' taskset -c 0 /opt/python3 -X dev app.py";
        assert_eq!(way.pasted(None), pasted);
    }

    #[test]
    fn options_of_a_script_are_given_to_its_interpreter() {
        let end = ChainEnd { words: words("/usr/bin/python3 /bin/tool x"), ..ChainEnd::default() };
        let start =
            Start { words: words("tool x"), end: Some(end), chain: words("/bin/tool"), ..Start::default() };
        let edits = [Edit::Options(words("-S")), Edit::Options(words("-OO"))];
        assert_eq!(Way::of(&start, &edits).pasted(None), "/usr/bin/python3 -OO -S /bin/tool x");
        let edits = [Edit::Set("CACHE".to_owned(), "/tmp/own/a".to_owned())];
        assert_eq!(Way::of(&start, &edits).pasted(Some(Path::new("/tmp/own"))), "CACHE=DIR/a tool x");
    }

    #[test]
    fn two_values_of_a_variable_conflict() {
        let set = |value: &str| Edit::Set("A".to_owned(), value.to_owned());
        assert!(set("1").conflicts(&set("2")) && set("1").conflicts(&Edit::Unset("A".to_owned())));
        assert!(!set("1").conflicts(&Edit::Unset("B".to_owned())));
        assert!(!Edit::Options(words("-S")).conflicts(&Edit::Options(words("-E"))));
    }
}
