//! What this process may not do although the kernel can, as in containers, and the option that allows it.

use std::fs;
use std::sync::OnceLock;

/// The privileges of this process, as `/proc` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The capabilities that it has, one bit each (`capabilities(7)`).
    pub effective: u64,
    /// Those that any program here can have.
    pub bounding: u64,
    /// A seccomp filter decides about system calls.
    pub filtered: bool,
    /// It is in a user namespace, as in a rootless container. Its capabilities mean nothing outside.
    pub user_namespace: bool,
    /// The kernel's lockdown mode is `confidentiality`.
    pub lockdown: bool,
}

/// Why something is refused, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// One lower-case clause.
    pub cause: String,
    /// What the user can do, in one line.
    pub help: String,
}

static KEPT: OnceLock<Confinement> = OnceLock::new();

const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

fn hindrance(cause: impl Into<String>, help: impl Into<String>) -> Hindrance {
    Hindrance { cause: cause.into(), help: help.into() }
}

impl Confinement {
    /// That of this process, or what it was before [`Confinement::keep`]. What cannot be read counts as no confinement.
    pub fn examine() -> Confinement {
        KEPT.get().copied().unwrap_or_else(Confinement::read)
    }

    /// Remembers it, before this process enters a user namespace of its own. There it seems to have every capability.
    pub(crate) fn keep() {
        KEPT.get_or_init(Confinement::read);
    }

    fn read() -> Confinement {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (status, users) = (read("/proc/self/status"), read("/proc/self/uid_map"));
        Confinement::of(&status, &users, &read("/sys/kernel/security/lockdown"))
    }

    /// From the texts of `/proc/self/status`, `/proc/self/uid_map` and `/sys/kernel/security/lockdown`.
    fn of(status: &str, users: &str, lockdown: &str) -> Confinement {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let set = |name| field(name).and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or(u64::MAX);
        // every id of the machine, as outside of user namespaces (user_namespaces(7))
        let is_machine = users.split_whitespace().eq(["0", "0", "4294967295"]);
        Confinement {
            effective: set("CapEff:"),
            bounding: set("CapBnd:"),
            filtered: field("Seccomp:") == Some("2"),
            user_namespace: !users.is_empty() && !is_machine,
            lockdown: lockdown.contains("[confidentiality]"),
        }
    }

    /// Why bpf(2) is refused.
    pub fn of_bpf(&self) -> Hindrance {
        if self.user_namespace {
            hindrance(
                "a rootless container (a user namespace) cannot have CAP_BPF and CAP_PERFMON of the host, which it needs",
                "run firstbyte on the host, or in a rootful container started with --cap-add BPF --cap-add PERFMON",
            )
        } else if !allows_bpf(self.bounding) {
            self.of_bpf_in_container()
        } else if !allows_bpf(self.effective) {
            hindrance("it needs root or CAP_BPF and CAP_PERFMON", self.become_root())
        } else if self.filtered {
            hindrance(
                "a seccomp filter forbids bpf(2)",
                "start the container with --security-opt seccomp=unconfined, or with a profile that allows bpf and perf_event_open",
            )
        } else if self.lockdown {
            hindrance("the kernel's lockdown mode forbids it", "boot without lockdown=confidentiality")
        } else {
            hindrance(
                "the kernel does not allow bpf(2), even with CAP_BPF and CAP_PERFMON",
                "firstbyte doctor",
            )
        }
    }

    /// Few capabilities for anyone: this is a container.
    fn become_root(&self) -> String {
        if self.of_mount().is_some() {
            "run as the container's root, for example with --user 0".to_owned()
        } else {
            "run as root, or let a group of users trace (mode 0750): `firstbyte doctor` shows the command"
                .to_owned()
        }
    }

    /// With these capabilities, Docker's usual filter allows bpf(2), but that of older Podmans does not.
    fn of_bpf_in_container(&self) -> Hindrance {
        let start = "start the container with --cap-add BPF --cap-add PERFMON, and run as its root";
        let or = if self.filtered {
            "; if bpf(2) is still forbidden, add --security-opt seccomp=unconfined"
        } else {
            ""
        };
        hindrance("it needs CAP_BPF and CAP_PERFMON, which this container lacks", format!("{start}{or}"))
    }

    /// Why `perf_event_open(2)` is refused, if `kernel.perf_event_paranoid` is `paranoid`.
    pub fn of_perf(&self, paranoid: Option<i32>) -> Option<Hindrance> {
        let by_setting = || {
            let level = paranoid.filter(|level| *level > 2)?;
            let cause = format!("kernel.perf_event_paranoid is {level}");
            Some(hindrance(cause, "sudo sysctl kernel.perf_event_paranoid=2"))
        };
        self.of_filter("perf_event_open(2)", "PERFMON").or_else(by_setting)
    }

    /// Why `ptrace(2)` of a child is refused, apart from `kernel.yama.ptrace_scope`.
    pub fn of_ptrace(&self) -> Option<Hindrance> {
        self.of_filter("ptrace(2)", "SYS_PTRACE")
    }

    /// Why `mount(2)` is refused, also in a new mount namespace.
    pub fn of_mount(&self) -> Option<Hindrance> {
        let lacks = self.bounding >> SYS_ADMIN & 1 == 0;
        lacks.then(|| {
            hindrance(
                "it needs CAP_SYS_ADMIN, which this container lacks",
                "start the container with --cap-add SYS_ADMIN --security-opt apparmor=unconfined",
            )
        })
    }

