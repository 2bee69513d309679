//! A bench for a terminal: the times, phases and counts of each command, then what a reader looks for first, where a
//! terminal shows it: the phases as bars, and the comparison.

use super::mark_bars;
use super::phase_bars;
use super::side_by_side;
use super::sparkline::{MIN_SAMPLES, sparkline};
use super::terminal::{Terminal, columns, flowed, truncated_paths};
use crate::document::Document;
use crate::document::bench::{
    Cache, ColdMethod, ColdRuns, Distribution, Measurement, MedianCounts, Metric, Ratio, Relative,
};
use crate::document::named_span::NamedSpan;
use crate::document::processor_time::DIVIDED_BY_TICKS;
use crate::document::residence::{FileRole, ResidentPart};
use crate::document::series::Finish;
use crate::output::visible;
use crate::report::metrics;
use crate::report::phase_row::PhaseRow;
use crate::report::pictures::charts::name as name_among;
use crate::report::row::{self, fine_ratio, percent};
use crate::report::text::head::head;
use crate::report::text::lists::{failed, list, notes, skipped};
use crate::report::words::{count_of, runs};
use crate::stats::{Verdict, median_count};
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::{Bytes, display_count, display_nanos};
use std::iter;

/// All of the results.
pub fn render(document: &Document, terminal: &Terminal) -> String {
    let mut parts = vec![head(document, terminal)];
    parts.extend(document.results.iter().map(|measurement| result(document, measurement, terminal)));
    parts.push(notes(document, terminal));
    parts.push(list("Warnings", document.warnings.iter().map(ToString::to_string), terminal));
    parts.push(executions(document, terminal));
    parts.push(skipped(document, terminal));
    parts.push(failed(document, terminal));
    parts.push(bars(document, terminal));
    parts.push(mark_bars::render(document, terminal));
    parts.extend(side_by_side::render(&row::ranking(document), terminal));
    parts.push(summary(document, terminal));
    parts.retain(|part| !part.is_empty());
    let page = parts.join("\n");
    let lines: Vec<&str> = page.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

/// One command: its name, and a line for each chosen metric or for each kind of figure.
fn result(document: &Document, measurement: &Measurement, terminal: &Terminal) -> String {
    let mut text = terminal.bold(&truncated_paths(&title(measurement), terminal.width)) + "\n";
    let chosen = metrics::lines(document, measurement);
    let lines = if chosen.is_empty() { usual(measurement) } else { chosen };

    let width = lines.iter().map(|(label, _)| label.len() + 2).max().unwrap_or(0).max(12);
    for (label, figures) in lines {
        let room = terminal.width.saturating_sub(width + 2);
        let figures: Vec<String> = figures.lines().map(|line| whole_parts(line, room)).collect();
        let figures = figures.join("\n");
        let text_of =
            |label: &str, line: &str| terminal.wrap(&format!("  {label:<width$}{line}"), width + 2) + "\n";
        let labels = iter::once(label).chain(iter::repeat(""));
        text.extend(labels.zip(figures.lines()).map(|(label, line)| text_of(label, line)));
    }
    text
}

/// Figures in lines of at most `width` columns, broken where they have three spaces: a range stays in one line. A picture of
/// samples has such spaces itself, and is left as it is.
fn whole_parts(figures: &str, width: usize) -> String {
    if columns(figures) <= width || figures.contains('█') {
        return figures.to_owned();
    }
    let parts: Vec<(String, String)> =
        figures.split("   ").map(|part| (part.to_owned(), part.to_owned())).collect();
    flowed(&parts, width)
}

/// The usual figures, each with its label.
fn usual(measurement: &Measurement) -> Vec<(&'static str, String)> {
    let lines = [
        ("first byte", first_byte(measurement)),
        ("total", measurement.phases.total.as_ref().map(times)),
        ("samples", samples(measurement)),
        ("wall", measurement.phases.total.is_none().then(|| wall(measurement))),
        ("within", within(measurement)),
        ("phases", phases(measurement)),
        ("marks", marks(measurement)),
        ("above", above(measurement)),
        ("CPU", cpu(measurement)),
        ("scored", scored(measurement)),
        ("counts", counts(measurement)),
        ("counters", counters(&measurement.counts)),
        ("cold", measurement.cold.as_ref().map(cold)),
        ("in memory", in_memory(&measurement.resident)),
        ("runs", Some(measurement.times.len().to_string())),
    ];
    lines.into_iter().filter_map(|(label, figures)| Some((label, figures?))).collect()
}

fn title(measurement: &Measurement) -> String {
    let name = visible(measurement.label());
    let cache = measurement.cache.filter(|cache| *cache == Cache::Cold);
    let line = measurement.command_line();
    let command = (!measurement.label().contains(line)).then(|| visible(line));
    let command = command.map_or(String::new(), |command| format!(": {command}"));
    format!("{name}{command}{}", cache.map_or("", |_| " (cold page cache)"))
}

fn first_byte(measurement: &Measurement) -> Option<String> {
    let silent = || measurement.prints_nothing().then(|| "it prints nothing".to_owned());
    measurement.phases.first_byte.as_ref().map(times).or_else(silent)
}

/// The median with half of its interval, and the range. One run has neither.
fn times(times: &Distribution) -> String {
    if times.samples.len() < 2 {
        return display_nanos(times.median);
    }
    let half = (times.high - times.low) / 2.0;
    let percent = if times.median > 0.0 { half / times.median * 100.0 } else { 0.0 };
    let [median, mean, min, max] = [times.median, times.mean, times.min, times.max].map(display_nanos);
    format!("{median} ± {percent:.1} %   mean {mean}   {min} … {max}")
}

/// The columns of the picture of the samples.
const SHAPE: usize = 20;

/// The samples of the first byte, or else of the total, from the shortest to the 95th percentile. Without the few slow
/// ones, the others have a shape.
fn samples(measurement: &Measurement) -> Option<String> {
    let times = measurement.ranked().filter(|times| times.samples.len() >= MIN_SAMPLES)?;
    let values: Vec<f64> = times.samples.iter().map(|ns| *ns as f64).collect();
    let picture = sparkline(&values, [times.min, times.p95], SHAPE);
    Some(format!("{} {picture} {} (95 % of the runs)", display_nanos(times.min), display_nanos(times.p95)))
}

/// The share of the runs below the threshold.
fn within(measurement: &Measurement) -> Option<String> {
    let below = measurement.share_below?;
    let of = below.of.name();
    Some(format!(
        "{}: the {of} of {} of the runs",
        display_nanos(below.threshold_ns as f64),
        percent(below.share)
    ))
}

fn wall(measurement: &Measurement) -> String {
    let [median, min, max] =
        [measurement.median, measurement.min, measurement.max].map(|seconds| display_nanos(seconds * 1e9));
    if measurement.times.len() == 1 {
        return median;
    }
    format!("{median}   {min} … {max}")
}

fn phases(measurement: &Measurement) -> Option<String> {
    let known = Phase::ALL.into_iter().filter_map(|phase| {
        let times = measurement.phases.get(phase)?;
        // a run that ends before it prints anything ends with its setup
        let is_empty = phase == Phase::Teardown && ends_early(measurement) && times.max == 0.0;
        (!is_empty).then(|| format!("{} {}", phase_name(phase, measurement), display_nanos(times.median)))
    });
    joined(known)
}

fn ends_early(measurement: &Measurement) -> bool {
    measurement.plan.get("until").is_some_and(|until| !until.is_null())
}

/// What follows the first byte of a run that ends at a text is not its teardown, and a write that was not seen is a part of the
/// setup.
fn phase_name(phase: Phase, measurement: &Measurement) -> &'static str {
    match phase {
        Phase::Teardown if ends_early(measurement) => "until ready",
        Phase::Setup if measurement.unseen_write.is_some() => "setup and write",
        _ => phase.name(),
    }
}

