//! The functions that a just-in-time compiler lists in `/tmp/perf-PID.map` (`tools/perf/Documentation/jit-interface.txt`).

use firstbyte_measure::regular_file;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The largest map that is read, in bytes.
const MAX_MAP_BYTES: u64 = 256 << 20;

/// Functions in generated code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PerfMap {
    /// Address, size, name; sorted by address.
    functions: Vec<(u64, u64, Arc<str>)>,
}

impl PerfMap {
    /// The map of a process. One that is older than `since` is that of another process with the same id.
    pub(super) fn of_process(pid: u32, since: SystemTime) -> PerfMap {
        let path = format!("/tmp/perf-{pid}.map");
        let Ok((bytes, facts)) = regular_file::read(Path::new(&path), MAX_MAP_BYTES) else {
            return PerfMap::default();
        };
        if facts.modified().ok().is_none_or(|written| written < since) {
            return PerfMap::default();
        }
        PerfMap::parse(&String::from_utf8_lossy(&bytes))
    }

    pub(super) fn parse(text: &str) -> PerfMap {
        let functions = text.lines().filter_map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
            let (address, size) = (number()?, number()?);
            Some((address, size, words.next()?.into()))
        });
        let mut functions: Vec<_> = functions.collect();
        functions.sort_by_key(|(address, ..)| *address); // stable: of the same address, the last one is the newest
        PerfMap { functions }
    }

    pub(super) fn function(&self, address: u64) -> Option<Arc<str>> {
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.functions.get(after.checked_sub(1)?)?;
        (address - start < *size).then(|| Arc::clone(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_function_at_an_address_is_found() {
        let map =
            PerfMap::parse("2000 10 later one\nnonsense\n1000 20 old\n1000 20 LazyCompile:~main x.js:1\n");
        assert_eq!(map.function(0x101f).as_deref(), Some("LazyCompile:~main x.js:1"));
        assert_eq!(map.function(0x2001).as_deref(), Some("later one"));
        assert_eq!((map.function(0x1020), map.function(1)), (None, None));
    }
}
