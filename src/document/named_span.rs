//! Parts of a run that have a name: between two texts that a program prints, or between its marks.

use super::distribution::Distribution;
use super::head::Ratio;
use crate::stats::Verdict;
use firstbyte_measure::timeline::marks::{REST, SpanKind, SpanSum};
use firstbyte_measure::timeline::region::Region;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// All parts of one name, over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedSpan {
    /// Its key in the document.
    #[serde(skip)]
    pub name: String,
    pub kind: SpanKind,
    /// What begins it; `null`: the beginning of the run, or several marks.
    #[serde(default)]
    pub from: Option<String>,
    /// What ends it; `null`: the end of the run.
    #[serde(default)]
    pub to: Option<String>,
    /// How many there are in a run: the median.
    #[serde(default)]
    pub count: u64,
    /// In some run, its end was not marked: its process or the run ended first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
    /// One sample for each run that has it, in nanoseconds: all parts of this name together.
    #[serde(flatten)]
    pub times: Distribution,
    /// Against the same part of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<SpanRelative>,
    /// Where it lies in the run that is shown, in order; at most [`MOST_PLACES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<SpanPlace>,
}

/// How many places of a part a document has.
pub const MOST_PLACES: usize = 1000;

/// A part of one run. Its thread is the one that ended it, or that began it if it has ends of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanPlace {
    pub pid: u32,
    pub tid: u32,
    /// From the entry of the first `execve`.
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A part against the same part of another program, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpanRelative {
    /// The program that it is compared with.
    pub reference: String,
    /// The interval is the one of the verdict, 99 %.
    #[serde(flatten)]
    pub ratio: Ratio,
    pub verdict: Verdict,
}

impl NamedSpan {
    /// `None` without samples.
    pub fn region(region: &Region, samples: Vec<u64>) -> Option<NamedSpan> {
        let text = |text: &Option<Arc<[u8]>>| text.as_ref().map(|text| String::from_utf8_lossy(text).into());
        let [from, to] = [&region.from, &region.to].map(text);
        let times = Distribution::of(samples)?;
        let span = NamedSpan {
            name: String::new(),
            kind: SpanKind::Region,
            from,
            to,
            count: 1,
            unended: false,
            times,
            relative: None,
            places: Vec::new(),
        };
        Some(NamedSpan { name: span.bounds(), ..span })
    }

    /// `None` without samples. `first`: what all runs have in common. `count`: how many there are in a run.
    pub fn marked(first: &SpanSum, count: u64, samples: Vec<u64>) -> Option<NamedSpan> {
        let has_end = &*first.name != REST;
        Some(NamedSpan {
            name: first.name.to_string(),
            kind: first.kind,
            from: match first.kind {
                SpanKind::Span => Some(first.name.to_string()),
                _ => first.after.as_deref().map(str::to_owned),
            },
            to: has_end.then(|| first.name.to_string()),
            count,
            unended: first.unended,
            times: Distribution::of(samples)?,
            relative: None,
            places: Vec::new(),
        })
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

    /// Its name in a text, and how often it is there.
    pub fn title(&self) -> String {
        let name = match self.kind {
            SpanKind::Region => self.name.clone(),
            SpanKind::Mark | SpanKind::Span => format!("`{}`", self.name.escape_debug()),
        };
        let times = if self.count > 1 { format!(", {} times", self.count) } else { String::new() };
        let end = if self.unended { ", its end is not marked" } else { "" };
        format!("{name}{times}{end}")
    }
}

/// Gives parts of different kinds different names: the names are the keys of a document.
pub fn told_apart(spans: Vec<NamedSpan>) -> Vec<NamedSpan> {
    let mut names = HashSet::new();
    let apart = spans.into_iter().map(|mut span| {
        while !names.insert(span.name.clone()) {
            span.name.push_str(" (span)");
        }
        span
    });
    apart.collect()
}

/// As an object with a key for each name, in order.
pub(crate) mod by_name {
    use super::NamedSpan;
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;

    pub(crate) fn serialize<S: Serializer>(spans: &[NamedSpan], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(spans.iter().map(|span| (&span.name, span)))
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<NamedSpan>, D::Error> {
        deserializer.deserialize_map(Named)
    }

    struct Named;

    impl<'d> Visitor<'d> for Named {
        type Value = Vec<NamedSpan>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of named spans")
        }

        fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Vec<NamedSpan>, A::Error> {
            let mut spans = Vec::new();
            while let Some((name, span)) = map.next_entry::<String, NamedSpan>()? {
                spans.push(NamedSpan { name, ..span });
            }
            Ok(spans)
        }
    }
}
