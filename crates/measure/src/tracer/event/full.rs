//! What the full mode adds to the event vocabulary: whole system calls, page faults, time off the processor,
//! images.

use super::content::Content;
use crate::arch::{Argument, CallFacts, Structure, Syscall, Use, call_names, structures};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// `ERESTARTSYS`, `ERESTARTNOINTR`, `ERESTARTNOHAND` and `ERESTART_RESTARTBLOCK` of `linux/errno.h`, negative.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];

/// Whether a call's result means that the kernel may enter it again. Only a tracer that stops the program sees it.
pub(crate) fn is_restart(result: i64) -> bool {
    RESTARTS.contains(&result)
}

/// One system call. The event's instant is its return, or its entry if it never returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The call.
    pub call: Syscall,
    /// When it was entered.
    pub entered: Nanos,
    /// Its result: a value, or a negative errno. `None` if it never returned (`exit`, or killed during the call).
    pub result: Option<i64>,
    /// Its arguments, as they were in the registers.
    #[serde(default)]
    pub arguments: [u64; 6],
    /// The user's instruction pointer; 0 if the backend did not see it.
    #[serde(default)]
    pub ip: u64,
    /// The top words of the user's stack. Some of them are return addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<u64>,
    /// Its path arguments.
    #[serde(default, with = "super::content::paths", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Content>,
    /// The two descriptors that `pipe(2)` or `socketpair(2)` wrote to memory; `None`: another call, or the backend did not
    /// read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<[i32; 2]>,
    /// The beginning of another structure among its arguments; empty: it has none, or the backend could not read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub structure: Vec<u8>,
    /// What it wrote or read: of the buffer among its arguments, or of the first buffers of an array; empty: it has none, or it
    /// was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Content>,
    /// It may write to the stdout that we gave the tracee.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output: bool,
    /// How long its thread had had a processor when it was entered and when it returned. Only the ptrace backend reads it, and
    /// only where the kernel accounts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Box<[OnProcessor; 2]>>,
}

/// How a thread has had a processor since it was created (`/proc/PID/schedstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 3]", into = "[u64; 3]")]
pub struct OnProcessor {
    /// How long it ran.
    pub ran: Nanos,
    /// How long it was ready, but others ran.
    pub delayed: Nanos,
    /// How often it got a processor.
    pub turns: u64,
}

impl From<[u64; 3]> for OnProcessor {
    fn from([ran, delayed, turns]: [u64; 3]) -> OnProcessor {
        OnProcessor { ran: Nanos(ran), delayed: Nanos(delayed), turns }
    }
}

impl From<OnProcessor> for [u64; 3] {
    fn from(OnProcessor { ran, delayed, turns }: OnProcessor) -> [u64; 3] {
        [ran.0, delayed.0, turns]
    }
}

impl Call {
    /// Takes over what a structure among its arguments contains.
    pub(in crate::tracer) fn contain(&mut self, bytes: &[u8]) {
        let kind = structures().get(self.call).map(|(_, kind)| kind);
        match (kind, bytes.as_chunks::<4>().0) {
            (Some(Structure::Pair), [first, second, ..]) if self.result == Some(0) => {
                self.pair = Some([*first, *second].map(i32::from_ne_bytes));
            }
            (Some(Structure::Pair) | None, _) => {}
            (Some(_), _) => self.structure = bytes.to_vec(),
        }
    }

    /// Whether it may write to the program's stdout. The ptrace backend does not say which calls do: there, those that write
    /// to descriptor 1.
    pub fn prints(&self) -> bool {
        let name = call_names::name(self.call);
        let written =
            CallFacts::of(&name).and_then(|facts| facts.position(Argument::Descriptor(Use::Writes)));
        self.output || written.is_some_and(|at| self.arguments[usize::from(at)] == 1)
    }

    /// Its value; `None` if it failed or never returned.
    pub fn value(&self) -> Option<u64> {
        self.result.filter(|_| self.error().is_none()).map(i64::cast_unsigned)
    }

