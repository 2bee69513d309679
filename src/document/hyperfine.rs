//! What hyperfine 2 writes beside the fields that it shares with hyperfine 1: its `schema_version` 2, which its scripts
//! read. Documents of `bench` have it too, and hyperfine's own files are read through it.

use super::metrics::Selection;
use crate::stats::Statistics;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `schema_version` of hyperfine 2.0.
pub const SCHEMA_VERSION: u64 = 2;

/// The metric that its scripts draw unless they are given another one.
const PRIMARY_METRIC: &str = "time_wall_clock";

/// The metrics of each [`Run`].
const OF_RUNS: [&str; 5] = [PRIMARY_METRIC, "time_cpu", "memory_peak_resident", "time_user", "time_system"];

/// How many of them every run has, however short it is.
const OF_ALL_RUNS: usize = 3;

/// The metric that its scripts draw: the first that was chosen, if every run has it.
pub fn primary(shown: &Selection) -> &'static str {
    let first = shown.metrics.first().map(|selected| selected.metric.name);
    first.filter(|name| OF_RUNS[..OF_ALL_RUNS].contains(name)).unwrap_or(PRIMARY_METRIC)
}

/// The unit of a [`Quantity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Second,
    Byte,
}

/// A value of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    pub value: f64,
    pub unit: Unit,
}

/// One run: an entry of `measurements`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub time_wall_clock: Quantity,
    /// User and system time.
    pub time_cpu: Quantity,
    /// The parts of it; absent if the run is too short for the ticks by which the kernel divides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_user: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_system: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_peak_resident: Option<Quantity>,
    /// `null` if a signal ended the run.
    #[serde(default)]
    pub exit_code: Option<i32>,
}

/// One metric over all runs: an entry of `summary`, by the name of the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    pub count: usize,
    pub mean: f64,
    /// `null` for one run.
    pub stddev: Option<f64>,
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// The times of a run, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct RunTimes {
    pub wall: f64,
    pub cpu: f64,
    /// User and system time, if the kernel could tell them apart.
    pub divided: Option<[f64; 2]>,
}

impl Run {
    /// Memory in bytes.
    pub fn new(times: RunTimes, memory: Option<u64>, exit_code: Option<i32>) -> Run {
        let seconds = |value| Quantity { value, unit: Unit::Second };
        Run {
            time_wall_clock: seconds(times.wall),
            time_cpu: seconds(times.cpu),
            time_user: times.divided.map(|[user, _]| seconds(user)),
            time_system: times.divided.map(|[_, system]| seconds(system)),
            memory_peak_resident: memory.map(|bytes| Quantity { value: bytes as f64, unit: Unit::Byte }),
            exit_code,
        }
    }

    /// Its values by the names of their metrics.
    fn metrics(&self) -> [(&'static str, Option<Quantity>); 5] {
        let [wall, cpu, memory, user, system] = OF_RUNS;
        [
            (wall, Some(self.time_wall_clock)),
            (cpu, Some(self.time_cpu)),
            (memory, self.memory_peak_resident),
            (user, self.time_user),
            (system, self.time_system),
        ]
    }
}

/// Each metric that all runs have.
pub fn summaries(runs: &[Run]) -> BTreeMap<String, Summary> {
    let metrics = runs.first().map(Run::metrics).into_iter().flatten().enumerate();
    let each = metrics.filter_map(|(index, (name, first))| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| Some(run.metrics()[index].1?.value)).collect();
        Some((name.to_owned(), summary(&values?, first?.unit)?))
    });
    each.collect()
}

fn summary(values: &[f64], unit: Unit) -> Option<Summary> {
    let Statistics { mean, stddev, median, min, max, .. } = Statistics::of(values)?;
    Some(Summary { unit: Some(unit), count: values.len(), mean, stddev, median, min, max })
}

