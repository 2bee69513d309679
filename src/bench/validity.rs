//! Whether a run counts, and its sample if it does.

use super::accepted::Accepted;
use super::sample::Sample;
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::timeline::marks::Marks;
use firstbyte_measure::tracer::Recording;

/// What is wrong with a run during which we were stopped.
pub(super) const SUSPENDED: &str = "firstbyte itself was stopped meanwhile (Ctrl-Z or SIGSTOP)";

/// What is wrong with a run of any kind: one lower-case line.
pub fn flaw(recording: &Recording, accepted: Accepted) -> Option<String> {
    // first, because its time may have been up only because of that
    if recording.suspended {
        return Some(SUSPENDED.to_owned());
    }
    if let Some(killed) = recording.killed {
        return Some(killed.to_string());
    }
    if let Some(flaw) = accepted.flaw(recording.exit) {
        return Some(flaw);
    }
    if recording.output.ok == Some(false) {
        return Some(wrong_output(recording));
    }
    (recording.lost > 0)
        .then(|| format!("the tracer lost {} events (--backend ptrace loses none)", recording.lost))
}

/// Whether the program itself failed in a run, which means that its exit status or its output is not the expected one.
/// Any other error is an error of the observation.
pub(super) fn program_failed(recording: &Recording, accepted: Accepted) -> bool {
    let ended_otherwise = !accepted.accepts(recording.exit);
    recording.killed.is_none()
        && !recording.suspended
        && (ended_otherwise || recording.output.ok == Some(false))
}

/// Why a program may fail only when it is traced by ptrace.
pub(super) const TRACED: &str =
    "a program under ptrace gets no rights from a set-user-ID bit, and cannot trace another program";

/// The sample of a run, or one lower-case line that says why the run does not count.
pub fn sample(recording: &Recording, accepted: Accepted) -> Result<Sample, String> {
    if let Some(flaw) = flaw(recording, accepted) {
        return Err(flaw);
    }

    let timeline = Timeline::of(recording).map_err(|error| error.to_string())?;
    Ok(Sample {
        phases: timeline.phases,
        first_byte: timeline.first_byte,
        total: timeline.total,
        wall: timeline.wall,
        user: recording.usage.user,
        system: recording.usage.system,
        max_rss: recording.usage.max_rss,
        major_faults: recording.usage.major_faults,
        from_disk: recording.usage.from_disk,
        // each stop of a tracee adds a context switch
        context_switches: (!recording.backend.stops_tracee()).then_some(recording.usage.context_switches),
        exit: recording.exit,
        processes: timeline.processes,
        threads: timeline.threads,
        execs: timeline.execs,
        marks: Marks::of(recording).map_err(|error| error.to_string())?.sums(),
    })
}

fn wrong_output(recording: &Recording) -> String {
    let bytes = recording.output.bytes.unwrap_or(0);
    if bytes == 0 {
        return "it printed nothing".to_owned();
    }
    let head = String::from_utf8_lossy(&recording.output.head).into_owned();
    let shown: String = head.chars().take(40).flat_map(char::escape_default).collect();
    let more = if head.chars().count() > 40 { "…" } else { "" };
    format!("it printed {bytes} bytes that are not the expected ones: `{shown}{more}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::launch::Usage;
    use firstbyte_measure::tracer::{Backend, Event, EventKind};
    use firstbyte_measure::units::Nanos;

    fn recording(backend: Backend) -> Recording {
        let exit = EventKind::Exit { group_dead: true, status: 0 };
        let kinds = [
            EventKind::Spawn,
            EventKind::ExecEnter,
            EventKind::ExecExit { result: 0 },
            exit,
            EventKind::Reaped { status: 0 },
        ];
        let event = |(at, kind)| Event { at: Nanos(at), pid: 1, tid: 1, kind };
        Recording {
            events: (0..).zip(kinds).map(event).collect(),
            usage: Usage { context_switches: 3, ..Usage::default() },
            ..Recording::empty(backend, 1)
        }
    }

    #[test]
    fn the_context_switches_of_a_program_that_its_tracer_stops_are_not_its_own() {
        let switches = |backend| sample(&recording(backend), Accepted::Any).unwrap().context_switches;
        assert_eq!([Backend::Bpf, Backend::Pipe, Backend::Ptrace].map(switches), [Some(3), Some(3), None]);
    }
}
