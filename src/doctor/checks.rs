//! Judges findings: pure, so that every kind of machine can be tested on any.

use super::findings::{Failure, Findings};
use firstbyte_measure::machine::Machine;
use firstbyte_measure::tracer::probe::grant;
use serde::Serialize;

/// Whether something can be done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Status {
    /// Fully.
    #[serde(rename = "works")]
    Works,
    /// With less than it could give; `why` says what is lost.
    #[serde(rename = "partly")]
    Partly,
    /// Not at all.
    #[serde(rename = "does not work")]
    DoesNotWork,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The backends and what they stand on.
    Tracing,
    /// Hardware counters.
    Counters,
    /// Cold runs.
    PageCache,
    /// What disturbs measuring.
    Machine,
    /// The tools of the corpus.
    Corpus,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is about.
    pub group: Group,
    /// What was tried.
    pub name: String,
    /// Whether it can be done.
    pub status: Status,
    /// What was seen.
    pub detail: String,
    /// What is lost, and what it is that stands in the way.
    pub why: Option<String>,
    /// The command that mends it.
    pub mend: Option<String>,
}

impl Check {
    /// Something that works.
    pub(super) fn works(group: Group, name: &str, detail: impl Into<String>) -> Check {
        let (name, detail) = (name.to_owned(), detail.into());
        Check { group, name, status: Status::Works, detail, why: None, mend: None }
    }

    /// With what stands in the way.
    pub(super) fn hindered(self, status: Status, why: impl Into<String>, mend: Option<String>) -> Check {
        Check { status, why: Some(why.into()), mend, ..self }
    }
}

/// Every check but those of the corpus.
pub fn judge(findings: &Findings, machine: &Machine) -> Vec<Check> {
    let mut checks = vec![
        bpf(findings),
        btf(findings),
        ptrace(findings),
        tracefs(findings),
        counter(findings),
        mount_namespace(findings),
        cachestat(findings),
    ];
    checks.extend(
        [governor(machine), virtualisation(machine), cores(machine), load(machine)].into_iter().flatten(),
    );
    checks
}

fn bpf(findings: &Findings) -> Check {
    let check = |detail: &str| Check::works(Group::Tracing, "bpf backend", detail);
    match &findings.bpf {
        Ok(()) => check("a program was loaded and attached"),
        Err(error) => {
            let (why, help) = error.split_once("\nhelp: ").unzip();
            let why = why.unwrap_or(error);
            let mend = (!findings.root).then(|| help.map_or_else(grant, str::to_owned));
            let cost = "phases come from the ptrace backend instead, which slows the program";
            check("not available").hindered(Status::DoesNotWork, format!("{}; {cost}", one_line(why)), mend)
        }
    }
}

/// The kernel's verifier tells a story; its beginning will do.
fn one_line(story: &str) -> String {
    const MOST: usize = 200;
    story.lines().map(str::trim).collect::<Vec<_>>().join(" ").chars().take(MOST).collect()
}

fn btf(findings: &Findings) -> Check {
    let check = |detail: &str| Check::works(Group::Tracing, "kernel BTF", detail);
    match &findings.btf {
        Ok(()) => check("the kernel's type information: /sys/kernel/btf/vmlinux"),
        Err(failure) => check("not readable").hindered(
            Status::DoesNotWork,
            format!(
                "/sys/kernel/btf/vmlinux: {}; the bpf backend needs a kernel with CONFIG_DEBUG_INFO_BTF",
                failure.text
            ),
            None,
        ),
    }
}

fn ptrace(findings: &Findings) -> Check {
    let check = |detail: &str| Check::works(Group::Tracing, "ptrace backend", detail);
    let Err(failure) = &findings.ptrace else { return check("a child was stopped and asked") };
    let cost = "without bpf, only first byte and total can be measured";
    let mend = match findings.ptrace_scope {
        Some(scope @ 1..) if failure.is_denied() && scope < 3 => {
            Some("sudo sysctl kernel.yama.ptrace_scope=0".to_owned())
        }
        _ => None,
    };
    let cause = match findings.ptrace_scope {
        Some(3) => "kernel.yama.ptrace_scope is 3, which lasts until the next boot".to_owned(),
        _ if failure.is_denied() => {
            format!("{}: a container may forbid it (CAP_SYS_PTRACE, seccomp)", failure.text)
        }
        _ => failure.text.clone(),
    };
    check("no child could be stopped").hindered(Status::DoesNotWork, format!("{cause}; {cost}"), mend)
}

fn tracefs(findings: &Findings) -> Check {
    let check = |detail: &str| Check::works(Group::Tracing, "sched_prepare_exec", detail);
    match &findings.tracefs {
        Ok(true) => check("tracefs has the event"),
        Ok(false) => check("no such event").hindered(
            Status::Partly,
            "it exists since Linux 6.10; startup is not divided at the point of no return",
            None,
        ),
        Err(failure) => {
            let mend = (failure.is_denied() && !findings.root).then(|| "sudo firstbyte doctor".to_owned());
            let why = format!("tracefs: {}; startup is not divided at the point of no return", failure.text);
            check("unknown").hindered(Status::Partly, why, mend)
        }
    }
}

