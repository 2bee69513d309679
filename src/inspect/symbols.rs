//! The functions that a program takes from its libraries.

use object::{Object, ObjectSymbol};

/// Whether an executable needs this function from a library, in any version.
///
/// # Errors
/// One lower-case line about what is wrong with the file.
pub fn needs_symbol(bytes: &[u8], name: &str) -> Result<bool, String> {
    let file = object::File::parse(bytes).map_err(|error| error.to_string())?;
    Ok(file.dynamic_symbols().any(|symbol| symbol.is_undefined() && symbol.name() == Ok(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_an_executable_is_refused() {
        assert!(needs_symbol(b"#!/bin/sh\n", "puts").is_err());
    }

    #[test]
    fn a_static_executable_needs_nothing() {
        let image = firstbyte_elf::plain::image(firstbyte_elf::Architecture::X86_64, b"x", Some(0)).unwrap();
        assert_eq!(needs_symbol(&image, "puts"), Ok(false));
    }
}
