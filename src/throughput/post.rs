//! The table of Response to Response.

use crate::document::throughput::PublishedTime;

/// Its numbers of lines.
pub const COUNTS: [u64; 8] =
    [1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000, 12_500_000, 15_000_000, 17_500_000];

/// Its columns: the design that is the program as published, the post's name of it, and the times in seconds.
const COLUMNS: [(&str, &str, [f64; 8]); 4] = [
    ("go-v1-literal", "Go v1", [1.395, 2.36, 4.201, 6.197, 8.355, 10.571, 12.554, 14.529]),
    ("asm-v1-literal", "ASM v1", [0.837, 2.1, 4.203, 6.238, 8.226, 10.359, 13.388, 14.625]),
    ("go-v2-literal", "Go v2", [0.51, 0.094, 0.171, 0.26, 0.335, 0.458, 0.498, 0.575]),
    ("asm-v2-literal", "ASM v2", [0.03, 0.062, 0.113, 0.17, 0.219, 0.258, 0.319, 0.347]),
];

/// The designs of its columns.
pub fn designs() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(design, ..)| *design)
}

/// The times of the post for these numbers of lines.
pub fn published(counts: &[u64]) -> Vec<PublishedTime> {
    let column = |(design, column, times): &(&str, &str, [f64; 8])| {
        let rows = COUNTS.into_iter().zip(*times).filter(|(lines, _)| counts.contains(lines));
        let time = |(lines, seconds)| PublishedTime {
            design: (*design).to_owned(),
            column: (*column).to_owned(),
            lines,
            seconds,
        };
        rows.map(time).collect::<Vec<_>>()
    };
    COLUMNS.iter().flat_map(column).collect()
}
