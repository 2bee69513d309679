//! Numbers with their words.

/// `1 run`, `2 runs`.
pub(crate) fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `1 run`, `2 runs`.
pub(crate) fn runs(count: usize) -> String {
    count_of(count, "run", "runs")
}
