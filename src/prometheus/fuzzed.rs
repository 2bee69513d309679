//! The readers of this room that are private, for `fuzz/`.

use super::catalogue::Catalogue;
use super::request::{self, Request};
use crate::document::exposition::Exposition;
use crate::document::watch::WatchDocument;

/// Reads what a client sends, in two parts. Returns the head of the answer, if one is due.
pub fn answer(received: &[u8]) -> Option<String> {
    let early = request::parse(&received[..received.len() / 2]);
    let request = request::parse(received)?;
    // the rest of a request that is complete does not change it
    assert!(early.is_none_or(|early| early == request));
    Some(match request {
        Request::Metrics(format) => request::head(format, received.len()),
        Request::Refused(refusal) => request::refused(refusal),
    })
}

/// What monitoring gets of a watch, with one label for programs.
pub fn exposition(document: &WatchDocument) -> Exposition {
    Catalogue::new(1).update(document, 0)
}
