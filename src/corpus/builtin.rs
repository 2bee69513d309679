//! Executables that firstbyte writes itself, so that there is always a floor to compare with.

use super::manifest::Builtin;
use crate::elf::{Architecture, plain};

/// The image of a builtin that prints `message` and exits with status 0. The error is one lower-case line.
pub(crate) fn image(builtin: Builtin, message: &[u8]) -> Result<Vec<u8>, String> {
    match builtin {
        Builtin::PlainElf => {
            let architecture = Architecture::host()
                .ok_or_else(|| format!("firstbyte writes no executables for `{}`", std::env::consts::ARCH))?;
            plain::image(architecture, message, Some(0)).map_err(|error| error.to_string())
        }
    }
}
