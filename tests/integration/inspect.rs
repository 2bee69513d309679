//! Explaining files: right about good ones, and an answer for any.

use crate::support::skipped;
use firstbyte::elf::{Architecture, plain};
use firstbyte::inspect::cache::Cache;
use firstbyte::inspect::elf::{self, Kind};
use firstbyte::inspect::libraries::Search;
use firstbyte::inspect::{Files, InspectError, Inspection, MachineFiles, disassembly, inspect};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELLO: &str = "#include <stdio.h>\nint main(void) { printf(\"hello world\\n\"); return 0; }\n";

/// Files that exist in a test's memory alone.
#[derive(Default)]
struct Imagined(HashMap<PathBuf, Vec<u8>>);

impl Files for Imagined {
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError> {
        let missing = || InspectError::NotAFile { path: path.display().to_string() };
        self.0.get(path).cloned().ok_or_else(missing)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

fn machine_search() -> Search<'static> {
    let cache = fs::read("/etc/ld.so.cache").map(|bytes| Cache::parse(&bytes)).unwrap_or_default();
    Search { files: &MachineFiles, library_path: None, cache }
}

fn compile(folder: &Path, source: &str, options: &[&str]) -> Option<PathBuf> {
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
    inspect(path, &machine_search()).unwrap()
}

#[test]
fn our_own_executables_are_static_and_need_nothing() {
    for architecture in Architecture::ALL {
        let image = plain::image(architecture, b"x", Some(0)).unwrap();
        let elf = elf::read(&image).unwrap();
        assert_eq!((elf.kind, elf.interpreter.clone(), elf.segments.len()), (Kind::Static, None, 1));
        assert_eq!(
            (elf.entry, elf.relocations.total()),
            (plain::BASE + plain::headers_size(architecture) as u64, 0)
        );
        assert_eq!((elf.segments[0].file_pages, elf.segments[0].zero_pages), (1, 0));
    }
}

#[test]
fn each_kind_of_executable_is_told_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [(&[&str], Kind); 6] = [
        (&["-pie", "-fPIE"], Kind::Pie),
        (&["-no-pie"], Kind::Dynamic),
        (&["-static", "-no-pie"], Kind::Static),
        (&["-static-pie"], Kind::StaticPie),
        (&["-shared", "-fPIC"], Kind::SharedObject),
        (&["-c"], Kind::Relocatable),
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

/// What `firstbyte trace` counts of one run: system calls and page faults.
fn traced(program: &Path) -> Option<(f64, f64)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["trace", "--runs", "3", "--no-overhead", "--backend", "bpf", "--export-json", "-", "--"]);
    // cargo sets it for its tests: the loader would search many folders in vain
    let output = command.arg(program).env_remove("LD_LIBRARY_PATH").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let document: serde_json::Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    let counts = &document["results"][0]["counts"];
    Some((counts["syscalls"].as_f64()?, counts["page_faults"].as_f64()?))
}

#[test]
fn the_counts_predicted_for_a_dynamic_c_hello_are_within_a_fifth_of_those_traced() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), HELLO, &["-O2"]) else { return };
    let predicted = inspected(&program).prediction.unwrap();
    let Some((syscalls, page_faults)) = traced(&program) else {
        return skipped("the bpf backend cannot trace here; help: `firstbyte doctor`");
    };
    eprintln!(
        "predicted {} and {}, traced {syscalls} and {page_faults}",
        predicted.syscalls, predicted.page_faults
    );
    assert!((predicted.syscalls as f64 - syscalls).abs() <= syscalls / 5.0);
    assert!((predicted.page_faults as f64 - page_faults).abs() <= page_faults / 5.0);
}

