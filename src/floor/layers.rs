//! The layers of a waterfall: which programs and calls are stacked, and what each layer does without.

use super::FloorError;
use super::batch::{self, BatchResult, Microbenchmark, RoundPlan};
use super::group_result::GroupResult;
use super::processes::{self, Rung};
use super::shells::{self, Shell};
use super::spawn::{self, How, Spawn, SpawnedProgram};
use super::syscalls;
use crate::document::floor::{Group, Layer, Missing, Waterfall};
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
    /// What the layer below does without.
    removes: String,
    /// The source of its times, or why it has none.
    source: Result<Source, String>,
}

/// How the times of a layer are computed from those of the microbenchmarks.
enum Source {
    /// The times of one.
    Of(usize),
    /// The first less the second, divided by the number of repetitions.
    Difference(usize, usize, u32),
    /// The first, plus the second less the third.
    Above(usize, usize, usize),
}

/// The layers while they are collected, from the top.
pub(super) struct Layers<'f> {
    folder: &'f Path,
    /// Repetitions of a builtin in a script.
    repetitions: u32,
    /// Time limit of one process.
    limit: Duration,
    benchmarks: Vec<Microbenchmark>,
    planned: Vec<Planned>,
}

/// The user's command, whose distance from the floor is measured.
#[derive(Clone, Debug)]
pub struct UserCommand {
    pub words: Vec<OsString>,
    pub executable: PathBuf,
    /// Time limit of one run.
    pub limit: Duration,
}

impl UserCommand {
    /// The command, quoted for a shell.
    pub fn shown(&self) -> String {
        shell_words::join(self.words.iter().map(|word| word.to_string_lossy()))
    }

    fn rung(&self) -> Rung {
        Rung { name: "the command".to_owned(), executable: self.executable.clone(), argv: self.words.clone() }
    }

    /// A command line whose first word is the executable file itself.
    fn script(&self) -> String {
        let words = self.words.iter().skip(1).map(|word| word.to_string_lossy());
        let rest: Vec<String> = words.map(|word| shell_words::quote(&word).into_owned()).collect();
        [vec![processes::word(&self.rung())], rest].concat().join(" ")
    }
}

