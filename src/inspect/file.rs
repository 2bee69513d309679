//! Finds out what a file is: an ELF file with its libraries, or a script with the chain of programs that run it.

use super::InspectError;
use super::file_kind::ElfKind;
use super::glibc::loading::Loading;
use super::headers::{self, Elf};
use super::launcher::{self, Launch};
use super::libraries;
use super::library::{Interpreter, Library};
use super::prediction::{self, Prediction};
use super::script::{self, FirstLine};
use super::started::Started;
use super::surroundings::Surroundings;
use super::view;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How many scripts may run each other (`fs/exec.c`: the sixth one gives ELOOP).
const MAX_SCRIPTS: usize = 5;
/// How many programs that start others are followed.
const MAX_LAUNCHERS: usize = 10;

/// What a file is, and what it needs.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    #[serde(serialize_with = "view::lossy")]
    pub path: PathBuf,
    /// For a script: the script, then each interpreter that is a script itself.
    pub scripts: Vec<Script>,
    /// Programs that start another one in their place, such as `env`.
    pub launchers: Vec<Launcher>,
    /// The ELF file at the end of the chain.
    #[serde(serialize_with = "view::lossy_option")]
    pub program: Option<PathBuf>,
    /// The headers of that file.
    pub elf: Option<Elf>,
    /// The libraries that it needs, in the order in which symbols are looked up.
    pub libraries: Vec<Library>,
    /// Why the file cannot start, if it cannot.
    pub problems: Vec<String>,
    /// For an executable: the cost of its start.
    pub prediction: Option<Prediction>,
}

/// A script and its interpreter.
#[derive(Clone, Debug, Serialize)]
pub struct Script {
    #[serde(serialize_with = "view::lossy")]
    pub path: PathBuf,
    #[serde(flatten)]
    pub first_line: FirstLine,
}

/// A program that starts another one.
#[derive(Clone, Debug, Serialize)]
pub struct Launcher {
    #[serde(serialize_with = "view::lossy")]
    pub path: PathBuf,
    /// The name of the other program, as it was given.
    pub starts: String,
    /// How many folders of PATH do not have it. Each takes an execve that fails.
    pub failed_execs: u64,
}

/// Explains a file.
///
/// # Errors
/// Every [`InspectError`] except those about functions.
pub fn inspect(path: &Path, surroundings: &Surroundings<'_>) -> Result<Inspection, InspectError> {
    let mut inspection = Inspection {
        path: path.to_owned(),
        scripts: Vec::new(),
        launchers: Vec::new(),
        program: None,
        elf: None,
        libraries: Vec::new(),
        problems: Vec::new(),
        prediction: None,
    };
    let first = Surroundings { environment: surroundings.environment.clone(), ..*surroundings };
    let mut chain = Chain { inspection: &mut inspection, surroundings: first, launched: Vec::new() };
    chain.run(Launch { program: path.to_owned(), arguments: Vec::new() })?;
    Ok(inspection)
}

/// The programs that replace each other in one process.
struct Chain<'a, 'f> {
    inspection: &'a mut Inspection,
    surroundings: Surroundings<'f>,
    /// The starts of the launchers.
    launched: Vec<(PathBuf, Prediction)>,
}

/// An ELF file that the kernel starts, and its arguments.
struct Reached {
    path: PathBuf,
    bytes: Vec<u8>,
    arguments: Vec<String>,
}

impl Chain<'_, '_> {
    fn run(&mut self, mut launch: Launch) -> Result<(), InspectError> {
        loop {
            let Some(reached) = self.through_scripts(launch)? else { return Ok(()) };
            let launched = match launcher::launched(&reached.path, &reached.arguments) {
                Some(launched) if self.launched.len() < MAX_LAUNCHERS => launched,
                _ => return self.add_program(&reached),
            };
            let Some(next) = self.add_launcher(&reached, launched)? else { return Ok(()) };
            launch = next;
        }
    }

    /// Follows the first lines of scripts, as the kernel does.
    fn through_scripts(&mut self, launch: Launch) -> Result<Option<Reached>, InspectError> {
        let Launch { program: mut path, mut arguments } = launch;
        let mut bytes = self.surroundings.files.read(&path)?;
        let before = self.inspection.scripts.len();
        while let Some(first_line) = script::first_line(&bytes) {
            arguments.insert(0, path.to_string_lossy().into_owned());
            arguments.splice(0..0, first_line.argument.clone());
            let next = first_line.interpreter.clone();
            self.inspection.scripts.push(Script { path, first_line });
            if self.inspection.scripts.len() - before > MAX_SCRIPTS {
                self.problem("too many scripts run each other, so the kernel refuses (ELOOP)".to_owned());
                return Ok(None);
            }
            match self.surroundings.files.read(&next) {
                Ok(read) => (path, bytes) = (next, read),
                Err(error) => {
                    let cause = error.to_string();
                    self.problem(format!(
                        "its interpreter is missing: {}",
                        cause.lines().next().unwrap_or("")
                    ));
                    return Ok(None);
                }
            }
        }
        Ok(Some(Reached { path, bytes, arguments }))
    }

    fn problem(&mut self, text: String) {
        self.inspection.problems.push(text);
    }

