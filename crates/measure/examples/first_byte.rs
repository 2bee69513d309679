//! Launches a command and prints its phases: `cargo run --example first_byte -- ls -l`.

use firstbyte_measure::launch::{Command, Launcher};
use firstbyte_measure::timeline::{Phase, Timeline};
use firstbyte_measure::tracer::phases::choose_phases;
use firstbyte_measure::tracer::{BackendChoice, RunOptions};
use firstbyte_measure::units::Nanos;
use std::error::Error;

pub(crate) fn report(words: &[String]) -> Result<String, Box<dyn Error>> {
    let mut launcher = Launcher::new(Command::new(words)?)?;
    let mut tracer = choose_phases(BackendChoice::Auto)?.tracer;

    tracer.attach()?;
    let recording = tracer.run(&mut launcher, &RunOptions::default())?;
    let timeline = Timeline::of(&recording)?;

    let mut lines = vec![format!("backend   {}", recording.backend.name())];
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
