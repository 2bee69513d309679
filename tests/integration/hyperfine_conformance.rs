//! The integration tests of hyperfine 2.0.0 whose behaviour firstbyte has, with the same arguments. The page
//! docs/from-hyperfine.md lists all of its tests, and why the others differ.

use crate::bench::{firstbyte, folder};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One invocation: its arguments, whether it succeeds, and what it prints, with single spaces between words.
type Invocation = (&'static [&'static str], bool, &'static [&'static str]);

/// The tests that consist of invocations, by hyperfine's names.
const CASES: [(&str, &[Invocation]); 27] = [
    ("runs_successfully", &[(&["--runs=2", "echo dummy benchmark"], true, &[])]),
    ("one_run_is_supported", &[(&["--runs=1", "echo dummy benchmark"], true, &[])]),
    (
        "environment_basic_usage",
        &[(
            &[
                "--shell=default",
                "--runs=1",
                "--show-output",
                "--command-name=env-test",
                "--env",
                "HYPERFINE_TEST=\"hello, world\"",
                "echo \"$HYPERFINE_TEST\"",
            ],
            true,
            &["hello, world"],
        )],
    ),
    (
        "environment_parameter_expansion",
        &[(
            &[
                "--shell=default",
                "--runs=1",
                "--show-output",
                "--command-name=env-test",
                "-P",
                "value",
                "1",
                "2",
                "--env",
                "HYPERFINE_TEST=hello-{value}",
                "echo \"$HYPERFINE_TEST\"",
            ],
            true,
            &["hello-1", "hello-2"],
        )],
    ),
    (
        "rejects_invalid_environment",
        &[(&["--env", "OMP_NUM_THREADS", "my_command"], false, &["OMP_NUM_THREADS"])],
    ),
    (
        "requires_explicit_shell_for_environment_assignments",
        &[(
            &["--runs=1", "SOME_ENV_VAR=$HOME my_command"],
            false,
            &["needs a shell for `SOME_ENV_VAR=$HOME`"],
        )],
    ),
    (
        "fails_with_zero_runs",
        &[
            (&["--runs", "0", "echo dummy benchmark"], false, &["invalid value '0' for '--runs <N>'"]),
            (
                &["--min-runs", "0", "echo dummy benchmark"],
                false,
                &["invalid value '0' for '--min-runs <N>'"],
            ),
            (
                &["--max-runs", "0", "echo dummy benchmark"],
                false,
                &["invalid value '0' for '--max-runs <N>'"],
            ),
        ],
    ),
    (
        "can_run_commands_without_a_shell",
        &[(
            &["--runs=1", "--show-output", "--shell=none", "echo 'hello world' argument2"],
            true,
            &["hello world argument2"],
        )],
    ),
    (
        "fails_with_wrong_number_of_command_name_arguments",
        &[(&["--command-name=a", "--command-name=b", "echo a"], false, &["2 names for 1 command"])],
    ),
    (
        "fails_with_wrong_number_of_prepare_options",
        &[
            (&["--runs=1", "--prepare=echo a", "--prepare=echo b", "echo a", "echo b"], true, &[]),
            (
                &["--runs=1", "--prepare=echo a", "--prepare=echo b", "echo a", "echo b", "echo c"],
                false,
                &["--prepare is given 2 times for 3 commands"],
            ),
        ],
    ),
    (
        "fails_with_wrong_number_of_conclude_options",
        &[
            (&["--runs=1", "--conclude=echo a", "--conclude=echo b", "echo a", "echo b"], true, &[]),
            (
                &["--runs=1", "--conclude=echo a", "--conclude=echo b", "echo a", "echo b", "echo c"],
                false,
                &["--conclude is given 2 times for 3 commands"],
            ),
        ],
    ),
    (
        "fails_with_duplicate_parameter_names",
        &[(
            &["--parameter-list", "x", "1,2,3", "--parameter-list", "x", "a,b,c", "echo test"],
            false,
            &["the parameter `x` is given twice"],
        )],
    ),
    (
        "requires_explicit_shell_for_shell_syntax",
        &[
            (&["rm -rf cache/ && ./my_command"], false, &["needs a shell for `&&`", "-S", "-N"]),
            (
                &[
                    "--show-output",
                    "--command-name=benchmark",
                    "--shell=default",
                    "--runs=1",
                    "echo before && echo after",
                ],
                true,
                &["before after"],
            ),
            (
                &[
                    "--show-output",
                    "--command-name=benchmark",
                    "--shell=none",
                    "--runs=1",
                    "echo before && echo after",
                ],
                true,
                &["before && echo after"],
            ),
        ],
    ),
    (
        "fails_for_unknown_command",
        &[(&["--shell=default", "--runs=1", MISSING], false, &[MISSING, "exit status 127"])],
    ),
    (
        "fails_for_unknown_command_without_shell",
        &[(&["--shell=none", "--runs=1", MISSING], false, &[MISSING])],
    ),
    (
        "fails_for_failing_command_without_shell",
        &[(
            &[
                "--shell=none",
                "--runs=1",
                "--command-name=named benchmark",
                "--parameter-list",
                "status",
                "0,1",
                "test {status} -eq 0",
            ],
            false,
            &["it ended with exit status 1 instead of exit status 0", "--ignore-failure"],
        )],
    ),
    (
        "fails_for_unknown_setup_command",
        &[(
            &["--shell=default", "--runs=1", "--setup=nonexisting-b5d9574198", "echo test"],
            false,
            &["of --setup failed"],
        )],
    ),
    (
        "fails_for_unknown_cleanup_command",
        &[(
            &["--shell=default", "--runs=1", "--cleanup=nonexisting-b5d9574198", "echo test"],
            false,
            &["the command of --cleanup"],
        )],
    ),
    (
        "fails_for_unknown_prepare_command",
        &[(
            &["--shell=default", "--prepare=nonexisting-b5d9574198", "echo test"],
            false,
            &["which runs before each run, failed: exit status 127"],
        )],
    ),
    (
        "fails_for_unknown_conclude_command",
        &[(
            &["--shell=default", "--conclude=nonexisting-b5d9574198", "echo test"],
            false,
            &["which runs after each run, failed: exit status 127"],
        )],
    ),
    (
        "can_run_failing_commands_with_ignore_failure_option",
        &[
            (&["false"], false, &["it ended with exit status 1"]),
            (&["--runs=1", "--ignore-failure", "false"], true, &[]),
        ],
    ),
    (
        "can_ignore_specific_exit_codes",
        &[
            (&["--shell=default", "--runs=1", "--ignore-failure=1", "exit 1"], true, &[]),
            (&["--shell=default", "--runs=1", "--ignore-failure=1", "exit 2"], false, &["exit status 2"]),
        ],
    ),
    (
        "can_ignore_multiple_exit_codes",
        &[
            (&["--shell=default", "--runs=1", "--ignore-failure=1,2,3", "exit 1"], true, &[]),
            (&["--shell=default", "--runs=1", "--ignore-failure=1,2,3", "exit 2"], true, &[]),
            (&["--shell=default", "--runs=1", "--ignore-failure=1,2,3", "exit 3"], true, &[]),
            (&["--shell=default", "--runs=1", "--ignore-failure=1,2,3", "exit 4"], false, &["exit status 4"]),
        ],
    ),
    (
        "ignore_failure_with_all_non_zero",
        &[(&["--shell=default", "--runs=1", "--ignore-failure=all-non-zero", "exit 5"], true, &[])],
    ),
    (
        "can_pass_input_to_command_from_a_file",
        &[(
            &["--runs=1", "--input=example_input_file.txt", "--show-output", "cat"],
            true,
            &["This text is part of a file"],
        )],
    ),
    (
        "fails_if_invalid_stdin_data_file_provided",
        &[(
            &["--runs=1", "--input=example_non_existent_file.txt", "--show-output", "cat"],
            false,
            &["example_non_existent_file.txt", "No such file"],
        )],
    ),
    (
        "rejects_negative_parameter_steps",
        &[
            (
                &["--parameter-scan", "n", "0", "1", "--parameter-step-size=-1", "echo {n}"],
                false,
                &["the step is not above 0"],
            ),
            (
                &["--parameter-scan", "n", "0", "1", "--parameter-step-size=-1.0", "echo {n}"],
                false,
                &["the step is not above 0"],
            ),
        ],
    ),
];

