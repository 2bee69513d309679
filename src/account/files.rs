//! The files of a start-up: opened, tried, read, mapped, touched.

use super::model::{ThreadAccount, is_open};
use super::step::What;
use firstbyte_measure::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was done with one file, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAccount {
    /// Its path, as the program gave it.
    pub path: Arc<str>,
    /// Successful opens.
    pub opened: u64,
    /// Opens that failed.
    pub failed: u64,
    /// Other system calls about it.
    pub calls: u64,
    /// Bytes that `read`-like calls gave.
    pub bytes_read: u64,
    /// Page faults on its pages.
    pub faults: u64,
    /// Of those, with I/O.
    pub major_faults: u64,
    /// Time of all these, without what lies within and is not theirs.
    pub time: Nanos,
}

/// All files of some threads, the costliest first.
pub(super) fn of_steps(threads: &[ThreadAccount], bytes_read: &[(Arc<str>, u64)]) -> Vec<FileAccount> {
    let mut files: BTreeMap<Arc<str>, FileAccount> = BTreeMap::new();
    for step in threads.iter().flat_map(|thread| &thread.steps) {
        let path = match &step.what {
            What::Call { file: Some(path), .. } => path,
            What::Fault(fault) => match fault.region.file() {
                Some(path) => path,
                None => continue,
            },
            _ => continue,
        };
        let file = files.entry(Arc::clone(path)).or_default();
        file.time = Nanos(file.time.0.saturating_add(step.own.0));
        match &step.what {
            What::Call { name, failed: true, .. } if is_open(name) => file.failed += 1,
            What::Call { name, .. } if is_open(name) => file.opened += 1,
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
