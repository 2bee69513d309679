//! The first and the hundredth print of a program that times them itself, seen from inside and from outside.
//!
//! Seed 000 times one `printf` in C by `CLOCK_PROCESS_CPUTIME_ID`, one `puts` in Ruby by its wall clock, and finds Ruby
//! ten times as fast. Its Ruby program had printed before (the marker), its C program had not: what C's first call does
//! once was taken for what each call costs. So here every program prints a hundred times, and its marker goes round the
//! library that is timed. Each tells by its language's own best clock how long the first and the hundredth print took,
//! and what two readings cost with nothing between them, which is subtracted. In other runs a tracer sees the writes:
//! a print lasts from the return of the write before it to the return of its own.

use super::figure::{Figure, Group};
use super::{Effort, FloorError, Missing};
use firstbyte_measure::arch::call_names;
use firstbyte_measure::launch;
use firstbyte_measure::launch::{LaunchError, Launcher, OutputKind, interrupt};
use firstbyte_measure::tracer::detail::Call;
use firstbyte_measure::tracer::full::FullBackend;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{Event, EventKind, Recording, Setting, Tracer};
use firstbyte_measure::units::Nanos;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What each program writes before it prints, past the library that prints: it shows where in a trace the section begins.
pub const MARKER: &str = ">>>> before print >>>>>\n";
/// What it prints, and how often.
pub const LINE: &str = "hello world\n";
/// See [`LINE`].
pub const PRINTS: u64 = 100;

/// A program that prints so, and tells on stderr how long that took.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Its name in the corpus.
    pub program: String,
    /// The language and what it prints with: `C printf`.
    pub label: String,
    /// Where it runs.
    pub directory: PathBuf,
    /// What starts it.
    pub argv: Vec<OsString>,
}

/// What one program's prints cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Print {
    /// Its name in the corpus.
    pub program: String,
    /// The language and what it prints with: `C printf`.
    pub label: String,
    /// Two readings of its own clock with nothing between them: the smallest of a hundred pairs, over the runs.
    pub clock: Figure,
    /// The first print by its own clock, the clock's cost subtracted.
    pub first: Figure,
    /// The hundredth.
    pub hundredth: Figure,
    /// The same seen from outside; `None` where nothing can look.
    pub outside: Option<Outside>,
}

/// Prints as a tracer saw them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// Which backend looked. What it costs is within the figures.
    pub backend: String,
    /// From the return of the marker's write to the return of the first print's, one clock reading subtracted.
    pub first: Figure,
    /// From the return of the ninety-ninth print's write to the return of the hundredth's, two clock readings subtracted.
    pub hundredth: Figure,
    /// The system calls of the first print, in order, in the last run.
    pub first_calls: Vec<String>,
    /// Those of the hundredth.
    pub hundredth_calls: Vec<String>,
    /// The page faults of the first print in the last run; `None` where the backend does not see them.
    pub first_faults: Option<u64>,
}

/// What a program tells of itself, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Readings {
    first: u64,
    hundredth: u64,
    clock: u64,
}

impl Readings {
    /// From `first 123 ns, hundredth 45 ns, clock 6 ns`.
    fn parse(text: &str) -> Option<Readings> {
        let mut parts = text.trim().split(", ");
        let mut value =
            |name: &str| parts.next()?.strip_prefix(name)?.strip_suffix(" ns")?.trim().parse::<u64>().ok();
        Some(Readings { first: value("first ")?, hundredth: value("hundredth ")?, clock: value("clock ")? })
    }
}

/// One print in a recording.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    lasts: Nanos,
    calls: Vec<String>,
    faults: u64,
}

