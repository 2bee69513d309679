//! Programs whose file gives them rights that a run under ptrace does not get.

use crate::support::{copy_executable, skipped};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A `cat` with a set-user-ID bit, and a file that only it may read. `None`, reported as skipped, if that is impossible.
fn privileged() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = |name: &str, from: &Path, mode: u32| {
        copy_executable(from, &folder.path().join(name), mode);
    };
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    place("reader", Path::new("/bin/cat"), 0o4755);
    place("secret", Path::new("/etc/hostname"), 0o600);
    match stranger(folder.path(), &["./reader", "secret"]) {
        Ok(output) if output.status.success() => Some(folder),
        _ => {
            skipped(
                "only root can make a set-user-ID program for another user, and not on every file system",
            );
            None
        }
    }
}

/// Runs it as a user who is neither root nor the owner of any file here.
fn stranger(folder: &Path, words: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words).current_dir(folder);
    command.env("FIRSTBYTE_CACHE", folder.join("cache")).env("COLUMNS", "1000").output()
}

fn firstbyte(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = stranger(folder, &[&[env!("CARGO_BIN_EXE_firstbyte")], arguments].concat()).unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_set_user_id_program_is_not_blamed_for_rights_that_tracing_takes_away() {
    let Some(folder) = privileged() else { return };
    let bench = ["bench", "-r", "2", "--warmup=0", "--no-overhead", "--no-counts", "--backend"];
    let run =
        |backend: &str, program: &str| firstbyte(folder.path(), &[&bench[..], &[backend, program]].concat());
    let (status, said) = run("ptrace", "./reader secret");
    assert!(status == Some(3) && said.contains("when traced, but not when untraced"), "{status:?} {said}");
    let (status, said) = run("pipe", "./reader secret");
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = run("ptrace", "./reader /dev/null");
    let reported = "it ran without the rights of its set-user-ID bit";
    assert!(status == Some(0) && said.contains(reported), "{status:?} {said}");
    for (file, status, other_end) in [("secret", 3, true), ("/dev/null", 0, false)] {
        let trace = ["trace", "--full", "-r", "2", "--backend", "ptrace", "--", "./reader", file];
        let (ended, said) = firstbyte(folder.path(), &trace);
        assert_eq!(ended, Some(status), "{said}");
        assert!(said.contains("It ran without the rights of its set-user-ID bit"), "{said}");
        assert_eq!(said.contains("Untraced it ended with exit status 0"), other_end, "{said}");
    }
    let (_, said) =
        firstbyte(folder.path(), &["trace", "--full", "-r", "1", "--backend", "ptrace", "--", "true"]);
    assert!(!said.contains("It ran without"), "{said}");
}

#[test]
fn rights_of_a_group_and_capabilities_are_reported_too_and_scripts_have_none() {
    let Some(folder) = privileged() else { return };
    let copied = |name: &str, from: &str, mode: u32| {
        let path = folder.path().join(name);
        copy_executable(from.as_ref(), &path, mode);
        path
    };
    copied("group", "/bin/true", 0o2755);
    fs::write(folder.path().join("text"), "#!/bin/sh\n").unwrap();
    copied("script", folder.path().join("text").to_str().unwrap(), 0o4755);
    let capable = copied("capable", "/bin/true", 0o755);
    // VFS_CAP_REVISION_2, effective; CAP_NET_RAW permitted (linux/capability.h)
    let mut capability = [0_u8; 20];
    (capability[0], capability[3], capability[5]) = (1, 2, 0x20);
    let has =
        rustix::fs::setxattr(&capable, "security.capability", &capability, rustix::fs::XattrFlags::empty());
    let table = [
        ("./group", "the rights of its set-group-ID bit"),
        ("./capable", "its file's capabilities"),
        ("./script", ""),
    ];
    for (program, rights) in table {
        if program == "./capable" && has.is_err() {
            skipped("this file system keeps no capabilities");
            continue;
        }
        let (status, said) =
            firstbyte(folder.path(), &["trace", "--full", "-r", "1", "--backend", "ptrace", "--", program]);
        assert_eq!(status, Some(0), "{said}");
        let reported = said.contains("It ran without ");
        assert!(reported != rights.is_empty() && said.contains(rights), "{program}: {said}");
    }
}
