//! System calls and clocks: by an inline instruction and through libc, with each kind of sink.

use super::FloorError;
use super::batch::{Microbenchmark, Operation};
use super::sinks::WriteSink;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::os::fd::RawFd;
use std::path::Path;
use syscalls::Sysno;
use syscalls::raw::{syscall0, syscall2, syscall3, syscall4};

/// The output: 14 bytes.
const TEXT: &[u8; 14] = b"Hello, World!\n";

/// No kernel has this system call.
const NONE: usize = 1_000_000;

/// The name of a figure elsewhere, and what a reader must know about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FigureText {
    /// lmbench's name.
    pub lmbench: Option<&'static str>,
    pub note: Option<&'static str>,
}

/// A microbenchmark and the text of its figure, or the name of its figure and why it cannot be measured.
pub type Candidate = Result<(Microbenchmark, FigureText), (String, FloorError)>;

fn plain(benchmark: Microbenchmark) -> (Microbenchmark, FigureText) {
    (benchmark, FigureText::default())
}

/// Readers wait on the processor `other`. `folder` is on a disk.
pub fn candidates(other: Option<usize>, folder: &Path) -> Vec<Candidate> {
    let mut all = cheapest();
    all.extend(clocks());
    all.extend(devices());
    all.push(quiet_pipe());
    all.extend(with_readers(other));
    all.extend(files(folder));
    all
}

/// The system call that does nothing.
#[expect(clippy::unnecessary_wraps, reason = "a candidate like the others, some of which fail")]
pub(super) fn null() -> Candidate {
    // SAFETY: the call has neither arguments nor effects.
    // It returns 0 if the parent is in another namespace, as for the first process of a container.
    let getppid =
        Microbenchmark::call("getppid", || unsafe { syscall0(Sysno::getppid as usize) }.cast_signed() >= 0);
    Ok((getppid, FigureText { lmbench: Some("Simple syscall"), note: None }))
}

fn cheapest() -> Vec<Candidate> {
    // SAFETY: the call does not exist.
    let missing = Microbenchmark::call("no such system call (ENOSYS)", || unsafe {
        syscall0(NONE).cast_signed() == -(libc::ENOSYS as isize)
    });
    // SAFETY: as above.
    let through_libc = Microbenchmark::call("getppid through libc", || unsafe { libc::getppid() } >= 0);
    vec![Ok(plain(missing)), null(), Ok(plain(through_libc))]
}

fn clocks() -> Vec<Candidate> {
    let read = |id: libc::clockid_t| {
        move || {
            let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `at` is valid for writing.
            unsafe { libc::clock_gettime(id, &raw mut at) == 0 && black_box(at.tv_nsec) >= 0 }
        }
    };

    let forced = || {
        let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `at` is valid for writing.
        unsafe {
            syscall2(
                Sysno::clock_gettime as usize,
                libc::CLOCK_MONOTONIC.unsigned_abs() as usize,
                &raw mut at as usize,
            ) == 0
        }
    };

    vec![
        Ok(plain(Microbenchmark::call("clock_gettime(MONOTONIC), vDSO", read(libc::CLOCK_MONOTONIC)))),
        Ok(plain(Microbenchmark::call("clock_gettime(MONOTONIC), system call", forced))),
        Ok(plain(Microbenchmark::call(
            "clock_gettime(PROCESS_CPUTIME_ID)",
            read(libc::CLOCK_PROCESS_CPUTIME_ID),
        ))),
    ]
}

/// Writes the text by an inline system call.
fn write(fd: RawFd) -> bool {
    // SAFETY: the text is valid for its length.
    let written = unsafe {
        syscall3(Sysno::write as usize, fd.unsigned_abs() as usize, TEXT.as_ptr() as usize, TEXT.len())
    };
    written == TEXT.len()
}

fn write_through_libc(fd: RawFd) -> bool {
    // SAFETY: the text is valid for its length.
    unsafe { libc::write(fd, TEXT.as_ptr().cast(), TEXT.len()) == TEXT.len().cast_signed() }
}

/// Writes to a sink, which it owns.
fn writing(name: &str, sink: WriteSink) -> Microbenchmark {
    Microbenchmark::call(name, move || write(sink.fd()))
}

fn devices() -> Vec<Candidate> {
    let zero = "read of 1 byte from /dev/zero";
    let null = "write of 14 bytes to /dev/null";
    let through_libc = "write of 14 bytes to /dev/null through libc";

    let reading = |sink: WriteSink| {
        Microbenchmark::call(zero, move || {
            let mut byte = 1_u8;
            let fd = sink.fd().unsigned_abs() as usize;
            // SAFETY: one byte is valid for writing.
            unsafe { syscall3(Sysno::read as usize, fd, &raw mut byte as usize, 1) == 1 }
        })
    };
    let libc_writing =
        |sink: WriteSink| Microbenchmark::call(through_libc, move || write_through_libc(sink.fd()));

    vec![
        offered(zero, WriteSink::device("/dev/zero").map(reading), Some("Simple read"), None),
        offered(
            null,
            WriteSink::device("/dev/null").map(|sink| writing(null, sink)),
            Some("Simple write"),
            Some("lmbench writes 1 byte; the length does not matter, because /dev/null does not read it"),
        ),
        offered(through_libc, WriteSink::device("/dev/null").map(libc_writing), None, None),
    ]
}

fn offered(
    name: &str,
    benchmark: Result<Microbenchmark, FloorError>,
    lmbench: Option<&'static str>,
    note: Option<&'static str>,
) -> Candidate {
    benchmark
        .map(|benchmark| (benchmark, FigureText { lmbench, note }))
        .map_err(|error| (name.to_owned(), error))
}

