//! What to execute: resolved once, before the first run.

use super::environment::Environment;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program with its arguments, environment and working directory, in the form that `execve` takes.
#[derive(Clone, Debug)]
pub struct Command {
    /// The file that is executed.
    pub(super) program: CString,
    /// The argument vector, `argv[0]` included.
    pub(super) argv: Vec<CString>,
    /// The environment, each entry `NAME=value`.
    pub(super) environment: Vec<CString>,
    /// The tracee's working directory; `None` is ours.
    pub(super) directory: Option<CString>,
}

/// Why a command cannot be executed, found before trying.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// An empty command.
    #[error("the command is empty\nhelp: name a program, as in `firstbyte bench 'ls -l'`")]
    Empty,
    /// A word contains a NUL byte, which no argument vector can represent.
    #[error("`{0}` contains a NUL byte, which no argument can")]
    Nul(String),
    /// There is no such program.
    #[error("`{0}` was not found in PATH\nhelp: check the spelling, or give a path such as `./{0}`")]
    NotInPath(String),
    /// Several words were given as one.
    #[error("`{0}` was not found in PATH\nhelp: write each word separately: {0}")]
    WordsInOne(String),
    /// There is no such file.
    #[error("`{path}` does not exist\nhelp: check the path{}", .relative_to.as_ref().map_or_else(String::new, |folder| format!(" (it is taken relative to `{folder}`)")))]
    NoSuchFile {
        /// The program's path.
        path: String,
        /// The folder in which a relative path begins.
        relative_to: Option<String>,
    },
    /// It is a directory.
    #[error("`{0}` is a directory, not a program\nhelp: name the program in it")]
    Directory(String),
    /// It is a device, a named pipe or a socket.
    #[error("`{0}` is not a regular file\nhelp: name an executable file")]
    Special(String),
    /// It is not executable.
    #[error("`{0}` is not executable\nhelp: chmod +x {0}")]
    NotExecutable(String),
}

impl Command {
    /// A command from its words, with the environment of programs ([`Environment::of_programs`]) and our working directory.
    pub fn new<S: AsRef<OsStr>>(words: &[S]) -> Result<Command, ResolveError> {
        Command::in_directory(words, None)
    }

    /// A command from its words that runs in `directory`. A relative program path is resolved from there.
    pub fn in_directory<S: AsRef<OsStr>>(
        words: &[S],
        directory: Option<&Path>,
    ) -> Result<Command, ResolveError> {
        let first = words.first().map(AsRef::as_ref).filter(|w| !w.is_empty()).ok_or(ResolveError::Empty)?;
        let program = resolve(first, directory)?;
        Ok(Command {
            program: c_string(program.as_os_str())?,
            argv: words.iter().map(|w| c_string(w.as_ref())).collect::<Result<_, _>>()?,
            environment: c_strings(&Environment::of_programs()),
            directory: directory.map(|d| c_string(d.as_os_str())).transpose()?,
        })
    }

    /// Replaces the whole environment of the tracee.
    #[must_use]
    pub fn with_environment(self, environment: &Environment) -> Command {
        Command { environment: c_strings(environment), ..self }
    }

    /// Sets or replaces one variable of the tracee's environment.
    pub fn set_variable(&mut self, name: &str, value: &OsStr) -> Result<(), ResolveError> {
        self.remove_variable(name);
        let mut entry = OsString::from(name);
        entry.push("=");
        entry.push(value);
        self.environment.push(c_string(&entry)?);
        Ok(())
    }

    /// Removes one variable from the tracee's environment.
    pub fn remove_variable(&mut self, name: &str) {
        let prefix = format!("{name}=");
        self.environment.retain(|entry| !entry.as_bytes().starts_with(prefix.as_bytes()));
    }

    /// The argument vector as text, for recordings and messages.
    pub fn words(&self) -> Vec<String> {
        self.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The file that is executed.
    pub fn program(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.program.as_bytes()))
    }

    /// The program's path seen from our working directory.
    pub(super) fn program_from_here(&self) -> PathBuf {
        match &self.directory {
            Some(directory) => Path::new(OsStr::from_bytes(directory.as_bytes())).join(self.program()),
            None => self.program().to_owned(),
        }
    }
}

fn c_strings(environment: &Environment) -> Vec<CString> {
    environment.entries().filter_map(|entry| CString::new(entry).ok()).collect()
}

fn c_string(word: &OsStr) -> Result<CString, ResolveError> {
    CString::new(word.as_bytes()).map_err(|_| ResolveError::Nul(word.to_string_lossy().replace('\0', "\\0")))
}

