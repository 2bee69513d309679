//! `firstbyte watch` for monitoring: the text file, the rights that it needs, the unit, the rules and the dashboard.

use crate::prometheus_page::{Page, Sample};
use crate::support::skipped;
use firstbyte_measure::launch::find_in_path;
use firstbyte_measure::tracer::BackendChoice;
use firstbyte_measure::tracer::watch::WantedCalls;
use firstbyte_measure::tracer::watcher::attach_watcher;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether this machine can watch. Otherwise the test is reported as skipped.
pub(crate) fn works() -> bool {
    attach_watcher(BackendChoice::Bpf, true, 1 << 18, WantedCalls::default())
        .map_err(|error| skipped(&error.to_string()))
        .is_ok()
}

/// A background job of a script ignores SIGINT, and so would what it starts.
pub(crate) fn firstbyte(options: &[&str], words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_firstbyte")]);
    command.arg("watch").args(options).env("COLUMNS", "80").stdin(Stdio::null());
    if !words.is_empty() {
        command.arg("--").args(words);
    }
    command
}

/// 200 processes, 7 execs that fail, and an argument that nobody may see. Then it waits for the end of its stdin.
pub(crate) const LOOP: &str = "i=0; while [ $i -lt 200 ]; do /bin/true --password=hunter2; i=$((i+1)); done; \
                    i=0; while [ $i -lt 7 ]; do /no/such/program 2>&-; i=$((i+1)); done; echo done; read line || exit 0";

pub(crate) fn check_loop(page: &Page) {
    let of_true = [("program", "true")];
    assert_eq!(page.value("firstbyte_execs_total", &of_true), Some("200"));
    for histogram in ["startup", "lifetime"] {
        let name = format!("firstbyte_{histogram}_seconds_count");
        assert_eq!(page.value(&name, &of_true), Some("200"), "{histogram}");
    }
    assert_eq!(page.value("firstbyte_first_output_seconds_count", &of_true), None, "true writes nothing");
    assert_eq!(page.value("firstbyte_failed_execs_total", &[("program", "other")]), Some("7"));
    assert_eq!(page.value("firstbyte_execs_total", &[("program", "sh")]), Some("1"));
    assert_eq!(page.value("firstbyte_lost_events_total", &[]), Some("0"));
}

