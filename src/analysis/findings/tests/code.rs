//! User code.

use super::*;

fn node(caller: Option<usize>, module: &str, function: Option<&str>, time: f64) -> Node {
    Node { caller, frame: Frame::native(module, function.map(Into::into)), time }
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
    let computes = found.iter().find(|finding| finding.rule == "user-code").map(|finding| finding.cost);
    assert_eq!(computes, Some(Nanos(600_000)), "a module computes nothing while it waits for a program");
}

#[test]
fn a_function_of_the_start_of_c_is_not_named() {
    let text = |start: &str, inside: f64| {
        let nodes = vec![
            node(None, "/bin/p", None, 800_000.0),
            node(Some(0), "/lib/libc.so.6", Some(start), 500_000.0),
            node(Some(1), "/lib/libc.so.6", Some("malloc"), inside),
            node(Some(0), "/bin/p", Some("parse"), 300_000.0),
        ];
        let divided = Divided { nodes, ..Divided::default() };
        let user_code = Some(UserCode { divided, ..UserCode::default() });
        let summary = Summary { user_code, ..Summary::of(vec![run(quiet())]).unwrap() };
        let found = findings(&summary, &MachineFacts::default());
        found.into_iter().find(|it| it.rule == "user-code").unwrap().text
    };
    for start in ["__libc_start_call_main", "_start", "start_thread"] {
        assert!(text(start, 30_000.0).contains("calls: `parse` 300 µs."), "{start}");
    }
    assert!(text("main", 30_000.0).contains("calls: `main` 500 µs, `parse` 300 µs."));
    assert!(text("_start", 400_000.0).contains("calls: `malloc` 400 µs, `parse` 300 µs."));
}

