//! Nanoseconds and bytes as integers with types of their own. `f64` appears only in statistics and output.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A duration, or an instant of `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The nanoseconds as a float, for statistics.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The nearest time to a float of nanoseconds; a negative one is 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0; `as` saturates")]
    pub fn rounded(time: f64) -> Nanos {
        Nanos(time.max(0.0).round() as u64)
    }

    /// This instant minus an earlier one; `None` if `earlier` is in fact later.
    pub fn since(self, earlier: Nanos) -> Option<Nanos> {
        self.0.checked_sub(earlier.0).map(Nanos)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    /// Saturates: a program may report any time.
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    /// Panics in debug builds if `other` is later. Use [`Nanos::since`] for values from outside.
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl Sum for Nanos {
    /// Saturates, as [`Nanos::add`].
    fn sum<I: Iterator<Item = Nanos>>(all: I) -> Nanos {
        all.fold(Nanos(0), Nanos::add)
    }
}

/// Three significant digits and a unit: `842 ns`, `41.3 µs`, `1.25 ms`, `2.10 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display_nanos(self.as_f64()))
    }
}

/// Nanoseconds with three significant digits and a unit.
pub fn display_nanos(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        n if n < 999.5 => return format!("{ns:.0} ns"),
        n if n < 999.5e3 => (ns / 1e3, "µs"),
        n if n < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A count of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// Binary units: `153 B`, `14.1 KiB`, `98.9 MiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display_bytes(self.0 as f64))
    }
}

/// Bytes with three significant digits and a binary unit.
pub fn display_bytes(bytes: f64) -> String {
    match bytes {
        b if b < 1024.0 => format!("{b:.0} B"),
        b if b < 1_023_500.0 => format!("{} KiB", three_digits(b / 1024.0)),
        b if b < 1024.0 * 1_023_500.0 => format!("{} MiB", three_digits(b / 1_048_576.0)),
        b => format!("{} GiB", three_digits(b / 1_073_741_824.0)),
    }
}

/// A count; a large one with three digits and a unit: `9999`, `12.3k`, `1.25M`, `2.10G`. A mean or a median may be half.
pub fn display_count(count: f64) -> String {
    match count {
        n if n < 1e4 && n.fract() == 0.0 => format!("{n:.0}"),
        n if n < 1e4 => format!("{n:.1}"),
        n if n < 1e6 => format!("{:.1}k", n / 1e3),
        n if n < 1e9 => format!("{:.2}M", n / 1e6),
        n => format!("{:.2}G", n / 1e9),
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Parses `20ms`, `1.5s`, `300us`, `2m`. A number without a unit is in seconds. The error is the message for the
/// user.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let error = || format!("`{text}` is not a valid duration\nhelp: write it like 300us, 20ms, 1.5s or 2m");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..split].parse().map_err(|_| error())?;
    let unit = match text[split..].trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(error()),
    };
    let duration = Duration::try_from_secs_f64(number * unit).map_err(|_| error())?;
    if duration.is_zero() { Err(error()) } else { Ok(duration) }
}

/// Parses `153`, `64KiB`, `1.5 MiB`, `2MB`: bytes, or a unit of 1024 or 1000. The error is the message for the
/// user.
pub fn parse_bytes(text: &str) -> Result<Bytes, String> {
    let error = || format!("`{text}` is not a valid size\nhelp: write it like 4096, 64KiB or 1.5MiB");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..split].parse().map_err(|_| error())?;
    let unit = match text[split..].trim() {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "K" | "KiB" => 1024.0,
        "M" | "MiB" => 1_048_576.0,
        "G" | "GiB" => 1_073_741_824.0,
        _ => return Err(error()),
    };
    let bytes = number * unit;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
    if (0.0..9.0e15).contains(&bytes) { Ok(Bytes(bytes.round() as u64)) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_units_of_1024_and_of_1000() {
        assert_eq!(parse_bytes("153"), Ok(Bytes(153)));
        assert_eq!(parse_bytes("1.5 MiB"), Ok(Bytes(1_572_864)));
        assert_eq!(parse_bytes("2kB"), Ok(Bytes(2000)));
        for nonsense in ["", "MiB", "-1", "1 XB", "1e400", "NaN", "99999999999GiB"] {
            assert!(parse_bytes(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn durations_take_the_usual_units_only() {
        assert_eq!(parse_duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        for nonsense in ["", "ms", "-1s", "1parsec", "0s", "1e400s", "NaN", "1..2s"] {
            assert!(parse_duration(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn nanoseconds_keep_three_significant_digits() {
        let shown: Vec<String> = [0, 842, 999, 1_000, 41_349, 999_499, 999_501, 1_250_000, 2_100_000_000]
            .map(|n| Nanos(n).to_string())
            .into();
        assert_eq!(
            shown,
            ["0 ns", "842 ns", "999 ns", "1.00 µs", "41.3 µs", "999 µs", "1.00 ms", "1.25 ms", "2.10 s"]
        );
    }

    #[test]
    fn bytes_are_shown_in_binary_units() {
        let shown: Vec<String> =
            [0, 153, 1023, 14_480, 103_700_000, 3 << 30].map(|n| Bytes(n).to_string()).into();
        assert_eq!(shown, ["0 B", "153 B", "1023 B", "14.1 KiB", "98.9 MiB", "3.00 GiB"]);
    }

    #[test]
    fn large_counts_have_three_digits_and_a_unit() {
        let shown = [0.0, 2.5, 9999.0, 12_340.0, 1_250_000.0, 2.1e9].map(display_count);
        assert_eq!(shown, ["0", "2.5", "9999", "12.3k", "1.25M", "2.10G"]);
    }

    #[test]
    fn the_time_since_a_later_instant_is_none() {
        assert_eq!(Nanos(5).since(Nanos(7)), None);
        assert_eq!(Nanos(7).since(Nanos(5)), Some(Nanos(2)));
    }
}