    /// The start of a launcher, and what it starts.
    fn add_launcher(
        &mut self,
        reached: &Reached,
        launched: launcher::Launched,
    ) -> Result<Option<Launch>, InspectError> {
        let mut started = self.started(reached)?;
        let environment =
            launched.changes.iter().fold(self.surroundings.environment.clone(), launcher::changed);
        self.surroundings.environment = environment;
        let name = launched.command;
        let (found, failed_execs) = if name.contains('/') {
            (Some(PathBuf::from(&name)), 0)
        } else {
            self.surroundings.in_path(&name)
        };
        let path = reached.path.clone();
        if let Some(prediction) = started.prediction.take() {
            self.launched.push((path.clone(), prediction.before_exec(failed_execs)));
        }
        let shown = format!("`{}` finds no program `{name}`", path.display());
        self.inspection.launchers.push(Launcher { path, starts: name, failed_execs });
        self.inspection.problems.append(&mut started.problems);

        let next = found.filter(|found| self.surroundings.files.facts(found).is_some());
        if next.is_none() {
            self.problem(shown);
        }
        Ok(next.map(|program| Launch { program, arguments: launched.arguments }))
    }

    fn add_program(&mut self, reached: &Reached) -> Result<(), InspectError> {
        let started = self.started(reached)?;
        let is_script = !reached.arguments.is_empty();
        self.inspection.program = Some(reached.path.clone());
        self.inspection.prediction =
            started.prediction.map(|prediction| prediction.after(&self.launched, is_script));
        self.inspection.problems.extend(started.problems);
        self.inspection.libraries = started.libraries;
        self.inspection.elf = Some(started.elf);
        Ok(())
    }

    fn started(&self, reached: &Reached) -> Result<Explained, InspectError> {
        explained(&reached.path, &reached.bytes, &self.surroundings)
    }
}

/// One ELF file.
struct Explained {
    elf: Elf,
    libraries: Vec<Library>,
    problems: Vec<String>,
    prediction: Option<Prediction>,
}

fn explained(path: &Path, bytes: &[u8], surroundings: &Surroundings<'_>) -> Result<Explained, InspectError> {
    let shown = path.display().to_string();
    if let Some(what) = foreign(bytes) {
        return Err(InspectError::NotExecutable { path: shown, what });
    }
    let mut elf = headers::read(bytes).map_err(|cause| InspectError::Damaged { path: shown, cause })?;

    let mut problems = Vec::new();
    let interpreter = elf.interpreter.as_ref().map(|name| interpreter(name, surroundings));
    if let Some(missing) = interpreter.as_ref().filter(|interpreter| interpreter.elf.is_none()) {
        problems.push(format!("its dynamic loader `{}` is missing, so execve gives ENOENT", missing.path));
    }
    let is_linked = elf.interpreter.is_some() || elf.kind == ElfKind::SharedObject;
    let loading = if is_linked {
        libraries::load(path, &elf, interpreter.as_ref(), surroundings)
    } else {
        Loading::default()
    };
    let missing = loading.libraries.iter().filter(|l| l.path.is_none() && l.asked_by.is_none());
    problems.extend(
        missing.map(|l| format!("`{}`, which `{}` needs, is missing", l.name, l.needed_by.display())),
    );
    problems.extend(loading.problems.iter().cloned());

    if let Some(library) = loading.libraries.iter().find(|library| library.name == "libc.so.6") {
        elf.runtime.note_glibc(&library.needed_by);
    }
    let started = Started {
        path,
        elf: &elf,
        bytes,
        interpreter: interpreter.as_ref(),
        loading: &loading,
        files: surroundings.files,
        environment: &surroundings.environment,
    };
    let prediction = (elf.kind.is_executable() && problems.is_empty()).then(|| prediction::predict(&started));
    Ok(Explained { libraries: loading.libraries, problems, prediction, elf })
}

fn interpreter(name: &str, surroundings: &Surroundings<'_>) -> Interpreter {
    let bytes = surroundings.files.read(Path::new(name)).unwrap_or_default();
    Interpreter { path: name.to_owned(), elf: headers::read(&bytes).ok(), bytes }
}

/// What a file is, if it is not an ELF file.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 12] = [
        (b"MZ", "a Windows or DOS program (PE)"),
        (b"\xfe\xed\xfa\xce", "a Mach-O file"),
        (b"\xfe\xed\xfa\xcf", "a Mach-O file"),
        (b"\xce\xfa\xed\xfe", "a Mach-O file"),
        (b"\xcf\xfa\xed\xfe", "a Mach-O file"),
        (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O file of several architectures"),
        (b"\0asm", "a WebAssembly module"),
        (b"!<arch>\n", "an archive of object files"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "compressed by gzip"),
        (b"\xfd7zXZ", "compressed by xz"),
        (b"#!", "a script whose first line names no interpreter"),
    ];

    if bytes.is_empty() {
        return Some("empty");
    }
    if bytes.starts_with(b"\x7fELF") {
        return None;
    }
    Some(known.iter().find(|(magic, _)| bytes.starts_with(magic)).map_or("not an ELF file", |(_, what)| what))
}
