//! What a reader must know before believing an account: sentences for the text below it.

use super::findings::{self, Finding};
use super::summary::Summary;
use super::trace_analysis::TraceAnalysis;
use crate::document::bench::{ColdMethod, ColdRuns, MIN_BLOCKS, Severity, Warning};
use crate::stats;
use firstbyte_measure::launch::{ExitStatus, Until};
use firstbyte_measure::units::{Bytes, Nanos, display_nanos};

/// The text around an account.
#[derive(Clone, Debug, Default)]
pub struct TraceNotes {
    /// The command, as one would type it in a shell.
    pub command: String,
    /// How the runs ended, unless they ended well by themselves, and the end of their stderr: a line each.
    pub ending: Vec<String>,
    /// Every serious warning, a line each.
    pub urgent: Vec<String>,
    pub warnings: Vec<Warning>,
    /// How it was observed, and what was not seen: a line each.
    pub notes: Vec<String>,
    /// The total of which the findings are parts, if that is not the total that is shown.
    pub findings_of: Option<Nanos>,
    /// Those within others follow them.
    pub findings: Vec<FindingText>,
    /// The total without the observer overhead, in nanoseconds.
    pub corrected_total: Option<f64>,
}

/// A finding in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingText {
    pub finding: Finding,
    /// `1.`, or a dash for a part of the finding before it.
    pub mark: String,
    /// A paragraph.
    pub text: String,
    /// The command that tries what removes the cause; `None`: no such way is known.
    pub tune: Option<String>,
}

impl FindingText {
    /// The paragraph behind its mark.
    pub fn marked(&self) -> String {
        format!("{} {}", self.mark, self.text)
    }

    /// The command as a sentence.
    pub fn attempt(&self) -> Option<String> {
        self.tune.as_ref().map(|tune| format!("Try it: {tune}"))
    }

    /// All of it.
    pub fn shown(&self) -> String {
        [self.marked()].into_iter().chain(self.attempt()).collect::<Vec<_>>().join(" ")
    }
}

impl TraceNotes {
    /// Of runs that were just made.
    pub fn of(analysis: &TraceAnalysis, command: String) -> TraceNotes {
        let tracer = &analysis.tracer;
        let warnings = warnings(analysis);
        let mut urgent = analysis.caveats.clone();
        urgent.extend(interruption(analysis));
        urgent.extend(in_words(&warnings, Severity::Serious));
        urgent.extend(findings::busy(&analysis.summary));

        let mut notes: Vec<String> = analysis.observed.cold.as_ref().map(coldness).into_iter().collect();
        notes.push(format!("Observed by {}: it {}.", tracer.backend.name(), tracer.reason));
        notes.extend(in_words(&warnings, Severity::Minor));
        notes.extend(analysis.cpuid.err().map(|reason| {
            format!(
                "Its CPUID instructions, which trap on this virtual machine, could not be counted: {reason}. No \
                 finding gives their cost; that of dynamic linking may contain it."
            )
        }));
        notes.extend(findings::note(&analysis.summary, &analysis.machine()));
        notes.extend(overhead(analysis));
        notes.extend(sampling(analysis));
        notes.extend(analysis.summary.user_code.iter().flat_map(|code| code.notes.iter().cloned()));
        notes.extend(reports(analysis));
        notes.push(executions(analysis));

        let findings = sentences(analysis);
        let findings_of = findings_of(&analysis.summary);
        let corrected_total = analysis.corrected_total();
        let ending = ending(analysis);
        TraceNotes { command, ending, urgent, warnings, notes, findings_of, findings, corrected_total }
    }

    /// Of a recording. `notes`: what is known of it.
    pub fn of_recording(analysis: &TraceAnalysis, notes: impl IntoIterator<Item = String>) -> TraceNotes {
        let recording = analysis.observed.recordings.first();
        let note = findings::note(&analysis.summary, &analysis.machine());
        TraceNotes {
            command: recording.map(|recording| shell_words::join(&recording.command)).unwrap_or_default(),
            ending: Vec::new(),
            urgent: notes
                .into_iter()
                .chain(analysis.caveats.clone())
                .chain(unsampled(&analysis.summary))
                .chain(findings::busy(&analysis.summary))
                .collect(),
            warnings: Vec::new(),
            notes: note.into_iter().collect(),
            findings_of: findings_of(&analysis.summary),
            findings: sentences(analysis),
            corrected_total: None,
        }
    }