const MISSING: &str = "some-nonexisting-program-b5d9574198b7e4b12a71fa4747c0a577";

/// The tests that are functions below.
const FUNCTIONS: [&str; 8] = [
    "rejects_invalid_metric_before_export_or_setup",
    "preserves_input_order_with_parameterized_prepare",
    "intermediate_markdown_retains_completed_reference",
    "intermediate_results_are_not_exported_to_stdout",
    "exports_intermediate_results_to_file",
    "invalid_command_options_preserve_export_files",
    "markdown_export_preserves_backticks_and_pipes_in_command_names",
    "unused_parameters_are_shown_in_benchmark_name",
];

/// Whether it succeeded, and its output and errors with single spaces between words.
fn bench(folder: &Path, words: &[&str]) -> (bool, String) {
    let ran = firstbyte(folder, &[&["bench"], words].concat());
    let both = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&both).split_whitespace().collect::<Vec<_>>().join(" ");
    (ran.status.success(), said)
}

#[test]
fn invocations_end_as_in_hyperfine_and_say_why() {
    let folder = folder();
    fs::write(folder.path().join("example_input_file.txt"), "This text is part of a file\n").unwrap();
    for (test, invocations) in CASES {
        for (words, succeeds, clues) in invocations {
            let (succeeded, said) = bench(folder.path(), words);
            assert_eq!(succeeded, *succeeds, "{test}: {words:?}: {said}");
            for clue in *clues {
                assert!(said.contains(clue), "{test}: {words:?} does not say {clue:?}: {said}");
            }
        }
    }
}

