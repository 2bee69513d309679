//! The flags for compiler and linker, each with its purpose.

use super::compiler::Compiler;
use firstbyte_elf::Architecture;
use std::path::Path;

/// For every compilation against the runtime.
const COMPILE: [&str; 9] = [
    // Programs have a fixed address: no relocation at start-up, and shorter code.
    "-fno-pie",
    "-fno-pic",
    // The random value of the guard would have to be fetched before main.
    "-fno-stack-protector",
    // Unwinding tables would be mapped and never read.
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-ident",
    // Each function has its own section, so that the linker drops functions that nothing calls.
    "-ffunction-sections",
    "-fdata-sections",
    // The runtime's headers replace the system's.
    "-nostdinc",
];

/// Also for the runtime's own sources: the compiler must not turn a function's code into a call of that same function.
const RUNTIME: [&str; 3] = ["-std=c11", "-ffreestanding", "-fno-builtin"];

const LINK: [&str; 9] = [
    "-static",
    "-no-pie",
    "-nostdlib",
    "-nostartfiles",
    "-Wl,--gc-sections",
    "-Wl,--build-id=none",
    // One mapping for code and constants. None is protected after relocation, because there is no relocation.
    "-Wl,-z,norelro",
    "-Wl,-z,noexecstack",
    "-Wl,--no-eh-frame-hdr",
];

/// For the user's sources. They go after the user's own flags, which they override.
pub fn compile(compiler: &Compiler, runtime: &Path) -> Vec<String> {
    let mut flags: Vec<String> = COMPILE.map(str::to_owned).to_vec();
    for folder in [&runtime.join("include"), &compiler.include] {
        flags.extend(["-isystem".to_owned(), folder.display().to_string()]);
    }
    flags.extend(of_architecture(compiler).into_iter().map(str::to_owned));
    flags
}

/// For the runtime's sources in this folder of `src/`. Functions that move bytes are optimised for speed, the rest for
/// size.
pub fn runtime(compiler: &Compiler, runtime: &Path, folder: &str) -> Vec<String> {
    let mut flags = compile(compiler, runtime);
    flags.extend(RUNTIME.map(str::to_owned));
    if !compiler.is_clang() {
        // Without this, gcc turns the loop in memset into a call of memset.
        flags.push("-fno-tree-loop-distribute-patterns".to_owned());
        if matches!(compiler.architecture, Architecture::X86_64 | Architecture::I386) {
            // A table of 48 bytes does not need an alignment of 32.
            flags.push("-malign-data=abi".to_owned());
        }
    }

    let tuned: &[&str] = match folder {
        "string" if compiler.is_clang() => &["-O2"],
        "string" => &["-O2", "-falign-functions=1", "-falign-loops=1", "-falign-jumps=1"],
        "stdlib" => &["-O2"],
        _ => &["-Os"],
    };
    flags.extend(tuned.iter().map(|&flag| flag.to_owned()));
    flags
}

/// For linking. They go after the objects.
pub fn link(compiler: &Compiler, runtime: &Path, keep_symbols: bool) -> Vec<String> {
    let mut flags: Vec<String> = LINK.map(str::to_owned).to_vec();
    if !keep_symbols {
        flags.push("-s".to_owned());
    }
    flags.push(format!("-Wl,-T,{}", runtime.join("firstbyte.ld").display()));
    flags.push("-Wl,--start-group".to_owned());
    flags.push(runtime.join("libfirstbyte.a").display().to_string());
    flags.extend(compiler.support.iter().map(|path| path.display().to_string()));
    flags.push("-Wl,--end-group".to_owned());
    flags
}

fn of_architecture(compiler: &Compiler) -> Vec<&'static str> {
    let mut flags = match compiler.architecture {
        // No landing pads for indirect-branch tracking, which these static programs never use.
        Architecture::X86_64 | Architecture::I386 => vec!["-fcf-protection=none"],
        Architecture::Aarch64 => vec!["-mbranch-protection=none"],
        Architecture::Riscv64 => vec![],
    };
    if compiler.is_clang() {
        flags.push("-Qunused-arguments");
    }
    flags
}
