//! Makes starts of a program that others start the runs of the full mode: see `full_starts.h`.

use super::attach::{AttachError, Object};
use super::full::{BpfFull, LARGE_RING, Observed};
use super::full_session::{FullSession, Starts};
use super::namespace::own_mounts;
use super::scope::ScopeFields;
use super::shared_run::PATH_ROOM;
use crate::launch::ExitStatus;
use crate::tracer::choose::ChooseError;
use crate::tracer::starts::{Look, MAX_PROGRAM_BYTES, StartTracer, StartsPlan, TracedStart};
use crate::tracer::watch::Scope;
use crate::tracer::{Backend, Event, EventKind, Recording, Tracer};
use crate::units::Nanos;
use std::time::Instant;

/// The attached tracer.
#[derive(Debug)]
pub struct BpfStarts {
    tracer: BpfFull,
    plan: StartsPlan,
    stage: Stage,
    /// Records that did not fit the log.
    spilled: Vec<Vec<u8>>,
    spilled_bytes: u64,
    own_mounts: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nobody has said whose starts count.
    Idle,
    /// A start may begin.
    Waiting,
    /// One has begun, which we saw at this time.
    Tracing(Instant),
    /// One has ended. A program of the kernel side may still write a last record, so the log is cleared a while later, to wait
    /// for the start with this number.
    Ending { due: u64 },
    /// Detached.
    Stopped,
}

impl BpfStarts {
    /// Attaches the programs.
    pub fn attach(plan: StartsPlan) -> Result<BpfStarts, AttachError> {
        let mut tracer = BpfFull::load(LARGE_RING)?;
        if tracer.object() == Object::Before512 {
            return Err(AttachError::TooOld("the starts of others can be traced since Linux 5.12"));
        }
        tracer.attach()?;
        tracer.ring.watch(true);
        Ok(BpfStarts {
            tracer,
            plan,
            stage: Stage::Idle,
            spilled: Vec::new(),
            spilled_bytes: 0,
            own_mounts: own_mounts(),
        })
    }

    fn begin(&mut self, scope: ScopeFields) {
        let (text, length) = program_text(&self.plan.program);
        let starts = Starts {
            due: self.plan.every.max(1),
            active: 1,
            wanted: 1,
            by_path: self.plan.program.contains('/').into(),
            length,
            scope,
            ..Starts::default()
        };
        self.tracer.shared.begin_starts(starts, &text);
        self.stage = Stage::Waiting;
    }

    /// Takes what the ring has, so that it does not fill.
    fn drain(&mut self) {
        let records = self.tracer.ring.take();
        self.spilled_bytes += records.iter().map(|record| record.len() as u64).sum::<u64>();
        self.spilled.extend(records);
    }

    fn follow_run(&mut self, begun: Instant) -> Look {
        self.drain();
        let (session, starts) = (self.tracer.shared.read(), self.tracer.shared.starts());
        let is_too_large = self.spilled_bytes > self.plan.memory;
        if starts.over == 0 && session.run.root == 0 {
            // its exec has failed, or it was another program: the kernel side waits again
            self.stage = Stage::Waiting;
            return Look::Nothing;
        }
        if starts.over == 0 && !is_too_large && begun.elapsed() <= self.plan.longest {
            return Look::Nothing;
        }

        self.tracer.shared.end_start();
        self.drain();
        let every = self.plan.every.max(1);
        self.stage =
            Stage::Ending { due: if starts.number > 0 { starts.number + every } else { starts.due } };
        match (starts.over, starts.number) {
            (0, _) if is_too_large => Look::TooLarge,
            (0, _) => Look::TooLong,
            // killed during its exec
            (_, 0) => Look::Soon,
            (_, number) => Look::Ended(Box::new(self.ended(session.run.root, number, starts.mounts))),
        }
    }

    fn ended(&mut self, root: u32, number: u64, mounts: u32) -> TracedStart {
        let spilled = std::mem::take(&mut self.spilled);
        let bytes = self.spilled_bytes + self.tracer.shared.read().logged;
        let Observed { events, mut lost, .. } = self.tracer.read_records(spilled);
        lost += u64::from(self.tracer.shared.read().run.hidden);
        TracedStart {
            recording: recording(events, lost, root),
            number,
            sees_our_files: self.own_mounts == Some(mounts),
            bytes,
        }
    }

    fn wait_again(&mut self, due: u64) -> Look {
        let old = self.tracer.shared.read().run;
        if old.root != 0 {
            // a process became the run at the moment at which nobody waited any more
            self.tracer.shared.end_start();
            return Look::Soon;
        }
        self.tracer.forget_run(&old);
        (self.spilled, self.spilled_bytes) = (Vec::new(), 0);
        self.tracer.shared.await_start(due);
        self.stage = Stage::Waiting;
        Look::Nothing
    }
}

impl StartTracer for BpfStarts {
    fn follow_next_child(&mut self) {
        self.tracer.arm_next_child();
        self.begin(ScopeFields::default());
    }

