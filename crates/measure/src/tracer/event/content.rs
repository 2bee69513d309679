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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// How many bytes there are.
    pub length: u64,
    /// The first of them.
    #[serde(with = "latin1")]
    pub bytes: Vec<u8>,
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
        let content = Content { length: 256, bytes: (0..=255).collect() };
        let text = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), content);
        assert!(serde_json::from_str::<Content>(r#"{"length":1,"bytes":"…"}"#).is_err());
    }
}
