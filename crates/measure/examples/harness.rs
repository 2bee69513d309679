//! A benchmark without a framework: two commands in alternating runs, and the median of the ratios of the pairs. As a target
//! of `cargo bench`, give it `harness = false`.
//!
//! `cargo run --example harness -- 'true' 'sh -c true'`

use firstbyte_measure::start::{StartError, Starts};
use std::error::Error;

/// The ratio of the second command's time to the first one's.
pub(crate) fn ratio(first: &[String], second: &[String], pairs: usize) -> Result<f64, StartError> {
    let (mut first, mut second) = (Starts::of(first)?, Starts::of(second)?);
    // the first runs read files from the disk
    first.once()?;
    second.once()?;

    let mut ratios = Vec::new();
    for pair in 0..pairs.max(1) {
        // each is the first of a pair as often as the other, so drift of the machine meets both
        let (one, other) = if pair % 2 == 0 {
            let one = first.once()?;
            (one, second.once()?)
        } else {
            let other = second.once()?;
            (first.once()?, other)
        };
        ratios.push(other.total.as_f64() / one.total.as_f64());
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ratios.len() / 2])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut commands = std::env::args().skip(1).map(|command| shell_words::split(&command));
    let (Some(first), Some(second)) = (commands.next(), commands.next()) else {
        return Err("usage: harness COMMAND COMMAND".into());
    };
    println!("{:.3}", ratio(&first?, &second?, 50)?);
    Ok(())
}
