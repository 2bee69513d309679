//! The readers of the ring and of interpreters' frames, for `fuzz/`.

pub use super::frames::fuzzed::frames;

use super::record::{Read, Record, read};

/// The records in `bytes`, each with a header as in the ring: `perf_event_header` of `perf_event_open(2)`, in order of
/// time.
pub fn records(mut bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = *header;
        let size = usize::from(u16::from_ne_bytes([g, h])).saturating_sub(8).min(rest.len());
        let (body, next) = rest.split_at(size);
        if let Read::Record(record) = read(u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([e, f]), body)
        {
            records.push(record);
        }
        bytes = next;
    }
    records.sort_by_key(|record| record.at);
    records
}
