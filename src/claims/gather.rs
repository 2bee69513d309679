//! Turns measurements into evidence: one function for each source. Pure.

use super::quantity::{CountKind, Quantity, RunState, TimedPart};
use super::{ClaimEvidence, Lack, Needs, Reading};
use crate::bench::results::overhead;
use crate::bench::{Sample, Series};
use crate::corpus::SkippedProgram;
use crate::document::floor::{Figure, Missing, Print};
use crate::document::processor_time::DIVIDED_BY_TICKS;
use crate::document::throughput::ThroughputDocument;
use firstbyte_measure::Counts;

/// The target into which all designs print.
pub const SINK: &str = "pipe-read";

/// Programs that cannot be built or run on this machine.
pub fn skipped(evidence: &mut ClaimEvidence, needs: &Needs, skipped: &[SkippedProgram]) {
    for quantity in needs.quantities() {
        let Some(name) = program(quantity) else { continue };
        if let Some(skip) = skipped.iter().find(|skip| skip.name == name) {
            let reason = format!("`{name}`: {}", skip.reason);
            evidence.lack(quantity, Lack { reason, install: skip.install.clone() });
        }
    }
}

/// The program that has to be built or run.
pub fn program(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        Quantity::Time { program, .. }
        | Quantity::UserTime(program)
        | Quantity::Count { program, .. }
        | Quantity::Imports { program, .. }
        | Quantity::Overhead(program)
        | Quantity::FileSize(program)
        | Quantity::TraceLines(program)
        | Quantity::LostByPerf { program, .. }
        | Quantity::TakenForKnown(program)
        | Quantity::Reported { program, .. }
        | Quantity::AllProcessors(program) => Some(program),
        _ => None,
    }
}

/// Notes why a program could not be built.
pub fn lacking(evidence: &mut ClaimEvidence, needs: &Needs, name: &str, lack: &Lack) {
    let of_it = needs.quantities().filter(|quantity| program(*quantity) == Some(name));
    of_it.for_each(|quantity| evidence.lack(quantity, lack.clone()));
}

/// Runs under one condition, interleaved.
pub fn runs(evidence: &mut ClaimEvidence, needs: &Needs, state: RunState, series: &[Series]) {
    for quantity in needs.quantities() {
        let Some(measured) =
            program(quantity).and_then(|name| series.iter().find(|measured| measured.name == name))
        else {
            continue;
        };
        let reading = match quantity {
            Quantity::Time { span, state: asked, .. } if asked == state => times(measured, span),
            Quantity::Count { counted, .. } if state == RunState::Warm => counts(&measured.counts, counted),
            Quantity::Overhead(_) if state == RunState::Warm => overhead(measured)
                .map(|it| Reading::with_interval(it.ratio.ratio, it.ratio.low, it.ratio.high)),
            Quantity::FileSize(_) if state == RunState::Warm => {
                measured.file_size.map(|size| Reading::exact(size.0 as f64))
            }
            _ => continue,
        };
        match reading {
            Some(reading) => evidence.insert(quantity, reading),
            None => evidence.lack(quantity, absent(measured)),
        }
    }
}

/// Runs that tell user code from the kernel's work.
pub fn user_times(evidence: &mut ClaimEvidence, needs: &Needs, series: &[Series]) {
    for quantity in needs.quantities() {
        let Quantity::UserTime(program) = quantity else { continue };
        let Some(measured) = series.iter().find(|measured| measured.name == program) else { continue };
        match Reading::of(user_each_run(measured)) {
            Some(reading) => evidence.insert(quantity, reading),
            None => evidence.lack(quantity, undivided(measured)),
        }
    }
}

