//! `firstbyte watch` of a tracee whose processes and execs are known.

use super::{Check, check, right, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, same};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) fn list() -> Vec<Check> {
    vec![check("bpf", "watch", watch), check("bpf", "watch of the machine", watch_machine)]
}

/// The tracee's `vfork` executes the tracee once more.
fn watch() -> Checked {
    let Some(writer) = tracee("writer_c") else { return skipped("the tracee was not built") };
    let document = document(User::Root, &["watch", "--json", "--", &writer, "vfork"])?;
    same("lost events", &document["lost_events"], &Value::from(0))?;
    for (name, wanted) in [("execs", 2), ("processes", 2), ("forks", 0), ("failed", 0), ("running", 0)] {
        same(name, &document["totals"][name], &Value::from(wanted))?;
    }
    let of_writer = &document["results"][0];
    same("path", &of_writer["path"], &Value::from(writer))?;
    for times in ["startup_ns", "lifetime_ns"] {
        same(times, &of_writer[times]["count"], &Value::from(2))?;
    }
    right("2 execs")
}

/// How the machine's execs are seen depends on the kernel: by hooks on its functions, or by the tracepoints of system calls.
fn watch_machine() -> Checked {
    let Some(writer) = tracee("writer_c") else { return skipped("the tracee was not built") };
    let document = beside_execs(&writer, || {
        document(User::Root, &["watch", "--json", "--backend", "bpf", "--duration", "10s"])
    })?;
    same("lost events", &document["lost_events"], &Value::from(0))?;

    let results = document["results"].as_array().ok_or("no results")?;
    let of_writer = results.iter().find(|row| row["path"] == *writer).ok_or("the tracee was not seen")?;
    let count = |name: &str| of_writer[name].as_u64().unwrap_or_default();
    let starts = of_writer["startup_ns"]["count"].as_u64().unwrap_or_default();
    // the first one may have begun before the watch did
    if count("execs") < 2 || starts + 1 < count("execs") {
        return Err(format!("{} execs and {starts} start-ups", count("execs")));
    }
    if document["totals"]["failed"].as_u64().is_none_or(|failed| failed == 0) {
        return Err("no failed exec was seen".to_owned());
    }
    right(document["slow_calls"].as_str().unwrap_or("by hooks on functions"))
}

/// The result of `watch`, while this program, and one that does not exist, are executed again and again.
fn beside_execs<T>(program: &str, watch: impl FnOnce() -> T) -> T {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let _ = Command::new(program).arg("silent").status();
                let _ = Command::new("/bin/there-is-no-such-program").status();
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let watched = watch();
        ended.store(true, Ordering::Relaxed);
        watched
    })
}
