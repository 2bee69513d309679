//! The files that results are written to: one table of all formats, and the functions that draw them.

pub mod asciidoc;
pub mod bencher;
pub mod benchmark_action;
mod check_markdown;
pub mod claims_markdown;
pub mod csv;
pub mod firefox;
mod firefox_marker;
pub mod floor_markdown;
pub mod folded;
pub mod json;
mod limits;
pub mod markdown;
mod markdown_text;
pub mod openmetrics;
pub mod orgmode;
pub mod perfetto;
pub mod pprof;
mod result_table;
pub mod speedscope;
mod stacks;
pub mod throughput_csv;
pub mod throughput_markdown;
mod tune_markdown;
pub mod watch_firefox;
mod watch_lanes;
pub mod watch_perfetto;

use super::html;
use super::pictures;
use crate::analysis::user_code::UserCode;
use crate::analysis::{Account, TraceAnalysis};
use crate::document::check::CheckDocument;
use crate::document::claims::ClaimsDocument;
use crate::document::diff::DiffDocument;
use crate::document::floor::Floor;
use crate::document::named_span::NamedSpan;
use crate::document::read::ReadError;
use crate::document::throughput::ThroughputDocument;
use crate::document::trace::TraceDocument;
use crate::document::tune::TuneDocument;
use crate::document::watch::{WatchDocument, WatchTimeline};
use crate::document::{Document, Kind};
use firstbyte_measure::arch::cpuid::Cpuid;
use firstbyte_measure::tracer::module::Module;
use firstbyte_measure::tracer::{Recording, replay};

/// What a file of results is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Csv,
    Markdown,
    AsciiDoc,
    OrgMode,
    Bencher,
    BenchmarkAction,
    Perfetto,
    Firefox,
    Folded,
    Speedscope,
    Pprof,
    Recording,
    Svg,
    Png,
    Html,
}

/// One line of [`FORMATS`].
#[derive(Debug)]
pub struct FormatEntry {
    pub format: Format,
    /// The option that asks for it, without its dashes.
    pub option: &'static str,
    /// What the help of the option says.
    pub help: &'static str,
    /// Of the names of its files, without the dot.
    pub extension: &'static str,
    /// The documents that it draws.
    pub kinds: &'static [Kind],
}

/// The documents that are written as a whole, as JSON and as pages.
const WHOLE: [Kind; 8] = [
    Kind::Bench,
    Kind::Trace,
    Kind::Diff,
    Kind::Floor,
    Kind::Throughput,
    Kind::Claims,
    Kind::Watch,
    Kind::Tune,
];

