//! Whose processes may be observed.

use crate::confinement::Confinement;
use std::sync::OnceLock;

const SYS_ADMIN: libc::c_ulong = 21;
const PERFMON: libc::c_ulong = 38;
const BPF: libc::c_ulong = 39;

/// The caller, and whether only the caller's own processes may be observed.
///
/// Root may observe all processes. With ambient capabilities, an ordinary user may, too: an administrator gave them to that
/// service or shell. File capabilities (`setcap`) apply to every user who may execute our file, so they allow observing only
/// the caller's own processes. Executing such a file clears ambient capabilities (`capabilities(7)`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) restricted: bool,
    /// Our real user id.
    pub(super) user: u32,
    /// Those that we have ourselves, as a process that we create has until its exec.
    pub(super) capabilities: u64,
}

impl Owner {
    pub(super) fn of_caller() -> Owner {
        static CALLER: OnceLock<Owner> = OnceLock::new();
        *CALLER.get_or_init(|| {
            // SAFETY: has no arguments and no effects.
            let user = unsafe { libc::getuid() };
            let is_granted = is_ambient(SYS_ADMIN) || is_ambient(BPF) && is_ambient(PERFMON);
            let capabilities = Confinement::examine().effective;
            Owner { restricted: user != 0 && !is_granted, user, capabilities }
        })
    }
}

fn is_ambient(capability: libc::c_ulong) -> bool {
    // SAFETY: asks for a flag of our own process; see `PR_CAP_AMBIENT(2const)`.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1 }
}
