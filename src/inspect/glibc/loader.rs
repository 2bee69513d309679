//! What a copy of glibc's loader says about itself: its version, and where it looks for libraries.

use super::version::Version;
use crate::inspect::headers::{Elf, PAGE};
use crate::inspect::processor::Processor;
use crate::inspect::texts::contains;
use std::path::{Path, PathBuf};

/// glibc's dynamic loader.
#[derive(Clone, Debug)]
pub(in crate::inspect) struct Loader {
    pub(super) version: Version,
    /// The default folders, each with a slash at its end.
    pub(super) folders: Vec<String>,
    /// Below each folder, these are searched before the folder itself, whose name is empty here.
    pub(super) subfolders: Vec<String>,
    /// What `$LIB` means.
    pub(super) lib: String,
    /// What `$PLATFORM` means.
    pub(super) platform: &'static str,
    /// The path of `ld.so.cache`.
    pub(super) cache: PathBuf,
    /// The entries of the cache that are for its architecture.
    pub(super) cache_flags: i32,
    /// Whether it asks the kernel for a shadow stack (`arch_prctl`), as those of Ubuntu and Fedora do.
    pub(super) asks_for_shadow_stack: bool,
    /// How much memory is left behind its own variables, in bytes. It uses it before it asks the kernel for memory.
    pub(super) spare: u64,
}

impl Loader {
    /// `real` is its path without symbolic links, which contains the version of old ones.
    pub(in crate::inspect) fn read(real: &Path, elf: &Elf, bytes: &[u8], processor: &Processor) -> Loader {
        let version = Version::of_loader(real, elf, bytes);
        let folders = default_folders(bytes).unwrap_or_else(|| guessed_folders(elf));
        let lib = folders[0].trim_matches('/').to_owned();
        let is_x86_64 = (elf.machine_name, elf.class) == ("x86-64", 64);
        let subfolders = if is_x86_64 { version.subfolders(processor) } else { vec![String::new()] };
        let end =
            elf.segments.iter().filter(|s| s.kind == "LOAD").map(|s| s.address.saturating_add(s.memory_size));
        Loader {
            version,
            subfolders,
            lib,
            folders,
            platform: if is_x86_64 { processor.platform() } else { elf.machine_name },
            cache: cache_path(bytes),
            cache_flags: cache_flags(elf),
            asks_for_shadow_stack: is_x86_64 && contains(bytes, &SHADOW_STACK),
            spare: end.max().map_or(0, |end| (end % PAGE).next_multiple_of(8)).wrapping_neg() % PAGE,
        }
    }

    /// Whether its calls are known exactly: those of some versions were compared with strace.
    pub(in crate::inspect) fn is_known(&self) -> bool {
        self.version.is_known
    }
}

/// `mov edi, 0x3001`: the number of `ARCH_CET_STATUS`, which kernels refuse.
const SHADOW_STACK: [u8; 5] = [0xbf, 0x01, 0x30, 0, 0];

/// The list that the loader contains: texts of which each begins and ends with a slash, for example
/// `/lib64/`, `/usr/lib64/`.
fn default_folders(bytes: &[u8]) -> Option<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut run: Vec<String> = Vec::new();
    for text in bytes.split(|b| *b == 0) {
        match std::str::from_utf8(text) {
            Ok(text) if is_folder(text) => run.push(text.to_owned()),
            _ => found.push(std::mem::take(&mut run)),
        }
    }
    found.into_iter().find(|run| run.iter().any(|folder| folder.contains("/lib")))
}

fn is_folder(text: &str) -> bool {
    text.len() > 2
        && text.starts_with('/')
        && text.ends_with('/')
        && text.chars().all(|c| c.is_ascii_graphic())
}

fn guessed_folders(elf: &Elf) -> Vec<String> {
    let lib = if elf.class == 64 { "lib64" } else { "lib" };
    vec![format!("/{lib}/"), format!("/usr/{lib}/")]
}

fn cache_path(bytes: &[u8]) -> PathBuf {
    let found =
        bytes.split(|b| *b == 0).find(|text| text.starts_with(b"/") && text.ends_with(b"/ld.so.cache"));
    let text = found.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or("/etc/ld.so.cache");
    PathBuf::from(text)
}

/// `_DL_CACHE_DEFAULT_ID` of each architecture (`sysdeps/generic/ldconfig.h`).
fn cache_flags(elf: &Elf) -> i32 {
    match (elf.machine_name, elf.class) {
        ("x86-64", 64) => 0x0303,
        ("x86-64", _) => 0x0803,
        ("aarch64", 64) => 0x0a03,
        ("riscv", 64) => 0x1003,
        ("s390", 64) => 0x0403,
        ("powerpc64", 64) => 0x0503,
        ("loongarch", 64) => 0x1103,
        _ => 0x0003,
    }
}
