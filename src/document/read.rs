//! Reads documents: our own, and hyperfine's.

use super::hyperfine;
use crate::document::INSTALL;
use crate::document::bench::{SCHEMA, Tool};
use crate::document::{Document, Kind};
use crate::output::{visible, visible_path};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file cannot be read as a document.
#[derive(Debug, Error)]
#[allow(missing_docs)] // each message says it
pub enum ReadError {
    #[error(
        "cannot read `{}`: {cause}\nhelp: `ls -l` shows whether it exists and who may read it",
        visible_path(path)
    )]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "`{}` is not JSON: {cause}\nhelp: `firstbyte bench --export-json FILE CMD` writes a valid file",
        visible_path(path)
    )]
    NotJson { path: PathBuf, cause: serde_json::Error },
    #[error(
        "`{}` contains no results: it has neither a `schema` nor a list `results`\nhelp: `firstbyte bench --export-json FILE CMD` writes a valid file",
        visible_path(path)
    )]
    NotResults { path: PathBuf },
    #[error(
        "`{}` has the schema `{}`, newer than `{SCHEMA}`, the newest one that this version reads\nhelp: get a newer firstbyte; in its source folder: git pull && {INSTALL}",
        visible_path(path),
        visible(schema)
    )]
    NewerSchema { path: PathBuf, schema: String },
    #[error(
        "`{}` has the unknown schema `{}` instead of `{SCHEMA}`\nhelp: `firstbyte bench --export-json FILE CMD` writes a valid file",
        visible_path(path),
        visible(schema)
    )]
    UnknownSchema { path: PathBuf, schema: String },
    #[error(
        "`{}` is not a valid file of results: {cause}\nhelp: `firstbyte bench --export-json FILE CMD` writes one",
        visible_path(path)
    )]
    WrongContent { path: PathBuf, cause: serde_json::Error },
    #[error(
        "`{}` contains results of the kind `{}`, not `{wanted}`\nhelp: name a file of `firstbyte {wanted} --export-json FILE`",
        visible_path(path),
        visible(kind)
    )]
    OtherKind { path: PathBuf, kind: String, wanted: Kind },
}

/// A document with a million runs of ten programs has less; a device may have no end.
const MAX_DOCUMENT_BYTES: u64 = 1 << 30;

pub fn read(path: &Path) -> Result<Document, ReadError> {
    parse(&text(path)?, path)
}

/// The text of a document.
pub(crate) fn text(path: &Path) -> Result<String, ReadError> {
    bounded(path, MAX_DOCUMENT_BYTES).map_err(|cause| ReadError::Unreadable { path: path.to_owned(), cause })
}

/// The text of a file that has at most `most` bytes.
pub(crate) fn bounded(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most {
        return Err(io::Error::other(format!("it is larger than {}", firstbyte_measure::units::Bytes(most))));
    }
    Ok(text)
}

