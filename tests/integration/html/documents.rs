//! Documents for pages: one of every kind, a hostile one, a large one.

use serde_json::{Value, json};

/// A name that tries to break out of the page.
pub(super) const HOSTILE: [&str; 6] = [
    "<script>window.injected = 1</script>",
    "</script><img src=x onerror='window.injected = 2'>",
    "\" onmouseover=\"window.injected = 3\" x=\"",
    "'; window.injected = 4; '\n\r\u{0}\u{1b}[2J",
    "\u{2028}\u{2029}\u{202e}{{ 7 * 7 }}{% raw %}\u{fffd}\u{fffd}",
    "]]><!--</title></style></table><svg onload=window.injected=5>",
];

fn head() -> Value {
    json!({
        "schema": "firstbyte/1",
        "tool": {"name": "firstbyte", "version": "0.1.0", "backend": "bpf", "backend_reason": "sees every phase",
            "observer_overhead": [{"name": "alpha", "ratio": 1.03, "low": 1.01, "high": 1.05, "pairs": 9}]},
        "machine": {"cpu_model": "A Processor", "cores": 2, "kernel_release": "6.18", "memory": 1_073_741_824_u64},
        "partial": false,
    })
}

fn with_head(mut document: Value) -> Value {
    for (key, value) in head().as_object().unwrap() {
        document[key] = value.clone();
    }
    document
}

fn distribution(median: u64) -> Value {
    json!({"samples": [median - 2, median - 1, median, median + 1, median + 2]})
}

/// A program whose first byte comes after this many nanoseconds.
fn measurement(name: &str, cache: &str, first_byte: u64) -> Value {
    json!({
        "command": format!("./{name}"), "mean": 0.001, "stddev": 0.0, "median": 0.001, "user": 0.0, "system": 0.0,
        "min": 0.001, "max": 0.001, "times": [0.001, 0.001, 0.001, 0.001, 0.001], "exit_codes": [0, 0, 0, 0, 0],
        "name": name, "cache": cache,
        "phases": {"startup": distribution(first_byte / 4), "setup": distribution(first_byte / 2),
            "write": distribution(first_byte / 4), "teardown": distribution(first_byte / 8),
            "first_byte": distribution(first_byte), "total": distribution(first_byte / 8 * 9)},
        "counts": {"processes": 1, "threads": 1, "syscalls": first_byte / 1000, "page_faults": 7},
        "output": {"bytes": 12, "ok": true}, "lost_events": 0, "rejected": [],
    })
}

/// alpha, beta and gamma, from the fastest to the slowest, beta also cold.
pub(super) fn showdown() -> Value {
    let mut beta = measurement("beta", "warm", 400_000);
    beta["relative"] = json!([{"reference": "alpha", "of": "first_byte", "ratio": 4.0, "low": 3.9, "high": 4.1,
        "pairs": 9, "verdict": "slower"}]);
    with_head(json!({
        "results": [measurement("gamma", "warm", 900_000), measurement("alpha", "warm", 100_000),
            beta, measurement("beta", "cold", 4_000_000)],
        "failed": [], "skipped": [{"name": "delta", "reason": "no compiler", "install": "apt-get install delta"}],
        "warnings": [{"name": null, "message": "other programs were busy", "help": "close them"}],
    }))
}

/// The same document with hostile names, commands, reasons and warnings.
pub(super) fn hostile() -> Value {
    let mut document = showdown();
    document["results"] = HOSTILE.iter().map(|name| measurement(name, "warm", 500_000)).collect();
    document["skipped"] =
        HOSTILE.iter().map(|name| json!({"name": name, "reason": name, "install": name})).collect();
    document["warnings"] =
        HOSTILE.iter().map(|name| json!({"name": name, "message": name, "help": name})).collect();
    document["tool"]["backend_reason"] = json!(HOSTILE[0]);
    document["machine"]["cpu_model"] = json!(HOSTILE[1]);
    document
}

/// Fields with a fixed set of values. All other text may be anything.
const WORDS: [&str; 5] = ["schema", "group", "seed", "verdict", "backend"];

/// The document with every text replaced by this one.
fn infested(value: Value, text: &str) -> Value {
    match value {
        Value::String(_) => json!(text),
        Value::Array(values) => values.into_iter().map(|value| infested(value, text)).collect(),
        Value::Object(members) => {
            let infest = |key: &str, value| if WORDS.contains(&key) { value } else { infested(value, text) };
            let infested = members.into_iter().map(|(key, value)| (key.clone(), infest(&key, value)));
            Value::Object(infested.collect())
        }
        other => other,
    }
}

