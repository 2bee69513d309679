//! `/etc/ld.so.cache`: the paths of libraries by their names (`sysdeps/generic/dl-cache.h` of glibc).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// `cache_extension_magic`.
const EXTENSION: u32 = 0xeaa4_2174;
/// `cache_extension_tag_glibc_hwcaps`.
const SUBFOLDERS: u32 = 1;
/// `DL_CACHE_HWCAP_EXTENSION`: the lower half of the field is the number of a subfolder.
const IS_IN_SUBFOLDER: u64 = 1 << 62;
/// The bits of the upper half that say which level of the ABI an entry needs.
const LEVELS: u64 = 0x3ff << 32;

/// Entries by name. A name has several if the machine has libraries for several architectures or processors.
#[derive(Clone, Debug, Default)]
pub struct LdCache {
    entries: HashMap<String, Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    flags: i32,
    needs: Needs,
    path: PathBuf,
}

/// What an entry needs of the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// That this subfolder is searched.
    Subfolder(String),
    /// Something that has no subfolder, or had one until glibc 2.36.
    Other,
}

impl LdCache {
    /// An older or damaged cache is read as an empty one.
    pub fn parse(bytes: &[u8]) -> LdCache {
        let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC);
        start.and_then(|start| parse_entries(bytes, start)).unwrap_or_default()
    }

    /// The one path that the loader tries for a name: that in the first of the subfolders, or the plain one
    /// (`search_cache`). `flags` are those of the architecture.
    pub(super) fn lookup(&self, name: &str, flags: i32, subfolders: &[String]) -> Option<&Path> {
        let entries = || self.entries.get(name).into_iter().flatten().filter(|entry| entry.flags == flags);
        let better = subfolders.iter().find_map(|subfolder| {
            let name = subfolder.strip_prefix("glibc-hwcaps/")?.trim_end_matches('/');
            entries().find(|entry| entry.needs == Needs::Subfolder(name.to_owned()))
        });
        let entry = better.or_else(|| entries().find(|entry| entry.needs == Needs::Nothing))?;
        Some(&entry.path)
    }
}

fn parse_entries(bytes: &[u8], start: usize) -> Option<LdCache> {
    let cache = &bytes[start..];
    let count = usize::try_from(number(cache, MAGIC.len())?).ok()?;
    let subfolders = subfolders(bytes, cache).unwrap_or_default();
    let mut entries: HashMap<String, Vec<Entry>> = HashMap::new();
    for entry in cache.get(HEADER..)?.chunks_exact(ENTRY).take(count) {
        let features = u64::from(number(entry, 20)?) << 32 | u64::from(number(entry, 16)?);
        let needs = match features >> 32 << 32 & !LEVELS {
            _ if features == 0 => Needs::Nothing,
            IS_IN_SUBFOLDER => {
                let number = usize::try_from(features & 0xffff_ffff).ok()?;
                subfolders.get(number).cloned().map_or(Needs::Other, Needs::Subfolder)
            }
            _ => Needs::Other,
        };
        let (name, path) = (text(cache, number(entry, 4)?), text(cache, number(entry, 8)?));
        if let (Some(name), Some(path)) = (name, path) {
            let flags = number(entry, 0)?.cast_signed();
            entries.entry(name).or_default().push(Entry { flags, needs, path: PathBuf::from(path) });
        }
    }
    Some(LdCache { entries })
}

/// The names of the subfolders, to which entries refer.
fn subfolders(file: &[u8], cache: &[u8]) -> Option<Vec<String>> {
    let directory = usize::try_from(number(cache, 32)?).ok()?;
    if directory == 0 || number(file, directory)? != EXTENSION {
        return None;
    }
    let count = usize::try_from(number(file, directory + 4)?).ok()?;
    let sections = file.get(directory + 8..)?.chunks_exact(16).take(count);
    let section = sections.into_iter().find(|section| number(section, 0) == Some(SUBFOLDERS))?;
    let (offset, size) =
        (usize::try_from(number(section, 8)?).ok()?, usize::try_from(number(section, 12)?).ok()?);
    let names = file.get(offset..offset.checked_add(size)?)?.chunks_exact(4);
    names.map(|at| text(cache, number(at, 0)?)).collect()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
}

fn text(cache: &[u8], at: u32) -> Option<String> {
    let bytes = cache.get(usize::try_from(at).ok()?..)?;
    let end = bytes.iter().position(|&b| b == 0)?;
    std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
}
