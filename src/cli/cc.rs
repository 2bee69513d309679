//! The arguments of `firstbyte cc`.

use std::ffi::OsString;

const OWN_OPTIONS: &str = "\
Everything goes to the compiler as it stands, so CC=\"firstbyte cc\" works in makefiles, except:
  --target ARCH         x86-64, i386, aarch64 or riscv64 instead of this machine's architecture
  --print-flags[=PART]  Print the flags for gcc or clang, to stand behind the sources; PART is compile or link
  --print-runtime       Print the folder of the runtime, unpacked and built

FIRSTBYTE_CC names the compiler; without it gcc and clang are looked for, or the cross compiler.
FIRSTBYTE_RUNTIME names a folder with a runtime to use instead of the embedded one.";

/// Compiles C against the freestanding runtime.
#[derive(Debug, clap::Args)]
#[command(after_help = OWN_OPTIONS, disable_version_flag = true)]
pub struct Args {
    /// What the compiler is given
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "CC OPTION OR FILE"
    )]
    pub arguments: Vec<OsString>,
}