/// Floor, throughput, executable, claims and watch with hostile text in every field, also in the reasons for missing figures.
pub(super) fn all_hostile() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (index, text) in HOSTILE.iter().enumerate() {
        let mut throughput = throughput();
        throughput["wrong"] = json!([{"sink": "null", "design": "x", "description": "x", "literal": true, "lines": 3,
            "reason": "x"}]);
        throughput["skipped"] = json!([{"name": "x", "reason": "x", "install": "x"}]);
        let mut floor = floor();
        floor["missing"] = json!([{"group": "shells", "name": "x", "reason": "x"}]);
        for (kind, document) in [
            ("floor", floor),
            ("throughput", throughput),
            ("elf", elf()),
            ("claims", claims()),
            ("watch", watch()),
        ] {
            let mut document = infested(document, text);
            document["tool"]["name"] = json!("firstbyte");
            if kind == "watch" {
                document["kind"] = json!(kind);
            }
            all.push((format!("{kind}-{index}.json"), document));
        }
    }
    all
}

/// This many steps in two processes and three threads. Everything is named `label`.
pub(super) fn trace(label: &str, spans: usize) -> Value {
    let kinds = ["kernel_exec", "user", "syscall", "fault", "waiting"];
    let threads = [(100, 100), (100, 101), (200, 200)];
    let span = |index: usize| {
        let (pid, tid) = threads[index / 7 % 3];
        let kind = if index == 0 { "kernel_exec" } else { kinds[1 + index % 4] };
        let start = index as u64 * 1000;
        json!({"pid": pid, "tid": tid, "kind": kind, "name": format!("{label} {}", index % 40), "start_ns": start,
            "duration_ns": 900, "elapsed_ns": 900, "detail": format!("{label}({index}) = 0"),
            "file": format!("/lib/{label}.so")})
    };
    let total = spans as u64 * 1000;
    let figure = |ns: u64| json!({"median": ns, "min": ns - ns / 10, "max": ns + ns / 10});
    with_head(json!({"results": [{
        "command": label, "mean": 0.01, "stddev": null, "median": 0.01, "user": 0.0, "system": 0.0, "min": 0.01,
        "max": 0.01, "times": [0.011, 0.012], "untraced_times": [0.010, 0.010], "exit_codes": [0], "runs": 2,
        "phases": {"startup": figure(total / 10), "setup": figure(total / 2), "write": figure(total / 10),
            "teardown": figure(total * 3 / 10), "first_byte": figure(total * 7 / 10), "total": figure(total)},
        "run_phases": {"startup": total / 10, "setup": total / 2, "write": total / 10, "teardown": total * 3 / 10},
        "total_ns": total, "corrected_total_ns": total, "counts": {"syscalls": spans, "processes": 2, "max_rss": null},
        "lost_events": 0,
        "attribution": [{"kind": "syscall", "name": label, "ns": total / 2, "count": 5},
            {"kind": "user", "name": "ld.so", "ns": total / 4, "count": 3}],
        "critical_path": [{"pid": 100, "tid": 100, "program": label, "from_ns": 0, "to_ns": total / 2},
            {"pid": 200, "tid": 200, "program": format!("{label}'s child"), "from_ns": total / 2, "to_ns": total}],
        "user_calls": [{"caller": null, "module": label, "function": null, "ns": total / 4},
            {"caller": 0, "module": label, "function": format!("{label}::main"), "ns": total / 5},
            {"caller": 0, "module": "libc.so", "function": "memcpy", "ns": total / 20}],
        "spans": (0..spans).map(span).collect::<Vec<_>>(),
        "files": [{"path": format!("/lib/{label}.so"), "ns": total / 3, "opened": 1, "failed": 0, "faults": 3}],
        "processes": [{"pid": 100, "execs": [{"executed": format!("/bin/{label}"), "duration_ns": total / 10}]},
            {"pid": 200, "execs": []}],
        "findings": [{"ns": 5, "text": format!("{label} could be faster")}],
    }]}))
}

/// A waterfall with three layers, a figure, and the prints of one program.
pub(super) fn floor() -> Value {
    use firstbyte::document::floor::{Figure, Group, Layer, Outside, Print, Waterfall};
    let layer = |name: &str, ns: f64| Layer {
        name: name.to_owned(),
        removes: format!("the rest of {name}"),
        samples: vec![ns, ns * 1.01, ns * 0.99],
    };
    let layers = [layer("a shell", 1e6), layer("a static program", 1e5), layer("a write", 250.0)];
    let figure = Figure::from_samples(Group::Syscalls, "getppid", vec![100.0, 101.0, 99.0]);
    let print = |name: &str, ns| Figure::from_samples(Group::Prints, name, vec![ns; 3]).unwrap();
    let outside = Outside {
        backend: "ptrace".to_owned(),
        first: print("first", 60_000.0),
        hundredth: print("hundredth", 50_000.0),
        first_calls: ["newfstatat", "write"].map(str::to_owned).to_vec(),
        hundredth_calls: vec!["write".to_owned()],
        first_faults: Some(3),
    };
    with_head(json!({
        "cpu": 1, "overhead": {"timer": 20.0, "turn": 1.0, "step": 1, "empty": 0.0}, "results": [figure], "missing": [],
        "waterfalls": [Waterfall::of("this machine", &layers)],
        "prints": [Print { program: "timed-c-puts".to_owned(), label: "C puts".to_owned(), clock: print("clock", 40.0),
            first: print("first", 9000.0), hundredth: print("hundredth", 700.0), outside: Some(outside) }],
    }))
}

