//! Compiles the BPF programs by clang, when the `bpf` feature is on: each file twice, for current kernels and for those
//! before Linux 5.12 (`kernel.h`).

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        for name in ["phases", "full", "watch"] {
            compile(name, name, &[]);
            compile(name, &format!("{name}-before-5.12"), &["-DBEFORE_5_12"]);
        }
        // those kernels lack more of what it needs
        compile("samples", "samples", &[]);
    }
}

/// `src/tracer/bpf/NAME.bpf.c` to `OUT_DIR/OBJECT.bpf.o`, compressed to a fifth (RFC 1951).
fn compile(name: &str, object: &str, definitions: &[&str]) {
    let folder = PathBuf::from("src/tracer/bpf");
    println!("cargo:rerun-if-changed={}", folder.display());
    let out =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(format!("{object}.bpf.o"));

    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let status = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-variable", "-Wno-unused-parameter", "-Wno-missing-field-initializers"])
        .arg(format!("-D__TARGET_ARCH_{}", architecture()))
        // BTF names the sources by their whole paths
        .arg(format!(
            "-ffile-prefix-map={}=firstbyte-measure",
            env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")
        ))
        .args(definitions)
        .arg("-c")
        .arg(folder.join(format!("{name}.bpf.c")))
        .arg("-o")
        .arg(&out)
        .status();

    match status {
        Ok(status) if status.success() => {
            let object = without_debugging(&std::fs::read(&out).expect("clang wrote it"));
            let compressed = miniz_oxide::deflate::compress_to_vec(&object, 9);
            std::fs::write(&out, compressed).expect("it can be written again");
        }
        Ok(status) => panic!("`{}` could not compile the BPF programs: {status}", clang.to_string_lossy()),
        Err(error) => panic!(
            "`{}` is needed to compile the BPF programs: {error}\n\
             help: sudo apt-get install clang, or build without the feature `bpf`: cargo build --no-default-features; \
             in a crate that depends on this one: cargo add firstbyte-measure --no-default-features",
            clang.to_string_lossy()
        ),
    }
}

/// As `kernel.h` (and libbpf) call it.
fn architecture() -> &'static str {
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        other => panic!(
            "the BPF programs know x86_64 and aarch64, not {other:?}\nhelp: cargo build --no-default-features"
        ),
    }
}

/// The object without what only debuggers read, most of its size. clang writes BTF only beside DWARF, and the loader
/// needs BTF alone: types, functions, and where the programs depend on the kernel's structures. Its line numbers, and the
/// relocations of BTF, which loaders ignore, go with the DWARF. The emptied sections stay in the table of sections, so that
/// every index keeps its meaning. The fields are those of a 64-bit, little-endian ELF file (elf(5)).
fn without_debugging(object: &[u8]) -> Vec<u8> {
    const HEADER: usize = 64;
    const SECTION: usize = 64;
    const SHT_NOBITS: usize = 8;
    let word = |at: usize| word(object, at);
    let long = |at: usize| {
        let offset = u64::from_le_bytes(object[at..at + 8].try_into().expect("8 bytes"));
        usize::try_from(offset).expect("an offset within the file")
    };
    let half = |at: usize| usize::from(u16::from_le_bytes([object[at], object[at + 1]]));
    let (table, count, names) = (long(40), half(60), half(62));
    let names = long(table + names * SECTION + 24);

    let mut kept = object[..HEADER].to_vec();
    let mut headers = object[table..table + count * SECTION].to_vec();
    for (index, header) in headers.chunks_mut(SECTION).enumerate() {
        let at = table + index * SECTION;
        let name = &object[names + word(at)..];
        kept.resize(kept.len().next_multiple_of(16), 0);
        header[24..32].copy_from_slice(&(kept.len() as u64).to_le_bytes());
        if [&b".debug_"[..], b".rel.debug_", b".rel.BTF"].iter().any(|start| name.starts_with(start)) {
            // SHT_NULL without contents.
            header[4..8].fill(0);
            header[32..40].fill(0);
        } else if word(at + 4) != SHT_NOBITS {
            let contents = &object[long(at + 24)..long(at + 24) + long(at + 32)];
            let contents =
                if name.starts_with(b".BTF.ext\0") { without_lines(contents) } else { contents.to_vec() };
            header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
            kept.extend(contents);
        }
    }

    kept.resize(kept.len().next_multiple_of(16), 0);
    let moved = (kept.len() as u64).to_le_bytes();
    kept.extend_from_slice(&headers);
    kept[40..48].copy_from_slice(&moved);
    kept
}

/// A `.BTF.ext` section without line numbers. Its header (the kernel's Documentation/bpf/btf.rst) has the offset, from the
/// header's end, and the length of three tables, which follow each other: functions, lines, relocations to the kernel's BTF.
fn without_lines(section: &[u8]) -> Vec<u8> {
    const LINES: usize = 16;
    const LINES_LENGTH: usize = 20;
    const RELOCATIONS: usize = 24;
    let lines = word(section, 4) + word(section, LINES);
    let after = lines + word(section, LINES_LENGTH);
    assert_eq!(after, word(section, 4) + word(section, RELOCATIONS), "the relocations follow the lines");

    let mut kept = section.to_vec();
    kept.drain(lines..after);
    kept.copy_within(LINES..LINES + 4, RELOCATIONS);
    kept[LINES_LENGTH..LINES_LENGTH + 4].fill(0);
    kept
}

/// Four bytes of a little-endian file as a number.
fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize
}
