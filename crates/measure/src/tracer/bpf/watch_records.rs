//! The records and the state of a process in `watch_session.h`, in Rust. The tests compare the two files.

use super::record::{Plain, Record, read};
use super::shared_run::PATH_ROOM;
use crate::launch::ExitStatus;
use crate::tracer::watch::{
    AwaitedEnd, EndedProgram, Ending, FailedExec, LateWait, MadeMark, ProcessBirth, ProgramRun,
    StartedProgram, WatchEvent,
};
use crate::units::Nanos;

const WATCH_START: u32 = 1;
const WATCH_END: u32 = 2;
const WATCH_FAILED: u32 = 3;
const WATCH_LATE_WAIT: u32 = 4;
const WATCH_MARK: u32 = 5;

/// `struct watched`: a process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watched {
    entered: u64,
    returned: u64,
    output: u64,
    cpu: u64,
    cpu_before: u64,
    born: u64,
    told: u64,
    by_entered: u64,
    awaited: u64,
    parent_task: u64,
    parent_sleeps: u64,
    parent_born: u64,
    parent: u32,
    by_pid: u32,
    threads: i32,
    exiting: u32,
    status: u32,
    parent_awake: u32,
}

/// `struct watch_end`.
#[repr(C)]
#[derive(Clone, Copy)]
struct EndRecord {
    record: Record,
    watched: Watched,
}

/// `struct watch_start`. The arguments follow.
#[repr(C)]
#[derive(Clone, Copy)]
struct StartRecord {
    record: Record,
    by_entered: u64,
    by_pid: u32,
    arguments: u32,
    path: [u8; PATH_ROOM],
}

/// `struct watch_failed`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FailedRecord {
    record: Record,
    by_entered: u64,
    by_pid: u32,
    padding: u32,
    path: [u8; PATH_ROOM],
}

/// `struct watch_late_wait`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LateWaitRecord {
    record: Record,
    born: u64,
    worked: u64,
}

// SAFETY: `repr(C)`, integers only, and the tests compare offsets and sizes with the header, which has no padding.
unsafe impl Plain for Watched {}
// SAFETY: as above.
unsafe impl Plain for EndRecord {}
// SAFETY: as above.
unsafe impl Plain for StartRecord {}
// SAFETY: as above.
unsafe impl Plain for FailedRecord {}
// SAFETY: as above.
unsafe impl Plain for LateWaitRecord {}

/// The bytes of a [`Watched`], as a map holds them.
pub(super) type WatchedBytes = [u8; size_of::<Watched>()];

/// Reads one record; `None` if the bytes are not one.
pub(super) fn parse(bytes: &[u8]) -> Option<WatchEvent> {
    let record: Record = read(bytes)?;
    Some(match record.kind {
        WATCH_START => WatchEvent::Started(started(bytes)?),
        WATCH_END => {
            let EndRecord { watched, .. } = read(bytes)?;
            WatchEvent::Ended(ended(&record, &watched))
        }
        WATCH_FAILED => WatchEvent::Failed(failed(bytes)?),
        WATCH_LATE_WAIT => WatchEvent::LateWait(late_wait(bytes)?),
        WATCH_MARK => WatchEvent::Marked(marked(bytes)?),
        _ => return None,
    })
}

fn started(bytes: &[u8]) -> Option<StartedProgram> {
    let StartRecord { record, by_entered, by_pid, arguments, path } = read(bytes)?;
    let room = bytes.get(size_of::<StartRecord>()..)?;
    let read = &room[..room.len().min(record.code as usize)];
    let words = read.strip_suffix(&[0]).unwrap_or(read).split(|byte| *byte == 0);
    Some(StartedProgram {
        run: ProgramRun { pid: record.pid, entered: Nanos(record.value.cast_unsigned()) },
        by: program(by_pid, by_entered),
        path: text(&path),
        argv: if read.is_empty() { Vec::new() } else { words.map(lossy).collect() },
        argv_bytes: arguments,
    })
}

fn ended(record: &Record, watched: &Watched) -> EndedProgram {
    let replaced = record.code != 0;
    let how = if replaced { Ending::Replaced } else { Ending::Exited(watched.exit()) };
    let told = known(watched.told).filter(|_| !replaced);
    let cpu = Nanos(record.value.cast_unsigned());
    watched.program(record.pid, told.unwrap_or(Nanos(record.at)), cpu, how)
}

fn failed(bytes: &[u8]) -> Option<FailedExec> {
    let FailedRecord { record, by_entered, by_pid, path, .. } = read(bytes)?;
    Some(FailedExec {
        pid: record.pid,
        by: program(by_pid, by_entered),
        path: text(&path),
        errno: i32::try_from(record.code).ok()?,
        took: Nanos(record.at.saturating_sub(record.value.cast_unsigned())),
    })
}

