//! `cargo bench --bench core`: builds the program beside this file as `cargo build --release` builds firstbyte, and runs it.
//!
//! Cargo builds a benchmark and all its dependencies with unwinding, but our release profile aborts. As a benchmark, the
//! program would build everything a second time; like this, it uses what the release build left.

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let is_built = cargo("build", &["--package", "firstbyte"]).status().is_ok_and(|status| status.success());
    let mut program = cargo("run", &["--package", "firstbyte-core-figures", "--"]);
    let is_done = is_built && program.args(arguments).status().is_ok_and(|status| status.success());
    if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A command of cargo in the root of the repository, in release.
fn cargo(command: &str, rest: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root).args([command, "--release", "--quiet", "--locked"]).args(rest);
    cargo
}
