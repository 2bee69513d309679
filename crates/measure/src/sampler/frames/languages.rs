//! The interpreters that are known.

use super::elf::Elf;
use super::interpreter::{Interpreter, Stated};
use super::{bash, java, node, perl, php, python, ruby, zsh};
use std::path::Path;

/// A language's interpreter. A renamed one is not found: most files are not read.
struct Known {
    /// How the names of its executables begin.
    program: &'static str,
    /// In which files it may be, by their names.
    may_be_in: fn(&str) -> bool,
    /// What such a file says.
    stated: fn(&Elf<'_>, &Path) -> Option<Box<dyn Stated>>,
    /// Its name, if its frames are read on x86-64 only.
    only_x86_64: Option<&'static str>,
}

/// An interpreter whose frames are not read on this processor.
#[derive(Debug)]
struct Elsewhere(&'static str);

impl Stated for Elsewhere {
    fn placed(&self, _: u64) -> Result<Box<dyn Interpreter>, String> {
        Err(format!("{} on this processor", self.0))
    }
}

const ALL: [Known; 8] = [
    known("python", |name| name.contains("python"), python::stated, None),
    known("node", |name| begins(name, ["node", "libnode"]), node::stated, None),
    known("ruby", |name| begins(name, ["ruby", "libruby"]), ruby::stated, Some("Ruby")),
    known("java", |name| name == "libjvm.so", java::stated, Some("HotSpot")),
    known("perl", |name| begins(name, ["perl", "libperl"]), perl::stated, Some("Perl")),
    known("php", |name| begins(name, ["php", "libphp"]), php::stated, None),
    known("bash", |name| name.starts_with("bash"), bash::stated, None),
    known("zsh", |name| name.starts_with("zsh"), zsh::stated, None),
];

const fn known(
    program: &'static str,
    may_be_in: fn(&str) -> bool,
    stated: fn(&Elf<'_>, &Path) -> Option<Box<dyn Stated>>,
    only_x86_64: Option<&'static str>,
) -> Known {
    Known { program, may_be_in, stated, only_x86_64 }
}

fn begins(name: &str, beginnings: [&str; 2]) -> bool {
    beginnings.iter().any(|known| name.starts_with(known))
}

/// Whether an executable interprets programs whose frames can be read, by its file's name.
pub fn has_readable_frames(executable: &str) -> bool {
    ALL.iter().any(|known| executable.starts_with(known.program))
}

/// Whether an interpreter may be in a file, by the file's name.
pub(super) fn may_be_in(name: &str) -> bool {
    ALL.iter().any(|known| (known.may_be_in)(name))
}

/// What a file says; `None`: there is no interpreter in it.
pub(super) fn stated(elf: &Elf<'_>, path: &Path) -> Option<Box<dyn Stated>> {
    stated_on(std::env::consts::ARCH, elf, path)
}

fn stated_on(processor: &str, elf: &Elf<'_>, path: &Path) -> Option<Box<dyn Stated>> {
    let name = path.file_name()?.to_str()?;
    let known = ALL.iter().find(|known| (known.may_be_in)(name))?;
    let stated = (known.stated)(elf, path)?;
    let elsewhere = known.only_x86_64.filter(|_| processor != "x86_64");
    Some(elsewhere.map_or(stated, |name| Box::new(Elsewhere(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one symbol and no code.
    fn file(symbol: &str) -> Vec<u8> {
        let strings = format!("\0{symbol}\0");
        let words: [&[u64]; 5] = [
            // of arm64; three headers of sections at 64, the last one's has the names
            &[0x1_0102_464c_457f, 0, 0x1_00b7_0003, 0, 0, 64, 0x38_0040_0000_0000, 0x2_0003_0040_0000],
            &[0; 8],
            // symbols: from which section their names are, and which one is the first that others see
            &[2 << 32, 0, 0, 256, 48, 1 << 32 | 2, 8, 24],
            &[3 << 32, 0, 0, 304, strings.len() as u64, 0, 1, 0],
            // none, and a variable of eight bytes
            &[0, 0, 0, 1 << 48 | 0x11 << 32 | 1, 0x1000, 8],
        ];
        let mut bytes: Vec<u8> = words.concat().into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend(strings.into_bytes());
        bytes
    }

    #[test]
    fn another_processor_is_said_also_where_ruby_has_other_code() {
        let bytes = file("ruby_version");
        let elf = Elf::parse(&bytes).unwrap();
        let refused = |processor| {
            let stated = stated_on(processor, &elf, Path::new("/usr/lib/libruby-3.1.so.3.1"));
            stated.unwrap().placed(0).unwrap_err()
        };
        assert_eq!(["aarch64", "x86_64"].map(refused), ["Ruby on this processor", "Ruby"]);
        let others = [file("rb_errinfo"), file("Py_Version")];
        for (bytes, path) in others.iter().zip(["/usr/bin/ruby", "/usr/bin/bash"]) {
            let elf = Elf::parse(bytes).unwrap();
            assert!(stated_on("aarch64", &elf, Path::new(path)).is_none());
        }
    }

    #[test]
    fn three_languages_are_read_on_x86_64_only() {
        let only = ALL.iter().filter_map(|known| known.only_x86_64);
        assert_eq!(only.collect::<Vec<_>>(), ["Ruby", "HotSpot", "Perl"]);
    }
}
