//! Observes a program that runs alone by a single stop, at the return of its `execve`.
//!
//! It runs untraced before and after it. The entry of `execve` is noted by the child itself, the first byte as it arrives at
//! our end, the exit when the kernel tells us. So the write is not seen: it is a part of the setup. A process, a thread or
//! a program that it starts is not seen either. So a run is observed in this way only if earlier ones had none.
//!
//! All this holds only while the kernel gives us the processor whenever we have work. If it lets the program run instead between
//! its stop and our wait, the program begins earlier than we note, and if it lets the program end before we read its first byte,
//! that came earlier. Such a recording is [late](Recording::late).

use crate::launch::exec_stop::{self, ExecStop, pass_exec_stop};
use crate::launch::wait::Ended;
use crate::launch::{LaunchError, Launcher, OutputKind, Preparation};
use crate::tracer::{Backend, Event, EventKind, Recording, RunOptions, frame, until_cleared};
use crate::units::Nanos;

/// Whether a run of this kind can be observed.
pub(super) fn is_enough(launcher: &Launcher, options: &RunOptions) -> bool {
    launcher.is_small()
        && options.output == OutputKind::Pipe
        && options.until.is_none()
        && options.texts.is_empty()
        && !options.marks
}

/// Whether a run that was followed had one process, one thread and one exec, and could print only by system calls.
pub(super) fn was_alone(recording: &Recording) -> bool {
    let execs = recording.events.iter().filter(|event| event.kind == EventKind::ExecExit { result: 0 });
    let has_more = |event: &Event| matches!(event.kind, EventKind::Fork { .. } | EventKind::Ring);
    execs.count() == 1 && !recording.events.iter().any(has_more)
}

/// Observes one run.
pub(super) fn run(launcher: &mut Launcher, options: &RunOptions) -> Result<Recording, LaunchError> {
    let mut stdout = options.stdout()?;
    let watch = launcher.watch_arrival();
    exec_stop::prepare();
    let child = launcher.launch(&mut stdout, Preparation::Stop)?;
    let stop = pass_exec_stop(&child, options.timeout);
    let ended = until_cleared(launcher, options, &child, &mut stdout, watch)?;

    let collected = stdout.finish();
    let late = collected.late || began_unseen(stop, &ended);
    let mut recording = frame(Backend::Ptrace, launcher, options, &child, &ended, collected);
    recording.late = late;
    recording.events.extend(events(launcher.entered(), stop, &ended, recording.root));
    recording.events.sort_by_key(|event| event.at); // stable: events at the same instant keep their order
    Ok(recording)
}

/// Between the stop and our wait there is one system call, which lets the program go on. The smallest program takes longer than
/// this from there to its exit.
const UNSEEN: Nanos = Nanos(20_000);

/// Whether the program may have run before we noted that it could.
fn began_unseen(stop: Option<ExecStop>, ended: &Ended) -> bool {
    let noted = stop.zip(ended.slept[0]);
    noted.is_some_and(|(stop, waiting)| waiting.0.saturating_sub(stop.returned.0) > UNSEEN.0)
}

/// We share the processor of the tracee. So it stands until we wait again, after its stop and after its first byte.
fn events(entered: Nanos, stop: Option<ExecStop>, ended: &Ended, root: u32) -> Vec<Event> {
    let event = |at, kind| Event { at, pid: root, tid: root, kind };
    let mut events = vec![event(entered, EventKind::ExecEnter)];
    let [first, then] = ended.slept;
    if let Some(ExecStop { returned, resumed }) = stop {
        events.push(event(returned, EventKind::ExecExit { result: 0 }));
        events.push(event(first.unwrap_or(resumed), EventKind::Resumed));
    }
    events.extend(then.map(|then| event(then, EventKind::Resumed)));
    events.push(event(ended.reaped, EventKind::ParentTold));
    events
}
