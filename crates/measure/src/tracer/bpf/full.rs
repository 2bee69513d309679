//! Attaches the full-mode programs and observes runs with them: every system call, fault, switch and image.

use super::attach::{AttachError, Loading, Object, loaded, taken};
use super::event_costs::{self, Pair};
use super::family::Family;
use super::full_hooks::FullHooks;
use super::full_records::{LongPaths, add, records};
use super::full_session::{FullSession, LOG_BYTES, Shared, Tables, ThreadSlot};
use super::ids::Ids;
use super::killed_calls::correct_killed_calls;
use super::meaning_table;
use super::namespace::Namespace;
use super::ring_drain::RingDrain;
use super::run_counts::RunCounts;
use super::shared_run::{CALLS, Run, observed_run};
use super::skipped::Skipped;
use super::survivors::kill_survivors;
use crate::Counts;
use crate::arch::{Abi, PathPositions, buffers, path_arguments, structures};
use crate::launch::{LaunchError, Launcher, tree};
use crate::tracer::EventCosts;
use crate::tracer::event::WantedContents;
use crate::tracer::{Backend, ChooseError, Event, EventKind, Recording, RunOptions, Tracer, frame};
use aya::Ebpf;
use aya::maps::{HashMap, MapData, RingBuf};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/full.bpf.o"));
static BEFORE_5_12: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/full-before-5.12.bpf.o"));

/// The default size in bytes of the full mode's ring buffer, which gets the records that do not fit the log.
pub const LARGE_RING: u32 = 16 << 20;

/// The loaded programs, attached or not.
pub struct BpfFull {
    programs: Ebpf,
    hooks: FullHooks,
    pub(super) shared: Shared,
    pub(super) ring: RingDrain,
    family: Family,
    /// The map `OVERFLOW`: the state of threads, by their ids.
    threads: HashMap<MapData, u32, ThreadSlot>,
    namespace: Namespace,
    skipped: Skipped,
}

/// The results of the kernel side for one run.
pub(super) struct Observed {
    pub(super) events: Vec<Event>,
    ids: Ids,
    pub(super) lost: u64,
}

impl std::fmt::Debug for BpfFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BpfFull").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

impl BpfFull {
    /// Loads the programs, with a ring buffer of `ring` bytes (a power of two, a multiple of the page size).
    pub fn load(ring: u32) -> Result<BpfFull, AttachError> {
        loaded(|object| if object == Object::Current { OBJECT } else { BEFORE_5_12 }, ring, BpfFull::prepared)
    }

    fn prepared(loading: Loading<'_>, mut programs: Ebpf) -> Result<BpfFull, AttachError> {
        let (ring, namespace) = (loading.ring, loading.namespace);
        let session = array(&mut programs, "SESSION")?;
        let log = array(&mut programs, "RECORDS")?;
        let shared = Shared::map(session.fd().as_fd(), log.fd().as_fd(), &tables(WantedContents::default()))
            .map_err(|e| AttachError::Map { map: "SESSION", cause: e.to_string() })?;
        let events = RingBuf::try_from(taken(&mut programs, "EVENTS")?)
            .map_err(|e| AttachError::Map { map: "EVENTS", cause: e.to_string() })?;
        let family = Family::of(&mut programs)?;
        let threads = HashMap::try_from(taken(&mut programs, "OVERFLOW")?)
            .map_err(|e| AttachError::Map { map: "OVERFLOW", cause: e.to_string() })?;

        let hooks = FullHooks::load(&mut programs, loading)?;
        let skipped = Skipped::since_now(&programs);
        Ok(BpfFull {
            programs,
            hooks,
            shared,
            ring: RingDrain::start(events, ring),
            family,
            threads,
            namespace,
            skipped,
        })
    }

    /// The programs are as this kernel can load them.
    pub(super) fn object(&self) -> Object {
        self.hooks.object()
    }

    /// Attaches the programs. From now on every task of the machine runs them.
    pub fn attach(&mut self) -> Result<(), AttachError> {
        if self.hooks.are_attached() {
            return Ok(());
        }
        self.hooks.attach(&mut self.programs)?;
        let handled = self.hooks.handled().unwrap_or_else(|| self.sees_a_fault());
        self.hooks.attach_rest(&mut self.programs, handled);
        Ok(())
    }

    fn sees_a_fault(&mut self) -> bool {
        self.arm_for_our_child();
        event_costs::one_fault();
        self.collect().events.iter().any(|event| matches!(event.kind, EventKind::Fault(_)))
    }

    /// Detaches them, so that they affect no task of the machine any more.
    pub fn detach(&mut self) -> Result<(), AttachError> {
        self.hooks.detach(&mut self.programs)
    }

