//! From registers and a copied stack to the addresses of the callers.

use crate::analysis::binaries::{CallFrames, SectionBytes};
use firstbyte_measure::sampler::StackSample;
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use std::ops::{Deref, Range};
use std::rc::Rc;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64 as Frames};
#[cfg(not(target_arch = "aarch64"))]
use framehop::x86_64::{CacheX86_64 as Cache, UnwindRegsX86_64, UnwinderX86_64 as Frames};

/// Deeper stacks are cut at their outer end.
const DEEPEST: usize = 512;

/// A section's bytes, shared by all processes that map the file.
#[derive(Clone, Debug, Default)]
struct Shared(Rc<[u8]>);

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The rules for unwinding one process' code.
#[derive(Clone)]
pub(super) struct Rules {
    frames: Frames<Shared>,
    /// The end of the highest code.
    end: u64,
}

/// Rules that were looked up before.
#[derive(Default)]
pub(super) struct Known(Cache);

impl Rules {
    pub(super) fn new() -> Rules {
        Rules { frames: Frames::new(), end: 0 }
    }

    /// A file's code is mapped at `range`; `bias` is what was added to the addresses that the file states.
    pub(super) fn add(&mut self, path: &str, range: Range<u64>, bias: u64, frames: &CallFrames) {
        let split = |section: &Option<SectionBytes>| match section {
            Some((range, bytes)) => (Some(range.clone()), Some(Shared(Rc::clone(bytes)))),
            None => (None, None),
        };
        let (eh_frame_svma, eh_frame) = split(&frames.eh_frame);
        let (eh_frame_hdr_svma, eh_frame_hdr) = split(&frames.eh_frame_hdr);
        let (_, debug_frame) = split(&frames.debug_frame);
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: frames.text.clone(),
            got_svma: frames.got.clone(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame,
            ..ExplicitModuleSectionInfo::default()
        };
        self.end = self.end.max(range.end);
        self.frames.add_module(Module::new(path.to_owned(), range, bias, sections));
    }

    pub(super) fn remove(&mut self, from: u64) {
        self.frames.remove_module(from);
    }

    /// Addresses inside the functions that were running, innermost first, each with its frame pointer. Where only the first
    /// one is known (a 32-bit program, a processor that framehop does not know), it is alone.
    pub(super) fn callers(&self, sample: &StackSample, known: &mut Known) -> Vec<(u64, u64)> {
        let registers = sample.registers;
        let innermost = (registers.ip, registers.fp);
        if sample.narrow || cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
            return vec![innermost];
        }
        #[cfg(not(target_arch = "aarch64"))]
        let mut current = UnwindRegsX86_64::new(registers.ip, registers.sp, registers.fp);
        #[cfg(target_arch = "aarch64")]
        let mut current = UnwindRegsAarch64::new_with_ptr_auth_mask(
            // return addresses may be signed in the bits that no address has
            PtrAuthMask::from_max_known_address(self.end.max(registers.sp)),
            registers.lr,
            registers.sp,
            registers.fp,
        );

        let mut read = |address: u64| word(&sample.stack, address.wrapping_sub(registers.sp)).ok_or(());
        let mut address = FrameAddress::from_instruction_pointer(registers.ip);
        let mut callers = vec![innermost];
        while callers.len() < DEEPEST {
            let caller =
                self.frames.unwind_frame(address, &mut current, &mut known.0, &mut read).ok().flatten();
            let Some(next) = caller.and_then(FrameAddress::from_return_address) else { break };
            address = next;
            #[cfg(not(target_arch = "aarch64"))]
            callers.push((address.address_for_lookup(), current.bp()));
            #[cfg(target_arch = "aarch64")]
            callers.push((address.address_for_lookup(), current.fp()));
        }
        callers
    }
}

fn word(stack: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    stack.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_ne_bytes)
}