    /// The title above the findings.
    pub fn findings_title(&self) -> String {
        match self.findings_of {
            Some(total) => format!("Findings, % of the median total, {total}"),
            None => "Findings".to_owned(),
        }
    }
}

/// The total of which findings are parts, where that is not the total above: of several runs, that is a mean.
pub fn findings_of(summary: &Summary) -> Option<Nanos> {
    (summary.runs > 1).then_some(summary.median_run.total)
}

/// The findings in words, numbered, with the parts of each below it.
pub fn sentences(analysis: &TraceAnalysis) -> Vec<FindingText> {
    let total = analysis.summary.explained_total();
    let mut number = 0;
    let in_words = |finding: Finding| {
        number += usize::from(finding.within.is_none());
        let mark = if finding.within.is_some() { "   -".to_owned() } else { format!("{number}.") };
        FindingText { mark, text: finding.sentence(total), tune: None, finding }
    };
    analysis.findings().into_iter().map(in_words).collect()
}

/// What a reader of a difference must know of one side.
pub fn side_notes(analysis: &TraceAnalysis) -> Vec<String> {
    let warnings = in_words(&warnings(analysis), Severity::Serious);
    let runs = ending(analysis).into_iter().chain(interruption(analysis));
    runs.chain(warnings).collect()
}

/// What makes the figures less certain.
fn warnings(analysis: &TraceAnalysis) -> Vec<Warning> {
    let observed = &analysis.observed;
    let rejected =
        observed.rejected.iter().map(|reason| Warning::serious(format!("a run did not count: {reason}")));
    let faults = "page faults are not seen here; their time is part of the user code and the calls";
    let faults = (!analysis.tracer.sees_faults).then(|| Warning::minor(faults));

    let mut warnings = changed_by_tracing(analysis);
    warnings.extend(rejected);
    warnings.extend(observed.interference.iter().cloned());
    warnings.extend(faults);
    warnings
}

/// Those of a severity, a sentence each.
fn in_words(warnings: &[Warning], severity: Severity) -> Vec<String> {
    let sentence = |warning: &Warning| {
        let text = warning.to_string();
        let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}.", first.to_uppercase())
    };
    warnings.iter().filter(|warning| warning.severity == severity).map(sentence).collect()
}

/// How the runs ended, unless they ended well by themselves.
fn ending(analysis: &TraceAnalysis) -> Vec<String> {
    if let Some(until) = &analysis.observed.until {
        let moment = match until {
            Until::FirstByte => "at its first byte of output".to_owned(),
            Until::Text(text) => format!("when it printed `{}`", String::from_utf8_lossy(text)),
            Until::Port(port) => format!("when something listened on port {port}"),
            Until::Ready => "when the program said that it is ready".to_owned(),
            Until::Mark(name) => format!("at its mark `{name}`"),
        };
        return vec![format!("Each run ended {moment}; then the program was stopped.")];
    }
    let last = analysis.stderr.iter().map(|line| format!("  stderr: {line}"));
    failure(analysis.exit).into_iter().chain(last).collect()
}

/// What a cold run is.
fn coldness(cold: &ColdRuns) -> String {
    let done = match cold.method {
        ColdMethod::Copies => format!(
            "Cold page cache: {} files ({}) were evicted before each traced run.",
            cold.files,
            Bytes(cold.bytes)
        ),
        ColdMethod::DropCaches => {
            "Cold page cache: it was dropped before each traced run, except for pages in use.".to_owned()
        }
    };
    let doubt = cold.doubt.as_ref().map_or(String::new(), |doubt| {
        format!(" Some files may have stayed warm: in the run that looked for them, {doubt}.")
    });
    done + &doubt
}

