//! What the processor counts while a program runs: instructions, cycles, misses.
//!
//! The counters are opened on our own thread. They start disabled, are inherited, and are enabled by an exec
//! (`perf_event_open(2)`). So every process that this thread creates counts from its exec on, together with the
//! processes that it creates, and its counts are added to ours when it ends. Nothing is attached to the tracee, and
//! we ourselves count nothing, because we execute no program.

use crate::confinement::perf_refused;
use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use std::collections::BTreeMap;
use std::io;

/// Whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedSide {
    /// The program's own code.
    User,
    /// The kernel, on behalf of the program.
    Kernel,
}

/// The counter's name on the program's side, its name on the kernel's side, and the event. There are four because
/// processors count at least as many at the same time, so no counter is shared and every value is exact.
const EVENTS: [(&str, &str, Hardware); 4] = [
    ("instructions", "instructions_kernel", Hardware::INSTRUCTIONS),
    ("cycles", "cycles_kernel", Hardware::CPU_CYCLES),
    ("branch_misses", "branch_misses_kernel", Hardware::BRANCH_MISSES),
    ("cache_misses", "cache_misses_kernel", Hardware::CACHE_MISSES),
];

/// Why nothing can be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// The machine has no counters, or hides them, as most virtual machines do.
    #[error("this machine has no performance counters, as is usual for virtual machines")]
    None,
    /// The kernel forbids us to count.
    #[error("the kernel does not allow performance counters: {0}")]
    Forbidden(String),
    /// Another error of the kernel.
    #[error("no performance counter can be opened: {0}")]
    Failed(io::Error),
}

/// Counts by the counters' names.
pub type CounterValues = BTreeMap<String, u64>;

/// Open counters of one side. Only the thread that opened them can use them.
#[derive(Debug)]
pub struct Counters {
    open: Vec<(&'static str, Counter)>,
    _apart: Counter,
}

impl Counters {
    /// Opens the hardware counters. Counters that this processor lacks are left out.
    ///
    /// # Errors
    ///
    /// The reason, if no counter can be opened.
    pub fn hardware(side: CountedSide) -> Result<Counters, CountersError> {
        let mut open = Vec::new();
        for (user, kernel, event) in EVENTS {
            let name = if side == CountedSide::User { user } else { kernel };
            match opened(event, side) {
                Ok(counter) => open.push((name, counter)),
                Err(cause) if open.is_empty() => return Err(reason(cause)),
                Err(_) => {}
            }
        }
        let apart = keeping_apart(Hardware::INSTRUCTIONS).map_err(reason)?;
        Ok(Counters { open, _apart: apart })
    }

    /// Counts the processes that `run` creates and waits for. A counter that was shared with others missed a part,
    /// and gives no value.
    pub fn during<T>(&mut self, run: impl FnOnce() -> T) -> (T, CounterValues) {
        let before = self.read();
        let result = run();
        let after = self.read();
        let counted = self.open.iter().zip(before.iter().zip(&after)).filter_map(|((name, _), readings)| {
            let (before, after) = (readings.0.as_ref()?, readings.1.as_ref()?);
            let complete = after.enabled - before.enabled == after.running - before.running;
            // Every process runs for some time, so 0 means that nothing was counted.
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

fn opened(event: impl Event, side: CountedSide) -> io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder.inherit(true).enable_on_exec(true).exclude_hv(true);
    builder.exclude_kernel(side == CountedSide::User).exclude_user(side == CountedSide::Kernel);
    builder.build()
}

/// A counter that is not inherited and never counts. Without it, the kernel takes a child's counters for a copy of
/// ours and, to save work, exchanges the two when it switches from us to the child (`context_equiv` in
/// kernel/events/core.c). The child then counts with our counters, and takes them with it when it exits. Nearly
/// every second run counted too little, or nothing.
fn keeping_apart(event: impl Event) -> io::Result<Counter> {
    Builder::new(event).build()
}

/// `perf_event_open(2)`, ERRORS: ENOENT and EOPNOTSUPP mean that this machine lacks the event, EACCES and EPERM
/// that we may not count it.
fn reason(cause: io::Error) -> CountersError {
    match cause.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => CountersError::None,
        Some(libc::EACCES | libc::EPERM) => CountersError::Forbidden(perf_refused().cause),
        _ => CountersError::Failed(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Command, Launcher};
    use crate::tracer::pipe::PipeTracer;
    use crate::tracer::{RunOptions, Tracer};
    use perf_event::events::Software;

    /// A software event in the hardware's place: every kernel has it.
    fn page_faults() -> Option<Counters> {
        match opened(Software::PAGE_FAULTS, CountedSide::User) {
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
        let (run, counted) =
            counters.during(|| PipeTracer::blind().run(&mut launcher, &RunOptions::default()));
        run.unwrap();
        counted["faults"]
    }

    #[test]
    fn a_program_and_its_children_are_counted_but_we_are_not() {
        let Some(mut counters) = page_faults() else { return };
        let one = faults_of(&mut counters, &["/bin/sh", "-c", "/bin/true; exit 0"]);
        let none = counters.during(|| std::hint::black_box(vec![1_u8; 1 << 24]).len()).1;
        let four = faults_of(
            &mut counters,
            &["/bin/sh", "-c", "/bin/true; /bin/true; /bin/true; /bin/true; exit 0"],
        );
        assert_eq!(none, CounterValues::new(), "our own faults, a few thousand, are not counted");
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
    fn hardware_counters_count_or_there_is_a_reason() {
        match Counters::hardware(CountedSide::User) {
            Ok(mut counters) => {
                let mut launcher = Launcher::new(Command::new(&["/bin/true"]).unwrap()).unwrap();
                let run = || PipeTracer::blind().run(&mut launcher, &RunOptions::default());
                assert!(counters.during(run).1["instructions"] > 10_000);
            }
            Err(reason) => eprintln!("skipped: {reason}"),
        }
    }
}