fn marked(bytes: &[u8]) -> Option<MadeMark> {
    let FailedRecord { record, by_entered, by_pid, path, .. } = read(bytes)?;
    let length = (record.code as usize).saturating_sub(1).min(PATH_ROOM);
    Some(MadeMark { by: program(by_pid, by_entered)?, at: Nanos(record.at), path: path[..length].into() })
}

fn late_wait(bytes: &[u8]) -> Option<LateWait> {
    let LateWaitRecord { record, born, worked } = read(bytes)?;
    Some(LateWait {
        by: ProcessBirth { pid: record.pid, at: known(born)? },
        since: known(record.value.cast_unsigned())?,
        at: Nanos(record.at),
        worked: Nanos(worked),
    })
}

impl Watched {
    pub(super) fn of(bytes: &WatchedBytes) -> Watched {
        read(bytes).unwrap_or_default()
    }

    /// It has begun to exit, and its record will come soon.
    pub(super) fn is_exiting(&self) -> bool {
        self.exiting != 0
    }

    /// What the process executes at the end of the watch.
    pub(super) fn running(&self, pid: u32, now: Nanos) -> EndedProgram {
        // Of the threads that run nothing is known.
        self.program(pid, now, Nanos(self.cpu.saturating_sub(self.cpu_before)), Ending::Running)
    }

    fn program(&self, pid: u32, at: Nanos, cpu: Nanos, how: Ending) -> EndedProgram {
        EndedProgram {
            pid,
            entered: known(self.entered),
            by: program(self.by_pid, self.by_entered),
            forked: known(self.born),
            returned: known(self.returned),
            first_output: known(self.output),
            awaited: self.awaited().filter(|_| matches!(how, Ending::Exited(_))),
            at,
            cpu,
            how,
        }
    }

    fn awaited(&self) -> Option<AwaitedEnd> {
        let by = ProcessBirth { pid: self.parent, at: known(self.parent_born)? };
        let late = (self.parent_awake != 0).then_some(Nanos(self.cpu));
        known(self.awaited).map(|at| AwaitedEnd { by, at, late })
    }

    fn exit(&self) -> ExitStatus {
        ExitStatus::from_wait(self.status.cast_signed())
    }
}

fn program(pid: u32, entered: u64) -> Option<ProgramRun> {
    known(entered).map(|entered| ProgramRun { pid, entered })
}

/// The kernel side writes 0 for an instant that has not come.
fn known(instant: u64) -> Option<Nanos> {
    (instant > 0).then_some(Nanos(instant))
}

