//! The ways in which runs of a program may end.

use firstbyte_measure::launch::ExitStatus;
use std::str::FromStr;

/// How a run must end to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accepted {
    /// In any way.
    #[default]
    Any,
    Only(ExitStatus),
    /// With any exit status, but not by a signal.
    AnyCode,
    /// With status 0 or one of these.
    Codes(Codes),
}

/// A set of exit statuses, from 0 to 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codes([u64; 4]);

impl Accepted {
    pub const SUCCESS: Accepted = Accepted::Only(ExitStatus::SUCCESS);

    pub fn accepts(self, exit: ExitStatus) -> bool {
        match (self, exit) {
            (Accepted::Any, _) | (Accepted::AnyCode, ExitStatus::Code(_)) => true,
            (Accepted::Only(only), exit) => exit == only,
            (Accepted::Codes(codes), ExitStatus::Code(code)) => code == 0 || codes.contains(code),
            (Accepted::AnyCode | Accepted::Codes(_), ExitStatus::Signal(_)) => false,
        }
    }

    /// Why this exit is not accepted; `None` if it is.
    pub fn flaw(self, exit: ExitStatus) -> Option<String> {
        let expected = match self {
            Accepted::Only(only) => only,
            _ => ExitStatus::SUCCESS,
        };
        (!self.accepts(exit)).then(|| format!("it {}", exit.instead_of(expected)))
    }
}

impl Codes {
    fn contains(self, code: i32) -> bool {
        u8::try_from(code).is_ok_and(|code| self.0[usize::from(code / 64)] >> (code % 64) & 1 == 1)
    }

    fn with(mut self, code: u8) -> Codes {
        self.0[usize::from(code / 64)] |= 1 << (code % 64);
        self
    }
}

/// A mode of `--ignore-failure`: `any`, `all-non-zero`, or a list such as `1,2`.
impl FromStr for Accepted {
    type Err = String;

    fn from_str(mode: &str) -> Result<Accepted, String> {
        match mode {
            "any" => return Ok(Accepted::Any),
            "all-non-zero" => return Ok(Accepted::AnyCode),
            _ => {}
        }
        let codes = mode.split(',').map(|code| code.trim().parse::<u8>());
        let codes: Result<Vec<u8>, _> = codes.collect();
        let codes = codes.map_err(|_| {
            format!(
                "`{mode}` is not a list of exit statuses\nhelp: write it like 1,2 (0 to 255), all-non-zero or any"
            )
        })?;
        Ok(Accepted::Codes(codes.into_iter().fold(Codes::default(), Codes::with)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_accept_what_they_name() {
        let [zero, one, last, killed] =
            [ExitStatus::Code(0), ExitStatus::Code(1), ExitStatus::Code(255), ExitStatus::Signal(9)];
        for (mode, accepted) in
            [("all-non-zero", [true, true, true, false]), ("1,255", [true, true, true, false])]
        {
            let mode: Accepted = mode.parse().unwrap();
            assert_eq!([zero, one, last, killed].map(|exit| mode.accepts(exit)), accepted);
        }
        let one_only: Accepted = " 1".parse().unwrap();
        assert!(one_only.accepts(one) && !one_only.accepts(ExitStatus::Code(2)));
        assert!(Accepted::Any.accepts(killed) && !Accepted::SUCCESS.accepts(one));
    }

    #[test]
    fn modes_that_name_no_status_are_refused() {
        for mode in ["", "x", "256", "-1", "1,,2"] {
            assert!(mode.parse::<Accepted>().unwrap_err().contains("\nhelp: "), "{mode}");
        }
    }
}
