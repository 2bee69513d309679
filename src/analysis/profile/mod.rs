//! Which user code ran, by the samples of separate runs.
//!
//! [`Profile::of`] unwinds the samples and counts the stacks of each [`Task`]. [`Divided::of`] divides the exact times of
//! user code by these counts.

mod divided;
#[cfg(fuzzing)]
pub mod fuzzed;
mod grouped;
mod imports;
mod language;
mod memory;
mod packages;
mod parts;
mod perf_map;
mod unwind;
mod work;

pub use divided::{Divided, Function, LineTime, ModuleTime, Node, Work};
pub use grouped::{By, Charged};
pub use imports::{Import, Imported};
pub use language::ENTRIES;
pub use packages::{Own, Started, inside_package, is_library};
pub use parts::{Estimate, UserTime};
pub use work::{COLLECTORS, Kind};

use self::memory::Memory;
use self::perf_map::PerfMap;
use self::unwind::Known;
use super::binaries::FileBinaries;
use firstbyte_measure::sampler::{Record, Stream, TaskEvent};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

/// The name of code that is in no file.
pub const GENERATED: &str = "generated code";

/// A function in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The path of the file; `vdso` or `generated code` where there is none. Of a language frame, its package, or its source
    /// file.
    pub module: Arc<str>,
    /// `None`: the file has no symbol for it.
    pub function: Option<Arc<str>>,
    /// Where a language frame is defined; `None`: it is native code.
    pub source: Option<SourceLine>,
}

/// A function in a native stack.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NativeFrame {
    frame: Frame,
    /// Its frame pointer.
    pointer: u64,
}

/// Where a function is defined, in the program's own language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    pub language: &'static str,
    /// As its interpreter names it.
    pub file: Arc<str>,
    /// 0: all of the file or package.
    pub line: u32,
}

impl SourceLine {
    /// Whether it is code of Python or Ruby that runs before the program, and what that calls, too.
    pub fn precedes_program(&self) -> bool {
        let known = ["<frozen site>", "<internal:gem_prelude>"];
        known.contains(&&*self.file) || self.file.ends_with("/site.py")
    }
}

impl Frame {
    /// A function of native code.
    pub fn native(module: impl Into<Arc<str>>, function: Option<Arc<str>>) -> Frame {
        Frame { module: module.into(), function, source: None }
    }

    /// The name of the module's file.
    pub fn file(&self) -> &str {
        self.module.rsplit('/').next().unwrap_or_default()
    }

    /// Where a reader finds it: `plugins.py:41`, or the name of the module's file.
    pub fn place(&self) -> String {
        match &self.source {
            Some(SourceLine { file, line, .. }) => {
                let file = file.rsplit('/').next().unwrap_or_default();
                if *line == 0 { file.to_owned() } else { format!("{file}:{line}") }
            }
            None => self.file().to_owned(),
        }
    }
}

/// A function that was running.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    frame: Frame,
    /// Of a language frame, where it is known.
    line: Option<u32>,
    /// It is a function of the interpreter that only executes the program: left out, except in the tree of all calls.
    executes: bool,
}

impl From<Frame> for Running {
    fn from(frame: Frame) -> Running {
        Running { frame, line: None, executes: false }
    }
}

/// The functions that were running in one sample, the innermost one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Stack {
    calls: Vec<Call>,
}

impl Stack {
    /// Without the functions of an interpreter that only execute the program.
    fn shown(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| !call.executes)
    }
}

/// A function that was running, by the number of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    frame: usize,
    line: Option<u32>,
    executes: bool,
}

/// The tasks of all runs that play the same part: threads of one program that were created in the same order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The file that the process executes.
    pub program: Arc<str>,
    /// 0 is the first thread of a process.
    pub thread: u32,
}

/// One sample of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedStack {
    /// From the tracee's first exec on.
    pub at: Nanos,
    pub pid: u32,
    pub tid: u32,
    pub program: Arc<str>,
    /// The innermost function first.
    pub stack: Vec<Frame>,
}

/// Samples, and the processor time for which they stand: that of their runs' periods.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Weighed {
    samples: u64,
    weight: f64,
}

