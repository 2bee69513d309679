//! Exports and cold runs on file systems of several kinds, each in a disk image.

use crate::support::skipped;
use crate::surroundings::{folder, in_namespace, said};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Mounts a fresh file system of the kind `$1` at `disk`; status 77: this machine has no such file system.
const MOUNT: &str = "truncate -s 400M image
    command -v mkfs.$1 >/dev/null || exit 77
    mkfs.$1 -q image >/dev/null
    mkdir disk
    mount -t $1 -o loop image disk || exit 77
    chmod 755 disk; cp \"$0\" disk/firstbyte; cd disk";

/// Runs a script on a fresh file system; the current folder is then its root. `None`, reported as skipped, if this
/// machine has no such file system.
fn on(kind: &str, folder: &Path, script: &str) -> Option<()> {
    let script = format!("set -- {kind}\n{MOUNT}\n{script}");
    let output = in_namespace(folder, &script)?;
    if output.status.code() == Some(77) {
        skipped(&format!(
            "no {kind}: {}; help: apt-get install e2fsprogs xfsprogs btrfs-progs",
            said(&output)
        ));
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{kind}: {}", said(&output));
    Some(())
}

fn document(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A new export, one that replaces a file of another user, and one through a symbolic link.
fn exports_are_replaced_and_keep_owner_and_mode(kind: &str) {
    let folder = folder();
    let script = "echo old > theirs; chown 1234:1235 theirs; chmod 640 theirs; ln -s theirs link
        for name in new theirs link; do
            ./firstbyte bench --backend pipe --no-counts --runs 2 --export-json $name true >/dev/null
        done
        stat --format='%u %g %a %h' theirs > ../owner; cp new theirs ..; ls -A | grep -v lost+found > ../names";
    let Some(()) = on(kind, folder.path(), script) else { return };

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("owner"), "1234 1235 640 1\n", "{kind}");
    assert_eq!(read("names"), "firstbyte\nlink\nnew\ntheirs\n", "{kind}: nothing else is left");
    for name in ["new", "theirs"] {
        let times = &document(&folder.path().join(name))["results"][0]["times"];
        assert_eq!(times.as_array().unwrap().len(), 2, "{kind}");
    }
}

/// The program and the copies are on this file system. The copies look like their originals.
fn cold_runs_are_cold_and_see_the_same_file(kind: &str) {
    let folder = folder();
    let script = "export FIRSTBYTE_CACHE=$PWD/cache; cp /bin/cat /bin/stat .
        echo content > theirs; chown 1234:1235 theirs; chmod 6755 theirs; touch -d @1000000000.5 theirs
        ./firstbyte bench --cache cold --no-counts --runs 3 --export-json ../cold.json './cat theirs' >/dev/null
        ./firstbyte bench --cache cold --no-counts --runs 2 \"sh -c './cat theirs >/dev/null
            ./stat --format=\\\"%u %g %a %s %.9Y\\\" theirs >> seen'\" >/dev/null
        cp seen ..; ls cache/cold > ../left";
    let Some(()) = on(kind, folder.path(), script) else { return };

    let cold = &document(&folder.path().join("cold.json"))["results"][0]["cold"];
    assert_eq!(cold["resident_pages"], 0, "{kind}: {cold}");
    let from_disk = cold["bytes_from_disk"].as_array().unwrap();
    assert!(from_disk.len() == 3 && from_disk.iter().all(|bytes| bytes.as_u64() > Some(0)), "{kind}: {cold}");

    let seen = fs::read_to_string(folder.path().join("seen")).unwrap();
    let expected = "1234 1235 6755 8 1000000000.500000000";
    // two runs look for files; then they are copies
    assert!(seen.lines().count() >= 4 && seen.lines().all(|line| line == expected), "{kind}: {seen}");
    assert_eq!(fs::read_to_string(folder.path().join("left")).unwrap(), "", "{kind}");
}

fn works_on(kind: &str) {
    exports_are_replaced_and_keep_owner_and_mode(kind);
    cold_runs_are_cold_and_see_the_same_file(kind);
}

#[test]
fn ext4_has_exports_and_cold_runs() {
    works_on("ext4");
}

#[test]
fn ext2_without_a_journal_has_exports_and_cold_runs() {
    works_on("ext2");
}

#[test]
fn xfs_has_exports_and_cold_runs() {
    works_on("xfs");
}

#[test]
fn btrfs_has_exports_and_cold_runs() {
    works_on("btrfs");
}