/// ldd(1) asks the loader itself.
#[test]
fn libraries_are_found_where_the_loader_finds_them() {
    let programs = fs::read_dir("/usr/bin").unwrap().map(|entry| entry.unwrap().path());
    let mut compared = 0;
    for program in programs.filter(|path| path.is_file()).step_by(23).take(40) {
        let Ok(inspection) = inspect(&program, &machine_search()) else { continue };
        if inspection.interpreter.is_none() || !inspection.scripts.is_empty() {
            continue;
        }
        let Ok(output) = Command::new("ldd").arg(&program).env_remove("LD_LIBRARY_PATH").output() else {
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
fn runpath_origin_and_missing_libraries_are_told() {
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
    let search = Search { files: &files, library_path: None, cache: Cache::default() };
    let inspection = inspect(Path::new("/a"), &search).unwrap();
    let arguments: Vec<_> = inspection.scripts.iter().map(|s| s.first_line.argument.as_deref()).collect();
    assert_eq!(arguments, [Some("-x y"), None]);
    assert_eq!(inspection.program.as_deref(), Some(Path::new("/c")));
    assert!(inspect(Path::new("/loop"), &search).unwrap().problems[0].contains("ELOOP"));
    assert!(inspect(Path::new("/lost"), &search).unwrap().problems[0].contains("interpreter is missing"));
}

#[test]
fn what_linux_does_not_execute_is_named() {
    let mut files = Imagined::default();
    let cases: [(&[u8], &str); 7] = [
        (b"", "empty"),
        (b"MZ\x90\0", "PE"),
        (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "Mach-O"),
        (b"hello", "not an ELF file"),
        (b"#!\n", "no interpreter"),
        (b"\x7fELF", "ends within"),
        (b"\x7fELF\x09", "class is 9"),
    ];
    for (content, word) in cases {
        files.0.insert("/file".into(), content.to_vec());
        let search = Search { files: &files, library_path: None, cache: Cache::default() };
        let error = inspect(Path::new("/file"), &search).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("\nhelp: "), "{error}");
    }
    let search = machine_search();
    assert!(matches!(inspect(Path::new("/"), &search), Err(InspectError::NotAFile { .. })));
    assert!(matches!(inspect(Path::new("/nowhere"), &search), Err(InspectError::Unreadable { .. })));
}

/// splitmix64: the same mutations in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}

/// Bytes changed, mostly in the headers; fields set to extreme values; cut off, or doubled.
fn mutated(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(8) {
        let area = if random.below(3) == 0 { bytes.len() } else { bytes.len().min(1024) };
        let at = random.below(area);
        match random.below(4) {
            0 => bytes[at] = random.next().to_le_bytes()[0],
            1 => bytes[at] ^= 1 << random.below(8),
            _ => {
                let extreme = [0, u64::MAX, 0x7fff_ffff_ffff_ffff, 0xffff_ffff, 0x8000_0000][random.below(5)];
                let width = [2, 4, 8][random.below(3)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&extreme.to_le_bytes()[..width]);
            }
        }
    }
    if random.below(8) == 0 {
        bytes.truncate(random.below(bytes.len()).max(1));
    }
    bytes
}

/// `FIRSTBYTE_FUZZ` sets how many executions; each reads, resolves, predicts and disassembles.
#[test]
fn damaged_files_give_an_answer_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut originals: Vec<Vec<u8>> =
        Architecture::ALL.iter().map(|a| plain::image(*a, b"Hello", Some(0)).unwrap()).collect();
    for options in [&["-O2"][..], &["-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"], &["-c", "-g"]] {
        originals.extend(compile(folder.path(), HELLO, options).map(|program| fs::read(program).unwrap()));
    }
    let executions = std::env::var("FIRSTBYTE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut random = Random(1);
    let mut answered = 0;
    for i in 0..executions {
        let bytes = mutated(&originals[i % originals.len()], &mut random);
        let mut files = Imagined::default();
        files.0.insert("/file".into(), bytes.clone());
        files.0.insert("/lib/libc.so.6".into(), bytes.clone());
        let search = Search { files: &files, library_path: Some("/lib".into()), cache: Cache::parse(&bytes) };
        answered += usize::from(inspect(Path::new("/file"), &search).is_ok());
        let _ = disassembly::disassemble(Path::new("/file"), &bytes, "main");
    }
    eprintln!("{executions} damaged files, {answered} of them explained all the same");
}

#[test]
fn every_elf_file_of_this_machine_is_explained() {
    let mut pending: Vec<PathBuf> = vec!["/usr/bin".into(), "/usr/lib".into()];
    let (mut explained, mut refused) = (0, 0);
    while let Some(path) = pending.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if metadata.is_file() && is_elf(&path) {
            let elf = elf::read(&fs::read(&path).unwrap());
            explained += usize::from(elf.is_ok());
            refused += usize::from(elf.is_err());
            assert!(
                elf.as_ref().is_ok_and(|e| !e.segments.is_empty() || !e.kind.is_executable()),
                "{}",
                path.display()
            );
        }
    }
    eprintln!("{explained} ELF files explained, {refused} refused");
    assert!(explained > 0);
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path)
        .is_ok_and(|mut f| std::io::Read::read_exact(&mut f, &mut magic).is_ok() && magic == *b"\x7fELF")
}
