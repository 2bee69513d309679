//! The one program of a command, with its arguments.

use super::shell::Interpreter;
use std::ffi::OsString;
use std::path::Path;

/// The first word that is no option begins the program, as with strace, perf and time. A single word is a command, which is
/// split as a shell splits it, unless it is the path of a file.
#[derive(Debug, clap::Args)]
pub(super) struct ProgramArgs {
    /// Program and its arguments, after the options of firstbyte; a single string is split into words as a shell does, and
    /// run without a shell
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    command: Vec<OsString>,
}

impl ProgramArgs {
    /// The words of the program; none if there is no program.
    pub(super) fn words(&self, interpreter: &Interpreter) -> Result<Vec<OsString>, String> {
        match self.single() {
            Some(command) => Ok(interpreter.words(command)?.into_iter().map(OsString::from).collect()),
            None if interpreter.shell().is_some() && !self.is_empty() => {
                Err("a shell takes its command as one word\nhelp: put it in quotes, as in firstbyte trace -S 'ls | wc'"
                    .to_owned())
            }
            None => Ok(self.command.clone()),
        }
    }

    /// The command, if it is one string.
    pub(super) fn single(&self) -> Option<&str> {
        let [command] = &self.command[..] else { return None };
        command.to_str().filter(|command| !is_path(command))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.command.is_empty()
    }
}

/// A path may have spaces in it.
fn is_path(command: &str) -> bool {
    command.contains('/') && Path::new(command).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[arg(short)]
        runs: Option<u32>,
        #[command(flatten)]
        program: ProgramArgs,
    }

    fn words(line: &[&str], interpreter: &Interpreter) -> Result<Vec<OsString>, String> {
        let line =
            Line::try_parse_from(["firstbyte"].iter().chain(line)).map_err(|error| error.to_string())?;
        line.program.words(interpreter)
    }

    #[test]
    fn the_first_word_that_is_no_option_begins_the_program() {
        for (line, expected) in [
            (&["npm", "--version"][..], &["npm", "--version"][..]),
            (&["-r", "3", "ls", "-r", "-V"], &["ls", "-r", "-V"]),
            (&["-r3", "git", "log", "--", "a b"], &["git", "log", "--", "a b"]),
            (&["--", "git", "log", "--", "a b"], &["git", "log", "--", "a b"]),
            (&["node 'a b'"], &["node", "a b"]),
            (&["/a b/c", "-x"], &["/a b/c", "-x"]),
            (&["--", "-odd"], &["-odd"]),
            (&["a", "--help"], &["a", "--help"]),
            (&[], &[]),
        ] {
            assert_eq!(words(line, &Interpreter::None).unwrap(), expected, "{line:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(words(&[path], &Interpreter::None).unwrap(), [path], "a file whose path has a space");
        assert!(words(&["-x", "ls"], &Interpreter::None).is_err(), "an unknown option is no program");
    }

    #[test]
    fn a_shell_takes_one_string() {
        let shell = Interpreter::default_shell();
        assert_eq!(words(&["ls | wc"], &shell).unwrap(), ["/bin/sh", "-c", "ls | wc"]);
        assert!(words(&["ls", "-l"], &shell).is_err());
        assert!(words(&[], &shell).unwrap().is_empty());
    }
}