impl Weighed {
    fn add(&mut self, more: Weighed) {
        self.samples += more.samples;
        self.weight += more.weight;
    }
}

/// The sampled stacks of all runs.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The runs that were sampled.
    pub runs: usize,
    pub samples: u64,
    /// Samples for which the ring had no room.
    pub lost: u64,
    /// The processor time between two samples of a task.
    pub period: Nanos,
    /// Of the run with the most samples.
    pub example: Vec<TimedStack>,
    frames: Vec<Frame>,
    stacks: BTreeMap<Task, HashMap<Stack, Weighed>>,
}

impl Profile {
    /// `since`: before the first of these runs. `own`: the packages that are the program's own code.
    pub fn of(streams: &[Stream], binaries: &FileBinaries, since: SystemTime, own: &Own) -> Profile {
        let mut profile = Profile {
            runs: streams.len(),
            lost: streams.iter().map(|stream| stream.lost).sum(),
            period: mean_period(streams),
            ..Profile::default()
        };
        let (mut numbers, mut known) = (HashMap::new(), Known::default());
        let largest = streams.iter().enumerate().max_by_key(|(_, stream)| stream.samples()).map(|(n, _)| n);
        for (n, stream) in streams.iter().enumerate() {
            let mut reader = Reader::new(stream.root, binaries, since, &mut known);
            let zero = stream.records.first().map(|record| record.at).unwrap_or_default();
            for record in &stream.records {
                let Some((task, mut stack)) = reader.read(record) else { continue };
                for running in &mut stack {
                    own.claim(&mut running.frame);
                }
                if Some(n) == largest {
                    let (at, pid, tid) = (record.at - zero, record.pid, record.tid);
                    let program = Arc::clone(&task.program);
                    let shown = stack.iter().filter(|running| !running.executes);
                    let stack = shown.map(|running| running.frame.clone()).collect();
                    profile.example.push(TimedStack { at, pid, tid, program, stack });
                }
                let sample = Weighed { samples: 1, weight: stream.period.as_f64().max(1.0) };
                profile.add(task, stack, sample, &mut numbers);
            }
        }
        profile
    }

    fn add(
        &mut self,
        task: Task,
        stack: Vec<Running>,
        weighed: Weighed,
        numbers: &mut HashMap<Frame, usize>,
    ) {
        let mut number = |frame: Frame| {
            *numbers.entry(frame).or_insert_with_key(|frame| {
                self.frames.push(frame.clone());
                self.frames.len() - 1
            })
        };
        let call = |Running { frame, line, executes }| Call { frame: number(frame), line, executes };
        let stack = Stack { calls: stack.into_iter().map(call).collect() };
        self.samples += weighed.samples;
        self.stacks.entry(task).or_default().entry(stack).or_default().add(weighed);
    }

    /// How many samples are of user code, and for how many nanoseconds of all runs together they stand.
    pub fn samples_in(streams: &[Stream]) -> (u64, f64) {
        let profile = Profile::of(streams, &FileBinaries::default(), SystemTime::now(), &Own::default());
        let weights = profile.stacks.values().flat_map(HashMap::values).map(|weighed| weighed.weight);
        (profile.samples, weights.sum())
    }

    /// From stacks that are known already, with the innermost function first: each with its task and its count.
    pub fn from_stacks(stacks: impl IntoIterator<Item = (Task, Vec<Frame>, u64)>) -> Profile {
        let (mut profile, mut numbers) = (Profile { runs: 1, ..Profile::default() }, HashMap::new());
        for (task, stack, count) in stacks {
            let weighed = Weighed { samples: count, weight: count as f64 };
            profile.add(task, stack.into_iter().map(Running::from).collect(), weighed, &mut numbers);
        }
        profile
    }
}

fn mean_period(streams: &[Stream]) -> Nanos {
    let sum: u64 = streams.iter().map(|stream| stream.period.0).sum();
    Nanos(sum / (streams.len() as u64).max(1))
}

