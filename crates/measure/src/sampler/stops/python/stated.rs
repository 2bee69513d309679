//! What a file with `CPython` in it says about it.

use super::super::elf::Elf;
use super::Python;
use super::layouts::Layout;
use std::path::Path;

/// Version and addresses.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Stated {
    version: Option<(u8, u8)>,
    /// The addresses of `_PyRuntime` and `PyCode_Type`.
    runtime: u64,
    code_type: u64,
}

impl Stated {
    /// `None`: there is no `CPython` in it.
    pub(in super::super) fn of(elf: &Elf<'_>, path: &Path) -> Option<Stated> {
        let (runtime, code_type) = (elf.address("_PyRuntime")?, elf.address("PyCode_Type")?);
        let stated = elf.address("Py_Version").and_then(|at| elf.word(at)).map(|hexversion| {
            let [_, _, minor, major] = hexversion.to_le_bytes();
            (major, minor)
        });
        Some(Stated { version: stated.or_else(|| named_version(path)), runtime, code_type })
    }

    /// In the memory of a process: `bias` is what was added to the addresses. The error: the name of an unknown version.
    pub(in super::super) fn placed(&self, bias: u64) -> Result<Python, String> {
        match self.version {
            Some((3, minor)) if Layout::is_known(minor) => Ok(Python {
                minor,
                runtime: self.runtime.wrapping_add(bias),
                code_type: self.code_type.wrapping_add(bias),
            }),
            Some((major, minor)) => Err(format!("CPython {major}.{minor}")),
            None => Err("CPython".to_owned()),
        }
    }
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
    fn old_versions_are_known_by_the_name_of_the_file() {
        let of = |name: &str| named_version(Path::new(name));
        assert_eq!(of("/usr/bin/python3.8"), Some((3, 8)));
        assert_eq!(of("/a/libpython3.10.so.1.0"), Some((3, 10)));
        assert_eq!((of("/a/python3"), of("/a/python")), (None, None));
    }

    #[test]
    fn an_unknown_version_is_named_and_not_read() {
        let placed = |version| {
            Stated { version, runtime: 0x5000, code_type: 0x6000 }.placed(0x7000).map(|it| it.runtime)
        };
        let unknown = [Some((3, 99)), Some((2, 7)), None].map(|version| placed(version).unwrap_err());
        assert_eq!(unknown, ["CPython 3.99", "CPython 2.7", "CPython"]);
        assert_eq!(placed(Some((3, 11))), Ok(0xc000));
    }
}
