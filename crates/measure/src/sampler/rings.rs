//! The events of one thread and what it creates, one for each processor, and the rings into which the kernel writes.

use super::SamplerError;
use super::record::{self, Read, Record};
use super::registers::Registers;
use crate::confinement::perf_refused;
use crate::units::Nanos;
use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How much of the user's stack a sample copies, bytes. The stacks of interpreters are seldom deeper.
const STACK: u32 = 16 << 10;

/// All rings together take at most this much memory, each one at least and at most so much.
const ALL_RINGS: usize = 32 << 20;
const SMALLEST_RING: usize = 128 << 10;
const LARGEST_RING: usize = 4 << 20;

/// `PERF_EVENT_IOC_PERIOD` (`include/uapi/linux/perf_event.h`).
pub(super) const SET_PERIOD: libc::Ioctl = 0x4008_2404;

/// `PERF_EVENT_IOC_SET_BPF`.
#[cfg(feature = "bpf")]
const SET_BPF: libc::Ioctl = 0x4004_2408;

/// Records, and how many were lost.
pub(super) type Drained = (Vec<Record>, u64);

/// Open events. Only what the thread that opened them creates is sampled.
#[derive(Debug)]
pub(super) struct Rings {
    shared: Arc<Mutex<Shared>>,
    stop: Arc<OwnedFd>,
    drainer: Option<JoinHandle<()>>,
    /// See [`crate::counters`]: without it, the kernel exchanges our events with those of a child.
    _apart: Counter,
}

struct Shared {
    rings: Vec<Sampler>,
    records: Vec<Record>,
    lost: u64,
    /// Our own process, of which no samples are kept.
    our_pid: u32,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("rings", &self.rings.len()).finish_non_exhaustive()
    }
}

impl Rings {
    /// Without a period, there are no samples: only what is mapped, created and executed is recorded.
    pub(super) fn open(period: Option<Nanos>) -> Result<Rings, SamplerError> {
        let processors = online();
        let our_pid = std::process::id();
        let shared =
            Arc::new(Mutex::new(Shared { rings: Vec::new(), records: Vec::new(), lost: 0, our_pid }));
        let stop =
            Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| SamplerError::Failed(error.into()))?);

        let mut size = (ALL_RINGS / processors.len().max(1)).clamp(SMALLEST_RING, LARGEST_RING);
        let rings = loop {
            match all(&processors, period, size) {
                // more than an ordinary user may lock: kernel.perf_event_mlock_kb
                Err(_) if size / 2 >= SMALLEST_RING => size /= 2,
                opened => break opened.map_err(reason)?,
            }
        };
        let apart = Builder::new(Software::CPU_CLOCK).exclude_kernel(true).exclude_hv(true).build();
        let polled: Vec<i32> = rings.iter().map(AsRawFd::as_raw_fd).collect();
        lock(&shared).rings = rings;

        // Opened after the events, it would be sampled if it were created by this thread and used much processor time:
        // it sleeps until a ring is half full.
        let drainer =
            drainer(Arc::clone(&shared), Arc::clone(&stop), polled).map_err(SamplerError::Failed)?;
        Ok(Rings { shared, stop, drainer: Some(drainer), _apart: apart.map_err(reason)? })
    }

    /// Changes the period of what is created from now on.
    pub(super) fn set_period(&self, period: Nanos) -> io::Result<()> {
        for ring in &lock(&self.shared).rings {
            // SAFETY: the descriptor is open, and the kernel only reads the number.
            if unsafe { libc::ioctl(ring.as_raw_fd(), SET_PERIOD, &raw const period.0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// From now on this BPF program runs at each sample, instead of a record in the ring.
    #[cfg(feature = "bpf")]
    pub(super) fn run_program(&self, program: std::os::fd::RawFd) -> io::Result<()> {
        for ring in &lock(&self.shared).rings {
            // SAFETY: both descriptors are open.
            if unsafe { libc::ioctl(ring.as_raw_fd(), SET_BPF, program) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Reads what is in the rings.
    pub(super) fn drain(&self) {
        lock(&self.shared).drain();
    }

    /// What was read since the last time, and how many records were lost.
    pub(super) fn take(&self) -> Drained {
        let mut shared = lock(&self.shared);
        (std::mem::take(&mut shared.records), std::mem::take(&mut shared.lost))
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if let Some(drainer) = self.drainer.take() {
            let _ = drainer.join();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn drain(&mut self) {
        for ring in &mut self.rings {
            while let Some(raw) = ring.next_record() {
                let body = raw.to_contiguous();
                // Our own threads are sampled, too, while they read. On a slow machine, storing such a sample takes so long
                // that the next one is already there, without end.
                if record::is_sample_of(self.our_pid, raw.ty(), &body) {
                    continue;
                }
                match record::read(raw.ty(), raw.misc(), &body) {
                    Read::Record(record) => self.records.push(record),
                    Read::Lost(lost) => self.lost += lost,
                    Read::Other => {}
                }
            }
        }
    }
}

/// A thread that empties the rings when they are half full.
fn drainer(shared: Arc<Mutex<Shared>>, stop: Arc<OwnedFd>, rings: Vec<i32>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("sampler".to_owned()).spawn(move || {
        loop {
            // SAFETY: the rings are closed after this thread has ended.
            let rings = rings.iter().map(|fd| unsafe { BorrowedFd::borrow_raw(*fd) });
            let mut asked: Vec<PollFd<'_>> =
                rings.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            asked.push(PollFd::new(&*stop, PollFlags::IN));
            let answered = poll(&mut asked, None);
            let stopped = asked.pop().is_none_or(|stop| !stop.revents().is_empty());
            if stopped || answered.is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
            lock(&shared).drain();
        }
    })
}

fn all(processors: &[usize], period: Option<Nanos>, size: usize) -> io::Result<Vec<Sampler>> {
    processors.iter().map(|processor| builder(*processor, period, size).build()?.sampled(size)).collect()
}

fn builder(processor: usize, period: Option<Nanos>, size: usize) -> Builder<'static> {
    let mut builder = Builder::new(if period.is_some() { Software::CPU_CLOCK } else { Software::DUMMY });
    builder.observe_self().one_cpu(processor).inherit(true).enabled(true);
    builder.exclude_kernel(true).exclude_hv(true).clockid(Clock::MONOTONIC);
    builder.sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME);
    if let Some(period) = period {
        builder.sample_period(period.0);
        builder.sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER);
        builder.sample_regs_user(Registers::mask()).sample_stack_user(STACK);
    }
    builder.mmap(true).mmap2(true).comm(true).comm_exec(true).task(true).sample_id_all(true);
    builder.wakeup_watermark(size / 2);
    builder
}

/// The processors that are online.
fn online() -> Vec<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, end) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=end.parse().ok()?)
    });
    let all: Vec<usize> = ranges.flatten().collect();
    if all.is_empty() { vec![0] } else { all }
}

/// `perf_event_open(2)`, ERRORS.
fn reason(error: io::Error) -> SamplerError {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => SamplerError::Forbidden(perf_refused()),
        _ => SamplerError::Failed(error),
    }
}