/// Commands have side effects, so the reader learns how often this one was executed.
pub fn executions(analysis: &TraceAnalysis) -> String {
    let traced = analysis.observed.recordings.len();
    let code = analysis.summary.user_code.as_ref();
    let sampled = code.map_or(String::new(), |code| format!(", {} sampled", code.runs));
    match analysis.executions() {
        1 => "The command was executed once.".to_owned(),
        all if all == traced as u64 => format!("The command was executed {all} times, always traced."),
        all => format!(
            "The command was executed {all} times: {traced} traced{sampled}, the others untraced or to warm up."
        ),
    }
}

pub fn failure(exit: ExitStatus) -> Option<String> {
    (!exit.success()).then(|| format!("The program {}.", exit.ending()))
}

/// What ptrace changes for a program besides its speed.
fn changed_by_tracing(analysis: &TraceAnalysis) -> Vec<Warning> {
    if !analysis.tracer.backend.stops_tracee() {
        return Vec::new();
    }
    let rights = analysis.observed.rights.map(|rights| {
        Warning::serious(format!("it ran without {rights}: a program under ptrace gets none"))
            .with_help("as root, it keeps them with the bpf backend")
    });
    let ends_by_itself = analysis.observed.until.is_none();
    let untraced = analysis.observed.untraced_exit.filter(|exit| ends_by_itself && *exit != analysis.exit);
    let other_end = untraced.map(|exit| {
        let message = format!(
            "untraced it {}: a program under ptrace gets no rights from a set-user-ID bit, and cannot trace others",
            exit.ending()
        );
        Warning::serious(message).with_help("`firstbyte bench --backend pipe` runs it untraced")
    });
    rights.into_iter().chain(other_end).collect()
}

fn interruption(analysis: &TraceAnalysis) -> Option<String> {
    let interrupted = || "Interrupted: fewer runs than planned were made.".to_owned();
    analysis.observed.interrupted.then(interrupted)
}

/// How the functions of user code are known, or why they are not.
fn sampling(analysis: &TraceAnalysis) -> Option<String> {
    if let Some(error) = &analysis.unsampled {
        let error = error.to_string();
        let (cause, help) = error.split_once("\nhelp: ").unwrap_or((&error, ""));
        let allowed = if help.is_empty() { String::new() } else { format!(" This allows it: {help}") };
        return Some(format!("The functions of user code are not known: {cause}.{allowed}"));
    }
    let code = analysis.summary.user_code.as_ref()?;
    let measured = code.overhead.filter(|overhead| overhead.pairs >= MIN_BLOCKS);
    let overhead = measured.map_or(String::new(), |overhead| {
        format!(
            " A sampled run takes {:.3} ({:.2} to {:.2}) times as long as an untraced one.",
            overhead.ratio, overhead.interval.low, overhead.interval.high
        )
    });
    let runs = if code.runs == 1 { "one run".to_owned() } else { format!("{} runs", code.runs) };
    let lost = match code.lost {
        0 => String::new(),
        lost => format!(" {lost} more were lost."),
    };
    let samples = if code.samples == 1 { "1 sample".to_owned() } else { format!("{} samples", code.samples) };
    let too_few =
        if code.divided.functions.is_empty() { " These are too few to name functions." } else { "" };
    Some(format!(
        "User code: {samples} in {runs}, one for every {} of processor time.{too_few}{lost}{overhead}",
        code.period
    ))
}

/// That a recording does not say which code runs, where that is the main cost.
fn unsampled(summary: &Summary) -> Option<String> {
    let user = findings::user_code_alone(&summary.median_run)?;
    Some(format!(
        "User code takes {user}, {:.0} % of the total. A recording has no samples, so no finding names this code. help: trace \
         the command itself",
        100.0 * user.as_f64() / summary.explained_total().as_f64().max(1.0)
    ))
}