/// Adds what our documents call differently to each result of hyperfine 2: the fields of hyperfine 1.
pub(super) fn add_first_schema(document: &mut Value) {
    let results = document.get_mut("results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten().filter_map(Value::as_object_mut) {
        let old = first_schema(result.get("measurements"), result.get("summary"));
        for (name, value) in old {
            result.entry(name).or_insert(value);
        }
    }
}

/// hyperfine gives the same name to a command with several values of a parameter (`-n NAME -L …`).
pub(super) fn add_parameters_to_equal_names(document: &mut Value) {
    let Some(results) = document.get_mut("results").and_then(Value::as_array_mut) else { return };
    let names: Vec<Option<String>> =
        results.iter().map(|result| Some(result.get("command")?.as_str()?.to_owned())).collect();
    for (result, name) in results.iter_mut().zip(&names) {
        let is_repeated = names.iter().filter(|other| *other == name).count() > 1;
        let parameters = result.get("parameters").and_then(Value::as_object).filter(|all| !all.is_empty());
        if let (true, Some(name), Some(parameters)) = (is_repeated, name, parameters) {
            let words: Vec<String> = parameters.iter().map(|(key, value)| in_words(key, value)).collect();
            result["name"] = json!(format!("{name} ({})", words.join(", ")));
        }
    }
}

fn in_words(key: &str, value: &Value) -> String {
    let value = value.get("value").unwrap_or(value);
    format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn first_schema(runs: Option<&Value>, summary: Option<&Value>) -> Vec<(String, Value)> {
    let wall = summary.and_then(|summary| summary.get(PRIMARY_METRIC));
    let of_wall = ["mean", "stddev", "median", "min", "max"];
    let statistics = of_wall.into_iter().filter_map(|name| Some((name.to_owned(), wall?.get(name)?.clone())));

    let mean = |metric: &str| summary.and_then(|summary| summary.get(metric)?.get("mean")).cloned();
    let cpu = [("user", "time_user"), ("system", "time_system")];
    let cpu = cpu.into_iter().filter_map(|(name, metric)| Some((name.to_owned(), mean(metric)?)));

    let runs = runs.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let value = |run: &Value, metric: &str| run.get(metric)?.get("value").cloned();
    let times: Vec<Value> = runs.iter().filter_map(|run| value(run, PRIMARY_METRIC)).collect();
    let memory: Option<Vec<u64>> =
        runs.iter().map(|run| Some(whole(value(run, "memory_peak_resident")?.as_f64()?))).collect();
    let exit_codes: Vec<Value> =
        runs.iter().map(|run| run.get("exit_code").cloned().unwrap_or_default()).collect();

    let lists = [
        ("times".to_owned(), json!(times)),
        ("memory_usage_byte".to_owned(), json!(memory.unwrap_or_default())),
        ("exit_codes".to_owned(), json!(exit_codes)),
    ];
    statistics.chain(cpu).chain(lists).collect()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a number of bytes; `as` saturates
fn whole(bytes: f64) -> u64 {
    bytes as u64
}

/// `parameters` of a result. hyperfine 2 writes `{"NAME": {"value": "…"}}`, hyperfine 1 `{"NAME": "…"}`; both are read.
pub(super) mod parameters {
    use super::{BTreeMap, Deserialize, Deserializer, Serialize, Serializer, Value, json};

    type Parameters = BTreeMap<String, Value>;

    pub(crate) fn serialize<S: Serializer>(parameters: &Parameters, to: S) -> Result<S::Ok, S::Error> {
        let named = parameters.iter().map(|(name, value)| (name, json!({ "value": value })));
        named.collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Parameters, D::Error> {
        let written = Parameters::deserialize(from)?;
        Ok(written.into_iter().map(|(name, value)| (name, plain(value))).collect())
    }

    fn plain(value: Value) -> Value {
        match value {
            Value::Object(mut object) => object.remove("value").unwrap_or_default(),
            value => value,
        }
    }
}
