//! The counting runs of `firstbyte bench`, which are traced, and programs that behave differently when they are traced.

use crate::bench::{exported, firstbyte, folder};
use crate::trace::compiled;
use serde_json::Value;

/// Exits with status 3 if it is traced, and prints a line otherwise.
const SHY: &str = "sh -c 'grep -q \"^TracerPid:.0$\" /proc/self/status || exit 3; echo hi'";

#[test]
fn a_wrong_counting_run_is_not_counted_and_reported() {
    let folder = folder();
    let alike = ["--backend", "pipe", "--runs", "2"];
    let (document, status) = exported(folder.path(), &[&alike[..], &[SHY, "echo hi"]].concat());
    let [shy, plain] = [&document["results"][0], &document["results"][1]];
    if plain["counts"]["syscalls"].is_null() {
        return crate::support::skipped("nothing can be counted here");
    }
    assert_eq!((status, &shy["counts"]["syscalls"]), (Some(0), &Value::Null), "{shy}");
    assert_eq!(
        shy["uncounted"],
        "it ended with exit status 3 instead of exit status 0; it was traced, and a program under ptrace gets no \
         rights from a set-user-ID bit, and cannot trace another program"
    );
    assert!(plain["uncounted"].is_null());
    let text = firstbyte(folder.path(), &[&["bench"], &alike[..], &[SHY]].concat()).stdout;
    let words = String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no counts: in a counting run, it ended with exit status 3"), "{words}");
}

#[test]
fn a_program_that_fails_only_when_it_is_traced_says_so() {
    let folder = folder();
    for (program, is_reported) in [(SHY, true), ("sh -c 'exit 3'", false)] {
        let (document, status) =
            exported(folder.path(), &["--backend", "ptrace", "--runs", "2", "--warmup=0", program]);
        assert_eq!(status, Some(3), "{document}");
        let reason = document["failed"][0]["reason"].as_str().unwrap();
        assert!(reason.starts_with("it ended with exit status 3 instead of exit status 0"), "{reason}");
        assert_eq!(reason.contains("when traced, but not when untraced: "), is_reported, "{reason}");
        assert_eq!(reason.contains("--backend pipe"), is_reported, "{reason}");
    }
}

#[test]
fn a_counting_run_that_is_wrong_once_is_repeated() {
    let once =
        "sh -c 'test -e seen || grep -q \"^TracerPid:.0$\" /proc/self/status || { : > seen; exit 3; }'";
    let (document, status) = exported(folder().path(), &["--backend", "pipe", "--runs", "2", once]);
    let result = &document["results"][0];
    if !result["uncounted"].is_null() {
        return crate::support::skipped("nothing can be counted here");
    }
    assert_eq!((status, result["counts"]["processes"].as_u64()), (Some(0), Some(1)), "{result}");
}

#[test]
fn counting_runs_end_with_their_time_and_say_which_option_gives_more() {
    let folder = folder();
    let words = ["--backend", "pipe", "--runs", "2", "--count-time", "1ms", "sleep 0.2"];
    let (document, status) = exported(folder.path(), &words);
    let result = &document["results"][0];
    assert_eq!((status, result["times"].as_array().unwrap().len()), (Some(0), 2), "{result}");
    assert_eq!(result["counts"]["syscalls"], Value::Null);
    let reason = result["uncounted"].as_str().unwrap();
    assert!(
        reason.starts_with("it had not ended after 1.00 ms") && reason.contains("--count-time"),
        "{reason}"
    );
}

/// 500,000 calls take more than the time with stops, and a tenth of it without. A machine that is faster counts them, too.
#[test]
fn many_calls_are_counted_without_stops() {
    let folder = folder();
    let source = "#include <sys/syscall.h>\n#include <unistd.h>\n\
                  int main(void) { for (int n = 0; n < 500000; n++) syscall(SYS_getppid); return 0; }\n";
    let Some(program) = compiled(folder.path(), source, &[]) else {
        return crate::support::skipped("no C compiler");
    };
    let words = ["--runs", "2", "--warmup", "0", "--count-time", "4s", program.to_str().unwrap()];
    let (document, status) = exported(folder.path(), &words);
    let result = &document["results"][0];
    if document["tool"]["backend"] != "bpf" {
        return crate::support::skipped("bpf does not work here");
    }
    assert_eq!((status, &result["uncounted"]), (Some(0), &Value::Null));
    assert!(
        (500_000..500_300).contains(&result["counts"]["syscalls"].as_u64().unwrap()),
        "{}",
        result["counts"]
    );
}
