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
            all.push(chosen.flat_map(|(_, name)| [*name, "/"]).collect());
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
            32..=38 => {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As strace shows them, with a processor of the third level that Intel did not make.
    #[test]
    fn each_version_has_its_subfolders() {
        let flags = "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 avx avx2 f16c fma abm movbe bmi1 bmi2";
        let processor = Processor::parse(&format!("vendor_id : AuthenticAMD\nflags : {flags}\n"));
        let of = |minor| Version { minor, is_known: true }.subfolders(&processor).join(" ");
        let legacy = "tls/x86_64/x86_64/ tls/x86_64/ tls/x86_64/ tls/ x86_64/x86_64/ x86_64/ x86_64/ ";
        let levels = "glibc-hwcaps/x86-64-v3/ glibc-hwcaps/x86-64-v2/ ";
        assert_eq!(of(31), legacy);
        assert_eq!(of(36), format!("{levels}{legacy}"));
        assert_eq!(of(41), levels);
    }

    #[test]
    fn a_version_is_read_from_the_text_or_from_the_name() {
        let image = firstbyte_elf::plain::image(firstbyte_elf::Architecture::X86_64, b"x", Some(0)).unwrap();
        let elf = crate::inspect::headers::read(&image).unwrap();
        let of = |name: &str, text: &[u8]| Version::of_loader(Path::new(name), &elf, text);
        let debian = b"\0ld.so (Debian GLIBC 2.41-12) stable release version 2.41.\n\0";
        assert_eq!(of("/lib/ld-linux-x86-64.so.2", debian), Version { minor: 41, is_known: true });
        assert_eq!(of("/lib/ld-2.31.so", b""), Version { minor: 31, is_known: true });
        assert_eq!(of("/lib/ld-2.28.so", b""), Version { minor: 28, is_known: false });
        assert_eq!(of("/lib/ld.so", b"release version x"), Version { minor: SPARING, is_known: false });
    }
}
