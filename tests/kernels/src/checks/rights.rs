//! The messages for a user without privileges, and the effect of capabilities of the file.

use super::{Check, TRACEES, check, right, tracee};
use crate::report::Checked;
use crate::tool::{User, document, firstbyte, run, same};
use serde_json::Value;
use std::ffi::CString;
use std::io;

pub(super) fn list() -> Vec<Check> {
    vec![
        check("bpf", "refused in one line, another user", refused),
        check("auto", "bench falls back and says why, another user", falls_back),
        check("bpf", "bench with CAP_BPF and CAP_PERFMON, another user", capable),
    ]
}

const NEEDS: &str = "needs root or CAP_BPF and CAP_PERFMON";

fn refused() -> Checked {
    let command = format!("{TRACEES}/writer_c write");
    let answer = firstbyte(User::Other, &["bench", "--backend", "bpf", "--runs", "2", &command])?;
    same("status", &answer.status, &Some(4))?;
    let lines: Vec<_> = answer.stderr.lines().collect();
    match lines[..] {
        [error, help] if error.contains(NEEDS) && help.starts_with("help: ") => right(error),
        _ => Err(format!("not an error with a help line: {}", answer.stderr)),
    }
}

fn falls_back() -> Checked {
    let command = format!("{TRACEES}/writer_c write");
    let document = document(User::Other, &["bench", "--runs", "2", "--export-json", "-", &command])?;
    same("backend", &document["tool"]["backend"], &Value::from("ptrace"))?;
    let reason = document["tool"]["backend_reason"].as_str().unwrap_or_default();
    if reason.contains(NEEDS) && reason.len() < 250 {
        right(reason)
    } else {
        Err(format!("the reason is {reason}"))
    }
}

fn capable() -> Checked {
    let path = "/bin/firstbyte-capable";
    std::fs::copy("/bin/firstbyte", path).map_err(|error| error.to_string())?;
    give_capabilities(path).map_err(|error| format!("{path}: {error}"))?;
    let Some(tracee) = tracee("writer_c") else { return super::skipped("the tracee was not built") };
    let command = format!("{tracee} write");
    let answer = run(User::Other, path, &["bench", "--backend", "bpf", "--runs", "2", &command])?;
    same("status", &answer.status, &Some(0)).map_err(|fault| format!("{fault}: {}", answer.stderr))?;
    right("")
}

/// `setcap cap_bpf,cap_perfmon=ep`: the extended attribute in its second form (`capabilities(7)`).
fn give_capabilities(path: &str) -> io::Result<()> {
    const REVISION_2: u32 = 0x0200_0000;
    const EFFECTIVE: u32 = 1;
    const CAP_PERFMON: u32 = 38;
    const CAP_BPF: u32 = 39;
    let high = 1 << (CAP_PERFMON - 32) | 1 << (CAP_BPF - 32);
    // permitted and inheritable, the low halves and the high halves
    let words = [REVISION_2 | EFFECTIVE, 0, 0, high, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let path = CString::new(path)?;
    let name = c"security.capability".as_ptr();
    // SAFETY: two strings that end in a zero byte, and as many bytes as the given length (setxattr(2)).
    let set = unsafe { libc::setxattr(path.as_ptr(), name, bytes.as_ptr().cast(), bytes.len(), 0) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
