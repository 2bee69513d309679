//! The readers of this room that are private, for `fuzz/`.

use super::perf_map::PerfMap;
use super::unwind::{Known, Rules};
use super::{Own, Profile};
use crate::analysis::binaries::{FileBinaries, parsed};
use crate::analysis::debug_files::DebugFolders;
use firstbyte_measure::sampler::{Registers, StackSample, Stream, fuzzed};
use std::cell::RefCell;
use std::path::Path;
use std::time::SystemTime;

/// Where the file's code is mapped.
const BIAS: u64 = 0x5555_0000_0000;

/// Reads an executable, and unwinds a stack through its code: the end of the file.
pub fn binary(bytes: &[u8]) {
    let Some(parsed) = parsed(bytes, Path::new("/fuzz"), &DebugFolders::NONE) else { return };
    for segment in &parsed.layout.segments {
        parsed.symbols.at(segment.address);
    }
    parsed.symbols.at(parsed.layout.entry);

    let mut rules = Rules::new();
    rules.add("/fuzz", BIAS..BIAS + (1 << 32), BIAS, &parsed.frames);
    let stack = &bytes[bytes.len().saturating_sub(512)..];
    let ip = BIAS.wrapping_add(parsed.layout.entry);
    let registers = Registers { ip, sp: 0x7fff_0000_0000, fp: 0x7fff_0000_0040, lr: ip };
    rules.callers(
        &StackSample { registers, narrow: false, stack: stack.into(), language: None },
        &mut Known::default(),
    );
}

/// Reads a map of generated code and looks up every address that it names.
pub fn perf_map(text: &str) {
    let map = PerfMap::parse(text);
    for word in text.split_whitespace() {
        let address = u64::from_str_radix(word, 16).unwrap_or(u64::MAX);
        map.function(address);
        map.function(address.wrapping_sub(1));
    }
}

/// Makes a profile of the records of two runs, and checks that none is counted twice.
pub fn samples(bytes: &[u8]) {
    thread_local! {
        static FILES: RefCell<(u32, FileBinaries)> = RefCell::default();
    }
    let records = fuzzed::records(bytes);
    let root = records.first().map_or(0, |record| record.pid);
    let stream = Stream { root, records, ..Stream::default() };
    let samples = stream.samples() as u64;

    FILES.with_borrow_mut(|(uses, files)| {
        *uses += 1;
        if uses.is_multiple_of(4096) {
            *files = FileBinaries::default();
        }
        let profile = Profile::of(&[stream.clone(), stream], files, SystemTime::now(), &Own::default());
        assert!(profile.samples <= 2 * samples);
        let counted = profile.stacks.values().flat_map(|stacks| stacks.values()).map(|it| it.samples);
        assert_eq!(counted.sum::<u64>(), profile.samples);
    });
}
