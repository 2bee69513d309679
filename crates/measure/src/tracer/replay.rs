//! Recordings as files: a line of JSON about the run, then a line for every event.
//!
//! The first line is an object with `"schema": "firstbyte-recording/1"`, all of a [`Recording`] except its events,
//! the [`Module`]s that it mapped, and its CPUID instructions if they were counted. Every further line is an
//! [`Event`]. Within a version, fields may be added, but not changed or removed.

use super::event::Event;
use super::module::Module;
use super::recording::Recording;
use crate::arch::cpuid::Cpuid;
use crate::launch::Environment;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The version of the format.
pub const SCHEMA: &str = "firstbyte-recording/1";

/// The longest time between two events, 2^50 ns or 13 days. Nobody waits that long for a start-up.
const MAX_GAP_NANOS: u64 = 1 << 50;

/// More modules than any program maps, but still few enough for one line.
const MAX_MODULES: usize = 1000;

/// The longest line of a recording, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Why a file cannot be read as a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(
        "`{path}` cannot be read: {cause}\nhelp: check the path, or make a recording: firstbyte trace --record {path} CMD"
    )]
    Read {
        /// The file.
        path: String,
        /// The system's answer.
        cause: io::Error,
    },
    /// One of its lines is invalid.
    #[error(
        "`{path}`, line {line}: {cause}\nhelp: make the recording again: firstbyte trace --record FILE CMD"
    )]
    Line {
        /// The file.
        path: String,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    /// The version that wrote it.
    #[serde(default)]
    firstbyte: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpuid: Option<Cpuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    environment: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modules: Option<Vec<Module>>,
    #[serde(flatten)]
    rest: Value,
}

/// The content of a recording's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The run.
    pub recording: Recording,
    /// The ELF files that were mapped, as they were then; `None` if an old version did not record them.
    pub modules: Option<Vec<Module>>,
    /// The CPUID instructions at its start, if they were counted.
    pub cpuid: Option<Cpuid>,
    /// The variables that change how programs start, as [`Environment::record`] shows them; `None` if an old version did
    /// not record them.
    pub environment: Option<BTreeMap<String, String>>,
}

/// A recording as text, with the files that it mapped, and its CPUID instructions if they were counted.
pub fn save(recording: &Recording, modules: &[Module], cpuid: Option<Cpuid>) -> String {
    let mut rest = serde_json::to_value(recording).unwrap_or_default();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("events");
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let modules = Some(modules.iter().take(MAX_MODULES).cloned().collect());
    let environment = Some(Environment::of_programs().record());
    let header = Header { schema: SCHEMA.to_owned(), firstbyte: version, modules, cpuid, environment, rest };
    let mut text = serde_json::to_string(&header).unwrap_or_default();
    text.push('\n');
    for event in &recording.events {
        let _ = writeln!(text, "{}", serde_json::to_string(event).unwrap_or_default());
    }
    text
}

/// Reads a recording from a file.
pub fn load(path: &Path) -> Result<Loaded, ReplayError> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path);
    let file = file.map_err(|cause| ReplayError::Read { path: name.clone(), cause })?;
    read(&name, BufReader::new(file))
}

/// Whether a file looks like a recording.
pub fn is_recording(path: &Path) -> bool {
    let mut start = [0; 64];
    let read = std::fs::File::open(path).and_then(|mut file| io::Read::read(&mut file, &mut start));
    read.is_ok_and(|count| String::from_utf8_lossy(&start[..count]).contains("firstbyte-recording/"))
}

