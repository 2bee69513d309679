//! The examples work, and the one in the README is in `examples/`.

use firstbyte_measure::timeline::Phase;

#[path = "../examples/first_byte.rs"]
#[expect(dead_code, reason = "a test does not call `main`")]
mod first_byte;

#[path = "../examples/harness.rs"]
#[expect(dead_code, reason = "a test does not call `main`")]
mod harness;

#[test]
fn the_harness_compares_two_commands() {
    let [first, second] = ["true", "echo"].map(|program| vec![program.to_owned()]);
    assert!(harness::ratio(&first, &second, 3).unwrap() > 0.0);
    assert!(harness::ratio(&first, &["false".to_owned()], 3).is_err(), "a program that fails has no time");
}

#[test]
fn the_readme_has_the_example() {
    let readme = include_str!("../README.md");
    let (_, code) = include_str!("../examples/first_byte.rs").split_once("\n\n").unwrap();
    assert!(readme.contains(code));
}

#[test]
fn the_example_prints_the_phases_of_a_command() {
    let words = ["echo", "hello"].map(str::to_owned);
    let report = first_byte::report(&words).unwrap();
    let names: Vec<&str> = report.lines().filter_map(|line| line.split_whitespace().next()).collect();
    // The pipe backend sees no phases.
    let phases = if report.contains("pipe") { Vec::new() } else { Phase::ALL.map(Phase::name).to_vec() };
    let expected = [vec!["backend"], phases, vec!["total"]].concat();
    assert_eq!(names, expected, "{report}");
    assert!(!report.contains("none"), "`echo` prints something: {report}");
}

#[test]
fn a_command_that_does_not_exist_is_an_error() {
    assert!(first_byte::report(&["/nonexistent/program".to_owned()]).is_err());
}
