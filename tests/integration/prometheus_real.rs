//! `firstbyte watch` with Debian's Prometheus and node exporter, and the recipes of docs/prometheus.md with GNU parallel and
//! Slurm. `make prometheus` installs them and runs these tests; other runs leave them out.

use crate::prometheus::{LOOP, expressions, firstbyte, works};
use crate::prometheus_listener::{Listening, answer, connected};
use crate::support::skipped;
use firstbyte_measure::launch::find_in_path;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Servers need some time to start.
const SERVER_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn are_here(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| find_in_path(program).is_none());
    missing.map(|program| skipped(&format!("`{program}` is missing; make prometheus installs it"))).is_none()
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A server that ends with the test.
struct Server(Child);

impl Server {
    fn start(command: &mut Command, log: &Path) -> Server {
        let log = fs::File::create(log).unwrap();
        let command = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Server(command.spawn().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks until there is an answer.
pub(crate) fn patiently<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + SERVER_TIMEOUT;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

pub(crate) struct Prometheus {
    _server: Server,
    address: String,
}

impl Prometheus {
    /// Scrapes `targets`, job by job, with our rules.
    pub(crate) fn start(folder: &Path, targets: &[(&str, &str)]) -> Prometheus {
        let jobs = targets.iter().map(|(job, target)| {
            format!("- {{job_name: {job}, static_configs: [{{targets: ['{target}']}}]}}\n")
        });
        let rules = repository("packaging/prometheus").display().to_string();
        let rules = format!("['{rules}/firstbyte-rules.yml', '{rules}/firstbyte-alerts.yml']");
        Prometheus::with_jobs(folder, &rules, &jobs.collect::<Vec<_>>().concat())
    }

    pub(crate) fn with_jobs(folder: &Path, rules: &str, jobs: &str) -> Prometheus {
        let rules = if rules.is_empty() { "[]" } else { rules };
        let configuration = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: {rules}\nscrape_configs:\n{jobs}"
        );
        let file = folder.join("prometheus.yml");
        fs::write(&file, configuration).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg(format!("--web.listen-address={address}"));
        let server = Server::start(&mut command, &folder.join("prometheus.log"));
        patiently("prometheus is ready", || std::net::TcpStream::connect(&address).ok());
        Prometheus { _server: server, address }
    }

    fn asked(&self, path: &str) -> Value {
        let answer = answer_10(&self.address, path);
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
    }

    /// A figure that it exports about itself.
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let page = answer_10(&self.address, "/metrics");
        let own = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        own.unwrap_or_else(|| panic!("no {name}"))
    }

    /// In bytes.
    pub(crate) fn memory(&self) -> f64 {
        self.figure("process_resident_memory_bytes")
    }

    /// The values of an expression.
    pub(crate) fn query(&self, expression: &str) -> Vec<f64> {
        let answer = self.asked(&format!("/api/v1/query?query={}", encoded(expression)));
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        let results = answer["data"]["result"].as_array().unwrap().iter();
        results.map(|result| result["value"][1].as_str().unwrap().parse().unwrap()).collect()
    }

    fn becomes(&self, expression: &str, expected: &[f64]) {
        let mut last = Vec::new();
        let until = Instant::now() + SERVER_TIMEOUT;
        while last != expected {
            assert!(Instant::now() < until, "{expression}: {last:?}, not {expected:?}");
            std::thread::sleep(Duration::from_millis(200));
            last = self.query(expression);
        }
    }
}

/// HTTP/1.0, so that the answer is not in chunks.
fn answer_10(address: &str, path: &str) -> String {
    let mut stream = connected(address);
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut all = String::new();
    std::io::Read::read_to_string(&mut stream, &mut all).unwrap();
    all.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned())
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

fn output(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

#[test]
#[ignore = "make prometheus"]
fn prometheus_counts_what_was_started() {
    if !are_here(&["prometheus", "prometheus-node-exporter"]) || !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("textfiles");
    fs::create_dir(&files).unwrap();
    let file = files.join("firstbyte.prom");
    let read = firstbyte(&["--first-output", "--textfile", file.to_str().unwrap()], &["sh", "-c", LOOP])
        .output()
        .unwrap();
    assert!(file.exists(), "{read:?}");

    let exporter = format!("127.0.0.1:{}", free_port());
    let mut command = Command::new("prometheus-node-exporter");
    command.args(["--collector.disable-defaults", "--collector.textfile"]);
    command.arg(format!("--web.listen-address={exporter}"));
    command.arg(format!("--collector.textfile.directory={}", files.display()));
    let _exporter = Server::start(&mut command, &folder.path().join("exporter.log"));
    patiently("the node exporter is ready", || std::net::TcpStream::connect(&exporter).ok());

    let watch = Listening::start(&[]);
    let prometheus = Prometheus::start(folder.path(), &[("firstbyte", &watch.address), ("node", &exporter)]);
    for job in ["firstbyte", "node"] {
        let of = |metric: &str, program: &str| format!("{metric}{{job=\"{job}\",program=\"{program}\"}}");
        prometheus.becomes(&of("firstbyte_execs_total", "true"), &[200.0]);
        prometheus.becomes(&of("firstbyte_startup_seconds_count", "true"), &[200.0]);
        prometheus.becomes(&of("firstbyte_lifetime_seconds_count", "true"), &[200.0]);
        prometheus.becomes(&of("firstbyte_failed_execs_total", "other"), &[7.0]);
        prometheus.becomes(
            &format!("firstbyte_startup_seconds_bucket{{job=\"{job}\",program=\"true\",le=\"+Inf\"}}"),
            &[200.0],
        );
        prometheus.becomes(&format!("firstbyte_lost_events_total{{job=\"{job}\"}}"), &[0.0]);
        prometheus.becomes(&format!("up{{job=\"{job}\"}}"), &[1.0]);
    }
    prometheus.becomes("node_textfile_scrape_error", &[0.0]);
    let kinds = prometheus.asked("/api/v1/targets/metadata?metric=firstbyte_startup_seconds");
    assert!(kinds["data"].as_array().unwrap().iter().all(|one| one["type"] == "histogram"), "{kinds}");

    for expression in expressions() {
        let filled =
            expression.replace("$__rate_interval", "5m").replace("$instance", ".*").replace("$program", ".*");
        assert!(!filled.contains('$'), "{filled}");
        patiently(&filled, || Some(prometheus.query(&filled)).filter(|values| !values.is_empty()));
    }
    let rules = patiently("rules are evaluated", || {
        let rules = prometheus.asked("/api/v1/rules");
        (!rules.to_string().contains("\"health\":\"unknown\"")).then_some(rules)
    });
    assert!(!rules.to_string().contains("\"health\":\"err\""), "{rules}");
    prometheus.becomes("count(instance:firstbyte_execs:rate5m) >= 1", &[2.0]);
}

#[test]
#[ignore = "make prometheus"]
fn promtool_accepts_the_pages_and_the_rules() {
    if !are_here(&["promtool"]) || !works() {
        return;
    }
    let watch = Listening::start(&[]);
    let page = answer(&watch.address, "GET /metrics HTTP/1.1\r\n\r\n").body;
    let mut check = Command::new("promtool");
    let mut check = check
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let said = check.wait_with_output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty() && said.stdout.is_empty(), "{said:?}");

    let folder = tempfile::tempdir().unwrap();
    for name in ["firstbyte-rules.yml", "firstbyte-alerts.yml", "prometheus.yml"] {
        fs::copy(repository("packaging/prometheus").join(name), folder.path().join(name)).unwrap();
    }
    fs::copy(repository("tests/prometheus/rules-test.yml"), folder.path().join("rules-test.yml")).unwrap();
    let promtool = |words: &[&str]| output(Command::new("promtool").current_dir(folder.path()).args(words));
    promtool(&["check", "rules", "firstbyte-rules.yml", "firstbyte-alerts.yml"]);
    promtool(&["check", "config", "prometheus.yml"]);
    promtool(&["test", "rules", "rules-test.yml"]);
}

/// An independent reader of `OpenMetrics`, which refuses more than Prometheus does.
#[test]
#[ignore = "make prometheus"]
fn the_reference_reader_accepts_the_page() {
    let python = "/usr/bin/python3";
    let reader = "import sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n\
                  families = list(read(sys.stdin.read()))\n\
                  print(sum(s.value for f in families for s in f.samples if s.name == 'firstbyte_execs_total' and s.labels['program'] == 'true'))";
    let there = Command::new(python).args(["-c", "import prometheus_client"]).output();
    if !there.is_ok_and(|there| there.status.success()) {
        return skipped("python3-prometheus-client is missing; make prometheus installs it");
    }
    if !works() {
        return;
    }
    let watch = Listening::start(&[]);
    let page =
        answer(&watch.address, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n").body;
    let mut child = Command::new(python)
        .args(["-c", reader])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim().trim_end_matches(".0"), "200");
}

/// The block of docs/prometheus.md that contains this word.
fn recipe(word: &str) -> String {
    let page = fs::read_to_string(repository("docs/prometheus.md")).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.into_iter().find(|block| block.contains(word)).unwrap()
}

/// A folder with a recipe's programs in front of PATH.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_firstbyte"), folder.path().join("bin/firstbyte"))
            .unwrap();
        Bench { folder }
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a recipe, and checks the page: the machines, each with its figures.
    fn run(&self, recipe: &str, variables: &[(&str, &str)], machines: &[&str]) {
        let path = format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-eu", "-c", recipe]).current_dir(self.folder.path()).env("PATH", path);
        output(command.envs(variables.iter().copied()));
        let page = fs::read_to_string(self.folder.path().join("machines.html")).unwrap();
        assert!(page.contains(&format!("{} files: medians from ", machines.len())), "{}", page.len());
        for machine in machines {
            assert!(page.contains(&format!("/bin/true ({machine})")), "{machine}");
            let file = self.folder.path().join("results").join(format!("{machine}.json"));
            let document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            assert_eq!(document["results"][0]["times"].as_array().unwrap().len(), 50);
        }
    }
}

