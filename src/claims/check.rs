//! What a claim comes down to: a value that must lie within limits.

use super::quantity::Expression;
use crate::document::claims::ClaimUnit;

/// One value, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What the value is called.
    pub name: String,
    /// The value.
    pub of: Expression,
    /// How it is shown.
    pub unit: ClaimUnit,
    /// It must not lie below this.
    pub low: f64,
    /// Nor above this.
    pub high: f64,
    /// Shown only where it is not met: others show the same.
    pub quiet: bool,
}

impl Check {
    /// No limits yet: only shown.
    pub fn new(name: impl Into<String>, of: Expression) -> Check {
        let unit = of.unit();
        Check { name: name.into(), of, unit, low: f64::NEG_INFINITY, high: f64::INFINITY, quiet: false }
    }

    /// Must lie there, the limits included.
    #[must_use]
    pub fn within(self, low: f64, high: f64) -> Check {
        Check { low, high, ..self }
    }

    /// Must be this.
    #[must_use]
    pub fn exactly(self, value: f64) -> Check {
        self.within(value, value)
    }

    /// Must be nearer to this than to half or twice of it, on a logarithmic scale: within a factor of the square root
    /// of 2.
    #[must_use]
    pub fn about(self, value: f64) -> Check {
        self.within(value / std::f64::consts::SQRT_2, value * std::f64::consts::SQRT_2)
    }

    /// Must be nearer to this power of ten than to its neighbours: within a factor of the square root of 10.
    #[must_use]
    pub fn in_the_order_of(self, value: f64) -> Check {
        let step = 10.0_f64.sqrt();
        self.within(value / step, value * step)
    }

    /// Must not be less.
    #[must_use]
    pub fn at_least(self, low: f64) -> Check {
        Check { low, ..self }
    }

    /// Must not be more.
    #[must_use]
    pub fn at_most(self, high: f64) -> Check {
        Check { high, ..self }
    }

    /// A part of a whole, shown in per cent.
    #[must_use]
    pub fn part(self) -> Check {
        Check { unit: ClaimUnit::Part, ..self }
    }

    /// Shown only where it is not met.
    #[must_use]
    pub fn quietly(self) -> Check {
        Check { quiet: true, ..self }
    }

    /// Whether it can be missed at all.
    pub fn has_limits(&self) -> bool {
        self.low.is_finite() || self.high.is_finite()
    }
}

/// Every value, by its name; and that each is at least as large as the one before it.
pub fn ascending(values: &[(&str, Expression)]) -> Vec<Check> {
    let shown = values.iter().map(|(name, value)| Check::new(*name, value.clone()));
    let pairs = values.windows(2).map(|pair| {
        let [(before, less), (after, more)] = pair else { unreachable!("windows of two") };
        Check::new(format!("{after} over {before}"), more.clone() / less.clone()).at_least(1.0).quietly()
    });
    shown.chain(pairs).collect()
}