    fn follow(&mut self, scope: Scope) {
        self.tracer.shared.write(FullSession::default());
        self.begin(scope.into());
    }

    fn look(&mut self) -> Look {
        if self.stage == Stage::Waiting && self.tracer.shared.read().run.root != 0 {
            self.stage = Stage::Tracing(Instant::now());
        }
        match self.stage {
            Stage::Idle | Stage::Waiting | Stage::Stopped => Look::Nothing,
            Stage::Tracing(begun) => self.follow_run(begun),
            Stage::Ending { due } => self.wait_again(due),
        }
    }

    fn is_tracing(&self) -> bool {
        matches!(self.stage, Stage::Tracing(_))
    }

    fn seen(&self) -> u64 {
        self.tracer.shared.starts().seen
    }

    fn stop(&mut self) -> Result<(), ChooseError> {
        self.stage = Stage::Stopped;
        self.tracer.shared.end_start();
        Tracer::detach(&mut self.tracer)
    }
}

/// As `starts.program` in `full_session.h`, and its length: a slash, and the name or the path.
fn program_text(program: &str) -> ([u8; PATH_ROOM], u32) {
    let mut text = [0; PATH_ROOM];
    let length = program.len().min(MAX_PROGRAM_BYTES);
    text[0] = b'/';
    text[1..=length].copy_from_slice(&program.as_bytes()[..length]);
    (text, u32::try_from(length + 1).unwrap_or_default())
}

/// The recording of a process that nobody launched for us: it begins at the entry of its `execve`, and ends when its parent has
/// been told, or if it ignores that, when the last thread has begun to exit.
pub(super) fn recording(mut events: Vec<Event>, lost: u64, root: u32) -> Recording {
    let of_root = |event: &&Event| event.pid == root;
    // the records of an exec that failed before lie in the same log
    let entered = |event: &&Event| event.kind == EventKind::ExecEnter;
    let committed = events.iter().filter(of_root).find(|event| matches!(event.kind, EventKind::Image(_)));
    let committed = committed.map_or(Nanos(u64::MAX), |event| event.at);
    let before = events.iter().filter(of_root).filter(|event| event.at <= committed);
    let begun = before.rev().find(entered).map_or(Nanos(0), |event| event.at);

    let is_end = |event: &&Event| matches!(event.kind, EventKind::Exit { .. } | EventKind::ParentTold);
    let ended = events.iter().filter(of_root).filter(is_end).map(|event| event.at).max().unwrap_or(begun);
    let status = events.iter().filter(of_root).rev().find_map(|event| match event.kind {
        EventKind::Exit { group_dead: true, status } => Some(status),
        _ => None,
    });
    let status = status.unwrap_or(0);
    let command = events.iter().filter(of_root).find_map(|event| match &event.kind {
        EventKind::Image(image) => Some(image.argv.clone()),
        _ => None,
    });

    events.retain(|event| (begun..=ended).contains(&event.at));
    let ours = |at, kind| Event { at, pid: 0, tid: 0, kind };
    events.insert(0, ours(begun, EventKind::Spawn));
    events.push(ours(ended, EventKind::Reaped { status }));
    let mut recording = Recording {
        command: command.unwrap_or_default(),
        events,
        lost,
        exit: ExitStatus::from_wait(status),
        ..Recording::empty(Backend::Bpf, root)
    };
    recording.add_output_events();
    recording
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_compared_with_a_slash_before_it() {
        let (text, length) = program_text("gcc");
        assert_eq!((&text[..5], length), (&b"/gcc\0"[..], 4));
        let (text, length) = program_text(&"x".repeat(300));
        assert_eq!((text[MAX_PROGRAM_BYTES], text[MAX_PROGRAM_BYTES + 1], length), (b'x', 0, 254));
    }

    fn event(at: u64, kind: EventKind) -> Event {
        Event { at: Nanos(at), pid: 7, tid: 7, kind }
    }

    #[test]
    fn a_recording_begins_at_the_exec_that_succeeded_and_ends_with_the_process() {
        let image = || EventKind::Image(Box::default());
        let events = vec![
            event(10, EventKind::ExecEnter),
            event(11, EventKind::ExecExit { result: -2 }),
            event(20, EventKind::ExecEnter),
            event(25, image()),
            event(26, EventKind::ExecExit { result: 0 }),
            event(30, EventKind::ExecEnter),
            event(31, image()),
            event(40, EventKind::Exit { group_dead: true, status: 3 << 8 }),
            event(50, EventKind::ParentTold),
            event(60, EventKind::ExecEnter),
        ];
        let recording = recording(events, 2, 7);
        assert_eq!((recording.exit, recording.lost), (ExitStatus::Code(3), 2));
        let at: Vec<u64> = recording.events.iter().map(|event| event.at.0).collect();
        assert_eq!(at, [20, 20, 25, 26, 30, 31, 40, 50, 50]);
        assert_eq!(recording.events[0].kind, EventKind::Spawn);
        assert_eq!(recording.events[8].kind, EventKind::Reaped { status: 3 << 8 });
    }
}