impl<'f> Layers<'f> {
    pub(super) fn new(folder: &'f Path, repetitions: u32) -> Layers<'f> {
        Layers { folder, repetitions, limit: spawn::LIMIT, benchmarks: Vec::new(), planned: Vec::new() }
    }

    /// Runs the rounds. There is no waterfall if no layer could be measured.
    pub(super) fn measure(mut self, title: &str, rounds: &RoundPlan) -> Result<GroupResult, FloorError> {
        let (results, overhead) = batch::measure(&mut self.benchmarks, rounds)?;
        let (layers, missing) = stacked(self.planned, &results);
        let waterfall = Waterfall::of(title, &layers);
        Ok(GroupResult { missing, waterfall, overhead, ..GroupResult::default() })
    }

    /// Adds a layer of one microbenchmark and returns its index. `removes` is what the layer below does without.
    fn add<E: Display>(
        &mut self,
        name: &str,
        removes: &str,
        benchmark: Result<Microbenchmark, E>,
    ) -> Option<usize> {
        let source = benchmark.map_err(|error| error.to_string()).map(|benchmark| {
            self.benchmarks.push(benchmark);
            Source::Of(self.benchmarks.len() - 1)
        });
        let index = source.is_ok().then(|| self.benchmarks.len() - 1);
        self.planned.push(Planned { name: name.to_owned(), removes: removes.to_owned(), source });
        index
    }

    fn benchmark(&self, name: &str, spawn: io::Result<Spawn>) -> io::Result<Microbenchmark> {
        Ok(Microbenchmark::new(name, spawn?.within(self.limit)))
    }

    /// The topmost program run by a shell, then all programs from the most expensive down.
    pub(super) fn shell_and_programs(&mut self, rungs: &[Rung]) {
        if let Some(top) = rungs.last() {
            self.by_shell(&top.name, &processes::word(top));
        }
        self.programs(rungs);
    }

    fn by_shell(&mut self, name: &str, command: &str) {
        // Not the last command: the shell would replace itself by it without a fork.
        let whole = self.shell(&format!("{command}; exit $?"));
        self.add(&format!("/bin/sh -c, {name}"), "the shell's own fork", whole);
        let replaced = self.shell(&format!("exec {command}"));
        self.add(&format!("/bin/sh -c exec, {name}"), "the shell", replaced);
    }

    fn shell(&self, script: &str) -> io::Result<Microbenchmark> {
        self.benchmark("shell", processes::shell(script, How::Vfork))
    }

    /// Returns the index of the topmost one.
    fn programs(&mut self, rungs: &[Rung]) -> Option<usize> {
        let mut top = None;
        for (index, rung) in rungs.iter().enumerate().rev() {
            let removes = match index.checked_sub(1).map(|below| &rungs[below]) {
                Some(below) => format!("{} over {}", rung.name, below.name),
                None => "the exec".to_owned(),
            };
            let program = self.benchmark("program", rung.spawn(How::Vfork));
            let added = self.add(&format!("vfork+exec, {}", rung.name), &removes, program);
            if index + 1 == rungs.len() {
                top = added;
            }
        }
        let bare = self.benchmark("vfork", Spawn::exiting(How::Vfork));
        self.add("vfork+exit", "the process", bare);
        top
    }

    /// A command: run by a shell, run directly, then the layers between it and the ladder.
    pub(super) fn command(&mut self, command: &UserCommand, rungs: &[Rung]) {
        self.limit = command.limit;
        self.by_shell("the command", &command.script());

        let itself = self.benchmark("command", command.rung().spawn(How::Vfork));
        let kind = ExecutableKind::of(&command.executable);
        let work = if kind.script.is_some() { "the script's own work" } else { kind.own_work() };
        self.add(COMMAND, work, itself);

        if let Some(argv) = kind.script.as_ref() {
            let spawn = SpawnedProgram::new(Path::new(&argv[0]), argv)
                .and_then(|program| Spawn::executing(How::Vfork, program));
            let interpreter = self.benchmark("interpreter", spawn);
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

    /// Inserts a layer between the command and the dynamic C program: that program with the command's libraries. Asked
    /// for the list of libraries, the loader maps them and runs nothing (ld.so(8), `--list`). The difference between
    /// that time for the command and for the C program is the cost of the command's libraries.
    fn libraries(&mut self, index: usize, loader: &Path, executable: &Path, (top, rung): (usize, &Rung)) {
        let listing = |file: &Path| {
            let argv = [loader.as_os_str(), OsStr::new("--list"), file.as_os_str()];
            SpawnedProgram::new(loader, &argv).and_then(|program| Spawn::executing(How::Vfork, program))
        };
        if let (Ok(theirs), Ok(ours)) = (listing(executable), listing(&rung.executable)) {
            let first = self.benchmarks.len();
            self.benchmarks.extend([
                Microbenchmark::new("libraries", theirs),
                Microbenchmark::new("no libraries", ours),
            ]);
            let name = format!("{} with the command's libraries, mapped", rung.name);
            let source = Ok(Source::Above(top, first, first + 1));
            let removes = "its libraries beyond libc".to_owned();
            self.planned.insert(index, Planned { name, removes, source });
        }
    }

    /// From a builtin in a running shell down to a system call that does nothing.
    pub(super) fn in_process(&mut self) {
        let (here, _) = shells::found(&shells::NAMES);
        if let Some(shell) = here.iter().find(|shell| shell.name == "bash").or(here.first()) {
            self.builtins(shell);
        }
        for (name, removes, benchmark) in syscalls::down_to_the_floor() {
            self.add(name, removes, benchmark);
        }
    }

    /// `echo` in a shell that is already running: in a loop, then on lines of its own.
    fn builtins(&mut self, shell: &Shell) {
        const ECHO: &str = "echo 'hello world'";
        let looped = shells::counted(ECHO, self.repetitions);
        let inline = shells::straight(ECHO, self.repetitions);
        let scripts = [String::new(), looped, inline];
        let running = |(index, script): (usize, &String)| {
            shell.running(self.folder, &format!("waterfall-{index}"), script)
        };
        let spawned = scripts.iter().enumerate().map(running).collect::<io::Result<Vec<_>>>();
        let empty = spawned.map_err(|error| error.to_string()).map(|spawned| {
            let first = self.benchmarks.len();
            self.benchmarks
                .extend(spawned.into_iter().map(|spawn| Microbenchmark::new("builtin", spawn).at_most(1)));
            first
        });

        let above = |script: usize| {
            empty.clone().map(|empty| Source::Difference(empty + script, empty, self.repetitions))
        };
        let name = format!("echo, in a shell loop of a running {}", shell.name);
        self.planned.push(Planned { name, removes: "the loop".to_owned(), source: above(1) });
        let name = format!("echo, builtin of a running {}", shell.name);
        let removes = format!("{}: parse, expand, dispatch", shell.name);
        self.planned.push(Planned { name, removes, source: above(2) });
    }
}

/// The layers that were measured, and why others are missing. The step above a missing layer removes what two steps
/// would have removed.
fn stacked(planned: Vec<Planned>, results: &[BatchResult]) -> (Vec<Layer>, Vec<Missing>) {
    let (mut layers, mut missing) = (Vec::<Layer>::new(), Vec::new());
    for Planned { name, removes, source } in planned {
        match source.and_then(|source| source.samples(results)) {
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
    /// The times, or why one of the microbenchmarks has none.
    fn samples(&self, results: &[BatchResult]) -> Result<Vec<f64>, String> {
        let of = |index: usize| match &results[index] {
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

/// The rung that is below dynamically linked commands only.
const DYNAMIC: &str = "dynamic C";

/// The kind of executable that a command is.
struct ExecutableKind {
    /// For a script: the argv of its interpreter with an empty script.
    script: Option<Vec<OsString>>,
    /// The ELF file that is executed in the end.
    executable: PathBuf,
    loader: Option<PathBuf>,
}

impl ExecutableKind {
    fn of(executable: &Path) -> ExecutableKind {
        let start = start_of(executable).unwrap_or_default();
        let script = start.strip_prefix(b"#!").and_then(interpreter);
        let file = script.as_ref().map_or(executable, |argv| Path::new(&argv[0])).to_owned();
        let loader = start_of(&file).ok().and_then(|start| {
            program_interpreter::<FileHeader64<Endianness>>(&start)
                .or_else(|| program_interpreter::<FileHeader32<Endianness>>(&start))
        });
        ExecutableKind { script, executable: file, loader }
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

/// The headers are in the first kilobytes.
fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(4096).read_to_end(&mut start)?;
    Ok(start)
}

/// The argv of a `#!` line's interpreter with `/dev/null` as the script. The kernel passes on at most one argument.
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
    use super::super::batch::BatchTimes;
    use super::*;

    #[test]
    fn an_interpreter_keeps_its_argument_and_gets_an_empty_script() {
        let argv = |line: &[u8]| interpreter(line).unwrap();
        assert_eq!(argv(b"/bin/sh\nexit\n"), ["/bin/sh", "/dev/null"]);
        assert_eq!(argv(b" /usr/bin/env python3 -S \n"), ["/usr/bin/env", "python3 -S", "/dev/null"]);
        assert_eq!(interpreter(b"  \n"), None);
    }

    #[test]
    fn a_dynamic_program_has_a_loader_and_a_text_file_has_none() {
        assert!(ExecutableKind::of(Path::new("/bin/sh")).loader.is_some_and(|loader| loader.is_absolute()));
        let kind = ExecutableKind::of(Path::new("/etc/passwd"));
        assert!(kind.script.is_none() && kind.loader.is_none());
    }

    #[test]
    fn a_failed_layer_is_reported_and_its_step_is_merged_into_the_one_above() {
        let layer = |name: &str, source| Planned { name: name.into(), removes: format!("-{name}"), source };
        let measured = |ns| Ok(BatchTimes { calls: 1, per_call: vec![ns; 3], singles: Vec::new() });
        let planned = vec![
            layer("top", Ok(Source::Of(0))),
            layer("failing", Ok(Source::Of(1))),
            layer("never built", Err("no compiler".to_owned())),
            layer("bottom", Ok(Source::Above(0, 2, 2))),
            layer("lost", Ok(Source::Difference(2, 1, 10))),
        ];

        let results = [measured(9.0), Err("exit status 3".to_owned()), measured(1.0)];
        let (layers, missing) = stacked(planned, &results);
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
        let command = UserCommand { words, executable: "/x y/a b".into(), limit: spawn::LIMIT };
        assert_eq!(shell_words::split(&command.script()).unwrap(), ["/x y/a b", "c'd"]);
    }
}