/// Of the traced runs; without them, as the kernel divides the timed runs, if these take enough ticks.
fn user_each_run(series: &Series) -> Vec<f64> {
    let traced: Vec<f64> = series.processor.iter().map(|(_, run)| run.user.as_f64()).collect();
    let has_ticks = |sample: &Sample| (sample.user + sample.system).as_f64() >= DIVIDED_BY_TICKS * 1e9;
    if traced.is_empty() && series.samples.iter().all(has_ticks) {
        return series.samples.iter().map(|sample| sample.user.as_f64()).collect();
    }
    traced
}

fn undivided(series: &Series) -> Lack {
    match &series.undivided {
        Some(reason) => Lack::because(format!("`{}`: its user time is not known: {reason}", series.name)),
        None => absent(series),
    }
}

/// The events that were lost in all timed runs.
pub fn lost_events(evidence: &mut ClaimEvidence, series: &[Series]) {
    let lost: u64 = series.iter().map(|measured| measured.lost_events).sum();
    evidence.insert(Quantity::LostEvents, Reading::exact(lost as f64));
}

fn absent(series: &Series) -> Lack {
    let why = match series.rejected.first() {
        Some(rejected) if series.samples.is_empty() => rejected.reason.clone(),
        _ => "this backend does not see it (firstbyte doctor says which one would)".to_owned(),
    };
    Lack::because(format!("`{}`: {why}", series.name))
}

fn times(series: &Series, span: TimedPart) -> Option<Reading> {
    let each: Option<Vec<f64>> = series.samples.iter().map(|sample| of(sample, span)).collect();
    Reading::of(each?)
}

fn of(sample: &Sample, span: TimedPart) -> Option<f64> {
    let phases = sample.phases;
    let nanos = match span {
        TimedPart::Phase(phase) => phases?.get(phase)?,
        TimedPart::FirstByte => sample.first_byte?,
        TimedPart::Total => sample.total,
    };
    Some(nanos.as_f64())
}

fn counts(counts: &[Counts], counted: CountKind) -> Option<Reading> {
    let of = |counts: &Counts| match counted {
        CountKind::Syscalls => counts.syscalls,
        CountKind::Processes => counts.processes,
        CountKind::Threads => counts.threads,
    };
    match counts {
        [only] => Some(Reading::exact(of(only) as f64)),
        several => Reading::of(several.iter().map(|run| of(run) as f64).collect()),
    }
}

pub fn floor(evidence: &mut ClaimEvidence, needs: &Needs, figures: &[Figure], missing: &[Missing]) {
    for quantity in needs.quantities() {
        let Quantity::Floor(name) = quantity else { continue };
        let figure = figures.iter().find(|figure| figure.name == name);
        if let Some(reading) = figure.and_then(|figure| Reading::of(figure.samples.clone())) {
            evidence.insert(quantity, reading);
        }
        let lacking =
            |missing: &&Missing| name == missing.name || name.starts_with(&format!("{}: ", missing.name));
        if let Some(missing) = missing.iter().find(lacking) {
            evidence.lack(quantity, Lack::because(missing.reason.clone()));
        }
    }
}

/// Prints, timed by the programs themselves.
pub fn prints(evidence: &mut ClaimEvidence, needs: &Needs, prints: &[Print], missing: &[Missing]) {
    for quantity in needs.quantities() {
        let Quantity::Print { program, print: number } = quantity else { continue };
        let known = prints.iter().find(|print| print.program == program);
        let figure = known.map(|print| if number == 1 { &print.first } else { &print.hundredth });
        if let Some(reading) = figure.and_then(|figure| Reading::of(figure.samples.clone())) {
            evidence.insert(quantity, reading);
        } else {
            let why = missing.iter().map(|missing| format!("{}: {}", missing.name, missing.reason));
            let why = why.collect::<Vec<_>>().join("; ");
            let why = if why.is_empty() { "it reported no figure".to_owned() } else { why };
            evidence.lack(quantity, Lack::because(format!("`{program}` was not timed: {why}")));
        }
    }
}

