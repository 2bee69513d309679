//! The backends, and what they require.

use crate::doctor::probes::{Probes, Refusal};
use crate::document::doctor::{Check, CheckGroup, Status};
use firstbyte_measure::confinement::grant;

pub(super) fn bpf(probes: &Probes) -> Check {
    let check = |detail: &str| Check::works(CheckGroup::Tracing, "bpf backend", detail);
    match &probes.bpf {
        Ok(remarks) if remarks.is_empty() => check("its programs were loaded and attached"),
        Ok(remarks) => check(&format!("its programs were loaded and attached: {}", remarks.join(", "))),
        Err(error) => {
            let (why, help) = error.split_once("\nhelp: ").unzip();
            let why = why.unwrap_or(error);
            let by_rights = || (!probes.root).then(grant);
            let fix =
                help.filter(|help| !help.contains("firstbyte doctor")).map(str::to_owned).or_else(by_rights);
            let cost = "phases come from the ptrace backend instead, which slows the program";
            check("not available").hindered(Status::DoesNotWork, format!("{}; {cost}", one_line(why)), fix)
        }
    }
}

/// The beginning of a message as one line: the kernel's verifier prints many.
fn one_line(message: &str) -> String {
    const MAX_LINE_BYTES: usize = 200;
    message.lines().map(str::trim).collect::<Vec<_>>().join(" ").chars().take(MAX_LINE_BYTES).collect()
}

pub(super) fn btf(probes: &Probes) -> Check {
    let check = |detail: &str| Check::works(CheckGroup::Tracing, "kernel BTF", detail);
    match &probes.btf {
        Ok(()) => check("the kernel's type information: /sys/kernel/btf/vmlinux"),
        Err(refusal) => check("not readable").hindered(
            Status::DoesNotWork,
            format!(
                "/sys/kernel/btf/vmlinux: {}; the bpf backend needs a kernel with CONFIG_DEBUG_INFO_BTF",
                refusal.text
            ),
            None,
        ),
    }
}

pub(super) fn ptrace(probes: &Probes) -> Check {
    let check = |detail: &str| Check::works(CheckGroup::Tracing, "ptrace backend", detail);
    let Err(refusal) = &probes.ptrace else { return check("a child was stopped and examined") };
    let cost = "without bpf, only first byte and total can be measured";

    let fix = match probes.ptrace_scope {
        Some(scope @ 1..) if refusal.is_denied() && scope < 3 => {
            Some("sudo sysctl kernel.yama.ptrace_scope=0".to_owned())
        }
        _ => None,
    };
    let filter = probes.confinement.of_ptrace().filter(|_| refusal.is_denied() && fix.is_none());
    let cause = match (probes.ptrace_scope, &filter) {
        (Some(3), _) => "kernel.yama.ptrace_scope is 3, which lasts until the next boot".to_owned(),
        (_, Some(filter)) => format!("{}: {}", refusal.text, filter.cause),
        _ if refusal.is_denied() => {
            format!("{}: a container may forbid it (CAP_SYS_PTRACE, seccomp)", refusal.text)
        }
        _ => refusal.text.clone(),
    };
    let fix = fix.or(filter.filter(|_| probes.ptrace_scope != Some(3)).map(|filter| filter.help));
    check("no child could be stopped").hindered(Status::DoesNotWork, format!("{cause}; {cost}"), fix)
}

pub(super) fn tracefs(probes: &Probes) -> Check {
    let check = |detail: &str| Check::works(CheckGroup::Tracing, "sched_prepare_exec", detail);
    match &probes.tracefs {
        Ok(true) => check("tracefs has the event"),
        Ok(false) => check("no such event").hindered(
            Status::Partly,
            "it exists since Linux 6.10; startup is not divided at the point of no return",
            None,
        ),
        Err(refusal) => {
            // root of a user namespace may not read it either
            let root_may = !probes.root && !probes.confinement.user_namespace;
            let fix = (refusal.is_denied() && root_may).then(|| "sudo firstbyte doctor".to_owned());
            let why = format!("tracefs: {}; startup is not divided at the point of no return", refusal.text);
            check("unknown").hindered(Status::Partly, why, fix)
        }
    }
}

pub(super) fn counter(probes: &Probes) -> Check {
    let check = |detail: String| Check::works(CheckGroup::Counters, "hardware counters", detail);
    let lost = "no instruction and cycle counts";

    match &probes.counter {
        Ok(0) => check("a counter opens, but counts nothing".to_owned()).hindered(
            Status::DoesNotWork,
            format!("the hypervisor hides the processor's counters; {lost}"),
            None,
        ),
        Ok(_) => check("user instructions are counted".to_owned()),
        Err(refusal) => {
            let (cause, fix) = no_counter(refusal, probes);
            check("no counter opens".to_owned()).hindered(
                Status::DoesNotWork,
                format!("{cause}; {lost}"),
                fix,
            )
        }
    }
}

/// `perf_event_open(2)`, ERRORS: ENOENT means that this machine does not have the event, EACCES that it is forbidden.
fn no_counter(refusal: &Refusal, probes: &Probes) -> (String, Option<String>) {
    if matches!(refusal.errno, Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV)) {
        return ("the kernel finds no performance counters, as usual in virtual machines".to_owned(), None);
    }
    let denied =
        refusal.is_denied().then(|| probes.confinement.of_perf(probes.perf_event_paranoid)).flatten();
    denied.map_or_else(|| (refusal.text.clone(), None), |hindrance| (hindrance.cause, Some(hindrance.help)))
}
