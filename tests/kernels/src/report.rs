//! One line for each check, into the kernel's log: what is written to `/dev/kmsg` is in the log when write(2) returns,
//! whereas a terminal may lose what it has not sent when the machine goes off.

use std::fs::OpenOptions;
use std::io::Write;

/// What a check found.
pub(crate) enum Found {
    /// As it must be; with a remark, or an empty one.
    Right(String),
    /// The machine cannot run the check: why.
    Skipped(String),
}

/// What a check returns: the error is what was wrong.
pub(crate) type Checked = Result<Found, String>;

/// The mark by which `tests/kernels/run` knows our lines.
const MARK: &str = "firstbyte-check";
/// `LOG_LINE_MAX` of old kernels, less their prefix and our first fields.
const LONGEST: usize = 800;

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

/// Everything has been said.
pub(crate) fn done() {
    line(&format!("{MARK}|-|-|done|"));
}

fn one_line(text: &str) -> String {
    let text = text.trim().replace('\n', "; ").replace('|', "/");
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST).last().unwrap_or(0);
    if text.len() > LONGEST { format!("{}…", &text[..end]) } else { text }
}

/// The level of errors, which a quiet console shows, too.
fn line(text: &str) {
    if std::process::id() != 1 {
        return println!("{text}");
    }
    if let Ok(mut log) = OpenOptions::new().write(true).open("/dev/kmsg") {
        let _ = log.write_all(format!("<3>{text}\n").as_bytes());
    }
}
