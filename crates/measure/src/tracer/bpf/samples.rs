//! Samples of user code that need no stop: the kernel copies what a reader of frames needs.

use super::attach::{AttachError, judged, refused, taken};
use super::bare_loader::loader;
use super::kernel_types::KernelTypes;
use super::namespace::Namespace;
use super::ring_drain::RingDrain;
use super::samples_session::{Image, Piece, Sample, SamplesSession};
use super::shared_run::Mapped;
use crate::tracer::ptrace::place::StoppedAt;
use crate::units::Nanos;
use aya::Ebpf;
use aya::maps::RingBuf;
use aya::programs::PerfEvent;
use miniz_oxide::inflate::decompress_to_vec;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{Ordering, fence};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/samples.bpf.o"));

/// The size of the ring buffer, in bytes.
const RING: u32 = 32 << 20;
const PROGRAM: &str = "sampled";

/// The loaded program.
pub(crate) struct BpfSamples {
    programs: Ebpf,
    session: Mapped<SamplesSession>,
    ring: RingDrain,
    namespace: Namespace,
}

/// What was copied at a sample.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) at: Nanos,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    /// Which of the images the process executes.
    pub(crate) image: Option<usize>,
    /// Not all objects were copied.
    pub(crate) is_cut: bool,
    pub(crate) place: StoppedAt,
    pub(crate) stack: Box<[u8]>,
    pub(crate) pieces: Vec<(u64, Box<[u8]>)>,
}

/// What the kernel side did in one run.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// In order of time.
    pub(crate) samples: Vec<Copied>,
    pub(crate) lost: u64,
    /// How long it took, for how many samples.
    pub(crate) cost: (Nanos, u64),
}

impl std::fmt::Debug for BpfSamples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BpfSamples").finish_non_exhaustive()
    }
}

impl BpfSamples {
    /// Loads the program.
    pub(crate) fn load() -> Result<BpfSamples, AttachError> {
        let namespace = Namespace::ours().ok_or(AttachError::NoProc)?;
        let bytes = decompress_to_vec(OBJECT).expect("the build compressed it");
        let types = KernelTypes::read().and_then(|types| types.of_object(&bytes));
        let types = types.map_err(AttachError::Btf)?;
        let processors = u32::try_from(aya::util::nr_cpus().unwrap_or(1)).unwrap_or(1);
        let loaded = loader()
            .btf(Some(&types))
            .map_max_entries("EVENTS", RING)
            .map_max_entries("SCRATCH", processors)
            .load(&bytes);
        let mut programs = loaded.map_err(AttachError::of_object)?;

        let map = |name: &'static str| move |cause: String| AttachError::Map { map: name, cause };
        let aya::maps::Map::Array(page) = taken(&mut programs, "SESSION")? else {
            return Err(map("SESSION")("not an array".to_owned()));
        };
        let session = Mapped::of(page.fd().as_fd()).map_err(|error| map("SESSION")(error.to_string()))?;
        let events = RingBuf::try_from(taken(&mut programs, "EVENTS")?);
        let events = events.map_err(|error| map("EVENTS")(error.to_string()))?;
        let program = program(&mut programs)?;
        judged(|| program.load()).map_err(|cause| refused(PROGRAM, cause))?;
        Ok(BpfSamples { programs, session, ring: RingDrain::start(events, RING), namespace })
    }

    /// The program's descriptor, for `PERF_EVENT_IOC_SET_BPF`.
    pub(crate) fn descriptor(&mut self) -> Result<RawFd, AttachError> {
        let program = program(&mut self.programs)?;
        Ok(program.fd().map_err(|cause| refused(PROGRAM, cause))?.as_fd().as_raw_fd())
    }

    /// Before a run: what is copied of which interpreters.
    pub(crate) fn begin(&self, run: u32, images: &[Image]) {
        self.ring.take();
        let Namespace(namespace) = self.namespace;
        let mut session =
            SamplesSession { ours: std::process::id(), namespace, run, ..SamplesSession::default() };
        for (place, image) in session.image.iter_mut().zip(images) {
            *place = *image;
        }
        // SAFETY: the value is a `SamplesSession`; programs read it only while a sampled program runs.
        unsafe { self.session.as_ptr().write_volatile(session) };
        self.ring.watch(true);
    }

