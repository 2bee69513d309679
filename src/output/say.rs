//! Messages on stderr.

use std::fmt::Display;
use std::io::Write;

/// Writes a message to stderr, and a line feed. If it cannot be written (its reader has gone away, or the disk is full),
/// there is nobody to tell. `eprintln!` panics then, which would end a measurement in the middle.
pub fn say(message: impl Display) {
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}