/// Reads a recording. Error messages use `name`.
pub fn read(name: &str, mut source: impl BufRead) -> Result<Loaded, ReplayError> {
    let at = |line: usize, cause: String| ReplayError::Line { path: name.to_owned(), line, cause };
    let mut number = 0;
    let mut loaded: Option<Loaded> = None;

    loop {
        let mut line = Vec::new();
        let taken = io::Read::take(&mut source, MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let count = taken.map_err(|cause| ReplayError::Read { path: name.to_owned(), cause })?;

        number += 1;
        if count == 0 {
            break;
        }
        if count as u64 == MAX_LINE_BYTES {
            return Err(at(number, "the line is longer than 1 MiB".to_owned()));
        }

        match &mut loaded {
            None => loaded = Some(header(&line).map_err(|cause| at(number, cause))?),
            Some(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Some(Loaded { recording, .. }) => {
                let event = serde_json::from_slice(&line).map_err(|error| at(number, shortly(&error)))?;
                add(recording, event).map_err(|cause| at(number, cause))?;
            }
        }
    }

    loaded.ok_or_else(|| at(1, "the file is empty".to_owned()))
}

fn header(line: &[u8]) -> Result<Loaded, String> {
    let header: Header = serde_json::from_slice(line).map_err(|error| shortly(&error))?;
    if header.schema != SCHEMA {
        return Err(format!("`schema` is `{}`, but this firstbyte reads `{SCHEMA}`", header.schema));
    }
    let mut rest = header.rest.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.insert("events".to_owned(), Value::Array(Vec::new()));
    }
    let recording = serde_json::from_value(rest).map_err(|error| shortly(&error))?;
    let Header { modules, cpuid, environment, .. } = header;
    Ok(Loaded { recording, modules, cpuid, environment })
}

/// The error without the column, which says little.
fn shortly(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn add(recording: &mut Recording, event: Event) -> Result<(), String> {
    if let Some(last) = recording.events.last()
        && event.at < last.at
    {
        return Err("the event is earlier than the one before it".to_owned());
    }
    if let Some(first) = recording.events.first()
        && event.at.0 - first.at.0 > MAX_GAP_NANOS
    {
        return Err("the event is more than 13 days later than the first".to_owned());
    }
    recording.events.push(event);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Abi, Syscall};

    use crate::tracer::event::{Call, Fault, Image, OffCpu};
    use crate::tracer::module::MemoryLayout;
    use crate::tracer::{Backend, EventKind};
    use crate::units::Nanos;

    fn recording() -> Recording {
        let call = Call {
            call: Syscall { abi: Abi::Native, number: 257 },
            entered: Nanos(20),
            result: Some(-2),
            arguments: [u64::MAX, 1, 2, 3, 4, 5],
            ip: 7,
            stack: vec![1, 2],
            paths: vec!["/a\"b\n".into()],
            ..Call::default()
        };
        let fault = Fault {
            entered: Nanos(31),
            address: u64::MAX,
            ip: 3,
            user: true,
            write: Some(false),
            major: true,
        };

        let kinds = [
            (1, EventKind::Spawn),
            (10, EventKind::ExecEnter),
            (12, EventKind::ExecCommit { path: "/x".to_owned() }),
            (12, EventKind::Image(Box::new(Image { path: "/x".to_owned(), ..Image::default() }))),
            (13, EventKind::ExecExit { result: 0 }),
            (30, EventKind::Call(Box::new(call))),
            (33, EventKind::Fault(Box::new(fault))),
            (
                40,
                EventKind::OffCpu(OffCpu {
                    left: Nanos(35),
                    woken: Nanos(36),
                    waker: Some([7, 8]),
                    preempted: false,
                }),
            ),
            (50, EventKind::Exit { group_dead: true, status: 0 }),
            (60, EventKind::Reaped { status: 0 }),
        ];

        let event = |(at, kind)| Event { at: Nanos(at), pid: 100, tid: 100, kind };
        Recording {
            command: vec!["./x".to_owned()],
            events: kinds.into_iter().map(event).collect(),
            ..Recording::empty(Backend::Bpf, 100)
        }
    }

    fn modules() -> Vec<Module> {
        let segment = (0x1000, 0, 0x800, 0x900, true).into();
        let layout =
            MemoryLayout { entry: 0x1000, segments: vec![segment], interpreter: Some("/ld".to_owned()) };
        let build_id = Some("0aff".to_owned());
        vec![Module { path: "/x".to_owned(), size: 5, modified: -1, build_id, layout }]
    }

    const COUNTED: Option<Cpuid> = Some(Cpuid { each: Nanos(1_100), executed: 41 });

    #[test]
    fn a_saved_recording_is_read_back_unchanged() {
        let text = save(&recording(), &modules(), COUNTED);
        assert!(text.starts_with("{\"schema\":\"firstbyte-recording/1\""), "{text}");
        let environment = Some(Environment::of_programs().record());
        let loaded = Loaded { recording: recording(), modules: Some(modules()), cpuid: COUNTED, environment };
        assert_eq!(read("x", text.as_bytes()).unwrap(), loaded);
    }

    #[test]
    fn an_old_recording_without_modules_can_be_read() {
        let text = save(&recording(), &[], None);
        let old = text.replacen("\"modules\":[],", "", 1);
        assert_ne!(old, text);
        let loaded = read("x", old.as_bytes()).unwrap();
        assert_eq!((loaded.recording, loaded.modules, loaded.cpuid), (recording(), None, None));
    }

    #[test]
    fn the_first_line_stays_readable_however_many_modules_there_are() {
        let text = save(&recording(), &vec![modules().remove(0); 5000], None);
        assert_eq!(read("x", text.as_bytes()).unwrap().modules.unwrap().len(), MAX_MODULES);
    }

    #[test]
    fn errors_name_their_line() {
        let good = save(&recording(), &[], None);
        let lines: Vec<&str> = good.lines().collect();
        let table = [
            (String::new(), "line 1: the file is empty"),
            ("{}".to_owned(), "line 1: missing field `schema`"),
            (lines[0].replace("/1", "/9"), "line 1: `schema` is `firstbyte-recording/9`"),
            (lines[..3].join("\n") + "\nnonsense", "line 4: expected"),
            ([lines[0], lines[3], lines[1]].join("\n"), "line 3: the event is earlier"),
            (lines[0].to_owned() + "\n" + &"[".repeat(5000), "line 2: "),
            (lines[0].to_owned() + "\n" + &" ".repeat(2 << 20), "line 2: the line is longer"),
        ];
        for (text, expected) in table {
            let error = read("x", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
