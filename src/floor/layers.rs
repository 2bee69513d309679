//! The layers of a waterfall: which programs and calls stand one above the other, and what each does without.

use super::batch::{self, Outcome, Rounds, Subject};
use super::processes::{self, Rung};
use super::shells::{self, Shell};
use super::spawn::{self, How, Program, Spawn};
use super::survey::Part;
use super::syscalls;
use super::waterfall::{Layer, Waterfall};
use super::{FloorError, Group, Missing};
use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use std::ffi::{OsStr, OsString};
use std::fmt::{Display, Write};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The layer of the command itself.
pub const COMMAND: &str = "vfork+exec, the command";

/// A layer before it is measured.
struct Planned {
    name: String,
    /// What the next layer does without.
    removes: String,
    /// Where its times come from, or why it has none.
    source: Result<Source, String>,
}

/// How the nanoseconds of a layer come from the subjects.
enum Source {
    /// One subject's.
    Of(usize),
    /// The first less the second, so many repetitions each.
    Difference(usize, usize, u32),
    /// The first, and what the second has over the third.
    Above(usize, usize, usize),
}

/// The layers while they are put together, from the top.
pub(super) struct Layers<'f> {
    folder: &'f Path,
    /// Of a builtin in a script.
    repetitions: u32,
    /// How long one process may take.
    limit: Duration,
    subjects: Vec<Subject>,
    planned: Vec<Planned>,
}

/// A command that is set above the floor.
#[derive(Clone, Debug)]
pub struct Subordinate {
    /// Its words.
    pub words: Vec<OsString>,
    /// The file that is executed.
    pub executable: PathBuf,
    /// When it is killed.
    pub limit: Duration,
}

impl Subordinate {
    /// As a shell would take it.
    pub fn shown(&self) -> String {
        shell_words::join(self.words.iter().map(|word| word.to_string_lossy()))
    }

    fn rung(&self) -> Rung {
        Rung { name: "the command".to_owned(), executable: self.executable.clone(), argv: self.words.clone() }
    }

    /// As a command line whose first word is the file itself.
    fn script(&self) -> String {
        let words = self.words.iter().skip(1).map(|word| word.to_string_lossy());
        let rest: Vec<String> = words.map(|word| shell_words::quote(&word).into_owned()).collect();
        [vec![processes::word(&self.rung())], rest].concat().join(" ")
    }
}

