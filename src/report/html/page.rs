//! Puts the sections into the page, with the hashes of scripts and styles.

use super::block::Section;
use super::markup::{self, PageFrame};
use super::source::PageSource;
use super::together::Together;
use crate::document::Document;
use crate::document::bench::Severity;
use crate::document::check::CheckDocument;
use crate::document::claims::ClaimsDocument;
use crate::document::diff::DiffDocument;
use crate::document::elf::ElfDocument;
use crate::document::floor::Floor;
use crate::document::read::ReadError;
use crate::document::throughput::ThroughputDocument;
use crate::document::trace::TraceDocument;
use crate::document::tune::TuneDocument;
use crate::document::watch::WatchDocument;
use crate::output::visible;
use crate::report::html::{
    about, answer, budgets, claims, diff, difference, distributions, elf, floor, machines, programs,
    throughput, timeline, tune, watch,
};
use crate::report::pictures::patterns;
use crate::report::words::count_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::path::Path;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPTS: [&str; 6] = [
    include_str!("assets/page.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/icicle.js"),
    include_str!("assets/panels.js"),
    include_str!("assets/diff.js"),
    include_str!("assets/start.js"),
];

/// What a page calls the document that a command has just made.
const THIS_RUN: &str = "this run";

/// The page of a trace. It may have a million steps, which take 2 GB while their JSON is read back.
pub fn of_trace(document: &TraceDocument) -> String {
    let source = PageSource::Trace(Box::new(document.clone()));
    render(&[(THIS_RUN.to_owned(), source)], &Together::default())
}

/// The page of the documents that a command has just made: what their JSON contains, read back.
pub fn of_json(documents: &[String]) -> Result<String, ReadError> {
    let name = THIS_RUN;
    let read = |json: &String| {
        let source = PageSource::parse(json, Path::new(name))?;
        let name = if documents.len() > 1 { source.name() } else { name };
        Ok((name.to_owned(), source))
    };
    Ok(render(&documents.iter().map(read).collect::<Result<Vec<_>, _>>()?, &Together::default()))
}

/// The page of these documents, each with its name.
pub fn render(sources: &[(String, PageSource)], together: &Together) -> String {
    let (sections, subjects) = sections(sources, together);
    let style = STYLE.to_owned() + &patterns::rules();
    let script = format!("\"use strict\";\n(() => {{\n{}\n}})();\n", SCRIPTS.join("\n"));

    let frame = PageFrame {
        title: &title(sources),
        badge: badge(sources),
        version: env!("CARGO_PKG_VERSION"),
        patterns: &patterns::definitions(),
        style: &style,
        script: &script,
        policy: &policy(&script, &style),
    };
    markup::page(&frame, &sections, &subjects).into_string()
}

/// A content security policy that allows this script and this style by their hashes (CSP level 2, section 4.2.2).
fn policy(script: &str, style: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    )
}

/// What is at the top of the page if something makes the figures doubtful: the last section says what.
fn badge(sources: &[(String, PageSource)]) -> Option<String> {
    let all = about::warnings(sources);
    let warnings = all.iter().filter(|(severity, _)| *severity == Severity::Serious).count();
    (warnings > 0).then(|| count_of(warnings, "warning", "warnings"))
}

fn title(sources: &[(String, PageSource)]) -> String {
    if let [(_, PageSource::Trace(document))] = sources
        && let [traced] = &document.results[..]
    {
        return format!("firstbyte: trace of {}", visible(traced.label()));
    }
    let mut kinds: Vec<&str> = sources.iter().map(|(_, source)| source.name()).collect();
    kinds.dedup();
    format!("firstbyte: {}", kinds.join(", "))
}

/// The sections that are not empty, and the data of the side-by-side view.
fn sections(sources: &[(String, PageSource)], together: &Together) -> (Vec<Section>, String) {
    let by = Kinds::of(sources);
    let measured = distributions::ordered(&by.programs);
    let (side_by_side, subjects) = diff::section(&measured, &timeline::traced(&by.traces)).unzip();
    let (mut floors, mut judged) = (floor::section(&by.floors), claims::section(&by.claims));
    let summary = answer::section(sources, together);
    // a page of nothing else opens on its waterfall, or on its claims
    let only = match (&by, &mut floors, &mut judged) {
        (Kinds { floors, .. }, Some(section), _) if floors.len() == sources.len() => Some(section),
        (Kinds { claims, .. }, _, Some(section)) if claims.len() == sources.len() => Some(section),
        _ => None,
    };
    let summary = match only {
        Some(section) => {
            section.blocks.splice(..0, summary.blocks);
            None
        }
        None => Some(summary),
    };
    let sections = [
        summary,
        budgets::section(&by.checks),
        difference::section(&by.differences),
        tune::section(&by.tunes),
        machines::section(&together.machines),
        programs::section(&by.programs),
        distributions::section(&by.programs),
        timeline::section(&by.traces),
        side_by_side,
        floors,
        throughput::section(&by.throughputs),
        elf::section(&by.elves),
        judged,
        watch::section(&by.watches),
        Some(about::section(sources)),
    ];
    (sections.into_iter().flatten().collect(), subjects.unwrap_or_default())
}

/// The documents of each kind.
#[derive(Default)]
struct Kinds<'s> {
    programs: Vec<&'s Document>,
    traces: Vec<&'s TraceDocument>,
    floors: Vec<&'s Floor>,
    throughputs: Vec<&'s ThroughputDocument>,
    elves: Vec<&'s ElfDocument>,
    claims: Vec<&'s ClaimsDocument>,
    watches: Vec<&'s WatchDocument>,
    checks: Vec<&'s CheckDocument>,
    differences: Vec<&'s DiffDocument>,
    tunes: Vec<&'s TuneDocument>,
}

impl<'s> Kinds<'s> {
    fn of(sources: &'s [(String, PageSource)]) -> Kinds<'s> {
        let mut kinds = Kinds::default();
        for (_, source) in sources {
            match source {
                PageSource::Programs(document) => kinds.programs.push(document),
                PageSource::Trace(document) => kinds.traces.push(document),
                PageSource::Floor(document) => kinds.floors.push(document),
                PageSource::Throughput(document) => kinds.throughputs.push(document),
                PageSource::Elf(document) => kinds.elves.push(document),
                PageSource::Claims(document) => kinds.claims.push(document),
                PageSource::Watch(document) => kinds.watches.push(document),
                PageSource::Check(document) => kinds.checks.push(document),
                PageSource::Diff(document) => kinds.differences.push(document),
                PageSource::Tune(document) => kinds.tunes.push(document),
            }
        }
        kinds
    }
}
