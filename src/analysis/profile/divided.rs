//! Exact times of user code, divided by the shares of the samples.

use super::grouped::{By, Charged, charged};
use super::imports::{Import, imports};
use super::parts::{Common, Counted, Estimate, Part, QUANTILE, Sampled, UserTime, parts, share};
use super::work::{Kind, found};
use super::{Call, Frame, Profile, Stack};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

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

/// Fewer samples of a program do not divide its time: if all of them agreed, the interval would still be a third of it.
const TOO_FEW: u64 = 10;
/// Nodes below this part of the total are left out. Their time remains with their callers.
const NOTEWORTHY: f64 = 0.0005;

impl Divided {
    /// `by`: what the nodes and the program's own code are divided by.
    pub fn of(times: &[UserTime], profile: &Profile, by: By) -> Divided {
        let total = times.iter().map(|user| user.time).sum();
        let (sampled, missing): (Vec<_>, Vec<_>) =
            parts(times, profile).into_iter().partition(|part| part.all.samples >= TOO_FEW);

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
            samples: sampled.iter().flat_map(|part| &part.stacks).map(Sampled::new_samples).sum(),
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

type ByFrame = HashMap<usize, Counted>;

/// Own times and times with callees by frame, and own times by module.
fn counted(parts: &[Part<'_>], profile: &Profile) -> (ByFrame, ByFrame, BTreeMap<Arc<str>, Counted>) {
    let (mut self_time, mut total, mut modules) =
        (ByFrame::new(), ByFrame::new(), BTreeMap::<_, Counted>::new());
    for part in parts {
        let (mut in_own, mut in_total) = (HashMap::<usize, Common>::new(), HashMap::<usize, Common>::new());
        let mut in_module = BTreeMap::<&Arc<str>, Common>::new();
        for sampled in &part.stacks {
            // a function that calls itself is in a stack more than once
            for frame in sampled.stack.shown().map(|call| call.frame).collect::<BTreeSet<_>>() {
                in_total.entry(frame).or_default().add(sampled);
            }
            if let Some(innermost) = sampled.stack.shown().next() {
                in_own.entry(innermost.frame).or_default().add(sampled);
                in_module.entry(&profile.frames[innermost.frame].module).or_default().add(sampled);
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
    for part in parts {
        let mut of_kind = BTreeMap::<Kind, Common>::new();
        for sampled in &part.stacks {
            for work in found(sampled.stack, profile) {
                of_kind.entry(work.kind).or_default().add(sampled);
                let who = who.entry(work.kind).or_default();
                if sampled.is_new {
                    *who.functions.entry(work.function).or_default() += sampled.weighed.samples;
                    *who.callers.entry(work.caller).or_default() += sampled.weighed.samples;
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
    use super::super::Task;
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
    fn threads_with_few_samples_are_divided_together_and_each_sample_counts_once() {
        let stacks = [(task("/p", 0), stack(&["a"]), 75), (task("/p", 1), stack(&["b"]), 5)];
        let profile = Profile::from_stacks(stacks);
        let times = [time("/p", 0, 900.0), time("/p", 1, 30.0), time("/p", 2, 50.0)];
        let divided = Divided::of(&times, &profile, By::Function);
        assert_eq!(shown(&divided), [("a", 975, 975), ("b", 5, 5)]);
        assert_eq!(divided.functions.iter().map(|it| it.samples).collect::<Vec<_>>(), [75, 5]);
        assert_eq!(divided.samples, 80);

        let few = Divided::of(&times[1..], &profile, By::Function);
        let one = Divided::of(&[time("/p", 1, 80.0)], &profile, By::Function);
        assert_eq!(few.functions, one.functions, "the errors of their times are one error");
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