impl<'f> Layers<'f> {
    pub(super) fn new(folder: &'f Path, repetitions: u32) -> Layers<'f> {
        Layers { folder, repetitions, limit: spawn::LIMIT, subjects: Vec::new(), planned: Vec::new() }
    }

    /// Carries out the rounds. There is no waterfall when no layer could be measured.
    pub(super) fn measure(mut self, title: &str, rounds: &Rounds) -> Result<Part, FloorError> {
        let (outcomes, overhead) = batch::measure(&mut self.subjects, rounds)?;
        let (layers, missing) = stacked(self.planned, &outcomes);
        Ok(Part { waterfall: Waterfall::of(title, &layers), missing, overhead, ..Part::default() })
    }

    /// A layer of one subject, whose number is returned; `removes`: what the next layer does without.
    fn add<E: Display>(&mut self, name: &str, removes: &str, subject: Result<Subject, E>) -> Option<usize> {
        let source = subject.map_err(|error| error.to_string()).map(|subject| {
            self.subjects.push(subject);
            Source::Of(self.subjects.len() - 1)
        });
        let index = source.is_ok().then(|| self.subjects.len() - 1);
        self.planned.push(Planned { name: name.to_owned(), removes: removes.to_owned(), source });
        index
    }

    fn subject(&self, name: &str, spawn: io::Result<Spawn>) -> io::Result<Subject> {
        Ok(Subject::new(name, spawn?.within(self.limit)))
    }

    /// The topmost program by a shell, then all of them from the dearest down.
    pub(super) fn shell_and_programs(&mut self, rungs: &[Rung]) {
        if let Some(top) = rungs.last() {
            self.by_shell(&top.name, &processes::word(top));
        }
        self.programs(rungs);
    }

    fn by_shell(&mut self, name: &str, command: &str) {
        // not the last command, so that the shell cannot replace itself by it
        let whole = self.shell(&format!("{command}; exit $?"));
        self.add(&format!("/bin/sh -c, {name}"), "the shell's own fork", whole);
        let replaced = self.shell(&format!("exec {command}"));
        self.add(&format!("/bin/sh -c exec, {name}"), "the shell", replaced);
    }

    fn shell(&self, script: &str) -> io::Result<Subject> {
        self.subject("shell", processes::shell(script, How::Vfork))
    }

    /// Returns the subject of the topmost one.
    fn programs(&mut self, rungs: &[Rung]) -> Option<usize> {
        let mut top = None;
        for (index, rung) in rungs.iter().enumerate().rev() {
            let removes = match index.checked_sub(1).map(|below| &rungs[below]) {
                Some(below) => format!("{} over {}", rung.name, below.name),
                None => "the exec".to_owned(),
            };
            let program = self.subject("program", rung.spawn(How::Vfork));
            let added = self.add(&format!("vfork+exec, {}", rung.name), &removes, program);
            if index + 1 == rungs.len() {
                top = added;
            }
        }
        let bare = self.subject("vfork", Spawn::exiting(How::Vfork));
        self.add("vfork+exit", "the process", bare);
        top
    }

    /// A command: by a shell, by itself, then what stands between it and the ladder.
    pub(super) fn command(&mut self, command: &Subordinate, rungs: &[Rung]) {
        self.limit = command.limit;
        self.by_shell("the command", &command.script());
        let itself = self.subject("command", command.rung().spawn(How::Vfork));
        let kind = Kind::of(&command.executable);
        let own = if kind.script.is_some() { "the script's own work" } else { kind.own_work() };
        self.add(COMMAND, own, itself);
        if let Some(argv) = kind.script.as_ref() {
            let spawn = Program::new(Path::new(&argv[0]), argv)
                .and_then(|program| Spawn::executing(How::Vfork, program));
            let interpreter = self.subject("interpreter", spawn);
            self.add("vfork+exec, its interpreter with an empty script", kind.own_work(), interpreter);
        }
        let of_its_kind = |rung: &&Rung| kind.loader.is_some() || rung.name != DYNAMIC;
        let rungs: Vec<Rung> = rungs.iter().filter(of_its_kind).cloned().collect();
        let libraries = self.planned.len();
        let top = self.programs(&rungs);
        if let (Some(loader), Some(top), Some(rung)) = (&kind.loader, top, rungs.last()) {
            self.libraries(libraries, loader, &kind.executable, (top, rung));
        }
    }

    /// Between the command and the dynamic C program: that program with the command's libraries. The loader, asked
    /// for the list of libraries, maps them and runs nothing (ld.so(8), `--list`); what it takes for the command less
    /// what it takes for the C program is what the command's libraries cost.
    fn libraries(&mut self, place: usize, loader: &Path, executable: &Path, (top, rung): (usize, &Rung)) {
        let listing = |file: &Path| {
            let argv = [loader.as_os_str(), OsStr::new("--list"), file.as_os_str()];
            Program::new(loader, &argv).and_then(|program| Spawn::executing(How::Vfork, program))
        };
        if let (Ok(theirs), Ok(ours)) = (listing(executable), listing(&rung.executable)) {
            let first = self.subjects.len();
            self.subjects.extend([Subject::new("libraries", theirs), Subject::new("no libraries", ours)]);
            let name = format!("{} with the command's libraries, mapped", rung.name);
            let source = Ok(Source::Above(top, first, first + 1));
            let removes = "its libraries beyond libc".to_owned();
            self.planned.insert(place, Planned { name, removes, source });
        }
    }

    /// From a builtin of a running shell down to a system call that does nothing.
    pub(super) fn in_process(&mut self) {
        let (here, _) = shells::found(&shells::NAMES);
        if let Some(shell) = here.iter().find(|shell| shell.name == "bash").or(here.first()) {
            self.builtin(shell);
        }
        for (name, removes, subject) in syscalls::down_to_the_floor() {
            self.add(name, removes, subject);
        }
    }

    /// `echo` in a shell that runs already.
    fn builtin(&mut self, shell: &Shell) {
        let scripts = [String::new(), shells::straight("echo 'hello world'", self.repetitions)];
        let running = |(index, script): (usize, &String)| {
            shell.running(self.folder, &format!("waterfall-{index}"), script)
        };
        let spawned = scripts.iter().enumerate().map(running).collect::<io::Result<Vec<_>>>();
        let source = spawned.map_err(|error| error.to_string()).map(|spawned| {
            let first = self.subjects.len();
            self.subjects.extend(spawned.into_iter().map(|spawn| Subject::new("builtin", spawn).at_most(1)));
            Source::Difference(first + 1, first, self.repetitions)
        });
        let name = format!("echo, builtin of a running {}", shell.name);
        let removes = format!("{}: parse, expand, dispatch", shell.name);
        self.planned.push(Planned { name, removes, source });
    }
}

/// The layers that were measured, and why not the others: what stands above a missing layer does without all that
/// was to be removed in two steps.
fn stacked(planned: Vec<Planned>, outcomes: &[Outcome]) -> (Vec<Layer>, Vec<Missing>) {
    let (mut layers, mut missing) = (Vec::<Layer>::new(), Vec::new());
    for Planned { name, removes, source } in planned {
        match source.and_then(|source| source.samples(outcomes)) {
            Ok(samples) => layers.push(Layer { name, removes, samples }),
            Err(reason) => {
                if let Some(above) = layers.last_mut() {
                    let _ = write!(above.removes, "; {removes}");
                }
                missing.push(Missing { group: Group::Waterfall, name, reason });
            }
        }
    }
    (layers, missing)
}

impl Source {
    /// The times, or why one of the subjects has none.
    fn samples(&self, outcomes: &[Outcome]) -> Result<Vec<f64>, String> {
        let of = |index: usize| match &outcomes[index] {
            Ok(measured) => Ok(&measured.per_call),
            Err(reason) => Err(reason.clone()),
        };
        Ok(match self {
            Source::Of(index) => of(*index)?.clone(),
            Source::Difference(above, below, times) => {
                let pairs = of(*above)?.iter().zip(of(*below)?);
                pairs.map(|(above, below)| (above - below) / f64::from(*times)).collect()
            }
            Source::Above(base, with, without) => {
                let rounds = of(*base)?.iter().zip(of(*with)?).zip(of(*without)?);
                rounds.map(|((base, with), without)| base + with - without).collect()
            }
        })
    }
}

/// The rung that only a dynamically linked command stands on.
const DYNAMIC: &str = "dynamic C";

/// What kind of executable a command is.
struct Kind {
    /// A script: its interpreter with an empty script instead.
    script: Option<Vec<OsString>>,
    /// The ELF file in the end.
    executable: PathBuf,
    /// Its dynamic loader.
    loader: Option<PathBuf>,
}

impl Kind {
    fn of(executable: &Path) -> Kind {
        let start = start_of(executable).unwrap_or_default();
        let script = start.strip_prefix(b"#!").and_then(interpreter);
        let file = script.as_ref().map_or(executable, |argv| Path::new(&argv[0])).to_owned();
        let loader = start_of(&file).ok().and_then(|start| {
            program_interpreter::<FileHeader64<Endianness>>(&start)
                .or_else(|| program_interpreter::<FileHeader32<Endianness>>(&start))
        });
        Kind { script, executable: file, loader }
    }

