//! `firstbyte inspect`: correct for valid files, and an answer for any file.

use crate::support::skipped;
use firstbyte::inspect::file_kind::ElfKind;
use firstbyte::inspect::headers;
use firstbyte::inspect::view::{FileFacts, FileKind};
use firstbyte::inspect::{
    Environment, FileView, InspectError, Inspection, MachineFiles, Surroundings, disassembly, inspect,
};
use firstbyte_elf::{Architecture, plain};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const HELLO: &str =
    "#include <stdio.h>\nint main(void) { printf(\"hello world\\n\"); return 0; }\n";

/// Files that exist only in the memory of a test.
#[derive(Default)]
pub(crate) struct Imagined(pub(crate) HashMap<PathBuf, Vec<u8>>);

impl FileView for Imagined {
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError> {
        let missing = || InspectError::NotAFile { path: path.display().to_string() };
        self.0.get(path).cloned().ok_or_else(missing)
    }

    fn facts(&self, path: &Path) -> Option<FileFacts> {
        let at = self
            .0
            .keys()
            .collect::<std::collections::BTreeSet<_>>()
            .iter()
            .position(|known| *known == path)?;
        Some(FileFacts { kind: FileKind::Regular, identity: (0, at as u64), mode: 0o100_755, owner: 0 })
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.0.contains_key(path).then(|| path.to_owned())
    }
}

/// A start on this machine, in an empty environment.
pub(crate) fn here() -> Surroundings<'static> {
    Surroundings { files: &MachineFiles, environment: Environment::default(), user: 0 }
}

/// A start with files that exist only here.
pub(crate) fn among(files: &Imagined) -> Surroundings<'_> {
    Surroundings { files, environment: Environment::default(), user: 0 }
}

pub(crate) fn compile(folder: &Path, source: &str, options: &[&str]) -> Option<PathBuf> {
    let (file, program) = (folder.join("source.c"), folder.join("program"));
    fs::write(&file, source).unwrap();
    let Ok(status) = Command::new("cc").arg("-o").arg(&program).arg(&file).args(options).status() else {
        skipped("`cc` is missing; help: `apt-get install gcc libc6-dev`");
        return None;
    };
    assert!(status.success(), "cc {options:?}");
    Some(program)
}

fn inspected(path: &Path) -> Inspection {
    inspect(path, &here()).unwrap()
}

#[test]
fn our_own_executables_are_static_and_need_nothing() {
    for architecture in Architecture::ALL {
        let image = plain::image(architecture, b"x", Some(0)).unwrap();
        let elf = headers::read(&image).unwrap();
        assert_eq!((elf.kind, elf.interpreter.clone(), elf.segments.len()), (ElfKind::Static, None, 1));
        assert_eq!(
            (elf.entry, elf.relocations.total()),
            (plain::BASE + plain::headers_size(architecture) as u64, 0)
        );
        assert_eq!((elf.segments[0].file_pages, elf.segments[0].zero_pages), (1, 0));
    }
}

#[test]
fn each_kind_of_executable_is_distinguished_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [(&[&str], ElfKind); 6] = [
        (&["-pie", "-fPIE"], ElfKind::Pie),
        (&["-no-pie"], ElfKind::Dynamic),
        (&["-static", "-no-pie"], ElfKind::Static),
        (&["-static-pie"], ElfKind::StaticPie),
        (&["-shared", "-fPIC"], ElfKind::SharedObject),
        (&["-c"], ElfKind::Relocatable),
    ];
    for (options, kind) in kinds {
        let Some(program) = compile(folder.path(), HELLO, options) else { return };
        assert_eq!(inspected(&program).elf.unwrap().kind, kind, "{options:?}");
    }
}