/// What it cost to ask the language runtimes, or why their reports do not count.
fn reports(analysis: &TraceAnalysis) -> Option<String> {
    let reports = match analysis.reports.as_ref()? {
        Ok(reports) => reports,
        Err(reason) => {
            return Some(format!(
                "What the language runtimes report of their loads does not count: {reason}."
            ));
        }
    };
    let names: Vec<&str> = reports.texts.iter().map(|(runtime, _)| runtime.name()).collect();
    let [with, without] = reports.runs.map(|run| run.wall);
    let misread = match analysis.misread_lines {
        0 => String::new(),
        1 => " 1 line of the reports could not be read.".to_owned(),
        lines => format!(" {lines} lines of the reports could not be read."),
    };
    (!names.is_empty()).then(|| {
        format!(
            "In one more run, environment variables asked {} to report its loads. That run took {with}, the same run without \
             the question {without}. Both ended and printed alike.{misread}",
            names.join(" and ")
        )
    })
}

fn overhead(analysis: &TraceAnalysis) -> Option<String> {
    let Some(overhead) = analysis.overhead() else {
        let left_out = analysis.observed.overhead_wanted && analysis.observed.cold.is_none();
        let text = "Observer overhead: not measured, because the command takes long. --runs 12 measures it.";
        return left_out.then(|| text.to_owned());
    };
    let median = |values: &[f64]| stats::median(&stats::quantile::sorted(values)?);
    let each = analysis.costs.map_or(String::new(), |costs| {
        format!(
            " By calibration, a system call costs {:.0} ns more, a page fault {:.0} ns, another event {:.0} ns.",
            costs.each.syscall.total(),
            costs.each.fault.total(),
            costs.other
        )
    });
    if overhead.pairs < MIN_BLOCKS {
        let needed = "too few blocks of runs were made for a figure (about 12 runs are needed)";
        return Some(format!("Observer overhead: {needed}.{each}"));
    }

    let (low, high) = (overhead.interval.low, overhead.interval.high);
    let corrected = analysis.summary.recorded.map_or(String::new(), |recorded| {
        format!(" It is subtracted from all times: {} were recorded.", display_nanos(recorded))
    });
    Some(format!(
        "Observer overhead: {:.3} ({low:.2} to {high:.2}) times as long as untraced, from launch to reaping ({} against {}, \
         medians of {} interleaved runs each).{corrected}{each}",
        overhead.ratio,
        display_nanos(median(&analysis.observed.traced)?),
        display_nanos(median(&analysis.observed.untraced)?),
        analysis.observed.untraced.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::runs::{Along, ObservedRuns};
    use crate::analysis::trace_analysis::UsedTracer;
    use firstbyte_measure::tracer::{Backend, replay};

    fn analysed() -> TraceAnalysis {
        let bytes = include_bytes!("../../tests/recordings/small.jsonl");
        let recording = replay::read("small", bytes.as_slice()).unwrap().recording;
        let observed =
            ObservedRuns { recordings: vec![recording], rounds: vec![0], ..ObservedRuns::default() };
        let tracer = UsedTracer { backend: Backend::Bpf, reason: String::new(), sees_faults: true };
        TraceAnalysis::of("small", observed, tracer, Along::CriticalPath, None).unwrap()
    }

    #[test]
    fn runs_that_did_not_count_and_faults_that_are_not_seen_are_warned_of() {
        let mut analysis = analysed();
        assert!(warnings(&analysis).is_empty());
        analysis.observed.rejected.push("it ended with exit status 3".to_owned());
        analysis.tracer.sees_faults = false;
        let all = warnings(&analysis);
        let said: Vec<(Severity, &str)> = all.iter().map(|it| (it.severity, &it.message[..15])).collect();
        assert_eq!(said, [(Severity::Serious, "a run did not c"), (Severity::Minor, "page faults are")]);
        assert_eq!(in_words(&all, Severity::Serious), ["A run did not count: it ended with exit status 3."]);
    }

    #[test]
    fn findings_of_several_runs_say_of_which_total_they_are_parts() {
        let one = analysed().summary;
        let run = one.median_run.clone();
        let several = Summary::of(vec![run.clone(), run.clone()]).unwrap();
        let title = |summary: &Summary| {
            TraceNotes { findings_of: findings_of(summary), ..TraceNotes::default() }.findings_title()
        };
        assert_eq!(title(&one), "Findings");
        assert_eq!(title(&several), format!("Findings, % of the median total, {}", run.total));
    }
}
