//! The arguments of `firstbyte cc`.

use std::ffi::OsString;

/// Compiles C against the freestanding runtime
///
/// Everything but the options below goes to the compiler as it stands, so CC="firstbyte cc" works in makefiles.
///
///   --target ARCH          x86-64, i386, aarch64 or riscv64 instead of this machine's architecture
///   --print-flags[=PART]   prints the flags for gcc or clang, to stand behind the sources; PART: compile, link
///   --print-runtime        prints the folder of the runtime, unpacked and built
///
/// `FIRSTBYTE_CC` names the compiler; without it gcc and clang are looked for, or the cross compiler. `FIRSTBYTE_RUNTIME`
/// names a folder to take the runtime from instead of the embedded one.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Options and files for the compiler
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "CC OPTION OR FILE"
    )]
    pub arguments: Vec<OsString>,
}
