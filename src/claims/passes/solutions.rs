//! The solutions of Level 0 of C Runtime Overhead, and the programs that they are compared with: how each is made.

use crate::claims::Lack;
use crate::corpus::debian::install_command;
use firstbyte_cc::sources::LEVEL0;
use firstbyte_measure::launch::find_in_path;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The contest's dictionary, from Debian's `miscfiles`.
pub(super) const DICTIONARY: &str = "/usr/share/dict/web2";

/// A solution, or a program that it is compared with.
pub(super) struct Solution {
    /// Its name in the claims.
    pub(super) name: &'static str,
    pub(super) set: SolutionSet,
    made: Made,
}

/// Those that run in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SolutionSet {
    /// They have their table in the program, and take about as long as their start.
    Starting,
    /// One of them reads the dictionary, which takes far longer.
    Reading,
    /// An interpreter reads the dictionary.
    Interpreted,
    /// The same, with ten times the text.
    Longer,
}

impl SolutionSet {
    pub(super) const ALL: [SolutionSet; 4] =
        [SolutionSet::Starting, SolutionSet::Reading, SolutionSet::Interpreted, SolutionSet::Longer];
}

enum Made {
    /// By `firstbyte cc` with these options.
    Freestanding(&'static [&'static str]),
    /// By gcc, linked with glibc.
    Glibc(&'static [&'static str]),
    /// A script that Ruby runs.
    Ruby(&'static str),
}

const EXACT: &[&str] = &["-DTABLE=\"exact.h\"", "level0.c"];
const BLOOM: &[&str] = &["-DBLOOM", "-DTABLE=\"bloom.h\"", "level0.c"];
const PERFECT: &[&str] = &["-DPERFECT", "-DTABLE=\"perfect.h\"", "level0.c"];
const UNBUFFERED: &[&str] = &["-DUNBUFFERED", "-DTABLE=\"exact.h\"", "level0.c"];
const HASH: &[&str] = &["-DWORDS=\"/usr/share/dict/web2\"", "hash.c"];
const EMPTY: &[&str] = &["empty.c"];

/// The tables, by the arguments of their generator. The Bloom filter has as many bytes as fit into a program of 20 kB.
const TABLES: [(&str, &[&str]); 3] = [
    ("exact.h", &["exact", DICTIONARY]),
    ("bloom.h", &["bloom", "17500", "1", DICTIONARY]),
    ("perfect.h", &["perfect", DICTIONARY]),
];

const fn solution(name: &'static str, set: SolutionSet, made: Made) -> Solution {
    Solution { name, set, made }
}

pub(super) static SOLUTIONS: [Solution; 13] = [
    solution("level0", SolutionSet::Starting, Made::Freestanding(EXACT)),
    solution("level0-unbuffered", SolutionSet::Starting, Made::Freestanding(UNBUFFERED)),
    solution("level0-bloom", SolutionSet::Starting, Made::Freestanding(BLOOM)),
    solution("level0-perfect", SolutionSet::Starting, Made::Freestanding(PERFECT)),
    solution("level0-glibc", SolutionSet::Starting, Made::Glibc(EXACT)),
    solution("level0-bloom-glibc", SolutionSet::Starting, Made::Glibc(BLOOM)),
    solution("level0-empty", SolutionSet::Starting, Made::Glibc(EMPTY)),
    solution("level0-embedded", SolutionSet::Reading, Made::Glibc(EXACT)),
    solution("level0-read", SolutionSet::Reading, Made::Glibc(HASH)),
    solution("level0-array", SolutionSet::Interpreted, Made::Ruby("array.rb")),
    solution("level0-set", SolutionSet::Interpreted, Made::Ruby("set.rb")),
    solution("level0-array-longer", SolutionSet::Longer, Made::Ruby("array.rb")),
    solution("level0-set-longer", SolutionSet::Longer, Made::Ruby("set.rb")),
];

/// Writes the sources and makes the tables.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    LEVEL0.extract(folder)?;
    fs::write(folder.join("empty.c"), "int main() { return 0; }\n")?;
    if find_in_path("rustc").is_none() || !Path::new(DICTIONARY).exists() {
        return Ok(()); // each solution says so
    }
    run(folder, "rustc", &["--edition", "2024", "-O", "-o", "generate", "generator/main.rs"], None)?;
    TABLES.iter().try_for_each(|(table, arguments)| run(folder, "./generate", arguments, Some(table)))
}

impl Solution {
    /// Its command line, once it has been built.
    pub(super) fn build(&self, folder: &Path) -> Result<Vec<OsString>, Lack> {
        self.demand()?;
        let ourselves = std::env::current_exe().map_err(Lack::of)?;
        let (compiler, first, options): (&Path, &[&str], _) = match self.made {
            Made::Freestanding(options) => (&ourselves, &["cc"], options),
            Made::Glibc(options) => (Path::new("gcc"), &[], options),
            Made::Ruby(script) => {
                let ruby = find_in_path("ruby").unwrap_or_default();
                return Ok(vec![ruby.into(), folder.join(script).into(), DICTIONARY.into()]);
            }
        };

        let all = [first, &["-O2", "-I."], options, &["-o", self.name]].concat();
        let failed = |error: io::Error| Lack::because(format!("level 0 could not be built: {error}"));
        run(folder, compiler, &all, None).map_err(failed)?;
        Ok(vec![folder.join(self.name).into()])
    }

    /// What it needs of this machine.
    fn demand(&self) -> Result<(), Lack> {
        let tools: &[(&str, &str)] = match self.made {
            Made::Ruby(_) => &[("ruby", "ruby")],
            _ => &[("rustc", "rustc"), ("gcc", "gcc")],
        };
        if let Some((tool, package)) = tools.iter().find(|(tool, _)| find_in_path(tool).is_none()) {
            return Err(missing(&format!("`{tool}` is not in PATH"), package));
        }
        if !Path::new(DICTIONARY).exists() {
            let reason = format!("the contest's dictionary `{DICTIONARY}` does not exist");
            return Err(missing(&reason, "miscfiles"));
        }
        Ok(())
    }
}

fn missing(reason: &str, package: &str) -> Lack {
    Lack { reason: reason.to_owned(), install: install_command(&[package.to_owned()]) }
}

/// Runs a step of the build, with its output in a file.
fn run(folder: &Path, program: impl AsRef<Path>, arguments: &[&str], output: Option<&str>) -> io::Result<()> {
    let program = program.as_ref();
    let stdout = match output {
        Some(name) => File::create(folder.join(name))?.into(),
        None => Stdio::null(),
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(stdout);
    let ended = command.stderr(Stdio::piped()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&ended.stderr);
    let last = messages.lines().last().unwrap_or_default().to_owned();
    Err(io::Error::other(format!("`{}`: {}: {last}", program.display(), ended.status)))
}
