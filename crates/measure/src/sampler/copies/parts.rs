//! The memory of a process, as far as the kernel copied it.

use super::super::frames::memory::Parts;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Objects that were copied at all samples so far. What was copied last counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects(BTreeMap<u64, Arc<[u8]>>);

impl Objects {
    pub(super) fn add(&mut self, address: u64, bytes: Box<[u8]>) {
        // what begins at the same address would be lost
        if bytes.is_empty() {
            return;
        }
        let end = address.saturating_add(bytes.len() as u64);
        // what it covers is older
        while let Some((&from, old)) = self.0.range(..end).next_back() {
            if from.saturating_add(old.len() as u64) <= address {
                break;
            }
            let old = self.0.remove(&from).unwrap_or_default();
            let before = usize::try_from(address.saturating_sub(from)).unwrap_or_default();
            if before > 0 {
                self.0.insert(from, old[..before].into());
            }
            let after = usize::try_from(end - from).ok().and_then(|at| old.get(at..)).unwrap_or_default();
            if !after.is_empty() {
                self.0.insert(end, after.into());
            }
        }
        self.0.insert(address, bytes.into());
    }

    /// The bytes from an address on, as far as they lie in one object.
    fn at(&self, address: u64) -> Option<&[u8]> {
        let (from, bytes) = self.0.range(..=address).next_back()?;
        bytes.get(usize::try_from(address - from).ok()?..).filter(|rest| !rest.is_empty())
    }
}

/// A part of an executable file in the memory of a process, which nobody writes to.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    pub(super) file: Arc<File>,
    /// First and last address, and the place in the file.
    pub(super) mapped: Vec<(u64, u64, u64)>,
}

impl Constants {
    fn fill(&self, address: u64, room: &mut [u8]) -> Option<()> {
        let end = address.checked_add(room.len() as u64)?;
        let (from, _, offset) = self.mapped.iter().find(|(from, to, _)| *from <= address && end <= *to)?;
        self.file.read_exact_at(room, offset + (address - from)).ok()
    }
}

/// What is known at one sample.
pub(super) struct Known<'k> {
    pub(super) stack: (u64, &'k [u8]),
    pub(super) objects: &'k Objects,
    pub(super) constants: &'k Constants,
}

impl Parts for Known<'_> {
    fn fill(&self, mut address: u64, mut room: &mut [u8]) -> Option<()> {
        let (sp, stack) = self.stack;
        if let Some(from) = address.checked_sub(sp).and_then(|from| usize::try_from(from).ok())
            && let Some(bytes) = stack.get(from..from.checked_add(room.len())?)
        {
            room.copy_from_slice(bytes);
            return Some(());
        }
        while !room.is_empty() {
            let Some(bytes) = self.objects.at(address) else {
                return self.constants.fill(address, room);
            };
            let length = bytes.len().min(room.len());
            room[..length].copy_from_slice(&bytes[..length]);
            room = &mut room[length..];
            address = address.checked_add(length as u64)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    fn read(objects: &Objects, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut room = vec![0; length];
        let constants = Constants { file: Arc::new(File::open("/dev/null").unwrap()), mapped: Vec::new() };
        let known = Known { stack: (100, &[7; 8]), objects, constants: &constants };
        known.fill(address, &mut room).map(|()| room)
    }

    #[test]
    fn what_was_copied_last_counts() {
        let mut objects = Objects::default();
        objects.add(8, [1; 24].into());
        objects.add(32, [2; 8].into());
        objects.add(16, [3; 8].into());
        assert_eq!(read(&objects, 8, 32).unwrap(), [[1; 8], [3; 8], [1; 8], [2; 8]].concat());
        objects.add(12, [4; 24].into());
        assert_eq!(read(&objects, 8, 32).unwrap(), [&[1; 4][..], &[4; 24], &[2; 4]].concat());
        assert_eq!([read(&objects, 8, 33), read(&objects, 7, 1), read(&objects, 40, 1)], [None, None, None]);
        objects.add(12, [].into());
        assert_eq!(read(&objects, 12, 4).unwrap(), [4; 4], "nothing replaces nothing");
        assert_eq!(read(&objects, 100, 8).unwrap(), [7; 8], "the stack");
        assert_eq!(read(&objects, 100, 9), None);
    }

    #[test]
    fn a_reader_counts_what_is_not_known() {
        let mut objects = Objects::default();
        objects.add(8, [1; 8].into());
        let constants = Constants { file: Arc::new(File::open("/dev/null").unwrap()), mapped: Vec::new() };
        let known = Known { stack: (100, &[7; 8]), objects: &objects, constants: &constants };
        let mut reader = Reader::of_parts(&known);
        assert_eq!(
            (reader.word(8), reader.word(100), reader.unknown()),
            (Some(0x0101_0101_0101_0101), Some(0x0707_0707_0707_0707), 0)
        );
        assert_eq!((reader.word(16), reader.text(9, 8, 99), reader.unknown()), (None, None, 2));
    }
}
