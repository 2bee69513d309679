//! What the buffers among the arguments of system calls contain.

use crate::arch::Buffer;
use serde::{Deserialize, Serialize};

/// Which contents of buffers the full mode records. By default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedContents {
    /// At most this many bytes of each buffer, up to [`WantedContents::MOST_BYTES`]. 0: nothing is recorded.
    pub bytes: u16,
    /// Not only what the program writes, but also what it reads.
    pub read: bool,
}

impl WantedContents {
    /// The most bytes of one buffer that can be recorded.
    pub const MOST_BYTES: u16 = 1024;
    /// How many buffers of an array of `struct iovec` are recorded.
    pub const MOST_BUFFERS: usize = 4;

    /// Whether anything is recorded of such a buffer.
    pub(in crate::tracer) fn wants(self, buffer: Buffer) -> bool {
        self.bytes > 0 && (self.read || !buffer.is_read())
    }
}

/// What a buffer contains: bytes that a program wrote or read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// How many bytes there are.
    pub length: u64,
    /// The first of them.
    #[serde(with = "latin1")]
    pub bytes: Vec<u8>,
    /// Their address, if they could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<u64>,
}

impl Content {
    /// A path without its NUL. One that is not whole goes on.
    pub fn path(bytes: Vec<u8>, is_whole: bool) -> Content {
        Content { length: bytes.len() as u64 + u64::from(!is_whole), bytes, unreadable: None }
    }

    /// Whether there are more bytes.
    pub fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.length
    }

    /// As a name. What is not UTF-8 is replaced, and `…` follows if there is more.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned() + if self.is_cut() { "…" } else { "" }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::path(text.as_bytes().to_vec(), true)
    }
}

/// Paths: a whole one that is UTF-8 is written as text.
pub(super) mod paths {
    use super::Content;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Bytes(Content),
    }

    pub(in crate::tracer::event) fn serialize<S: Serializer>(
        paths: &[Content],
        s: S,
    ) -> Result<S::Ok, S::Error> {
        let written = |path: &Content| match str::from_utf8(&path.bytes) {
            Ok(text) if !path.is_cut() => Written::Text(text.to_owned()),
            _ => Written::Bytes(path.clone()),
        };
        s.collect_seq(paths.iter().map(written))
    }

    pub(in crate::tracer::event) fn deserialize<'d, D: Deserializer<'d>>(
        d: D,
    ) -> Result<Vec<Content>, D::Error> {
        let content = |written| match written {
            Written::Text(text) => text.as_str().into(),
            Written::Bytes(content) => content,
        };
        Ok(Vec::<Written>::deserialize(d)?.into_iter().map(content).collect())
    }
}

/// Bytes as a text that has one letter for each, with the number of the byte (ISO 8859-1). Nothing is lost, and people can
/// read what is ASCII.
mod latin1 {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&bytes.iter().copied().map(char::from).collect::<String>())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(d: D) -> Result<Vec<u8>, D::Error> {
        let byte = |letter: char| u8::try_from(letter).map_err(|_| D::Error::custom("not one byte a letter"));
        String::deserialize(d)?.chars().map(byte).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_a_recording() {
        let content = Content { length: 256, bytes: (0..=255).collect(), unreadable: None };
        let text = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), content);
        assert!(serde_json::from_str::<Content>(r#"{"length":1,"bytes":"…"}"#).is_err());
    }
}
