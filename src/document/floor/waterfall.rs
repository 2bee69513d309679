//! The waterfall: layers measured in the same rounds, and the time that the removal of each saves.

use crate::stats::{Bootstrap, Statistics};
use firstbyte_measure::units::Nanos;
use serde::{Deserialize, Serialize};

/// The measurements of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// `static glibc, vfork+exec`
    pub name: String,
    /// What the layer below does without: `the dynamic loader`.
    pub removes: String,
    /// Nanoseconds, one value per round. Round `i` of every layer is the same round.
    pub samples: Vec<f64>,
}

/// Layers from the top to the bottom. Every step is the difference of two medians, so the steps and the bottom sum to
/// the top exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waterfall {
    pub title: String,
    /// The median of the first layer, rounded to nanoseconds.
    pub top_ns: Nanos,
    /// The sum of all steps and of the bottom, which equals the top.
    pub sum_ns: Nanos,
    /// The uncertainty of the top's median: half of its 95 % bootstrap interval, in nanoseconds.
    pub error_ns: f64,
    /// The medians of the *paired* differences plus the bottom, less the top, in nanoseconds. These steps need not sum
    /// to the top; the residual shows how steady the rounds were.
    pub residual_ns: f64,
    pub layers: Vec<Height>,
    /// The steps between the layers: one fewer.
    pub steps: Vec<WaterfallStep>,
}

/// The height of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Height {
    pub name: String,
    /// The median.
    pub ns: Nanos,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Every round, in nanoseconds.
    pub samples: Vec<f64>,
}

/// The time saved by removing something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaterfallStep {
    pub removes: String,
    /// The time saved; negative if the removal costs time.
    pub ns: i64,
    /// As a share of the top.
    pub share: f64,
    /// Lower end of the 95 % interval of the paired differences' median.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The interval contains 0: the step is not proven.
    pub unsure: bool,
}

impl Waterfall {
    /// Stacks layers, the top first. `None` without layers, or if one of them has no samples.
    pub fn of(title: &str, layers: &[Layer]) -> Option<Waterfall> {
        let heights = layers.iter().map(Height::of).collect::<Option<Vec<_>>>()?;
        let (top, bottom) = (heights.first()?, heights.last()?);

        let steps = layers
            .windows(2)
            .zip(heights.windows(2))
            .map(|(pair, heights)| WaterfallStep::between(pair, heights, top.ns))
            .collect::<Option<Vec<_>>>()?;
        let sum = steps.iter().map(|(step, _)| step.ns).sum::<i64>() + bottom.ns.0.cast_signed();
        let paired = steps.iter().map(|(_, paired)| paired).sum::<f64>() + bottom.median();

        Some(Waterfall {
            title: title.to_owned(),
            top_ns: top.ns,
            sum_ns: Nanos(sum.unsigned_abs()),
            error_ns: (top.high - top.low) / 2.0,
            residual_ns: paired - top.median(),
            steps: steps.into_iter().map(|(step, _)| step).collect(),
            layers: heights,
        })
    }
}

impl Height {
    fn of(layer: &Layer) -> Option<Height> {
        let summary = Statistics::of(&layer.samples)?;
        let interval = Bootstrap::default().median_interval(&layer.samples)?;
        Some(Height {
            name: layer.name.clone(),
            ns: rounded(summary.median),
            low: interval.low,
            high: interval.high,
            samples: layer.samples.clone(),
        })
    }

    fn median(&self) -> f64 {
        Statistics::of(&self.samples).map_or(0.0, |summary| summary.median)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a duration, at least 0
fn rounded(ns: f64) -> Nanos {
    Nanos(ns.max(0.0).round() as u64)
}

impl WaterfallStep {
    /// Returns the step and the median of the paired differences.
    fn between(pair: &[Layer], heights: &[Height], top: Nanos) -> Option<(WaterfallStep, f64)> {
        let [upper, lower] = pair else { return None };
        let [high, low] = heights else { return None };
        let differences: Vec<f64> =
            upper.samples.iter().zip(&lower.samples).map(|(above, below)| above - below).collect();
        let interval = Bootstrap::default().median_interval(&differences)?;

        let ns = high.ns.0.cast_signed() - low.ns.0.cast_signed();
        let step = WaterfallStep {
            removes: upper.removes.clone(),
            ns,
            share: if top.0 > 0 { ns as f64 / top.as_f64() } else { 0.0 },
            low: interval.low,
            high: interval.high,
            unsure: interval.contains(0.0),
        };
        Some((step, Statistics::of(&differences)?.median))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(rounds: usize, seed: u64) -> Vec<Layer> {
        let mut rng = fastrand::Rng::with_seed(seed);
        [9e5, 4e5, 1e5, 3e3, 310.5, 140.2]
            .into_iter()
            .map(|ns| Layer {
                name: format!("{ns}"),
                removes: "something".to_owned(),
                samples: (0..rounds).map(|_| ns * (1.0 + rng.f64())).collect(),
            })
            .collect()
    }

    #[test]
    fn the_steps_and_the_bottom_sum_to_the_top_exactly() {
        for seed in 0..50 {
            let waterfall = Waterfall::of("test", &layers(11, seed)).unwrap();
            assert_eq!(waterfall.sum_ns, waterfall.top_ns);
            let steps: i64 = waterfall.steps.iter().map(|step| step.ns).sum();
            let bottom = waterfall.layers.last().unwrap().ns.0.cast_signed();
            assert_eq!(steps + bottom, waterfall.top_ns.0.cast_signed());
        }
    }

    #[test]
    fn with_steady_rounds_the_paired_steps_sum_to_the_top_too() {
        let steady: Vec<Layer> =
            layers(1, 1).into_iter().map(|l| Layer { samples: vec![l.samples[0]; 9], ..l }).collect();
        let waterfall = Waterfall::of("test", &steady).unwrap();
        assert!(waterfall.residual_ns.abs() < 1e-6 * waterfall.top_ns.as_f64());
        assert!(waterfall.steps.iter().all(|step| !step.unsure));
    }

    #[test]
    fn a_step_hidden_by_noise_is_unsure_and_a_layer_without_samples_prevents_the_waterfall() {
        let level = |samples: Vec<f64>| Layer { name: "a".into(), removes: "b".into(), samples };
        let up = level(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let down = level(vec![5.0, 4.0, 3.0, 2.0, 1.0]);
        assert!(Waterfall::of("test", &[up.clone(), down]).unwrap().steps[0].unsure);
        assert_eq!(Waterfall::of("test", &[up, level(vec![])]), None);
        assert_eq!(Waterfall::of("test", &[]), None);
    }
}
