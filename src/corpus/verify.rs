//! Runs a program once and compares its output and exit status with its manifest.

use super::Built;
use super::execute::{ExecuteError, Limits, execute_in};
use super::manifest::Manifest;
use firstbyte_measure::launch::ExitStatus;

/// Why a run is wrong. Each message is one lower-case line.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    #[error("it printed {} instead of {}", shown(.printed), shown(.expected.as_bytes()))]
    Output { printed: Vec<u8>, expected: String },
    #[error("it {}", .exit.instead_of(*.expected))]
    Exit { exit: ExitStatus, expected: ExitStatus },
}

pub fn verify(built: &Built, manifest: &Manifest, limits: Limits) -> Result<(), VerifyError> {
    let expected = &manifest.expected;
    let wanted = expected.output();
    let limits = Limits { output: wanted.len() + 4096, ..limits };
    let finished = execute_in(&manifest.environment_of_runs(), &built.argv, &built.directory, limits)?;
    if finished.output != wanted.as_bytes() {
        return Err(VerifyError::Output { printed: finished.output, expected: wanted });
    }
    if finished.exit != expected.exit {
        return Err(VerifyError::Exit { exit: finished.exit, expected: expected.exit });
    }
    Ok(())
}

/// Bytes for a message, escaped and shortened.
fn shown(bytes: &[u8]) -> String {
    const MAX_SHOWN_BYTES: usize = 40;
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    let dots = if bytes.len() > MAX_SHOWN_BYTES { "…" } else { "" };
    format!("`{}{dots}`", bytes[..bytes.len().min(MAX_SHOWN_BYTES)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_on_one_line_and_shortened() {
        assert_eq!(shown(b""), "nothing");
        assert_eq!(shown(b"a\n\xff`"), "`a\\n\\xff``");
        assert_eq!(shown(&[b'x'; 50]), format!("`{}…`", "x".repeat(40)));
    }
}
