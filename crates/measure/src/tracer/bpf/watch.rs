//! Attaches the programs of the watch, and reads what they have recorded.

use super::attach::{AttachError, Loading, Object, loaded, taken};
use super::namespace::Namespace;
use super::ring_drain::RingDrain;
use super::watch_hooks::{Hooks, WantedHooks};
use super::watch_records::{Watched, WatchedBytes, parse};
use super::watch_session::{WatchPage, WatchSession};
use crate::clock;
use crate::launch::{Command, Foreground, LaunchError};
use crate::tracer::Backend;
use crate::tracer::choose::ChooseError;
use crate::tracer::watch::{EndedProgram, Scope, WantedCalls, WatchEvent, Watcher};
use aya::Ebpf;
use aya::maps::{HashMap, MapData, RingBuf};
use std::os::fd::AsFd;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch.bpf.o"));
static BEFORE_5_12: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch-before-5.12.bpf.o"));

/// The programs, attached to the kernel until this is dropped.
pub struct BpfWatch {
    programs: Ebpf,
    hooks: Hooks,
    object: Object,
    page: WatchPage,
    /// What `page` maps. A program that is loaded later, because functions cannot be hooked, refers to its descriptor.
    _session: MapData,
    ring: RingDrain,
    processes: HashMap<MapData, u32, WatchedBytes>,
    namespace: Namespace,
    unreadable: u64,
}

impl std::fmt::Debug for BpfWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BpfWatch").field("object", &self.object).finish_non_exhaustive()
    }
}

impl BpfWatch {
    /// Loads and attaches the programs, with a ring buffer of `ring` bytes (a power of two, a multiple of the page size).
    /// From now on every task of the machine runs them, but nothing is watched yet. `a_command`: nothing else will be.
    /// `calls`: what is wanted of other system calls.
    ///
    /// # Errors
    ///
    /// We may not do that, or this kernel cannot.
    pub fn attach(a_command: bool, ring: u32, calls: WantedCalls) -> Result<BpfWatch, AttachError> {
        let object = |object: Object| if object == Object::Current { OBJECT } else { BEFORE_5_12 };
        let wanted = WantedHooks { functions: !a_command, calls: calls.outputs || calls.marks };
        let prepared = |loading: Loading<'_>, programs| BpfWatch::prepared(loading, programs, wanted);
        let mut watch = loaded(object, ring, prepared)?;
        watch.hooks.attach(&mut watch.programs)?;
        watch.page.write_meanings(calls, watch.hooks.execs_by_calls());
        Ok(watch)
    }

    fn prepared(
        loading: Loading<'_>,
        mut programs: Ebpf,
        wanted: WantedHooks,
    ) -> Result<BpfWatch, AttachError> {
        let Loading { object, ring, namespace, .. } = loading;
        let map = |name: &'static str| move |cause: String| AttachError::Map { map: name, cause };
        let aya::maps::Map::Array(session) = taken(&mut programs, "SESSION")? else {
            return Err(map("SESSION")("not an array".to_owned()));
        };
        let page = WatchPage::map(session.fd().as_fd()).map_err(|e| map("SESSION")(e.to_string()))?;
        let events =
            RingBuf::try_from(taken(&mut programs, "EVENTS")?).map_err(|e| map("EVENTS")(e.to_string()))?;
        let processes = HashMap::try_from(taken(&mut programs, "PROCESSES")?)
            .map_err(|e| map("PROCESSES")(e.to_string()))?;

        let hooks = Hooks::load(&mut programs, loading, wanted)?;
        let ring = RingDrain::start(events, ring);
        Ok(BpfWatch {
            programs,
            hooks,
            object,
            page,
            _session: session,
            ring,
            processes,
            namespace,
            unreadable: 0,
        })
    }

    fn living(&self) -> impl Iterator<Item = (u32, Watched)> {
        self.processes.iter().flatten().map(|(pid, bytes)| (pid, Watched::of(&bytes)))
    }
}

impl Watcher for BpfWatch {
    fn backend(&self) -> Backend {
        Backend::Bpf
    }

    /// The next process that the calling thread creates is the command.
    fn start(&mut self, command: &Command, stdout_to_stderr: bool) -> Result<Foreground, LaunchError> {
        self.page.write(WatchSession::of_tree(self.namespace));
        Foreground::start(command, stdout_to_stderr)
    }

    /// The programs for old kernels do not know control groups.
    fn watch_everyone(&mut self, scope: Scope) -> Result<(), ChooseError> {
        if scope.cgroup.is_some() && self.object == Object::Before512 {
            return Err(ChooseError::Bpf(
                "it can watch a control group since Linux 5.14\nhelp: leave out --cgroup".to_owned(),
            ));
        }
        self.page.write(WatchSession::of_machine(scope));
        Ok(())
    }

    fn take(&mut self) -> Vec<WatchEvent> {
        let records = self.ring.take();
        let events: Vec<WatchEvent> = records.iter().filter_map(|record| parse(record)).collect();
        self.unreadable += (records.len() - events.len()) as u64;
        events
    }

    fn lost(&self) -> u64 {
        self.page.lost() + self.unreadable + self.hooks.missed(&self.programs)
    }

    fn slow_calls(&self) -> Option<&str> {
        self.hooks.without_functions.as_deref()
    }

    fn is_one_exiting(&self) -> bool {
        self.living().any(|(_, process)| process.is_exiting())
    }

    fn is_needed(&self) -> bool {
        false
    }

    fn running(&self) -> Vec<EndedProgram> {
        let now = clock::now();
        self.living().map(|(pid, process)| process.running(pid, now)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Current kernels never get this object, so nothing else would try it here.
    #[test]
    fn a_current_kernel_accepts_the_programs_for_old_kernels() {
        let wanted = WantedHooks { functions: true, calls: true };
        let prepared = |loading: Loading<'_>, programs| BpfWatch::prepared(loading, programs, wanted);
        match loaded(|_| BEFORE_5_12, 1 << 18, prepared) {
            Ok(watch) => assert_eq!((watch.lost(), watch.is_one_exiting()), (0, false)),
            Err(AttachError::Refused { program, cause, .. }) => panic!("{program}: {cause}"),
            Err(error) => {
                assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none_or(|value| value != "all"), "{error}");
                eprintln!("skipped: {error}");
            }
        }
    }
}
