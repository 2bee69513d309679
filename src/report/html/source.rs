//! Documents that a page shows, each read by its `kind`.

use crate::document::bench::Tool;
use crate::document::check::CheckDocument;
use crate::document::claims::ClaimsDocument;
use crate::document::diff::DiffDocument;
use crate::document::elf::ElfDocument;
use crate::document::floor::Floor;
use crate::document::read::{ReadError, checked, text};
use crate::document::throughput::ThroughputDocument;
use crate::document::trace::TraceDocument;
use crate::document::tune::TuneDocument;
use crate::document::watch::WatchDocument;
use crate::document::{Document, Kind};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::Value;
use std::path::Path;

/// A document of a kind that a page shows.
#[derive(Clone, Debug)]
pub enum PageSource {
    /// Also hyperfine's.
    Programs(Box<Document>),
    Trace(Box<TraceDocument>),
    Floor(Box<Floor>),
    Throughput(Box<ThroughputDocument>),
    Elf(Box<ElfDocument>),
    Claims(Box<ClaimsDocument>),
    Watch(Box<WatchDocument>),
    Check(Box<CheckDocument>),
    Diff(Box<DiffDocument>),
    Tune(Box<TuneDocument>),
}

impl PageSource {
    pub fn read(path: &Path) -> Result<PageSource, ReadError> {
        PageSource::parse(&text(path)?, path)
    }

    /// `path` is for errors only.
    pub fn parse(text: &str, path: &Path) -> Result<PageSource, ReadError> {
        let document = checked(text, path)?;
        PageSource::of(document).map_err(|cause| ReadError::WrongContent { path: path.to_owned(), cause })
    }

    fn of(document: Value) -> Result<PageSource, serde_json::Error> {
        let kind = match document.get("kind") {
            Some(kind) => Kind::deserialize(kind)?,
            None => guessed(&document),
        };
        match kind {
            Kind::Trace => boxed(document).map(PageSource::Trace),
            Kind::Floor => boxed(document).map(PageSource::Floor),
            Kind::Throughput => boxed(document).map(PageSource::Throughput),
            Kind::Elf => boxed(document).map(PageSource::Elf),
            Kind::Claims => boxed(document).map(PageSource::Claims),
            Kind::Watch => boxed(document).map(PageSource::Watch),
            Kind::Diff => boxed(document).map(PageSource::Diff),
            Kind::Tune => boxed(document).map(PageSource::Tune),
            Kind::Check => boxed(document).map(PageSource::Check),
            Kind::Bench => boxed(document).map(PageSource::Programs),
            other => Err(serde_json::Error::custom(format!("no page shows results of the kind `{other}`"))),
        }
    }

    /// What wrote it, and on which machine.
    pub(crate) fn origin(&self) -> (Tool, &Value) {
        match self {
            PageSource::Programs(d) => (d.tool.clone(), &d.machine),
            PageSource::Trace(d) => (d.tool.clone(), &d.machine),
            PageSource::Floor(d) => (d.tool.clone(), &d.machine),
            PageSource::Throughput(d) => (d.tool.clone(), &d.machine),
            PageSource::Elf(d) => (d.tool.clone().into(), &d.machine),
            PageSource::Claims(d) => (d.tool.clone(), &d.machine),
            PageSource::Watch(d) => (d.tool.clone(), &d.machine),
            PageSource::Check(d) => (d.tool.clone(), &d.machine),
            PageSource::Tune(d) => (d.tool.clone(), &d.machine),
            PageSource::Diff(d) => (d.tool.clone().into(), &d.machine),
        }
    }

