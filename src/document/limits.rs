//! What limits the figures of a measurement. Every reader of a document shows it beside them.

use super::bench::Measurement;
use super::warnings;
use std::collections::BTreeMap;

impl Measurement {
    /// The runs that counted although they failed: each way in which they ended, and how many ended so. A run that firstbyte
    /// itself ended has not failed.
    pub fn failures(&self) -> BTreeMap<String, usize> {
        let mut ends = BTreeMap::new();
        for code in self.exit_codes.iter().filter(|code| **code != Some(0) && !self.is_ended_early()) {
            let signal = || self.killed_by.as_deref().unwrap_or("a signal");
            let end = code.map_or_else(|| format!("killed by {}", signal()), |code| format!("status {code}"));
            *ends.entry(end).or_default() += 1;
        }
        ends
    }

    /// Whether its runs end at a moment before the program's own end (`--until-…`).
    pub(super) fn is_ended_early(&self) -> bool {
        self.plan.get("until").is_some_and(|until| !until.is_null())
    }

    /// One lower-case line for each thing that limits its figures.
    pub fn limits(&self) -> Vec<String> {
        let lost = match self.lost_events {
            0 => None,
            1 => Some("1 event was lost".to_owned()),
            lost => Some(format!("{lost} events were lost")),
        };
        let rejected = self.rejected.first().map(|first| {
            let count =
                if self.rejected.len() == 1 { "1 run" } else { &format!("{} runs", self.rejected.len()) };
            format!("{count} did not count; run {}: {}", first.run, first.reason)
        });
        let uncounted = self.uncounted.as_ref();
        let uncounted = uncounted.map(|reason| format!("no counts: in a counting run, {reason}"));
        self.failed_runs().into_iter().chain(rejected).chain(lost).chain(uncounted).collect()
    }

    /// The limits, and whether its runs did the same work.
    pub fn limits_to_comparison(&self) -> Vec<String> {
        let output = warnings::output(self).map(|warning| warning.message);
        self.limits().into_iter().chain(output).collect()
    }

    fn failed_runs(&self) -> Option<String> {
        let failures = self.failures();
        let (failed, all) = (failures.values().sum::<usize>(), self.exit_codes.len());
        let several = failures.len() > 1;
        let end = |(end, runs): (String, usize)| if several { format!("{runs} × {end}") } else { end };
        let how = failures.into_iter().map(end).collect::<Vec<_>>().join(", ");
        match failed {
            0 => None,
            _ if failed == all => Some(format!("every run failed ({how})")),
            _ => Some(format!("{failed} of {all} runs failed ({how})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn measurement(more: &Value) -> Measurement {
        let mut all =
            json!({"command": "x", "mean": 1, "median": 1, "user": 0, "system": 0, "min": 1, "max": 1});
        let more = more.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(more);
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn failed_runs_are_those_that_ended_badly_by_themselves() {
        let limits = |more: Value| measurement(&more).limits();
        assert!(limits(json!({"exit_codes": [0, 0]})).is_empty());
        assert_eq!(limits(json!({"exit_codes": [127, 127]})), ["every run failed (status 127)"]);
        assert_eq!(
            limits(json!({"exit_codes": [0, 3, 1, 1]})),
            ["3 of 4 runs failed (2 × status 1, 1 × status 3)"]
        );
        assert_eq!(
            limits(json!({"exit_codes": [null], "killed_by": "SIGSEGV"})),
            ["every run failed (killed by SIGSEGV)"]
        );
        let stopped = json!({"exit_codes": [null, 143], "plan": {"until": "first_byte"}});
        assert!(limits(stopped).is_empty());
    }

    #[test]
    fn runs_that_do_not_count_and_lost_events_limit_too() {
        let rejected = json!([{"run": 4, "reason": "it timed out"}]);
        let all = json!({"rejected": rejected, "lost_events": 7, "uncounted": "it failed"});
        assert_eq!(
            measurement(&all).limits(),
            [
                "1 run did not count; run 4: it timed out",
                "7 events were lost",
                "no counts: in a counting run, it failed"
            ]
        );
    }
}