    /// The usual filters allow this call to those who have this capability.
    fn of_filter(&self, call: &str, capability: &str) -> Option<Hindrance> {
        self.filtered.then(|| {
            hindrance(
                format!("a seccomp filter forbids {call}"),
                format!("start the container with --cap-add {capability}, or with --security-opt seccomp=unconfined"),
            )
        })
    }
}

/// The command that gives the running executable the capabilities that the bpf backend needs (`capabilities(7)`), for a
/// group of users, as Wireshark does for its `dumpcap`. A new group takes the capabilities away, so they come last.
pub fn grant() -> String {
    let executable = std::env::current_exe().ok();
    let path = executable.as_ref().map_or("firstbyte".into(), |path| path.to_string_lossy());
    let path = shell_words::quote(&path);
    format!(
        "sudo groupadd -f firstbyte && sudo chgrp firstbyte {path} && sudo chmod 0750 {path} && sudo setcap cap_bpf,cap_perfmon=ep {path}"
    )
}

/// Why `perf_event_open(2)` was refused to this process.
pub fn perf_refused() -> Hindrance {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    let paranoid = paranoid.and_then(|level| level.trim().parse().ok());
    Confinement::examine().of_perf(paranoid).unwrap_or_else(|| {
        hindrance("perf_event_open(2) is refused", "run as root, or see `firstbyte doctor`")
    })
}

/// `CAP_SYS_ADMIN` includes both.
fn allows_bpf(set: u64) -> bool {
    let has = |capability: u32| set >> capability & 1 == 1;
    has(SYS_ADMIN) || has(BPF) && has(PERFMON)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "         0          0 4294967295\n";
    const ALL: u64 = 0x1ff_ffff_ffff;
    /// What Docker and Podman give a container.
    const USUAL: u64 = 0xa804_25fb;

    fn having(effective: u64, filtered: bool) -> Confinement {
        Confinement { effective, bounding: effective, filtered, ..Confinement::default() }
    }

    #[test]
    fn the_privileges_are_those_of_the_files() {
        let status = "Name:\tx\nCapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        let container =
            Confinement::of(status, "0 1000 1\n1 100000 65536\n", "none [integrity] confidentiality\n");
        let expected =
            Confinement { bounding: USUAL, filtered: true, user_namespace: true, ..Confinement::default() };
        assert_eq!(container, expected);
        let machine = Confinement::of("Seccomp:\t0\n", MACHINE, "none integrity [confidentiality]\n");
        assert!(!machine.filtered && !machine.user_namespace && machine.lockdown);
        assert_eq!(machine.effective, u64::MAX, "what cannot be read is no confinement");
    }

    #[test]
    fn each_cause_names_the_option_that_helps() {
        let capable = USUAL | 1 << BPF | 1 << PERFMON;
        let rootless = Confinement { user_namespace: true, ..having(ALL, true) };
        let user = Confinement { effective: 0, ..having(ALL, false) };
        let user_inside = Confinement { effective: 0, ..having(capable, true) };
        let locked = Confinement { lockdown: true, ..having(ALL, false) };
        let cases = [
            (
                having(USUAL, true),
                "this container lacks",
                "--cap-add BPF --cap-add PERFMON, and run as its root; if",
            ),
            (
                having(USUAL, false),
                "this container lacks",
                "--cap-add BPF --cap-add PERFMON, and run as its root",
            ),
            (having(capable, true), "a seccomp filter forbids bpf(2)", "--security-opt seccomp=unconfined"),
            (having(1 << SYS_ADMIN, true), "a seccomp filter", "--security-opt seccomp=unconfined"),
            (rootless, "a rootless container", "rootful container started with --cap-add BPF"),
            (user, "it needs root or CAP_BPF and CAP_PERFMON", "a group of users trace (mode 0750)"),
            (user_inside, "it needs root or CAP_BPF and CAP_PERFMON", "the container's root"),
            (locked, "lockdown", "boot without"),
            (having(ALL, false), "does not allow bpf(2)", "firstbyte doctor"),
        ];
        for (confinement, cause, help) in cases {
            let found = confinement.of_bpf();
            assert!(found.cause.contains(cause) && found.help.contains(help), "{confinement:?}: {found:?}");
            assert!(!format!("{}{}", found.cause, found.help).contains('\n'));
        }
    }

    #[test]
    fn a_filter_comes_before_the_setting() {
        let help = |filtered, paranoid| having(USUAL, filtered).of_perf(paranoid).map(|found| found.help);
        assert!(help(true, Some(4)).unwrap().contains("--cap-add PERFMON"));
        assert!(help(false, Some(4)).unwrap().contains("sysctl kernel.perf_event_paranoid=2"));
        assert_eq!(help(false, Some(2)), None);
        assert_eq!(help(false, None), None);
    }

    #[test]
    fn a_container_may_ptrace_and_mount_with_an_option() {
        assert!(having(USUAL, true).of_ptrace().unwrap().help.contains("--cap-add SYS_PTRACE"));
        assert!(having(USUAL, true).of_mount().unwrap().help.contains("--cap-add SYS_ADMIN"));
        assert_eq!((having(ALL, false).of_ptrace(), having(ALL, true).of_mount()), (None, None));
    }
}
