//! Samples in blocks: medians, and the spread within blocks.

use firstbyte::stats::Statistics;
use serde_json::{Value, json};

/// Nanoseconds, one list per block.
#[derive(Default)]
pub(crate) struct Blocks(Vec<Vec<f64>>);

impl Blocks {
    pub(crate) fn add(&mut self, samples: &Value, unit: f64) {
        let number = |sample: &Value| sample.as_f64().expect("a number") * unit;
        self.0.push(samples.as_array().expect("a list").iter().map(number).collect());
    }

    pub(crate) fn median(&self) -> f64 {
        median(&self.0.concat())
    }

    /// The median of the blocks' relative spread (MAD / median).
    pub(crate) fn spread(&self) -> f64 {
        let spread = |block: &Vec<f64>| {
            let summary = Statistics::of(block).expect("samples");
            summary.mad / summary.median
        };
        median(&self.0.iter().map(spread).collect::<Vec<f64>>())
    }

    pub(crate) fn raw(&self) -> Value {
        json!({"median_ns": self.median(), "spread": self.spread(), "blocks_ns": self.0})
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    Statistics::of(values).expect("values").median
}