/// The print that ends with so many prints written: what its thread did between the write before it and its own.
fn section(recording: &Recording, print: u64) -> Option<Section> {
    let ended = |prints: u64| written(recording, MARKER.len() as u64 + LINE.len() as u64 * prints);
    let (before, own) = (ended(print - 1)?, ended(print)?);
    let within = |event: &&Event| event.at > before.at && event.at <= own.at && event.tid == own.tid;
    let mut section = Section { lasts: own.at.since(before.at)?, calls: Vec::new(), faults: 0 };
    for event in recording.events.iter().filter(within) {
        match &event.kind {
            EventKind::Call(call) => section.calls.push(call_names::name(call.call)),
            EventKind::Fault(_) => section.faults += 1,
            _ => {}
        }
    }
    Some(section)
}

/// The write of output with which so many bytes are out.
fn written(recording: &Recording, bytes: u64) -> Option<&Event> {
    let mut sum = 0;
    recording.events.iter().find(|event| {
        if let EventKind::Call(call) = &event.kind
            && prints(call)
        {
            sum += call.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
            return sum >= bytes;
        }
        false
    })
}

/// The ptrace backend does not say which calls are output: there, those that name stdout are.
fn prints(call: &Call) -> bool {
    let plain = || ["write", "writev"].contains(&call_names::name(call.call).as_str());
    call.output || (call.arguments[0] == 1 && plain())
}

/// A program with what its runs gave.
struct Runs {
    timed: Timed,
    launcher: Launcher,
    stderr: File,
    readings: Vec<Readings>,
    traced: Vec<(Section, Section)>,
    failures: Vec<String>,
    /// Why a traced run does not count.
    unseen: Option<String>,
}

/// Rounds of all programs, untraced and then traced.
pub struct Prints<'t> {
    /// How much time is spent.
    pub effort: Effort,
    /// Seed of the order.
    pub seed: u64,
    /// Who looks from outside, if anybody can.
    pub tracer: Option<&'t mut FullBackend>,
}

const TIMEOUT: Duration = Duration::from_secs(20);

impl Prints<'_> {
    /// Measures all of them.
    pub fn measure(mut self, programs: Vec<Timed>) -> Result<(Vec<Print>, Vec<Missing>), FloorError> {
        let (mut runs, mut missing) = (Vec::new(), Vec::new());
        for timed in programs {
            let label = timed.label.clone();
            match Runs::new(timed) {
                Ok(prepared) => runs.push(prepared),
                Err(error) => missing.push(lack(&label, first_line(&error.to_string()))),
            }
        }
        self.rounds(&mut runs)?;
        let mut prints = Vec::new();
        for run in runs {
            missing.extend(run.rejected());
            if let Some(reason) = run.unseen.as_ref().filter(|_| run.traced.is_empty()) {
                missing.push(lack(&format!("{}, from outside", run.timed.label), reason.clone()));
            }
            prints.extend(run.print(self.tracer.as_deref()));
        }
        Ok((prints, missing))
    }

    fn rounds(&mut self, runs: &mut [Runs]) -> Result<(), FloorError> {
        let rounds = if self.effort == Effort::Quick { 7 } else { 31 };
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut order: Vec<usize> = (0..runs.len()).collect();
        let mut round = |runs: &mut [Runs], one: &mut dyn FnMut(&mut Runs)| {
            random.shuffle(&mut order);
            for &index in &order {
                if interrupt::interrupted().is_some() {
                    return Err(FloorError::Interrupted);
                }
                one(&mut runs[index]);
            }
            Ok(())
        };
        for number in 0..=rounds {
            round(runs, &mut |run| run.untraced(number > 0))?;
        }
        let Some(tracer) = self.tracer.as_deref_mut() else { return Ok(()) };
        if tracer.attach().is_err() {
            return Ok(());
        }
        let done = (0..=rounds).try_for_each(|n| round(runs, &mut |run| run.traced(tracer, n > 0)));
        let _ = tracer.detach();
        done
    }
}

