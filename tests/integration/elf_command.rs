//! `firstbyte elf` through the binary: each option for the executable's action, the explanations, and the files as
//! readelf(1) reads them.

use crate::support::skipped;
use firstbyte_elf::Architecture;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn elf(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstbyte")).arg("elf").args(arguments).output().unwrap()
}

/// Writes the file, executable.
fn written(folder: &Path, arguments: &[&str]) -> PathBuf {
    let path = folder.join("program");
    let output = elf(&[arguments, &["-o", path.to_str().unwrap()]].concat());
    assert!(output.status.success() && output.stdout.is_empty(), "{arguments:?}: {output:?}");
    path
}

fn run(program: &Path, input: &[u8]) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, input).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    loop {
        let mut command = Command::new(program);
        match command.stdin(file.try_clone().unwrap()).stdout(Stdio::piped()).spawn() {
            // Another test's thread forked while the file was being written.
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => std::thread::yield_now(),
            child => return child.unwrap().wait_with_output().unwrap(),
        }
    }
}

/// The architectures whose files this machine's kernel runs.
fn native() -> &'static [&'static str] {
    if cfg!(target_arch = "x86_64") { &["x86-64", "i386"] } else { &[] }
}

#[test]
fn another_alignment_is_stated_in_a_file_of_the_same_size_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    for arch in native() {
        let usual = fs::read(written(folder.path(), &["--message", "hi", "--arch", arch])).unwrap();
        let ultra = written(folder.path(), &["--message", "hi", "--arch", arch, "--align", "4"]);
        assert_eq!(run(&ultra, b"").stdout, b"hi", "{arch}");
        let ultra = fs::read(ultra).unwrap();
        assert!(ultra.len() == usual.len() && ultra != usual, "{arch}");
    }
    for wrong in [&["--align", "3"][..], &["--align", "4", "--layout", "packed"]] {
        let output = elf(&[&["--message", "hi", "-o", "-"], wrong].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{wrong:?}");
        assert!(said.contains("\nhelp: "), "{said}");
    }
}

