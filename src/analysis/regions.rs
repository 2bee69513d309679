//! The region between two texts that a program prints, over all traced runs.

use super::runs::ObservedRuns;
use crate::document::named_span::NamedSpan;
use firstbyte_measure::tracer::Recording;
use firstbyte_measure::units::display_nanos;

/// The region that was asked for, or why no run has it; `None`: none was asked for. `corrected`: a recording without the time
/// that observing it took.
pub(super) fn region(
    observed: &ObservedRuns,
    corrected: impl Fn(&Recording) -> Recording,
) -> Option<Result<NamedSpan, String>> {
    let region = observed.region.as_ref()?;
    let time = |recording: &Recording| region.of(&corrected(recording)).map(|time| time.0);
    let times: Result<Vec<u64>, _> = observed.recordings.iter().map(time).collect();
    let span = times.map_err(|error| error.to_string());
    Some(span.and_then(|times| NamedSpan::region(region, times).ok_or_else(|| "no run was made".to_owned())))
}

/// The same as a sentence.
pub(super) fn sentence(region: &Result<NamedSpan, String>) -> String {
    let span = match region {
        Ok(span) => span,
        Err(why) => return format!("The region of --from and --to is not known: {why}."),
    };
    let times = &span.times;
    let [median, min, max] = [times.median, times.min, times.max].map(display_nanos);
    let range = if times.samples.len() > 1 { format!(" ({min} to {max})") } else { String::new() };
    format!("Region, {}: {median}{range}.", span.bounds())
}
