//! Values of options: texts in, typed values out, or an error that ends in a `help:` line.

use crate::bench::Placement;
use firstbyte_measure::launch::CpuSet;
use firstbyte_measure::launch::affinity::CpuSetError;
use firstbyte_measure::units::Nanos;
pub(super) use firstbyte_measure::units::parse_duration as duration;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// A list of processors that exist on this machine.
pub(super) fn cpus(text: &str) -> Result<CpuSet, String> {
    let cpus: CpuSet = text.parse().map_err(|error: CpuSetError| error.to_string())?;
    cpus.check().map_err(|error| error.to_string())?;
    Ok(cpus)
}

pub(super) fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Where programs run: on a list of processors, or on all.
pub(super) fn place(text: &str) -> Result<Placement, String> {
    if text == "all" { Ok(Placement::Anywhere) } else { cpus(text).map(Placement::Given) }
}

/// The words of a command, as a shell splits them.
pub(super) fn split(command: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(command).map_err(|_| {
        format!("`{command}` has a quote that is not closed\nhelp: close it, or write \\' or \\\" for the character itself")
    })?;
    if words.is_empty() {
        return Err("a command is empty\nhelp: name a program, as in 'ls -l'".to_owned());
    }
    Ok(words)
}

/// `5%` or `5` as 0.05.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let sensible = number.filter(|percent| (0.0..=1000.0).contains(percent));

    sensible.map(|percent| percent / 100.0).ok_or_else(|| {
        format!("`{text}` is not a valid percentage\nhelp: write it like 0.5 or 5%, up to 1000%")
    })
}

/// A number of things: `1000000`, `1_000_000`, `1M` or `17.5M`.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let units = [('k', 1_000), ('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    let with_unit = units.into_iter().find_map(|(letter, unit)| Some((text.strip_suffix(letter)?, unit)));
    let (number, unit) = with_unit.unwrap_or((text, 1));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{part}").replace('_', "");

    let scale = u32::try_from(part.len()).ok().and_then(|places| 10_u64.checked_pow(places));
    let count = digits.parse::<u64>().ok().and_then(|digits| digits.checked_mul(unit));
    let count = count
        .zip(scale)
        .filter(|(count, scale)| count.is_multiple_of(*scale))
        .map(|(count, scale)| count / scale);
    count.filter(|count| (1..=MAX_COUNT).contains(count)).ok_or_else(|| {
        format!("`{text}` is not a whole number from 1 to {MAX_COUNT}\nhelp: write it like 2500000 or 2.5M")
    })
}

/// A parser of whole numbers within a range.
pub(super) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            format!(
                "`{text}` is not a whole number from {} to {}\nhelp: write it like 20",
                range.start(),
                range.end()
            )
        })
    }
}

/// The largest number that [`count`] takes.
const MAX_COUNT: u64 = 1_000_000_000_000;

/// Checks that a file that runs will read exists and can be read.
pub(super) fn readable(input: &Path) -> Result<(), String> {
    let name = input.display();
    if input.is_dir() {
        return Err(format!(
            "the input `{name}` is a directory\nhelp: name a file in it: --input {name}/FILE"
        ));
    }
    rustix::fs::access(input, rustix::fs::Access::READ_OK).map_err(|error| {
        let cause = std::io::Error::from(error);
        format!("the input `{name}` cannot be read: {cause}\nhelp: check the path and the permissions")
    })
}

/// Checks that programs can write to a file, which may not exist yet.
pub(super) fn writable(output: &Path) -> Result<(), String> {
    let name = output.display();
    let refused = |cause: String, help: &str| {
        Err(format!("output cannot be written to `{name}`: {cause}\nhelp: {help}"))
    };
    if output.exists() && !output.is_file() {
        return refused("it is not a regular file".to_owned(), "name a file, or use --output inherit");
    }

    let (checked, access) = if output.exists() {
        (output, rustix::fs::Access::WRITE_OK)
    } else {
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        (folder.unwrap_or(Path::new(".")), rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
    };
    rustix::fs::access(checked, access).or_else(|error| {
        let cause = std::io::Error::from(error).to_string();
        refused(cause, "create its folder first, with `mkdir -p`, or name another one")
    })
}

/// A size that a ring buffer can have: a power of two of at least one page (`BPF_MAP_TYPE_RINGBUF`).
pub(super) fn ring_size(text: &str) -> Result<u32, String> {
    let bytes = text.parse().ok();
    let possible = bytes.filter(|bytes: &u32| bytes.is_power_of_two() && (4096..=1 << 30).contains(bytes));

    possible.ok_or_else(|| {
        format!(
            "`{text}` is not a valid size of a ring buffer\nhelp: give a power of two from 4096 to 1073741824"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_may_have_a_unit_and_is_whole() {
        let counts = ["7", "1_000", "1k", "2.5M", "17.5M", "1G"].map(|text| count(text).unwrap());
        assert_eq!(counts, [7, 1000, 1000, 2_500_000, 17_500_000, 1_000_000_000]);
        for wrong in ["", "M", "0", "-1", "1.5", "1.2345k", "1KM", "1MM", "1e6", "1 M", "9999G", "1.M.", "+"]
        {
            let error = count(wrong).unwrap_err();
            assert!(error.contains("\nhelp: "), "{wrong}: {error}");
        }
    }
}