/// Every format, in the order of the help.
pub const FORMATS: [FormatEntry; 16] = [
    FormatEntry {
        format: Format::Json,
        option: "export-json",
        help: "Write the results as JSON",
        extension: "json",
        kinds: &WHOLE,
    },
    FormatEntry {
        format: Format::Csv,
        option: "export-csv",
        help: "Write the results as CSV",
        extension: "csv",
        kinds: &[Kind::Bench, Kind::Throughput],
    },
    FormatEntry {
        format: Format::Markdown,
        option: "export-markdown",
        help: "Write the results as Markdown",
        extension: "md",
        kinds: &[Kind::Bench, Kind::Floor, Kind::Throughput, Kind::Claims, Kind::Tune],
    },
    FormatEntry {
        format: Format::AsciiDoc,
        option: "export-asciidoc",
        help: "Write the results as an AsciiDoc table",
        extension: "adoc",
        kinds: &[Kind::Bench],
    },
    FormatEntry {
        format: Format::OrgMode,
        option: "export-orgmode",
        help: "Write the results as an Org mode table",
        extension: "org",
        kinds: &[Kind::Bench],
    },
    FormatEntry {
        format: Format::Bencher,
        option: "export-bencher",
        help: "Write the results in Bencher Metric Format",
        extension: "json",
        kinds: &[Kind::Bench],
    },
    FormatEntry {
        format: Format::BenchmarkAction,
        option: "export-benchmark-action",
        help: "Write the results for github-action-benchmark, as `customSmallerIsBetter`",
        extension: "json",
        kinds: &[Kind::Bench],
    },
    FormatEntry {
        format: Format::Perfetto,
        option: "export-perfetto",
        help: "Write a timeline for ui.perfetto.dev",
        extension: "json",
        kinds: &[Kind::Trace, Kind::Watch],
    },
    FormatEntry {
        format: Format::Firefox,
        option: "export-firefox",
        help: "Write a profile for profiler.firefox.com",
        extension: "json",
        kinds: &[Kind::Trace, Kind::Watch],
    },
    FormatEntry {
        format: Format::Folded,
        option: "export-folded",
        help: "Write the sampled stacks of user code, a line each with nanoseconds, for flame-graph tools",
        extension: "folded",
        kinds: &[Kind::Trace],
    },
    FormatEntry {
        format: Format::Speedscope,
        option: "export-speedscope",
        help: "Write the sampled stacks of user code for speedscope.app",
        extension: "speedscope.json",
        kinds: &[Kind::Trace],
    },
    FormatEntry {
        format: Format::Pprof,
        option: "export-pprof",
        help: "Write the sampled stacks of user code for `go tool pprof`",
        extension: "pb.gz",
        kinds: &[Kind::Trace],
    },
    FormatEntry {
        format: Format::Recording,
        option: "record",
        help: "Write the events of one run as JSON lines, for `--replay` and `firstbyte diff`",
        extension: "jsonl",
        kinds: &[Kind::Trace],
    },
    FormatEntry {
        format: Format::Svg,
        option: "export-svg",
        help: "Draw the waterfall of `floor`, or time against lines of `throughput`, as an SVG picture",
        extension: "svg",
        kinds: &[Kind::Floor, Kind::Throughput],
    },
    FormatEntry {
        format: Format::Png,
        option: "export-png",
        help: "Draw the same as a PNG picture",
        extension: "png",
        kinds: &[Kind::Floor, Kind::Throughput],
    },
    FormatEntry {
        format: Format::Html,
        option: "html",
        help: "Write the results as one self-contained HTML page",
        extension: "html",
        kinds: &WHOLE,
    },
];

impl Format {
    /// The formats that draw documents of this kind.
    pub fn of(kind: Kind) -> impl Iterator<Item = &'static FormatEntry> {
        FORMATS.iter().filter(move |entry| entry.kinds.contains(&kind))
    }

    pub fn is_picture(self) -> bool {
        matches!(self, Format::Svg | Format::Png)
    }
}

