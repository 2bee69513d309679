//! Programs that start another one in their place: what they start, and with which environment.

use super::surroundings::Environment;
use std::path::{Path, PathBuf};

/// A program and its arguments, without its own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
}

/// What a launcher starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launched {
    /// It is looked for along PATH, unless it contains a slash.
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    pub(super) changes: Vec<Change>,
}

/// A change of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Set(String, String),
    Remove(String),
    Clear,
}

/// The names of launchers, their one-letter options that take a value, and how many words they have before the command.
/// `setsid` and `timeout` may start it in another process.
const LAUNCHERS: [(&str, &str, usize); 7] = [
    ("chrt", "TPDp", 1),
    ("ionice", "cnpPu", 0),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("taskset", "", 1),
    ("timeout", "ks", 1),
];

/// What a program starts, if it is a launcher that was given a command.
pub(super) fn launched(path: &Path, arguments: &[String]) -> Option<Launched> {
    let name = path.file_name()?.to_str()?;
    if name == "env" {
        return by_env(arguments);
    }
    let (_, with_value, before) = LAUNCHERS.iter().find(|(known, ..)| *known == name)?;
    let mut rest = arguments.iter();
    let mut words = Vec::new();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-') {
            Some(option) if words.is_empty() && !option.is_empty() => {
                let takes_next = option.len() == 1 && with_value.contains(option);
                if takes_next {
                    rest.next();
                }
            }
            _ => words.push(argument.clone()),
        }
        if words.len() > *before {
            break;
        }
    }
    let command = words.into_iter().nth(*before)?;
    Some(Launched { command, arguments: rest.cloned().collect(), changes: Vec::new() })
}

/// env(1) of GNU.
fn by_env(arguments: &[String]) -> Option<Launched> {
    let mut pending: Vec<String> = arguments.iter().rev().cloned().collect();
    let mut changes = Vec::new();
    while let Some(word) = pending.pop() {
        if word == "--" {
            break;
        } else if word == "-" {
            changes.push(Change::Clear);
        } else if let Some(long) = word.strip_prefix("--") {
            long_option(long, &mut pending, &mut changes)?;
        } else if let Some(short) = word.strip_prefix('-') {
            short_options(short, &mut pending, &mut changes)?;
        } else {
            pending.push(word);
            break;
        }
    }

    while let Some((name, value)) = pending.last().and_then(|word| word.split_once('=')) {
        changes.push(Change::Set(name.to_owned(), value.to_owned()));
        pending.pop();
    }
    let command = pending.pop()?;
    pending.reverse();
    Some(Launched { command, arguments: pending, changes })
}

/// `None`: an option that this function does not know, or whose effect depends on more.
fn long_option(option: &str, pending: &mut Vec<String>, changes: &mut Vec<Change>) -> Option<()> {
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    match name {
        "ignore-environment" => changes.push(Change::Clear),
        "unset" => changes.push(Change::Remove(value.map(str::to_owned).or_else(|| pending.pop())?)),
        "split-string" => split(&value.map(str::to_owned).or_else(|| pending.pop())?, pending)?,
        "default-signal" | "ignore-signal" | "block-signal" | "debug" => {}
        _ => return None,
    }
    Some(())
}

fn short_options(options: &str, pending: &mut Vec<String>, changes: &mut Vec<Change>) -> Option<()> {
    for (at, option) in options.char_indices() {
        let value = &options[at + option.len_utf8()..];
        let mut value = || if value.is_empty() { pending.pop() } else { Some(value.to_owned()) };
        match option {
            'i' => changes.push(Change::Clear),
            'v' | '0' => {}
            'u' => return value().map(|name| changes.push(Change::Remove(name))),
            'S' => {
                let text = value()?;
                return split(&text, pending);
            }
            _ => return None,
        }
    }
    Some(())
}

/// The words of `-S` come before those that follow. Variables in it are not replaced here.
fn split(text: &str, pending: &mut Vec<String>) -> Option<()> {
    if text.contains('$') {
        return None;
    }
    pending.extend(shell_words::split(text).ok()?.into_iter().rev());
    Some(())
}

pub(super) fn changed(environment: Environment, change: &Change) -> Environment {
    match change {
        Change::Set(name, value) => environment.with(name, value),
        Change::Remove(name) => environment.without(name),
        Change::Clear => Environment::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(program: &str, arguments: &[&str]) -> Option<Launched> {
        launched(Path::new(program), &arguments.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn env_is_read_as_gnu_reads_it() {
        let command = |arguments: &[&str]| {
            by("/usr/bin/env", arguments).map(|it| [vec![it.command], it.arguments].concat().join(" "))
        };
        assert_eq!(command(&["bash", "./script"]).as_deref(), Some("bash ./script"));
        assert_eq!(command(&["-S python3 -u", "./script"]).as_deref(), Some("python3 -u ./script"));
        assert_eq!(command(&["-vS", "A=1 perl -w", "s"]).as_deref(), Some("perl -w s"));
        assert_eq!(command(&["python3 -u", "s"]).as_deref(), Some("python3 -u s"));
        assert_eq!(command(&["-i", "-uHOME", "-u", "LANG", "--", "X=y", "sh"]).as_deref(), Some("sh"));
        assert_eq!((command(&[]), command(&["-S $X", "s"]), command(&["-C", "/", "ls"])), (None, None, None));
        let changes = by("env", &["-", "--unset=A", "--split-string=B=c d"]).unwrap().changes;
        let set = |name: &str, value: &str| Change::Set(name.to_owned(), value.to_owned());
        assert_eq!(changes, [Change::Clear, Change::Remove("A".to_owned()), set("B", "c")]);
    }

    #[test]
    fn other_launchers_skip_their_options_and_words() {
        let command = |program, arguments: &[&str]| by(program, arguments).map(|launched| launched.command);
        assert_eq!(command("/bin/nice", &["-n", "5", "ls"]).as_deref(), Some("ls"));
        assert_eq!(command("timeout", &["-k", "3", "--foreground", "5", "ls", "-l"]).as_deref(), Some("ls"));
        assert_eq!(command("taskset", &["-c", "0", "ls"]).as_deref(), Some("ls"));
        assert_eq!((command("nohup", &[]), command("ls", &["-l"])), (None, None));
    }
}
