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
    Known { program: "python", may_be_in: |name| name.contains("python"), stated: python::stated },
    Known { program: "node", may_be_in: |name| begins(name, ["node", "libnode"]), stated: node::stated },
    Known { program: "ruby", may_be_in: |name| begins(name, ["ruby", "libruby"]), stated: ruby::stated },
    Known { program: "java", may_be_in: |name| name == "libjvm.so", stated: java::stated },
    Known { program: "perl", may_be_in: |name| begins(name, ["perl", "libperl"]), stated: perl::stated },
    Known { program: "php", may_be_in: |name| begins(name, ["php", "libphp"]), stated: php::stated },
    Known { program: "bash", may_be_in: |name| name.starts_with("bash"), stated: bash::stated },
    Known { program: "zsh", may_be_in: |name| name.starts_with("zsh"), stated: zsh::stated },
];

/// Those whose frames are read on x86-64 only, and their names.
const ONLY_X86_64: [(&str, &str); 3] = [("ruby", "Ruby"), ("java", "HotSpot"), ("perl", "Perl")];

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
    let name = path.file_name()?.to_str()?;
    let known = ALL.iter().find(|known| (known.may_be_in)(name))?;
    let stated = (known.stated)(elf, path)?;
    let elsewhere = ONLY_X86_64.iter().find(|(program, _)| *program == known.program);
    let elsewhere = elsewhere.filter(|_| cfg!(not(target_arch = "x86_64")));
    Some(elsewhere.map_or(stated, |(_, name)| Box::new(Elsewhere(name))))
}
