//! Whether `/proc` speaks of our own processes.

use std::fs;
use std::path::Path;

/// Whether the process ids in `/proc` are the ones by which we know our tracees: within a process namespace of its own
/// (`unshare --pid`) the old `/proc` goes on showing the old ids, behind which there are other processes, or none
/// (`pid_namespaces(7)`).
///
/// # Errors
/// What is wrong with it: one lower-case line, and one that helps.
pub fn own_proc() -> Result<(), String> {
    let cause = match fs::read_link("/proc/self") {
        Ok(link) if link == Path::new(&std::process::id().to_string()) => return Ok(()),
        Ok(_) => "`/proc` shows the processes of another namespace".to_owned(),
        Err(error) => format!("`/proc` cannot be read: {error}"),
    };
    Err(format!(
        "{cause}\nhelp: mount this namespace's own with `mount -t proc proc /proc` (`unshare --mount-proc` does so)"
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ours_is_our_own() {
        assert_eq!(super::own_proc(), Ok(()));
    }
}
