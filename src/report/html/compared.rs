//! Two files with the same programs: which one is faster.

use super::block::PageBlock;
use super::forest::{figures, of_ratios};
use crate::document::bench::Cache;
use crate::document::compare::{CompareDocument, ComparedProgram, TimeChange};
use crate::output::{visible, visible_path};
use crate::report::words::count_of;
use crate::stats::Verdict;
use firstbyte_measure::units::display_nanos;

/// With more programs than this, the sentence counts verdicts.
const NAMED: usize = 3;

/// The sentence, the ratios as a picture, and what else differs between the files.
pub(super) fn answer(document: &CompareDocument) -> Vec<PageBlock> {
    let mut blocks = vec![PageBlock::Answer { text: sentence(document) }];
    let rows =
        changes(document).into_iter().map(|(program, time)| (title(program), time.ratio, time.verdict));
    let title = "The new file compared with the old one";
    blocks.extend(of_ratios(title.to_owned(), rows.collect()).map(|forest| PageBlock::Forest { forest }));
    if !document.differing.is_empty() {
        let facts: Vec<String> = document.differing.iter().map(|fact| visible(&fact.change())).collect();
        let text = format!("The files were measured differently: {}.", facts.join("; "));
        blocks.push(PageBlock::Warning { text });
    }
    blocks
}

/// Each program with its total, or else its first byte.
fn changes(document: &CompareDocument) -> Vec<(&ComparedProgram, &TimeChange)> {
    let time = |program: &'_ ComparedProgram| {
        let total = program.times.iter().position(|time| time.of != "first_byte");
        total.or((!program.times.is_empty()).then_some(0))
    };
    document.programs.iter().filter_map(|program| Some((program, &program.times[time(program)?]))).collect()
}

/// What is new over what is old, in words.
fn sentence(document: &CompareDocument) -> String {
    let [old, new] = [&document.old, &document.new].map(|path| visible_path(path));
    let changes = changes(document);
    let verdict = |verdict| changes.iter().filter(|(_, time)| time.verdict == verdict).count();
    if changes.len() <= NAMED {
        let each: Vec<String> = changes.iter().map(|(program, time)| change(program, time)).collect();
        return format!("`{new}` against `{old}`: {}.", each.join("; "));
    }
    let [faster, slower, unknown] = [Verdict::Faster, Verdict::Slower, Verdict::CantTell].map(verdict);
    let programs = count_of(changes.len(), "program", "programs");
    format!("`{new}` against `{old}`, {programs}: {faster} faster, {slower} slower, {unknown} can't tell.")
}

fn change(program: &ComparedProgram, time: &TimeChange) -> String {
    let name = title(program);
    let verdict = match time.verdict {
        Verdict::CantTell => format!("can't tell whether `{name}` became faster"),
        verdict => format!("`{name}` is {verdict}"),
    };
    let [old, new] = [time.old, time.new].map(display_nanos);
    let of = time.of.replace('_', " ");
    format!("{verdict} by {of}, {}: {new} against {old}", figures(&time.ratio))
}

/// With the state of the page cache, if that is cold.
fn title(program: &ComparedProgram) -> String {
    let cold = if program.cache == Some(Cache::Cold) { " (cold)" } else { "" };
    visible(&program.name) + cold
}
