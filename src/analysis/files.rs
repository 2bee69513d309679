//! Which files a start-up opens, looks for, reads, maps and touches.

use super::model::{FileAccount, ThreadAccount};
use super::step::What;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All files of some threads, the most expensive first. `bytes_read` is what `read` and similar calls returned, by file.
pub(super) fn of_threads(threads: &[ThreadAccount], bytes_read: &[(Arc<str>, u64)]) -> Vec<FileAccount> {
    let mut files: BTreeMap<Arc<str>, FileAccount> = BTreeMap::new();
    for step in threads.iter().flat_map(|thread| &thread.steps).filter(|step| !step.what.is_mark()) {
        let path = match &*step.what {
            What::Call { file: Some(path), .. } => path,
            What::Fault(fault) => match fault.region.file() {
                Some(path) => path,
                None => continue,
            },
            _ => continue,
        };
        let file = files.entry(Arc::clone(path)).or_default();
        file.time = Nanos(file.time.0.saturating_add(step.self_time.0));
        match &*step.what {
            What::Call { failed: true, .. } if step.what.opens() => file.failed += 1,
            What::Call { .. } if step.what.opens() => file.opened += 1,
            What::Fault(fault) => {
                file.faults += 1;
                file.major_faults += u64::from(fault.major);
            }
            _ => file.calls += 1,
        }
    }

    for (path, bytes) in bytes_read {
        files.entry(Arc::clone(path)).or_default().bytes_read += bytes;
    }

    let mut all: Vec<FileAccount> =
        files.into_iter().map(|(path, file)| FileAccount { path, ..file }).collect();
    all.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.path.cmp(&b.path)));
    all
}