/// Follows the processes of one run.
struct Reader<'r> {
    binaries: &'r FileBinaries,
    known: &'r mut Known,
    since: SystemTime,
    memories: HashMap<u32, Memory>,
    /// Threads by their order within their process; the first ones are not in here.
    threads: HashMap<u32, u32>,
    created: HashMap<u32, u32>,
    generated: HashMap<u32, PerfMap>,
}

impl<'r> Reader<'r> {
    fn new(root: u32, binaries: &'r FileBinaries, since: SystemTime, known: &'r mut Known) -> Reader<'r> {
        Reader {
            binaries,
            known,
            since,
            memories: HashMap::from([(root, Memory::new())]),
            threads: HashMap::new(),
            created: HashMap::new(),
            generated: HashMap::new(),
        }
    }

    /// The task and the stack of a sample of user code.
    fn read(&mut self, record: &Record) -> Option<(Task, Vec<Running>)> {
        let Record { pid, tid, event, .. } = record;
        match event {
            TaskEvent::Mapped(mapping) => {
                self.memories.entry(*pid).or_insert_with(Memory::new).map(mapping, self.binaries);
            }
            TaskEvent::Exec => {
                self.memories.insert(*pid, Memory::new());
                self.created.remove(pid);
            }
            TaskEvent::Fork { parent, .. } if parent != pid => {
                let copy = self.memories.get(parent).cloned().unwrap_or_else(Memory::new);
                self.memories.insert(*pid, copy);
                self.created.remove(pid);
            }
            TaskEvent::Fork { thread, .. } => {
                let order = self.created.entry(*pid).or_default();
                *order += 1;
                self.threads.insert(*thread, *order);
            }
            TaskEvent::Sample(sample) => {
                let memory = self.memories.get(pid)?;
                if memory.is_return(sample.registers.ip, self.binaries) {
                    return None;
                }
                let since = self.since;
                let generated =
                    self.generated.entry(*pid).or_insert_with(|| PerfMap::of_process(*pid, since));
                let stack = memory.stack(sample, self.known, self.binaries, generated);
                let stack = match &sample.language {
                    Some(own) => language::merged(stack, own),
                    None => stack.into_iter().map(|native| native.frame.into()).collect(),
                };
                let thread = if tid == pid { 0 } else { self.threads.get(tid).copied().unwrap_or(1) };
                return Some((Task { program: Arc::clone(&memory.program), thread }, stack));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::packages::package;
    use super::*;
    use firstbyte_measure::sampler::{Mapping, Registers, StackSample};

    pub(super) const IMPORTLIB: (&str, &str, u32) = ("_find_and_load", "<frozen importlib._bootstrap>", 1);

    /// Frames with their function, file and line, the innermost one first.
    pub(super) fn stack(language: &'static str, frames: &[(&str, &str, u32)]) -> Vec<Running> {
        let running = |(name, file, line): &(&str, &str, u32)| {
            let file: Arc<str> = (*file).into();
            let module = package(language, &file);
            let source = Some(SourceLine { language, file, line: 1 });
            let frame = Frame { module, function: Some((*name).into()), source };
            Running { frame, line: Some(*line), executes: false }
        };
        frames.iter().map(running).collect()
    }

    pub(super) fn python_stack(frames: &[(&str, &str, u32)]) -> Vec<Running> {
        stack("Python", frames)
    }

    /// 100 ns, divided by these stacks with their counts.
    pub(super) fn divided(stacks: &[(Vec<Running>, u64)], by: By) -> Divided {
        let (mut profile, mut numbers) = (Profile::default(), HashMap::new());
        let task = Task { program: "/p".into(), thread: 0 };
        for (stack, samples) in stacks {
            let weighed = Weighed { samples: *samples, weight: *samples as f64 };
            profile.add(task.clone(), stack.clone(), weighed, &mut numbers);
        }
        Divided::of(&[UserTime { task, time: 100.0 }], &profile, by)
    }

    const ROOT: u32 = 4_000_000_007;
    const CHILD: u32 = 4_000_000_008;
    const THREAD: u32 = 4_000_000_009;

    fn record(at: u64, [pid, tid]: [u32; 2], event: TaskEvent) -> Record {
        Record { at: Nanos(at), pid, tid, event }
    }

    fn mapped(path: &str) -> TaskEvent {
        TaskEvent::Mapped(Mapping { from: 0x1000, length: 0x1000, offset: 0, path: path.to_owned() })
    }

    fn sample() -> TaskEvent {
        let registers = Registers { ip: 0x1800, ..Registers::default() };
        TaskEvent::Sample(StackSample { registers, narrow: true, ..StackSample::default() })
    }

    /// The tasks and the files of a run's samples, and how many samples each has.
    fn sampled(records: Vec<Record>) -> Vec<(String, u32, String, u64)> {
        let stream = Stream { root: ROOT, records, ..Stream::default() };
        let profile = Profile::of(&[stream], &FileBinaries::default(), SystemTime::now(), &Own::default());
        let mut all: Vec<_> = profile
            .stacks
            .into_iter()
            .flat_map(|(task, stacks)| stacks.into_iter().map(move |(stack, it)| (task.clone(), stack, it)))
            .map(|(task, stack, n)| {
                (
                    task.program.to_string(),
                    task.thread,
                    profile.frames[stack.calls[0].frame].file().to_owned(),
                    n.samples,
                )
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_new_process_has_the_code_of_its_parent_until_its_exec() {
        let born = TaskEvent::Fork { parent: ROOT, thread: CHILD };
        let records = vec![
            record(1, [ROOT, ROOT], TaskEvent::Exec),
            record(2, [ROOT, ROOT], mapped("/no/a")),
            record(3, [CHILD, ROOT], born),
            record(4, [CHILD, CHILD], sample()),
            record(5, [CHILD, CHILD], TaskEvent::Exec),
            record(6, [CHILD, CHILD], mapped("/no/b")),
            record(7, [CHILD, CHILD], sample()),
            record(8, [ROOT, ROOT], sample()),
        ];
        let [a, b] = [("a", 2), ("b", 1)].map(|(name, n)| (format!("/no/{name}"), 0, name.to_owned(), n));
        assert_eq!(sampled(records), [a, b], "those of parent and child are of the same task");
    }

    /// The kernel lets no interrupt in on the way back, so the sample of a call's end comes there.
    #[test]
    fn a_sample_where_a_call_returns_is_no_sample_of_user_code() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let code = maps.lines().filter(|line| line.contains(" r-xp "));
        let mut files = code.filter_map(|line| line.split(' ').next_back());
        let binaries = FileBinaries::default();
        let (path, offset) = files.find_map(|path| Some((path, *binaries.returns(path).first()?))).unwrap();

        let mapping = Mapping { from: 0x1000, length: offset + 0x1000, offset: 0, path: path.to_owned() };
        let at = |ip: u64| {
            let registers = Registers { ip, ..Registers::default() };
            TaskEvent::Sample(StackSample { registers, narrow: true, ..StackSample::default() })
        };
        let records = [TaskEvent::Mapped(mapping), at(0x1000 + offset), at(0x1001 + offset)];
        let records = records.map(|event| record(1, [ROOT, ROOT], event)).to_vec();
        assert_eq!(Profile::samples_in(&[Stream { root: ROOT, records, ..Stream::default() }]), (1, 1.0));
    }

    #[test]
    fn a_new_thread_is_another_task_with_the_same_code() {
        let records = vec![
            record(1, [ROOT, ROOT], TaskEvent::Exec),
            record(2, [ROOT, ROOT], mapped("/no/a")),
            record(3, [ROOT, ROOT], TaskEvent::Fork { parent: ROOT, thread: THREAD }),
            record(4, [ROOT, ROOT], TaskEvent::Fork { parent: ROOT, thread: THREAD + 1 }),
            record(5, [ROOT, THREAD], sample()),
            record(6, [ROOT, THREAD + 1], sample()),
            record(7, [ROOT, ROOT], sample()),
        ];
        let tasks = [0, 1, 2].map(|thread| ("/no/a".to_owned(), thread, "a".to_owned(), 1));
        assert_eq!(sampled(records), tasks);
    }
}
