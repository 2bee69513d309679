//! Runs the executables that we write: natively if the kernel accepts them, or else with qemu-user.

use crate::support::skipped as skip;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, code, plain};
use object::{Object, ObjectSegment};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const HELLO: &[u8] = b"Hello, World!\n";

/// How programs of an architecture run here.
enum Runner {
    Kernel,
    Qemu(PathBuf),
}

fn runner(architecture: Architecture) -> Option<Runner> {
    let native = match architecture {
        Architecture::X86_64 | Architecture::I386 => cfg!(target_arch = "x86_64"),
        other => Architecture::host() == Some(other),
    };
    if native {
        return Some(Runner::Kernel);
    }
    let name = format!("qemu-{architecture}");
    let found = ["", "-static"].iter().find_map(|suffix| on_path(&format!("{name}{suffix}")));
    if found.is_none() {
        skip(&format!(
            "{architecture} programs cannot run: `{name}` is missing; help: `apt-get install qemu-user`"
        ));
    }
    found.map(Runner::Qemu)
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn write_executable(folder: &Path, image: &[u8]) -> PathBuf {
    let path = folder.join("program");
    fs::write(&path, image).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(runner: &Runner, image: &[u8]) -> Output {
    run_with(runner, image, |command| command.stdout(Stdio::piped()))
}

fn run_with(runner: &Runner, image: &[u8], prepare: impl Fn(&mut Command) -> &mut Command) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = write_executable(folder.path(), image);
    let mut command = match runner {
        Runner::Kernel => Command::new(&path),
        Runner::Qemu(qemu) => Command::new(qemu),
    };
    if let Runner::Qemu(_) = runner {
        command.arg(&path);
    }
    prepare(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    loop {
        match command.spawn() {
            // Another test's thread forked while we had the file open for writing.
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => std::thread::yield_now(),
            child => return child.unwrap().wait_with_output().unwrap(),
        }
    }
}

fn runners() -> Vec<(Architecture, Runner)> {
    Architecture::ALL.into_iter().filter_map(|a| Some((a, runner(a)?))).collect()
}

fn patterned(length: usize) -> Vec<u8> {
    (0..length).map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap()).collect()
}

#[test]
fn plain_executables_print_their_message_and_exit_with_their_status() {
    for (architecture, runner) in runners() {
        for length in [0, 1, 13, 14, 255, 256, 2048, 4096, 4097, 65_536, 1 << 20] {
            for status in [0, 1, 42, 255] {
                let message = patterned(length);
                let image = plain::image(architecture, &message, Some(status)).unwrap();
                let output = run(&runner, &image);
                assert_eq!(output.status.code(), Some(status.into()), "{architecture} {length}");
                assert!(output.stdout == message, "{architecture}: wrong output of {length} bytes");
            }
        }
    }
}

#[test]
fn without_exit_the_message_is_printed_and_then_the_program_crashes() {
    for (architecture, runner) in runners() {
        let output = run(&runner, &plain::image(architecture, HELLO, None).unwrap());
        assert_eq!(output.stdout, HELLO, "{architecture}");
        assert!(output.status.signal().is_some(), "{architecture}: {}", output.status);
    }
}

#[test]
fn a_long_message_that_cannot_be_written_ends_with_status_1() {
    for (architecture, runner) in runners() {
        let image = plain::image(architecture, &patterned(1 << 20), Some(0)).unwrap();
        let output = run_with(&runner, &image, |command| {
            command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
        });
        assert_eq!(output.status.code(), Some(1), "{architecture}");
    }
}

#[test]
fn plain_executables_are_read_back_by_an_independent_reader() {
    for architecture in Architecture::ALL {
        let image = plain::image(architecture, HELLO, Some(0)).unwrap();
        let file = object::File::parse(&*image).unwrap();
        assert_eq!(file.architecture(), expected(architecture));
        let segments: Vec<_> = file.segments().collect();
        assert_eq!(segments.len(), 1);
        assert_eq!(segments[0].address(), plain::BASE);
        assert_eq!(segments[0].data().unwrap(), image);
        let code = usize::try_from(file.entry() - plain::BASE).unwrap();
        assert_eq!(code, plain::headers_size(architecture));
        assert!(image.ends_with(HELLO));
    }
}

fn expected(architecture: Architecture) -> object::Architecture {
    match architecture {
        Architecture::X86_64 => object::Architecture::X86_64,
        Architecture::I386 => object::Architecture::I386,
        Architecture::Aarch64 => object::Architecture::Aarch64,
        Architecture::Riscv64 => object::Architecture::Riscv64,
    }
}

/// Size of the packed file for 'Hello, World!\n' and for 'hello world\n', status 0.
const PACKED_SIZES: [(Architecture, Demands, usize, usize); 6] = [
    (Architecture::X86_64, EVERYWHERE, 86, 84),
    (Architecture::I386, EVERYWHERE, 62, 60),
    (Architecture::Aarch64, EVERYWHERE, 122, 120),
    (Architecture::Aarch64, REAL_KERNELS, 114, 112),
    (Architecture::Riscv64, EVERYWHERE, 114, 112),
    (Architecture::Riscv64, REAL_KERNELS, 109, 107),
];

const EVERYWHERE: Demands = Demands { real_kernels_only: false, large_mappings: false, exhaustive: false };
const REAL_KERNELS: Demands = Demands { real_kernels_only: true, ..EVERYWHERE };

#[test]
fn packed_executables_have_the_sizes_that_the_table_in_docs_elf_md_gives() {
    for (architecture, demands, hello, short) in PACKED_SIZES {
        for (message, size) in [(HELLO, hello), (b"hello world\n", short)] {
            let packed = packed::image(architecture, message, 0, demands).unwrap();
            assert_eq!(packed.image.len(), size, "{architecture} {demands:?}");
        }
    }
}

fn check_packed(architecture: Architecture, length: usize, status: u8) {
    let Some(runner) = runner(architecture) else { return };
    let message = patterned(length);
    let packed = packed::image(architecture, &message, status, EVERYWHERE).unwrap();
    let output = run(&runner, &packed.image);
    assert_eq!(output.status.code(), Some(status.into()), "{architecture} {length}");
    assert!(output.stdout == message, "{architecture}: wrong output of {length} bytes");
    let plain = plain::image(architecture, &message, Some(status)).unwrap();
    assert!(packed.image.len() <= plain.len(), "{architecture} {length}");
}

fn check_packed_of_many_lengths(architecture: Architecture) {
    for length in [0, 1, 7, 14, 53, 256, 4097, 1 << 20] {
        check_packed(architecture, length, 0);
    }
    for status in [1, 42, 255] {
        check_packed(architecture, 14, status);
    }
}

#[test]
fn packed_x86_64_executables_print_their_message_and_exit_with_their_status() {
    check_packed_of_many_lengths(Architecture::X86_64);
}

#[test]
fn packed_i386_executables_print_their_message_and_exit_with_their_status() {
    check_packed_of_many_lengths(Architecture::I386);
}

#[test]
fn packed_aarch64_executables_print_their_message_and_exit_with_their_status() {
    check_packed_of_many_lengths(Architecture::Aarch64);
}

#[test]
fn packed_riscv64_executables_print_their_message_and_exit_with_their_status() {
    check_packed_of_many_lengths(Architecture::Riscv64);
}

/// The smallest cat, in both layouts.
fn readers(architecture: Architecture) -> [Vec<u8>; 2] {
    let code = code::copy(architecture);
    let packed = packed::wrap(architecture, &code, EVERYWHERE).unwrap();
    [plain::wrap(architecture, &code).unwrap(), packed.image]
}

#[test]
fn the_reader_copies_stdin_to_stdout() {
    for (architecture, runner) in runners() {
        for length in [0, 1, 65_536, 65_537, 1 << 20] {
            let input = patterned(length);
            let mut file = tempfile::NamedTempFile::new().unwrap();
            std::io::Write::write_all(&mut file, &input).unwrap();
            for image in readers(architecture) {
                let output = run_with(&runner, &image, |command| {
                    command.stdin(fs::File::open(file.path()).unwrap()).stdout(Stdio::piped())
                });
                assert_eq!(output.status.code(), Some(0), "{architecture} {length}");
                assert!(output.stdout == input, "{architecture}: wrong copy of {length} bytes");
            }
        }
    }
}

#[test]
fn the_reader_fails_with_status_1_if_it_cannot_read_or_write() {
    for (architecture, runner) in runners() {
        for image in readers(architecture) {
            let output = run_with(&runner, &image, |command| command.stdin(fs::File::open("/").unwrap()));
            assert_eq!(output.status.code(), Some(1), "{architecture}: a folder");
            let output = run_with(&runner, &image, |command| {
                let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
                command.stdin(fs::File::open("/proc/self/status").unwrap()).stdout(full)
            });
            assert_eq!(output.status.code(), Some(1), "{architecture}: a full disk");
        }
    }
}

/// Slow, therefore ignored: `cargo test --release --test integration elf -- --ignored` runs it in a minute.
#[test]
#[ignore = "exhaustive"]
fn no_arrangement_is_smaller_than_those_that_are_tried_first() {
    for (architecture, demands, size, _) in PACKED_SIZES {
        let packed = packed::image(architecture, HELLO, 0, Demands { exhaustive: true, ..demands }).unwrap();
        eprintln!("{architecture}: {} bytes, {} placements tried", packed.image.len(), packed.tried);
        assert_eq!(packed.image.len(), size, "{architecture} {demands:?}");
    }
}

const STATUSES: [u8; 10] = [0, 1, 2, 3, 31, 32, 127, 128, 224, 255];

/// With status 0 every short length and those around powers of two, with other statuses some of each kind.
#[test]
#[ignore = "many lengths"]
fn packed_executables_of_many_lengths_run() {
    for architecture in Architecture::ALL {
        for length in (0..132).chain([255, 256, 257, 2047, 2048, 4095, 4096, 4097]) {
            check_packed(architecture, length, 0);
        }
        for length in [0, 1, 14, 15, 16, 31, 53, 64, 129, 257] {
            for status in STATUSES {
                check_packed(architecture, length, status);
            }
        }
    }
}

/// For most lengths below 256 the bytes other than the message contain their own code. A search that stops too early would
/// fail here.
#[test]
fn packed_i386_executables_of_any_short_length_need_no_more_than_48_bytes_beside_the_message() {
    for length in [14, 16, 20, 53, 60, 64, 70] {
        let packed = packed::image(Architecture::I386, &patterned(length), 0, EVERYWHERE).unwrap();
        assert_eq!(packed.image.len(), length + 48);
    }
}
