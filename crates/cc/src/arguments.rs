//! The command line of `firstbyte cc`. `--target`, `--print-flags` and `--print-runtime` are its own options.
//! Everything else is passed to the compiler unchanged.

use super::error::RuntimeError;
use super::refused;
use firstbyte_elf::Architecture;
use std::ffi::{OsStr, OsString};

/// What to print instead of compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintRequest {
    /// All flags. They go after the sources.
    Flags,
    /// Only the flags for compiling.
    CompileFlags,
    /// Only the flags for linking. They go after the objects.
    LinkFlags,
    /// The folder of the unpacked and built runtime.
    Runtime,
}

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The architecture of `--target`, or i386 for `-m32`. `None` for this machine's.
    pub architecture: Option<Architecture>,
    /// What to print instead of compiling.
    pub printed: Option<PrintRequest>,
    /// The arguments that are passed to the compiler.
    pub passed: Vec<OsString>,
}

/// Options of gcc and clang whose value is the next argument.
const WITH_VALUE: [&str; 28] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-l",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-isysroot",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-target",
    "--param",
];

/// Options after which nothing is linked.
const NOT_LINKING: [&str; 7] = ["-c", "-S", "-E", "-M", "-MM", "-r", "-fsyntax-only"];

/// Libraries that the runtime replaces. They are dropped, so that makefiles need no change.
const DROPPED: [&str; 4] = ["-lc", "-lm", "-lrt", "-dynamic"];

impl Arguments {
    /// Parses the arguments. Fails for an option that a program of the runtime cannot support.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, RuntimeError> {
        let mut parsed = Arguments { architecture: None, printed: None, passed: Vec::new() };
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            if argument == "--target" {
                let value = rest.next().ok_or_else(|| RuntimeError::MissingValue("--target".to_owned()))?;
                parsed.architecture = Some(target(&value)?);
            } else if !parsed.take(&argument)? {
                parsed.passed.push(argument);
            }
        }
        let options = parsed.passed.iter().filter_map(|argument| argument.to_str());
        if let Some((option, reason)) = refused::reporting_sanitizer(options) {
            return Err(RuntimeError::Refused { option: option.to_owned(), reason });
        }
        Ok(parsed)
    }

    /// Whether the argument is one of our own or is dropped, so that it is not passed on.
    fn take(&mut self, argument: &OsStr) -> Result<bool, RuntimeError> {
        let Some(text) = argument.to_str() else { return Ok(false) };
        if let Some(reason) = refused::reason(text) {
            return Err(RuntimeError::Refused { option: text.to_owned(), reason });
        }
        if let Some(name) = text.strip_prefix("--target=") {
            self.architecture = Some(target(OsStr::new(name))?);
        } else if let Some(printed) = printed(text) {
            self.printed = Some(printed);
        } else {
            if text == "-m32" {
                self.architecture = Some(Architecture::I386);
            }
            return Ok(DROPPED.contains(&text) || text == "-m32");
        }
        Ok(true)
    }

    /// Whether the compiler will link: it has an input, and no option stops it before linking.
    pub fn links(&self) -> bool {
        let stopped = self.passed.iter().any(|a| NOT_LINKING.iter().any(|option| a == option));
        !stopped && self.has_input()
    }

    /// Whether the arguments request debugging information. Then symbols are kept.
    pub fn debugs(&self) -> bool {
        self.passed.iter().filter_map(|a| a.to_str()).any(|a| a.starts_with("-g") && a != "-g0")
    }

    fn has_input(&self) -> bool {
        let mut is_value = false;
        self.passed.iter().any(|argument| {
            let text = argument.to_string_lossy();
            let input = !is_value && (!text.starts_with('-') || text == "-");
            is_value = !is_value && WITH_VALUE.contains(&text.as_ref());
            input
        })
    }
}

fn target(name: &OsStr) -> Result<Architecture, RuntimeError> {
    let name = name.to_string_lossy();
    let architecture = name.split('-').next().filter(|_| name.contains("linux")).unwrap_or(&name);
    architecture.parse().map_err(|_| RuntimeError::UnknownTarget(name.clone().into_owned()))
}

fn printed(text: &str) -> Option<PrintRequest> {
    match text {
        "--print-flags" => Some(PrintRequest::Flags),
        "--print-flags=compile" => Some(PrintRequest::CompileFlags),
        "--print-flags=link" => Some(PrintRequest::LinkFlags),
        "--print-runtime" => Some(PrintRequest::Runtime),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Arguments {
        Arguments::parse(line.split_whitespace().map(OsString::from)).unwrap()
    }

    #[test]
    fn commands_that_link_are_recognised() {
        for line in ["hello.c", "a.o b.o -o program", "-O2 -MMD -MF x.d a.c", "-o a -", "-I include x.c"] {
            assert!(parse(line).links(), "{line}");
        }
        for line in ["-c hello.c", "-E x.c", "-M x.c", "--version", "-v", "-o program", "-I include", "-x c"]
        {
            assert!(!parse(line).links(), "{line}");
        }
    }

    #[test]
    fn own_options_do_not_reach_the_compiler() {
        let parsed = parse("--target aarch64 -O2 x.c --print-flags=link -lm");
        assert_eq!(parsed.architecture, Some(Architecture::Aarch64));
        assert_eq!(parsed.printed, Some(PrintRequest::LinkFlags));
        assert_eq!(parsed.passed, ["-O2", "x.c"]);
    }

    #[test]
    fn a_target_is_an_architecture_or_a_triple() {
        assert_eq!(parse("--target=riscv64-linux-gnu").architecture, Some(Architecture::Riscv64));
        assert_eq!(parse("--target x86_64").architecture, Some(Architecture::X86_64));
        assert_eq!(parse("-m32 x.c").architecture, Some(Architecture::I386));
        assert!(Arguments::parse(["--target".into(), "vax".into()]).is_err());
        assert!(Arguments::parse(["--target".into()]).is_err());
    }

    #[test]
    fn unsupported_options_are_refused_with_the_reason() {
        let error = Arguments::parse(["-fsanitize=undefined".into(), "x.c".into()]).unwrap_err().to_string();
        assert!(error.contains("trap-on-error") && error.contains("help:"), "{error}");
        let error = Arguments::parse(["-pthread".into()]).unwrap_err().to_string();
        assert!(error.contains("no threads") && error.contains("help:"), "{error}");
    }

    #[test]
    fn symbols_are_kept_only_for_debugging() {
        assert!(parse("-g x.c").debugs() && parse("-ggdb3 x.c").debugs());
        assert!(!parse("-g0 x.c").debugs() && !parse("x.c").debugs());
    }
}
