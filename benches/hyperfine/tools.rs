//! The tools that are compared.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedTool {
    Firstbyte,
    /// With `-N`, which it recommends for short programs; its default would measure a shell, too.
    Hyperfine1,
    Hyperfine2,
}

impl ComparedTool {
    pub(crate) const ALL: [ComparedTool; 3] =
        [ComparedTool::Firstbyte, ComparedTool::Hyperfine1, ComparedTool::Hyperfine2];

    /// As the raw data and the figures name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ComparedTool::Firstbyte => "firstbyte",
            ComparedTool::Hyperfine1 => "hyperfine 1.20 -N",
            ComparedTool::Hyperfine2 => "hyperfine 2.0.0",
        }
    }

    /// Compares two commands with its defaults, and writes a JSON file.
    pub(crate) fn comparison(self, commands: &[String; 2], json: &Path) -> Command {
        let mut command = match self {
            ComparedTool::Firstbyte => {
                let mut firstbyte = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
                firstbyte.arg("bench");
                firstbyte
            }
            ComparedTool::Hyperfine1 => {
                let mut hyperfine = hyperfine_1();
                hyperfine.arg("-N");
                hyperfine
            }
            ComparedTool::Hyperfine2 => hyperfine("HYPERFINE_2", "hyperfine 2.0.0"),
        };
        command.arg("--export-json").arg(json).args(commands);
        command
    }
}

pub(crate) fn hyperfine_1() -> Command {
    hyperfine("HYPERFINE_1", "hyperfine 1.20.0")
}

/// # Panics
///
/// It is not installed, or it is another version.
fn hyperfine(variable: &str, version: &str) -> Command {
    let program = std::env::var(variable).unwrap_or_else(|_| "hyperfine".to_owned());
    let said = Command::new(&program).arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let number = version.trim_start_matches("hyperfine ");
    assert_eq!(
        said.trim(),
        version,
        "`{program}` is not {version}; help: cargo install hyperfine --version {number} --root DIR, and set {variable}=DIR/bin/hyperfine"
    );
    Command::new(program)
}

/// The JSON on the command's stdout.
pub(crate) fn json_of(command: &mut Command) -> Value {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The result of `firstbyte bench` for one program.
pub(crate) fn firstbyte(program: &Path, options: &[&str]) -> Value {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    bench.args(["bench", "--no-overhead", "--no-counts", "--export-json", "-"]).args(options).arg(program);
    json_of(&mut bench)["results"][0].take()
}
