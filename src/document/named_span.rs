//! Parts of a run that have a name.

use super::distribution::Distribution;
use firstbyte_measure::timeline::region::Region;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A part of a run that has a name, such as the region between two texts that a program prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedSpan {
    pub name: String,
    /// What begins it; `null`: the beginning of the run.
    pub from: Option<String>,
    /// What ends it; `null`: the end of the run.
    pub to: Option<String>,
    /// One sample for each traced run that has it, in nanoseconds.
    pub times: Distribution,
}

/// The name of the span between the texts of `--from` and `--to`.
pub const REGION: &str = "region";

impl NamedSpan {
    /// `None` without samples.
    pub fn region(region: &Region, samples: Vec<u64>) -> Option<NamedSpan> {
        let text = |text: &Option<Arc<[u8]>>| text.as_ref().map(|text| String::from_utf8_lossy(text).into());
        let [from, to] = [&region.from, &region.to].map(text);
        Some(NamedSpan { name: REGION.to_owned(), from, to, times: Distribution::of(samples)? })
    }

    /// What it is between, in words.
    pub fn bounds(&self) -> String {
        let text = |text: &Option<String>| text.as_ref().map(|text| format!("`{}`", text.escape_debug()));
        match (text(&self.from), text(&self.to)) {
            (Some(from), Some(to)) => format!("{from} to {to}"),
            (Some(from), None) => format!("{from} to the exit"),
            (None, Some(to)) => format!("up to {to}"),
            (None, None) => "the whole run".to_owned(),
        }
    }
}