fn counter(findings: &Findings) -> Check {
    let check = |detail: String| Check::works(Group::Counters, "hardware counters", detail);
    let lost = "no instruction and cycle counts";
    match &findings.counter {
        Ok(0) => check("a counter opens, but counts nothing".to_owned()).hindered(
            Status::DoesNotWork,
            format!("the hypervisor does not pass the processor's counters on; {lost}"),
            None,
        ),
        Ok(_) => check("user instructions are counted".to_owned()),
        Err(failure) => {
            let (cause, mend) = no_counter(failure, findings.perf_event_paranoid);
            check("no counter opens".to_owned()).hindered(
                Status::DoesNotWork,
                format!("{cause}; {lost}"),
                mend,
            )
        }
    }
}

/// `perf_event_open(2)`, ERRORS: ENOENT is an event that this machine has not, EACCES one that it forbids us.
fn no_counter(failure: &Failure, paranoid: Option<i32>) -> (String, Option<String>) {
    match (failure.errno, paranoid) {
        (Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV), _) => {
            ("the kernel sees no performance counters: usual in virtual machines".to_owned(), None)
        }
        (_, Some(level @ 3..)) if failure.is_denied() => (
            format!("kernel.perf_event_paranoid is {level}"),
            Some("sudo sysctl kernel.perf_event_paranoid=2".to_owned()),
        ),
        _ => (failure.text.clone(), None),
    }
}

fn mount_namespace(findings: &Findings) -> Check {
    let check = |detail: &str| Check::works(Group::PageCache, "cold page cache", detail);
    let lost = "`--cache cold` cannot put private copies over the files";
    match (&findings.mount_namespace, &findings.user_namespace) {
        (Ok(()), _) => check("a bind mount in a namespace of its own"),
        (Err(_), Ok(())) => check("a bind mount in a user namespace of its own"),
        (Err(failure), Err(unprivileged)) => {
            let why =
                format!("{} as we are, {} in a user namespace; {lost}", failure.text, unprivileged.text);
            let mend = findings.user_namespace_switch.clone().or_else(|| by_root(findings));
            check("no mount namespace").hindered(Status::DoesNotWork, why, mend)
        }
    }
}

fn by_root(findings: &Findings) -> Option<String> {
    (!findings.root).then(|| "run firstbyte as root: sudo firstbyte …".to_owned())
}

fn cachestat(findings: &Findings) -> Check {
    let check = |detail: &str| Check::works(Group::PageCache, "cachestat", detail);
    match &findings.cachestat {
        Ok(()) => check("resident pages are counted"),
        Err(failure) if failure.errno == Some(libc::ENOSYS) => check("no such system call").hindered(
            Status::Partly,
            "it exists since Linux 6.5; mincore(2) proves that a file is cold instead",
            None,
        ),
        Err(failure) => check("refused").hindered(
            Status::Partly,
            format!("{}; mincore(2) proves that a file is cold instead", failure.text),
            None,
        ),
    }
}

fn governor(machine: &Machine) -> Option<Check> {
    let governor = machine.governor.as_ref()?;
    let check = Check::works(Group::Machine, "frequency governor", governor.clone());
    if governor == "performance" {
        return Some(check);
    }
    Some(check.hindered(
        Status::Partly,
        "the clock frequency follows the load, so that times vary",
        Some(
            "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor".to_owned(),
        ),
    ))
}

fn virtualisation(machine: &Machine) -> Option<Check> {
    let kind = machine.virtualisation.as_ref()?;
    let check = Check::works(Group::Machine, "virtualisation", kind.clone());
    if kind == "none" {
        return Some(check);
    }
    let why = "a guest: some instructions trap (CPUID), and other guests take time that is not seen here";
    Some(check.hindered(Status::Partly, why, None))
}

fn cores(machine: &Machine) -> Option<Check> {
    let cores = machine.cores?;
    let check = Check::works(Group::Machine, "processors", cores.to_string());
    if cores > 1 {
        return Some(check);
    }
    Some(check.hindered(Status::Partly, "the tracer and the traced program share one processor", None))
}

