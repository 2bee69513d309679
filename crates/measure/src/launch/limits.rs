//! Our own resource limits. A tracee of the same user may change them (`prlimit(2)` of its parent), and every later tracee
//! would inherit them. So they are looked at when something fails, and set back.

use super::diagnosis::LaunchError;
use std::sync::OnceLock;

/// The resources of `getrlimit(2)` that Linux knows: their numbers are 0 to 15.
const NAMES: [&str; 16] = [
    "processor time",
    "the size of files",
    "the data segment",
    "the stack",
    "core files",
    "resident memory",
    "processes",
    "open files",
    "locked memory",
    "address space",
    "file locks",
    "pending signals",
    "message queues",
    "the nice value",
    "the real-time priority",
    "real-time processor time",
];

/// Those that new memory and new threads need.
const OF_MEMORY: [usize; 2] = [2, 9];

static KEPT: OnceLock<[libc::rlimit; NAMES.len()]> = OnceLock::new();

/// Remembers the present limits, the first time that it is called.
pub(super) fn keep() {
    KEPT.get_or_init(|| {
        std::array::from_fn(|number| read(number).unwrap_or(libc::rlimit { rlim_cur: 0, rlim_max: 0 }))
    });
}

/// Sets all limits back to what they were. Returns whether any was lower.
///
/// # Errors
///
/// One was lowered so that we may not raise it again.
pub fn restore() -> Result<bool, LaunchError> {
    restore_those(0..NAMES.len())
}

/// The same for what new memory and new threads need.
pub(crate) fn restore_memory() -> Result<bool, LaunchError> {
    restore_those(OF_MEMORY)
}

fn restore_those(numbers: impl IntoIterator<Item = usize>) -> Result<bool, LaunchError> {
    let (Some(kept), mut lowered) = (KEPT.get(), false) else { return Ok(false) };
    for number in numbers {
        let (before, Some(now)) = (kept[number], read(number)) else { continue };
        if now.rlim_cur >= before.rlim_cur {
            continue;
        }
        lowered = true;
        if !write(number, before) {
            let most = libc::rlimit { rlim_cur: before.rlim_cur.min(now.rlim_max), ..now };
            write(number, most);
            if most.rlim_cur < before.rlim_cur {
                return Err(LaunchError::Limit { name: NAMES[number] });
            }
        }
    }
    Ok(lowered)
}

#[expect(clippy::cast_possible_truncation, reason = "at most 15")]
fn read(number: usize) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain data, filled by the call.
    (unsafe { libc::getrlimit(number as _, &raw mut limit) } == 0).then_some(limit)
}

#[expect(clippy::cast_possible_truncation, reason = "at most 15")]
fn write(number: usize, limit: libc::rlimit) -> bool {
    // SAFETY: plain data.
    unsafe { libc::setrlimit(number as _, &raw const limit) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_kernel() {
        let numbers = [libc::RLIMIT_DATA, libc::RLIMIT_AS, libc::RLIMIT_NOFILE, libc::RLIMIT_RTTIME];
        let names = numbers.map(|number| NAMES[number as usize]);
        assert_eq!(names, ["the data segment", "address space", "open files", "real-time processor time"]);
        assert_eq!(OF_MEMORY, [libc::RLIMIT_DATA as usize, libc::RLIMIT_AS as usize]);
    }

    #[test]
    fn a_lowered_limit_is_set_back() {
        keep();
        let message_queues = libc::RLIMIT_MSGQUEUE as usize;
        let before = read(message_queues).unwrap();
        assert!(write(message_queues, libc::rlimit { rlim_cur: 0, ..before }));
        assert!(restore().unwrap());
        assert_eq!(read(message_queues).unwrap().rlim_cur, before.rlim_cur);
        assert!(!restore().unwrap());
    }
}
