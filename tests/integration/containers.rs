//! Containers: what firstbyte does with process ids of its own, and what it says where something is forbidden.

use crate::support::skipped;
use firstbyte_measure::tracer::bpf::{BpfPhases, DEFAULT_RING};
use serde_json::Value;
use std::process::{Command, Output};

/// Words that start a command as the first process of a process-id namespace of its own, `deep` namespaces below this one.
fn contained(deep: usize) -> Vec<&'static str> {
    ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"].repeat(deep)
}

/// The answer of the words; `None`, reported as skipped, if this machine allows no such namespace.
fn answer(words: &[&str]) -> Option<Output> {
    let output = Command::new(words[0]).args(&words[1..]).env("FIRSTBYTE_REQUIRE", "all").output();
    let output = output.map_err(|error| skipped(&format!("{}: {error}", words[0]))).ok()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("unshare failed") || stderr.contains("setpriv:") {
        skipped(&stderr);
        return None;
    }
    Some(output)
}

fn bpf_works() -> bool {
    let attached = BpfPhases::load(DEFAULT_RING).and_then(|mut tracer| tracer.attach());
    attached.map_err(|error| skipped(&format!("bpf does not work here: {error}"))).is_ok()
}

/// Runs these tests of this binary in namespaces of their own. There, too, no test may be skipped.
fn pass_inside(deep: usize, tests: &[&str]) {
    let own = std::env::current_exe().unwrap();
    let mut words = contained(deep);
    words.push(own.to_str().unwrap());
    words.extend(tests);
    if let Some(output) = bpf_works().then(|| answer(&words)).flatten() {
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert!(!stdout.contains(" 0 passed"), "{stdout}");
    }
}

#[test]
fn bpf_sees_every_tracee_by_the_ids_of_its_namespace() {
    pass_inside(1, &["bpf::every_tracee", "bpf::a_chain_of_execs", "bpf::two_hundred_threads"]);
}

#[test]
fn bpf_kills_what_a_program_leaves_running_by_the_ids_of_its_namespace() {
    pass_inside(1, &["bpf::after_lost_events", "bpf::a_program_that_stops_itself"]);
}

#[test]
fn bpf_sees_every_tracee_in_a_namespace_within_a_namespace() {
    pass_inside(2, &["bpf::every_tracee_is_seen_correctly_through_a_pipe"]);
}

#[test]
fn trace_has_the_ids_wakers_and_threads_of_its_namespace() {
    pass_inside(1, &["trace_threads::", "trace_files::long_paths"]);
}

/// Without its own `/proc`, as in a careless chroot: the ids in the recording are those of the namespace all the same.
#[test]
fn the_tracee_has_the_id_that_its_own_namespace_gives_it() {
    if !bpf_works() {
        return;
    }
    let own = env!("CARGO_BIN_EXE_firstbyte");
    let words =
        ["unshare", "--pid", "--fork", own, "trace", "--backend", "bpf", "--runs", "1", "--json", "--"];
    let Some(output) = answer(&[&words[..], &["sh", "-c", "sh -c :; true"]].concat()) else { return };
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let processes = document["results"][0]["processes"].as_array().unwrap().clone();
    let ids: Vec<_> = processes.iter().filter_map(|process| process["pid"].as_u64()).collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| (2..200).contains(id)), "{processes:?}");
}

/// What firstbyte says when it runs with these words before it, and bpf does not work.
fn refusal(before: &[&str]) -> Option<String> {
    let words = [before, &[env!("CARGO_BIN_EXE_firstbyte"), "bench", "--backend", "bpf", "true"]].concat();
    let output = answer(&words)?;
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn without_the_capabilities_the_options_of_the_container_are_named() {
    let Some(text) = refusal(&["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-all"])
    else {
        return;
    };
    assert!(text.contains("needs CAP_BPF and CAP_PERFMON, which this container lacks"), "{text}");
    assert!(text.contains("\nhelp: start the container with --cap-add BPF --cap-add PERFMON"), "{text}");
}

#[test]
fn in_a_user_namespace_a_rootful_container_is_advised() {
    let Some(text) = refusal(&["unshare", "--user", "--map-root-user"]) else { return };
    assert!(text.contains("a rootless container (a user namespace)"), "{text}");
    assert!(text.contains("rootful container started with --cap-add BPF --cap-add PERFMON"), "{text}");
}