#[test]
#[ignore = "make prometheus"]
fn the_recipe_with_gnu_parallel_measures_on_each_machine() {
    if !are_here(&["parallel"]) {
        return;
    }
    let bench = Bench::new();
    // there is only one machine here, and it has no server
    bench.script("ssh", "#!/bin/sh\nshift\nexec sh -c \"$*\"\n");
    let machines = ["alpha", "beta", "gamma", "delta", "epsilon"];
    fs::write(bench.folder.path().join("machines.txt"), machines.join("\n") + "\n").unwrap();
    bench.run(&recipe("parallel --jobs"), &[("HOME", bench.folder.path().to_str().unwrap())], &machines);
}

/// A cluster of three nodes on this machine.
struct Cluster {
    _servers: Vec<Server>,
    configuration: PathBuf,
}

impl Cluster {
    fn start(folder: &Path) -> Cluster {
        for part in ["state", "spool", "munge"] {
            fs::create_dir(folder.join(part)).unwrap();
        }
        let root = folder.display();
        let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let socket = folder.join("munge/socket");
        let key = folder.join("munge/key");
        fs::write(&key, [7; 128]).unwrap();
        for (path, mode) in [(folder, 0o755), (&folder.join("munge"), 0o755), (&key, 0o400)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut munged = Command::new("/usr/sbin/munged");
        munged.args(["--foreground", "--force"]).arg(format!("--socket={}", socket.display()));
        for (option, name) in
            [("key-file", "key"), ("log-file", "log"), ("pid-file", "pid"), ("seed-file", "seed")]
        {
            munged.arg(format!("--{option}={root}/munge/{name}"));
        }
        let mut servers = vec![Server::start(&mut munged, &folder.join("munged.out"))];
        patiently("munge is ready", || socket.exists().then_some(()));

        let ports: Vec<u16> = (0..4).map(|_| free_port()).collect();
        let nodes: Vec<String> = (1..4)
            .map(|n| {
                format!(
                    "NodeName=node{n} NodeHostname={} NodeAddr=127.0.0.1 Port={} CPUs=1 State=UNKNOWN\n",
                    hostname.trim(),
                    ports[n]
                )
            })
            .collect();
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={socket}\nStateSaveLocation={root}/state\nSlurmdSpoolDir={root}/spool/%n\n\
             SlurmctldPidFile={root}/ctld.pid\nSlurmdPidFile={root}/%n.pid\nSlurmctldLogFile={root}/ctld.log\nSlurmdLogFile={root}/%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/linear\nSwitchType=switch/none\nMpiDefault=none\n\
             ReturnToService=2\nSlurmdParameters=config_overrides\n{nodes}PartitionName=all Nodes=node[1-3] Default=YES MaxTime=INFINITE State=UP\n",
            nodes = nodes.concat(),
            host = hostname.trim(),
            port = ports[0],
            socket = socket.display(),
        );
        let configuration = folder.join("slurm.conf");
        fs::write(&configuration, text).unwrap();
        let daemon = |name: &str| {
            let mut command = Command::new(format!("/usr/sbin/{name}"));
            command.args(["-D", "-f"]).arg(&configuration);
            command
        };
        servers.push(Server::start(daemon("slurmctld").arg("-c"), &folder.join("ctld.out")));
        for n in 1..4 {
            servers.push(Server::start(
                daemon("slurmd").args(["-N", &format!("node{n}")]),
                &folder.join(format!("node{n}.out")),
            ));
        }
        let cluster = Cluster { _servers: servers, configuration };
        patiently("three nodes are idle", || {
            let mut sinfo = Command::new("sinfo");
            let said = sinfo
                .args(["--noheader", "--format=%T %D"])
                .env("SLURM_CONF", &cluster.configuration)
                .output()
                .ok()?;
            (String::from_utf8_lossy(&said.stdout).trim() == "idle 3").then_some(())
        });
        cluster
    }
}

#[test]
#[ignore = "make prometheus"]
fn the_recipe_with_slurm_measures_on_each_node() {
    let programs = ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged"];
    if programs.iter().any(|program| !Path::new(program).exists()) || !are_here(&["srun"]) {
        return skipped("slurm and munge are missing; make prometheus installs them");
    }
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can start the servers of Slurm");
    }
    let bench = Bench::new();
    let servers = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(servers.path());
    let variables = [("SLURM_CONF", cluster.configuration.to_str().unwrap())];
    bench.run(&recipe("srun --nodes"), &variables, &["node1", "node2", "node3"]);
}
