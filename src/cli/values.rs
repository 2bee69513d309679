//! Values of options: texts in, typed values out, or an error that ends in a `help:` line.

use crate::bench::Place;
use firstbyte_measure::launch::CpuSet;
use firstbyte_measure::launch::affinity::CpuSetError;
use firstbyte_measure::units::Nanos;
pub(super) use firstbyte_measure::units::parse_duration as duration;
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
pub(super) fn place(text: &str) -> Result<Place, String> {
    if text == "all" { Ok(Place::Anywhere) } else { cpus(text).map(Place::Given) }
}

/// The words of a command, as a shell splits them.
pub(super) fn split(command: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(command).map_err(|_| {
        format!("`{command}` has a quote that is not closed\nhelp: close it, or write \\' or \\\" for the character itself")
    })?;
    if words.is_empty() {
        return Err("a command is empty\nhelp: name a program, as in `firstbyte bench 'ls -l'`".to_owned());
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
