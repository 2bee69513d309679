//! The users and control groups that an option names.

use firstbyte_measure::tracer::watch::ControlGroup;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The inode number of the root of a hierarchy (`CGROUP_ID_ROOT` in the kernel).
const ROOT: u64 = 1;

/// The id of a user: of a name in `/etc/passwd`, or a number.
pub fn user_id(name: &str) -> Result<u32, String> {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    found(&accounts, name).or_else(|| name.parse().ok()).ok_or_else(|| {
        format!(
            "there is no user `{name}` in /etc/passwd\nhelp: give the number, which `id -u {name}` prints"
        )
    })
}

/// The third field of an account's line is the user id (`passwd(5)`).
fn found(accounts: &str, name: &str) -> Option<u32> {
    let mut lines = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find(|fields| fields.first() == Some(&name))?.get(2)?.parse().ok()
}

/// The control group of a folder, which is given with or without the place at which the hierarchy is mounted.
pub fn control_group(path: &Path) -> Result<ControlGroup, String> {
    let shown = path.display();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let root = mounted(&mounts)
        .ok_or("no cgroup2 hierarchy is mounted\nhelp: mount -t cgroup2 none /sys/fs/cgroup")?;
    let below = path.strip_prefix(&root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let folder = root.join(below);

    let inode = |folder: &Path| fs::metadata(folder).map(|found| found.ino());
    let id = inode(&folder).map_err(|error| {
        format!("there is no control group `{shown}`: {error}\nhelp: `systemd-cgls` lists them, and /proc/PID/cgroup has that of a process")
    })?;
    if inode(&root).ok() != Some(ROOT) {
        return Err(format!(
            "the place of `{shown}` in the hierarchy is not known in this container\nhelp: run firstbyte on the host"
        ));
    }
    let level = u32::try_from(below.components().count()).unwrap_or(u32::MAX);
    Ok(ControlGroup { id, level })
}

/// Where the unified hierarchy is mounted: the fifth field of a line whose first field after the dash is the type
/// (`proc_pid_mountinfo(5)`).
fn mounted(mounts: &str) -> Option<PathBuf> {
    let is_unified = |line: &&str| line.split(" - ").nth(1).is_some_and(|rest| rest.starts_with("cgroup2 "));
    let line = mounts.lines().find(is_unified)?;
    Some(PathBuf::from(line.split(' ').nth(4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_or_by_number() {
        let accounts = "root:x:0:0:root:/root:/bin/bash\nsync:x:4:65534::/bin:/bin/sync\nbroken\n";
        assert_eq!((found(accounts, "root"), found(accounts, "sync")), (Some(0), Some(4)));
        assert_eq!((found(accounts, "broken"), found(accounts, "nobody")), (None, None));
        assert_eq!(user_id("4711"), Ok(4711));
        assert!(user_id("no such user").unwrap_err().contains("\nhelp: "));
    }

    #[test]
    fn the_unified_hierarchy_is_found_beside_the_others() {
        let mounts = "30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      31 29 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(mounted(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mounted(""), None);
    }
}
