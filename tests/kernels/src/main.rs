//! The first process of the machines that `make kernels` boots: brings the machine up, runs the checks there, prints one
//! line for each to the kernel's log, and switches the machine off.
//!
//! `tests/kernels/run` makes the disk, boots, and collects the lines. On a running machine, `firstbyte-kernels checks`
//! only runs the checks and prints to stdout.

mod boot;
mod checks;
mod report;
mod tool;

#[path = "../../tracees/table.rs"]
mod table;
#[path = "../../integration/frames_truth/programs.rs"]
#[allow(dead_code, reason = "the machines have fewer languages")]
mod truth;

fn main() {
    let asked = std::env::args().nth(1);
    match asked.as_deref() {
        Some("checks") => checks::all(),
        Some("on-disk") => boot::on_disk(checks::all),
        _ if std::process::id() == 1 => boot::to_disk(),
        _ => {
            eprintln!("error: this is the first process of an emulated machine\nhelp: make kernels");
            std::process::exit(2);
        }
    }
}
