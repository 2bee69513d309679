//! The kernel's type information (BTF), as far as our programs need it.
//!
//! A kernel describes about a hundred thousand types, of which a program reads the fields of a dozen. The loader allocates
//! each of them with all its members, and searches all of them for every one that a program reads: together half of the time
//! until a program is loaded. So this file finds the few that matter in the raw bytes, and the loader gets only these.
//!
//! The format: `Documentation/bpf/btf.rst`, `include/uapi/linux/btf.h`.

use aya::{Btf, BtfError, Endianness};
use object::{Object as _, ObjectSection as _};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::ptr::NonNull;

const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

/// What the running kernel says of its types.
#[derive(Debug)]
pub(super) struct KernelTypes(Bytes);

impl KernelTypes {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// The file cannot be read: this kernel has none, or we do not see it.
    pub(super) fn read() -> Result<KernelTypes, BtfError> {
        let bytes = Bytes::mapped().map_or_else(|_| std::fs::read(VMLINUX).map(Bytes::Read), Ok);
        bytes.map(KernelTypes).map_err(|error| BtfError::FileError { path: PathBuf::from(VMLINUX), error })
    }

    /// What the programs of this object read: the types that have the names of its own ones, and all that lie in them. It is
    /// everything if the bytes cannot be followed, and then the loader says why.
    ///
    /// # Errors
    ///
    /// The loader does not know this format.
    pub(super) fn of_object(&self, object: &[u8]) -> Result<Btf, BtfError> {
        let few = of_section(object).and_then(|types| Types::of(&self.0)?.named(&Types::of(types)?.names()));
        Btf::parse(few.as_deref().unwrap_or(&self.0), Endianness::default())
    }

    /// What programs can be attached to: functions and tracepoints, with the numbers that the kernel knows them by.
    ///
    /// # Errors
    ///
    /// The loader does not know this format.
    pub(super) fn to_attach(&self) -> Result<Btf, BtfError> {
        let numbered = Types::of(&self.0).and_then(|types| types.numbered());
        Btf::parse(numbered.as_deref().unwrap_or(&self.0), Endianness::default())
    }
}

/// The content of `VMLINUX`.
#[derive(Debug)]
enum Bytes {
    /// The kernel's own pages, since Linux 6.16 (`btf_sysfs_vmlinux_mmap` in `kernel/bpf/sysfs_btf.c`).
    Mapped(NonNull<u8>, usize),
    /// A copy. The file gives it in a thousand pieces of 4096 bytes, which takes a quarter of the time until a watch begins.
    Read(Vec<u8>),
}

impl Bytes {
    fn mapped() -> io::Result<Bytes> {
        let file = File::open(VMLINUX)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let (access, descriptor) = (libc::PROT_READ, file.as_raw_fd());
        // SAFETY: a fresh mapping that nobody can write to, of pages that the kernel never changes.
        let place =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_PRIVATE, descriptor, 0) };
        match NonNull::new(place.cast()) {
            Some(bytes) if place != libc::MAP_FAILED => Ok(Bytes::Mapped(bytes, length)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: our own mapping of this length, which stays until `self` is dropped.
            Bytes::Mapped(bytes, length) => unsafe { std::slice::from_raw_parts(bytes.as_ptr(), *length) },
            Bytes::Read(bytes) => bytes,
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Bytes::Mapped(bytes, length) = self {
            // SAFETY: our own mapping, which nobody refers to any more.
            unsafe { libc::munmap(bytes.as_ptr().cast(), *length) };
        }
    }
}

/// The BTF of an object file.
fn of_section(object: &[u8]) -> Option<&[u8]> {
    object::File::parse(object).ok()?.section_by_name(".BTF")?.data().ok()
}

/// `struct btf_header` has this size.
const HEADER: u32 = 24;
/// `BTF_MAGIC` in the byte order of the machine, `BTF_VERSION`, no flags.
const MAGIC_AND_VERSION: [u8; 4] = {
    let [first, second] = 0xeb9f_u16.to_ne_bytes();
    [first, second, 1, 0]
};

