//! What is known from files alone: their sizes and their symbols.

use super::session::Session;
use crate::claims::quantity::Quantity;
use crate::claims::{Lack, Reading};
use crate::floor::allowed_cpus;
use crate::inspect::needs_symbol;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, ElfError, packed};
use std::fs;

/// Whether files alone give it.
pub(super) fn is_of_files(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Packed { .. } | Quantity::Imports { .. } | Quantity::Processors)
}

pub(super) fn files(session: &mut Session) -> Result<(), Lack> {
    for quantity in session.needs.quantities() {
        let known = match quantity {
            Quantity::Packed { architecture, text } => {
                smallest(architecture, text).map_err(|error| error.to_string())
            }
            Quantity::Imports { program, symbol } => match imports(session, program, symbol) {
                Some(known) => known,
                None => continue, // the program is skipped, and reported as such
            },
            Quantity::Processors => Ok(allowed_cpus().map_err(Lack::of)?.len() as f64),
            _ => continue,
        };

        match known {
            Ok(value) => session.evidence.insert(quantity, Reading::exact(value)),
            Err(reason) => session.evidence.lack(quantity, Lack::because(reason)),
        }
    }
    Ok(())
}

/// The size of the smallest executable that prints the text, in bytes.
fn smallest(architecture: &str, text: &str) -> Result<f64, ElfError> {
    let architecture: Architecture = architecture.parse()?;
    let demands = Demands { real_kernels_only: false, large_mappings: false, exhaustive: false };
    Ok(packed::image(architecture, text.as_bytes(), 0, demands)?.image.len() as f64)
}

/// 1 if the program imports the symbol, otherwise 0. `None` if the program could not be built.
fn imports(session: &Session, program: &str, symbol: &str) -> Option<Result<f64, String>> {
    let built = session.built().find(|built| built.program == program)?;
    let bytes = fs::read(&built.artifact).map_err(|error| error.to_string());
    Some(bytes.and_then(|bytes| needs_symbol(&bytes, symbol)).map(|needed| f64::from(u8::from(needed))))
}
