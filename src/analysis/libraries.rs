//! What the dynamic loader does with each file, and which libraries it loads for nothing.
//!
//! The first instruction that runs in a mapping takes a page fault, and the kernel then maps only the pages around it. So a
//! large library whose code took no fault between its initialisation and its end ran none of its code in between.

use super::binaries::{Binaries, FileBinaries};
use super::loads::{EXECUTABLE, LIBRARY, Load};
use super::model::{Account, ProcessAccount, ThreadAccount};
use super::step::{PageFault, Region, Role, Step, What};
use crate::inspect::headers::Linking;
use firstbyte_measure::tracer::module::{LoadSegment, MemoryLayout};
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The kernel maps this many bytes at once around a page that is touched (`fault_around_bytes` in `mm/memory.c`).
const AROUND: u64 = 64 << 10;

/// A library with less code may run without a page fault of its own: in the pages around its initialisation.
const MIN_CODE_BYTES: u64 = 8 * AROUND;

/// A file that the dynamic loader links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFile {
    pub path: Arc<str>,
    /// In how many programs.
    pub programs: u64,
    pub linking: Linking,
    /// It has much code, and none of it ran besides its initialisation.
    pub is_idle: bool,
}

/// The programs and libraries of a run, by path.
pub fn linked(account: &Account, loads: &[Load], binaries: &FileBinaries) -> Vec<LinkedFile> {
    let mut programs: BTreeMap<&Arc<str>, u64> = BTreeMap::new();
    let is_linked = |load: &&Load| matches!(load.runtime, EXECUTABLE | LIBRARY);
    for path in loads.iter().filter(is_linked).filter_map(|load| load.file.as_ref()) {
        *programs.entry(path).or_default() += 1;
    }

    let running = running(account, binaries);
    let linked = programs.into_iter().map(|(path, programs)| LinkedFile {
        path: Arc::clone(path),
        programs,
        linking: binaries.linking(path),
        is_idle: running.as_ref().is_some_and(|running| !running.contains(path))
            && code_of(path, binaries).is_some_and(|code| code.file_size >= MIN_CODE_BYTES),
    });
    linked.collect()
}

/// The files whose own code ran after the start of their programs; `None`: page faults do not show it.
fn running(account: &Account, binaries: &FileBinaries) -> Option<BTreeSet<Arc<str>>> {
    let mut executed = account.processes.iter().flat_map(|process| &process.execs);
    let show_it = |path: &str| binaries.layout(path).is_some_and(|layout| has_separate_code(&layout));
    if account.page_faults().is_none() || !executed.all(|exec| show_it(&exec.executed)) {
        return None;
    }

    let mut running: BTreeSet<Arc<str>> = account
        .processes
        .iter()
        .flat_map(|process| &process.execs)
        .map(|it| Arc::clone(&it.executed))
        .collect();
    let mut of_process: HashMap<u32, Vec<&ThreadAccount>> = HashMap::new();
    for thread in &account.threads {
        of_process.entry(thread.pid).or_default().push(thread);
    }
    for process in &account.processes {
        let threads = of_process.get(&process.pid).map_or(&[][..], Vec::as_slice);
        let starts = starts(process, threads);
        let own_code = threads.iter().flat_map(|thread| &thread.steps).filter_map(|step| {
            let (path, page) = touched_by_itself(step)?;
            let begun = starts.iter().rev().find(|[exec, _]| *exec <= step.start);
            let is_of_program = begun.is_none_or(|[_, begun]| *begun <= step.start);
            let code = code_of(path, binaries)?;
            // what runs at the exit is at the end (`.fini`)
            let end = code.offset.saturating_add(code.file_size).saturating_sub(AROUND);
            (is_of_program && (code.offset..end).contains(&page)).then_some(path)
        });
        running.extend(own_code.cloned());
    }
    Some(running)
}

/// For each exec of a process: when it was entered, and when the program's own code ran first. What runs before that are the
/// loader and the initialisation of libraries.
fn starts(process: &ProcessAccount, threads: &[&ThreadAccount]) -> Vec<[Nanos; 2]> {
    let own_code = |step: &&Step| {
        let code = match &*step.what {
            What::Call { code, .. } => code.as_ref(),
            What::Fault(fault) => fault.code.as_ref(),
            _ => None,
        };
        code.is_some_and(|code| code.module.role == Role::Executable)
    };
    let first_after = |exec: Nanos| {
        let steps = threads.iter().flat_map(|thread| &thread.steps);
        steps.filter(|step| step.start > exec).filter(own_code).map(|step| step.start).min()
    };
    process.execs.iter().map(|exec| [exec.start, first_after(exec.start).unwrap_or(exec.start)]).collect()
}

/// The file and the page, if a file's own code took a page fault in it.
fn touched_by_itself(step: &Step) -> Option<(&Arc<str>, u64)> {
    match &*step.what {
        What::Fault(PageFault { region: Region::File(path), page, code: Some(by), .. }) => {
            (by.module.path == *path).then_some((path, *page))
        }
        _ => None,
    }
}

/// The segment with a file's code, if it has one of its own.
fn code_of(path: &str, binaries: &FileBinaries) -> Option<LoadSegment> {
    let layout = binaries.layout(path)?;
    let mut segments = layout.segments.iter().filter(|segment| segment.executable);
    segments.next().copied().filter(|_| segments.next().is_none())
}

/// Where headers and code share a mapping, the code is there as soon as the loader has read the headers.
fn has_separate_code(layout: &MemoryLayout) -> bool {
    layout.segments.iter().all(|segment| !segment.executable || segment.offset > 0)
}