#[test]
fn printf_of_a_constant_line_is_found_to_call_puts() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-O2"][..], &["-O0"], &["-O2", "-static"], &["-O2", "-Wl,-z,now"], &["-O2", "-c"]] {
        let Some(program) = compile(folder.path(), HELLO, options) else { return };
        if !cfg!(target_arch = "x86_64") {
            skipped("only x86 is disassembled");
            return;
        }
        let lines = disassembly::disassemble(&program, &fs::read(&program).unwrap(), "main").unwrap();
        let calls: Vec<String> = lines.into_iter().filter_map(|line| line.calls).collect();
        let puts = calls.iter().any(|name| name == "puts" || name == "_IO_puts");
        assert!(puts && calls.len() == 1, "{options:?}: {calls:?}");
    }
}

/// ldd(1) lets the loader itself find the libraries. It does not look where the file of a link is.
#[test]
fn libraries_are_found_where_the_loader_finds_them() {
    let programs = fs::read_dir("/usr/bin").unwrap().map(|entry| entry.unwrap().path());
    let mut compared = 0;
    for program in programs.filter(|path| path.is_file()).step_by(23).take(40) {
        let Ok(inspection) = inspect(&program, &here()) else { continue };
        let is_dynamic = inspection.elf.as_ref().is_some_and(|elf| elf.interpreter.is_some());
        if !is_dynamic || !inspection.scripts.is_empty() {
            continue;
        }
        let Ok(output) =
            Command::new("ldd").arg(program.canonicalize().unwrap()).env_remove("LD_LIBRARY_PATH").output()
        else {
            return skipped("`ldd` is missing; help: `apt-get install libc-bin`");
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let theirs: HashMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.trim().split_once(" => "))
            .map(|(name, path)| (name, path.split(" (").next().unwrap_or("")))
            .collect();
        for library in inspection.libraries.iter().filter(|l| l.found_by != Some("interpreter")) {
            let Some(path) = theirs.get(library.name.as_str()) else { continue };
            let ours = library.path.as_ref().map(|path| path.canonicalize().unwrap());
            assert_eq!(ours, Path::new(path).canonicalize().ok(), "{}: {}", program.display(), library.name);
            compared += 1;
        }
    }
    assert!(compared > 0);
    eprintln!("{compared} libraries compared with ldd");
}

#[test]
fn runpath_origin_and_missing_libraries_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libours.so");
    let Some(built) = compile(folder.path(), "int ours(void) { return 0; }\n", &["-shared", "-fPIC"]) else {
        return;
    };
    fs::rename(built, &library).unwrap();
    let here = format!("-L{}", folder.path().display());
    let source = "int ours(void); int main(void) { return ours(); }\n";
    let program = compile(folder.path(), source, &[&here, "-lours", "-Wl,-rpath,$ORIGIN"]).unwrap();
    let inspection = inspected(&program);
    let ours = inspection.libraries.iter().find(|l| l.name == "libours.so").unwrap();
    assert_eq!((ours.path.clone(), ours.found_by), (Some(library.clone()), Some("RUNPATH")));
    assert!(inspection.problems.is_empty(), "{:?}", inspection.problems);
    fs::remove_file(library).unwrap();
    let problems = inspected(&program).problems;
    assert!(problems.len() == 1 && problems[0].contains("`libours.so`"), "{problems:?}");
}

#[test]
fn libraries_that_need_each_other_are_each_found_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let here = format!("-L{}", folder.path().display());
    let rpath = format!("-Wl,--no-as-needed,-rpath,{}", folder.path().display());
    for (name, needs) in [("liba.so", None), ("libb.so", Some("-la")), ("liba.so", Some("-lb"))] {
        let options: Vec<&str> = ["-shared", "-fPIC", &here, &rpath].into_iter().chain(needs).collect();
        let Some(built) = compile(folder.path(), "int f(void) { return 0; }\n", &options) else { return };
        fs::rename(built, path(name)).unwrap();
    }
    let program = compile(folder.path(), "int main(void) { return 0; }\n", &[&here, &rpath, "-la"]).unwrap();
    let names: Vec<String> = inspected(&program).libraries.into_iter().map(|library| library.name).collect();
    assert_eq!(names.iter().filter(|n| *n == "liba.so").count(), 1, "{names:?}");
    assert_eq!(names.iter().filter(|n| *n == "libb.so").count(), 1, "{names:?}");
}