    /// The names of the programs that are attached, each once.
    pub fn attached(&self) -> Vec<&'static str> {
        self.hooks.attached()
    }

    /// How this kernel makes the attached programs observe differently from a current one, one clause each.
    pub fn remarks(&self) -> Vec<&'static str> {
        self.hooks.remarks()
    }

    /// Page faults were seen from beginning to end when the programs were last attached.
    pub fn sees_faults(&self) -> bool {
        self.hooks.sees_faults()
    }

    /// The cost of the programs per event, measured on our own children, alternating traced and untraced. Leaves the programs
    /// detached.
    pub fn event_costs(&mut self) -> Result<Option<EventCosts>, AttachError> {
        let (mut pairs, processor) = (Vec::new(), event_costs::processor());
        for _ in 0..event_costs::PAIRS {
            self.detach()?;
            let untraced = event_costs::fastest_rounds(processor);
            self.attach()?;
            self.arm_for_our_child();
            self.ring.watch(true);
            let traced = event_costs::fastest_rounds(processor);
            let [recorded_call, recorded_fault] = event_costs::recorded(&self.collect().events);
            let pair = |(untraced, traced)| Pair { untraced, traced, recorded_call, recorded_fault };
            pairs.extend(untraced.zip(traced).map(pair));
        }
        self.detach()?;
        Ok(event_costs::costs(&pairs))
    }

    /// Chooses which contents of buffers are recorded from now on. Call it while the programs are detached.
    pub fn record_contents(&mut self, wanted: WantedContents) {
        self.shared.write_tables(&tables(wanted));
    }

    /// Runs a launcher's command once and counts what it does, without the peak memory. The programs must be attached. Only a
    /// part of the events is kept, so a run of many calls needs no more memory than others.
    ///
    /// # Errors
    ///
    /// The command cannot be run or observed.
    pub fn count(
        &mut self,
        launcher: &mut Launcher,
        options: &RunOptions,
    ) -> Result<(Counts, Recording), LaunchError> {
        let counted = Arc::new(Mutex::new(RunCounts::default()));
        let counting = Arc::clone(&counted);
        let is_kept =
            move |record: &[u8]| counting.lock().unwrap_or_else(PoisonError::into_inner).is_kept(record);
        self.ring.listen(Some(Box::new(is_kept)));
        let recording = self.run(launcher, options);
        self.ring.listen(None);

        let recording = recording?;
        let counted = std::mem::take(&mut *counted.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((counted.of(&recording), recording))
    }

    fn arm(&mut self, reopened: bool) {
        self.ring.take();
        let run = Run::armed(self.namespace, reopened);
        self.shared.write(FullSession { run, ..FullSession::default() });
        self.ring.watch(true);
    }

    /// The next child of this thread, which makes no exec, is observed from its first moment.
    fn arm_for_our_child(&mut self) {
        let run = Run { exec_begun: 1, ..Run::armed(self.namespace, false) };
        self.shared.write(FullSession { run, ..FullSession::default() });
    }

    /// What was seen of the run since [`BpfFull::arm`]. The tracee must have been reaped.
    fn collect(&mut self) -> Observed {
        let gathered = self.gather();
        self.shared.write(FullSession::default());
        gathered
    }

    /// Like [`BpfFull::collect`], but also kills the processes that the tracee left running, while the kernel side still
    /// follows them. Returns whether there were any. The error names a process that could not be killed.
    fn collect_and_kill(&mut self) -> (Observed, Run, Result<bool, LaunchError>) {
        let observed = self.gather();
        let run = self.shared.read().run;
        let outlived =
            if run.others > 0 { kill_survivors(|| self.family.living(run.root)) } else { Ok(false) };
        let left = self.shared.read().run;
        self.shared.write(FullSession::default());
        if left.others != 0 {
            self.family.forget(left.root);
        }

        let adopted = tree::kill_adopted();
        (observed, run, outlived.and_then(|lived| adopted.map(|()| lived)))
    }

    /// The next process that the calling thread creates is followed from its exec on, by whatever waits for it.
    pub(super) fn arm_next_child(&mut self) {
        self.shared.write(FullSession { run: Run::armed(self.namespace, false), ..FullSession::default() });
    }

    /// Forgets the processes and threads that a run has left. No program may follow it any more.
    pub(super) fn forget_run(&mut self, run: &Run) {
        if run.others != 0 {
            self.family.forget_all();
        }
        if run.overflown != 0 {
            let left: Vec<u32> = self.threads.keys().flatten().collect();
            for tid in left {
                let _ = self.threads.remove(&tid);
            }
        }
        self.ring.take();
    }

    /// Everything since [`BpfFull::arm`].
    fn gather(&mut self) -> Observed {
        self.ring.watch(false);
        let spilled = self.ring.take();
        self.read_records(spilled)
    }

    /// The events of the log, and of the records that did not fit it. Each of these is given back when it has been read.
    pub(super) fn read_records(&self, spilled: Vec<Vec<u8>>) -> Observed {
        let session = self.shared.read();
        let (mut ids, mut lost) = (Ids::default(), session.run.lost);

        let log = self.shared.log(&session);
        let read: usize = records(&log).map(<[u8]>::len).sum();
        let mut events = Vec::with_capacity(records(&log).count() + spilled.len());
        let mut longer = LongPaths::default();
        let mut read_record = |record: &[u8]| {
            ids.learn(record);
            lost += u64::from(add(&mut events, &mut longer, record).is_none());
        };
        records(&log).for_each(&mut read_record);
        for record in spilled {
            read_record(&record);
        }

        // the log is full once the largest record no longer fits
        if read < log.len() && log.len() < LOG_BYTES {
            lost += 1;
        }
        events.sort_by_key(|event| event.at);
        correct_killed_calls(&mut events);
        Observed { events, ids, lost }
    }
}

