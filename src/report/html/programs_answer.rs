//! What a file of measured programs says first.

use super::bars::Scale;
use super::block::{BarRow, Bars, PageBlock};
use super::forest::{figures, forest};
use crate::document::Document;
use crate::document::bench::{Cache, Measurement, Metric, Relative};
use crate::output::visible;
use crate::report::phase_row::PhaseRow;
use crate::report::pictures::charts::rows;
use crate::report::row::{percent, ranking};
use crate::report::words::count_of;
use crate::stats::Verdict;
use firstbyte_measure::units::display_nanos;

/// With more programs than this, the sentence counts verdicts and names nobody.
const NAMED: usize = 3;

/// The maximum number of programs in the first picture.
const MAX_PROGRAMS: usize = 40;

/// The sentence, the phases as bars, and the verdicts.
pub(super) fn blocks(document: &Document) -> Vec<PageBlock> {
    let conditions = ranking(document);
    let all: Vec<&Measurement> = conditions.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    let (several, by) = (conditions.len() > 1, document.compared_by());
    let mut sentences: Vec<String> =
        conditions.iter().map(|(cache, rows)| sentence(cache.filter(|_| several), rows, by)).collect();
    if all.is_empty() {
        sentences.push("No program was measured.".to_owned());
    }
    sentences.extend(left_out(document));

    let mut blocks = vec![PageBlock::Answer { text: sentences.join(" ") }];
    blocks.extend(phases(&all));
    blocks.extend(forest(&all, by).map(|forest| PageBlock::Forest { forest }));
    blocks
}

/// `cache`: the state of the page cache, if there are programs with another one.
fn sentence(cache: Option<Cache>, all: &[&Measurement], by: Metric) -> String {
    let before = match cache {
        Some(Cache::Cold) => "Cold page cache: ",
        Some(Cache::Warm) => "Warm page cache: ",
        None => "",
    };
    let said = match all {
        [] => return String::new(),
        [one] => format!("`{}`: {}", visible(one.label()), own_times(one)),
        [first, .., last] => verdicts(all, by).unwrap_or_else(|| {
            let programs = count_of(all.len(), "program", "programs");
            let end = |m: &Measurement| format!("{} (`{}`)", time(m), visible(m.label()));
            format!("{programs}: the first byte comes after {} to {}", end(first), end(last))
        }),
    };
    format!("{before}{said}.")
}

/// The first byte, and the phase that takes most of the total.
fn own_times(m: &Measurement) -> String {
    let phases = &m.phases;
    let total = phases.total.as_ref().map(|d| display_nanos(d.median));
    let times = match (&phases.first_byte, total) {
        (Some(first), Some(total)) => {
            format!("first byte after {}, exit after {total}", display_nanos(first.median))
        }
        (None, Some(total)) => format!("exit after {total}"),
        _ => format!("{} from launch to exit", time(m)),
    };

    let row = PhaseRow::measured(m, String::new());
    let longest = row.as_ref().and_then(|row| {
        let (phase, ns) = row.phases.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(format!("; {} of it is {}", percent(ns / row.end().max(1.0)), phase.name()))
    });
    times + &longest.unwrap_or_default()
}

/// What programs are ranked by, or else the wall time.
fn time(m: &Measurement) -> String {
    display_nanos(m.ranked().map_or(m.median * 1e9, |d| d.median))
}

/// The time that a comparison is about, or else the wall time.
fn time_by(m: &Measurement, by: Metric) -> String {
    let of = match by {
        Metric::FirstByte => m.phases.first_byte.as_ref(),
        Metric::Total => m.phases.total.as_ref(),
        Metric::Region => m.region(),
        Metric::User => m.processor.as_ref().map(|times| &times.user),
    };
    display_nanos(of.map_or(m.median * 1e9, |d| d.median))
}

/// The comparisons in words; `None` without any.
fn verdicts(all: &[&Measurement], by: Metric) -> Option<String> {
    let compared: Vec<(&Measurement, &Relative)> =
        all.iter().filter_map(|m| Some((*m, m.relative_by(by)?))).collect();
    let first = compared.first()?.1;
    let (reference, of) = (visible(&first.reference), first.of.name());
    if let [(m, only)] = compared[..] {
        let verdict = match only.verdict {
            Verdict::CantTell => format!("can't tell whether `{}` is faster than", visible(m.label())),
            verdict => format!("`{}` is {verdict} than", visible(m.label())),
        };
        let compared_to =
            all.iter().find(|other| other.label() == only.reference).map(|other| time_by(other, only.of));
        let times = compared_to.map_or(String::new(), |to| format!("; {} against {to}", time_by(m, only.of)));
        return Some(format!("{verdict} `{reference}` by {of}: {}{times}", figures(&only.ratio)));
    }

    if compared.len() <= NAMED {
        let one = |(m, compared_to): &(&Measurement, &Relative)| {
            format!("`{}` is {} {}", visible(m.label()), verdict_of(compared_to), figures(&compared_to.ratio))
        };
        let each: Vec<String> = compared.iter().map(one).collect();
        return Some(format!("Compared with `{reference}` by {of}, {}", each.join("; ")));
    }
    let count = |verdict| compared.iter().filter(|(_, compared_to)| compared_to.verdict == verdict).count();
    let [faster, slower, unknown] = [Verdict::Faster, Verdict::Slower, Verdict::CantTell].map(count);
    let unknown = if unknown > 0 { format!(", {unknown} can't tell") } else { String::new() };
    Some(format!("Compared with `{reference}` by {of}, {faster} faster, {slower} slower{unknown}"))
}

