//! Exact times of user code, divided by the shares of the samples.

use super::grouped::{By, Charged, charged};
use super::imports::{Import, imports};
use super::work::{Kind, found};
use super::{Call, Frame, Profile, Stack, Task, Weighed};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How long user code of one task ran, exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTime {
    pub task: Task,
    /// In nanoseconds.
    pub time: f64,
}

/// A time by samples, with its 95 % interval; in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub time: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// Half of the interval.
    pub fn error(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A function and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub frame: Frame,
    /// Its own code.
    pub self_time: Estimate,
    /// With the functions that it called.
    pub total: Estimate,
    /// Samples that have it somewhere in their stack.
    pub samples: u64,
    /// Of a language frame: the lines that take the longest, in their order, with the native code that they call.
    pub lines: Vec<LineTime>,
}

/// The time of one line while no other language frame was further inside, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineTime {
    pub line: u32,
    pub time: f64,
}

/// The time of one file's code.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleTime {
    pub module: Arc<str>,
    pub self_time: Estimate,
    /// Samples of its own code.
    pub samples: u64,
}

/// What libraries and the runtime did of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub kind: Kind,
    pub time: Estimate,
    /// The function that did the most of it.
    pub function: Option<Arc<str>>,
    /// The function of the program's own code for which most of it was done, where the samples agree on one.
    pub caller: Option<Frame>,
    /// All of it was done for that function.
    pub only: bool,
}

/// A function as one other function called it: a node of the tree of all stacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The place of the caller, which is before this one; `None` for a program.
    pub caller: Option<usize>,
    pub frame: Frame,
    /// With what it called, in nanoseconds.
    pub time: f64,
}

/// User code, divided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Divided {
    /// All user code, exactly, in nanoseconds.
    pub total: f64,
    /// That of programs of which there are too few samples.
    pub unsampled: f64,
    /// Samples by which it was divided.
    pub samples: u64,
    /// The longest own time first.
    pub functions: Vec<Function>,
    /// The longest time first.
    pub modules: Vec<ModuleTime>,
    /// Every caller before what it called.
    pub nodes: Vec<Node>,
    /// The same with the functions of interpreters that only execute the program. Empty: there are none.
    pub all_nodes: Vec<Node>,
    /// What the nodes and the program's own code are divided by.
    pub by: By,
    /// The program's own code, each part with the libraries that it calls: the longest time first.
    pub charged: Vec<Charged>,
    /// What each statement that imports a module brought, the longest time first.
    pub imports: Vec<Import>,
    /// By kind.
    pub works: Vec<Work>,
}

/// Fewer samples of a thread say little about it: those of all threads of its program are taken.
const MIN_SAMPLES: u64 = 20;
/// Fewer samples of a program do not divide its time: if all of them agreed, the interval would still be a third of it.
const TOO_FEW: u64 = 10;
/// Nodes below this part of the total are left out. Their time remains with their callers.
const NOTEWORTHY: f64 = 0.0005;
/// The normal distribution's quantile for 95 %.
const QUANTILE: f64 = 1.96;

/// Samples of one thing, task by task.
#[derive(Clone, Debug, Default)]
struct Counted {
    samples: u64,
    time: f64,
    /// The middle of the interval.
    middle: f64,
    variance: f64,
    /// All user code of the tasks.
    most: f64,
}

/// One task's stacks, and what a sample stands for.
struct Part<'p> {
    program: Arc<str>,
    stacks: Vec<(&'p Stack, Weighed)>,
    all: Weighed,
    time: f64,
}

impl Divided {
    /// `by`: what the nodes and the program's own code are divided by.
    pub fn of(times: &[UserTime], profile: &Profile, by: By) -> Divided {
        let total = times.iter().map(|user| user.time).sum();
        let parts: Vec<Part<'_>> = times.iter().map(|user| Part::of(user, profile)).collect();
        let (sampled, missing): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.all.samples >= TOO_FEW);

        let (self_time, with_callees, modules) = counted(&sampled, profile);
        let mut lines = lines(&sampled, profile);
        let weighed: Vec<(&Stack, f64)> = sampled.iter().flat_map(Part::times).collect();
        let mut functions: Vec<Function> = with_callees
            .into_iter()
            .map(|(frame, counted)| Function {
                frame: profile.frames[frame].clone(),
                self_time: self_time.get(&frame).map_or(Estimate::default(), Counted::estimate),
                total: counted.estimate(),
                samples: counted.samples,
                lines: lines.remove(&frame).map(longest_lines).unwrap_or_default(),
            })
            .collect();
        functions.sort_by(|a, b| {
            (b.self_time.time.total_cmp(&a.self_time.time))
                .then(b.total.time.total_cmp(&a.total.time))
                .then_with(|| a.frame.cmp(&b.frame))
        });
        let mut modules: Vec<ModuleTime> = modules
            .into_iter()
            .map(|(module, counted)| ModuleTime {
                module,
                self_time: counted.estimate(),
                samples: counted.samples,
            })
            .collect();
        modules.sort_by(|a, b| {
            b.self_time.time.total_cmp(&a.self_time.time).then_with(|| a.module.cmp(&b.module))
        });