#[test]
fn scripts_are_followed_to_the_program_that_runs_them() {
    let elf = plain::image(Architecture::X86_64, b"x", Some(0)).unwrap();
    let mut files = Imagined::default();
    files.0.insert("/a".into(), b"#!/b -x y\n".to_vec());
    files.0.insert("/b".into(), b"#!/c\n".to_vec());
    files.0.insert("/c".into(), elf);
    files.0.insert("/loop".into(), b"#!/loop\n".to_vec());
    files.0.insert("/lost".into(), b"#!/nowhere\n".to_vec());
    let search = among(&files);
    let inspection = inspect(Path::new("/a"), &search).unwrap();
    let arguments: Vec<_> = inspection.scripts.iter().map(|s| s.first_line.argument.as_deref()).collect();
    assert_eq!(arguments, [Some("-x y"), None]);
    assert_eq!(inspection.program.as_deref(), Some(Path::new("/c")));
    assert!(inspect(Path::new("/loop"), &search).unwrap().problems[0].contains("ELOOP"));
    assert!(inspect(Path::new("/lost"), &search).unwrap().problems[0].contains("interpreter is missing"));
}

#[test]
fn a_file_that_linux_does_not_execute_is_reported_as_such() {
    let mut files = Imagined::default();
    let cases: [(&[u8], &str); 7] = [
        (b"", "empty"),
        (b"MZ\x90\0", "PE"),
        (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "Mach-O"),
        (b"hello", "not an ELF file"),
        (b"#!\n", "no interpreter"),
        (b"\x7fELF", "ends inside"),
        (b"\x7fELF\x09", "class is 9"),
    ];
    for (content, word) in cases {
        files.0.insert("/file".into(), content.to_vec());
        let search = among(&files);
        let error = inspect(Path::new("/file"), &search).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("\nhelp: "), "{error}");
    }
    let search = here();
    assert!(matches!(inspect(Path::new("/"), &search), Err(InspectError::NotAFile { .. })));
    assert!(matches!(inspect(Path::new("/nowhere"), &search), Err(InspectError::Unreadable { .. })));
}

/// Runs the command with its own cache folder.
fn command(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.arg("inspect").args(arguments).env("FIRSTBYTE_CACHE", cache).env_remove("LD_LIBRARY_PATH");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn unit_costs_are_measured_once_kept_and_measured_again_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), HELLO, &["-O2"]) else { return };
    let (cache, program) = (folder.path().join("cache"), program.to_str().unwrap());
    let (counts, silent) = said(&command(&cache, &["--counts-only", program]));
    assert!(!counts.contains("units") && silent.is_empty() && !cache.exists(), "{counts}{silent}");
    let (first, errors) = said(&command(&cache, &[program]));
    assert!(first.contains("measured just now, kept in") && errors.contains("once"), "{first}{errors}");
    for row in ["process creation, exec, exit", "further system calls", "further page faults"] {
        assert!(first.contains(row), "{row}: {first}");
    }
    let (second, errors) = said(&command(&cache, &[program]));
    assert!(second.contains("measured before, kept in") && errors.is_empty(), "{second}{errors}");
    let kept = fs::read_dir(cache.join("calibration")).unwrap().next().unwrap().unwrap().path();
    fs::write(&kept, "no JSON").unwrap();
    let json = command(&cache, &["--json", program]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let estimate = &document["results"][0]["estimate"];
    assert!(estimate["source"].as_str().unwrap().starts_with("measured just now"), "{estimate}");
    assert!(estimate["costs"].as_array().unwrap().len() >= 4, "{estimate}");
    let (again, _) = said(&command(&cache, &["--recalibrate", program]));
    assert!(again.contains("measured just now"), "{again}");
}

#[test]
fn without_a_place_to_keep_unit_costs_it_says_so_and_still_explains() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-folder");
    fs::write(&file, "").unwrap();
    let (text, _) = said(&command(&file, &[env!("CARGO_BIN_EXE_firstbyte")]));
    assert!(text.contains("not kept: ") && text.contains("further page faults"), "{text}");
}
