//! `/etc/ld.so.cache`: the paths of libraries by their names (`sysdeps/generic/dl-cache.h` of glibc).

use std::collections::HashMap;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// Paths by name. A name has several paths if the machine has libraries for several architectures.
#[derive(Clone, Debug, Default)]
pub struct LdCache {
    paths: HashMap<String, Vec<PathBuf>>,
}

impl LdCache {
    /// An older or damaged cache is read as an empty one.
    pub fn parse(bytes: &[u8]) -> LdCache {
        let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC);
        start.and_then(|start| parse_entries(&bytes[start..])).unwrap_or_default()
    }

    /// The paths for a name, in the order in which the loader tries them.
    pub fn lookup(&self, name: &str) -> &[PathBuf] {
        self.paths.get(name).map_or(&[], Vec::as_slice)
    }
}

fn parse_entries(cache: &[u8]) -> Option<LdCache> {
    let count = usize::try_from(number(cache, MAGIC.len())?).ok()?;
    let mut paths: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for entry in cache.get(HEADER..)?.chunks_exact(ENTRY).take(count) {
        // libraries for special processor features have the same name; the plain one works everywhere
        let has_features = entry[16..24].iter().any(|&b| b != 0);
        let (name, path) = (text(cache, number(entry, 4)?), text(cache, number(entry, 8)?));
        if let (false, Some(name), Some(path)) = (has_features, name, path) {
            paths.entry(name).or_default().push(PathBuf::from(path));
        }
    }
    Some(LdCache { paths })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
}

fn text(cache: &[u8], at: u32) -> Option<String> {
    let bytes = cache.get(usize::try_from(at).ok()?..)?;
    let end = bytes.iter().position(|&b| b == 0)?;
    std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
}
