//! Why programs could not be loaded or attached, and which of the two objects a kernel accepts.

use super::bare_loader::loader;
use super::kernel_types::KernelTypes;
use super::namespace::Namespace;
use crate::confinement::{Confinement, Hindrance};
use crate::launch::LaunchError;
use aya::programs::{ProgramError, RawTracePoint};
use aya::{Btf, BtfError, Ebpf, EbpfError};
use miniz_oxide::inflate::decompress_to_vec;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Each BPF object is compiled twice. See `kernel.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// For Linux 5.12 and newer.
    Current,
    /// For older ones.
    Before512,
}

impl Object {
    pub(super) fn remark(self) -> Option<&'static str> {
        let old = self == Object::Before512;
        old.then_some("only through the ring buffer (no BPF atomics before 5.12)")
    }
}

/// The program that sees writes by `io_uring` end.
const URING: &str = "io_uring_complete";

/// A clause if the kernel has `io_uring`, but its tracepoints do not suit our programs, because they do not name the
/// request.
pub(super) fn without_uring(attached: &[&str]) -> Option<&'static str> {
    let unseen = !attached.contains(&URING) && has_uring();
    unseen.then_some(
        "no writes by io_uring before 5.19 (a first byte by it is too late with --output null or pty)",
    )
}

/// `io_uring_setup(2)` fails with EFAULT for a null pointer, and with ENOSYS or EPERM where `io_uring` cannot be used.
fn has_uring() -> bool {
    // SAFETY: without parameters the call fails before it creates anything (io_uring_setup(2)).
    unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, std::ptr::null::<libc::c_void>()) };
    !matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// The current object, or the one for old kernels if the verifier refuses it. Vendors port features to old versions, so
/// the verifier decides and not the version.
fn of_either<T>(mut load: impl FnMut(Object) -> Result<T, AttachError>) -> Result<T, AttachError> {
    match load(Object::Current) {
        Err(AttachError::Verifier { program, cause, log }) => load(Object::Before512).map_err(|second| {
            let log = format!("{log}\n{}", second.verifier_log().unwrap_or_default());
            AttachError::Refused { program, cause, log: Kept::keep(&log) }
        }),
        other => other,
    }
}

/// Loads the object that this kernel accepts, with a ring buffer of `ring` bytes. `compressed` are the bytes of an object as
/// `build.rs` writes them, and `prepared` takes its maps and loads its programs. They will wait for a tracee of our process-id namespace.
pub(super) fn loaded<T>(
    compressed: impl Fn(Object) -> &'static [u8],
    ring: u32,
    prepared: impl Fn(Loading<'_>, Ebpf) -> Result<T, AttachError>,
) -> Result<T, AttachError> {
    let namespace = Namespace::ours().ok_or(AttachError::NoProc)?;
    let types = KernelTypes::read().map_err(AttachError::of_type_information)?;
    of_either(|object| {
        let bytes = decompress_to_vec(compressed(object)).expect("the build compressed it");
        let btf = types.of_object(&bytes).map_err(AttachError::of_type_information)?;
        let programs = loader().btf(Some(&btf)).map_max_entries("EVENTS", ring).load(&bytes);
        prepared(
            Loading { object, types: &types, ring, namespace },
            programs.map_err(AttachError::of_object)?,
        )
    })
}

/// How an object is loaded.
#[derive(Clone, Copy)]
pub(super) struct Loading<'a> {
    pub(super) object: Object,
    types: &'a KernelTypes,
    /// The size of the ring buffer, in bytes.
    pub(super) ring: u32,
    pub(super) namespace: Namespace,
}

impl Loading<'_> {
    /// The functions and tracepoints of the kernel.
    pub(super) fn to_attach(self) -> Result<Btf, AttachError> {
        self.types.to_attach().map_err(AttachError::of_type_information)
    }
}

/// Takes a map out of a loaded object.
pub(super) fn taken(programs: &mut Ebpf, name: &'static str) -> Result<aya::maps::Map, AttachError> {
    programs
        .take_map(name)
        .ok_or_else(|| AttachError::Map { map: name, cause: "the object has no such map".to_owned() })
}

/// The program of this name, which is one for a raw tracepoint.
pub(super) fn raw_tracepoint<'p>(
    programs: &'p mut Ebpf,
    name: &'static str,
) -> Result<&'p mut RawTracePoint, AttachError> {
    let missing = || AttachError::Map { map: name, cause: "the object has no such program".to_owned() };
    programs.program_mut(name).ok_or_else(missing)?.try_into().map_err(|cause| refused(name, cause))
}

/// Why the programs could not be loaded or attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The kernel's type information is missing.
    #[error(
        "the kernel gives no type information: {0}\nhelp: boot a kernel built with CONFIG_DEBUG_INFO_BTF"
    )]
    Btf(BtfError),
    /// It cannot be known in which process-id namespace we are.
    #[error(
        "`/proc` is missing, so it is not known whose process ids these are\nhelp: mount -t proc proc /proc"
    )]
    NoProc,
    /// EPERM.
    #[error("{}\nhelp: {}", .0.cause, .0.help)]
    Rights(Hindrance),
    /// Descriptors or memory are missing.
    #[error(transparent)]
    Scarce(LaunchError),
    /// The object could not be loaded.
    #[error("the kernel refused the programs: {}\nhelp: firstbyte doctor", with_causes(.0))]
    Load(EbpfError),
    /// The verifier refused a program of the current object. The other object is then tried.
    #[error("the kernel's verifier refused the program `{program}`: {cause}")]
    Verifier {
        /// Which program.
        program: &'static str,
        /// The error of bpf(2).
        cause: io::Error,
        /// The verifier's log.
        log: String,
    },
    /// The verifier refused both objects.
    #[error(
        "the verifier of this kernel refused the program `{program}` ({cause}); {log}\nhelp: report that log, or use --backend ptrace"
    )]
    Refused {
        /// Which program of the current object.
        program: &'static str,
        /// The error of bpf(2).
        cause: io::Error,
        /// Where the verifier's log is.
        log: Kept,
    },
    /// A program could not be loaded or attached for another reason.
    #[error("the kernel refused the program `{program}`: {}\nhelp: firstbyte doctor", with_causes(.cause))]
    Program {
        /// Which program.
        program: &'static str,
        /// The kernel's answer.
        cause: ProgramError,
    },
    /// This kernel lacks what is needed, which is said in a clause.
    #[error("{0}\nhelp: uname -r shows the version of this kernel")]
    TooOld(&'static str),
    /// A map could not be used.
    #[error("the map `{map}` could not be used: {cause}\nhelp: firstbyte doctor")]
    Map {
        /// Which map.
        map: &'static str,
        /// Why.
        cause: String,
    },
}

impl AttachError {
    pub(super) fn of_object(cause: EbpfError) -> AttachError {
        AttachError::of_any(&cause).unwrap_or(AttachError::Load(cause))
    }

    /// A rootless container often has another `/sys`, without it, which is not the reason.
    fn of_type_information(cause: BtfError) -> AttachError {
        if let Some(scarce) = AttachError::of_scarcity(&cause) {
            return scarce;
        }
        if Confinement::examine().user_namespace { AttachError::denied() } else { AttachError::Btf(cause) }
    }

    /// For causes that can stop anything.
    fn of_any(error: &(dyn Error + 'static)) -> Option<AttachError> {
        AttachError::of_scarcity(error).or_else(|| is_denied(error).then(AttachError::denied))
    }

    fn of_scarcity(error: &(dyn Error + 'static)) -> Option<AttachError> {
        let scarce = [libc::EMFILE, libc::ENFILE, libc::ENOMEM];
        let errno = errnos(error).find(|errno| scarce.contains(errno))?;
        let what = if errno == libc::ENOMEM { "memory for the programs" } else { "a descriptor" };
        let cause = io::Error::from_raw_os_error(errno);
        Some(AttachError::Scarce(LaunchError::Resource { what, cause }))
    }

    fn denied() -> AttachError {
        AttachError::Rights(Confinement::examine().of_bpf())
    }

    fn verifier_log(&self) -> Option<&str> {
        match self {
            AttachError::Verifier { log, .. } => Some(log),
            _ => None,
        }
    }
}

/// How often a program is loaded that the kernel has not judged.
const ATTEMPTS: u32 = 10;

/// Loads a program. The kernel gives up without judging it if a signal arrives (EAGAIN, `do_check` in
/// kernel/bpf/verifier.c; libbpf tries again, too) or memory is short, and then it is loaded again.
pub(super) fn judged(load: impl FnMut() -> Result<(), ProgramError>) -> Result<(), ProgramError> {
    again(load, is_not_judged)
}

fn again<E>(mut load: impl FnMut() -> Result<(), E>, is_passing: impl Fn(&E) -> bool) -> Result<(), E> {
    let mut result = load();
    for _ in 1..ATTEMPTS {
        if !result.as_ref().is_err_and(&is_passing) {
            break;
        }
        crate::clock::pause(Duration::from_millis(1));
        result = load();
    }
    result
}

fn is_not_judged(error: &ProgramError) -> bool {
    matches!(error, ProgramError::LoadError { io_error, .. } if is_passing(io_error))
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR | libc::ENOMEM))
}

/// The error of a program that was not loaded or attached.
pub(super) fn refused(program: &'static str, cause: ProgramError) -> AttachError {
    if let Some(error) = AttachError::of_any(&cause) {
        return error;
    }
    match cause {
        cause if is_not_judged(&cause) => AttachError::Program { program, cause },
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = format!("{program}: {io_error}\n{verifier_log}\n");
            AttachError::Verifier { program, cause: io_error, log }
        }
        cause => AttachError::Program { program, cause },
    }
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source())
}

/// Seccomp filters deny with EPERM, and some with ENOSYS, although every kernel that has our programs' types has bpf(2).
fn is_denied(error: &(dyn Error + 'static)) -> bool {
    errnos(error).any(|errno| matches!(errno, libc::EPERM | libc::ENOSYS))
}

/// The kernel's answers among the causes.
fn errnos<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = i32> + 'e {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error())
}

/// An error and its causes, which its own message may leave out. For example, only the source of "failed to create map"
/// has the reason (EPERM, ENOMEM).
pub(super) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in causes(error).map(ToString::to_string) {
        if !text.contains(&cause) {
            let separator = if text.is_empty() { "" } else { ": " };
            let _ = write!(text, "{separator}{cause}");
        }
    }
    text
}

/// Where a log was saved. It has hundreds of lines, which would be useless on the screen.
#[derive(Debug)]
pub struct Kept(io::Result<PathBuf>);

impl Kept {
    /// Saves it in the folder of the user's cache, where it replaces an older one.
    fn keep(log: &str) -> Kept {
        let folder =
            firstbyte_cache::user_folder().ok_or_else(|| io::Error::other("there is no cache folder"));
        Kept(folder.and_then(|folder| {
            std::fs::create_dir_all(&folder)?;
            let path = folder.join("verifier.log");
            std::fs::write(&path, log)?;
            Ok(path)
        }))
    }
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Ok(path) => write!(f, "its log: {}", path.display()),
            Err(error) => write!(f, "its log could not be saved: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &'static str) -> AttachError {
        let cause = io::Error::from_raw_os_error(libc::EINVAL);
        AttachError::Verifier { program, cause, log: "0: R1=ctx\n".repeat(90) }
    }

    #[test]
    fn an_old_kernel_gets_the_other_object() {
        let load = |object| if object == Object::Current { Err(refusal("fork")) } else { Ok(object) };
        assert_eq!(of_either(load).unwrap(), Object::Before512);
    }

    #[test]
    fn a_lack_of_rights_is_not_tried_twice() {
        let load = |object| {
            assert_eq!(object, Object::Current);
            Err::<(), _>(AttachError::denied())
        };
        assert!(matches!(of_either(load), Err(AttachError::Rights(_))));
    }

    #[test]
    fn a_refusal_is_one_line_and_names_the_log() {
        let error = AttachError::Refused {
            program: "sys_exit",
            cause: io::Error::from_raw_os_error(libc::EINVAL),
            log: Kept(Ok(PathBuf::from("/cache/verifier.log"))),
        };
        let text = error.to_string();
        let (line, help) = text.split_once('\n').unwrap();
        assert!(line.contains("`sys_exit`") && line.ends_with("its log: /cache/verifier.log"), "{line}");
        assert!(help.starts_with("help: ") && !help.contains('\n'), "{help}");
    }

    #[test]
    fn missing_rights_are_found_behind_other_errors() {
        let denied = || io::Error::from_raw_os_error(libc::EPERM);
        let syscall = aya::sys::SyscallError { call: "bpf_map_create", io_error: denied() };
        let error = refused("sys_enter", ProgramError::SyscallError(syscall));
        assert!(matches!(error, AttachError::Rights(_)), "{error}");
    }

    #[test]
    fn a_lack_of_descriptors_or_memory_is_no_refusal() {
        let error = |errno| {
            let io_error = io::Error::from_raw_os_error(errno);
            let syscall = aya::sys::SyscallError { call: "bpf_prog_load", io_error };
            refused("sys_enter", ProgramError::SyscallError(syscall)).to_string()
        };
        assert!(error(libc::EMFILE).starts_with("cannot get a descriptor: Too many open files"));
        assert!(error(libc::ENOMEM).starts_with("cannot get memory for the programs: "));
        assert!(error(libc::EINVAL).starts_with("the kernel refused the program `sys_enter`: "));
    }

    #[test]
    fn a_program_that_the_kernel_has_not_judged_is_loaded_again() {
        let tried = |code, failures| {
            let mut tries = 0;
            let load = || {
                tries += 1;
                if tries <= failures { Err(io::Error::from_raw_os_error(code)) } else { Ok(()) }
            };
            let is_loaded = again(load, is_passing).is_ok();
            (tries, is_loaded)
        };
        assert_eq!(tried(libc::EAGAIN, 3), (4, true), "a signal arrived three times");
        assert_eq!(tried(libc::ENOMEM, 99), (ATTEMPTS, false));
        assert_eq!(tried(libc::EINVAL, 1), (1, false), "the verifier refuses it");
    }

    #[test]
    fn writes_by_io_uring_are_missing_only_where_the_kernel_has_it_and_does_not_tell_us() {
        assert_eq!(without_uring(&[URING]), None);
        assert_eq!(without_uring(&[]).is_some(), has_uring());
    }
}