fn verdict_of(relative: &Relative) -> &'static str {
    match relative.verdict {
        Verdict::Faster => "faster,",
        Verdict::Slower => "slower,",
        Verdict::CantTell => "neither certainly faster nor slower,",
    }
}

fn left_out(document: &Document) -> Option<String> {
    let failed = document.failed.len();
    (failed > 0).then(|| format!("{} failed.", count_of(failed, "program", "programs")))
}

/// The phases of the programs of several documents, in the order of the first one, the same commands below each other.
pub(super) fn on_one_scale(documents: &[&Document]) -> Option<PageBlock> {
    let mut left: Vec<&Measurement> =
        documents.iter().flat_map(|document| ranking(document)).flat_map(|(_, rows)| rows).collect();
    let mut all: Vec<&Measurement> = Vec::new();
    while let Some(first) = left.first().copied() {
        let is_same = |m: &&Measurement| (m.command_line(), m.cache) == (first.command_line(), first.cache);
        let (same, others) = left.into_iter().partition(is_same);
        all.extend::<Vec<_>>(same);
        left = others;
    }
    phases(&all)
}

fn phases(all: &[&Measurement]) -> Option<PageBlock> {
    let mut rows = rows(all);
    let left = rows.len().saturating_sub(MAX_PROGRAMS);
    rows.truncate(MAX_PROGRAMS);
    let scale = Scale::of(&rows);
    let (shown, mut note) = scale.best();
    note += if shown == "linear" { "" } else { " Within a bar, each phase has its share of the total." };
    if left > 0 {
        note = format!("{note} {left} more are on the tab of the programs.");
    }

    let bar = |row: &PhaseRow| BarRow {
        name: visible(&row.name),
        bar: scale.bar(row),
        value: display_nanos(row.total),
    };
    let bars = Bars {
        title: "Phases, medians".to_owned(),
        scale: shown,
        rows: rows.iter().map(bar).collect(),
        note,
    };
    (!bars.rows.is_empty()).then_some(PageBlock::Bars { bars })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read;
    use std::path::Path;

    fn answer(results: &str) -> String {
        let document = read::parse(&format!("{{\"results\": [{results}]}}"), Path::new("x.json")).unwrap();
        match &blocks(&document)[0] {
            PageBlock::Answer { text } => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn program(name: &str, more: &str) -> String {
        format!(
            r#"{{"command": "{name}", "mean": 0.01, "median": 0.01, "user": 0, "system": 0, "min": 0.01, "max": 0.01{more}}}"#
        )
    }

    #[test]
    fn one_program_has_its_times_and_two_have_a_verdict() {
        assert_eq!(answer(&program("a", "")), "`a`: 10.0 ms from launch to exit.");
        let relative = r#", "relative": [{"reference": "a", "of": "total", "ratio": 1.5, "low": 1.4, "high": 1.6,
            "pairs": 20, "verdict": "slower"}]"#;
        let both = format!("{}, {}", program("a", ""), program("b", relative));
        assert_eq!(
            answer(&both),
            "`b` is slower than `a` by total: 1.500 × (1.400 to 1.600); 10.0 ms against 10.0 ms."
        );
        let three = format!("{both}, {}", program("c", relative));
        let each = ["b", "c"].map(|name| format!("`{name}` is slower, 1.500 × (1.400 to 1.600)"));
        assert_eq!(answer(&three), format!("Compared with `a` by total, {}.", each.join("; ")));
        let five = format!("{three}, {}, {}", program("d", relative), program("e", relative));
        assert_eq!(answer(&five), "Compared with `a` by total, 0 faster, 4 slower.");
    }

    #[test]
    fn programs_without_a_reference_are_ranked() {
        let both = format!("{}, {}", program("a", ""), program("b", ""));
        assert_eq!(answer(&both), "2 programs: the first byte comes after 10.0 ms (`a`) to 10.0 ms (`b`).");
        assert_eq!(answer(""), "No program was measured.");
    }
}