fn load(machine: &Machine) -> Option<Check> {
    /// A machine that does nothing else is below it; one busy process in ten minutes is above.
    const QUIET: f64 = 0.5;
    let [one, five, fifteen] = machine.load_average?;
    let check = Check::works(Group::Machine, "load average", format!("{one:.2}, {five:.2}, {fifteen:.2}"));
    if one < QUIET {
        return Some(check);
    }
    let why = "other processes run and disturb the measuring: `ps -eo pid,pcpu,comm --sort=-pcpu` names them";
    Some(check.hindered(Status::Partly, why, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(errno: i32) -> Failure {
        Failure { errno: Some(errno), text: "refused".to_owned() }
    }

    /// A machine where everything works.
    fn able() -> Findings {
        Findings {
            root: false,
            bpf: Ok(()),
            btf: Ok(()),
            ptrace: Ok(()),
            ptrace_scope: Some(0),
            tracefs: Ok(true),
            counter: Ok(1234),
            perf_event_paranoid: Some(2),
            mount_namespace: Ok(()),
            user_namespace: Ok(()),
            user_namespace_switch: None,
            cachestat: Ok(()),
        }
    }

    fn judged(findings: &Findings, name: &str) -> Check {
        judge(findings, &Machine::default()).into_iter().find(|check| check.name == name).unwrap()
    }

    #[test]
    fn an_able_machine_needs_no_mending() {
        for check in judge(&able(), &Machine::default()) {
            assert_eq!((check.status, &check.why, &check.mend), (Status::Works, &None, &None), "{check:?}");
        }
    }

    #[test]
    fn what_does_not_work_always_says_why() {
        let unable = Findings {
            bpf: Err("operation not permitted".to_owned()),
            btf: Err(failure(libc::ENOENT)),
            ptrace: Err(failure(libc::EPERM)),
            tracefs: Err(failure(libc::EPERM)),
            counter: Err(failure(libc::ENOENT)),
            mount_namespace: Err(failure(libc::EPERM)),
            user_namespace: Err(failure(libc::EPERM)),
            cachestat: Err(failure(libc::ENOSYS)),
            ..able()
        };
        for check in judge(&unable, &Machine::default()) {
            assert!(check.status != Status::Works && check.why.is_some(), "{check:?}");
        }
    }

    #[test]
    fn without_privilege_bpf_is_mended_by_capabilities_and_as_root_not_at_all() {
        let refused = Findings { bpf: Err("operation not permitted".to_owned()), ..able() };
        assert!(judged(&refused, "bpf backend").mend.unwrap().contains("setcap cap_bpf,cap_perfmon"));
        let root = Findings { root: true, ..refused };
        assert_eq!(judged(&root, "bpf backend").mend, None);
    }

    #[test]
    fn the_backends_own_help_is_the_mend_and_its_story_is_cut_to_a_line() {
        let story = format!("refused:\n  0: (b7) r0 = 0\n{}\nhelp: sudo setcap x", "x".repeat(1000));
        let check = judged(&Findings { bpf: Err(story), ..able() }, "bpf backend");
        assert_eq!(check.mend.as_deref(), Some("sudo setcap x"));
        let why = check.why.unwrap();
        assert!(
            why.starts_with("refused: 0: (b7) r0 = 0 xxx") && why.len() < 300 && !why.contains('\n'),
            "{why}"
        );
    }

    #[test]
    fn ptrace_that_yama_forbids_is_mended_by_its_switch_until_that_is_locked() {
        let forbidden = |scope| {
            judged(
                &Findings { ptrace: Err(failure(libc::EPERM)), ptrace_scope: scope, ..able() },
                "ptrace backend",
            )
        };
        assert_eq!(forbidden(Some(2)).mend.as_deref(), Some("sudo sysctl kernel.yama.ptrace_scope=0"));
        assert_eq!(forbidden(Some(3)).mend, None);
        assert!(forbidden(Some(3)).why.unwrap().contains("until the next boot"));
        assert!(forbidden(None).why.unwrap().contains("a container may forbid it"));
    }

    #[test]
    fn absent_forbidden_and_silent_counters_are_three_things() {
        let counted = |counter, paranoid| {
            judged(&Findings { counter, perf_event_paranoid: paranoid, ..able() }, "hardware counters")
        };
        assert!(counted(Err(failure(libc::ENOENT)), Some(2)).why.unwrap().contains("virtual machines"));
        let forbidden = counted(Err(failure(libc::EACCES)), Some(4));
        assert_eq!(forbidden.mend.as_deref(), Some("sudo sysctl kernel.perf_event_paranoid=2"));
        assert!(counted(Ok(0), Some(2)).detail.contains("counts nothing"));
    }

    #[test]
    fn a_user_namespace_does_where_a_plain_one_is_refused() {
        let half = Findings { mount_namespace: Err(failure(libc::EPERM)), ..able() };
        let name = "cold page cache";
        assert_eq!(judged(&half, name).status, Status::Works);
        let switch = Some("sudo sysctl kernel.unprivileged_userns_clone=1".to_owned());
        let none = Findings {
            user_namespace: Err(failure(libc::EPERM)),
            user_namespace_switch: switch.clone(),
            ..half
        };
        assert_eq!(judged(&none, name).mend, switch);
    }

    #[test]
    fn a_restless_machine_is_told_so() {
        let machine = Machine {
            governor: Some("powersave".to_owned()),
            virtualisation: Some("KVM".to_owned()),
            cores: Some(1),
            load_average: Some([3.0, 2.0, 1.0]),
            ..Machine::default()
        };
        let of_machine: Vec<Check> =
            judge(&able(), &machine).into_iter().filter(|check| check.group == Group::Machine).collect();
        assert_eq!(of_machine.len(), 4);
        assert!(of_machine.iter().all(|check| check.status == Status::Partly));
    }

    #[test]
    fn a_status_is_written_as_words() {
        let json = serde_json::to_string(&[Status::Works, Status::Partly, Status::DoesNotWork]).unwrap();
        assert_eq!(json, r#"["works","partly","does not work"]"#);
    }
}
