//! Sets of processors: where a tracee may run.

use std::fmt;
use std::str::FromStr;

/// A set of processors, as `--cpus` takes it: `0`, `0,2`, `0-3,6`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet {
    cpus: Vec<usize>,
}

/// Why a text is not a set of this machine's processors.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid list of processors: {reason}\nhelp: write it like `0`, `0,2` or `0-3`")]
pub struct CpuSetError {
    text: String,
    reason: String,
}

impl CpuSet {
    /// The processors, ascending.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Checks that this process may run on each of them.
    pub fn check(&self) -> Result<(), CpuSetError> {
        let usable = usable();
        let missing = self.cpus.iter().find(|cpu| !usable.contains(cpu));
        missing.map_or(Ok(()), |missing| {
            let there: Vec<String> = usable.iter().map(ToString::to_string).collect();
            Err(CpuSetError {
                text: self.to_string(),
                reason: format!("there is no processor {missing}, only {}", there.join(", ")),
            })
        })
    }

    /// The processors on which the calling thread may run now (`sched_getaffinity(2)`).
    pub fn of_this_thread() -> Option<CpuSet> {
        // SAFETY: a zeroed mask is valid; the kernel writes no more than its size. No number lies beyond that.
        let cpus: Vec<usize> = unsafe {
            let mut mask: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of_val(&mask), &raw mut mask) != 0 {
                return None;
            }
            (0..libc::CPU_SETSIZE.unsigned_abs() as usize)
                .filter(|cpu| libc::CPU_ISSET(*cpu, &mask))
                .collect()
        };
        (!cpus.is_empty()).then_some(CpuSet { cpus })
    }

    /// The last of the processors alone.
    pub fn last(&self) -> Option<CpuSet> {
        self.cpus.last().map(|cpu| CpuSet { cpus: vec![*cpu] })
    }

    /// Keeps the calling thread, and the processes that it creates, on these processors. Returns whether the kernel
    /// agreed.
    pub fn keep_this_thread(&self) -> bool {
        let mask = self.as_kernel_mask();
        // SAFETY: the kernel reads the mask.
        unsafe { libc::sched_setaffinity(0, size_of_val(&mask), &raw const mask) == 0 }
    }

    /// The set as the kernel takes it.
    pub(super) fn as_kernel_mask(&self) -> libc::cpu_set_t {
        // SAFETY: `cpu_set_t` is an array of integers; all zeroes is the empty set.
        let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for &cpu in &self.cpus {
            // SAFETY: `from_str` admits no processor beyond the mask's size.
            unsafe { libc::CPU_SET(cpu, &mut mask) };
        }
        mask
    }
}

/// Does something on the last of the processors on which the calling thread may run, with the processes and threads that it
/// creates meanwhile. A thread that waits for another one there need not wake a processor.
pub fn on_one_processor<T>(action: impl FnOnce() -> T) -> T {
    let allowed = CpuSet::of_this_thread();
    let stays = allowed.as_ref().and_then(CpuSet::last).is_some_and(|one| one.keep_this_thread());

    let result = action();
    if let Some(allowed) = allowed.filter(|_| stays) {
        allowed.keep_this_thread();
    }
    result
}

/// The processors that this process may use, ascending. Each is tried, because neither the present mask
/// (`sched_getaffinity(2)`) nor the list of online processors shows what a container allows. Restores the mask.
fn usable() -> Vec<usize> {
    // SAFETY: zeroed masks are valid, empty ones; the kernel reads and writes no more than their size.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let mut before: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size, &raw mut before);
        let may_run_on = |cpu: &usize| {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(*cpu, &mut one);
            libc::sched_setaffinity(0, size, &raw const one) == 0
        };
        let usable = (0..libc::CPU_SETSIZE.unsigned_abs() as usize).filter(may_run_on).collect();
        libc::sched_setaffinity(0, size, &raw const before);
        usable
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<CpuSet, CpuSetError> {
        let error = |reason: &str| CpuSetError { text: text.to_owned(), reason: reason.to_owned() };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |n: &str| n.trim().parse::<usize>().map_err(|_| error("a processor is a number"));
            let (first, last) = (number(first)?, number(last)?);
            if last >= libc::CPU_SETSIZE.unsigned_abs() as usize {
                return Err(error("the highest possible number is 1023"));
            }
            if first > last {
                return Err(error("a range goes from the smaller to the larger number"));
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(CpuSet { cpus })
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_sorted_and_without_duplicates() {
        assert_eq!("3,0-2,1".parse::<CpuSet>().unwrap().cpus(), [0, 1, 2, 3]);
    }

    #[test]
    fn only_existing_processors_can_be_used_and_our_mask_stays() {
        let all = usable();
        assert!(!all.is_empty() && usable() == all, "trying changes nothing");
        let first = all[0].to_string().parse::<CpuSet>().unwrap();
        assert_eq!(first.check(), Ok(()));
        if !all.contains(&1023) {
            let message = "1023".parse::<CpuSet>().unwrap().check().unwrap_err().to_string();
            assert!(message.contains(&format!("no processor 1023, only {}", all[0])), "{message}");
        }
    }

    #[test]
    fn one_processor_is_left_again() {
        let all = CpuSet::of_this_thread().unwrap();
        let one =
            on_one_processor(|| std::thread::spawn(|| CpuSet::of_this_thread().unwrap()).join().unwrap());
        assert_eq!((Some(one), CpuSet::of_this_thread().unwrap()), (all.last(), all));
    }

    #[test]
    fn invalid_lists_are_refused() {
        for text in ["", "a", "3-1", "0-99999", "1,,2", "-1"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }
}
