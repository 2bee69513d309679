//! The code that one sampled process has mapped.

use super::perf_map::PerfMap;
use super::unwind::{Known, Rules};
use super::{Frame, GENERATED, NativeFrame};
use crate::analysis::binaries::{Binaries, FileBinaries};
use firstbyte_measure::sampler::{Mapping, StackSample};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone)]
pub(super) struct Memory {
    mappings: BTreeMap<u64, Rc<Mapping>>,
    rules: Rules,
    /// The file that the process executes: the first one that was mapped.
    pub(super) program: Arc<str>,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory { mappings: BTreeMap::new(), rules: Rules::new(), program: "".into() }
    }

    pub(super) fn map(&mut self, mapping: &Mapping, binaries: &FileBinaries) {
        let range = mapping.from..mapping.from.saturating_add(mapping.length);
        let before = self.mappings.range(..range.end).rev();
        let covered = before
            .take_while(|(from, old)| from.saturating_add(old.length) > range.start)
            .map(|(from, _)| *from);
        for from in covered.collect::<Vec<u64>>() {
            self.mappings.remove(&from);
            self.rules.remove(from);
        }

        if self.program.is_empty() && mapping.path.starts_with('/') {
            self.program = mapping.path.as_str().into();
        }
        if let (Some(bias), Some(frames)) = (bias(mapping, binaries), binaries.call_frames(&mapping.path)) {
            self.rules.add(&mapping.path, range, bias, &frames);
        }
        self.mappings.insert(mapping.from, Rc::new(mapping.clone()));
    }

    /// The functions that were running, innermost first.
    pub(super) fn stack(
        &self,
        sample: &StackSample,
        known: &mut Known,
        binaries: &FileBinaries,
        generated: &PerfMap,
    ) -> Vec<NativeFrame> {
        let addresses = self.rules.callers(sample, known);
        let frame =
            |(address, pointer)| NativeFrame { frame: self.frame(address, binaries, generated), pointer };
        addresses.into_iter().map(frame).collect()
    }

    /// Whether a system call returns to this address. The kernel lets no interrupt in while it returns, so a sample there is of
    /// the call.
    pub(super) fn is_return(&self, address: u64, binaries: &FileBinaries) -> bool {
        let found = self.mapping(address).and_then(|mapping| in_file(mapping, address));
        found.is_some_and(|(path, offset)| binaries.returns(path).binary_search(&offset).is_ok())
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let (from, mapping) = self.mappings.range(..=address).next_back()?;
        (address - from < mapping.length).then_some(mapping)
    }

    fn frame(&self, address: u64, binaries: &FileBinaries, generated: &PerfMap) -> Frame {
        let found = self.mapping(address);
        if let Some((path, offset)) = found.and_then(|mapping| in_file(mapping, address)) {
            return Frame::native(path, binaries.function(path, offset));
        }
        match found {
            Some(mapping) if mapping.path == "[vdso]" => Frame::native("vdso", None),
            // the system-call page that old programs use
            None if address >= 0xffff_ffff_ff60_0000 => Frame::native("vsyscall", None),
            _ => Frame::native(GENERATED, generated.function(address)),
        }
    }
}

/// The file and the offset in it at which an address is; `None`: it is in no file.
fn in_file(mapping: &Mapping, address: u64) -> Option<(&str, u64)> {
    let is_file = mapping.path.starts_with('/') && !mapping.path.starts_with("//");
    is_file.then(|| (mapping.path.as_str(), (address - mapping.from).wrapping_add(mapping.offset)))
}

/// What was added to the addresses that the file states.
fn bias(mapping: &Mapping, binaries: &FileBinaries) -> Option<u64> {
    let layout = binaries.layout(&mapping.path)?;
    let end = mapping.offset.saturating_add(mapping.length);
    // a mapping begins at the page in which its segment begins
    let is_mapped = |offset: u64, size: u64| offset < end && offset.saturating_add(size) > mapping.offset;
    let segment = layout.segments.iter().find(|it| it.executable && is_mapped(it.offset, it.file_size))?;
    let stated = segment.address.wrapping_add(mapping.offset).wrapping_sub(segment.offset);
    Some(mapping.from.wrapping_sub(stated))
}
