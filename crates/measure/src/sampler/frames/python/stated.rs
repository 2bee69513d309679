//! What a file with `CPython` in it says about it.

use super::super::elf::Elf;
use super::super::interpreter::{self, Interpreter, Version, unknown, version};
use super::layouts::Layout;
use super::{Codes, Place, Python};
use std::path::Path;

/// Version and addresses.
#[derive(Clone, Copy, Debug)]
struct Stated {
    version: Version,
    /// The addresses of `_PyRuntime` and `PyCode_Type`.
    runtime: u64,
    code_type: u64,
}

/// `None`: there is no `CPython` in it.
pub(in super::super) fn stated(elf: &Elf<'_>, path: &Path) -> Option<Box<dyn interpreter::Stated>> {
    let (runtime, code_type) = (elf.address("_PyRuntime")?, elf.address("PyCode_Type")?);
    let stated = elf.address("Py_Version").and_then(|at| elf.word(at)).map(|hexversion| {
        let [_, _, minor, major] = hexversion.to_le_bytes();
        (major, minor)
    });
    Some(Box::new(Stated { version: stated.or_else(|| named_version(path)), runtime, code_type }))
}

impl Stated {
    fn place(&self, bias: u64) -> Result<Place, String> {
        match self.version {
            Some((3, minor)) if Layout::is_known(minor) => Ok(Place {
                minor,
                runtime: self.runtime.wrapping_add(bias),
                code_type: self.code_type.wrapping_add(bias),
            }),
            version => Err(unknown("CPython", version)),
        }
    }
}

impl interpreter::Stated for Stated {
    fn placed(&self, bias: u64) -> Result<Box<dyn Interpreter>, String> {
        Ok(Box::new(Python { place: self.place(bias)?, codes: Codes::default() }))
    }
}

/// From 3.8 on, at the variables of the fuzz target.
#[cfg(fuzzing)]
pub(in super::super) fn fuzzed(version: u8, at: u64) -> Option<Box<dyn Interpreter>> {
    let version = Some((3, 8 + version % 8));
    let stated = Stated { version, runtime: at, code_type: at + 8 };
    interpreter::Stated::placed(&stated, 0).ok()
}

/// Before 3.11, only the name says it: `python3.8`, `libpython3.8.so.1.0`.
fn named_version(path: &Path) -> Version {
    let name = path.file_name()?.to_str()?;
    version(&name.as_bytes()[name.find("python")? + "python".len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_known_by_the_name_of_the_file() {
        let of = |name: &str| named_version(Path::new(name));
        assert_eq!(of("/usr/bin/python3.8"), Some((3, 8)));
        assert_eq!(of("/a/libpython3.10.so.1.0"), Some((3, 10)));
        assert_eq!((of("/a/python3"), of("/a/python")), (None, None));
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let placed = |version| {
            Stated { version, runtime: 0x5000, code_type: 0x6000 }.place(0x7000).map(|it| it.runtime)
        };
        let unknown = [Some((3, 99)), Some((2, 7)), None].map(|version| placed(version).unwrap_err());
        assert_eq!(unknown, ["CPython 3.99", "CPython 2.7", "CPython"]);
        assert_eq!(placed(Some((3, 11))), Ok(0xc000));
    }
}
