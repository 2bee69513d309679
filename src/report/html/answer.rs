//! What the page opens on: each document's answer in a sentence or two, its first picture, its verdicts and its findings.

use super::block::{PageBlock, Section};
use super::source::PageSource;
use super::together::Together;
use super::{budgets, compared, difference, programs_answer, throughput, trace_answer, tune, watch};
use crate::document::Document;
use crate::document::elf::ElfDocument;
use crate::document::floor::Floor;
use crate::output::visible;
use crate::report::text::claims::summary;
use firstbyte_measure::units::display_nanos;

pub(crate) fn section(sources: &[(String, PageSource)], together: &Together) -> Section {
    let mut section = Section::new("summary", "Summary");
    section.blocks.extend(together.compared.iter().flat_map(compared::answer));
    let measured: Vec<&Document> = sources.iter().filter_map(|(_, source)| programs(source)).collect();
    // lengths of bars can be compared only on one scale
    let has_one_scale = measured.len() > 1;
    section.blocks.extend(has_one_scale.then(|| programs_answer::on_one_scale(&measured)).flatten());

    for (name, source) in sources {
        if sources.len() > 1 {
            section.blocks.push(PageBlock::Heading { text: visible(name) });
        }
        let is_bars = |block: &PageBlock| matches!(block, PageBlock::Bars { .. });
        let drawn_above = has_one_scale && programs(source).is_some();
        section.blocks.extend(of(source).into_iter().filter(|block| !(drawn_above && is_bars(block))));
    }
    section
}

fn programs(source: &PageSource) -> Option<&Document> {
    match source {
        PageSource::Programs(document) => Some(document),
        _ => None,
    }
}

fn of(source: &PageSource) -> Vec<PageBlock> {
    match source {
        PageSource::Programs(document) => programs_answer::blocks(document),
        PageSource::Trace(document) => document.results.iter().flat_map(trace_answer::blocks).collect(),
        PageSource::Floor(floor) => answer(machine_charges(floor)),
        PageSource::Throughput(document) => throughput::answer(document),
        PageSource::Elf(document) => answer(Some(executable(document))),
        PageSource::Claims(document) => answer(Some(summary(document))),
        PageSource::Watch(document) => watch::answer(document),
        PageSource::Check(document) => budgets::answer(document),
        PageSource::Diff(document) => difference::answer(document),
        PageSource::Tune(document) => tune::answer(document),
    }
}

fn answer(text: Option<String>) -> Vec<PageBlock> {
    text.into_iter().map(|text| PageBlock::Answer { text }).collect()
}

/// From the top of the first waterfall to its bottom, or else the first figure.
fn machine_charges(floor: &Floor) -> Option<String> {
    let ends = floor.waterfalls.first().and_then(|waterfall| {
        let (top, bottom) = (waterfall.layers.first()?, waterfall.layers.last()?);
        let [high, low] = [top, bottom].map(|layer| display_nanos(layer.ns.as_f64()));
        Some(format!("{} takes {high}; {} takes {low}.", visible(&top.name), visible(&bottom.name)))
    });
    let figure = || floor.results.first();
    ends.or_else(|| {
        figure().map(|program| format!("{}: {}.", visible(&program.name), display_nanos(program.median)))
    })
}

fn executable(document: &ElfDocument) -> String {
    format!("An executable of {} bytes for {}.", document.size, visible(&document.architecture))
}