/// `struct btf_type` without what follows it.
const HEAD: usize = 12;
/// Where its head says to which type it refers.
const REFERENCE: usize = 8;

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// A pointer to nothing.
const NOTHING: [u8; HEAD] = {
    let [a, b, c, d] = (PTR << 24).to_ne_bytes();
    [0, 0, 0, 0, a, b, c, d, 0, 0, 0, 0]
};

/// BTF of these types.
fn whole(types: &[u8], strings: &[u8]) -> Option<Vec<u8>> {
    let mut result = MAGIC_AND_VERSION.to_vec();
    let length = u32::try_from(types.len()).ok()?;
    for word in [HEADER, 0, length, length, u32::try_from(strings.len()).ok()?] {
        result.extend_from_slice(&word.to_ne_bytes());
    }
    result.extend_from_slice(types);
    result.extend_from_slice(strings);
    Some(result)
}

/// The two parts of BTF.
struct Types<'a> {
    types: &'a [u8],
    strings: &'a [u8],
}

/// The head of one type, and where it begins.
#[derive(Clone, Copy)]
struct Type {
    at: usize,
    name: u32,
    info: u32,
}

impl<'a> Types<'a> {
    fn of(bytes: &'a [u8]) -> Option<Types<'a>> {
        let head = word(bytes, 4)? as usize;
        let part = |offset: usize| {
            let from = head.checked_add(word(bytes, offset)? as usize)?;
            bytes.get(from..from.checked_add(word(bytes, offset + 4)? as usize)?)
        };
        (bytes.get(..4)? == MAGIC_AND_VERSION).then_some(Types { types: part(8)?, strings: part(16)? })
    }

    /// From number 1 on.
    fn all(&self) -> impl Iterator<Item = Type> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let next = self.at(at)?;
            at = next.end();
            Some(next)
        })
    }

    fn at(&self, at: usize) -> Option<Type> {
        Some(Type { at, name: word(self.types, at)?, info: word(self.types, at + 4)? })
    }

    /// A type's name, without the version that follows three underscores in names of our objects and of some kernels.
    fn name(&self, one: Type) -> &'a [u8] {
        let name = self.string(one.name);
        name.windows(3).position(|three| three == b"___").map_or(name, |flavor| &name[..flavor])
    }

    fn string(&self, offset: u32) -> &'a [u8] {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// The names of everything that has fields or values.
    fn names(&self) -> HashSet<&'a [u8]> {
        self.all()
            .filter(|one| one.is_root())
            .map(|one| self.name(one))
            .filter(|name| !name.is_empty())
            .collect()
    }

    /// The types that have one of these names, and all that lie in them, as BTF with numbers of its own.
    fn named(&self, names: &HashSet<&[u8]>) -> Option<Vec<u8>> {
        let mut places = vec![0];
        let mut next = Vec::new();
        for one in self.all() {
            if one.is_root() && one.name != 0 && names.contains(self.name(one)) {
                next.push(u32::try_from(places.len()).ok()?);
            }
            places.push(one.at);
        }
        self.at(*places.last()?).filter(|last| last.end() == self.types.len())?;

        let mut numbers = HashMap::from([(0, 0)]);
        let mut kept = Vec::new();
        while let Some(id) = next.pop() {
            let one = self.at(*places.get(id as usize)?)?;
            if numbers.contains_key(&id) {
                continue;
            }
            kept.push(one);
            numbers.insert(id, u32::try_from(kept.len()).ok()?);
            next.extend(contents(one).filter_map(|place| word(self.types, place)));
        }
        self.written(&kept, &numbers)
    }

    /// What points to another type points to nothing, and the names are only those of these types.
    fn written(&self, kept: &[Type], numbers: &HashMap<u32, u32>) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        let mut strings = vec![0];
        for one in kept {
            let from = body.len();
            body.extend_from_slice(self.types.get(one.at..one.end())?);
            for place in names(*one).filter(|place| word(self.types, *place) != Some(0)) {
                let offset = u32::try_from(strings.len()).ok()?;
                strings.extend_from_slice(self.string(word(self.types, place)?));
                strings.push(0);
                let place = from + place - one.at;
                body[place..place + 4].copy_from_slice(&offset.to_ne_bytes());
            }
            if one.kind() == PTR {
                body[from + REFERENCE..from + HEAD].fill(0);
            }
            for place in contents(*one) {
                let number = numbers.get(&word(self.types, place)?)?;
                let place = from + place - one.at;
                body[place..place + 4].copy_from_slice(&number.to_ne_bytes());
            }
        }
        whole(&body, &strings)
    }

    /// Functions and names of types where they are, and pointers to nothing in the place of all others.
    fn numbered(&self) -> Option<Vec<u8>> {
        let mut body = Vec::with_capacity(self.types.len() / 2);
        for one in self.all() {
            let named = matches!(one.kind(), FUNC | TYPEDEF);
            body.extend_from_slice(if named { self.types.get(one.at..one.end())? } else { &NOTHING });
        }
        whole(&body, self.strings)
    }
}