#[test]
fn the_file_whose_functions_have_no_names_is_named() {
    let frame = |module: &str| Frame::native(module, None);
    let function = |time: f64| Function {
        frame: frame("/lib/libjq.so.1"),
        self_time: Estimate { time, low: time - 1.0, high: time + 1.0 },
        total: Estimate { time, low: time - 1.0, high: time + 1.0 },
        samples: 9,
        lines: vec![],
    };
    let text = |time| {
        let nodes = vec![node(None, "/bin/jq", None, 800_000.0)];
        let divided = Divided { nodes, functions: vec![function(time)], ..Divided::default() };
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

#[test]
fn what_the_loader_calls_and_what_main_itself_computes_is_named() {
    let text = |nodes: Vec<Node>| {
        let user_code =
            Some(UserCode { divided: Divided { nodes, ..Divided::default() }, ..UserCode::default() });
        let summary = Summary { user_code, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default()).remove(0).text
    };
    let loader = "/lib64/ld-linux-x86-64.so.2";
    let initialiser = text(vec![
        node(None, "/bin/a", None, 800_000.0),
        node(Some(0), loader, Some("_dl_start"), 790_000.0),
        node(Some(1), loader, Some("_dl_init"), 780_000.0),
        node(Some(2), "/lib/libslow.so", Some("warm_tables"), 700_000.0),
    ]);
    assert!(initialiser.contains("`libslow.so` 700 µs (`warm_tables`)"), "{initialiser}");

    let main = node(Some(0), "/bin/a", Some("main"), 790_000.0);
    let nodes =
        vec![node(None, "/bin/a", None, 800_000.0), main, node(Some(1), "/bin/a", Some("f"), 90_000.0)];
    assert!(text(nodes.clone()).contains("`main` itself 700 µs, `f` 90.0 µs."), "{}", text(nodes));
    let alone = text(nodes[..2].to_vec());
    assert!(alone.contains("all that it calls: `main` 790 µs."), "{alone}");
}

#[test]
fn what_is_explained_is_taken_from_the_interval_too() {
    let finding =
        |rule, cost, interval| Finding { interval, ..Finding::new(rule, Nanos(cost), String::new()) };
    let mut all =
        vec![finding("user-code", 500, Some([Nanos(480), Nanos(530)])), finding("java-classes", 200, None)];
    remove_said_better(&mut all, &[], 1.0);
    assert_eq!((all[0].cost, all[0].interval), (Nanos(300), Some([Nanos(280), Nanos(330)])));
}

#[test]
fn loads_explain_no_user_code_while_others_have_the_processor() {
    let finding = |rule, cost| Finding::new(rule, Nanos(cost), String::new());
    let left = |running| {
        let mut all = vec![finding("user-code", 500), finding("reported", 400)];
        remove_said_better(&mut all, &[], running);
        all.iter().find(|finding| finding.rule == "user-code").map(|finding| finding.cost)
    };
    assert_eq!(left(1.0), None);
    assert_eq!(left(0.25), Some(Nanos(400)));
}

#[test]
fn a_file_that_is_read_explains_user_code_whatever_programs_are_started_later() {
    let computes = |file: Load| {
        let nodes = vec![node(None, "/bin/node", None, 800_000.0)];
        let user_code =
            Some(UserCode { divided: Divided { nodes, ..Divided::default() }, ..UserCode::default() });
        let helper = load(EXECUTABLE, "helper", "/bin/helper", [300_000, 300_000], 2);
        let loads = vec![load(EXECUTABLE, "node", "/bin/node", [0, 0], 0), file, helper];
        let summary = Summary { user_code, loads, ..Summary::of(vec![run(quiet())]).unwrap() };
        let found = findings(&summary, &MachineFacts::default());
        found.iter().find(|finding| finding.rule == "user-code").map(|finding| finding.cost)
    };
    let beside = load(FILE, "ca.pem", "/etc/ca.pem", [350_000, 350_000], 2);
    assert_eq!(computes(beside), Some(Nanos(450_000)));
    let around = load(FILE, "rc", "/etc/rc", [50_000, 350_000], 1);
    assert_eq!(computes(around), Some(Nanos(750_000)), "its program computes nothing meanwhile");
}

#[test]
fn the_native_function_that_an_interpreted_program_calls_most_is_named() {
    let tree = |native: f64| {
        let eval = Some("_PyEval_EvalFrameDefault");
        vec![
            node(None, "/bin/python3", None, 800_000.0),
            node(Some(0), "/bin/python3", eval, 790_000.0),
            node(Some(1), "/bin/python3", Some("call"), 780_000.0),
            node(Some(2), "/bin/python3", eval, 770_000.0),
            node(Some(3), "/lib/_json.so", Some("scanner_call"), native),
            node(Some(4), "/lib/_json.so", Some("parse_object"), native),
            node(Some(5), "/lib/_json.so", Some("scanner_call"), native / 2.0),
        ]
    };
    let found = |native| {
        let divided = Divided { nodes: tree(native), ..Divided::default() };
        let user_code = Some(UserCode { divided, ..UserCode::default() });
        let loads = vec![load("Python", "site", "", [250_000, 250_000], 0)];
        let summary = Summary { user_code, loads, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default())
    };
    let json = found(400_000.0).remove(0);
    assert_eq!((json.rule, json.cost), ("user-code", Nanos(550_000)));
    assert!(
        json.text.contains("the program that it interprets 790 µs (of it `scanner_call` 400 µs)."),
        "{}",
        json.text
    );
    assert!(found(100_000.0).iter().all(|finding| finding.rule != "user-code"), "the imports say enough");
}

#[test]
fn the_collector_of_garbage_has_one_finding() {
    let function = |name: &str, time: f64| Function {
        frame: Frame::native("/bin/python3", Some(name.into())),
        self_time: Estimate { time, low: time, high: time },
        total: Estimate { time, low: time, high: time },
        samples: 9,
        lines: vec![],
    };
    let found = |name| {
        let divided = Divided { functions: vec![function(name, 300_000.0)], ..Divided::default() };
        let user_code = Some(UserCode { divided, ..UserCode::default() });
        let summary = Summary { user_code, ..Summary::of(vec![run(quiet())]).unwrap() };
        findings(&summary, &MachineFacts::default()).iter().map(|it| it.rule).collect::<Vec<_>>()
    };
    assert_eq!(found("gc_collect_main"), ["garbage-collection"]);
    assert_eq!(found("parse"), ["hottest-function"]);
}
