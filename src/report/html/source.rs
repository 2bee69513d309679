//! What a document is, told by what it holds.

use super::traced::TraceDocument;
use crate::document::Document;
use crate::document::bench::Tool;
use crate::document::floor::Floor;
use crate::document::read::{ReadError, checked, text};
use crate::document::throughput::ThroughputDocument;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

/// A document of one of the kinds that a page shows.
#[derive(Clone, Debug)]
pub enum Source {
    /// `showdown`, `bench` and `check`, or hyperfine's.
    Programs(Box<Document>),
    /// `trace`.
    Trace(Box<TraceDocument>),
    /// `floor`.
    Floor(Box<Floor>),
    /// `throughput`.
    Throughput(Box<ThroughputDocument>),
    /// `elf --json`.
    Elf(Box<ElfDocument>),
    /// `claims --json`.
    Claims(Box<ClaimsDocument>),
}

/// Every byte of an executable, explained.
#[derive(Clone, Debug, Deserialize)]
pub struct ElfDocument {
    /// What wrote it.
    pub tool: Tool,
    /// Where.
    #[serde(default)]
    pub machine: Value,
    /// For which processors.
    pub architecture: String,
    /// Bytes in all.
    pub size: u64,
    /// Bytes that belong together.
    pub results: Vec<ElfRow>,
}

/// Bytes that belong to the same fields and to the same instruction.
#[derive(Clone, Debug, Deserialize)]
pub struct ElfRow {
    /// File offset of the first.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The header fields that they are.
    #[serde(default)]
    pub fields: Vec<ElfField>,
    /// What was put there.
    #[serde(default)]
    pub content: Option<String>,
}

/// A header field, and what the kernel does with it.
#[derive(Clone, Debug, Deserialize)]
pub struct ElfField {
    /// Its name in elf.h.
    pub name: String,
    /// What the kernel does with it.
    #[serde(default)]
    pub kernel: String,
}

/// What was claimed, and what is so here.
#[derive(Clone, Debug, Deserialize)]
pub struct ClaimsDocument {
    /// What measured.
    pub tool: Tool,
    /// Where.
    #[serde(default)]
    pub machine: Value,
    /// Not every claim was looked at.
    #[serde(default)]
    pub partial: bool,
    /// One a claim: objects, whose fields are shown as they are.
    pub results: Vec<serde_json::Map<String, Value>>,
}

impl Source {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It is not there, not JSON, of a schema that this version does not read, or of no kind that a page shows.
    pub fn read(path: &Path) -> Result<Source, ReadError> {
        Source::parse(&text(path)?, path)
    }

    /// Takes `text` as a document; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Source, ReadError> {
        let document = checked(text, path)?;
        Source::of(document).map_err(|cause| ReadError::WrongContent { path: path.to_owned(), cause })
    }

    /// The kind that the document's fields tell of, read as such.
    fn of(document: Value) -> Result<Source, serde_json::Error> {
        let first = |key: &str| document.pointer(&format!("/results/0/{key}")).is_some();
        let whole = |key: &str| document.get(key).is_some();
        if first("spans") {
            boxed(document).map(Source::Trace)
        } else if whole("waterfalls") {
            boxed(document).map(Source::Floor)
        } else if whole("baseline") && whole("wrong") {
            boxed(document).map(Source::Throughput)
        } else if whole("architecture") && (first("bytes") || whole("size")) {
            boxed(document).map(Source::Elf)
        } else if first("claim") || first("verdict") {
            boxed(document).map(Source::Claims)
        } else {
            boxed(document).map(Source::Programs)
        }
    }

    /// What measured, and where.
    pub(crate) fn origin(&self) -> (&Tool, &Value) {
        match self {
            Source::Programs(d) => (&d.tool, &d.machine),
            Source::Trace(d) => (&d.tool, &d.machine),
            Source::Floor(d) => (&d.tool, &d.machine),
            Source::Throughput(d) => (&d.tool, &d.machine),
            Source::Elf(d) => (&d.tool, &d.machine),
            Source::Claims(d) => (&d.tool, &d.machine),
        }
    }

    /// What a person calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Source::Programs(_) => "programs",
            Source::Trace(_) => "trace",
            Source::Floor(_) => "floor",
            Source::Throughput(_) => "throughput",
            Source::Elf(_) => "executable",
            Source::Claims(_) => "claims",
        }
    }

    /// It was interrupted, or not at its end.
    pub(crate) fn partial(&self) -> bool {
        match self {
            Source::Programs(d) => d.partial,
            Source::Floor(d) => d.partial,
            Source::Throughput(d) => d.partial,
            Source::Claims(d) => d.partial,
            Source::Trace(_) | Source::Elf(_) => false,
        }
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

    fn kind(mut document: Value) -> Result<&'static str, String> {
        document["schema"] = json!(SCHEMA);
        document["tool"] = json!({"name": "firstbyte"});
        let read = Source::parse(&document.to_string(), Path::new("x.json"));
        read.map(|source| source.kind()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_kind_is_told_by_its_fields() {
        let trace = json!({"results": [{"command": "x", "total_ns": 5, "spans": []}]});
        let throughput = json!({"machine": null, "partial": false, "baseline": "x", "results": [], "wrong": [], "skipped": []});
        let elf = json!({"architecture": "x86-64", "size": 1, "results": [{"offset": 0, "bytes": [127]}]});
        let claims = json!({"results": [{"claim": "c", "verdict": "holds"}]});
        assert_eq!(kind(trace).unwrap(), "trace");
        assert_eq!(kind(throughput).unwrap(), "throughput");
        assert_eq!(kind(elf).unwrap(), "executable");
        assert_eq!(kind(claims).unwrap(), "claims");
        assert_eq!(kind(json!({"results": []})).unwrap(), "programs");
    }

    #[test]
    fn what_is_of_no_kind_is_refused_by_name() {
        let error = kind(json!({"results": [{"check": "bpf"}]})).unwrap_err();
        assert!(error.starts_with("`x.json` is not a file of measured programs"), "{error}");
        let error = kind(json!({"results": [{"spans": [], "command": 7}]})).unwrap_err();
        assert!(error.contains("\nhelp: "), "{error}");
    }

    #[test]
    fn a_newer_schema_is_refused_for_every_kind() {
        let text = r#"{"schema": "firstbyte/9", "results": [{"spans": []}]}"#;
        let error = Source::parse(text, Path::new("x.json")).unwrap_err().to_string();
        assert!(error.contains("newer than"), "{error}");
    }
}
