//! Executables that firstbyte writes itself. They need no tools, so there is always a floor to compare with.

use super::manifest::Builtin;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, plain};

/// The image of an executable that prints `message` and exits with status 0. The error is one lower-case line.
pub(crate) fn image(builtin: Builtin, message: &[u8]) -> Result<Vec<u8>, String> {
    match builtin {
        Builtin::PlainElf => plain(host()?, message),
        Builtin::PlainElfAlign4 => aligned(host()?, message, 4),
        Builtin::PackedElf => packed(host()?, message),
        Builtin::PlainElfI386 => plain(Architecture::I386, message),
        Builtin::PackedElfI386 => packed(Architecture::I386, message),
    }
}

fn host() -> Result<Architecture, String> {
    Architecture::host()
        .ok_or_else(|| format!("firstbyte cannot write executables for `{}`", std::env::consts::ARCH))
}

fn plain(architecture: Architecture, message: &[u8]) -> Result<Vec<u8>, String> {
    plain::image(architecture, message, Some(0)).map_err(|error| error.to_string())
}

fn aligned(architecture: Architecture, message: &[u8], bytes: u64) -> Result<Vec<u8>, String> {
    let mut image = plain(architecture, message)?;
    plain::set_alignment(architecture, &mut image, bytes).map_err(|error| error.to_string())?;
    Ok(image)
}

fn packed(architecture: Architecture, message: &[u8]) -> Result<Vec<u8>, String> {
    let packed =
        packed::image(architecture, message, 0, Demands::default()).map_err(|error| error.to_string())?;
    Ok(packed.image)
}
