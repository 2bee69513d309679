//! Finds out what a file is: an ELF file with its libraries, or a script with the chain of programs that run it.

use super::InspectError;
use super::file_kind::ElfKind;
use super::headers::{self, Elf};
use super::libraries::{Library, LibrarySearch};
use super::prediction::{self, Prediction};
use super::script::{self, FirstLine};
use super::view;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How many scripts may run each other (`fs/exec.c`: the sixth one gives ELOOP).
const MAX_SCRIPTS: usize = 5;

/// What a file is, and what it needs.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    #[serde(serialize_with = "view::lossy")]
    pub path: PathBuf,
    /// For a script: the script, then each interpreter that is a script itself.
    pub scripts: Vec<Script>,
    /// The ELF file at the end of the chain.
    #[serde(serialize_with = "view::lossy_option")]
    pub program: Option<PathBuf>,
    /// The headers of that file.
    pub elf: Option<Elf>,
    /// The libraries that it needs, in the order in which symbols are looked up.
    pub libraries: Vec<Library>,
    /// The headers of the dynamic loader.
    #[serde(skip)]
    pub interpreter: Option<Elf>,
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

/// Explains a file.
///
/// # Errors
/// Every [`InspectError`] except those about functions.
pub fn inspect(path: &Path, search: &LibrarySearch<'_>) -> Result<Inspection, InspectError> {
    let mut inspection = Inspection {
        path: path.to_owned(),
        scripts: Vec::new(),
        program: None,
        elf: None,
        libraries: Vec::new(),
        interpreter: None,
        problems: Vec::new(),
        prediction: None,
    };

    let mut bytes = search.files.read(path)?;
    let mut program = path.to_owned();
    while let Some(first_line) = script::first_line(&bytes) {
        let next = first_line.interpreter.clone();
        inspection.scripts.push(Script { path: program, first_line });
        if inspection.scripts.len() > MAX_SCRIPTS {
            inspection
                .problems
                .push("too many scripts run each other, so the kernel refuses (ELOOP)".to_owned());
            return Ok(inspection);
        }
        match search.files.read(&next) {
            Ok(read) => (program, bytes) = (next, read),
            Err(error) => {
                inspection
                    .problems
                    .push(format!("its interpreter is missing: {}", first(&error.to_string())));
                return Ok(inspection);
            }
        }
    }

    add_elf(&mut inspection, &program, &bytes, search)?;
    Ok(inspection)
}

fn first(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

fn add_elf(
    inspection: &mut Inspection,
    path: &Path,
    bytes: &[u8],
    search: &LibrarySearch<'_>,
) -> Result<(), InspectError> {
    let shown = path.display().to_string();
    if let Some(what) = foreign(bytes) {
        return Err(InspectError::NotExecutable { path: shown, what });
    }
    let elf = headers::read(bytes).map_err(|cause| InspectError::Damaged { path: shown, cause })?;

    let mut problems = Vec::new();
    if elf.kind.is_executable() || elf.kind == ElfKind::SharedObject {
        inspection.libraries = search.closure(path, &elf);
    }
    let missing = inspection.libraries.iter().filter(|l| l.path.is_none());
    problems.extend(
        missing.map(|l| format!("`{}`, which `{}` needs, is missing", l.name, l.needed_by.display())),
    );

    if let Some(name) = &elf.interpreter {
        match search.files.read(Path::new(name)).ok().and_then(|bytes| headers::read(&bytes).ok()) {
            Some(interpreter) => inspection.interpreter = Some(interpreter),
            None => problems.push(format!("its dynamic loader `{name}` is missing, so execve gives ENOENT")),
        }
    }
    if elf.kind.is_executable() {
        inspection.prediction =
            Some(prediction::predict(&elf, inspection.interpreter.as_ref(), &inspection.libraries));
    }

    inspection.problems.extend(problems);
    inspection.program = Some(path.to_owned());
    inspection.elf = Some(elf);
    Ok(())
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
