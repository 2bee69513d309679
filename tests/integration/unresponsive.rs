//! Programs that wait for a file system which does not answer. They do not hear signals, not even SIGKILL.

use crate::support::{skipped, with_default_signal};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The numbers of requests, and the protocol: include/uapi/linux/fuse.h.
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const INIT: u32 = 26;
const ACCESS: u32 = 34;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;

/// A file system with a folder and the program `file` in it, whose content never comes.
struct Unresponsive {
    folder: tempfile::TempDir,
    /// Somebody waits for the content.
    awaited: Arc<AtomicBool>,
    device: File,
}

impl Unresponsive {
    /// `None`, reported as skipped, where it cannot be mounted.
    fn mounted() -> Option<Unresponsive> {
        let folder = tempfile::tempdir().unwrap();
        let Ok(device) = File::options().read(true).write(true).open("/dev/fuse") else {
            skipped("there is no /dev/fuse that we may use");
            return None;
        };
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let name = |text: &str| std::ffi::CString::new(text).unwrap();
        let (place, kind, options) = (name(folder.path().to_str().unwrap()), name("fuse"), name(&options));
        // SAFETY: the strings live until the call returns.
        let answer =
            unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) };
        if answer != 0 {
            skipped("only root mounts");
            return None;
        }

        let awaited = Arc::new(AtomicBool::new(false));
        let (mut served, seen) = (device.try_clone().unwrap(), Arc::clone(&awaited));
        std::thread::spawn(move || {
            let mut request = vec![0; 1 << 20];
            while let Ok(length) = served.read(&mut request) {
                if let Some(answer) = answer_to(&request[..length], &seen) {
                    let _ = served.write_all(&answer);
                }
            }
        });
        Some(Unresponsive { folder, awaited, device })
    }

    /// Waits until the content is waited for.
    fn wait(&self, child: &mut Child) {
        while !self.awaited.load(Ordering::SeqCst) {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Unresponsive {
    fn drop(&mut self) {
        let place = std::ffi::CString::new(self.folder.path().to_str().unwrap()).unwrap();
        // SAFETY: our own mount. MNT_FORCE ends the waits of everybody in it.
        unsafe {
            libc::umount2(place.as_ptr(), libc::MNT_FORCE);
            libc::umount2(place.as_ptr(), libc::MNT_DETACH);
        }
        let _ = &self.device;
    }
}

/// `None`: there is no answer to this request, or there will never be one.
fn answer_to(request: &[u8], awaited: &AtomicBool) -> Option<Vec<u8>> {
    let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
    let (what, unique) = (word(4), &request[8..16]);
    let node = u64::from_ne_bytes(request[16..24].try_into().unwrap());
    let body: Vec<u8> = match what {
        INIT => [words(&[7, 31, 0, 0, 0, 1 << 16, 1]), vec![0; 36]].concat(),
        LOOKUP => [words(&[2, 0, 0, 0, 1000, 0, 1000, 0, 0, 0]), attributes(2)].concat(),
        GETATTR => [words(&[1000, 0, 0, 0]), attributes(node)].concat(),
        OPEN => vec![0; 16],
        READ => {
            awaited.store(true, Ordering::SeqCst);
            return None;
        }
        FORGET | BATCH_FORGET | INTERRUPT => return None,
        ACCESS => Vec::new(),
        _ => return Some([words(&[16, (-libc::ENOSYS).cast_unsigned()]), unique.to_vec()].concat()),
    };
    let length = u32::try_from(16 + body.len()).unwrap();
    Some([words(&[length, 0]), unique.to_vec(), body].concat())
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// `struct fuse_attr` of the folder (node 1) or of the file.
fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = if node == 1 { (0o40755, 0) } else { (0o10_0755, 4096) };
    let numbers = [u32::try_from(node).unwrap(), 0, size, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    words(&[&numbers[..], &[mode, 1, 0, 0, 0, 4096, 0]].concat())
}

/// An interruption ends the command, while the program still waits.
fn is_interrupted(backend: &str) {
    let Some(system) = Unresponsive::mounted() else { return };
    let words = format!("cat {}", system.folder.path().join("file").display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["bench", "--no-counts", "--backend", backend, &words]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = with_default_signal(libc::SIGINT, &mut command).spawn().unwrap();
    system.wait(&mut child);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();

    // the file system answers in the end, so that no failure of this test hangs
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let is_deaf = began.elapsed() > Duration::from_secs(60);
        if is_deaf {
            drop(system);
            child.kill().unwrap();
            panic!("{backend}: it does not hear the interruption");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(system);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{backend}: {said}");
    assert!(said.contains("could not be killed and keeps running"), "{backend}: {said}");
}

#[test]
fn an_interruption_is_heard_while_a_program_waits_for_a_file() {
    for backend in ["auto", "pipe", "ptrace"] {
        is_interrupted(backend);
    }
}
