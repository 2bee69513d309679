//! What decides a claim: a value that must be within limits.

use super::quantity::Expression;
use crate::document::claims::ClaimUnit;

/// One value and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitCheck {
    pub name: String,
    pub of: Expression,
    pub unit: ClaimUnit,
    /// The value must not be below this.
    pub low: f64,
    /// The value must not be above this.
    pub high: f64,
    /// Shown only if the value is not within the limits, because another check shows the same.
    pub quiet: bool,
}

impl LimitCheck {
    /// A check without limits, which only shows its value.
    pub fn new(name: impl Into<String>, of: Expression) -> LimitCheck {
        let unit = of.unit();
        LimitCheck { name: name.into(), of, unit, low: f64::NEG_INFINITY, high: f64::INFINITY, quiet: false }
    }

    /// The limits are included.
    #[must_use]
    pub fn within(self, low: f64, high: f64) -> LimitCheck {
        LimitCheck { low, high, ..self }
    }

    #[must_use]
    pub fn exactly(self, value: f64) -> LimitCheck {
        self.within(value, value)
    }

    /// Closer to `value` than to half or twice `value` on a logarithmic scale: within a factor of the square root of 2.
    #[must_use]
    pub fn about(self, value: f64) -> LimitCheck {
        self.within(value / std::f64::consts::SQRT_2, value * std::f64::consts::SQRT_2)
    }

    /// Closer to `value` than to a tenth or ten times `value` on a logarithmic scale: within a factor of the square root of 10.
    #[must_use]
    pub fn in_the_order_of(self, value: f64) -> LimitCheck {
        let step = 10.0_f64.sqrt();
        self.within(value / step, value * step)
    }

    #[must_use]
    pub fn at_least(self, low: f64) -> LimitCheck {
        LimitCheck { low, ..self }
    }

    #[must_use]
    pub fn at_most(self, high: f64) -> LimitCheck {
        LimitCheck { high, ..self }
    }

    /// Shows the value, a part of a whole, in per cent.
    #[must_use]
    pub fn part(self) -> LimitCheck {
        LimitCheck { unit: ClaimUnit::Part, ..self }
    }

    /// Shows the value only if it is not within the limits.
    #[must_use]
    pub fn quietly(self) -> LimitCheck {
        LimitCheck { quiet: true, ..self }
    }

    pub fn has_limits(&self) -> bool {
        self.low.is_finite() || self.high.is_finite()
    }
}

/// Shows each value, and checks that it is at least as large as the one before it.
pub fn ascending(values: &[(&str, Expression)]) -> Vec<LimitCheck> {
    let shown = values.iter().map(|(name, value)| LimitCheck::new(*name, value.clone()));
    let pairs = values.windows(2).map(|pair| {
        let [(before, less), (after, more)] = pair else { unreachable!("windows of two") };
        LimitCheck::new(format!("{after} over {before}"), more.clone() / less.clone()).at_least(1.0).quietly()
    });
    shown.chain(pairs).collect()
}
