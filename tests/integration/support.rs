//! What several subjects need.

/// Says aloud that this machine cannot run a check; `FIRSTBYTE_REQUIRE=all` makes it a failure.
#[track_caller]
pub(crate) fn skipped(reason: &str) {
    assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"), "skipped: {reason}");
    eprintln!("skipped: {reason}");
}
