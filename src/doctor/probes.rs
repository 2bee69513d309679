//! Tries everything that tracing and measuring need.

use firstbyte_measure::confinement::Confinement;
use firstbyte_measure::page_cache;
use firstbyte_measure::tracer::probe;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The kernel's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error number, if there is one.
    pub errno: Option<i32>,
    /// One lower-case line.
    pub text: String,
}

impl Refusal {
    /// Whether privilege is missing, rather than support.
    pub fn is_denied(&self) -> bool {
        matches!(self.errno, Some(libc::EPERM | libc::EACCES))
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        let errno = error.raw_os_error();
        // The standard library appends the number in brackets.
        let text = error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase();
        Refusal { errno, text }
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(error: rustix::io::Errno) -> Refusal {
        Refusal::from(io::Error::from(error))
    }
}

/// The kernel's answers. `None` means that this machine does not have the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probes {
    pub root: bool,
    /// What it may not do although the kernel can.
    pub confinement: Confinement,
    /// Whether the BPF programs could be loaded and attached; how they observe differently from a current kernel's.
    pub bpf: Result<Vec<&'static str>, String>,
    /// Whether the kernel's type information can be read.
    pub btf: Result<(), Refusal>,
    /// Whether a child could be stopped.
    pub ptrace: Result<(), Refusal>,
    /// `kernel.yama.ptrace_scope`.
    pub ptrace_scope: Option<i32>,
    /// Whether tracefs has the event `sched_prepare_exec`.
    pub tracefs: Result<bool, Refusal>,
    /// The user instructions that a hardware counter counted.
    pub counter: Result<u64, Refusal>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// Whether a bind mount in a new mount namespace was possible.
    pub mount_namespace: Result<(), Refusal>,
    /// The same in a user namespace.
    pub user_namespace: Result<(), Refusal>,
    /// The command that allows user namespaces, if one of `kernel.unprivileged_userns_clone`,
    /// `kernel.apparmor_restrict_unprivileged_userns` and `user.max_user_namespaces` forbids them.
    pub user_namespace_switch: Option<String>,
    /// Whether `cachestat(2)` counts resident pages.
    pub cachestat: Result<(), Refusal>,
}

impl Probes {
    /// Tries everything.
    pub fn gather(bpf: &dyn Fn() -> Result<Vec<&'static str>, String>) -> Probes {
        Probes {
            root: rustix::process::geteuid().is_root(),
            confinement: Confinement::examine(),
            bpf: bpf(),
            btf: readable("/sys/kernel/btf/vmlinux"),
            ptrace: probe::ptrace_stop().map_err(Refusal::from),
            ptrace_scope: setting("kernel/yama/ptrace_scope"),
            tracefs: tracefs(),
            counter: probe::count_instructions().map_err(Refusal::from),
            perf_event_paranoid: setting("kernel/perf_event_paranoid"),
            mount_namespace: probe::mount_namespace().map_err(Refusal::from),
            user_namespace: probe::user_namespace().map_err(Refusal::from),
            user_namespace_switch: user_namespace_switch(),
            cachestat: cachestat(),
        }
    }
}

fn readable(path: &str) -> Result<(), Refusal> {
    Ok(rustix::fs::access(path, Access::READ_OK)?)
}

/// A number in `/proc/sys` (`sysctl(8)`).
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

/// Looks for the event in the mounted tracefs, or else in a detached one of our own, so that the machine's mounts do
/// not change (`fsopen(2)`, `fsmount(2)`).
fn tracefs() -> Result<bool, Refusal> {
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

fn detached_tracefs() -> Result<OwnedFd, Refusal> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// Asks about our own executable, which is resident, so that 0 pages would be wrong.
fn cachestat() -> Result<(), Refusal> {
    let executable = rustix::fs::open("/proc/self/exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    match page_cache::cachestat(executable)? {
        0 => Err(Refusal { errno: None, text: "it finds no page of the running executable".to_owned() }),
        _ => Ok(()),
    }
}
