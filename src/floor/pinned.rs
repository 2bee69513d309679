//! Keeps the measurements on one processor.

use super::FloorError;
use std::mem;

/// Keeps the calling thread, and the processes that it creates, on one processor until dropped.
#[derive(Debug)]
pub struct Pinned {
    pub cpu: usize,
    /// Another processor, for the readers of our output; `None` if there is only one.
    pub other: Option<usize>,
    before: libc::cpu_set_t,
}

impl Pinned {
    /// Pins the calling thread to `wanted`, or else to the last processor that it may run on: the first ones serve
    /// most interrupts.
    pub fn to(wanted: Option<usize>) -> Result<Pinned, FloorError> {
        let before = allowed()?;
        let cpus = members(&before);
        let cpu = wanted.or(cpus.last().copied()).unwrap_or(0);
        if !cpus.contains(&cpu) {
            return Err(FloorError::Processor { cpu });
        }
        pin_to(cpu)?;
        Ok(Pinned { cpu, other: cpus.into_iter().rev().find(|other| *other != cpu), before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the mask that the kernel gave us.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.before) };
    }
}

pub(super) fn pin_to(cpu: usize) -> Result<(), FloorError> {
    // SAFETY: plain data; `cpu` lies within the mask, as every processor that the kernel named does.
    let set = unsafe {
        let mut mask: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut mask);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const mask)
    };
    if set == 0 { Ok(()) } else { Err(FloorError::last("a processor to stay on")) }
}

/// The processors that the calling thread may run on, in ascending order.
pub fn allowed_cpus() -> Result<Vec<usize>, FloorError> {
    allowed().map(|mask| members(&mask))
}

fn members(mask: &libc::cpu_set_t) -> Vec<usize> {
    // SAFETY: the mask is valid, and no number lies beyond its size.
    let is_member = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, mask) };
    (0..libc::CPU_SETSIZE.unsigned_abs() as usize).filter(is_member).collect()
}

fn allowed() -> Result<libc::cpu_set_t, FloorError> {
    // SAFETY: plain data, filled by the kernel.
    unsafe {
        let mut mask: libc::cpu_set_t = mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut mask) {
            0 => Ok(mask),
            _ => Err(FloorError::last("the list of our processors")),
        }
    }
}