/// The columns to which the names of parts are filled up.
const NAMES: usize = 24;

/// The parts that have a name, a line each.
fn marks(measurement: &Measurement) -> Option<String> {
    let titles: Vec<String> = measurement.marks.iter().map(|span| visible(&span.title())).collect();
    let width = titles.iter().map(|title| columns(title)).max().unwrap_or(0).min(NAMES);
    let line = |(span, title): (&NamedSpan, &String)| {
        let against = span.relative.as_ref().map(|r| format!("   {}", verdict(&r.ratio, r.verdict)));
        let gap = " ".repeat(width.saturating_sub(columns(title)));
        format!("{title}{gap}   {}{}", times(&span.times), against.unwrap_or_default())
    };
    let lines: Vec<String> = measurement.marks.iter().zip(&titles).map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn above(measurement: &Measurement) -> Option<String> {
    joined(measurement.above.iter().map(|above| {
        let [median, low, high] = [above.median, above.low, above.high].map(display_nanos);
        let interval =
            if measurement.times.len() > 1 { format!(" ({low} to {high})") } else { String::new() };
        format!("{} {median}{interval} more than `{}`", above.of.name(), visible(&above.baseline))
    }))
}

/// A short time that the kernel divided is not shown in parts: a program of 134 µs had 160 µs of user time.
fn cpu(measurement: &Measurement) -> Option<String> {
    let all = measurement.cpu()?;
    let parts = measurement.user.zip(measurement.system);
    let parts = parts.filter(|_| measurement.processor.is_some() || all >= DIVIDED_BY_TICKS);
    let shown = |seconds: f64| display_nanos(seconds * 1e9);
    let Some((user, system)) = parts else {
        let default = "it is too short for the ticks by which the kernel divides it";
        let why = measurement.undivided.as_deref().unwrap_or(default);
        return Some(format!("{} (mean; not divided: {})", shown(all), visible(why)));
    };

    let source = match &measurement.processor {
        Some(times) => format!("user time of {}", runs_traced(times.user.samples.len())),
        None => "from the kernel".to_owned(),
    };
    Some(format!("user {}, system {} (means, {source})", shown(user), shown(system)))
}

fn runs_traced(runs: usize) -> String {
    format!("{runs} traced run{}", if runs == 1 { "" } else { "s" })
}

/// What a parent is charged for, where processes that nobody waited for took more.
fn scored(measurement: &Measurement) -> Option<String> {
    let times = measurement.processor.as_ref().filter(|times| times.is_partly_others())?;
    let [scored, burnt] = [&times.scored, &times.burnt].map(|times| display_nanos(times.median));
    Some(format!("{scored} of {burnt} burnt: the rest is of processes that it did not wait for"))
}

fn counts(measurement: &Measurement) -> Option<String> {
    let of = |[one, several]: [&str; 2], count: Option<u64>| {
        count.map(|count| format!("{count} {}", if count == 1 { one } else { several }))
    };
    let counts = &measurement.counts;
    let each = [
        of(["process", "processes"], counts.processes.filter(|n| *n > 1)),
        of(["thread", "threads"], counts.threads.filter(|n| *n > 1)),
        of(["exec", "execs"], counts.execs.filter(|n| *n > 1)),
        of(["system call", "system calls"], counts.syscalls),
        of(["context switch", "context switches"], median_count(measurement.context_switches.clone())),
        of(["page fault", "page faults"], counts.page_faults),
        of(["major fault", "major faults"], counts.major_faults.filter(|n| *n > 0)),
        of(["file opened", "files opened"], counts.files_opened),
        of(["failed open", "failed opens"], counts.failed_opens.filter(|n| *n > 0)),
        counts.bytes_read.map(|bytes| format!("{} read", Bytes(bytes))),
        measurement.rss().map(|bytes| format!("{} RSS", Bytes(bytes))),
    ];
    joined(each.into_iter().flatten())
}

/// The program's own, and the kernel's on its behalf.
fn counters(counts: &MedianCounts) -> Option<String> {
    let each = [
        ("instructions", counts.instructions, counts.instructions_kernel),
        ("cycles", counts.cycles, counts.cycles_kernel),
        ("branch misses", counts.branch_misses, counts.branch_misses_kernel),
        ("cache misses", counts.cache_misses, counts.cache_misses_kernel),
    ];
    joined(each.into_iter().filter_map(|(name, user, kernel)| {
        let compact = |count: u64| display_count(count as f64);
        let kernel = kernel.map_or(String::new(), |kernel| format!(" + {} kernel", compact(kernel)));
        Some(format!("{}{kernel} {name}", compact(user?)))
    }))
}

fn cold(cold: &ColdRuns) -> String {
    let done = match cold.method {
        ColdMethod::Copies => {
            format!(
                "{} files ({}) evicted, none of their pages in memory when a run began",
                cold.files,
                Bytes(cold.bytes)
            )
        }
        ColdMethod::DropCaches => {
            "the page cache was dropped before each run, except for pages in use; nothing is proven"
                .to_owned()
        }
    };

    let middle = |counts: &Vec<u64>| median_count(counts.clone()).unwrap_or_default();
    let (faults, bytes) = (middle(&cold.major_faults), Bytes(middle(&cold.bytes_from_disk)));
    let memory = match &cold.in_memory[..] {
        [] => String::new(),
        [first] => format!("; always in memory: {}", visible(first)),
        [first, more @ ..] => format!("; always in memory: {} and {} more", visible(first), more.len()),
    };
    format!("{done}; {faults} faults waited for the disk, {bytes} came from it{memory}")
}

/// What of its files was in memory before a run, in pages.
fn in_memory(resident: &[ResidentPart]) -> Option<String> {
    joined(resident.iter().map(|part| {
        let name = match part.role {
            FileRole::Others => {
                count_of(usize::try_from(part.files).unwrap_or(usize::MAX), "other", "others")
            }
            role => role.name().to_owned(),
        };
        format!("{name} {} of {} pages", part.resident, part.pages)
    }))
}

fn joined(parts: impl Iterator<Item = String>) -> Option<String> {
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The phases of every command; empty if the backend sees none.
fn bars(document: &Document, terminal: &Terminal) -> String {
    let all: Vec<&Measurement> = document.results.iter().collect();
    let row = |m: &&Measurement| PhaseRow::measured(m, visible(&name_among(m, &all)));
    let rows: Vec<PhaseRow> = all.iter().filter_map(row).collect();
    let widest = rows.iter().map(|row| columns(&row.name)).max().unwrap_or(0);
    phase_bars::render(&rows, widest.min(terminal.width / 3).max(4), terminal)
}

/// The comparison with the reference, the fastest first, and why there were no more runs.
fn summary(document: &Document, terminal: &Terminal) -> String {
    let by = document.compared_by();
    let mut compared: Vec<(&Measurement, &Relative)> =
        document.results.iter().filter_map(|m| Some((m, m.relative_by(by)?))).collect();
    compared.sort_by(|a, b| a.1.ratio.ratio.total_cmp(&b.1.ratio.ratio));
    // programs without it are compared by another metric, which their lines then name
    let titled = compared.iter().map(|(_, relative)| relative.of).find(|of| *of == by);
    let titled = titled.or_else(|| compared.first().map(|(_, relative)| relative.of)).unwrap_or(by);
    let all: Vec<&Measurement> = document.results.iter().collect();
    let shown = |(m, relative): &(&Measurement, &Relative)| {
        let is_titled = relative.of == titled;
        let other = if is_titled { String::new() } else { format!(", {}", plural(relative.of)) };
        format!("`{}`: {}{other}", name_among(m, &all), verdict(&relative.ratio, relative.verdict))
    };
    let mut lines: Vec<String> = compared.iter().map(shown).collect();
    if let Some((_, first)) = compared.first() {
        let title = format!("compared with `{}`, {} of interleaved runs:", first.reference, plural(titled));
        lines.insert(0, title);
    }
    lines.extend(document.finish.and_then(|finish| ending(finish, document)));
    list("Summary", lines.into_iter(), terminal)
}

/// Everything that was run, and not only what is in the figures.
fn executions(document: &Document, terminal: &Terminal) -> String {
    let samples: usize = document.results.iter().map(|m| m.times.len()).sum();
    let text = |executions: u64| {
        let times = if executions == 1 { "once".to_owned() } else { format!("{executions} times") };
        if executions == samples as u64 {
            return format!("Programs were executed {times}.");
        }
        format!(
            "Programs were executed {times}: {samples} measured, the others to warm up, to compare and to count."
        )
    };
    document.executions.map_or(String::new(), |executions| terminal.wrap(&text(executions), 0) + "\n")
}

fn plural(metric: Metric) -> &'static str {
    match metric {
        Metric::FirstByte => "first bytes",
        Metric::Total => "totals",
        Metric::User => "user times",
        Metric::Region => "regions",
    }
}

fn verdict(r: &Ratio, verdict: Verdict) -> String {
    let range = match r.pairs {
        1 => format!("{} ×, 1 pair", fine_ratio(r.ratio)),
        pairs => format!(
            "{} × ({} to {}, 99 %, {pairs} pairs)",
            fine_ratio(r.ratio),
            fine_ratio(r.low),
            fine_ratio(r.high)
        ),
    };
    let verdict = match verdict {
        Verdict::CantTell if r.pairs < crate::stats::comparing::MIN_PAIRS => {
            "can't tell: too few runs".to_owned()
        }
        verdict => verdict.to_string(),
    };
    format!("{verdict}, {range}")
}

fn ending(finish: Finish, document: &Document) -> Option<String> {
    let most = document.results.iter().map(|m| m.times.len()).max()?;
    let each = runs(most);
    let Some(widest) = widest(document) else {
        return (finish == Finish::TimeSpent)
            .then(|| format!("{each} of each: the time was up (increase it with --time)"));
    };

    Some(match finish {
        Finish::AsPlanned => return None,
        Finish::Precise => {
            format!("{each} of each: every median is precise to ±{widest:.1} %, as requested")
        }
        Finish::TimeSpent => {
            format!(
                "{each} of each: the time was up, with medians precise to ±{widest:.1} % (increase it with --time)"
            )
        }
        Finish::MostRuns => {
            format!(
                "{each} of each, the maximum, with medians precise to ±{widest:.1} % (increase it with --max-runs)"
            )
        }
    })
}

/// The widest half interval of the medians, in percent.
fn widest(document: &Document) -> Option<f64> {
    let all = document.results.iter().flat_map(|m| [&m.phases.first_byte, &m.phases.total]).flatten();
    all.filter(|d| d.median > 0.0 && d.samples.len() > 1)
        .map(|d| (d.high - d.low) / 2.0 / d.median * 100.0)
        .max_by(f64::total_cmp)
}