/// Two designs.
pub(super) fn throughput() -> Value {
    let result = |design: &str, lines: u64, ns: u64| {
        json!({"sink": "pipe-read", "sink_description": "a pipe that is read", "design": design, "description": "",
            "lines": lines, "bytes": lines * 12, "times_ns": [ns, ns + 9], "median_ns": ns, "min_ns": ns,
            "bytes_per_second": 1e9, "times_faster": {"ratio": 1.5, "low": 1.4, "high": 1.6, "pairs": 2}})
    };
    with_head(json!({"baseline": "plain", "wrong": [], "skipped": [],
        "results": [result("plain", 1_000_000, 9_000_000), result("ours", 1_000_000, 1_000_000),
            result("plain", 2_000_000, 19_000_000), result("ours", 2_000_000, 2_000_000)]}))
}

/// Four bytes.
pub(super) fn elf() -> Value {
    let magic = json!({"name": "e_ident", "kernel": "compares them"});
    with_head(json!({"architecture": "x86-64", "size": 5, "results": [
        {"offset": 0, "bytes": [127, 69, 76, 70], "fields": [magic], "content": null},
        {"offset": 4, "bytes": [10], "fields": [], "content": "the message"}]}))
}

/// Two claims.
pub(super) fn claims() -> Value {
    let claim = |seed: &str, claim: &str, figure: &str, measured: &str, verdict: &str| {
        json!({"id": format!("{seed}-x"), "seed": seed, "post": format!("Post {seed}"), "claim": claim,
            "figure": figure, "measured": measured, "values": [], "how": "showdown", "rule": "it is so",
            "verdict": verdict, "why": "it does less"})
    };
    with_head(json!({"results": [claim("000", "C is 100 times faster", "100 x", "165 x", "holds"),
        claim("004", "9 ms under strace", "9 ms", "4 ms", "does not hold here")]}))
}

/// `make` that starts a compiler twice, and that one an assembler.
pub(super) fn watch() -> Value {
    let times = |ns: u64| {
        json!({"count": 2, "sum": 2 * ns, "median": ns, "p95": ns, "min": ns, "max": ns,
        "histogram": [[ns, 2]]})
    };
    let program = |name: &str, execs: u64| {
        json!({"program": name, "path": format!("/bin/{name}"), "execs": execs, "failed": 0, "unsuccessful": 0,
            "replaced": 0, "running": 0, "forks": 0, "startup_ns": times(400_000), "first_output_ns": null,
            "critical_path": {"execs": 1, "startup_ns": 400_000}, "lifetime_ns": times(5_000_000),
            "cpu_ns": 3_000_000, "command_lines": [{"command": name, "execs": execs, "lifetime_ns": 5_000_000}]})
    };
    let node = |above: Option<u64>, program: u64| json!({"above": above, "program": program, "execs": 2, "startup_ns": 800_000, "cpu_ns": 3_000_000});
    with_head(json!({"kind": "watch", "command": "make -j2", "scope": "the processes of the command",
        "exit": {"code": 0}, "wall_ns": 2_000_000_000_u64,
        "results": [program("make", 1), program("cc", 2), program("as", 2)],
        "totals": {"programs": 3, "execs": 5, "failed": 0, "processes": 5, "forks": 0, "running": 0,
            "startup_ns": 2_000_000, "critical_path": {"execs": 3, "startup_ns": 1_200_000},
            "cpu_ns": 3_000_000_000_u64, "unlisted_execs": 0, "unlisted_command_lines": 0, "unlisted_runs": 0},
        "critical_path_unknown": null, "tree": [node(None, 0), node(Some(0), 1), node(Some(1), 2)],
        "findings": [{"rule": "repeated_command", "subject": "cc", "count": 20, "cost_ns": 5,
            "text": "20 execs of `cc`"}],
        "lost_events": 0}))
}

/// One document of each kind.
pub(super) fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("showdown.json", showdown()),
        ("one.json", trace("one", 600)),
        ("two.json", trace("two", 900)),
        ("floor.json", floor()),
        ("throughput.json", throughput()),
        ("elf.json", elf()),
        ("claims.json", claims()),
        ("watch.json", watch()),
    ]
}