impl Tracer for BpfFull {
    fn backend(&self) -> Backend {
        Backend::Bpf
    }

    fn attach(&mut self) -> Result<(), ChooseError> {
        BpfFull::attach(self).map_err(|error| ChooseError::Switch(error.to_string()))
    }

    fn detach(&mut self) -> Result<(), ChooseError> {
        BpfFull::detach(self).map_err(|error| ChooseError::Switch(error.to_string()))
    }

    fn run(&mut self, launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
        let mut stdout = options.stdout()?;
        self.arm(options.output.is_read());
        let ended = observed_run(launcher, &mut stdout, options.timeout);
        let (Observed { mut events, ids, mut lost }, seen, outlived) = self.collect_and_kill();
        lost += self.skipped.read(&self.programs);
        let (child, ended) = ended?;
        if seen.hidden != 0 {
            return Err(LaunchError::OtherRights { program: launcher.command().program().to_owned() });
        }
        let mut recording = frame(Backend::Bpf, launcher, options, &child, &ended, stdout.finish());
        recording.left_behind |= outlived?;
        recording.lost = lost + ids.translate(&mut events, &seen, recording.root);
        recording.events.retain(|event| !matches!(event.kind, EventKind::FirstRead { .. }));
        recording.events.extend(events);
        recording.end_at_listen();
        recording.add_output_events();
        Ok(recording)
    }
}

fn tables(contents: WantedContents) -> Tables {
    Tables {
        meaning: meaning_table::table(),
        takes: takes(Abi::Native, contents),
        compat_takes: takes(Abi::Compat, contents),
        content_bytes: contents.bytes.min(WantedContents::MOST_BYTES).into(),
        padding: 0,
    }
}

/// As `takes` in `full_session.h`.
fn takes(abi: Abi, contents: WantedContents) -> [u32; CALLS] {
    let mut table = [0; CALLS];
    for (number, paths) in path_arguments().of(abi) {
        add_code(&mut table, number, paths_code(paths));
    }
    for (number, (position, kind)) in structures().of(abi) {
        add_code(&mut table, number, (u32::from(position) + 1) << 8 | (kind.layout() as u32) << 12);
    }
    for (number, (position, kind)) in buffers().of(abi).filter(|(_, (_, kind))| contents.wants(*kind)) {
        add_code(&mut table, number, (u32::from(position) + 1) << 16 | (kind as u32) << 20);
    }
    table
}

fn add_code(table: &mut [u32; CALLS], number: u32, code: u32) {
    if let Some(entry) = table.get_mut(number as usize) {
        *entry |= code;
    }
}

fn paths_code([first, second]: PathPositions) -> u32 {
    let code = |position: Option<u8>| position.map_or(0, |position| u32::from(position) + 1);
    code(first) | code(second) << 4
}

fn array(programs: &mut Ebpf, name: &'static str) -> Result<MapData, AttachError> {
    match taken(programs, name)? {
        aya::maps::Map::Array(map) => Ok(map),
        _ => Err(AttachError::Map { map: name, cause: "not an array".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::skipped;
    use super::*;

    #[test]
    fn a_twin_records_what_the_first_program_did_not_see() {
        let load = || BpfFull::load(LARGE_RING).and_then(|mut tracer| tracer.attach().map(|()| tracer));
        skipped::twins::agree(load, |tracer, names| {
            tracer.hooks.detach_only(&mut tracer.programs, names);
        });
    }
}