/// A document with everything that its formats are drawn from.
#[derive(Clone, Copy, Debug)]
pub enum Exported<'s> {
    Bench(&'s Document),
    /// The measurements, and the budgets that they were compared with.
    Check {
        document: &'s Document,
        checked: &'s CheckDocument,
    },
    Trace(ExportedTrace<'s>),
    Diff(&'s DiffDocument),
    Floor(&'s Floor),
    Throughput {
        document: &'s ThroughputDocument,
        /// Both axes of the picture are logarithmic.
        log: bool,
    },
    Claims(&'s ClaimsDocument),
    Watch {
        document: &'s WatchDocument,
        timeline: &'s WatchTimeline,
    },
    Tune(&'s TuneDocument),
}

/// A trace, and the run that it shows.
#[derive(Clone, Copy, Debug)]
pub struct ExportedTrace<'s> {
    pub document: &'s TraceDocument,
    /// The command, as a shell would take it.
    pub command: &'s str,
    pub account: &'s Account,
    /// The parts of the runs that have a name.
    pub marks: &'s [NamedSpan],
    /// `None`: it was not sampled.
    pub user_code: Option<&'s UserCode>,
    pub run: Option<&'s Recording>,
    /// The files that explain the run's addresses.
    pub modules: &'s [Module],
    pub cpuid: Option<Cpuid>,
}

impl<'s> ExportedTrace<'s> {
    /// `modules`: those of the analysis.
    pub fn of(
        document: &'s TraceDocument,
        command: &'s str,
        analysis: &'s TraceAnalysis,
        modules: &'s [Module],
    ) -> ExportedTrace<'s> {
        let summary = &analysis.summary;
        ExportedTrace {
            document,
            command,
            account: &summary.median_run,
            marks: &summary.marks,
            user_code: summary.user_code.as_ref(),
            run: analysis.shown(),
            modules,
            cpuid: analysis.machine().cpuid,
        }
    }
}

impl Exported<'_> {
    /// The content of the file; `None` where the document has nothing that this format draws.
    pub fn render(&self, format: Format) -> Result<Option<Vec<u8>>, ReadError> {
        let text = match (format, *self) {
            (Format::Json, _) => self.json(),
            (Format::Html, Exported::Check { checked, document }) => {
                html::of_json(&[json::render(checked), json::render(document)])?
            }
            (Format::Html, Exported::Trace(trace)) => html::of_trace(trace.document),
            (Format::Html, _) => html::of_json(&[self.json()])?,
            (Format::Markdown, Exported::Check { checked, .. }) => check_markdown::render(checked),
            (_, Exported::Check { document, .. }) => return Exported::Bench(document).render(format),
            (Format::Csv, Exported::Bench(document)) => csv::render(document),
            (Format::Csv, Exported::Throughput { document, .. }) => throughput_csv::render(document),
            (Format::Markdown, Exported::Bench(document)) => markdown::render(document),
            (Format::Markdown, Exported::Floor(floor)) => floor_markdown::render(floor),
            (Format::Markdown, Exported::Throughput { document, .. }) => {
                throughput_markdown::render(document)
            }
            (Format::Markdown, Exported::Claims(document)) => claims_markdown::render(document),
            (Format::Markdown, Exported::Tune(document)) => tune_markdown::render(document),
            (Format::AsciiDoc, Exported::Bench(document)) => asciidoc::render(document),
            (Format::OrgMode, Exported::Bench(document)) => orgmode::render(document),
            (Format::Bencher, Exported::Bench(document)) => bencher::render(document),
            (Format::BenchmarkAction, Exported::Bench(document)) => benchmark_action::render(document),
            (Format::Perfetto, Exported::Trace(trace)) => {
                perfetto::render(trace.command, trace.account, trace.marks)
            }
            (Format::Firefox, Exported::Trace(trace)) => {
                firefox::render(trace.command, trace.account, trace.marks, trace.user_code)
            }
            (Format::Perfetto, Exported::Watch { document, timeline }) => {
                watch_perfetto::render(document, timeline)
            }
            (Format::Firefox, Exported::Watch { document, timeline }) => {
                watch_firefox::render(document, timeline)
            }
            (Format::Folded, Exported::Trace(trace)) => folded::render(trace.document),
            (Format::Speedscope, Exported::Trace(trace)) => speedscope::render(trace.document),
            (Format::Pprof, Exported::Trace(trace)) => return Ok(Some(pprof::render(trace.document))),
            (Format::Recording, Exported::Trace(trace)) => match trace.run {
                Some(run) => replay::save(run, trace.modules, trace.cpuid),
                None => return Ok(None),
            },
            (Format::Svg, _) => return Ok(self.svg().map(String::into_bytes)),
            (Format::Png, _) => return Ok(self.svg().and_then(|svg| pictures::png::of_svg(&svg))),
            _ => return Ok(None),
        };

        Ok(Some(text.into_bytes()))
    }

    fn json(&self) -> String {
        match self {
            Exported::Bench(document) | Exported::Check { document, .. } => json::render(document),
            Exported::Trace(trace) => json::render(trace.document),
            Exported::Diff(document) => json::render(document),
            Exported::Floor(floor) => json::render(floor),
            Exported::Throughput { document, .. } => json::render(document),
            Exported::Claims(document) => json::render(document),
            Exported::Watch { document, .. } => json::render(document),
            Exported::Tune(document) => json::render(document),
        }
    }

    fn svg(&self) -> Option<String> {
        match self {
            Exported::Floor(floor) => floor.waterfalls.first().and_then(pictures::floor::svg),
            Exported::Throughput { document, log } => pictures::throughput::svg(document, *log),
            _ => None,
        }
    }
}
