//! Puts the sections into the page, with the hashes of scripts and styles.

use super::block::Section;
use super::markup::{self, PageFrame};
use super::source::PageSource;
use crate::comparison::machines::ProgramOnMachines;
use crate::document::Document;
use crate::document::bench::Severity;
use crate::document::claims::ClaimsDocument;
use crate::document::elf::ElfDocument;
use crate::document::floor::Floor;
use crate::document::read::ReadError;
use crate::document::throughput::ThroughputDocument;
use crate::document::trace::TraceDocument;
use crate::document::watch::WatchDocument;
use crate::report::html::{
    about, answer, claims, diff, distributions, elf, floor, machines, programs, throughput, timeline, watch,
};
use crate::report::pictures::patterns;
use crate::report::words::count_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use firstbyte_measure::timeline::Phase;
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

/// The page of one document that a command has just made: what its JSON contains, read back.
pub fn of_json(json: &str) -> Result<String, ReadError> {
    let name = "this run";
    let source = PageSource::parse(json, Path::new(name))?;
    Ok(render(&[(name.to_owned(), source)], &[]))
}

/// The page of these documents, each with its name, and of the programs that several of them have.
pub fn render(sources: &[(String, PageSource)], machines: &[ProgramOnMachines]) -> String {
    let (sections, subjects) = sections(sources, machines);
    let style = STYLE.to_owned() + &patterns::rules();
    let script = format!("\"use strict\";\n(() => {{\n{}\n}})();\n", SCRIPTS.join("\n"));

    let phases = Phase::ALL.map(Phase::name);
    let frame = PageFrame {
        title: &title(sources),
        badge: badge(sources),
        version: env!("CARGO_PKG_VERSION"),
        phases: if has_phases(sources) { &phases } else { &[] },
        patterns: &patterns::definitions(),
        style: &style,
        script: &script,
        policy: &policy(&script, &style),
    };
    markup::page(&frame, &sections, &subjects).into_string()
}

fn has_phases(sources: &[(String, PageSource)]) -> bool {
    sources.iter().any(|(_, source)| matches!(source, PageSource::Programs(_) | PageSource::Trace(_)))
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
    let mut kinds: Vec<&str> = sources.iter().map(|(_, source)| source.name()).collect();
    kinds.dedup();
    format!("firstbyte: {}", kinds.join(", "))
}

/// The sections that are not empty, and the data of the side-by-side view.
fn sections(sources: &[(String, PageSource)], on_machines: &[ProgramOnMachines]) -> (Vec<Section>, String) {
    let by = Kinds::of(sources);
    let measured = distributions::ordered(&by.programs);
    let (side_by_side, subjects) = diff::section(&measured, &timeline::traced(&by.traces)).unzip();
    let sections = [
        Some(answer::section(sources)),
        machines::section(on_machines),
        programs::section(&by.programs),
        distributions::section(&by.programs),
        timeline::section(&by.traces),
        side_by_side,
        floor::section(&by.floors),
        throughput::section(&by.throughputs),
        elf::section(&by.elves),
        claims::section(&by.claims),
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
            }
        }
        kinds
    }
}