    fn own_work(&self) -> &'static str {
        match (&self.script, &self.loader) {
            (Some(_), Some(_)) => "the interpreter's own start-up",
            (Some(_), None) => "the interpreter's whole start-up",
            (None, Some(_)) => "its own work: relocations, constructors, main, exit",
            (None, None) => "its own work beyond a C program's",
        }
    }
}

/// Headers lie in the first kilobytes.
fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(4096).read_to_end(&mut start)?;
    Ok(start)
}

/// The argv of a `#!` line's interpreter with `/dev/null` for a script; the kernel passes on one argument at most.
fn interpreter(after_mark: &[u8]) -> Option<Vec<OsString>> {
    let line = after_mark.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let (path, argument) = match line.iter().position(u8::is_ascii_whitespace) {
        Some(space) => (&line[..space], line[space..].trim_ascii()),
        None => (line, &b""[..]),
    };
    let words = [path, argument].into_iter().filter(|word| !word.is_empty());
    let argv: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
    (!argv.is_empty()).then(|| [argv, vec!["/dev/null".into()]].concat())
}

fn program_interpreter<Elf: FileHeader<Endian = Endianness>>(start: &[u8]) -> Option<PathBuf> {
    let header = Elf::parse(start).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, start).ok()?;
    let path = segments.iter().find_map(|segment| segment.interpreter(endian, start).ok().flatten())?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::super::batch::Measured;
    use super::*;

    #[test]
    fn an_interpreter_keeps_its_one_argument_and_gets_an_empty_script() {
        let argv = |line: &[u8]| interpreter(line).unwrap();
        assert_eq!(argv(b"/bin/sh\nexit\n"), ["/bin/sh", "/dev/null"]);
        assert_eq!(argv(b" /usr/bin/env python3 -S \n"), ["/usr/bin/env", "python3 -S", "/dev/null"]);
        assert_eq!(interpreter(b"  \n"), None);
    }

    #[test]
    fn a_dynamic_program_has_a_loader_and_a_text_file_has_none() {
        assert!(Kind::of(Path::new("/bin/sh")).loader.is_some_and(|loader| loader.is_absolute()));
        let kind = Kind::of(Path::new("/etc/passwd"));
        assert!(kind.script.is_none() && kind.loader.is_none());
    }

    #[test]
    fn a_layer_that_fails_is_named_and_what_it_removed_goes_to_the_one_above() {
        let layer = |name: &str, source| Planned { name: name.into(), removes: format!("-{name}"), source };
        let measured = |ns| Ok(Measured { calls: 1, per_call: vec![ns; 3], singles: Vec::new() });
        let planned = vec![
            layer("top", Ok(Source::Of(0))),
            layer("failing", Ok(Source::Of(1))),
            layer("never built", Err("no compiler".to_owned())),
            layer("bottom", Ok(Source::Above(0, 2, 2))),
            layer("lost", Ok(Source::Difference(2, 1, 10))),
        ];
        let outcomes = [measured(9.0), Err("exit status 3".to_owned()), measured(1.0)];
        let (layers, missing) = stacked(planned, &outcomes);
        let removed: Vec<_> = layers.iter().map(|layer| layer.removes.as_str()).collect();
        assert_eq!(removed, ["-top; -failing; -never built", "-bottom; -lost"]);
        assert_eq!(layers[1].samples, [9.0; 3]);
        let reasons: Vec<_> = missing.iter().map(|each| (each.name.as_str(), each.reason.as_str())).collect();
        assert_eq!(
            reasons,
            [("failing", "exit status 3"), ("never built", "no compiler"), ("lost", "exit status 3")]
        );
    }

    #[test]
    fn a_command_is_quoted_for_the_shell() {
        let words = ["./a b", "c'd"].map(OsString::from).to_vec();
        let command = Subordinate { words, executable: "/x y/a b".into(), limit: spawn::LIMIT };
        assert_eq!(shell_words::split(&command.script()).unwrap(), ["/x y/a b", "c'd"]);
    }
}