fn lack(label: &str, reason: String) -> Missing {
    Missing { group: Group::Prints, name: label.to_owned(), reason }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// What every run must print.
fn expected() -> Arc<[u8]> {
    let lines = LINE.repeat(usize::try_from(PRINTS).unwrap_or_default());
    (MARKER.to_owned() + &lines).into_bytes().into()
}

impl Runs {
    fn new(timed: Timed) -> Result<Runs, LaunchError> {
        let resource = |cause: io::Error| LaunchError::Resource { what: "a temporary file", cause };
        let mut command = launch::Command::in_directory(&timed.argv, Some(&timed.directory))
            .map_err(|error| resource(io::Error::other(error)))?;
        // it would make Python write each part of a line by itself
        command.remove_variable("PYTHONUNBUFFERED");
        let stderr = tempfile::tempfile().map_err(resource)?;
        let mut launcher = Launcher::new(command)?;
        launcher.set_stderr(stderr.try_clone().map_err(resource)?.into());
        Ok(Runs {
            timed,
            launcher,
            stderr,
            readings: Vec::new(),
            traced: Vec::new(),
            failures: Vec::new(),
            unseen: None,
        })
    }

    /// A run on a terminal, where every library writes line by line, as it did for the seed.
    fn run(&mut self, tracer: &mut dyn Tracer) -> Result<(Recording, String), String> {
        let setting = Setting {
            output: OutputKind::Pty,
            expected: Some(expected()),
            timeout: Some(TIMEOUT),
            ..Setting::default()
        };
        let emptied = self.stderr.set_len(0).and_then(|()| self.stderr.rewind());
        emptied.map_err(|error| error.to_string())?;
        let recording = tracer.run(&mut self.launcher, &setting).map_err(|e| first_line(&e.to_string()))?;
        let mut said = Vec::new();
        let read = self.stderr.rewind().and_then(|()| self.stderr.read_to_end(&mut said));
        read.map_err(|error| error.to_string())?;
        if !recording.exit.success() {
            return Err(format!("it ended with {}", recording.exit));
        }
        if recording.output.ok == Some(false) {
            return Err("it printed something else".to_owned());
        }
        Ok((recording, String::from_utf8_lossy(&said).into_owned()))
    }

    fn untraced(&mut self, counts: bool) {
        let readings = self.run(&mut PipeTracer::blind()).and_then(|(_, said)| {
            Readings::parse(&said).ok_or_else(|| "it did not tell its times on stderr".to_owned())
        });
        match readings {
            Ok(readings) if counts => self.readings.push(readings),
            Ok(_) => {}
            Err(reason) => self.failures.push(reason),
        }
    }

    /// A run that was not seen whole does not count; there are others.
    fn traced(&mut self, tracer: &mut FullBackend, counts: bool) {
        let sections = self.run(tracer).and_then(|(recording, _)| match recording.lost {
            0 => section(&recording, 1)
                .zip(section(&recording, PRINTS))
                .ok_or_else(|| "the tracer does not see its writes".to_owned()),
            lost => Err(format!("{lost} events were lost")),
        });
        match sections {
            Ok(sections) if counts => self.traced.push(sections),
            Ok(_) => {}
            Err(reason) => self.unseen = Some(reason),
        }
    }

    /// A run that failed is none of the samples, but no secret either.
    fn rejected(&self) -> Option<Missing> {
        let (last, failed) = (self.failures.last()?, self.failures.len());
        let runs = failed + self.readings.len();
        Some(lack(&format!("{}, {failed} of {runs} runs", self.timed.label), last.clone()))
    }

    fn print(&self, tracer: Option<&FullBackend>) -> Option<Print> {
        let clock: Vec<f64> = self.readings.iter().map(|readings| readings.clock as f64).collect();
        let inside = |of: fn(&Readings) -> u64| -> Vec<f64> {
            self.readings.iter().map(|readings| of(readings) as f64 - readings.clock as f64).collect()
        };
        let label = &self.timed.label;
        let figure =
            |name: &str, samples| Figure::from_samples(Group::Prints, &format!("{label}, {name}"), samples);
        let clock = figure("its clock", clock)?;
        let reading = clock.median;
        Some(Print {
            clock,
            first: figure("first print, its own clock", inside(|readings| readings.first))?,
            hundredth: figure("hundredth print, its own clock", inside(|readings| readings.hundredth))?,
            outside: tracer.and_then(|tracer| self.outside(tracer, reading)),
            program: self.timed.program.clone(),
            label: label.clone(),
        })
    }

    fn outside(&self, tracer: &FullBackend, reading: f64) -> Option<Outside> {
        let last = self.traced.last()?;
        let figure = |name: &str, of: fn(&(Section, Section)) -> &Section, readings: f64| {
            let lasts = |pair| of(pair).lasts.as_f64() - readings * reading;
            let name = format!("{}, {name} print, from outside", self.timed.label);
            Figure::from_samples(Group::Prints, &name, self.traced.iter().map(lasts).collect())
        };
        Some(Outside {
            backend: tracer.backend().name().to_owned(),
            first: figure("first", |pair| &pair.0, 1.0)?,
            hundredth: figure("hundredth", |pair| &pair.1, 2.0)?,
            first_calls: last.0.calls.clone(),
            hundredth_calls: last.1.calls.clone(),
            first_faults: tracer.sees_faults().then_some(last.0.faults),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::tracer::{Abi, Backend, Output, Syscall};

    #[test]
    fn readings_are_three_numbers_in_their_order() {
        let said = Readings::parse("first 14002 ns, hundredth 1201 ns, clock 37 ns\n").unwrap();
        assert_eq!(said, Readings { first: 14_002, hundredth: 1_201, clock: 37 });
        let hostile = ["", "first", "first 1 ns", "hundredth 1 ns, first 2 ns, clock 3 ns"];
        for text in hostile
            .into_iter()
            .chain(["first -1 ns, hundredth 2 ns, clock 3 ns", "first 1 ns, hundredth 2, clock 3"])
        {
            assert_eq!(Readings::parse(text), None, "{text}");
        }
    }

    fn call(name: &str, at: u64, written: i64) -> Event {
        let call = Syscall { abi: Abi::Native, number: call_names::native_number(name).unwrap() };
        let call = Call {
            call,
            entered: Nanos(at - 1),
            result: Some(written),
            arguments: [1, 0, 0, 0, 0, 0],
            ip: 0,
            stack: Vec::new(),
            paths: Vec::new(),
            output: false,
        };
        Event { at: Nanos(at), pid: 7, tid: 7, kind: EventKind::Call(Box::new(call)) }
    }

    #[test]
    fn a_print_lasts_from_the_write_before_it_to_its_own() {
        let mut events = vec![call("write", 100, 24), call("brk", 130, 0), call("write", 150, 12)];
        // the second print is made of two writes
        events.extend([call("write", 160, 11), call("write", 165, 1)]);
        let recording = Recording {
            backend: Backend::Ptrace,
            command: Vec::new(),
            root: 7,
            events,
            lost: 0,
            exit: launch::ExitStatus::SUCCESS,
            output: Output::default(),
            killed: None,
            usage: launch::Usage::default(),
            left_behind: false,
        };
        let print = |lasts, calls: &[&str]| {
            let calls = calls.iter().map(|name| (*name).to_owned()).collect();
            Some(Section { lasts: Nanos(lasts), calls, faults: 0 })
        };
        assert_eq!(section(&recording, 1), print(50, &["brk", "write"]));
        assert_eq!(section(&recording, 2), print(15, &["write", "write"]));
        assert_eq!(section(&recording, 3), None);
    }

    #[test]
    fn what_is_expected_is_the_marker_and_a_hundred_lines() {
        let bytes = expected();
        assert_eq!(bytes.len(), 24 + 1200);
        assert!(bytes.starts_with(b">>>> before print >>>>>\nhello world\nhello world\n"));
    }
}