    /// The negative errno with which it failed (`MAX_ERRNO` in `include/linux/err.h`).
    pub fn error(&self) -> Option<i64> {
        self.result.filter(|result| (-4095..0).contains(result))
    }

    /// Whether a signal ended it.
    pub fn was_interrupted(&self) -> bool {
        self.result.is_some_and(|result| result == -i64::from(libc::EINTR) || is_restart(result))
    }
}

/// One page fault. The event's instant is the end of its handling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When the fault was taken.
    pub entered: Nanos,
    /// The address that was accessed.
    pub address: u64,
    /// The address of the instruction that accessed it, within the kernel unless `user` is set.
    pub ip: u64,
    /// User code accessed it, not the kernel on its behalf.
    pub user: bool,
    /// It was a write; `None`: the backend cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<bool>,
    /// It required I/O.
    pub major: bool,
}

/// A thread runs again. The event's instant is when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffCpu {
    /// When it left the processor; 0 if it had not run before.
    pub left: Nanos,
    /// When it was woken up; 0 if it was not, or if the backend did not see it.
    #[serde(default)]
    pub woken: Nanos,
    /// The process and the thread that ran where it was woken up. Where an interrupt did that (a timer, a disk), they have
    /// nothing to do with it: they were in user code then, or in a call that wakes nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waker: Option<[u32; 2]>,
    /// It was still runnable: the kernel preferred another thread.
    pub preempted: bool,
}

/// An exec has built its new image. The event's instant is the tracepoint `sched_process_exec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The file that was named.
    pub path: String,
    /// The file that is executed. For a script it is the interpreter.
    pub executed: String,
    /// The argument vector, as far as it was read.
    pub argv: Vec<String>,
    /// The first address of the executable's code, and the first one after it.
    pub code: [u64; 2],
    /// The same for its data.
    pub data: [u64; 2],
    /// Where the heap begins.
    pub brk: u64,
    /// Where the stack begins.
    pub stack: u64,
    /// The auxiliary vector (`getauxval(3)`): pairs of a type and a value.
    pub auxv: Vec<[u64; 2]>,
    /// The thread id before the exec, if it was another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_tid: Option<u32>,
    /// How long the thread had had a processor when it entered the exec and when the image was there, as in [`Call`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<Box<[OnProcessor; 2]>>,
}

impl Image {
    /// The value of a type in the auxiliary vector.
    pub fn auxiliary(&self, kind: u64) -> Option<u64> {
        self.auxv.iter().find(|entry| entry[0] == kind).map(|entry| entry[1])
    }
}

/// Reads the auxiliary vector as the kernel lays it out: pairs of words up to `AT_NULL`. Words of a 32-bit process
/// have 4 bytes, and two of them together are larger than any type.
pub(in crate::tracer) fn auxiliary_vector(bytes: &[u8]) -> Vec<[u64; 2]> {
    let long: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let short: Vec<u64> = bytes.as_chunks::<4>().0.iter().map(|w| u32::from_ne_bytes(*w).into()).collect();
    let is_narrow = long.first().is_some_and(|first| *first > u32::MAX.into());
    let words = if is_narrow { short } else { long };
    words.as_chunks::<2>().0.iter().copied().take_while(|entry| entry[0] != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auxiliary_vectors_of_both_word_sizes_end_at_their_null() {
        let wide: Vec<u8> =
            [33_u64, 0x7fff_0000_1000, 9, 0x40_0000, 0, 0, 7, 7].map(u64::to_ne_bytes).concat();
        assert_eq!(auxiliary_vector(&wide), [[33, 0x7fff_0000_1000], [9, 0x40_0000]]);
        let narrow: Vec<u8> = [32_u32, 0xf7f0_0000, 9, 0x804_8000, 0, 0, 7, 7].map(u32::to_ne_bytes).concat();
        assert_eq!(auxiliary_vector(&narrow), [[32, 0xf7f0_0000], [9, 0x804_8000]]);
        assert_eq!(auxiliary_vector(&[1, 2, 3]), [[0_u64; 2]; 0]);
    }
}
