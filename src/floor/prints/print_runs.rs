//! The runs of one program that times its own prints.

use super::section::PrintSection;
use super::{LINE, MARKER, PRINTS, first_line, lack};
use crate::document::floor::{Figure, Group, Missing, Outside, Print};
use firstbyte_measure::launch;
use firstbyte_measure::launch::{LaunchError, Launcher, OutputKind};
use firstbyte_measure::tracer::full::FullTracer;
use firstbyte_measure::tracer::pipe::PipeTracer;
use firstbyte_measure::tracer::{Recording, RunOptions, Tracer};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A program that prints the marker and the lines, and reports its times on stderr.
#[derive(Clone, Debug)]
pub struct TimedProgram {
    /// Its name in the corpus.
    pub program: String,
    /// The language and the function that prints: `C printf`.
    pub label: String,
    /// The working directory of its runs.
    pub directory: PathBuf,
    pub argv: Vec<OsString>,
}

/// The times that a program reports of itself, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Readings {
    first: u64,
    hundredth: u64,
    clock: u64,
}

impl Readings {
    /// Parses `first 123 ns, hundredth 45 ns, clock 6 ns`.
    fn parse(text: &str) -> Option<Readings> {
        let mut parts = text.trim().split(", ");
        let mut value =
            |name: &str| parts.next()?.strip_prefix(name)?.strip_suffix(" ns")?.trim().parse::<u64>().ok();
        Some(Readings { first: value("first ")?, hundredth: value("hundredth ")?, clock: value("clock ")? })
    }
}

/// A program with the results of its runs.
pub(super) struct Runs {
    program: TimedProgram,
    launcher: Launcher,
    stderr: File,
    readings: Vec<Readings>,
    /// The first and the hundredth print of each traced run.
    traced: Vec<(PrintSection, PrintSection)>,
    failures: Vec<String>,
    /// Why the last rejected traced run does not count.
    unseen: Option<String>,
}

/// The output that every run must print.
fn expected() -> Arc<[u8]> {
    let lines = LINE.repeat(usize::try_from(PRINTS).unwrap_or_default());
    (MARKER.to_owned() + &lines).into_bytes().into()
}

impl Runs {
    pub(super) fn new(program: TimedProgram) -> Result<Runs, LaunchError> {
        let resource = |cause: io::Error| LaunchError::Resource { what: "stderr", cause };
        let mut command = launch::Command::in_directory(&program.argv, Some(&program.directory))
            .map_err(|error| resource(io::Error::other(error)))?;
        // It would make Python write each part of a line separately.
        command.remove_variable("PYTHONUNBUFFERED");

        let stderr = launch::temporary_file()?;
        let mut launcher = Launcher::new(command)?;
        launcher.set_stderr(stderr.try_clone().map_err(resource)?.into());

        Ok(Runs {
            program,
            launcher,
            stderr,
            readings: Vec::new(),
            traced: Vec::new(),
            failures: Vec::new(),
            unseen: None,
        })
    }

    /// Runs the program on a terminal, where every library writes line by line, as in Hello World Overdone. Returns the
    /// recording and the text on stderr.
    fn run(&mut self, tracer: &mut dyn Tracer) -> Result<(Recording, String), String> {
        let options = RunOptions {
            output: OutputKind::Pty,
            expected: Some(expected()),
            timeout: Some(TIMEOUT),
            ..RunOptions::default()
        };
        let emptied = self.stderr.set_len(0).and_then(|()| self.stderr.rewind());
        emptied.map_err(|error| error.to_string())?;

        let recording = tracer.run(&mut self.launcher, &options).map_err(|e| first_line(&e.to_string()))?;

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

    pub(super) fn untraced(&mut self, counts: bool) {
        let readings = self.run(&mut PipeTracer::blind()).and_then(|(_, said)| {
            Readings::parse(&said).ok_or_else(|| "it did not report its times on stderr".to_owned())
        });
        match readings {
            Ok(readings) if counts => self.readings.push(readings),
            Ok(_) => {}
            Err(reason) => self.failures.push(reason),
        }
    }

    /// A run that the tracer did not see completely does not count. There are others.
    pub(super) fn traced(&mut self, tracer: &mut dyn FullTracer, counts: bool) {
        let sections = self.run(tracer).and_then(|(recording, _)| match recording.lost {
            0 => PrintSection::find(&recording, 1)
                .zip(PrintSection::find(&recording, PRINTS))
                .ok_or_else(|| "the tracer does not see its writes".to_owned()),
            lost => Err(format!("{lost} events were lost")),
        });
        match sections {
            Ok(sections) if counts => self.traced.push(sections),
            Ok(_) => {}
            Err(reason) => self.unseen = Some(reason),
        }
    }

    /// The failed runs, which are not samples, and why there is no figure from outside.
    pub(super) fn missing(&self) -> Vec<Missing> {
        let label = &self.program.label;
        let rejected = self.failures.last().map(|last| {
            let failed = self.failures.len();
            let runs = failed + self.readings.len();
            lack(&format!("{label}, {failed} of {runs} runs"), last.clone())
        });
        let unseen = self.unseen.as_ref().filter(|_| self.traced.is_empty());
        let unseen = unseen.map(|reason| lack(&format!("{label}, from outside"), reason.clone()));
        rejected.into_iter().chain(unseen).collect()
    }

    pub(super) fn print(&self, tracer: Option<&dyn FullTracer>) -> Option<Print> {
        let clock: Vec<f64> = self.readings.iter().map(|readings| readings.clock as f64).collect();
        let inside = |of: fn(&Readings) -> u64| -> Vec<f64> {
            self.readings.iter().map(|readings| of(readings) as f64 - readings.clock as f64).collect()
        };
        let label = &self.program.label;
        let figure =
            |name: &str, samples| Figure::from_samples(Group::Prints, &format!("{label}, {name}"), samples);

        let clock = figure("its clock", clock)?;
        let reading = clock.median;
        Some(Print {
            clock,
            first: figure("first print, its own clock", inside(|readings| readings.first))?,
            hundredth: figure("hundredth print, its own clock", inside(|readings| readings.hundredth))?,
            outside: tracer.and_then(|tracer| self.outside(tracer, reading)),
            program: self.program.program.clone(),
            label: label.clone(),
        })
    }

    /// `reading` is the cost of one reading of the program's clock.
    fn outside(&self, tracer: &dyn FullTracer, reading: f64) -> Option<Outside> {
        let last = self.traced.last()?;
        let figure = |name: &str, of: fn(&(PrintSection, PrintSection)) -> &PrintSection, readings: f64| {
            let lasts = |pair| of(pair).lasts.as_f64() - readings * reading;
            let name = format!("{}, {name} print, from outside", self.program.label);
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

    #[test]
    fn readings_are_three_numbers_in_a_fixed_order() {
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

    #[test]
    fn the_expected_output_is_the_marker_and_a_hundred_lines() {
        let bytes = expected();
        assert_eq!(bytes.len(), 24 + 1200);
        assert!(bytes.starts_with(b">>>> before print >>>>>\nhello world\nhello world\n"));
    }
}