    /// After a run.
    pub(crate) fn take(&self) -> Taken {
        self.ring.watch(false);
        let mut samples: Vec<Copied> =
            self.ring.take().iter().filter_map(|record| Copied::of(record)).collect();
        samples.sort_by_key(|sample| sample.at);
        // ORDERING: the tracee was reaped by a system call, after its programs ran.
        fence(Ordering::Acquire);
        // SAFETY: the mapping lives as long as `self`, and any bits are a valid `SamplesSession`.
        let session = unsafe { self.session.as_ptr().read_volatile() };
        Taken { samples, lost: session.lost, cost: (Nanos(session.nanos), session.samples) }
    }
}

fn program(programs: &mut Ebpf) -> Result<&mut PerfEvent, AttachError> {
    let missing = || AttachError::Map { map: PROGRAM, cause: "the object has no such program".to_owned() };
    let program = programs.program_mut(PROGRAM).ok_or_else(missing)?;
    program.try_into().map_err(|cause| refused(PROGRAM, cause))
}

impl Copied {
    /// Reads a record of the ring.
    fn of(record: &[u8]) -> Option<Copied> {
        let (head, mut rest) = record.split_at_checked(size_of::<Sample>())?;
        // SAFETY: as long as the structure, all of whose fields may have any bits.
        let sample = unsafe { head.as_ptr().cast::<Sample>().read_unaligned() };
        let mut pieces = Vec::new();
        while let Some((head, after)) = rest.split_at_checked(size_of::<Piece>()) {
            // SAFETY: as above.
            let piece = unsafe { head.as_ptr().cast::<Piece>().read_unaligned() };
            let bytes = after.get(..piece.bytes as usize)?;
            pieces.push((piece.address, bytes.into()));
            rest = after.get(bytes.len().next_multiple_of(8)..).unwrap_or_default();
        }
        let stack = (!pieces.is_empty()).then(|| pieces.remove(0))?.1;
        Some(Copied {
            at: Nanos(sample.at),
            pid: sample.pid,
            tid: sample.tid,
            image: (sample.image as usize).checked_sub(1),
            is_cut: sample.cut > 0,
            place: place(&sample.registers),
            stack,
            pieces,
        })
    }
}

/// Those that a sampler needs, in the order of `user_pt_regs` (`arch/*/include/uapi/asm/ptrace.h`).
#[cfg(target_arch = "x86_64")]
fn place(registers: &[u64]) -> StoppedAt {
    const CODE_64: u64 = 0x33;
    let [r15, r14, r13, r12, fp] = [0, 1, 2, 3, 4].map(|n| registers[n]);
    StoppedAt {
        ip: registers[16],
        sp: registers[19],
        fp,
        lr: 0,
        thread_pointer: 0,
        v8_offset: registers[8],
        v8_bytecode: r12,
        hotspot_instruction: r13,
        php_frame: r14,
        php_instruction: r15,
        narrow: registers[17] != CODE_64,
    }
}

#[cfg(target_arch = "aarch64")]
fn place(registers: &[u64]) -> StoppedAt {
    const NARROW: u64 = 0x10;
    StoppedAt {
        ip: registers[32],
        sp: registers[31],
        fp: registers[29],
        lr: registers[30],
        thread_pointer: 0,
        v8_offset: registers[19],
        v8_bytecode: registers[20],
        hotspot_instruction: registers[22],
        php_frame: registers[27],
        php_instruction: registers[28],
        narrow: registers[33] & NARROW != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_accepts_the_program() {
        if let Err(error) = BpfSamples::load() {
            if let AttachError::Verifier { log, .. } = &error {
                let lines: Vec<&str> = log.lines().collect();
                panic!("{}", lines[lines.len().saturating_sub(60)..].join("\n"));
            }
            assert!(std::env::var_os("FIRSTBYTE_REQUIRE").is_none(), "{error}");
            eprintln!("skipped: {error}");
        }
    }
}