    /// For readers of the page.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            PageSource::Programs(_) => "programs",
            PageSource::Trace(_) => "trace",
            PageSource::Floor(_) => "floor",
            PageSource::Throughput(_) => "throughput",
            PageSource::Elf(_) => "executable",
            PageSource::Claims(_) => "claims",
            PageSource::Watch(_) => "watch",
            PageSource::Check(_) => "budgets",
            PageSource::Diff(_) => "difference",
            PageSource::Tune(_) => "ways to start",
        }
    }

    /// Less was measured than planned.
    pub(crate) fn partial(&self) -> bool {
        match self {
            PageSource::Programs(d) => d.partial,
            PageSource::Floor(d) => d.partial,
            PageSource::Throughput(d) => d.partial,
            PageSource::Claims(d) => d.partial,
            PageSource::Watch(d) => d.partial,
            PageSource::Check(d) => d.partial,
            PageSource::Trace(d) => d.partial,
            PageSource::Tune(d) => d.partial,
            PageSource::Elf(_) | PageSource::Diff(_) => false,
        }
    }
}

/// The kind of a file that an older firstbyte wrote without one, by its fields.
fn guessed(document: &Value) -> Kind {
    let first = |key: &str| document.pointer(&format!("/results/0/{key}")).is_some();
    let whole = |key: &str| document.get(key).is_some();
    if first("spans") {
        Kind::Trace
    } else if whole("waterfalls") {
        Kind::Floor
    } else if whole("baseline") && whole("wrong") {
        Kind::Throughput
    } else if whole("architecture") && (first("bytes") || whole("size")) {
        Kind::Elf
    } else if first("claim") || first("verdict") {
        Kind::Claims
    } else {
        Kind::Bench
    }
}

fn boxed<T: DeserializeOwned>(document: Value) -> Result<Box<T>, serde_json::Error> {
    serde_json::from_value(document).map(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::bench::SCHEMA;
    use serde_json::json;

    fn name(mut document: Value) -> Result<&'static str, String> {
        document["schema"] = json!(SCHEMA);
        document["tool"] = json!({"name": "firstbyte"});
        let read = PageSource::parse(&document.to_string(), Path::new("x.json"));
        read.map(|source| source.name()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_document_is_read_by_its_kind_whatever_its_fields() {
        assert_eq!(name(json!({"kind": "bench", "waterfalls": [], "results": []})).unwrap(), "programs");
        assert_eq!(name(json!({"kind": "trace", "results": []})).unwrap(), "trace");
        let error = name(json!({"kind": "doctor", "results": []})).unwrap_err();
        assert!(error.contains("no page shows results of the kind `doctor`"), "{error}");
        let error = name(json!({"kind": "tape", "results": []})).unwrap_err();
        assert!(error.contains("`tape`"), "{error}");
    }

    #[test]
    fn a_file_without_a_kind_is_read_by_its_fields() {
        let trace = json!({"results": [{"command": "x", "total_ns": 5, "spans": []}]});
        let throughput = json!({"machine": null, "partial": false, "baseline": "x", "results": [], "wrong": [], "skipped": []});
        let elf = json!({"architecture": "x86-64", "size": 1, "results": [{"offset": 0, "bytes": [127]}]});
        let claims = json!({"machine": null, "results": [{"id": "000-x", "seed": "000", "post": "p", "claim": "c",
            "figure": "", "measured": "", "values": [], "how": "", "rule": "", "verdict": "holds", "why": ""}]});
        assert_eq!(name(trace).unwrap(), "trace");
        assert_eq!(name(throughput).unwrap(), "throughput");
        assert_eq!(name(elf).unwrap(), "executable");
        assert_eq!(name(claims).unwrap(), "claims");
        assert_eq!(name(json!({"results": []})).unwrap(), "programs");
    }

    #[test]
    fn a_document_that_no_page_shows_is_an_error_that_names_the_file() {
        let error = name(json!({"results": [{"check": "bpf"}]})).unwrap_err();
        assert!(error.starts_with("`x.json` is not a valid file of results"), "{error}");
        let error = name(json!({"results": [{"spans": [], "command": 7}]})).unwrap_err();
        assert!(error.contains("\nhelp: "), "{error}");
    }

    #[test]
    fn a_newer_schema_is_an_error_for_every_kind() {
        let text = r#"{"schema": "firstbyte/9", "results": [{"spans": []}]}"#;
        let error = PageSource::parse(text, Path::new("x.json")).unwrap_err().to_string();
        assert!(error.contains("newer than"), "{error}");
    }
}
