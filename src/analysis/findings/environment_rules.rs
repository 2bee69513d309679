//! A finding about how large the environment is.

use super::extent::Extent;
use super::{Evidence, Finding, noteworthy};
use crate::analysis::{ExecStage, Step, What};
use std::cmp::Reverse;

/// A smaller environment makes an exec hardly longer, in bytes.
const LARGE: usize = 128 << 10;

/// An environment that takes long to copy, with its largest variables. Values may be secret: only sizes are said.
pub(super) fn large_environment(run: &Evidence) -> Option<Finding> {
    let mut variables = run.environment.sizes()?;
    let bytes: usize = variables.iter().map(|(_, size)| size).sum();
    if bytes < LARGE {
        return None;
    }

    let copies = |step: &&Step| matches!(*step.what, What::Exec { stage: ExecStage::Open, .. });
    let extent = Extent::of(run.account.steps.iter().filter(copies));
    variables.sort_by_key(|(_, size)| Reverse(*size));
    let largest: Vec<String> =
        variables.iter().take(3).map(|(name, size)| format!("`{name}` ({size})")).collect();
    let text = format!(
        "The environment has {bytes} bytes in {} variables, the largest: {}. The kernel copies it at each exec, which takes \
         this long; a shell also makes a variable of its own of each. Unset what the program does not need.",
        variables.len(),
        largest.join(", ")
    );
    let cost = extent.total();
    noteworthy(cost, run.account, 1).then(|| Finding::new("large-environment", cost, text).on(extent))
}