        Divided {
            total,
            unsampled: missing.iter().map(|part| part.time).sum(),
            samples: sampled.iter().map(|part| part.all.samples).sum(),
            functions,
            modules,
            nodes: nodes(&sampled, total * NOTEWORTHY, |stack| by.parts(stack.shown(), profile)),
            all_nodes: if weighed.iter().any(|(stack, _)| stack.calls.iter().any(|call| call.executes)) {
                nodes(&sampled, total * NOTEWORTHY, |stack| by.parts(stack.calls.iter(), profile))
            } else {
                Vec::new()
            },
            by,
            charged: charged(&weighed, profile, by),
            imports: imports(&weighed, profile),
            works: works(&sampled, profile),
        }
    }
}

impl<'p> Part<'p> {
    fn of(user: &UserTime, profile: &'p Profile) -> Part<'p> {
        let of = |wanted: &dyn Fn(&Task) -> bool| -> Vec<(&'p Stack, Weighed)> {
            let stacks =
                profile.stacks.iter().filter(|(task, _)| wanted(task)).flat_map(|(_, stacks)| stacks);
            stacks.map(|(stack, weighed)| (stack, *weighed)).collect()
        };
        let enough = |stacks: &Vec<(&Stack, Weighed)>| sum(stacks).samples >= MIN_SAMPLES;

        let program = &user.task.program;
        let same = Some(of(&|task| *task == user.task)).filter(enough);
        let stacks = same.unwrap_or_else(|| of(&|task| task.program == *program));
        Part { program: Arc::clone(program), all: sum(&stacks), stacks, time: user.time }
    }

    /// Each stack with its time.
    fn times(&self) -> impl Iterator<Item = (&'p Stack, f64)> {
        let each = self.time / self.all.weight;
        self.stacks.iter().map(move |(stack, weighed)| (*stack, each * weighed.weight))
    }

    /// The time and its variance of what some of the samples have in common.
    fn counted(&self, some: Weighed) -> Counted {
        let (share, variance) = share(some.samples, self.all.samples);
        Counted {
            samples: some.samples,
            time: self.time * some.weight / self.all.weight,
            middle: self.time * share,
            variance: variance * self.time * self.time,
            most: self.time,
        }
    }
}

/// The share of some samples and its variance, as of Agresti and Coull, "Approximate is better than exact" (1998): it has an
/// interval even where all samples agree.
fn share(some: u64, all: u64) -> (f64, f64) {
    let (some, all) = (some as f64 + 2.0, all as f64 + 4.0);
    let share = some / all;
    (share, share * (1.0 - share) / all)
}

fn sum(stacks: &[(&Stack, Weighed)]) -> Weighed {
    let mut all = Weighed::default();
    for (_, weighed) in stacks {
        all.add(*weighed);
    }
    all
}

impl Counted {
    fn add(&mut self, more: &Counted) {
        self.samples += more.samples;
        self.time += more.time;
        self.middle += more.middle;
        self.variance += more.variance;
        self.most += more.most;
    }

