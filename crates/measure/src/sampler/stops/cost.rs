//! What a stop costs on this machine: two switches between the program and us, and what is copied meanwhile.

use super::event::Event;
use crate::sampler::cost::{self, NEVER};
use crate::sampler::frames::frame::STACK;
use crate::tracer::ptrace::tracee::{RunUntil, TracedThread};
use crate::units::Nanos;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Not much longer than a stop may take in a virtual machine, so that a walk has several.
const PERIOD: Nanos = Nanos(1_000_000);
/// About as many pages are read for the frames of an interpreter.
const PAGES: usize = 12;

/// Commands to the child.
const WALK: u8 = 1;
const END: u8 = 0;

/// The time of one stop, measured with a child that walks through its memory.
///
/// # Errors
///
/// The kernel refuses such events, or it does not let us trace.
pub(super) fn cost_of_stop() -> io::Result<Nanos> {
    let memory = cost::Memory::new();
    let steps = memory.steps_of_long_walk();
    let (mut ours, childs) = UnixStream::pair()?;
    let (opened, event) = channel();

    thread::scope(|scope| {
        let memory = &memory;
        scope.spawn(move || trace(childs, &opened, |pair| walks(pair, memory, steps)));
        let event: Event = event.recv().map_err(io::Error::other)??;

        let walk = |period| {
            event.set_period(period);
            let mut nanos = [0; 8];
            ours.write_all(&[WALK])?;
            ours.read_exact(&mut nanos)?;
            Ok(Nanos(u64::from_ne_bytes(nanos)))
        };
        let cost = cost::high_cost(PERIOD, walk);
        let _ = ours.write_all(&[END]);
        cost
    })
}

/// The child's part: allocates nothing and locks nothing.
fn walks(mut pair: &UnixStream, memory: &cost::Memory, steps: u64) {
    let mut told = [END];
    while pair.read_exact(&mut told).is_ok() && told == [WALK] {
        let time = memory.walk(steps);
        if pair.write_all(&time.0.to_ne_bytes()).is_err() {
            return;
        }
    }
}

/// Creates the child, opens its event, and follows it to its end.
fn trace(pair: UnixStream, opened: &Sender<io::Result<Event>>, child: impl FnOnce(&UnixStream)) {
    // SAFETY: the child reads, writes and computes, and leaves by `_exit`: it neither allocates nor locks.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child(&pair);
        // SAFETY: ends the child without what the parent would do at its own exit.
        unsafe { libc::_exit(0) };
    }
    drop(pair);
    if pid < 0 {
        let _ = opened.send(Err(io::Error::last_os_error()));
        return;
    }

    let event = TracedThread::seize(pid).and_then(|tracee| Ok((tracee, Event::open(pid, NEVER)?)));
    let is_refused = event.is_err();
    let _ = opened.send(event.map(|(_, event)| event));
    if is_refused {
        TracedThread(pid).kill();
    }
    follow(TracedThread(pid));
}

fn follow(tracee: TracedThread) {
    let mut room = vec![0; STACK];
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one int.
        let waited = unsafe { libc::waitpid(tracee.0, &raw mut status, libc::__WALL) };
        if waited < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
            continue;
        }
        if waited < 0 || !libc::WIFSTOPPED(status) {
            return;
        }
        if tracee.is_perf_trap() {
            copy(tracee, &mut room);
        }
        tracee.resume(RunUntil::Event, 0);
    }
}

/// As much as is copied of a program.
fn copy(tracee: TracedThread, room: &mut [u8]) {
    let place = tracee.registers().unwrap_or_default();
    tracee.read_memory(place.sp, room);
    for page in room.chunks_exact_mut(4096).take(PAGES) {
        tracee.read_memory(place.sp & !4095, page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_has_a_cost_and_the_child_ends() {
        match cost_of_stop() {
            Ok(cost) => assert!(cost > Nanos(0)),
            Err(error) => {
                assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none(), "{error}");
                eprintln!("skipped: {error}");
            }
        }
    }
}