#[test]
fn escapes_are_interpreted_and_the_rest_is_written_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    for arch in native() {
        for layout in ["plain", "packed"] {
            let text = r"a\tb\\n\x00\xff\r\n";
            let program = written(folder.path(), &["--escape", text, "--arch", arch, "--layout", layout]);
            assert_eq!(run(&program, b"").stdout, b"a\tb\\n\0\xff\r\n", "{arch} {layout}");
            let program = written(folder.path(), &["--message", text, "--arch", arch, "--layout", layout]);
            assert_eq!(run(&program, b"").stdout, text.as_bytes(), "{arch} {layout}");
        }
    }
    for text in [r"\q", r"\x1", r"\xgg", "\\"] {
        let output = elf(&["--escape", text, "-o", "-"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{text}");
        assert!(said.contains("\nhelp: "), "{said}");
    }
}

#[test]
fn the_reader_written_by_the_command_copies() {
    let folder = tempfile::tempdir().unwrap();
    let input: Vec<u8> = (0..100_000_u32).map(|i| i.to_le_bytes()[1]).collect();
    for arch in native() {
        for layout in ["plain", "packed"] {
            let program = written(folder.path(), &["--reader", "--arch", arch, "--layout", layout]);
            let output = run(&program, &input);
            assert!(output.status.success() && output.stdout == input, "{arch} {layout}");
        }
    }
}

/// `mov edi, 42; mov eax, 60; syscall` and, for i386, `mov ebx, 42; mov eax, 1; int 0x80`.
#[test]
fn machine_code_is_entered_at_its_first_byte() {
    let codes: [&[u8]; 2] =
        [b"\xbf\x2a\0\0\0\xb8\x3c\0\0\0\x0f\x05", b"\xbb\x2a\0\0\0\xb8\x01\0\0\0\xcd\x80"];
    let folder = tempfile::tempdir().unwrap();
    for (arch, code) in native().iter().zip(codes) {
        let file = folder.path().join("code");
        fs::write(&file, code).unwrap();
        for layout in ["plain", "packed"] {
            let code = file.to_str().unwrap();
            let program = written(folder.path(), &["--code", code, "--arch", arch, "--layout", layout]);
            assert_eq!(run(&program, b"").status.code(), Some(42), "{arch} {layout}");
        }
    }
    let refused = elf(&["--code", "/dev/null", "-o", "-"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
}

/// Every byte of the file is explained once, with its value.
#[test]
fn explanations_cover_the_file_in_text_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    for arch in ["x86-64", "i386", "aarch64", "riscv64"] {
        for layout in ["plain", "packed"] {
            let purpose = ["--message", "hello world\n", "--arch", arch, "--layout", layout];
            let image = fs::read(written(folder.path(), &purpose)).unwrap();
            let text = elf(&[&purpose[..], &["--explain"]].concat());
            assert!(text.status.success());
            let text = String::from_utf8(text.stdout).unwrap();
            assert!(text.contains("e_machine") && text.contains("p_memsz"), "{text}");
            let json = elf(&[&purpose[..], &["--json"]].concat());
            let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
            assert_eq!(document["size"], image.len());
            assert_eq!(document["architecture"], *arch);
            assert_eq!(document["schema"], "firstbyte/1");
            let rows = document["results"].as_array().unwrap();
            let bytes = rows.iter().flat_map(|row| row["bytes"].as_array().unwrap());
            let bytes: Vec<u8> = bytes.map(|b| u8::try_from(b.as_u64().unwrap()).unwrap()).collect();
            assert_eq!(bytes, image, "{arch} {layout}");
        }
    }
    let both = elf(&["--message", "x", "--explain", "--json"]);
    assert_eq!((both.status.code(), both.stdout.len()), (Some(2), 0));
}

fn readelf(program: &Path, options: &str) -> Option<String> {
    let Ok(output) = Command::new("readelf").arg(options).arg(program).env("LC_ALL", "C").output() else {
        skipped("`readelf` is missing; help: `apt-get install binutils`");
        return None;
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn plain_files_are_read_back_by_readelf_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let machines = [
        ("x86-64", "ELF64", "Advanced Micro Devices X86-64"),
        ("i386", "ELF32", "Intel 80386"),
        ("aarch64", "ELF64", "AArch64"),
        ("riscv64", "ELF64", "RISC-V"),
    ];
    for (arch, class, machine) in machines {
        let program = written(folder.path(), &["--message", "hello world\n", "--arch", arch]);
        let (Some(header), Some(segments)) = (readelf(&program, "-h"), readelf(&program, "-lW")) else {
            return;
        };
        let value = |name: &str| {
            let line = header.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
            line.split_once(':').unwrap().1.trim().to_owned()
        };
        assert_eq!((value("Class").as_str(), value("Machine").as_str()), (class, machine));
        assert_eq!(value("Type"), "EXEC (Executable file)", "{arch}");
        assert_eq!(value("Number of program headers"), "1");
        assert_eq!(value("Number of section headers"), "0");
        let size = fs::metadata(&program).unwrap().len();
        let loads: Vec<&str> =
            segments.lines().filter(|line| line.trim_start().starts_with("LOAD")).collect();
        let fields: Vec<&str> = loads[0].split_whitespace().collect();
        let number = |at: usize| u64::from_str_radix(fields[at].trim_start_matches("0x"), 16).unwrap();
        assert_eq!((loads.len(), number(1), number(4), number(5)), (1, 0, size, size), "{segments}");
        assert_eq!(fields[6..8], ["R", "E"], "{segments}");
        let entry = u64::from_str_radix(value("Entry").trim_start_matches("0x"), 16).unwrap();
        assert!((number(2)..number(2) + size).contains(&entry), "{arch}");
    }
}

/// The exhaustive search finds no smaller file with 2 GiB of mappings than without. The file runs in both cases.
#[test]
fn the_i386_files_with_large_mappings_have_their_sizes_and_run() {
    let folder = tempfile::tempdir().unwrap();
    for (message, size) in [("hello world\n", 60), ("Hello, World!\n", 62)] {
        let purpose = ["--message", message, "--arch", "i386", "--layout", "packed", "--large-mappings"];
        let program = written(folder.path(), &purpose);
        assert_eq!(fs::read(&program).unwrap().len(), size);
        if !native().contains(&"i386") {
            return skipped("i386 programs do not run on this machine");
        }
        let output = run(&program, b"");
        assert_eq!((output.stdout.as_slice(), output.status.code()), (message.as_bytes(), Some(0)));
    }
}

/// A file that may map more is never larger than one that may not.
#[test]
fn large_mappings_never_cost_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for architecture in Architecture::ALL {
        for message in ["", "x", "hello world\n", "Hello, World!\n", "a longer message than those\n"] {
            let arch = architecture.to_string();
            let purpose = ["--message", message, "--arch", &arch, "--layout", "packed"];
            let modest = fs::read(written(folder.path(), &purpose)).unwrap().len();
            let large = [&purpose[..], &["--large-mappings"]].concat();
            let large = fs::read(written(folder.path(), &large)).unwrap().len();
            assert!(large <= modest, "{architecture} {message:?}: {large} against {modest}");
        }
    }
}