/// The line and the column of a byte of a text, both from 1; the column in characters.
pub(crate) fn position(text: &str, byte: usize) -> (usize, usize) {
    let end = (0..=byte.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let before = &text[..end];
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Reads `text` as a document of measured programs; `path` is for errors only.
///
/// A file without a schema is read as hyperfine's if it has hyperfine's fields. Its tool is then `hyperfine`, and it has
/// no phases.
pub fn parse(text: &str, path: &Path) -> Result<Document, ReadError> {
    of_kind(Kind::Bench, text, path)
}

/// Reads `text` as a document of one kind. Older files do not have a kind.
pub(super) fn of_kind<T: DeserializeOwned>(wanted: Kind, text: &str, path: &Path) -> Result<T, ReadError> {
    let document = checked(text, path)?;
    let kind = document.get("kind").and_then(Value::as_str).filter(|kind| *kind != wanted.name());
    if let Some(kind) = kind {
        let (path, kind) = (path.to_owned(), kind.to_owned());
        return Err(ReadError::OtherKind { path, kind, wanted });
    }
    content(document, path)
}

pub(crate) fn content<T: DeserializeOwned>(document: Value, path: &Path) -> Result<T, ReadError> {
    serde_json::from_value(document).map_err(|cause| ReadError::WrongContent { path: path.to_owned(), cause })
}

/// Reads `text` as a document of any kind, with a schema that this version reads. hyperfine's gets the head that ours has.
pub(crate) fn checked(text: &str, path: &Path) -> Result<Value, ReadError> {
    let path = path.to_owned();
    let mut document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(cause) => return Err(ReadError::NotJson { path, cause }),
    };
    match document.get("schema").map(|schema| schema.as_str().unwrap_or_default().to_owned()) {
        Some(schema) if schema == SCHEMA => {}
        Some(schema) if is_newer(&schema) => return Err(ReadError::NewerSchema { path, schema }),
        Some(schema) => return Err(ReadError::UnknownSchema { path, schema }),
        None if document.get("results").is_some_and(Value::is_array) => adopt(&mut document),
        None => return Err(ReadError::NotResults { path }),
    }
    Ok(document)
}

fn is_newer(schema: &str) -> bool {
    let number = |schema: &str| schema.strip_prefix("firstbyte/").and_then(|n| n.parse::<u32>().ok());
    number(schema) > number(SCHEMA)
}

/// Gives hyperfine's document the head that our documents have.
fn adopt(document: &mut Value) {
    let tool = Tool { name: "hyperfine".to_owned(), ..Tool::default() };
    document["schema"] = json!(SCHEMA);
    document["tool"] = json!(tool);
    if document.get("schema_version").is_some() {
        hyperfine::add_first_schema(document);
    }
    hyperfine::add_parameters_to_equal_names(document);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("r.json")).unwrap_err().to_string()
    }

    /// hyperfine 1.15 writes this; later versions add `memory_usage_byte`.
    const HYPERFINE: &str = r#"{"results": [
        {"command": "true", "mean": 0.00046, "stddev": 0.00014, "median": 0.0004, "user": 0.0004, "system": 0.0,
         "min": 0.0004, "max": 0.0006, "times": [0.0006, 0.0004], "exit_codes": [0, 0]},
        {"command": "sleep {d}", "mean": 0.01, "stddev": null, "median": 0.01, "user": 0.0, "system": 0.0,
         "min": 0.01, "max": 0.01, "times": [0.01], "memory_usage_byte": [1638400], "exit_codes": [null],
         "parameters": {"d": "0.01"}}]}"#;

    #[test]
    fn a_file_of_hyperfine_is_read() {
        let document = parse(HYPERFINE, Path::new("h.json")).unwrap();
        assert_eq!((document.tool.name.as_str(), document.results.len()), ("hyperfine", 2));
        let [first, second] = &document.results[..] else { unreachable!() };
        assert_eq!((first.label(), first.times.len(), first.phases.total.is_none()), ("true", 2, true));
        assert_eq!((second.stddev, second.exit_codes[0]), (None, None));
        assert_eq!(second.memory_usage_byte, [1_638_400]);
        assert_eq!(second.parameters["d"], "0.01");
    }

    /// hyperfine 2.0 writes this, and counters where the processor has them.
    const HYPERFINE_2: &str = r#"{"schema_version": 2, "metadata": {"hyperfine_version": "2.0.0"},
        "primary_metric": "time_wall_clock", "results": [{"command": "sleep 1", "name": "nap",
        "measurements": [{"time_wall_clock": {"value": 1.5, "unit": "second"}, "time_cpu": {"value": 0.75, "unit": "second"},
            "time_user": {"value": 0.5, "unit": "second"}, "time_system": {"value": 0.25, "unit": "second"},
            "memory_peak_resident": {"value": 1638400.0, "unit": "byte"}, "instructions": {"value": 7}, "exit_code": 0}],
        "parameters": {"d": {"value": "1"}}, "environment": {"A": "b"},
        "summary": {"time_wall_clock": {"unit": "second", "count": 1, "mean": 1.5, "stddev": null, "median": 1.5,
            "min": 1.5, "max": 1.5}, "time_user": {"unit": "second", "count": 1, "mean": 0.5, "stddev": null,
            "median": 0.5, "min": 0.5, "max": 0.5}, "time_system": {"unit": "second", "count": 1, "mean": 0.25,
            "stddev": null, "median": 0.25, "min": 0.25, "max": 0.25}}}]}"#;

    #[test]
    fn a_file_of_hyperfine_2_is_read() {
        let document = parse(HYPERFINE_2, Path::new("h.json")).unwrap();
        let [nap] = &document.results[..] else { unreachable!() };
        assert_eq!(
            (document.tool.name.as_str(), nap.label(), nap.command.as_str()),
            ("hyperfine", "nap", "sleep 1")
        );
        assert_eq!((nap.mean, nap.stddev, nap.user, nap.system), (1.5, None, Some(0.5), Some(0.25)));
        assert_eq!((&nap.times[..], &nap.memory_usage_byte[..]), (&[1.5][..], &[1_638_400][..]));
        assert_eq!((nap.exit_codes[0], &nap.parameters["d"]), (Some(0), &json!("1")));
    }

    #[test]
    fn a_newer_schema_is_an_error_that_names_the_fix() {
        let message = error(r#"{"schema": "firstbyte/2", "results": []}"#);
        assert!(message.contains("`firstbyte/2`, newer than `firstbyte/1`"), "{message}");
        assert!(message.contains("\nhelp: "), "{message}");
    }

    #[test]
    fn an_unknown_schema_is_an_error_that_names_it() {
        for schema in ["\"other/1\"", "\"firstbyte/x\"", "\"firstbyte/0\"", "7"] {
            let message = error(&format!(r#"{{"schema": {schema}, "results": []}}"#));
            assert!(message.contains("unknown schema"), "{message}");
        }
    }

    #[test]
    fn a_document_of_another_kind_is_an_error_that_names_the_kind() {
        let message = error(r#"{"schema": "firstbyte/1", "kind": "floor", "results": []}"#);
        assert!(message.starts_with("`r.json` contains results of the kind `floor`"), "{message}");
    }

    #[test]
    fn text_that_is_not_a_document_is_an_error_that_names_the_file() {
        let texts = ["", "not json", "[]", "{}", "null", "{\"results\": 1}", "{\"results\": [{}]}"];
        for text in texts {
            assert!(error(text).starts_with("`r.json` "), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_and_empty_samples_are_refused() {
        assert!(error(&HYPERFINE.replace("0.00046", "1e999")).contains("not JSON"));
        assert!(error(&HYPERFINE.replace("0.00046", "NaN")).contains("not JSON"));
        let empty =
            HYPERFINE.replacen("\"times\"", "\"phases\": {\"total\": {\"samples\": []}}, \"times\"", 1);
        assert!(error(&empty).contains("`samples` is empty"));
    }

    #[test]
    fn a_file_without_end_is_refused_at_the_limit() {
        let message = bounded(Path::new("/dev/zero"), 4096).unwrap_err().to_string();
        assert_eq!(message, "it is larger than 4.00 KiB");
    }

    #[test]
    fn a_missing_file_is_an_error_that_names_it() {
        let message = read(Path::new("/nonexistent/r.json")).unwrap_err().to_string();
        assert!(message.starts_with("cannot read `/nonexistent/r.json`: "), "{message}");
    }
}
