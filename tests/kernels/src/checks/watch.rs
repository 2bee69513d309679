//! `firstbyte watch` of a tracee whose processes and execs are known.

use super::{Check, check, right, skipped, tracee};
use crate::report::Checked;
use crate::tool::{User, document, same};
use serde_json::Value;

pub(super) fn list() -> Vec<Check> {
    vec![check("bpf", "watch", watch)]
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