/// A pipe that is emptied between the batches: no write wakes a reader, and none blocks.
struct QuietPipe {
    sink: WriteSink,
    reader: File,
}

/// Fewer than the 4681 texts that fit into a pipe of 64 KiB.
const MAX_TEXTS_IN_PIPE: u32 = 4000;

impl Operation for QuietPipe {
    fn prepare(&mut self) -> Result<(), String> {
        let mut buffer = [0; 1 << 14];
        // Until it would block: then the pipe is empty.
        while self.reader.read(&mut buffer).is_ok_and(|count| count > 0) {}
        Ok(())
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        let fd = self.sink.fd();
        let right = (0..times).fold(true, |right, _| right & write(fd));
        if right { Ok(()) } else { Err("a write to the pipe was refused or cut short".to_owned()) }
    }
}

fn quiet_pipe() -> Candidate {
    let name = "write to a pipe, nobody waiting";
    let benchmark = WriteSink::pipe().map(|(sink, reader)| {
        Microbenchmark::new(name, QuietPipe { sink, reader }).at_most(MAX_TEXTS_IN_PIPE).with_singles()
    });
    offered(
        name,
        benchmark,
        None,
        Some("appended to the last page in the pipe; the pipe is emptied between the batches"),
    )
}

type Open = fn(usize) -> Result<WriteSink, FloorError>;

fn with_readers(other: Option<usize>) -> Vec<Candidate> {
    const WAKES: &str = "wakes the reader if it sleeps, and waits for it if it lags behind";
    let kinds: [(&str, Open); 4] = [
        ("write to a pipe, reader on another CPU", WriteSink::pipe_with_reader),
        ("write to a socketpair, reader on another CPU", WriteSink::socket_with_reader),
        ("write to a pty (default mode), reader on another CPU", |cpu| {
            WriteSink::terminal_with_reader(cpu, false)
        }),
        ("write to a pty (raw), reader on another CPU", |cpu| WriteSink::terminal_with_reader(cpu, true)),
    ];

    let only_one = || FloorError::Resource {
        what: "another processor for the reader",
        cause: std::io::Error::from_raw_os_error(libc::ENODEV),
    };

    let candidate = |(name, open): (&'static str, Open)| {
        let sink = other.ok_or_else(only_one).and_then(open);
        offered(name, sink.map(|sink| writing(name, sink)), None, Some(WAKES))
    };
    kinds.into_iter().map(candidate).collect()
}

fn files(folder: &Path) -> Vec<Candidate> {
    let memory = "write to a file in memory (tmpfs), overwriting";
    let mut all =
        vec![offered(memory, WriteSink::memory().map(|sink| overwriting(memory, sink)), None, None)];

    let appending = "write to a file in memory (tmpfs), appending";
    all.push(offered(
        appending,
        WriteSink::memory()
            .map(|sink| Microbenchmark::new(appending, Appending(sink)).at_most(1 << 16).with_singles()),
        None,
        None,
    ));

    match WriteSink::file(folder) {
        Ok((sink, system)) => {
            let name = format!("write to a file on disk ({system}), overwriting");
            all.push(Ok(plain(overwriting(&name, sink))));
        }
        Err(error) => all.push(Err(("write to a file on disk, overwriting".to_owned(), error))),
    }

    match WriteSink::file(folder) {
        Ok((sink, system)) => {
            let name = format!("write to a file on disk ({system}), appending");
            all.push(Ok(plain(Microbenchmark::new(name, Appending(sink)).at_most(1 << 16).with_singles())));
        }
        Err(error) => all.push(Err(("write to a file on disk, appending".to_owned(), error))),
    }
    all
}

/// Writes at offset 0 each time, so the file does not grow.
fn overwriting(name: &str, sink: WriteSink) -> Microbenchmark {
    Microbenchmark::call(name, move || {
        let fd = sink.fd().unsigned_abs() as usize;
        // SAFETY: the text is valid for its length.
        unsafe { syscall4(Sysno::pwrite64 as usize, fd, TEXT.as_ptr() as usize, TEXT.len(), 0) == TEXT.len() }
    })
}

/// Appends to a file, which is truncated before each batch.
struct Appending(WriteSink);

impl Operation for Appending {
    fn prepare(&mut self) -> Result<(), String> {
        let fd = self.0.fd();
        // SAFETY: our own descriptor.
        let emptied = unsafe { libc::ftruncate(fd, 0) == 0 && libc::lseek(fd, 0, libc::SEEK_SET) == 0 };
        if emptied {
            Ok(())
        } else {
            Err(format!("cannot truncate the file: {}", std::io::Error::last_os_error()))
        }
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        let fd = self.0.fd();
        let right = (0..times).fold(true, |right, _| right & write(fd));
        if right { Ok(()) } else { Err("a write to the file was refused or cut short".to_owned()) }
    }
}

/// The lowest layers of the waterfall: name, what the layer below does without, and the microbenchmark.
pub fn down_to_the_floor() -> Vec<(&'static str, &'static str, Result<Microbenchmark, FloorError>)> {
    let through_libc = |sink: WriteSink| Microbenchmark::call("write", move || write_through_libc(sink.fd()));
    // SAFETY: getppid has no arguments and no effects.
    let getppid =
        Microbenchmark::call("getppid", || unsafe { syscall0(Sysno::getppid as usize) }.cast_signed() >= 0);

    vec![
        (
            "write to /dev/null through libc",
            "libc's wrapper",
            WriteSink::device("/dev/null").map(through_libc),
        ),
        (
            "write to /dev/null, inline system call",
            "what write itself does",
            WriteSink::device("/dev/null").map(|sink| writing("write", sink)),
        ),
        ("getppid, inline system call: the floor", "", Ok(getppid)),
    ]
}