    /// Samples have weights, so the time may be beside the middle that their number gives.
    fn estimate(&self) -> Estimate {
        let error = QUANTILE * self.variance.sqrt();
        let low = (self.middle - error).clamp(0.0, self.time);
        let high = (self.middle + error).min(self.most).max(self.time);
        Estimate { time: self.time, low, high }
    }
}

type ByFrame = HashMap<usize, Counted>;

/// Own times and times with callees by frame, and own times by module.
fn counted(parts: &[Part<'_>], profile: &Profile) -> (ByFrame, ByFrame, BTreeMap<Arc<str>, Counted>) {
    let (mut self_time, mut total, mut modules) =
        (ByFrame::new(), ByFrame::new(), BTreeMap::<_, Counted>::new());
    for part in parts {
        let (mut in_own, mut in_total) = (HashMap::<usize, Weighed>::new(), HashMap::<usize, Weighed>::new());
        let mut in_module = BTreeMap::<&Arc<str>, Weighed>::new();
        for (stack, weighed) in &part.stacks {
            // a function that calls itself is in a stack more than once
            for frame in stack.shown().map(|call| call.frame).collect::<BTreeSet<_>>() {
                in_total.entry(frame).or_default().add(*weighed);
            }
            if let Some(innermost) = stack.shown().next() {
                in_own.entry(innermost.frame).or_default().add(*weighed);
                in_module.entry(&profile.frames[innermost.frame].module).or_default().add(*weighed);
            }
        }
        for (frame, n) in in_own {
            self_time.entry(frame).or_default().add(&part.counted(n));
        }
        for (frame, n) in in_total {
            total.entry(frame).or_default().add(&part.counted(n));
        }
        for (module, n) in in_module {
            modules.entry(Arc::clone(module)).or_default().add(&part.counted(n));
        }
    }
    (self_time, total, modules)
}

/// More lines of a function are not listed.
const LINES: usize = 10;

/// The time of each line of the innermost language frames, by the frames' numbers.
fn lines(parts: &[Part<'_>], profile: &Profile) -> HashMap<usize, BTreeMap<u32, f64>> {
    let mut lines = HashMap::<usize, BTreeMap<u32, f64>>::new();
    for part in parts {
        for (stack, time) in part.times() {
            let is_language = |call: &&Call| profile.frames[call.frame].source.is_some();
            if let Some(Call { frame, line: Some(line), .. }) = stack.calls.iter().find(is_language) {
                *lines.entry(*frame).or_default().entry(*line).or_default() += time;
            }
        }
    }
    lines
}

fn longest_lines(lines: BTreeMap<u32, f64>) -> Vec<LineTime> {
    let mut all: Vec<LineTime> = lines.into_iter().map(|(line, time)| LineTime { line, time }).collect();
    all.sort_by(|a, b| b.time.total_cmp(&a.time));
    all.truncate(LINES);
    all.sort_by_key(|line| line.line);
    all
}

/// Which frames did the work of one kind, and which ones it was for, by the numbers of samples.
#[derive(Default)]
struct Who {
    functions: BTreeMap<usize, u64>,
    callers: BTreeMap<Option<usize>, u64>,
}

fn works(parts: &[Part<'_>], profile: &Profile) -> Vec<Work> {
    let (mut times, mut who) = (BTreeMap::<Kind, Counted>::new(), BTreeMap::<Kind, Who>::new());
    // threads with few samples have those of the whole program
    let mut seen = BTreeSet::new();
    for part in parts {
        let mut of_kind = BTreeMap::<Kind, Weighed>::new();
        for (stack, weighed) in &part.stacks {
            let is_new = seen.insert(std::ptr::from_ref(*stack));
            for work in found(stack, profile) {
                of_kind.entry(work.kind).or_default().add(*weighed);
                let who = who.entry(work.kind).or_default();
                if is_new {
                    *who.functions.entry(work.function).or_default() += weighed.samples;
                    *who.callers.entry(work.caller).or_default() += weighed.samples;
                }
            }
        }
        for (kind, all) in of_kind {
            times.entry(kind).or_default().add(&part.counted(all));
        }
    }
    let work = |((kind, counted), who): ((Kind, Counted), Who)| {
        let function = who.functions.iter().max_by_key(|(_, samples)| **samples);
        let caller = agreed(&who.callers);
        Work {
            kind,
            time: counted.estimate(),
            function: function.and_then(|(function, _)| profile.frames[*function].function.clone()),
            caller: caller.map(|caller| profile.frames[caller].clone()),
            only: who.callers.len() == 1,
        }
    };
    times.into_iter().zip(who.into_values()).map(work).collect()
}

/// The caller of most of the work, if the samples show with a certainty of 97.5 % that it is more than half.
fn agreed(callers: &BTreeMap<Option<usize>, u64>) -> Option<usize> {
    let (caller, samples) = callers.iter().max_by_key(|(_, samples)| **samples)?;
    let (share, variance) = share(*samples, callers.values().sum());
    caller.filter(|_| share - QUANTILE * variance.sqrt() > 0.5)
}

/// A node in the making: the time, and the nodes that it called, by their frames.
#[derive(Default)]
struct Growing {
    time: f64,
    called: BTreeMap<Frame, Growing>,
}

/// `frames`: those of a stack, the innermost one first.
fn nodes(parts: &[Part<'_>], least: f64, frames: impl Fn(&Stack) -> Vec<Frame>) -> Vec<Node> {
    let mut root = Growing::default();
    for part in parts {
        let name = part.program.rsplit('/').next().unwrap_or_default();
        let program = Frame::native(Arc::clone(&part.program), Some(name.into()));
        let program = root.called.entry(program).or_default();
        program.time += part.time;
        for (stack, time) in part.times() {
            let mut at = &mut *program;
            for frame in frames(stack).into_iter().rev() {
                at = at.called.entry(frame).or_default();
                at.time += time;
            }
        }
    }
    let mut all = Vec::new();
    flatten(root, None, least, &mut all);
    all
}

fn flatten(growing: Growing, caller: Option<usize>, least: f64, all: &mut Vec<Node>) {
    for (frame, node) in growing.called {
        if node.time < least {
            continue;
        }
        all.push(Node { caller, frame, time: node.time });
        let index = all.len() - 1;
        flatten(node, Some(index), least, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::units::Nanos;

    fn task(program: &str, thread: u32) -> Task {
        Task { program: program.into(), thread }
    }

    fn stack(functions: &[&str]) -> Vec<Frame> {
        let frame = |name: &&str| Frame::native("/m", Some((*name).into()));
        functions.iter().map(frame).collect()
    }

    fn time(program: &str, thread: u32, time: f64) -> UserTime {
        UserTime { task: task(program, thread), time }
    }

    fn shown(divided: &Divided) -> Vec<(&str, u64, u64)> {
        let whole = |estimate: Estimate| Nanos::rounded(estimate.time).0;
        let functions = divided.functions.iter();
        functions
            .map(|f| (f.frame.function.as_deref().unwrap_or_default(), whole(f.self_time), whole(f.total)))
            .collect()
    }

    #[test]
    fn the_exact_time_is_divided_by_the_shares_of_the_samples() {
        let stacks = [
            (task("/p", 0), stack(&["a", "main"]), 70),
            (task("/p", 0), stack(&["b", "b", "main"]), 25),
            (task("/p", 0), stack(&["main"]), 5),
        ];
        let divided = Divided::of(&[time("/p", 0, 1000.0)], &Profile::from_stacks(stacks), By::Function);
        assert_eq!(shown(&divided), [("a", 700, 700), ("b", 250, 250), ("main", 50, 1000)]);
        let self_time: f64 = divided.functions.iter().map(|function| function.self_time.time).sum();
        assert!((self_time - 1000.0).abs() < 1e-6 && divided.unsampled == 0.0);
        let names: Vec<_> = divided.nodes.iter().map(|n| (n.caller, n.frame.function.as_deref())).collect();
        assert_eq!(names[..3], [(None, Some("p")), (Some(0), Some("main")), (Some(1), Some("a"))]);
        assert!(
            divided.functions[0].self_time.error() > 60.0 && divided.functions[0].self_time.error() < 120.0
        );
    }

    #[test]
    fn each_program_is_divided_by_its_own_samples_whatever_their_number() {
        let stacks = [(task("/p", 0), stack(&["a"]), 1000), (task("/q", 0), stack(&["b"]), 30)];
        let times = [time("/p", 0, 10.0), time("/q", 0, 500.0), time("/r", 0, 7.0)];
        let divided = Divided::of(&times, &Profile::from_stacks(stacks), By::Function);
        assert_eq!(shown(&divided), [("b", 500, 500), ("a", 10, 10)]);
        assert!((divided.unsampled - 7.0).abs() < 1e-9 && (divided.total - 517.0).abs() < 1e-9);
    }

    #[test]
    fn a_thread_with_few_samples_is_divided_by_those_of_its_program() {
        let stacks = [(task("/p", 0), stack(&["a"]), 75), (task("/p", 1), stack(&["b"]), 25)];
        let profile = Profile::from_stacks(stacks);
        assert_eq!(shown(&Divided::of(&[time("/p", 1, 100.0)], &profile, By::Function)), [("b", 100, 100)]);
        assert_eq!(
            shown(&Divided::of(&[time("/p", 2, 100.0)], &profile, By::Function)),
            [("a", 75, 75), ("b", 25, 25)]
        );
    }

    #[test]
    fn few_samples_have_a_wide_interval_even_if_they_agree() {
        let profile = Profile::from_stacks([(task("/p", 0), stack(&["a"]), TOO_FEW)]);
        let self_time = Divided::of(&[time("/p", 0, 100.0)], &profile, By::Function).functions[0].self_time;
        assert!(self_time.low < 70.0 && (self_time.high - 100.0).abs() < 1e-9, "{self_time:?}");
        assert_eq!(Divided::of(&[], &profile, By::Function), Divided::default());
    }

    #[test]
    fn too_few_samples_divide_nothing() {
        let profile = Profile::from_stacks([(task("/p", 0), stack(&["a"]), TOO_FEW - 1)]);
        let divided = Divided::of(&[time("/p", 0, 100.0)], &profile, By::Function);
        assert!(divided.functions.is_empty() && (divided.unsampled - 100.0).abs() < 1e-9);
    }
}