/// Where the numbers of the types that lie in this one are. What it points to does not.
fn contents(one: Type) -> impl Iterator<Item = usize> {
    let (count, size, first) = match one.kind() {
        TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => (1, 0, REFERENCE),
        ARRAY => (2, 4, HEAD), // of its elements, and of its index
        STRUCT | UNION => (one.count(), 12, HEAD + 4),
        _ => (0, 0, 0),
    };
    (0..count).map(move |n| one.at + first + n * size)
}

/// Where the names of a type and of its parts are.
fn names(one: Type) -> impl Iterator<Item = usize> {
    let (count, size) = match one.kind() {
        STRUCT | UNION | ENUM64 => (one.count(), 12),
        ENUM => (one.count(), 8),
        _ => (0, 0),
    };
    std::iter::once(one.at).chain((0..count).map(move |n| one.at + HEAD + n * size))
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn count(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// The bytes that follow the head.
    fn extra(self) -> usize {
        match self.kind() {
            INT | VAR | DECL_TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | DATASEC | ENUM64 => 12 * self.count(),
            ENUM | FUNC_PROTO => 8 * self.count(),
            _ => 0,
        }
    }

    fn end(self) -> usize {
        self.at + HEAD + self.extra()
    }

    /// A program can name it.
    fn is_root(self) -> bool {
        matches!(self.kind(), STRUCT | UNION | ENUM | ENUM64 | TYPEDEF)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of these words, and names, as BTF.
    fn btf(types: &[&[u32]], strings: &str) -> Vec<u8> {
        let types: Vec<u8> =
            types.iter().flat_map(|words| words.iter()).flat_map(|word| word.to_ne_bytes()).collect();
        whole(&types, strings.as_bytes()).unwrap()
    }

    /// 1: `int`; 2: `struct other { int x }`; 3: a pointer to it; 4: `struct inner { int x }`; 5: a constant one;
    /// 6: `struct task___old { struct other *x; const struct inner x }`; 7: a function `run`; 8: an array of two pointers.
    fn kernel() -> Vec<u8> {
        let strings = "\0int\0other\0inner\0task___old\0run\0x\0";
        let of = |kind: u32, count: u32| kind << 24 | count;
        btf(
            &[
                &[1, of(INT, 0), 4, 32],
                &[5, of(STRUCT, 1), 4, 32, 1, 0],
                &[0, of(PTR, 0), 2],
                &[11, of(STRUCT, 1), 4, 32, 1, 0],
                &[0, of(CONST, 0), 4],
                &[17, of(STRUCT, 2), 16, 32, 8, 0, 32, 5, 128],
                &[28, of(FUNC, 0), 0],
                &[0, of(ARRAY, 0), 0, 3, 1, 2],
            ],
            strings,
        )
    }

    fn shown(bytes: &[u8]) -> Vec<(u32, String)> {
        let types = Types::of(bytes).unwrap();
        let shown = |one: Type| (one.kind(), String::from_utf8_lossy(types.name(one)).into_owned());
        types.all().map(shown).collect()
    }

    #[test]
    fn types_that_are_named_come_with_what_lies_in_them() {
        let kernel = kernel();
        let few = Types::of(&kernel).unwrap().named(&HashSet::from([&b"task"[..], b"missing"])).unwrap();
        let mut kinds: Vec<(u32, String)> = shown(&few);
        assert_eq!(kinds[0], (STRUCT, "task".to_owned()));
        kinds.sort_unstable();
        let names = [(INT, "int"), (PTR, ""), (ARRAY, ""), (STRUCT, "inner"), (STRUCT, "task"), (CONST, "")];
        let mut expected = names.map(|(kind, name)| (kind, name.to_owned())).to_vec();
        expected.sort_unstable();
        assert_eq!(kinds, expected, "without `other`, to which a pointer leads, and without the function");

        let types = Types::of(&few).unwrap();
        let all: Vec<Type> = types.all().collect();
        let inside =
            |one: Type| -> Vec<u32> { contents(one).map(|at| word(types.types, at).unwrap()).collect() };
        let [array, constant] = inside(all[0])[..] else { panic!() };
        assert_eq!(all[array as usize - 1].kind(), ARRAY);
        let inner = inside(all[constant as usize - 1])[0];
        assert_eq!(types.name(all[inner as usize - 1]), b"inner");
        assert!(Btf::parse(&few, Endianness::default()).is_ok());
    }

    #[test]
    fn what_programs_are_attached_to_keeps_its_number() {
        let kernel = kernel();
        let numbered = Types::of(&kernel).unwrap().numbered().unwrap();
        let all = shown(&numbered);
        assert_eq!((all.len(), &all[6]), (8, &(FUNC, "run".to_owned())));
        assert!(all.iter().filter(|one| one.0 != FUNC).all(|one| *one == (PTR, String::new())));
        assert!(Btf::parse(&numbered, Endianness::default()).is_ok());
    }

    #[test]
    fn bytes_that_cannot_be_followed_are_left_to_the_loader() {
        let kernel = kernel();
        for length in 0..kernel.len() {
            assert!(Types::of(&kernel[..length]).is_none(), "{length}");
        }
        let cut = btf(&[&[1, INT << 24, 4]], "\0int\0");
        assert!(Types::of(&cut).unwrap().named(&HashSet::from([&b"int"[..]])).is_none());
    }

    /// The loader finds the same in both, so the numbers that it computes for a program are the same.
    #[test]
    fn the_running_kernel_has_the_same_types_in_both() {
        let Ok(KernelTypes(bytes)) = KernelTypes::read() else {
            assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"));
            eprintln!("skipped: the kernel gives no type information");
            return;
        };
        let types = Types::of(&bytes).unwrap();
        let wanted = HashSet::from([&b"task_struct"[..], b"vm_event_item"]);
        let few = types.named(&wanted).unwrap();
        let sizes = |of: &Types<'_>| -> Vec<(Vec<u8>, u32, u32)> {
            let found = of.all().filter(|one| one.is_root() && wanted.contains(of.name(*one)));
            found
                .map(|one| (of.name(one).to_vec(), one.info, word(of.types, one.at + REFERENCE).unwrap()))
                .collect()
        };
        let sorted = |mut all: Vec<_>| {
            all.sort_unstable();
            all
        };
        assert_eq!(sorted(sizes(&types)), sorted(sizes(&Types::of(&few).unwrap())));
        assert!(few.len() < bytes.len());
        assert!(*bytes == *std::fs::read(VMLINUX).unwrap());
    }
}
