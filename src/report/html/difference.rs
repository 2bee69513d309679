//! The two start-ups that `diff` compared: which is faster, where the difference lies, and why.

use super::bars::rounded;
use super::block::{Bar, BarPiece, BarRow, Bars, Cell, PageBlock, Row, Section, Table, row};
use super::forest::figures;
use crate::analysis::attribution::WorkKind;
use crate::document::diff::{DiffAmount, DiffChange, DiffDocument, DiffFinding, DiffSide};
use crate::output::visible;
use crate::report::row::UNKNOWN;
use crate::report::words::became;
use crate::stats::Verdict;
use firstbyte_measure::units::display_nanos;

/// Findings whose cost differs by less than this part of the longer total are not in the summary.
const NOTEWORTHY: f64 = 0.01;

/// The verdict, both sides as bars on one scale, and what became of the findings.
pub(super) fn answer(document: &DiffDocument) -> Vec<PageBlock> {
    let mut blocks =
        vec![PageBlock::Answer { text: sentence(document) }, PageBlock::Bars { bars: bars(document) }];
    let [a, b] = document.results.each_ref().map(total);
    let least = NOTEWORTHY * a.max(b);
    let findings = document.difference.findings.iter().filter(|finding| finding.ns.abs() >= least);
    let items: Vec<String> = findings.map(finding).collect();
    if !items.is_empty() {
        blocks.push(PageBlock::List { title: "What trace finds, and what became of it".to_owned(), items });
    }
    blocks
}

/// The mean total, in nanoseconds.
fn total(side: &DiffSide) -> f64 {
    side.mean.unwrap_or(side.median) * 1e9
}

fn sentence(document: &DiffDocument) -> String {
    let [a, b] = &document.results;
    let [first, second] = [a, b].map(|side| visible(&side.command));
    let difference = &document.difference;
    let more = if difference.total_ns < 0.0 { "less" } else { "more" };
    let ratio = difference.comparison.as_ref().map_or_else(|| format!("{:.3} ×", difference.ratio), figures);
    let sure = match difference.verdict {
        Some(Verdict::CantTell) | None => "can't tell which is faster".to_owned(),
        Some(verdict) => format!("B is {verdict}"),
    };
    let apart = display_nanos(difference.total_ns.abs());
    format!("B, `{second}`, takes {apart} {more} than A, `{first}`: {ratio}, {sure}.")
}

/// The time of each kind, on one scale.
fn bars(document: &DiffDocument) -> Bars {
    let scale = document.results.iter().map(total).fold(1.0, f64::max);
    let bar = |(letter, side, amount): (&str, &DiffSide, &dyn Fn(usize) -> DiffAmount)| {
        let (mut begin, mut linear, mut said) = (0.0, Vec::new(), Vec::new());
        for (index, of) in document.difference.kinds.iter().enumerate() {
            let Some(kind) = WorkKind::ALL.into_iter().find(|kind| kind.key() == of.kind) else { continue };
            let ns = amount(index).ns;
            let width = 100.0 * ns / scale;
            if ns > 0.0 {
                linear.push(BarPiece { fill: kind.key(), x: rounded(begin), width: rounded(width) });
                said.push(format!("{} {}", kind.title(), display_nanos(ns)));
                begin += width;
            }
        }
        let bar = Bar { label: said.join(", "), linear, ..Bar::default() };
        BarRow {
            name: format!("{letter} {}", visible(&side.command)),
            bar,
            value: display_nanos(total(side)),
        }
    };

    let kinds = &document.difference.kinds;
    let [a, b] = &document.results;
    let rows = vec![bar(("A", a, &|n| kinds[n].before)), bar(("B", b, &|n| kinds[n].after))];
    let (title, note) =
        ("Where the time went".to_owned(), "Means of the middle half of the runs.".to_owned());
    Bars { title, scale: "linear", rows, note }
}

fn finding(finding: &DiffFinding) -> String {
    format!("{}: {}", became(finding, "−"), visible(&finding.text))
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, display_nanos(ns.abs()))
}

/// A table of each list.
pub(crate) fn section(documents: &[&DiffDocument]) -> Option<Section> {
    let mut section = Section::new("difference", "Difference");
    for document in documents {
        let difference = &document.difference;
        let lists = [
            ("By kind of work", &difference.attribution),
            ("Loads, by the runtimes' own reports", &difference.loads),
            ("Steps of the main thread that came or went", &difference.steps),
            ("Files", &difference.files),
            ("Programs, with their lifetimes", &difference.programs),
        ];
        section.blocks.extend(lists.into_iter().filter_map(|(title, all)| table(title, all)));
        section.blocks.extend(counts(document).map(PageBlock::from));
        for (letter, side) in ["A", "B"].into_iter().zip(&document.results) {
            let notes = side.notes.iter();
            section
                .blocks
                .extend(notes.map(|note| PageBlock::Prose { text: format!("{letter}: {}", visible(note)) }));
        }
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn table(title: &str, all: &[DiffChange]) -> Option<PageBlock> {
    let headings = ["what", "#A", "#B", "#change", "#times in A", "#times in B"];
    let certain = all.iter().filter(|change| !change.uncertain);
    let table = Table::of(title, &headings, certain.map(line).collect())?;
    Some(PageBlock::Table { table: Table { filter: true, ..table } })
}

fn line(change: &DiffChange) -> Row {
    let kind = WorkKind::ALL.into_iter().find(|kind| Some(kind.key()) == change.kind.as_deref());
    let name = kind.map_or(String::new(), |kind| format!("{}: ", kind.title())) + &visible(&change.name);
    let time = |amount: Option<DiffAmount>| {
        amount.map_or_else(|| Cell::text(UNKNOWN), |amount| Cell::figure(display_nanos(amount.ns), amount.ns))
    };
    let count = |amount: Option<DiffAmount>| {
        amount.map_or_else(
            || Cell::text(UNKNOWN),
            |amount| Cell::figure(format!("{:.0}", amount.count), amount.count),
        )
    };
    row(vec![
        Cell::text(name),
        time(change.before),
        time(change.after),
        Cell::figure(signed(change.ns), change.ns),
        count(change.before),
        count(change.after),
    ])
}

/// The counts of all threads and processes that are not the same.
fn counts(document: &DiffDocument) -> Option<Table> {
    let [a, b] = &document.results;
    let both = a.counts.iter().filter_map(|(name, before)| Some((name, (*before)?, (*b.counts.get(name)?)?)));
    let cell = |count: u64| Cell::figure(count.to_string(), count as f64);
    let rows = both.filter(|(_, before, after)| before != after).map(|(name, before, after)| {
        row(vec![Cell::text(visible(&name.replace('_', " "))), cell(before), cell(after)])
    });
    Table::of("Counts of all threads and processes", &["count", "#A", "#B"], rows.collect())
}
