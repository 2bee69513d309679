//! The kernel's type information (BTF), as far as our programs need it.
//!
//! A kernel describes about a hundred thousand types, of which a program reads the fields of a dozen. The loader allocates
//! each structure with all its members, and searches all of them for every one that a program reads: together half of the
//! time until a program is loaded. So this file finds the few that matter in the raw bytes, and the loader gets these. Each
//! of the others becomes a pointer without a name, so that every type keeps its number, which the kernel knows it by.
//!
//! The format: `Documentation/bpf/btf.rst`, `include/uapi/linux/btf.h`.

use aya::{Btf, BtfError, Endianness};
use object::{Object as _, ObjectSection as _};
use std::collections::HashSet;
use std::path::PathBuf;

const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

/// What the running kernel says of its types.
#[derive(Debug)]
pub(super) struct KernelTypes(Vec<u8>);

impl KernelTypes {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// The file cannot be read: this kernel has none, or we do not see it.
    pub(super) fn read() -> Result<KernelTypes, BtfError> {
        let read = std::fs::read(VMLINUX);
        read.map(KernelTypes).map_err(|error| BtfError::FileError { path: PathBuf::from(VMLINUX), error })
    }

    /// What the programs of this object need: the types that have the names of its own ones, all that lie in them, and what
    /// programs are attached to. It is everything if the bytes cannot be followed, and then the loader says why.
    ///
    /// # Errors
    ///
    /// The loader does not know this format.
    pub(super) fn of_object(&self, object: &[u8]) -> Result<Btf, BtfError> {
        let reduced = of_section(object).and_then(|own| reduced(&self.0, &Types::of(own)?.names()));
        Btf::parse(reduced.as_deref().unwrap_or(&self.0), Endianness::default())
    }
}

/// The BTF of an object file.
fn of_section(object: &[u8]) -> Option<&[u8]> {
    object::File::parse(object).ok()?.section_by_name(".BTF")?.data().ok()
}

fn reduced(bytes: &[u8], names: &HashSet<&[u8]>) -> Option<Vec<u8>> {
    let types = Types::of(bytes)?;
    let kept = types.with_contents(names)?;

    let mut body = Vec::with_capacity(types.types.len() / 2);
    for (id, one) in types.all().enumerate() {
        let all = types.types.get(one.at..one.at + HEAD + one.extra())?;
        body.extend_from_slice(if one.is_composed() && !kept[id] { &PLACEHOLDER } else { all });
    }

    let length = u32::try_from(body.len()).ok()?;
    let strings = u32::try_from(types.strings.len()).ok()?;
    let mut result = MAGIC_AND_VERSION.to_vec();
    for word in [HEADER, 0, length, length, strings] {
        result.extend_from_slice(&word.to_ne_bytes());
    }
    result.extend_from_slice(&body);
    result.extend_from_slice(types.strings);
    Some(result)
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
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// A pointer to nothing known.
const PLACEHOLDER: [u8; HEAD] = {
    let [a, b, c, d] = (PTR << 24).to_ne_bytes();
    [0, 0, 0, 0, a, b, c, d, 0, 0, 0, 0]
};

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
    /// Or the number of the type that it refers to.
    size: u32,
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
            at += HEAD + next.extra();
            Some(next)
        })
    }

    fn at(&self, at: usize) -> Option<Type> {
        let [name, info, size] = [at, at + 4, at + 8].map(|at| word(self.types, at));
        Some(Type { at, name: name?, info: info?, size: size? })
    }

    /// A type's name, without the version that follows three underscores in names of our objects and of some kernels.
    fn name(&self, one: Type) -> &'a [u8] {
        let rest = self.strings.get(one.name as usize..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let name = &rest[..length];
        name.windows(3).position(|three| three == b"___").map_or(name, |flavor| &name[..flavor])
    }

    /// The names of everything that has fields or values.
    fn names(&self) -> HashSet<&'a [u8]> {
        self.all().filter(|one| one.is_root()).map(|one| self.name(one)).filter(|name| !name.is_empty()).collect()
    }

    /// Which types have one of these names, or lie in one that has. The first is number 1.
    fn with_contents(&self, names: &HashSet<&[u8]>) -> Option<Vec<bool>> {
        let all: Vec<Type> = self.all().collect();
        if all.last().is_none_or(|last| last.at + HEAD + last.extra() != self.types.len()) {
            return None;
        }

        let mut kept = vec![false; all.len()];
        let named = |one: &Type| one.is_root() && one.name != 0 && names.contains(self.name(*one));
        let mut next: Vec<usize> = (0..all.len()).filter(|id| named(&all[*id])).collect();
        while let Some(id) = next.pop() {
            if !std::mem::replace(&mut kept[id], true) {
                next.extend(self.contents(all[id]).filter_map(|id| (id as usize).checked_sub(1)).filter(|id| *id < kept.len()));
            }
        }
        Some(kept)
    }

    /// The numbers of the types that lie in this one. What it points to does not.
    fn contents(&self, one: Type) -> impl Iterator<Item = u32> {
        let (own, count, size, first) = match one.kind() {
            TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => (Some(one.size), 0, 0, 0),
            ARRAY => (None, 1, 0, 0),
            STRUCT | UNION => (None, one.count(), 12, 4),
            _ => (None, 0, 0, 0),
        };
        let inner = (0..count).filter_map(move |n| word(self.types, one.at + HEAD + n * size + first));
        own.into_iter().chain(inner)
    }
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn count(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// The bytes that follow the head. No type of an unknown kind ends where the next one begins, so the rest makes no sense
    /// and does not end at the end.
    fn extra(self) -> usize {
        match self.kind() {
            INT | VAR | DECL_TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | DATASEC | ENUM64 => 12 * self.count(),
            ENUM | FUNC_PROTO => 8 * self.count(),
            _ => 0,
        }
    }

    /// It has parts, for each of which the loader allocates memory.
    fn is_composed(self) -> bool {
        matches!(self.kind(), STRUCT | UNION | ENUM | ENUM64 | FUNC_PROTO | DATASEC)
    }

    /// A program can name it.
    fn is_root(self) -> bool {
        matches!(self.kind(), STRUCT | UNION | ENUM | ENUM64 | TYPEDEF)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}
