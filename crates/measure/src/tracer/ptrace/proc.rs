//! Whether `/proc` shows our own processes.

use std::fs;
use std::path::Path;

/// Checks that the process ids in `/proc` are the ones by which we know our tracees. In a new process namespace
/// (`unshare --pid`) the old `/proc` still shows the old ids, which belong to other processes or to none
/// (`pid_namespaces(7)`).
///
/// # Errors
///
/// What is wrong with `/proc`: one lower-case line, then a line with help.
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
    fn our_proc_shows_our_processes() {
        assert_eq!(super::own_proc(), Ok(()));
    }
}
