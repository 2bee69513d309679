//! Causes that are named by their file, variable, address or holder.

use super::*;
use crate::analysis::model::Wake;
use crate::analysis::profile::{Kind, Work};
use firstbyte_measure::launch::KnownEnvironment;

fn found(summary: &Summary, rule: &str) -> Option<Finding> {
    findings(summary, &MachineFacts::default()).into_iter().find(|finding| finding.rule == rule)
}

fn calling(text: &str, file: Option<&str>, failed: bool) -> What {
    let name = text.split('(').next().unwrap_or_default().into();
    What::Call { name, text: text.to_owned(), file: file.map(Into::into), failed, code: None }
}

fn environment(variables: &[(&str, String)]) -> KnownEnvironment {
    KnownEnvironment::Whole(variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
}

/// The second of two threads has something until it wakes the first one after 300 µs.
fn woken_by(waiting: &What, doing: &What) -> Account {
    let mut account = run(vec![(500_000, What::User), (300_000, What::User), (200_000, What::User)]);
    let step = |start, elapsed, what: &What| {
        let elapsed = Nanos(elapsed);
        Step { start: Nanos(start), elapsed, self_time: elapsed, what: what.clone().into() }
    };
    let mut holder = account.threads[0].clone();
    holder.tid = ROOT + 1;
    holder.start = Nanos(100_000);
    holder.steps = vec![step(100_000, 699_000, &What::User), step(799_000, 2_000, doing)];
    account.threads[0].steps.insert(1, step(499_000, 302_000, waiting));
    let wake = Wake { from: Nanos(500_000), woken: Nanos(800_000), waker: [ROOT, ROOT + 1] };
    account.threads[0].wakes.push(wake);
    account.threads.push(holder);
    let piece = |thread, from, to| {
        let tid = ROOT + u32::try_from(thread).unwrap();
        PathPiece { thread, pid: ROOT, tid, from: Nanos(from), to: Nanos(to) }
    };
    account.path = vec![piece(0, 0, 500_000), piece(1, 500_000, 800_000), piece(0, 800_000, 1_000_000)];
    account
}

#[test]
fn a_lock_is_named_with_who_holds_it() {
    let of = |waiting: &What, doing: &What| {
        found(&Summary::of(vec![woken_by(waiting, doing)]).unwrap(), "locks").map(|it| (it.cost.0, it.text))
    };
    let close = calling("close(4</c/cache.lock>) = 0", Some("/c/cache.lock"), false);
    let flock = calling("flock(3</c/cache.lock>, LOCK_EX) = 0", Some("/c/cache.lock"), false);
    let (cost, text) = of(&flock, &close).unwrap();
    assert_eq!(cost, 300_000);
    let expected = "waits once for the lock of `/c/cache.lock`, which its thread 1 holds until then";
    assert!(text.contains(expected), "{text}");
    let interrupted = calling("flock(3</c/cache.lock>, LOCK_EX) = -1 EINTR", Some("/c/cache.lock"), true);
    assert_eq!(of(&interrupted, &close), None);

    let wait =
        |value: &str| calling(&format!("futex(0x10, FUTEX_WAIT_PRIVATE, {value}, NULL) = 0"), None, false);
    let wake = |address: &str| calling(&format!("futex({address}, FUTEX_WAKE_PRIVATE, 1) = 1"), None, false);
    assert!(
        of(&wait("2"), &wake("0x10")).unwrap().1.contains("for a lock in memory, which its thread 1 holds")
    );
    assert_eq!((of(&wait("2"), &wake("0x20")), of(&wait("7"), &wake("0x10"))), (None, None), "no lock");
}

#[test]
fn an_address_that_refuses_has_its_attempts_and_the_time_between_them() {
    let connect = |address: &str, result: &str| {
        let text = format!("connect(3<socket>, {address}, 16) = {result}");
        (10_000, calling(&text, Some("socket"), result != "0"))
    };
    let server = "{sa_family=AF_INET, 127.0.0.1:5432}";
    let sleep = (200_000, What::Off(Reason::For(Wait::Sleep)));
    let of = |steps: Vec<(u64, What)>| {
        let found = found(&Summary::of(vec![run([quiet(), steps].concat())]).unwrap(), "failed-connections");
        found.map(|it| (it.cost.0, it.saves.unwrap().0, it.text))
    };
    let refused = connect(server, "-1 ECONNREFUSED");
    let retried = vec![
        refused.clone(),
        sleep.clone(),
        refused.clone(),
        sleep.clone(),
        connect(server, "0"),
        sleep.clone(),
    ];
    let (cost, saves, text) = of(retried).unwrap();
    assert_eq!((cost, saves), (430_000, 430_000), "what follows the connection is no attempt");
    assert!(
        text.starts_with("Connecting to `127.0.0.1:5432` fails 2 times (ECONNREFUSED), and then succeeds.")
    );
    let unix = connect("{sa_family=AF_UNIX, sun_path=\"/run/x\"}", "-1 ENOENT");
    assert!(
        of(vec![unix.clone(), sleep.clone(), unix])
            .unwrap()
            .2
            .contains("`/run/x` fails 2 times (ENOENT). Start")
    );
    assert_eq!(of(vec![refused]), None, "one that is refused at once costs nothing");
    assert_eq!(of(vec![connect(server, "-1 EINPROGRESS"), sleep, connect(server, "0")]), None);
}

#[test]
fn a_connection_that_is_polled_is_waited_for_until_it_is_accepted() {
    let connect = "connect(3<socket>, {sa_family=AF_INET, 10.0.0.2:80}, 16) = -1 EINPROGRESS";
    let poll = calling("poll([{fd=3, events=POLLOUT}], 1, 5000) = 1", None, false);
    let steps = vec![(1_000, calling(connect, Some("socket"), true)), (1_000, poll)];
    let mut account = run([quiet(), steps, vec![(500_000, What::Off(Reason::For(Wait::Poll)))]].concat());
    let call = account.steps.len() - 2;
    account.steps[call].elapsed = Nanos(600_000);
    let text = found(&Summary::of(vec![account]).unwrap(), "waits").unwrap().text;
    assert!(text.starts_with(
        "The program waits until its connection is accepted (once, the longest for `10.0.0.2:80`)"
    ));
}

#[test]
fn a_large_environment_has_its_size_and_its_largest_variables() {
    let copying = (50_000, What::Exec { stage: ExecStage::Open, path: "/x".into() });
    let summary = Summary::of(vec![run([vec![copying], quiet()].concat())]).unwrap();
    let with = |bytes: usize| {
        let secret = "s3cret".repeat(bytes / 6);
        let environment = environment(&[("HOME", "/root".to_owned()), ("TOKEN", secret)]);
        found(&Summary { environment, ..summary.clone() }, "large-environment")
    };
    let large = with(180_000).unwrap();
    assert_eq!((large.cost, large.saves), (Nanos(50_000), None));
    let expected = "has 180018 bytes in 2 variables, the largest: `TOKEN` (180007), `HOME` (11). The kernel";
    assert!(large.text.contains(expected) && !large.text.contains("s3cret"), "{}", large.text);
    assert_eq!(with(120_000), None);
}

#[test]
fn what_a_runtime_parses_is_named_if_one_file_has_nearly_all_bytes() {
    let read = |path: &str, bytes: u64| {
        let text = format!("read(3<{path}>, 0x10, 131072) = {bytes}");
        (1_000, calling(&text, Some(path), false))
    };
    let time = Estimate { time: 500_000.0, low: 400_000.0, high: 600_000.0 };
    let text = |kind, rule, files: &[(&str, u64)]| {
        let account =
            run(quiet().into_iter().chain(files.iter().map(|(path, bytes)| read(path, *bytes))).collect());
        let work = Work { kind, time, function: None, caller: None, only: false };
        let divided = Divided { works: vec![work], ..Divided::default() };
        let user_code = Some(UserCode { divided, ..UserCode::default() });
        found(&Summary { user_code, ..Summary::of(vec![account]).unwrap() }, rule).unwrap().text
    };
    let large = ("/d/data.json", 131_072);
    let json = text(Kind::Json, "json", &[large, large, ("/d/package.json", 900), ("/d/app.js", 500_000)]);
    assert!(
        json.contains(
            ". Of the files of this kind that it reads, `/d/data.json` has nearly all bytes (262144)."
        ),
        "{json}"
    );
    let two = text(Kind::Json, "json", &[large, ("/d/other.json", 131_072)]);
    assert!(!two.contains("files of this kind"), "{two}");
    let yaml = text(Kind::Yaml, "yaml", &[("/d/big.yml", 131_072), large]);
    assert!(yaml.contains("`/d/big.yml` has nearly all bytes (131072)"), "{yaml}");
    let bundle = text(Kind::Compilation, "compilation", &[("/d/bundle.js", 131_072), ("/d/small.js", 50)]);
    assert!(bundle.contains("`/d/bundle.js` has nearly all"), "{bundle}");
}

/// Python asks for each of these folders three times, lists it, and opens a module in `/lib`.
fn searches(folders: usize, executed: &str) -> Summary {
    let stat =
        |path: &str| (1_000, calling(&format!("newfstatat(AT_FDCWD, \"{path}\") = 0"), Some(path), false));
    let list = |path: &str| (1_000, calling(&format!("getdents64(3<{path}>) = 48"), Some(path), false));
    let folder = |path: String| [stat(&path), stat(&path), list(&path), (7_000, What::User)];
    let searched = (0..folders).flat_map(|n| folder(format!("/e{n:02}")));
    let used = [stat("/lib"), stat("/lib"), list("/lib"), stat("/lib/wanted.py")];
    let again = (0..folders).map(|n| stat(&format!("/e{n:02}")));
    let mut account = run(quiet().into_iter().chain(searched).chain(used).chain(again).collect());
    account.processes[0].execs[0].executed = executed.into();
    let path = (0..folders).map(|n| format!("/e{n:02}")).collect::<Vec<_>>().join(":");
    let environment = environment(&[("PYTHONPATH", path)]);
    Summary { environment, ..Summary::of(vec![account]).unwrap() }
}

#[test]
fn folders_in_which_python_finds_nothing_are_named_with_their_variable() {
    let finding = found(&searches(20, "/usr/bin/python3.11"), "searched-folders").unwrap();
    // the code after the last folder is that of the one that has the module; the second search is 20 calls
    assert_eq!((finding.cost.0, finding.saves), (20 * 10_000 - 7_000 + 20 * 1_000, Some(finding.cost)));
    let expected = "searches 20 folders, such as `/e00`, for what it imports, and uses no file of them. `PYTHONPATH` names";
    assert!(finding.text.contains(expected), "{}", finding.text);
    assert_eq!(found(&searches(9, "/usr/bin/python3.11"), "searched-folders"), None);
    assert_eq!(found(&searches(20, "/usr/bin/find"), "searched-folders"), None, "it lists what it looks for");
}
