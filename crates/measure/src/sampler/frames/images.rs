//! The interpreters in the programs' memory: in which file, and where it is mapped.

use super::elf::{Elf, Segment};
use super::interpreter::{Interpreter, Stated};
use super::languages::{may_be_in, stated};
#[cfg(feature = "bpf")]
use crate::tracer::bpf::samples_session::Image as CopiedImage;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Larger files are not read.
const MAX_FILE: u64 = 512 << 20;

/// The files that were looked into, over all runs.
#[derive(Debug, Default)]
pub(in crate::sampler) struct Files(HashMap<(String, u64, u64), Option<Arc<File>>>);

/// A file with an interpreter in it.
#[derive(Debug)]
struct File {
    stated: Box<dyn Stated>,
    segments: Vec<Segment>,
}

/// An interpreter in the memory of a process.
#[derive(Clone, Debug)]
pub(in crate::sampler) enum Image {
    Known {
        interpreter: Box<dyn Interpreter>,
        path: Arc<str>,
    },
    /// One whose frames cannot be read: its name and its version.
    Unknown(String),
}

/// An executable file with an interpreter in it whose frames can be read without a stop.
#[cfg(feature = "bpf")]
#[derive(Debug)]
pub(in crate::sampler) struct Executable {
    pub(in crate::sampler) path: Arc<str>,
    pub(in crate::sampler) file: Arc<fs::File>,
    /// What the kernel copies of it.
    pub(in crate::sampler) copied: CopiedImage,
    interpreter: File,
}

#[cfg(feature = "bpf")]
impl Executable {
    /// `None`: it is none.
    pub(in crate::sampler) fn read(path: &Path) -> Option<Executable> {
        let path = path.canonicalize().ok()?;
        let interpreter = File::read(&path)?;
        let copied = interpreter.stated.copied()?;
        let file = fs::File::open(&path).ok()?;
        let facts = file.metadata().ok()?;
        let copied = CopiedImage { inode: facts.ino(), size: facts.size(), ..copied };
        let path = path.to_str()?.into();
        Some(Executable { path, file: Arc::new(file), copied, interpreter })
    }

    /// What was added to its addresses, if this mapping is of this file.
    pub(in crate::sampler) fn bias(&self, path: &str, from: u64, offset: u64) -> Option<u64> {
        let mapping = Mapping { from, offset, path };
        (path == &*self.path).then(|| bias(&self.interpreter.segments, &mapping))?
    }

    /// What of it no process writes to: first and last address, and the place in the file.
    pub(in crate::sampler) fn constants(&self, bias: u64) -> Vec<(u64, u64, u64)> {
        let constant = self.interpreter.segments.iter().filter(|segment| !segment.is_written);
        let mapped = |it: &Segment| {
            let from = it.address.wrapping_add(bias);
            (from, from.wrapping_add(it.size), it.offset)
        };
        constant.map(mapped).collect()
    }

    /// In the memory of a process.
    pub(in crate::sampler) fn placed(&self, bias: u64) -> Option<Box<dyn Interpreter>> {
        self.interpreter.stated.placed(bias).ok()
    }
}

impl Files {
    /// The interpreter in the memory of a process, whose mappings are those of `proc_pid_maps(5)`.
    pub(in crate::sampler) fn look(&mut self, maps: &str) -> Option<Image> {
        maps.lines().find_map(|line| {
            let mapping = Mapping::of(line)?;
            may_be_in(mapping.path.rsplit('/').next()?).then_some(())?;
            self.file(mapping.path)?.image(&mapping)
        })
    }

    fn file(&mut self, path: &str) -> Option<Arc<File>> {
        let facts = fs::metadata(path).ok().filter(|facts| facts.is_file() && facts.len() <= MAX_FILE)?;
        let key = (path.to_owned(), facts.dev(), facts.ino());
        self.0.entry(key).or_insert_with(|| File::read(Path::new(path)).map(Arc::new)).clone()
    }
}

/// A line of `proc_pid_maps(5)`.
struct Mapping<'l> {
    from: u64,
    offset: u64,
    path: &'l str,
}

impl Mapping<'_> {
    fn of(line: &str) -> Option<Mapping<'_>> {
        let path = &line[line.find('/')?..];
        let mut fields = line.split_ascii_whitespace();
        let (from, _) = fields.next()?.split_once('-')?;
        let offset = fields.nth(1)?;
        let [from, offset] = [from, offset].map(|digits| u64::from_str_radix(digits, 16).ok());
        Some(Mapping { from: from?, offset: offset?, path })
    }
}

impl File {
    fn read(path: &Path) -> Option<File> {
        let bytes = fs::read(path).ok()?;
        let elf = Elf::parse(&bytes)?;
        Some(File { stated: stated(&elf, path)?, segments: elf.segments().to_vec() })
    }

    fn image(&self, mapping: &Mapping<'_>) -> Option<Image> {
        Some(match self.stated.placed(bias(&self.segments, mapping)?) {
            Ok(interpreter) => Image::Known { interpreter, path: mapping.path.into() },
            Err(unknown) => Image::Unknown(unknown),
        })
    }
}

/// What was added to the addresses that the file states.
fn bias(segments: &[Segment], mapping: &Mapping<'_>) -> Option<u64> {
    // a mapping begins at the page in which its segment begins
    let page = rustix::param::page_size() as u64;
    let holds = |it: &&Segment| {
        it.offset & !(page - 1) <= mapping.offset && mapping.offset < it.offset.saturating_add(it.size)
    };
    let Segment { offset, address, .. } = segments.iter().find(holds)?;
    Some(mapping.from.wrapping_sub(address.wrapping_sub(*offset).wrapping_add(mapping.offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_maps_has_a_file_or_is_left_out() {
        let line = "7f0a00000000-7f0a00001000 r-xp 0006b000 08:01 1735  /usr/lib/libpython3.8.so.1.0";
        let mapping = Mapping::of(line).unwrap();
        assert_eq!((mapping.from, mapping.offset), (0x7f0a_0000_0000, 0x6b000));
        assert_eq!(mapping.path, "/usr/lib/libpython3.8.so.1.0");
        assert!(Mapping::of("7f0-8f0 rw-p 00000000 00:00 0   [heap]").is_none());
        assert!(Mapping::of("/").is_none());
    }

    #[test]
    fn a_mapping_says_where_the_addresses_of_its_file_are() {
        let segments = [Segment { offset: 0x10, size: 0x9000, address: 0x1010, is_written: false }];
        let at = |offset| bias(&segments, &Mapping { from: 0x7000_0000, offset, path: "/p" });
        assert_eq!((at(0), at(0x1000), at(0xa000)), (Some(0x6fff_f000), Some(0x6fff_e000), None));
    }
}
