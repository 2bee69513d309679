//! The flags that conditions test.

use super::words::mask;
use iced_x86::ConditionCode;

/// `None`: unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) zero: Option<bool>,
    pub(super) sign: Option<bool>,
    pub(super) carry: Option<bool>,
    pub(super) overflow: Option<bool>,
}

fn top(value: u64, size: u64) -> bool {
    value >> (8 * size - 1) & 1 == 1
}

impl Flags {
    /// After a logical operation, which clears carry and overflow.
    pub(super) fn logical(result: u64, size: u64) -> Flags {
        let result = result & mask(size);
        Flags {
            zero: Some(result == 0),
            sign: Some(top(result, size)),
            carry: Some(false),
            overflow: Some(false),
        }
    }

    /// After a subtraction or comparison.
    pub(super) fn difference(left: u64, right: u64, size: u64) -> Flags {
        let (left, right) = (left & mask(size), right & mask(size));
        let result = left.wrapping_sub(right) & mask(size);
        let overflow = top(left, size) != top(right, size) && top(result, size) != top(left, size);
        Flags { carry: Some(left < right), overflow: Some(overflow), ..Flags::logical(result, size) }
    }

    pub(super) fn sum(left: u64, right: u64, size: u64) -> Flags {
        let (left, right) = (left & mask(size), right & mask(size));
        let result = left.wrapping_add(right) & mask(size);
        let overflow = top(left, size) == top(right, size) && top(result, size) != top(left, size);
        Flags { carry: Some(result < left), overflow: Some(overflow), ..Flags::logical(result, size) }
    }

    /// Only whether the result is zero is known.
    pub(super) fn zero(zero: Option<bool>) -> Flags {
        Flags { zero, ..Flags::default() }
    }

    /// Whether a condition holds, if that is known.
    pub(super) fn holds(self, condition: ConditionCode) -> Option<bool> {
        let less = || Some(self.sign? != self.overflow?);
        let below_or_equal = || Some(self.carry? || self.zero?);
        let less_or_equal = || Some(self.zero? || less()?);
        match condition {
            ConditionCode::o => self.overflow,
            ConditionCode::no => self.overflow.map(|it| !it),
            ConditionCode::b => self.carry,
            ConditionCode::ae => self.carry.map(|it| !it),
            ConditionCode::e => self.zero,
            ConditionCode::ne => self.zero.map(|it| !it),
            ConditionCode::be => below_or_equal(),
            ConditionCode::a => below_or_equal().map(|it| !it),
            ConditionCode::s => self.sign,
            ConditionCode::ns => self.sign.map(|it| !it),
            ConditionCode::l => less(),
            ConditionCode::ge => less().map(|it| !it),
            ConditionCode::le => less_or_equal(),
            ConditionCode::g => less_or_equal().map(|it| !it),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_follow_from_comparisons() {
        let holds = |left, right, condition| Flags::difference(left, right, 4).holds(condition);
        assert_eq!(holds(1, 2, ConditionCode::b), Some(true));
        assert_eq!(
            (holds(u64::MAX, 1, ConditionCode::l), holds(u64::MAX, 1, ConditionCode::a)),
            (Some(true), Some(true))
        );
        assert_eq!(
            (holds(3, 3, ConditionCode::le), holds(3, 3, ConditionCode::ne)),
            (Some(true), Some(false))
        );
        assert_eq!(Flags::sum(0x7fff_ffff, 1, 4).holds(ConditionCode::o), Some(true));
        assert_eq!(Flags::default().holds(ConditionCode::e), None);
    }
}
