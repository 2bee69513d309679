//! The interpreters in the programs' memory: in which file, of which version, and where it is mapped.

use super::python::{self, Python};
use object::{Object, ObjectSegment, ObjectSymbol};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Larger files are not read.
const MAX_FILE: u64 = 512 << 20;

/// The files that were looked into, over all runs.
#[derive(Debug, Default)]
pub(super) struct Files(HashMap<(String, u64, u64), Option<Arc<File>>>);

/// A file with `CPython` in it.
#[derive(Debug)]
struct File {
    version: Option<(u8, u8)>,
    /// The addresses of `_PyRuntime` and `PyCode_Type`, as the file states them.
    runtime: u64,
    code_type: u64,
    /// File offset, size and address of what is mapped.
    segments: Vec<[u64; 3]>,
}

/// An interpreter in the memory of a process.
#[derive(Clone, Debug)]
pub(super) enum Image {
    Python {
        python: Python,
        path: Arc<str>,
    },
    /// One whose frames cannot be read: its name and its version.
    Unknown(String),
}

impl Files {
    /// The interpreter in the memory of a process, whose mappings are those of `proc_pid_maps(5)`.
    pub(super) fn look(&mut self, maps: &str) -> Option<Image> {
        maps.lines().find_map(|line| {
            let mapping = Mapping::of(line)?;
            // Most files are not read for nothing. A renamed interpreter is not found.
            mapping.path.rsplit('/').next()?.contains("python").then_some(())?;
            let file = self.file(mapping.path)?;
            file.image(&mapping)
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
        let elf = object::File::parse(&*bytes).ok().filter(|elf| elf.is_64() && elf.is_little_endian())?;
        let address = |name: &str| {
            let all = elf.dynamic_symbols().chain(elf.symbols());
            let mut named = all.filter(|symbol| symbol.name() == Ok(name) && symbol.is_definition());
            named.next().map(|symbol| symbol.address())
        };
        let runtime = address("_PyRuntime")?;
        let code_type = address("PyCode_Type")?;
        let segments: Vec<[u64; 3]> = elf
            .segments()
            .map(|segment| [segment.file_range().0, segment.file_range().1, segment.address()])
            .collect();
        let stated = address("Py_Version").and_then(|at| word_at(&bytes, &segments, at));
        let version = stated.map(|hexversion| {
            let [_, _, minor, major] = hexversion.to_le_bytes();
            (major, minor)
        });
        Some(File { version: version.or_else(|| named_version(path)), runtime, code_type, segments })
    }

    fn image(&self, mapping: &Mapping<'_>) -> Option<Image> {
        let Some((3, minor)) = self.version.filter(|(major, minor)| *major == 3 && python::is_known(*minor))
        else {
            let version = self.version.map_or_else(String::new, |(major, minor)| format!(" {major}.{minor}"));
            return Some(Image::Unknown(format!("CPython{version}")));
        };
        // a mapping begins at the page in which its segment begins
        let holds = |[offset, size, _]: &&[u64; 3]| {
            offset & !4095 <= mapping.offset && mapping.offset < offset.saturating_add(*size)
        };
        let [offset, _, address] = self.segments.iter().find(holds)?;
        let bias = mapping.from.wrapping_sub(address.wrapping_sub(*offset).wrapping_add(mapping.offset));
        let python = Python {
            minor,
            runtime: self.runtime.wrapping_add(bias),
            code_type: self.code_type.wrapping_add(bias),
        };
        Some(Image::Python { python, path: mapping.path.into() })
    }
}

fn word_at(bytes: &[u8], segments: &[[u64; 3]], address: u64) -> Option<u32> {
    let holds = |[_, size, start]: &&[u64; 3]| *start <= address && address - start < *size;
    let [offset, _, start] = segments.iter().find(holds)?;
    let at = usize::try_from(offset.checked_add(address - start)?).ok()?;
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

/// Before 3.11, only the name says it: `python3.8`, `libpython3.8.so.1.0`.
fn named_version(path: &Path) -> Option<(u8, u8)> {
    let name = path.file_name()?.to_str()?;
    let after = &name[name.find("python")? + "python".len()..];
    let mut numbers = after.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
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
    fn old_versions_are_known_by_the_name_of_the_file() {
        let of = |name: &str| named_version(Path::new(name));
        assert_eq!(of("/usr/bin/python3.8"), Some((3, 8)));
        assert_eq!(of("/a/libpython3.10.so.1.0"), Some((3, 10)));
        assert_eq!((of("/a/python3"), of("/a/python")), (None, None));
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let file = |version| File {
            version,
            runtime: 0x5000,
            code_type: 0x6000,
            segments: vec![[0x10, 0x9000, 0x1010]],
        };
        let mapping = Mapping { from: 0x7000_0000, offset: 0, path: "/p" };
        let unknown = |version| match file(version).image(&mapping) {
            Some(Image::Unknown(name)) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            [Some((3, 99)), Some((2, 7)), None].map(unknown),
            ["CPython 3.99", "CPython 2.7", "CPython"]
        );
        let Some(Image::Python { python, .. }) = file(Some((3, 11))).image(&mapping) else { panic!() };
        assert_eq!((python.runtime, python.code_type), (0x7000_4000, 0x7000_5000));
    }
}
