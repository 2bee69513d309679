//! Warnings that follow from a document alone.

use crate::document::Document;
use crate::document::bench::{Measurement, Warning};
use crate::stats::outlier::modified_z_scores;
use firstbyte_measure::units::Bytes;
use serde_json::Value;

/// Runs with a larger score are so far apart from the others that something must have interfered: ten median absolute
/// deviations, as a multiple of the standard deviation that they estimate.
const FAR: f64 = 14.826;

/// One run in this many may be far apart without a warning.
const TOLERATED: usize = 50;

/// With more runnable programs than this for each processor, other programs disturb the runs.
const BUSY: f64 = 0.5;

/// Every warning; those about the machine come first.
pub fn of(document: &Document) -> Vec<Warning> {
    let machine = &document.machine;
    let general = [frequency(machine), guest(machine)].into_iter().flatten();
    let single = document.results.iter().flat_map(of_one);
    general.chain(single.flatten()).collect()
}

fn of_one(measurement: &Measurement) -> [Option<Warning>; 3] {
    [first_run(measurement), apart(measurement), output(measurement)]
}

/// By the load average at the start, for commands that have no better source.
pub fn load(machine: &Value) -> Option<Warning> {
    let load = machine.get("load_average")?.get(0)?.as_f64()?;
    let cores = machine.get("cores")?.as_f64()?;
    let message = || {
        format!(
            "other programs were busy at the start: the load average was {load:.2}, on {cores} processors"
        )
    };
    (load > BUSY * cores).then(|| Warning::serious(message()).with_help("close them; `top` shows which ones"))
}

fn frequency(machine: &Value) -> Option<Warning> {
    let governor = machine.get("governor")?.as_str()?;
    let message = || format!("the clock frequency follows the load (governor `{governor}`)");
    (governor != "performance")
        .then(|| Warning::minor(message()).with_help("sudo cpupower frequency-set -g performance"))
}

fn guest(machine: &Value) -> Option<Warning> {
    let host = machine.get("virtualisation")?.as_str().filter(|host| *host != "none")?;
    let message = format!("this machine is a guest of {host}, and other guests may slow it down");
    Some(Warning::minor(message).with_help("trust ratios of interleaved runs more than single times"))
}

fn scores(measurement: &Measurement) -> Option<Vec<f64>> {
    let samples = &measurement.ranked()?.samples;
    modified_z_scores(&samples.iter().map(|ns| *ns as f64).collect::<Vec<_>>())
}

fn first_run(measurement: &Measurement) -> Option<Warning> {
    let scores = scores(measurement)?;
    let (first, rest) = scores.split_first()?;
    let alone = *first > FAR && rest.iter().all(|score| *score < *first);
    alone.then(|| {
        Warning::serious("its first measured run was far slower than the others")
            .about(measurement.label())
            .with_help("make more unmeasured runs first, with --warmup 5")
    })
}

fn apart(measurement: &Measurement) -> Option<Warning> {
    let scores = scores(measurement)?;
    let far = scores.iter().filter(|score| score.abs() > FAR).count();
    let message = || {
        let runs = scores.len();
        format!("{far} of {runs} runs took much more or less time than the others, so something interfered")
    };
    (far * TOLERATED > scores.len()).then(|| {
        Warning::serious(message())
            .about(measurement.label())
            .with_help("measure again while the machine is quiet")
    })
}

/// Runs hardly did the same work if their output differs by more than this part of the longest.
const DIFFERENT: f64 = 0.1;

pub(super) fn output(measurement: &Measurement) -> Option<Warning> {
    // how far a program gets before it is stopped is chance
    if measurement.is_ended_early() {
        return None;
    }
    let message = some_silent(measurement).or_else(|| different_output(measurement))?;
    let help = "make it do the same work in each run, for example with --prepare";
    Some(Warning::serious(message).about(measurement.label()).with_help(help))
}

fn some_silent(measurement: &Measurement) -> Option<String> {
    let runs = measurement.phases.total.as_ref()?.samples.len();
    let printed = measurement.phases.first_byte.as_ref()?.samples.len();
    let silent = runs.checked_sub(printed).filter(|silent| *silent > 0)?;
    Some(format!("{silent} of {runs} runs printed nothing, so the first byte is that of the others"))
}

