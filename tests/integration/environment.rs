//! The environment of the programs: whose it is, what changes it, and what documents say about it.

use crate::bench::firstbyte;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SHORT: [&str; 6] = ["--runs", "1", "--warmup", "0", "--no-counts", "--no-overhead"];

/// The document of a bench with these arguments, whose commands all have to succeed.
fn measured(folder: &Path, arguments: &[&str]) -> Value {
    let output = firstbyte(folder, &[&["bench", "--export-json", "-"], &SHORT[..], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_program_of_the_user_has_the_users_environment_with_the_changes_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    measured(folder.path(), &["sh -c 'test -n \"$FIRSTBYTE_CACHE\"'"]);
    measured(folder.path(), &["--env-remove", "FIRSTBYTE_CACHE", "sh -c 'test -z \"$FIRSTBYTE_CACHE\"'"]);
    measured(
        folder.path(),
        &["--env", "A='1 2'", "--env", "B=", "sh -c 'test \"$A\" = \"1 2\" && test -z \"${B-x}\"'"],
    );
    measured(
        folder.path(),
        &[
            "--clean-env",
            "sh -c 'test -z \"$FIRSTBYTE_CACHE\" && test -n \"$HOME\" && ! mkdir -p $HOME/.cache'",
        ],
    );
}

#[test]
fn parameters_are_replaced_in_variables_and_each_result_says_which_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let document = measured(
        folder.path(),
        &["-L", "n", "1,2", "--env", "GOMAXPROCS={n}", "sh -c 'test $GOMAXPROCS = {n}'"],
    );
    let set: Vec<&Value> =
        (0..2).map(|n| &document["results"][n]["plan"]["variables"]["GOMAXPROCS"]).collect();
    assert_eq!(set, ["1", "2"]);
}

#[test]
fn each_command_may_have_its_variables_and_its_hooks_have_them_too() {
    let folder = tempfile::tempdir().unwrap();
    let own = ["--env", "A=1 B='x y'", "--env", "A=2", "--prepare", "echo $A$B >> hooks"];
    let commands = ["sh -c 'test $A = 1 && test \"$B\" = \"x y\"'", "sh -c 'test $A = 2 && test -z \"$B\"'"];
    let document = measured(folder.path(), &[&own[..], &commands].concat());
    assert_eq!(document["results"][0]["environment"].as_object().unwrap().len(), 2);
    let hooks = fs::read_to_string(folder.path().join("hooks")).unwrap();
    let mut hooks: Vec<&str> = hooks.lines().collect();
    hooks.sort_unstable();
    assert_eq!(hooks, ["1x y", "2"]);

    let common = ["--env", "A=1 B=2"];
    measured(folder.path(), &[&common[..], &["sh -c 'test $A$B = 12'", "sh -c 'test $B$A = 21'"]].concat());
    let three = ["bench", "--env", "A=1", "--env", "B=2", "true", "true", "true"];
    let refused = firstbyte(folder.path(), &three);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("help: give it once for all, or once for each command, as in --env"), "{said}");
}

#[test]
fn a_document_records_the_variables_that_change_starts_and_hides_private_values() {
    let folder = tempfile::tempdir().unwrap();
    let document = measured(folder.path(), &["--clean-env", "true"]);
    assert_eq!(document["machine"]["environment_origin"], "clean");
    assert_eq!(document["machine"]["environment"]["LANG"], "C.UTF-8");

    let document = measured(folder.path(), &["--env-remove", "PYTHONUNBUFFERED", "true"]);
    assert_eq!(document["machine"]["environment_origin"], "inherited");
    assert!(document["machine"]["environment"]["PATH"].as_str().unwrap().starts_with("hash "));
    assert_eq!(document["machine"]["environment"].get("PYTHONUNBUFFERED"), None);
}

#[test]
fn a_comparison_says_that_the_environments_differ() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options) in [("old.json", &["true"][..]), ("new.json", &["--clean-env", "true"])] {
        let document = measured(folder.path(), options);
        fs::write(folder.path().join(name), document.to_string()).unwrap();
    }
    let output = firstbyte(folder.path(), &["compare", "old.json", "new.json"]);
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("environment_origin"), "{text}");
}

#[test]
fn a_difference_names_the_variables_that_differ_from_those_of_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let trace =
        ["trace", "--runs", "1", "--no-overhead", "--env", "GOGC=1", "--record", "old.rec", "--", "true"];
    assert!(firstbyte(folder.path(), &trace).status.success());
    let output = firstbyte(folder.path(), &["diff", "--runs", "1", "old.rec", "true"]);
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("The environments differ") && text.contains("GOGC"), "{text}");
}

#[test]
fn programs_of_the_corpus_get_a_clean_environment_unless_the_users_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let short = ["showdown", "--only", "floor-elf", "--runs", "1", "--no-counts", "--no-overhead", "--json"];
    for (option, origin) in [(None, "clean"), (Some("--inherit-env"), "inherited")] {
        let options: Vec<&str> = short.into_iter().chain(option).collect();
        let output = firstbyte(folder.path(), &options);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["machine"]["environment_origin"], origin);
    }
}

#[test]
fn an_assignment_without_a_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = firstbyte(folder.path(), &["bench", "--env", "A", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--env-remove NAME"));
}
