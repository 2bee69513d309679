//! The page faults of the kernel itself when it prepares the stack of a new program (`create_elf_tables` in
//! `fs/binfmt_elf.c`).
//!
//! The texts of arguments and variables are at the top of the stack, in pages that exist already. A random distance below
//! them are the vectors of their addresses.

use super::faults::Faults;
use super::headers::{Elf, PAGE};
use super::surroundings::Environment;
use std::path::Path;

/// The largest random distance, in bytes (`arch_align_stack`), and its step.
const MAX_RANDOM_BYTES: u64 = 8192;
const STEP_BYTES: u64 = 16;
/// The pairs of the auxiliary vector, with the one that ends it.
const AUXILIARY_PAIRS: u64 = 21;
/// The name of the platform and the random bytes.
const FIXED_TEXT_BYTES: u64 = 7 + 16;

/// The faults of one start without arguments.
pub(super) fn faults(path: &Path, elf: &Elf, environment: &Environment) -> Faults {
    let word = if elf.class == 64 { 8 } else { 4 };
    let name = path.as_os_str().len() as u64 + 1;
    let (variables, bytes) = environment.size();
    let vectors = word * (1 + 2 + variables + 1 + 2 * AUXILIARY_PAIRS);
    // from the top of the stack downwards
    let texts = 8 + 2 * name + bytes;
    let populated = texts.div_ceil(PAGE);
    let places = (0..MAX_RANDOM_BYTES).step_by(usize::try_from(STEP_BYTES).unwrap_or(1));
    let of_place = |random: u64| {
        let first = (texts + random) / PAGE;
        let last = (texts + random + FIXED_TEXT_BYTES + vectors) / PAGE;
        (first..=last).filter(|page| *page >= populated).count() as u64
    };
    let counts: Vec<u64> = places.map(of_place).collect();
    let least = counts.iter().min().copied().unwrap_or(0);
    Faults::mean(counts.iter().sum(), counts.len() as u64, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_environment_leaves_room_in_the_page_of_the_texts() {
        let image = firstbyte_elf::plain::image(firstbyte_elf::Architecture::X86_64, b"x", Some(0)).unwrap();
        let elf = super::super::headers::read(&image).unwrap();
        let mean = |environment: &Environment| faults(Path::new("/bin/x"), &elf, environment).sixteenths();
        let small = mean(&Environment::default());
        let large = mean(&Environment::default().with("A", &"x".repeat(3900)));
        assert!(small < large && small > 0 && large < 32, "{small} {large}");
        assert_eq!(faults(Path::new("/bin/x"), &elf, &Environment::default()).least, 0);
    }
}
