//! Writes one line for each check to the kernel's log. Text written to `/dev/kmsg` is in the log when write(2) returns,
//! whereas a terminal may lose text that it has not sent when the machine is switched off.

use std::fs::OpenOptions;
use std::io::Write;

/// The result of a check.
pub(crate) enum Found {
    /// It passed. The remark may be empty.
    Right(String),
    /// The machine cannot run the check. Contains the reason.
    Skipped(String),
}

/// The return value of a check. The error says what was wrong.
pub(crate) type Checked = Result<Found, String>;

/// The mark by which `tests/kernels/run` recognises our lines.
const MARK: &str = "firstbyte-check";
/// `LOG_LINE_MAX` of old kernels minus their prefix and our first fields.
const MAX_LINE_BYTES: usize = 800;

pub(crate) fn row(backend: &str, check: &str, checked: &Checked) {
    let (result, remark) = match checked {
        Ok(Found::Right(remark)) => ("ok", remark.as_str()),
        Ok(Found::Skipped(why)) => ("skipped", why.as_str()),
        Err(wrong) => ("FAILED", wrong.as_str()),
    };
    line(&format!("{MARK}|{backend}|{check}|{result}|{}", one_line(remark)));
}

/// A fact about the machine.
pub(crate) fn fact(name: &str, value: &str) {
    line(&format!("{MARK}|-|{name}|fact|{}", one_line(value)));
}

/// All checks have run.
pub(crate) fn done() {
    line(&format!("{MARK}|-|-|done|"));
}

fn one_line(text: &str) -> String {
    let text = text.trim().replace('\n', "; ").replace('|', "/");
    let end =
        text.char_indices().map(|(at, _)| at).take_while(|at| *at <= MAX_LINE_BYTES).last().unwrap_or(0);
    if text.len() > MAX_LINE_BYTES { format!("{}…", &text[..end]) } else { text }
}

/// The level of errors, which even a quiet console shows.
fn line(text: &str) {
    if std::process::id() != 1 {
        return println!("{text}");
    }
    if let Ok(mut log) = OpenOptions::new().write(true).open("/dev/kmsg") {
        let _ = log.write_all(format!("<3>{text}\n").as_bytes());
    }
}