/// Designs that print lines: whether their output is right, and their times.
pub fn lines(evidence: &mut ClaimEvidence, needs: &Needs, documents: &[ThroughputDocument]) {
    for quantity in needs.quantities() {
        let (Quantity::Lines { design, .. } | Quantity::Right(design)) = quantity else { continue };
        if let Some(skip) = documents.iter().flat_map(|d| &d.skipped).find(|skip| skip.name == design) {
            let reason = format!("`{design}`: {}", skip.reason);
            evidence.lack(quantity, Lack { reason, install: skip.install.clone() });
            continue;
        }
        let wrong =
            documents.iter().flat_map(|document| &document.wrong).find(|wrong| wrong.design == design);
        let timed = documents.iter().flat_map(|document| &document.results).any(|row| row.design == design);
        match quantity {
            Quantity::Right(_) if wrong.is_some() || timed => {
                evidence.insert(quantity, Reading::exact(if wrong.is_none() { 1.0 } else { 0.0 }));
            }
            Quantity::Lines { count, .. } => {
                let row = documents.iter().find_map(|document| document.find(SINK, design, count));
                let taken = row.map(|row| row.times_ns.iter().map(|ns| *ns as f64).collect());
                match taken.and_then(Reading::of) {
                    Some(reading) => evidence.insert(quantity, reading),
                    None => {
                        evidence.lack(quantity, Lack::because(untimed(design, wrong.map(|w| &*w.reason))));
                    }
                }
            }
            _ => {}
        }
    }
}

fn untimed(design: &str, wrong: Option<&str>) -> String {
    match wrong {
        Some(reason) => format!("`{design}` was not timed: {reason}"),
        None => format!("`{design}` did not print this many lines in this run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ProcessorTime;
    use crate::claims::quantity::user;
    use crate::claims::select;
    use crate::corpus::SkipCause;
    use firstbyte_measure::units::Nanos;

    #[test]
    fn user_time_is_that_of_traced_runs_and_a_program_without_them_says_why() {
        let needs = Needs::of(&select(&["004-daemon-not-scored".to_owned()]).unwrap());
        let traced = |user| ProcessorTime { user: Nanos(user), scored: Nanos(90), burnt: Nanos(90) };
        let burnt = Series {
            name: "burn-c".to_owned(),
            processor: vec![(0, traced(20)), (1, traced(30)), (2, traced(40))],
            ..Series::default()
        };
        let undivided = Some("only --backend bpf sees how long user code ran".to_owned());
        let daemon = Series { name: "burn-daemon-c".to_owned(), undivided, ..Series::default() };

        let mut evidence = ClaimEvidence::default();
        user_times(&mut evidence, &needs, &[burnt, daemon]);
        let reading = evidence.evaluate(&user("burn-c")).unwrap();
        assert_eq!((reading.value, reading.low, reading.high), (30.0, 20.0, 40.0));
        let lack = evidence.evaluate(&user("burn-daemon-c")).unwrap_err();
        assert!(lack.reason.ends_with("only --backend bpf sees how long user code ran"), "{}", lack.reason);
    }

    #[test]
    fn a_missing_program_is_named_with_the_command_that_installs_it() {
        let claims = select(&["000-hundredfold".to_owned()]).unwrap();
        let needs = Needs::of(&claims);
        let mut evidence = ClaimEvidence::default();
        let skip = SkippedProgram {
            name: "java".to_owned(),
            cause: SkipCause::ToolMissing,
            reason: "`java` is not in PATH".to_owned(),
            install: Some("apt-get install default-jdk-headless".to_owned()),
        };
        skipped(&mut evidence, &needs, &[skip]);
        let judgement = crate::claims::judge(&claims[0], &evidence);
        assert_eq!(judgement.verdict, crate::document::claims::ClaimVerdict::CannotBeTested);
        assert_eq!(judgement.why, "`java`: `java` is not in PATH");
        assert_eq!(judgement.install.as_deref(), Some("apt-get install default-jdk-headless"));
    }
}