#[test]
fn the_text_file_has_the_final_counts() {
    if !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstbyte.prom");
    let output = firstbyte(&["--textfile", file.to_str().unwrap()], &["sh", "-c", LOOP]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(&file).unwrap();
    check_loop(&Page::parse(&text));
    assert!(!text.contains("hunter2") && !text.contains("# EOF"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

/// A small file system in memory, as long as this lives.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mounted() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(folder.path()).output();
        if !mount.is_ok_and(|mount| mount.status.success()) {
            skipped("only root can mount a small file system");
            return None;
        }
        Some(SmallDisk { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

#[test]
fn on_a_full_disk_the_old_text_file_stays_and_the_watch_goes_on() {
    if !works() {
        return;
    }
    let Some(disk) = SmallDisk::mounted() else { return };
    let (file, filler) = (disk.path("firstbyte.prom"), disk.path("filler"));
    fs::write(&file, "old 1\n").unwrap();
    assert!(fs::write(&filler, vec![0; 100_000]).is_err(), "it is full");
    let run = || {
        let output = firstbyte(&["--textfile", file.to_str().unwrap()], &["/bin/true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = run();
    assert!(said.contains("warning: cannot write `") && said.contains("No space left"), "{said}");
    assert_eq!(said.matches("warning:").count(), 1, "it is said once: {said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old 1\n");
    fs::remove_file(&filler).unwrap();
    assert!(!run().contains("warning:"));
    let page = Page::parse(&fs::read_to_string(&file).unwrap());
    assert_eq!(page.value("firstbyte_execs_total", &[("program", "true")]), Some("1"));
    assert_eq!(fs::read_dir(disk.folder.path()).unwrap().count(), 1);
}

#[test]
fn redacted_results_count_equal_command_lines_and_show_none() {
    if !works() {
        return;
    }
    let secretive = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true --password=hunter2; done; /bin/true x";
    let folder = tempfile::tempdir().unwrap();
    let timeline = folder.path().join("watch.perfetto");
    let options = ["--redact", "--json", "--export-perfetto", timeline.to_str().unwrap()];
    let output = firstbyte(&options, &["sh", "-c", secretive]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = document["results"].as_array().unwrap();
    let of_true = rows.iter().find(|row| row["path"] == "/bin/true").unwrap();
    let lines = of_true["command_lines"].as_array().unwrap();
    let mut counts: Vec<u64> = lines.iter().map(|line| line["execs"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 12]);
    let finding = document["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "repeated_command");
    assert_eq!(finding.unwrap()["count"], json!(12));
    for text in [String::from_utf8(output.stdout).unwrap(), fs::read_to_string(&timeline).unwrap()] {
        assert!(!text.contains("hunter2") && !text.contains("while"), "{text}");
    }

    let whole = firstbyte(&["--json"], &["sh", "-c", secretive]).output().unwrap();
    assert!(String::from_utf8(whole.stdout).unwrap().contains("hunter2"), "without the option it is there");
}

/// The two capabilities of the unit are enough, and nothing else of root is needed.
#[test]
fn two_capabilities_are_enough() {
    if !works() {
        return;
    }
    let Some(folder) = crate::support::of_nobody() else { return };
    let file = folder.path().join("firstbyte.prom");
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
    for set in ["--bounding-set", "--inh-caps", "--ambient-caps"] {
        command.args([set, "-all,+bpf,+perfmon"]);
    }
    command.args(["./firstbyte", "watch", "--duration", "300ms", "--user", "65533", "--textfile"]).arg(&file);
    let output = command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unknown capability") || said.contains("setpriv: ") {
        skipped(&format!("these capabilities cannot be given here: {said}"));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    Page::parse(&fs::read_to_string(file).unwrap());
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap()
}

#[test]
fn the_unit_is_valid_and_well_confined() {
    if find_in_path("systemd-analyze").is_none() {
        return skipped("`systemd-analyze` is missing");
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("firstbyte-watch.service");
    let ours = text("packaging/systemd/firstbyte-watch.service");
    fs::write(&unit, ours.replace("/usr/bin/firstbyte", env!("CARGO_BIN_EXE_firstbyte"))).unwrap();
    for words in
        [&["verify", "--man=no"][..], &["security", "--offline=true", "--threshold=20", "--no-pager"]]
    {
        let output = Command::new("systemd-analyze").args(words).arg(&unit).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(words[0] != "verify" || said.trim().is_empty(), "{said}");
    }
}

/// Names of metrics in an expression: ours, and those that our rules record.
fn metrics(expression: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let words = expression.split(|c| !is_name(c));
    words.filter(|word| word.contains("firstbyte_")).map(str::to_owned).collect()
}

/// What a page has, with the parts of histograms.
fn exported() -> Vec<String> {
    let counters = [
        "execs_total",
        "failed_execs_total",
        "cpu_seconds_total",
        "lost_events_total",
        "textfile_errors_total",
        "watch_info",
    ];
    let times = ["startup", "first_output", "lifetime"];
    let parts = ["bucket", "sum", "count"];
    let histograms = times.iter().flat_map(|of| parts.map(|part| format!("{of}_seconds_{part}")));
    counters
        .map(str::to_owned)
        .into_iter()
        .chain(histograms)
        .map(|name| format!("firstbyte_{name}"))
        .collect()
}

#[test]
fn rules_and_dashboard_use_only_metrics_that_exist() {
    let rules = text("packaging/prometheus/firstbyte-rules.yml");
    let recorded = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: ").map(str::to_owned));
    let known: Vec<String> = recorded.chain(exported()).collect();
    let without_comments = |text: &str| -> String {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with('#')).collect();
        lines.join("\n")
    };
    let all = [rules.clone(), text("packaging/prometheus/firstbyte-alerts.yml"), expressions().join("\n")];
    let used: Vec<String> = all.iter().flat_map(|text| metrics(&without_comments(text))).collect();
    assert!(used.len() > 40, "{used:?}");
    for name in used {
        assert!(known.contains(&name), "{name} does not exist");
    }
}

pub(crate) fn dashboard() -> Value {
    serde_json::from_str(&text("packaging/prometheus/firstbyte-dashboard.json")).unwrap()
}

/// Every query of the dashboard.
pub(crate) fn expressions() -> Vec<String> {
    let dashboard = dashboard();
    let targets = |panel: &Value| panel["targets"].as_array().unwrap().clone();
    let queries = dashboard["panels"].as_array().unwrap().iter().flat_map(targets);
    queries.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// The fields that Grafana's schema of dashboards requires (version 36 and later), and what its editor relies on.
#[test]
fn the_dashboard_has_the_structure_of_dashboards() {
    let dashboard = dashboard();
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    let uid = dashboard["uid"].as_str().unwrap();
    assert!((8..=40).contains(&uid.len()) && !dashboard["title"].as_str().unwrap().is_empty());
    assert!(dashboard["annotations"]["list"].is_array() && dashboard.get("id").is_none());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "instance", "program"]);

    let mut taken = std::collections::BTreeSet::new();
    let mut ids = std::collections::BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "ids are unique");
        let kind = panel["type"].as_str().unwrap();
        assert!(["stat", "timeseries", "heatmap", "table"].contains(&kind), "{kind}");
        assert!(
            panel["fieldConfig"]["defaults"]["unit"].is_string()
                && panel["fieldConfig"]["overrides"].is_array()
        );
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24 && w > 0 && h > 0);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{} overlaps another panel", panel["title"]);
        }
        let mut references = std::collections::BTreeSet::new();
        for target in panel["targets"].as_array().unwrap() {
            assert!(references.insert(target["refId"].as_str().unwrap().to_owned()));
            assert_eq!(target["datasource"], json!({"type": "prometheus", "uid": "${datasource}"}));
            let expression = target["expr"].as_str().unwrap();
            for variable in expression.split('$').skip(1) {
                let known = ["instance", "program", "__rate_interval"];
                assert!(known.iter().any(|name| variable.starts_with(name)), "{expression}");
            }
        }
    }
}

/// The page is read by a strict parser in these tests, which must refuse what is wrong.
#[test]
fn the_parser_of_these_tests_is_strict() {
    let good = "# HELP a_total x\n# TYPE a_total counter\na_total{p=\"1\"} 1\n";
    assert_eq!(
        Page::parse(good).samples,
        [Sample {
            name: "a_total".to_owned(),
            labels: vec![("p".to_owned(), "1".to_owned())],
            value: "1".to_owned()
        }]
    );
    for bad in [
        "a 1\n",
        "# TYPE a gauge\na 1",
        "# TYPE a gauge\na{b=\"x} 1\n",
        "# TYPE a gauge\na 1\na 2\n",
        "# TYPE a gauge\na x\n",
        "# TYPE a gauge\n\na 1\n",
        "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\na_count 1\na_sum 1\n",
        "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_count 1\na_sum 1\n",
    ] {
        assert!(std::panic::catch_unwind(|| Page::parse(bad)).is_err(), "{bad}");
    }
}
