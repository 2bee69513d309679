//! The C compiler for an architecture: gcc or clang, native or cross.

use super::error::RuntimeError;
use firstbyte_elf::Architecture;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A command that compiles for an architecture, and what it reported about itself.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Program and arguments: `["gcc"]`, `["clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld"]`.
    pub command: Vec<String>,
    /// The target.
    pub architecture: Architecture,
    /// The first line of `--version`.
    pub version: String,
    /// The folder of its own headers: `stdarg.h`, `stddef.h`, intrinsics.
    pub include: PathBuf,
    /// libgcc or compiler-rt, if it exists for the architecture.
    pub support: Option<PathBuf>,
}

impl Compiler {
    /// The compiler that `FIRSTBYTE_CC` names, or else the first that works of gcc, clang and the cross compilers.
    pub fn find(architecture: Architecture) -> Result<Compiler, RuntimeError> {
        match std::env::var("FIRSTBYTE_CC") {
            Ok(chosen) if !chosen.trim().is_empty() => Compiler::chosen(&chosen, architecture),
            _ => Compiler::search(architecture),
        }
    }

    /// The compiler that this command runs, if it compiles for the architecture.
    pub fn chosen(command: &str, architecture: Architecture) -> Result<Compiler, RuntimeError> {
        let error = || RuntimeError::ChosenCompiler { command: command.to_owned(), architecture };
        let words = shell_words::split(command).map_err(|_| error())?;
        Compiler::probe(words, architecture).ok_or_else(error)
    }

    fn search(architecture: Architecture) -> Result<Compiler, RuntimeError> {
        let candidates = candidates(architecture);
        let found = candidates.iter().find_map(|words| Compiler::probe(words.clone(), architecture));
        found.ok_or_else(|| RuntimeError::NoCompiler {
            architecture,
            tried: candidates.iter().map(|words| words.join(" ")).collect(),
            package: package(architecture),
        })
    }

    /// Queries the compiler. `None` if it does not exist or compiles for another architecture.
    fn probe(command: Vec<String>, architecture: Architecture) -> Option<Compiler> {
        let macros = ask(&command, ["-E", "-dM", "-xc", "/dev/null"])?;
        if !macros.lines().any(|line| line == format!("#define {} 1", identifying_macro(architecture))) {
            return None;
        }
        let version = ask(&command, ["--version"])?.lines().next().unwrap_or_default().to_owned();
        let include = PathBuf::from(ask(&command, ["-print-file-name=include"])?.trim());
        let support = ask(&command, ["-print-libgcc-file-name"]).map(|path| PathBuf::from(path.trim()));
        let support = support.filter(|path| path.is_file() && architecture != Architecture::I386);
        Some(Compiler { command, architecture, version, include, support })
    }

    /// The compiler's command, without any arguments of a compilation.
    pub fn run(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command
    }

    /// Whether it is clang, some of whose options have other names than gcc's.
    pub fn is_clang(&self) -> bool {
        self.version.contains("clang")
    }
}

fn ask<const N: usize>(command: &[String], arguments: [&str; N]) -> Option<String> {
    let mut asked = Command::new(command.first()?);
    asked.args(&command[1..]).args(arguments.map(OsStr::new)).stdin(Stdio::null()).stderr(Stdio::null());
    let output = asked.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// The commands to try, in the order of preference.
fn candidates(architecture: Architecture) -> Vec<Vec<String>> {
    let triple = triple(architecture);
    let native = Architecture::host() == Some(architecture);
    let cross = [format!("{triple}-gcc"), format!("clang --target={triple} -fuse-ld=lld")];
    let x86 = Architecture::host() == Some(Architecture::X86_64) && architecture == Architecture::I386;
    let mut lines: Vec<String> = Vec::new();
    if native {
        lines.extend(["gcc", "clang", "cc"].map(str::to_owned));
    } else if x86 {
        lines.extend(["gcc -m32", "clang -m32"].map(str::to_owned));
    }
    lines.extend(cross);
    lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn triple(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "x86_64-linux-gnu",
        Architecture::I386 => "i686-linux-gnu",
        Architecture::Aarch64 => "aarch64-linux-gnu",
        Architecture::Riscv64 => "riscv64-linux-gnu",
    }
}

fn package(architecture: Architecture) -> &'static str {
    match architecture {
        _ if Architecture::host() == Some(architecture) => "gcc",
        Architecture::X86_64 => "gcc-x86-64-linux-gnu",
        Architecture::I386 => "gcc-i686-linux-gnu",
        Architecture::Aarch64 => "gcc-aarch64-linux-gnu",
        Architecture::Riscv64 => "gcc-riscv64-linux-gnu",
    }
}

fn identifying_macro(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "__x86_64__",
        Architecture::I386 => "__i386__",
        Architecture::Aarch64 => "__aarch64__",
        Architecture::Riscv64 => "__riscv",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_not_a_compiler_is_refused() {
        for command in ["/nonexistent/cc", "true", "false"] {
            let error = Compiler::chosen(command, Architecture::X86_64).unwrap_err().to_string();
            assert!(error.contains("help: unset FIRSTBYTE_CC"), "{error}");
        }
    }

    #[test]
    fn a_cross_compiler_is_tried_for_every_architecture() {
        for architecture in Architecture::ALL {
            let cross = format!("{}-gcc", triple(architecture));
            assert!(candidates(architecture).iter().any(|words| words[0] == cross));
        }
    }
}