fn different_output(measurement: &Measurement) -> Option<String> {
    let [least, most] = measurement.output?.varying?;
    let message = || {
        let [least, most] = [least, most].map(Bytes);
        format!("it printed {least} to {most} per run, so not every run did the same work")
    };
    ((most - least) as f64 > DIFFERENT * most as f64).then(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::bench::{Distribution, OutputSummary, Severity, Tool};
    use serde_json::json;

    fn document(machine: Value, samples: Vec<u64>) -> Document {
        let text = r#"{"command": "x", "mean": 1, "median": 1, "user": 0, "system": 0, "min": 1, "max": 1}"#;
        let mut measurement: Measurement = serde_json::from_str(text).unwrap();
        measurement.phases.total = Distribution::of(samples);
        Document { results: vec![measurement], ..Document::new(Tool::default(), machine) }
    }

    fn messages(machine: Value, samples: Vec<u64>) -> Vec<String> {
        of(&document(machine, samples)).into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn a_quiet_machine_and_even_runs_cause_no_warning() {
        let quiet =
            json!({"load_average": [0.1, 0, 0], "cores": 2, "governor": null, "virtualisation": "none"});
        assert_eq!(load(&quiet), None);
        assert_eq!(messages(quiet, (100..200).collect()), [""; 0]);
        assert_eq!(messages(Value::Null, vec![5]), [""; 0]);
    }

    #[test]
    fn load_frequency_and_host_are_named() {
        let busy = json!({"load_average": [1.5, 0, 0], "cores": 2, "governor": "powersave", "virtualisation": "KVM"});
        assert!(load(&busy).unwrap().message.contains("1.50"));
        let found = messages(busy, vec![1, 2, 3]);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("powersave") && found[1].contains("KVM"));
    }

    #[test]
    fn only_what_may_make_the_figures_wrong_is_serious() {
        let busy = json!({"load_average": [1.5, 0, 0], "cores": 2, "governor": "powersave", "virtualisation": "KVM"});
        assert_eq!(load(&busy).unwrap().severity, Severity::Serious);
        let mut samples: Vec<u64> = (1000..1100).collect();
        samples[0] = 1_000_000;
        let severities: Vec<Severity> =
            of(&document(busy, samples)).into_iter().map(|warning| warning.severity).collect();
        assert_eq!(severities, [Severity::Minor, Severity::Minor, Severity::Serious]);
        let older: Warning = serde_json::from_str(r#"{"message": "busy"}"#).unwrap();
        assert_eq!(older, Warning::serious("busy"));
    }

    #[test]
    fn a_slow_first_run_and_other_outliers_have_warnings_of_their_own() {
        let mut first: Vec<u64> = (1000..1100).collect();
        first[0] = 1_000_000;
        assert_eq!(messages(Value::Null, first.clone()).len(), 1);
        (first[40], first[50], first[60]) = (2_000_000, 2_000_000, 2_000_000);
        let found = messages(Value::Null, first);
        assert!(found.len() == 1 && found[0].contains("4 of 100"), "{found:?}");
    }

    fn printing(first_bytes: Vec<u64>, varying: Option<[u64; 2]>, plan: Value) -> Vec<String> {
        let mut document = document(Value::Null, (100..110).collect());
        let measurement = &mut document.results[0];
        measurement.phases.first_byte = Distribution::of(first_bytes);
        measurement.output = Some(OutputSummary { bytes: 12, ok: None, varying });
        measurement.plan = plan;
        of(&document).into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn runs_that_print_different_amounts_or_nothing_cause_a_warning() {
        let all: Vec<u64> = (100..110).collect();
        assert_eq!(printing(all.clone(), None, Value::Null), [""; 0]);
        assert_eq!(printing(all.clone(), Some([99, 100]), Value::Null), [""; 0], "a longer number");
        let found = printing(all.clone(), Some([12, 5000]), Value::Null);
        assert!(found.len() == 1 && found[0].contains("12 B to 4.88 KiB"), "{found:?}");
        let found = printing(all[..7].to_vec(), Some([0, 5000]), Value::Null);
        assert!(found.len() == 1 && found[0].starts_with("3 of 10 runs printed nothing"), "{found:?}");
        assert_eq!(printing(all, Some([12, 5000]), json!({"until": "first byte"})), [""; 0]);
    }
}
