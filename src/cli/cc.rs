//! Arguments of `firstbyte cc`.

use std::ffi::OsString;

const OWN_OPTIONS: &str = "\
Options of firstbyte cc:
  --target ARCH         Compile for x86-64, i386, aarch64 or riscv64
                        [default: this machine's architecture]
  --print-flags[=PART]  Print the flags for gcc or clang, which go after the
                        sources; PART is compile or link [default: both]
  --print-runtime       Print the folder with the unpacked and built runtime

All other arguments are passed to the compiler, so CC=\"firstbyte cc\" works in
makefiles.

Environment:
  FIRSTBYTE_CC          Compiler to use [default: the first that works of gcc,
                        clang and the cross compilers]
  FIRSTBYTE_RUNTIME     Folder with a runtime to use instead of the built-in one

Examples:
  firstbyte cc hello.c -o hello
  firstbyte cc -O2 --target aarch64 hello.c -o hello";

/// Compile C programs against a small C runtime that starts fast
#[derive(Debug, clap::Args)]
#[command(after_help = OWN_OPTIONS, disable_version_flag = true)]
pub struct Args {
    /// Arguments for the compiler
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "CC OPTION OR FILE"
    )]
    pub arguments: Vec<OsString>,
}