/// Finds the program as `execvp(3)` does: a name with a slash is a path, any other name is searched for in PATH.
fn resolve(name: &OsStr, directory: Option<&Path>) -> Result<PathBuf, ResolveError> {
    let shown = || name.to_string_lossy().into_owned();

    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        let seen = directory.map_or_else(|| path.clone(), |d| d.join(&path));
        return match executable(&seen) {
            FileCheck::Executable => Ok(path),
            FileCheck::Missing => {
                Err(ResolveError::NoSuchFile { relative_to: base(&path, directory), path: shown() })
            }
            FileCheck::Directory => Err(ResolveError::Directory(shown())),
            FileCheck::Special => Err(ResolveError::Special(shown())),
            FileCheck::NotExecutable => Err(ResolveError::NotExecutable(shown())),
        };
    }
    let mut refused = None;
    let own = || std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let path = Environment::of_programs().search().map_or_else(own, OsStr::to_owned);
    for folder in std::env::split_paths(&path) {
        let candidate = folder.join(name);
        match executable(&candidate) {
            FileCheck::Executable => return Ok(absolute(candidate)),
            FileCheck::NotExecutable => refused = Some(candidate),
            FileCheck::Missing | FileCheck::Directory | FileCheck::Special => {}
        }
    }
    Err(match refused {
        Some(path) => ResolveError::NotExecutable(path.display().to_string()),
        None if starts_with_program(name) => ResolveError::WordsInOne(shown()),
        None => ResolveError::NotInPath(shown()),
    })
}

/// Whether this is a program and its arguments in one word: `ls -l`.
fn starts_with_program(name: &OsStr) -> bool {
    let Some((first, _)) = name.to_str().and_then(|name| name.split_once(' ')) else { return false };
    !first.is_empty() && resolve(OsStr::new(first), None).is_ok()
}

/// PATH may contain relative folders, and the tracee may have another working directory.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn base(path: &Path, directory: Option<&Path>) -> Option<String> {
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    path.is_relative().then(|| directory.map_or_else(here, Path::to_owned).display().to_string())
}

enum FileCheck {
    Executable,
    Missing,
    Directory,
    Special,
    NotExecutable,
}

fn executable(path: &Path) -> FileCheck {
    match path.metadata() {
        Err(_) => FileCheck::Missing,
        Ok(found) if found.is_dir() => FileCheck::Directory,
        Ok(found) if !found.is_file() => FileCheck::Special,
        Ok(found) if found.permissions().mode() & 0o111 == 0 => FileCheck::NotExecutable,
        Ok(_) => FileCheck::Executable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_searched_for_in_path_and_paths_are_not() {
        assert!(Command::new(&["sh", "-c", ":"]).unwrap().program().is_absolute());
        assert!(matches!(Command::new(&["./no-such"]), Err(ResolveError::NoSuchFile { .. })));
        assert!(matches!(Command::new(&["no-such-program-here"]), Err(ResolveError::NotInPath(_))));
        assert!(matches!(Command::new(&["sh -c :"]), Err(ResolveError::WordsInOne(_))));
        assert!(matches!(Command::new(&["no-such-program a"]), Err(ResolveError::NotInPath(_))));
        assert!(matches!(Command::new(&["/tmp"]), Err(ResolveError::Directory(_))));
        assert!(matches!(Command::new(&["/dev/null"]), Err(ResolveError::Special(_))));
        assert!(matches!(Command::new(&["/etc/passwd"]), Err(ResolveError::NotExecutable(_))));
        assert!(matches!(Command::new(&["a\0b"]), Err(ResolveError::NotInPath(_) | ResolveError::Nul(_))));
        assert!(matches!(Command::new::<&str>(&[]), Err(ResolveError::Empty)));
        assert!(matches!(Command::new(&[""]), Err(ResolveError::Empty)));
    }

    #[test]
    fn a_variable_is_replaced_not_duplicated() {
        let mut command = Command::new(&["true"]).unwrap();
        command.set_variable("FIRSTBYTE_TEST", OsStr::new("1")).unwrap();
        command.set_variable("FIRSTBYTE_TEST", OsStr::new("2")).unwrap();
        let found: Vec<_> =
            command.environment.iter().filter(|e| e.as_bytes().starts_with(b"FIRSTBYTE_TEST=")).collect();
        assert_eq!(found, [&CString::new("FIRSTBYTE_TEST=2").unwrap()]);
    }
}
