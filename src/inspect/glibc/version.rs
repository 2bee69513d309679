//! The versions of glibc, and how their loaders differ.

use crate::inspect::headers::Elf;
use crate::inspect::processor::Processor;
use crate::inspect::texts::find;
use std::path::Path;

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Version {
    /// The number behind `2.`. Of an unknown version, that of one which makes few calls.
    pub(super) minor: u32,
    /// Whether its calls were compared with strace.
    pub(super) is_known: bool,
}

/// The versions that were compared with strace, on x86-64: those of Debian 11, 12 and 13.
const KNOWN: [u32; 3] = [31, 36, 41];
/// It makes the fewest calls of those that are still in use.
const SPARING: u32 = 31;

/// The sizes of the loader's structs on x86-64, in bytes, which decide how often it asks for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) link_map: u64,
    pub(super) pthread: u64,
    /// Room for TLS of libraries that are loaded later, and for rseq.
    pub(super) tls_surplus: u64,
    pub(super) tls_extra: u64,
    /// How many audit modules the map of the vDSO has room for.
    pub(super) vdso_audits: u64,
}

impl Version {
    /// Loaders since 2.33 contain a text with their version. The names of older files contain it.
    pub(super) fn of_loader(real: &Path, elf: &Elf, bytes: &[u8]) -> Version {
        const TEXT: &[u8] = b" release version 2.";
        let number = |text: &[u8]| -> Option<u32> {
            let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
            std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
        };
        let in_text = || number(&bytes[find(bytes, TEXT)? + TEXT.len()..]);
        let in_name = || number(real.file_name()?.to_str()?.strip_prefix("ld-2.")?.as_bytes());
        let minor = in_text().or_else(in_name);
        let is_known = minor.is_some_and(|minor| KNOWN.contains(&minor));
        let is_x86_64 = (elf.machine_name, elf.class) == ("x86-64", 64);
        Version { minor: minor.unwrap_or(SPARING), is_known: is_known && is_x86_64 }
    }

    /// The subfolders that are searched below each folder of libraries on x86-64, in order; the last is the folder itself
    /// (`_dl_important_hwcaps`).
    pub(super) fn subfolders(self, processor: &Processor) -> Vec<String> {
        let levels = if self.minor >= 33 { processor.levels() } else { Vec::new() };
        let mut all: Vec<String> = levels.iter().map(|level| format!("glibc-hwcaps/{level}/")).collect();
        if self.minor >= 37 {
            all.push(String::new());
            return all;
        }

        // each subset of these names, from all of them to none
        let names: Vec<&str> = ["tls", processor.platform()]
            .into_iter()
            .chain(processor.legacy_features().into_iter().rev())
            .collect();
        for subset in (0..1_u32 << names.len()).rev() {
            let chosen = names.iter().rev().enumerate().rev().filter(|(bit, _)| subset >> bit & 1 == 1);
            all.push(chosen.map(|(_, name)| format!("{name}/")).collect());
        }
        all
    }

    /// Whether a file without the wanted ABI note is refused, so that its notes are read (until 2.35).
    pub(super) fn reads_notes(self) -> bool {
        self.minor < 36
    }

    pub(super) fn sizes(self) -> Sizes {
        match self.minor {
            ..=31 => Sizes {
                link_map: 1152,
                pthread: 2304,
                tls_surplus: 64 + 16 * 100,
                tls_extra: 0,
                vdso_audits: 0,
            },
            ..=38 => {
                Sizes { link_map: 1192, pthread: 2368, tls_surplus: 1664, tls_extra: 0, vdso_audits: 16 }
            }
            _ => Sizes { link_map: 1208, pthread: 2368, tls_surplus: 1664, tls_extra: 32, vdso_audits: 16 },
        }
    }

    /// Whether it allocates a table of all objects (`_dl_find_object_init`).
    pub(super) fn has_object_table(self) -> bool {
        self.minor >= 35
    }
}
