//! User code.

use super::*;

fn node(caller: Option<usize>, module: &str, function: Option<&str>, time: f64) -> Node {
    Node { caller, frame: Frame { module: module.into(), function: function.map(Into::into) }, time }
}

#[test]
fn user_code_is_named_where_its_calls_divide_it() {
    let nodes = vec![
        node(None, "/bin/node", None, 800_000.0),
        node(Some(0), "/bin/node", Some("main"), 790_000.0),
        node(Some(1), "/bin/node", Some("Start"), 780_000.0),
        node(Some(2), "/bin/node", Some("Compile"), 300_000.0),
        node(Some(2), "/bin/node", Some("Run"), 400_000.0),
        node(Some(2), "/bin/node", Some("Free"), 1_000.0),
    ];
    let divided = Divided { nodes, ..Divided::default() };
    let with = |loads: Vec<Load>| {
        let user_code = Some(UserCode { divided: divided.clone(), ..UserCode::default() });
        let summary = Summary { user_code, loads, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default())
    };
    let found = with(Vec::new());
    assert_eq!((found[0].rule, found[0].cost), ("user-code", Nanos(800_000)));
    let text = &found[0].text;
    assert!(
        text.contains(
            "`node` computes 800 µs, by samples with all that it calls: `Run` 400 µs, `Compile` 300 µs."
        ),
        "{text}"
    );
    let report = |time| with(vec![load("Node", "x", "", [time, time], 0)]);
    assert_eq!((report(300_000)[0].rule, report(300_000)[0].cost), ("user-code", Nanos(500_000)));
    assert!(report(300_000)[0].text.ends_with("Other findings explain the rest of this time."));
    let rules: Vec<&str> =
        with(vec![load("Node", "x", "", [500_000, 500_000], 0)]).iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["reported"], "its modules explain it");

    let started = load(EXECUTABLE, "helper", "/bin/helper", [300_000, 300_000], 1);
    let found = with(vec![load("Node", "x", "", [500_000, 500_000], 0), started]);
    let own = found.iter().find(|finding| finding.rule == "user-code").map(|finding| finding.cost);
    assert_eq!(own, Some(Nanos(600_000)), "a module computes nothing while it waits for a program");
}

#[test]
fn the_file_whose_functions_have_no_names_is_named() {
    let frame = |module: &str| Frame { module: module.into(), function: None };
    let own = |time: f64| Function {
        frame: frame("/lib/libjq.so.1"),
        own: Estimate { time, low: time - 1.0, high: time + 1.0 },
        total: Estimate { time, low: time - 1.0, high: time + 1.0 },
        samples: 9,
    };
    let text = |time| {
        let nodes = vec![node(None, "/bin/jq", None, 800_000.0)];
        let divided = Divided { nodes, functions: vec![own(time)], ..Divided::default() };
        let user_code = Some(UserCode { divided, ..UserCode::default() });
        let summary = Summary { user_code, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default()).remove(0).text
    };
    assert!(
        text(700_000.0).contains("Functions of `libjq.so.1` without names take 700 µs: its debug symbols")
    );
    assert!(!text(100_000.0).contains("libjq"));
}

#[test]
fn an_interpreter_is_not_looked_into() {
    let nodes = vec![
        node(None, "/bin/python3", None, 800_000.0),
        node(Some(0), "/bin/python3", Some("main"), 790_000.0),
        node(Some(1), "/bin/python3", Some("_PyEval_EvalFrameDefault"), 780_000.0),
        node(Some(2), "/bin/python3", Some("PyObject_GetAttr"), 770_000.0),
    ];
    let user_code = UserCode { divided: Divided { nodes, ..Divided::default() }, ..UserCode::default() };
    let summary = Summary { user_code: Some(user_code), ..Summary::of(vec![run(quiet())]).unwrap() };
    let text = findings(&summary, &MachineFacts::default()).remove(0).text;
    assert!(text.contains(": the program that it interprets 780 µs."), "{text}");
    let loads = vec![load("Python", "x", "", [250_000, 250_000], 0)];
    let rules: Vec<&str> =
        findings(&Summary { loads, ..summary }, &MachineFacts::default()).iter().map(|it| it.rule).collect();
    assert_eq!(rules, ["reported"], "a quarter is enough to say more than that");
}
