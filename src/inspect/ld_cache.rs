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

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with one name: for a better processor, for a machine with something else, and for any.
    fn cache() -> Vec<u8> {
        let texts = b"liba.so\0/better/liba.so\0/other/liba.so\0/plain/liba.so\0x86-64-v3\0";
        let entries = 3;
        let start = HEADER + entries * ENTRY;
        let at = |text: &[u8]| {
            let within = texts.windows(text.len()).position(|window| window == text).unwrap();
            u32::try_from(start + within).unwrap()
        };
        let directory = (start + texts.len()).next_multiple_of(4);
        let mut bytes = MAGIC.to_vec();
        let mut numbers = |all: &[u32]| all.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        numbers(&[u32::try_from(entries).unwrap(), 0, 2, u32::try_from(directory).unwrap(), 0, 0, 0]);
        let name = at(b"liba.so\0/better");
        for (path, needs) in [(&b"/better"[..], IS_IN_SUBFOLDER), (b"/other", 1 << 5), (b"/plain", 0)] {
            let [low, high] = [needs & 0xffff_ffff, needs >> 32].map(|half| u32::try_from(half).unwrap());
            numbers(&[0x0303, name, at(path), 0, low, high]);
        }
        let subfolder = at(b"x86-64-v3");
        bytes.extend(texts);
        bytes.resize(directory, 0);
        let section = u32::try_from(directory + 8 + 16).unwrap();
        for number in [EXTENSION, 1, SUBFOLDERS, 0, section, 4, subfolder] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_entry_for_the_best_subfolder_that_is_searched_is_taken() {
        let cache = LdCache::parse(&cache());
        let found = |flags, subfolders: &[&str]| {
            let subfolders: Vec<String> = subfolders.iter().map(|name| (*name).to_owned()).collect();
            cache.lookup("liba.so", flags, &subfolders).map(|path| path.display().to_string())
        };
        assert_eq!(found(0x0303, &["glibc-hwcaps/x86-64-v3/", ""]).as_deref(), Some("/better/liba.so"));
        assert_eq!(found(0x0303, &["glibc-hwcaps/x86-64-v2/", ""]).as_deref(), Some("/plain/liba.so"));
        assert_eq!(found(3, &[""]), None);
    }
}
