use super::*;
use crate::cli::{Cli, CliCommand};
use clap::Parser;

fn plan(words: &[&str]) -> Result<Plan, String> {
    let cli = Cli::try_parse_from(["firstbyte", "bench"].iter().chain(words));
    match cli.map_err(|error| error.to_string())?.command {
        CliCommand::Bench(args) => args.plan(),
        other => panic!("{other:?}"),
    }
}

fn commands(words: &[&str]) -> Vec<Vec<String>> {
    plan(words).unwrap().benchmarks.into_iter().map(|benchmark| benchmark.words).collect()
}

#[test]
fn commands_are_split_as_a_shell_splits_words_and_no_shell_runs_them() {
    assert_eq!(commands(&["grep -i 'a b' \"c\"d"]), [["grep", "-i", "a b", "cd"]]);
    assert_eq!(commands(&["-N", "true"]), [["true"]]);
    assert_eq!(commands(&["--shell=none", "true"]), [["true"]]);
}

#[test]
fn a_shell_runs_them_if_asked_for() {
    assert_eq!(commands(&["--shell=bash --norc", "a"]), [["bash", "--norc", "-c", "a"]]);
    assert_eq!(commands(&["--shell", "zsh", "a"]), [["zsh", "-c", "a"]]);
    for shell in [&["-S"][..], &["--shell", "default"]] {
        assert_eq!(commands(&[shell, &["a; b"]].concat()), [["/bin/sh", "-c", "a; b"]]);
    }
    assert_eq!(commands(&["--shell", "zsh", "--shell", "zsh", "a"]), [["zsh", "-c", "a"]]);
    let error = plan(&["--shell", "bash", "--shell", "dash", "a"]).unwrap_err();
    assert!(
        error.ends_with("\nhelp: to compare them: firstbyte bench 'bash -c COMMAND' 'dash -c COMMAND'"),
        "{error}"
    );
    for of_older_versions in ["bash", "none"] {
        let error = plan(&["-S", of_older_versions, "a"]).unwrap_err();
        assert!(error.ends_with(&format!("\nhelp: --shell {of_older_versions}")), "{error}");
    }
}

#[test]
fn shell_syntax_needs_a_decision() {
    let error = plan(&["echo $HOME"]).unwrap_err();
    assert!(error.contains("`$HOME`") && error.contains("\nhelp: -S "), "{error}");
    assert!(plan(&["A=1 env"]).unwrap_err().contains("\nhelp: --env sets variables; -S "));
    assert_eq!(commands(&["-N", "echo $HOME"]), [["echo", "$HOME"]]);
    assert_eq!(commands(&["--shell=none", "echo *"]), [["echo", "*"]]);
    assert_eq!(commands(&["echo '$HOME' \\*"]), [["echo", "$HOME", "*"]]);
}

#[test]
fn parameters_multiply_the_commands_names_and_hooks() {
    let words = ["-L", "a", "x,y", "-P", "n", "1", "2", "-n", "{a}{n}", "-p", "rm {n}", "echo {a} {n}"];
    let plan = plan(&words).unwrap();
    let names: Vec<_> = plan.benchmarks.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["x1", "x2", "y1", "y2"]);
    assert_eq!(plan.benchmarks[3].words, ["echo", "y", "2"]);
    assert_eq!(plan.benchmarks[3].prepare.as_ref().map(|hook| hook.command.as_str()), Some("rm 2"));
    assert_eq!(plan.benchmarks[3].parameters["a"], "y");
}

#[test]
fn names_show_the_variables_and_parameters_that_the_command_does_not() {
    let names = |words: &[&str]| -> Vec<String> {
        plan(words).unwrap().benchmarks.into_iter().map(|benchmark| benchmark.name).collect()
    };
    assert_eq!(names(&["-L", "n", "1,2", "make"]), ["make (n = 1)", "make (n = 2)"]);
    assert_eq!(names(&["--env", "A=1", "--env", "A='x y'", "b", "b"]), ["A=1 b", "A='x y' b"]);
    assert_eq!(names(&["--env", "A=1", "b", "c"]), ["b", "c"], "the same for all");
}

#[test]
fn each_command_may_have_a_hook_of_its_own() {
    let hooked = plan(&["-p", "a", "-p", "b", "x", "y"]).unwrap();
    assert_eq!(hooked.benchmarks[1].prepare.as_ref().map(|hook| hook.command.as_str()), Some("b"));
    assert!(plan(&["-p", "a", "-p", "b", "x", "y", "z"]).unwrap_err().contains("2 times for 3"));
}

#[test]
fn equal_commands_get_names_that_tell_them_apart() {
    let plan = plan(&["-N", "true", "true", "true (2)", "true"]).unwrap();
    let names: Vec<_> = plan.benchmarks.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["true", "true (2)", "true (2) (2)", "true (3)"]);
}

#[test]
fn the_reference_is_one_of_the_commands_or_another_one() {
    assert_eq!(plan(&["a", "b"]).unwrap().reference, 0);
    assert_eq!(plan(&["--reference", "b", "a", "b"]).unwrap().reference, 1);
    let other = plan(&["--reference", "c", "--subtract", "d", "a", "b"]).unwrap();
    assert_eq!((other.reference, other.subtract, other.benchmarks.len()), (2, Some(3), 4));
}

#[test]
fn more_runs_than_usual_need_only_the_minimum() {
    let limits = |words: &[&str]| match plan(words).unwrap().limit {
        RunLimit::Adaptive(Adaptive { least, most, .. }) => (least, most),
        other => panic!("{other:?}"),
    };
    assert_eq!(limits(&["a"]), (10, 2000));
    assert_eq!(limits(&["-m", "5000", "a"]), (5000, 5000));
    assert_eq!(limits(&["-M", "5000", "a"]), (10, 5000));
}

#[test]
fn nonsense_is_refused_with_a_remedy() {
    let table: [&[&str]; 11] = [
        &["'open"],
        &[""],
        &["  "],
        &["-m", "20", "-M", "10", "a"],
        &["--until", "", "a"],
        &["--until", "x", "--output", "null", "a"],
        &["-n", "a", "-n", "b", "x"],
        &["--input", "/nonexistent", "x"],
        &["--input", "/", "x"],
        &["-L", "n", "1", "-L", "n", "2", "x"],
        &["-P", "n", "2", "1", "x"],
    ];

    for words in table {
        let error = plan(words).unwrap_err();
        assert!(error.contains("\nhelp: ") && !error.contains("error:"), "{words:?}: {error}");
    }

    for hook in ["--prepare", "--setup"] {
        assert!(plan(&["--input", "/nonexistent", hook, "touch it", "x"]).is_ok(), "it may be made");
    }
    for words in [&["-r", "0", "a"][..], &["-r", "1", "-m", "2", "a"], &[], &["--precision", "NaN", "a"]] {
        assert!(plan(words).is_err(), "{words:?}");
    }
}
