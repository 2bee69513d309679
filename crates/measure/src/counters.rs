//! What the processor counts while a program runs: instructions, cycles, misses.
//!
//! The counters are opened on our own thread, disabled, to be inherited and to be enabled by an exec
//! (`perf_event_open(2)`): every process that this thread creates from then on counts from its exec, with all that it
//! creates, and what it counted is added to ours when it is gone. Nothing is attached to the tracee, and we
//! ourselves count nothing, because we execute nothing.

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use std::collections::BTreeMap;
use std::io;

/// Whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program's own.
    User,
    /// The kernel's on its behalf.
    Kernel,
}

/// Name for the program's own, name for the kernel's, and which counter. Four at a time: processors have at least as
/// many, so that none is shared and every figure is a count.
const EVENTS: [(&str, &str, Hardware); 4] = [
    ("instructions", "instructions_kernel", Hardware::INSTRUCTIONS),
    ("cycles", "cycles_kernel", Hardware::CPU_CYCLES),
    ("branch_misses", "branch_misses_kernel", Hardware::BRANCH_MISSES),
    ("cache_misses", "cache_misses_kernel", Hardware::CACHE_MISSES),
];

/// Why nothing is counted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says it
pub enum CountersError {
    #[error("this machine shows no performance counters, as is usual in virtual machines")]
    None,
    #[error("the kernel allows no performance counters: kernel.perf_event_paranoid")]
    Forbidden,
    #[error("no performance counter opens: {0}")]
    Failed(io::Error),
}

/// What was counted, by name.
pub type Counted = BTreeMap<String, u64>;

/// Open counters of one side. To be used by the thread that opened them.
#[derive(Debug)]
pub struct Counters {
    open: Vec<(&'static str, Counter)>,
    _apart: Counter,
}

impl Counters {
    /// Opens the hardware's. One that this processor lacks is left out; without any, the reason is the error.
    pub fn hardware(side: Side) -> Result<Counters, CountersError> {
        let mut open = Vec::new();
        for (user, kernel, event) in EVENTS {
            let name = if side == Side::User { user } else { kernel };
            match opened(event, side) {
                Ok(counter) => open.push((name, counter)),
                Err(cause) if open.is_empty() => return Err(reason(cause)),
                Err(_) => {}
            }
        }
        let apart = keeping_apart(Hardware::INSTRUCTIONS).map_err(reason)?;
        Ok(Counters { open, _apart: apart })
    }

    /// What is counted for the processes that `run` creates and waits for. A counter that had to be shared with others, and
    /// so missed a part, gives none.
    pub fn during<T>(&mut self, run: impl FnOnce() -> T) -> (T, Counted) {
        let before = self.read();
        let result = run();
        let after = self.read();
        let counted = self.open.iter().zip(before.iter().zip(&after)).filter_map(|((name, _), readings)| {
            let (before, after) = (readings.0.as_ref()?, readings.1.as_ref()?);
            let complete = after.enabled - before.enabled == after.running - before.running;
            // nothing runs for no time: 0 is what was not counted
            (complete && after.running > before.running)
                .then(|| ((*name).to_owned(), after.count - before.count))
        });
        (result, counted.collect())
    }

    fn read(&mut self) -> Vec<Option<Reading>> {
        self.open.iter_mut().map(|(_, counter)| Reading::of(counter)).collect()
    }
}

/// Sums since the counter was opened; times in nanoseconds.
struct Reading {
    count: u64,
    enabled: u128,
    running: u128,
}

impl Reading {
    fn of(counter: &mut Counter) -> Option<Reading> {
        let full = counter.read_full().ok()?;
        let (enabled, running) = (full.time_enabled()?.as_nanos(), full.time_running()?.as_nanos());
        Some(Reading { count: full.count(), enabled, running })
    }
}

fn opened(event: impl Event, side: Side) -> io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder.inherit(true).enable_on_exec(true).exclude_hv(true);
    builder.exclude_kernel(side == Side::User).exclude_user(side == Side::Kernel);
    builder.build()
}

/// A counter that is not inherited and never counts. Without one the kernel takes a child's counters for a copy of ours, and
/// saves itself work when it switches from us to the child: it exchanges the two (`context_equiv` in
/// kernel/events/core.c). The child then counts with ours and takes them with it when it exits: nearly every second
/// run was seen to count too little, or nothing.
fn keeping_apart(event: impl Event) -> io::Result<Counter> {
    Builder::new(event).build()
}

/// `perf_event_open(2)`, ERRORS: ENOENT and EOPNOTSUPP are events that this machine has not, EACCES and EPERM such as
/// it forbids us.
fn reason(cause: io::Error) -> CountersError {
    match cause.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => CountersError::None,
        Some(libc::EACCES | libc::EPERM) => CountersError::Forbidden,
        _ => CountersError::Failed(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Command, Launcher};
    use crate::tracer::pipe::PipeTracer;
    use crate::tracer::{Setting, Tracer};
    use perf_event::events::Software;

    /// A software event in the hardware's place: every kernel has it.
    fn page_faults() -> Option<Counters> {
        match opened(Software::PAGE_FAULTS, Side::User) {
            Ok(counter) => Some(Counters {
                open: vec![("faults", counter)],
                _apart: keeping_apart(Software::PAGE_FAULTS).unwrap(),
            }),
            Err(error) => {
                assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none(), "no software event: {error}");
                eprintln!("skipped: no software event opens: {error}");
                None
            }
        }
    }

    fn faults_of(counters: &mut Counters, words: &[&str]) -> u64 {
        let mut launcher = Launcher::new(Command::new(words).unwrap()).unwrap();
        let (run, counted) = counters.during(|| PipeTracer::blind().run(&mut launcher, &Setting::default()));
        run.unwrap();
        counted["faults"]
    }

    #[test]
    fn a_program_and_what_it_starts_are_counted_and_we_are_not() {
        let Some(mut counters) = page_faults() else { return };
        let one = faults_of(&mut counters, &["/bin/sh", "-c", "/bin/true; exit 0"]);
        let none = counters.during(|| std::hint::black_box(vec![1_u8; 1 << 24]).len()).1;
        let four = faults_of(
            &mut counters,
            &["/bin/sh", "-c", "/bin/true; /bin/true; /bin/true; /bin/true; exit 0"],
        );
        assert_eq!(none, Counted::new(), "our own faults, a few thousand, are not counted");
        assert!(one > 0 && four > one, "{one} and {four}");
        for _ in 0..8 {
            let again = faults_of(&mut counters, &["/bin/sh", "-c", "/bin/true; exit 0"]);
            assert!(
                again * 2 > one && again < four,
                "no run loses what it counted: {again}, {one} and {four}"
            );
        }
    }

    #[test]
    fn what_the_hardware_counts_is_there_or_there_is_a_reason() {
        match Counters::hardware(Side::User) {
            Ok(mut counters) => {
                let mut launcher = Launcher::new(Command::new(&["/bin/true"]).unwrap()).unwrap();
                let run = || PipeTracer::blind().run(&mut launcher, &Setting::default());
                assert!(counters.during(run).1["instructions"] > 10_000);
            }
            Err(reason) => eprintln!("skipped: {reason}"),
        }
    }
}
