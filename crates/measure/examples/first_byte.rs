//! Prints the phases of a command: `cargo run --example first_byte -- ls -l`.

use firstbyte_measure::Starts;
use firstbyte_measure::timeline::Phase;
use firstbyte_measure::units::Nanos;
use std::error::Error;

pub(crate) fn report(words: &[String]) -> Result<String, Box<dyn Error>> {
    let mut starts = Starts::of(words)?;
    let timeline = starts.once()?;

    let mut lines = vec![format!("backend   {}", starts.backend().name())];
    if let Some(phases) = timeline.phases {
        let shown = |length: Option<Nanos>| length.map_or("none".to_owned(), |length| length.to_string());
        lines.extend(Phase::ALL.map(|phase| format!("{:<9} {}", phase.name(), shown(phases.get(phase)))));
    }
    lines.push(format!("total     {}\n", timeline.total));
    Ok(lines.join("\n"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    print!("{}", report(&words)?);
    Ok(())
}
