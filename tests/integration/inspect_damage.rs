//! Inspecting damaged, foreign and misleading files: any file gives an answer or an error.

use crate::inspect::{HELLO, Imagined, among, compile};
use firstbyte::inspect::file_kind::ElfKind;
use firstbyte::inspect::headers;
use firstbyte::inspect::{Environment, Surroundings, disassembly, inspect};
use firstbyte::report::text::inspect as inspect_text;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, plain};
use std::fs;
use std::path::{Path, PathBuf};

/// splitmix64, which makes the same mutations in every run.
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

/// Changes bytes, mostly in the headers, sets fields to extreme values, cuts the file off, or doubles it.
fn mutated(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(8) {
        let area = if random.below(3) == 0 { bytes.len() } else { bytes.len().min(1024) };
        let at = random.below(area);
        match random.below(5) {
            0 => bytes[at] = random.next().to_le_bytes()[0],
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0x1b, b'\n', 0x9b, 0x7f][random.below(4)],
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

/// The offsets of `e_phoff`, `e_shoff`, `e_phnum`, `e_shnum` and `e_shstrndx` in 64-bit and 32-bit headers.
const COUNTS: [usize; 10] = [32, 40, 56, 60, 62, 28, 32, 44, 48, 50];

/// Sets a header field to an extreme value, or copies one program header over another.
fn misled(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    let wide = bytes.get(4) == Some(&2);
    let (headers, size) = if wide { (64, 56) } else { (52, 32) };
    if random.below(2) == 0 {
        let at = COUNTS[random.below(COUNTS.len())];
        let value = [0xffff_u16, 0xfffe, 0x8000, 1, 0][random.below(5)].to_le_bytes();
        if let Some(field) = bytes.get_mut(at..at + 2) {
            field.copy_from_slice(&value);
        }
    } else if bytes.len() > headers + 14 * size {
        let (from, to) = (headers + random.below(13) * size, headers + random.below(13) * size);
        bytes.copy_within(from..from + size, to);
        let at = to + random.below(size);
        bytes[at] = random.next().to_le_bytes()[0];
    }
    bytes
}

/// An ELF file of type `ET_CORE` as the kernel writes it, with notes and a segment of memory.
fn core_file() -> Vec<u8> {
    let mut core = plain::image(Architecture::X86_64, &[0; 200], Some(0)).unwrap();
    core[16] = 4;
    core[64] = 4; // PT_NOTE
    core
}

/// Valid files of every kind.
fn originals(folder: &Path) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> =
        Architecture::ALL.iter().map(|a| plain::image(*a, b"Hello", Some(0)).unwrap()).collect();
    let packed = |a: &Architecture| packed::image(*a, b"Hello", 0, Demands::default()).unwrap().image;
    all.extend(Architecture::ALL.iter().map(packed));
    let kernel_module = "__attribute__((section(\".modinfo\"))) char license[] = \"license=GPL\"; int init_module(void) { return 0; }\n";
    let compiled: [(&str, &[&str]); 5] = [
        (HELLO, &["-O2"]),
        (HELLO, &["-O2", "-no-pie", "-Wl,--hash-style=sysv", "-Wl,-z,now"]),
        (HELLO, &["-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"]),
        (HELLO, &["-c", "-g"]),
        (kernel_module, &["-c"]),
    ];
    for (source, options) in compiled {
        all.extend(compile(folder, source, options).map(|program| fs::read(program).unwrap()));
    }
    all.push(core_file());
    all.push([b"MZ".as_slice(), &[0; 58], &[64, 0, 0, 0], b"PE\0\0\x64\x86", &[0; 300]].concat());
    all.push([b"\xcf\xfa\xed\xfe\x07\0\0\x01".as_slice(), &[0; 300]].concat());
    all.push(b"#!/fi\x1b[2Jle -x\n".to_vec());
    all.push(b"#!/lib/libc.so.6 -x\x1b[2J\n".to_vec());
    all
}

/// A name that would clear a terminal and fake a line of output.
const NAME: &str = "/fi\x1b[2Jle\n  runtime  \u{9b}5n";

fn shows_no_escape(text: &str) {
    let shown = text.chars().find(|c| c.is_control() && *c != '\n');
    assert!(shown.is_none(), "{text:?}");
}

/// `FIRSTBYTE_FUZZ` sets the number of executions. Each one reads, renders, resolves, predicts and disassembles. Each
/// library that the file needs is the file itself or another damaged file, so they need each other.
#[test]
fn damaged_files_give_an_answer_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let originals = originals(folder.path());
    let executions = std::env::var("FIRSTBYTE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut random = Random(1);
    let mut answered = 0;
    let mut last = Vec::new();
    for i in 0..executions {
        let original = &originals[i % originals.len()];
        let bytes =
            if random.below(4) == 0 { misled(original, &mut random) } else { mutated(original, &mut random) };
        let mut files = Imagined::default();
        files.0.insert(NAME.into(), bytes.clone());
        files.0.insert("/lib/libc.so.6".into(), if last.is_empty() { bytes.clone() } else { last });
        files.0.insert("/etc/ld.so.cache".into(), bytes.clone());
        let search = Surroundings {
            environment: Environment::default().with("LD_LIBRARY_PATH", "/lib"),
            ..among(&files)
        };
        if let Ok(inspection) = inspect(Path::new(NAME), &search) {
            shows_no_escape(&inspect_text::render(&inspection, None));
            let document = serde_json::to_vec(&inspection).unwrap();
            assert!(!document.contains(&0x1b));
            answered += 1;
        }
        if let Ok(lines) = disassembly::disassemble(Path::new(NAME), &bytes, "main") {
            shows_no_escape(&inspect_text::render_lines(&lines));
        }
        last = bytes;
    }
    eprintln!("{executions} damaged files, {answered} of them explained");
}

/// Cuts the file after each of its bytes.
#[test]
fn a_file_cut_off_anywhere_gives_an_answer_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for original in originals(folder.path()) {
        let step = (original.len() / 3000).max(1);
        for length in (0..original.len().min(1500)).chain((1500..original.len()).step_by(step)) {
            let mut files = Imagined::default();
            files.0.insert("/file".into(), original[..length].to_vec());
            let search = among(&files);
            let _ = inspect(Path::new("/file"), &search);
        }
    }
}

#[test]
fn a_core_file_and_a_kernel_module_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(headers::read(&core_file()).unwrap().kind, ElfKind::Core);
    let Some(module) = compile(folder.path(), "int init_module(void) { return 0; }\n", &["-c"]) else {
        return;
    };
    assert_eq!(headers::read(&fs::read(module).unwrap()).unwrap().kind, ElfKind::Relocatable);
}

#[test]
fn every_program_of_this_machine_is_explained() {
    all_are_explained(&["/usr/bin", "/usr/lib/gcc"]);
}

#[test]
#[ignore = "reads gigabytes"]
fn every_elf_file_of_this_machine_is_explained() {
    all_are_explained(&["/usr/bin", "/usr/lib"]);
}

fn all_are_explained(folders: &[&str]) {
    let mut pending: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let (mut explained, mut refused) = (0, 0);
    while let Some(path) = pending.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if metadata.is_file() && is_elf(&path) {
            let elf = headers::read(&fs::read(&path).unwrap());
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
