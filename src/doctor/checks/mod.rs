//! Turns the answers of the probes into checks. Pure, so that every kind of machine can be tested on any other.

mod disturbances;
mod page_cache;
mod tracing;

use super::probes::Probes;
use crate::document::doctor::Check;
use disturbances::{cores, governor, load, virtualisation};
use firstbyte_measure::machine::Machine;
use page_cache::{cachestat, mount_namespace};
use tracing::{bpf, btf, counter, ptrace, tracefs};

/// All checks except those of the corpus.
pub fn judge(probes: &Probes, machine: &Machine) -> Vec<Check> {
    let mut checks = vec![
        bpf(probes),
        btf(probes),
        ptrace(probes),
        tracefs(probes),
        counter(probes),
        mount_namespace(probes),
        cachestat(probes),
    ];
    checks.extend(
        [governor(machine), virtualisation(machine), cores(machine), load(machine)].into_iter().flatten(),
    );
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::probes::Refusal;
    use crate::document::doctor::{CheckGroup, Status};
    use firstbyte_measure::confinement::Confinement;

    fn refusal(errno: i32) -> Refusal {
        Refusal { errno: Some(errno), text: "refused".to_owned() }
    }

    fn all_rights() -> Confinement {
        Confinement { effective: u64::MAX, bounding: u64::MAX, ..Confinement::default() }
    }

    /// A machine on which everything works.
    fn capable() -> Probes {
        Probes {
            root: false,
            confinement: all_rights(),
            bpf: Ok(Vec::new()),
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

    fn judged(probes: &Probes, name: &str) -> Check {
        judge(probes, &Machine::default()).into_iter().find(|check| check.name == name).unwrap()
    }

    #[test]
    fn a_capable_machine_needs_no_fix() {
        for check in judge(&capable(), &Machine::default()) {
            assert_eq!((check.status, &check.why, &check.fix), (Status::Works, &None, &None), "{check:?}");
        }
    }

    #[test]
    fn every_failed_check_has_a_reason() {
        let unable = Probes {
            bpf: Err("operation not permitted".to_owned()),
            btf: Err(refusal(libc::ENOENT)),
            ptrace: Err(refusal(libc::EPERM)),
            tracefs: Err(refusal(libc::EPERM)),
            counter: Err(refusal(libc::ENOENT)),
            mount_namespace: Err(refusal(libc::EPERM)),
            user_namespace: Err(refusal(libc::EPERM)),
            cachestat: Err(refusal(libc::ENOSYS)),
            ..capable()
        };
        for check in judge(&unable, &Machine::default()) {
            assert!(check.status != Status::Works && check.why.is_some(), "{check:?}");
        }
    }

    #[test]
    fn without_privilege_bpf_is_fixed_by_capabilities_and_as_root_not_at_all() {
        let refused = Probes { bpf: Err("operation not permitted".to_owned()), ..capable() };
        let fix = judged(&refused, "bpf backend").fix.unwrap();
        let steps =
            ["groupadd -f firstbyte", "chgrp firstbyte", "chmod 0750", "setcap cap_bpf,cap_perfmon=ep"];
        let places = steps.map(|step| fix.find(step).unwrap_or_else(|| panic!("{step}: {fix}")));
        assert!(places.is_sorted(), "a new group takes capabilities away: {fix}");
        let root = Probes { root: true, ..refused };
        assert_eq!(judged(&root, "bpf backend").fix, None);
    }

    #[test]
    fn the_backends_help_is_the_fix_and_its_message_is_shortened_to_one_line() {
        let message = format!("refused:\n  0: (b7) r0 = 0\n{}\nhelp: sudo setcap x", "x".repeat(1000));
        let check = judged(&Probes { bpf: Err(message), ..capable() }, "bpf backend");
        assert_eq!(check.fix.as_deref(), Some("sudo setcap x"));
        let why = check.why.unwrap();
        assert!(
            why.starts_with("refused: 0: (b7) r0 = 0 xxx") && why.len() < 300 && !why.contains('\n'),
            "{why}"
        );
    }

    #[test]
    fn ptrace_forbidden_by_yama_is_fixed_by_its_switch_unless_that_is_locked() {
        let forbidden = |scope| {
            judged(
                &Probes { ptrace: Err(refusal(libc::EPERM)), ptrace_scope: scope, ..capable() },
                "ptrace backend",
            )
        };
        assert_eq!(forbidden(Some(2)).fix.as_deref(), Some("sudo sysctl kernel.yama.ptrace_scope=0"));
        assert_eq!(forbidden(Some(3)).fix, None);
        assert!(forbidden(Some(3)).why.unwrap().contains("until the next boot"));
        assert!(forbidden(None).why.unwrap().contains("a container may forbid it"));
    }

    /// What Docker gives a container by default: few capabilities, and a seccomp filter.
    #[test]
    fn in_a_container_the_fix_is_an_option_of_its_start() {
        let (few, denied) = (0xa804_25fb, || Err(refusal(libc::EPERM)));
        let confinement =
            Confinement { effective: few, bounding: few, filtered: true, ..Confinement::default() };
        let contained = Probes {
            root: true,
            confinement,
            bpf: Err(format!("refused\nhelp: {}", confinement.of_bpf().help)),
            ptrace: denied(),
            counter: Err(refusal(libc::EPERM)),
            mount_namespace: denied(),
            user_namespace: denied(),
            ..capable()
        };
        let cases = [
            ("bpf backend", "--cap-add BPF --cap-add PERFMON"),
            ("ptrace backend", "--cap-add SYS_PTRACE"),
            ("hardware counters", "--cap-add PERFMON"),
            ("cold page cache", "--cap-add SYS_ADMIN"),
        ];
        for (name, option) in cases {
            let fix = judged(&contained, name).fix.unwrap_or_default();
            assert!(fix.contains(option), "{name}: {fix}");
        }
    }

    #[test]
    fn root_may_read_tracefs_unless_it_is_root_of_a_container_only() {
        let fix = |user_namespace| {
            let confinement = Confinement { user_namespace, ..all_rights() };
            let tracefs = Err(refusal(libc::EACCES));
            judged(&Probes { root: false, confinement, tracefs, ..capable() }, "sched_prepare_exec").fix
        };
        assert_eq!(fix(false).as_deref(), Some("sudo firstbyte doctor"));
        assert_eq!(fix(true), None);
    }

    #[test]
    fn absent_forbidden_and_silent_counters_are_distinguished() {
        let counted = |counter, paranoid| {
            judged(&Probes { counter, perf_event_paranoid: paranoid, ..capable() }, "hardware counters")
        };
        assert!(counted(Err(refusal(libc::ENOENT)), Some(2)).why.unwrap().contains("virtual machines"));
        let forbidden = counted(Err(refusal(libc::EACCES)), Some(4));
        assert_eq!(forbidden.fix.as_deref(), Some("sudo sysctl kernel.perf_event_paranoid=2"));
        assert!(counted(Ok(0), Some(2)).detail.contains("counts nothing"));
    }

    #[test]
    fn a_user_namespace_suffices_if_a_plain_mount_namespace_is_refused() {
        let half = Probes { mount_namespace: Err(refusal(libc::EPERM)), ..capable() };
        let name = "cold page cache";
        assert_eq!(judged(&half, name).status, Status::Works);
        let switch = Some("sudo sysctl kernel.unprivileged_userns_clone=1".to_owned());
        let none = Probes {
            user_namespace: Err(refusal(libc::EPERM)),
            user_namespace_switch: switch.clone(),
            ..half
        };
        assert_eq!(judged(&none, name).fix, switch);
    }

    #[test]
    fn a_disturbed_machine_works_only_partly() {
        let machine = Machine {
            governor: Some("powersave".to_owned()),
            virtualisation: Some("KVM".to_owned()),
            cores: Some(1),
            load_average: Some([3.0, 2.0, 1.0]),
            ..Machine::default()
        };
        let of_machine: Vec<Check> = judge(&capable(), &machine)
            .into_iter()
            .filter(|check| check.group == CheckGroup::Machine)
            .collect();
        assert_eq!(of_machine.len(), 4);
        assert!(of_machine.iter().all(|check| check.status == Status::Partly));
    }
}