/// A string up to its NUL.
fn text(room: &[u8]) -> String {
    lossy(room.split(|byte| *byte == 0).next().unwrap_or_default())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::c_header::{Headers, assert_same_layout};
    use super::*;
    use std::collections::HashMap;

    fn head(kind: u32, code: u32, value: i64) -> Vec<u8> {
        let mut bytes = 90_u64.to_ne_bytes().to_vec();
        for word in [10, 11, kind, code] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(value.to_ne_bytes());
        bytes
    }

    fn room<const N: usize>(text: &[u8]) -> [u8; N] {
        let mut room = [0xff; N];
        room[..text.len()].copy_from_slice(text);
        room
    }

    fn start(argv: &[u8], read: usize, all: u32) -> Vec<u8> {
        let mut bytes = head(WATCH_START, u32::try_from(read).unwrap(), 50);
        bytes.extend(40_u64.to_ne_bytes());
        bytes.extend(9_u32.to_ne_bytes());
        bytes.extend(all.to_ne_bytes());
        bytes.extend(room::<PATH_ROOM>(b"/bin/ls\0"));
        bytes.extend(room::<256>(argv));
        bytes
    }

    fn end(code: u32, told: u64, status: u32) -> Vec<u8> {
        end_of(code, told, status, 0)
    }

    fn end_of(code: u32, told: u64, status: u32, parent_awake: u32) -> Vec<u8> {
        let mut bytes = head(WATCH_END, code, 7);
        for instant in [50, 60, 70, 9, 2, 40, told, 30, 75, 1, 2, 35] {
            bytes.extend(u64::to_ne_bytes(instant));
        }
        for word in [7, 8, 0, 1, status, parent_awake] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes
    }

    #[test]
    fn a_start_has_its_path_and_its_arguments() {
        let Some(WatchEvent::Started(started)) = parse(&start(b"ls\0-l\0\0", 7, 7)) else { panic!() };
        assert_eq!(started.run, ProgramRun { pid: 10, entered: Nanos(50) });
        assert_eq!(started.by, Some(ProgramRun { pid: 9, entered: Nanos(40) }));
        assert_eq!(
            (started.path.as_str(), started.argv),
            ("/bin/ls", vec!["ls".into(), "-l".into(), String::new()])
        );

        let Some(WatchEvent::Started(unread)) = parse(&start(b"ls\0", 0, 3)) else { panic!() };
        assert_eq!((unread.argv, unread.argv_bytes), (vec![], 3));
        let Some(WatchEvent::Started(cut)) = parse(&start(b"ls\0-lon", 7, 5000)) else { panic!() };
        assert_eq!(cut.argv, ["ls", "-lon"]);
    }

    #[test]
    fn an_end_is_when_the_parent_was_told_or_the_last_thread_left() {
        let ended = |bytes: Vec<u8>| match parse(&bytes) {
            Some(WatchEvent::Ended(ended)) => ended,
            other => panic!("{other:?}"),
        };
        let exited = ended(end(0, 80, 3 << 8));
        assert_eq!((exited.at, exited.how), (Nanos(80), Ending::Exited(ExitStatus::Code(3))));
        assert_eq!((exited.entered, exited.returned), (Some(Nanos(50)), Some(Nanos(60))));
        assert_eq!((exited.first_output, exited.cpu), (Some(Nanos(70)), Nanos(7)));
        let parent = ProcessBirth { pid: 7, at: Nanos(35) };
        assert_eq!(exited.awaited, Some(AwaitedEnd { by: parent, at: Nanos(75), late: None }));
        let late = Some(AwaitedEnd { by: parent, at: Nanos(75), late: Some(Nanos(9)) });
        assert_eq!(ended(end_of(0, 80, 0, 1)).awaited, late, "with the CPU time of the whole process");
        assert_eq!(ended(end(1, 80, 0)).awaited, None, "the process goes on");
        assert_eq!(ended(end(0, 0, 9)).at, Nanos(90));
        assert_eq!(ended(end(0, 0, 9)).how, Ending::Exited(ExitStatus::Signal(9)));
        assert_eq!((ended(end(1, 80, 0)).at, ended(end(1, 80, 0)).how), (Nanos(90), Ending::Replaced));
    }

    #[test]
    fn a_late_wait_has_its_process_and_how_long_that_worked() {
        let mut bytes = head(WATCH_LATE_WAIT, 0, 80);
        for number in [35, 4] {
            bytes.extend(u64::to_ne_bytes(number));
        }
        let by = ProcessBirth { pid: 10, at: Nanos(35) };
        let wait = LateWait { by, since: Nanos(80), at: Nanos(90), worked: Nanos(4) };
        assert_eq!(parse(&bytes), Some(WatchEvent::LateWait(wait)));
    }

    #[test]
    fn truncated_and_unknown_records_are_no_events() {
        for (bytes, size) in [
            (start(b"", 0, 0), size_of::<StartRecord>()),
            (end(0, 0, 0), size_of::<EndRecord>()),
            (head(WATCH_FAILED, 2, 0), size_of::<FailedRecord>()),
            (head(WATCH_MARK, 9, 0), size_of::<FailedRecord>()),
            (head(WATCH_LATE_WAIT, 0, 1), size_of::<LateWaitRecord>()),
        ] {
            for length in 0..bytes.len().min(size) {
                assert_eq!(parse(&bytes[..length]), None);
            }
        }
        assert_eq!(parse(&head(9, 0, 0)), None);
    }

    #[test]
    fn records_match_watch_session_h() {
        let headers = Headers::read();
        let kinds = [
            ("WATCH_START", WATCH_START),
            ("WATCH_END", WATCH_END),
            ("WATCH_FAILED", WATCH_FAILED),
            ("WATCH_LATE_WAIT", WATCH_LATE_WAIT),
            ("WATCH_MARK", WATCH_MARK),
        ];
        let here: HashMap<String, u32> = kinds.map(|(name, kind)| (name.to_owned(), kind)).into();
        assert_eq!(headers.enumerators("watch_record_kind"), here);

        assert_same_layout!(
            Watched,
            "watched",
            [
                entered,
                returned,
                output,
                cpu,
                cpu_before,
                born,
                told,
                by_entered,
                awaited,
                parent_task,
                parent_sleeps,
                parent_born,
                parent,
                by_pid,
                threads,
                exiting,
                status,
                parent_awake
            ]
        );
        assert_same_layout!(EndRecord, "watch_end", [record, watched]);
        assert_same_layout!(StartRecord, "watch_start", [record, by_entered, by_pid, arguments, path]);
        assert_same_layout!(LateWaitRecord, "watch_late_wait", [record, born, worked]);
        assert_same_layout!(FailedRecord, "watch_failed", [record, by_entered, by_pid, padding, path]);
        for name in ["watch_short_start", "watch_long_start"] {
            let members = headers.layout(name).members;
            assert_eq!(members[1], ("argv".to_owned(), size_of::<StartRecord>()), "{name}");
        }
    }
}