#[test]
fn the_page_lists_exactly_these_tests_as_passing() {
    let page = include_str!("../../docs/from-hyperfine.md");
    let passed =
        page.split_once("<!-- passed -->").unwrap().1.split_once("<!-- end of passed -->").unwrap().0;
    let listed: BTreeSet<&str> = passed.split('`').skip(1).step_by(2).collect();
    let own = CASES.iter().map(|(test, _)| *test).chain(FUNCTIONS);
    assert_eq!(listed, own.collect::<BTreeSet<&str>>());
}

#[test]
fn rejects_invalid_metric_before_export_or_setup() {
    let folder = folder();
    fs::write(folder.path().join("results.csv"), "previous contents").unwrap();
    let words = ["--metrics=memory_peak_resident:ms", "-P", "secs", "2", "3", "--setup", "touch setup-ran"];
    let (succeeded, said) =
        bench(folder.path(), &[&words[..], &["--export-csv", "results.csv", "sleep {secs}"]].concat());
    assert!(!succeeded && said.contains("`ms` is not a unit of `memory_peak_resident`"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("results.csv")).unwrap(), "previous contents");
    assert!(!folder.path().join("setup-ran").exists());
}

#[test]
fn preserves_input_order_with_parameterized_prepare() {
    let folder = folder();
    let words = ["--style=basic", "--shell=none", "--runs=1", "-L", "delay", "0.02,0.04,0.06"];
    let exports = ["--export-csv", "results.csv", "--export-json", "results.json"];
    let (succeeded, said) =
        bench(folder.path(), &[&words[..], &["--prepare", "sleep {delay}"], &exports, &["echo a"]].concat());
    assert!(succeeded, "{said}");

    let csv = fs::read_to_string(folder.path().join("results.csv")).unwrap();
    assert!(csv.lines().count() == 4 && csv.contains("parameter_delay"), "{csv}");
    let json = fs::read(folder.path().join("results.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    for (place, delay) in ["0.02", "0.04", "0.06"].into_iter().enumerate() {
        let result = &json["results"][place];
        assert_eq!(result["parameters"]["delay"]["value"], delay);
        assert_eq!(result["name"], format!("echo a (delay = {delay})"));
    }
}

#[test]
fn intermediate_markdown_retains_completed_reference() {
    let folder = folder();
    let words = ["--style=none", "--shell=none", "--runs=1", "-L", "delay", "0.01,0.02,0.03"];
    let hooks = ["--prepare", "true", "--prepare", "false", "--prepare", "true"];
    let (succeeded, said) = bench(
        folder.path(),
        &[&words[..], &hooks, &["--export-markdown", "results.md", "sleep {delay}"]].concat(),
    );
    assert!(!succeeded && said.contains("sleep 0.02"), "{said}");
    let markdown = fs::read_to_string(folder.path().join("results.md")).unwrap();
    assert!(markdown.lines().any(|line| line.starts_with("| `sleep 0.01` |")), "{markdown}");
}

#[test]
fn intermediate_results_are_not_exported_to_stdout() {
    let words = ["bench", "--style=none", "--export-markdown", "-", "--runs=10", "true", "false", "-i"];
    let ran = firstbyte(folder().path(), &words);
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(stdout.lines().filter(|line| line.starts_with("| `")).count(), 2, "{stdout}");
    assert_eq!(stdout.lines().filter(|line| line.starts_with('|')).count(), 4, "{stdout}");
    assert!(stdout.ends_with("\n- `false`: every run failed (status 1)\n"), "{stdout}");
}

#[test]
fn exports_intermediate_results_to_file() {
    let folder = folder();
    let (succeeded, said) =
        bench(folder.path(), &["--runs=1", "--export-markdown", "results.md", "true", "false"]);
    assert!(!succeeded, "{said}");
    assert!(fs::read_to_string(folder.path().join("results.md")).unwrap().contains("true"));
}

#[test]
fn invalid_command_options_preserve_export_files() {
    for (option, values) in [
        ("--prepare", ["echo first", "echo second"]),
        ("--conclude", ["echo first", "echo second"]),
        ("--output", ["null", "pipe"]),
    ] {
        let folder = folder();
        fs::write(folder.path().join("previous.json"), "{}\n").unwrap();
        let exports = ["--runs=1", "--export-json", "previous.json", "--export-csv", "new.csv"];
        let twice = [option, values[0], option, values[1], "echo benchmark"];
        let (succeeded, said) = bench(folder.path(), &[&exports[..], &twice].concat());
        assert!(!succeeded && said.contains("give it once for all, or once for each command"), "{said}");
        assert_eq!(fs::read(folder.path().join("previous.json")).unwrap(), b"{}\n");
        assert!(!folder.path().join("new.csv").exists());
    }
}

#[test]
fn markdown_export_preserves_backticks_and_pipes_in_command_names() {
    let name = "--command-name=echo `uname` | cat";
    let (succeeded, said) =
        bench(folder().path(), &["--style=none", "--export-markdown=-", "--runs=1", name, "true"]);
    assert!(succeeded && said.contains("| ``echo `uname` \\| cat`` |"), "{said}");
}

#[test]
fn unused_parameters_are_shown_in_benchmark_name() {
    let (succeeded, said) =
        bench(folder().path(), &["--runs=2", "--parameter-list", "branch", "master,feature", "echo test"]);
    assert!(succeeded, "{said}");
    for name in ["echo test (branch = master)", "echo test (branch = feature)"] {
        assert!(said.contains(name), "{said}");
    }
}
