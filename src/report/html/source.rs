//! Documents that a page shows, each read by its `kind`.

use crate::document::bench::Tool;
use crate::document::claims::ClaimsDocument;
use crate::document::elf::ElfDocument;
use crate::document::floor::Floor;
use crate::document::read::{ReadError, checked, text};
use crate::document::throughput::ThroughputDocument;
use crate::document::trace::TraceDocument;
use crate::document::{Document, Kind};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::Value;
use std::path::Path;

/// A document of a kind that a page shows.
#[derive(Clone, Debug)]
pub enum Source {
    /// Also hyperfine's.
    Programs(Box<Document>),
    Trace(Box<TraceDocument>),
    Floor(Box<Floor>),
    Throughput(Box<ThroughputDocument>),
    Elf(Box<ElfDocument>),
    Claims(Box<ClaimsDocument>),
}

impl Source {
    pub fn read(path: &Path) -> Result<Source, ReadError> {
        Source::parse(&text(path)?, path)
    }

    /// `path` is for errors only.
    pub fn parse(text: &str, path: &Path) -> Result<Source, ReadError> {
        let document = checked(text, path)?;
        Source::of(document).map_err(|cause| ReadError::WrongContent { path: path.to_owned(), cause })
    }

    fn of(document: Value) -> Result<Source, serde_json::Error> {
        let kind = match document.get("kind") {
            Some(kind) => Kind::deserialize(kind)?,
            None => guessed(&document),
        };
        match kind {
            Kind::Trace => boxed(document).map(Source::Trace),
            Kind::Floor => boxed(document).map(Source::Floor),
            Kind::Throughput => boxed(document).map(Source::Throughput),
            Kind::Elf => boxed(document).map(Source::Elf),
            Kind::Claims => boxed(document).map(Source::Claims),
            Kind::Bench => boxed(document).map(Source::Programs),
            other => Err(serde_json::Error::custom(format!("no page shows results of the kind `{other}`"))),
        }
    }

    /// What wrote it, and on which machine.
    pub(crate) fn origin(&self) -> (Tool, &Value) {
        match self {
            Source::Programs(d) => (d.tool.clone(), &d.machine),
            Source::Trace(d) => (d.tool.clone(), &d.machine),
            Source::Floor(d) => (d.tool.clone(), &d.machine),
            Source::Throughput(d) => (d.tool.clone(), &d.machine),
            Source::Elf(d) => (d.tool.clone().into(), &d.machine),
            Source::Claims(d) => (d.tool.clone(), &d.machine),
        }
    }

    /// For readers of the page.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Source::Programs(_) => "programs",
            Source::Trace(_) => "trace",
            Source::Floor(_) => "floor",
            Source::Throughput(_) => "throughput",
            Source::Elf(_) => "executable",
            Source::Claims(_) => "claims",
        }
    }

    /// Less was measured than planned.
    pub(crate) fn partial(&self) -> bool {
        match self {
            Source::Programs(d) => d.partial,
            Source::Floor(d) => d.partial,
            Source::Throughput(d) => d.partial,
            Source::Claims(d) => d.partial,
            Source::Trace(d) => d.partial,
            Source::Elf(_) => false,
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
        let read = Source::parse(&document.to_string(), Path::new("x.json"));
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
        let error = Source::parse(text, Path::new("x.json")).unwrap_err().to_string();
        assert!(error.contains("newer than"), "{error}");
    }
}
