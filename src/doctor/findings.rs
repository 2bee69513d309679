//! What came of trying each thing that tracing and measuring need.

use firstbyte_measure::tracer::probe;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Why the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kernel's error number, where it gave one.
    pub errno: Option<i32>,
    /// One lower-case line.
    pub text: String,
}

impl Failure {
    /// Whether privilege is what it lacks, rather than support.
    pub fn is_denied(&self) -> bool {
        matches!(self.errno, Some(libc::EPERM | libc::EACCES))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        let errno = error.raw_os_error();
        // The number is kept apart; std puts it in brackets behind the text.
        let text = error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase();
        Failure { errno, text }
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Failure {
        Failure::from(io::Error::from(error))
    }
}

/// What was tried, and what the kernel answered. `None`: there is no such setting here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Whether we are root.
    pub root: bool,
    /// A BPF program was loaded and attached.
    pub bpf: Result<(), String>,
    /// The kernel's own type information can be read.
    pub btf: Result<(), Failure>,
    /// A child was stopped.
    pub ptrace: Result<(), Failure>,
    /// `kernel.yama.ptrace_scope`.
    pub ptrace_scope: Option<i32>,
    /// tracefs was reached; whether it has the event `sched_prepare_exec`.
    pub tracefs: Result<bool, Failure>,
    /// User instructions that a hardware counter counted.
    pub counter: Result<u64, Failure>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// A mount namespace was made, and a bind mount in it.
    pub mount_namespace: Result<(), Failure>,
    /// The same within a user namespace.
    pub user_namespace: Result<(), Failure>,
    /// `kernel.unprivileged_userns_clone`, `kernel.apparmor_restrict_unprivileged_userns` and
    /// `user.max_user_namespaces`: the first that forbids user namespaces, as the command that allows them.
    pub user_namespace_switch: Option<String>,
    /// `cachestat(2)` counted resident pages.
    pub cachestat: Result<(), Failure>,
}

impl Findings {
    /// Tries everything.
    pub fn gather(bpf: &dyn Fn() -> Result<(), String>) -> Findings {
        Findings {
            root: rustix::process::geteuid().is_root(),
            bpf: bpf(),
            btf: readable("/sys/kernel/btf/vmlinux"),
            ptrace: probe::ptrace_stop().map_err(Failure::from),
            ptrace_scope: setting("kernel/yama/ptrace_scope"),
            tracefs: tracefs(),
            counter: probe::count_instructions().map_err(Failure::from),
            perf_event_paranoid: setting("kernel/perf_event_paranoid"),
            mount_namespace: probe::mount_namespace().map_err(Failure::from),
            user_namespace: probe::user_namespace().map_err(Failure::from),
            user_namespace_switch: user_namespace_switch(),
            cachestat: cachestat(),
        }
    }
}

fn readable(path: &str) -> Result<(), Failure> {
    Ok(rustix::fs::access(path, Access::READ_OK)?)
}

/// A number below `/proc/sys` (`sysctl(8)`).
fn setting(path: &str) -> Option<i32> {
    fs::read_to_string(Path::new("/proc/sys").join(path)).ok()?.trim().parse().ok()
}

fn user_namespace_switch() -> Option<String> {
    let switches = [
        ("kernel/unprivileged_userns_clone", 0, 1),
        ("kernel/apparmor_restrict_unprivileged_userns", 1, 0),
        ("user/max_user_namespaces", 0, 10_000),
    ];
    let (path, _, allowed) =
        switches.into_iter().find(|(path, forbidden, _)| setting(path) == Some(*forbidden))?;
    Some(format!("sudo sysctl {}={allowed}", path.replace('/', ".")))
}

/// The event is looked for in the mounted tracefs, or in a detached one of our own: the machine's mounts stay as
/// they are (`fsopen(2)`, `fsmount(2)`).
fn tracefs() -> Result<bool, Failure> {
    const EVENT: &str = "events/sched/sched_prepare_exec";
    let mounted = Path::new("/sys/kernel/tracing");
    if mounted.join("events").is_dir() {
        return Ok(mounted.join(EVENT).is_dir());
    }
    let detached = detached_tracefs()?;
    match rustix::fs::accessat(&detached, EVENT, Access::EXISTS, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn detached_tracefs() -> Result<OwnedFd, Failure> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// Asked of our own executable, which is resident: 0 pages would be no answer.
fn cachestat() -> Result<(), Failure> {
    let own = rustix::fs::open("/proc/self/exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    match probe::resident_pages(File::from(own))? {
        0 => Err(Failure { errno: None, text: "it sees no page of the running executable".to_owned() }),
        _ => Ok(()),
    }
}
