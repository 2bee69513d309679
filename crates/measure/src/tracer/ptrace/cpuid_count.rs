//! Counts the CPUID instructions at a program's start by single steps. They leave no event, and in a virtual
//! machine each of them traps.

use crate::launch::Command;
#[cfg(target_arch = "x86_64")]
use crate::launch::on_one_processor;

/// Why the CPUID instructions could not be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCpuidCount {
    /// The program could not be started and stopped, or it died.
    #[error("it could not be executed step by step")]
    Untraced,
    /// It took too long. Each step takes two context switches, which on a busy machine wait for other programs.
    #[error(
        "its first instructions took longer than ten seconds when executed one by one, as on a busy machine"
    )]
    Slow,
    /// The program computes before it does anything else.
    #[error("it did not open or write anything within its first 100,000 instructions")]
    Long,
}

/// Counts the CPUID instructions that a command executes before its first `open` or `write`. There it is killed, so
/// it has no effect on anything.
///
/// # Errors
///
/// It does not get there within ten seconds or within 100,000 instructions, or it cannot be traced. A dynamically
/// linked program needs 30,000 instructions, which take a tenth of a second on a quiet machine.
#[cfg(target_arch = "x86_64")]
pub fn cpuid_count(command: &Command) -> Result<u64, NoCpuidCount> {
    // On another processor, each step would have to wake that processor, and then this one.
    on_one_processor(|| {
        stepping::Stepped::start(command).ok_or(NoCpuidCount::Untraced).and_then(|child| child.count())
    })
}

/// Other architectures have no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub fn cpuid_count(_command: &Command) -> Result<u64, NoCpuidCount> {
    Ok(0)
}

#[cfg(target_arch = "x86_64")]
mod stepping {
    use super::super::tracee::TracedThread;
    use super::NoCpuidCount;
    use crate::arch::{Abi, CallFacts, Does, Syscall, Wait, call_names};
    use crate::launch::Command;
    use crate::launch::interrupt;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Stdio};
    use std::ptr;
    use std::time::{Duration, Instant};

    const MAX_STEPS: u32 = 100_000;
    const COUNT_TIMEOUT: Duration = Duration::from_secs(10);

    /// `cpuid` and `syscall` (Intel SDM, volume 2).
    const CPUID: [u8; 2] = [0x0f, 0xa2];
    const SYSCALL: [u8; 2] = [0x0f, 0x05];

    /// A child that is stopped before its first instruction. Dropping it kills the child.
    pub(super) struct Stepped {
        child: Child,
    }

    impl Stepped {
        pub(super) fn start(command: &Command) -> Option<Stepped> {
            let words = command.words();
            let mut child = std::process::Command::new(command.program());
            child.arg0(words.first()?).args(&words[1..]);
            child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // SAFETY: the closure runs in the forked child and makes one system call; it neither allocates nor locks.
            unsafe { child.pre_exec(trace_me) };
            let stepped = Stepped { child: child.spawn().ok()? };
            stepped.stopped().then_some(stepped)
        }

        pub(super) fn count(&self) -> Result<u64, NoCpuidCount> {
            let (tracee, began, mut count) = (TracedThread(self.pid()), Instant::now(), 0);
            for _ in 0..MAX_STEPS {
                let registers = self.registers().ok_or(NoCpuidCount::Untraced)?;
                let mut code = [0; 2];
                tracee.read_memory(registers.rip, &mut code);
                count += u64::from(code == CPUID);
                if code == SYSCALL && opens_or_writes(registers.rax) {
                    return Ok(count);
                }
                if began.elapsed() > COUNT_TIMEOUT || interrupt::interrupted().is_some() {
                    return Err(NoCpuidCount::Slow);
                }
                if !self.step() {
                    return Err(NoCpuidCount::Untraced);
                }
            }
            Err(NoCpuidCount::Long)
        }

        fn step(&self) -> bool {
            // SAFETY: takes no pointer.
            let stepped = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.pid(), 0_usize, 0_usize) };
            stepped == 0 && self.stopped()
        }

        fn stopped(&self) -> bool {
            let mut status = 0;
            // SAFETY: the kernel writes one int.
            let waited = unsafe { libc::waitpid(self.pid(), &raw mut status, libc::__WALL) };
            // Another signal than that of a step would have killed it or run a handler.
            waited == self.pid() && libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP
        }

        fn registers(&self) -> Option<libc::user_regs_struct> {
            let mut room = MaybeUninit::<libc::user_regs_struct>::zeroed();
            // SAFETY: the kernel writes one `user_regs_struct`.
            let got = unsafe {
                libc::ptrace(libc::PTRACE_GETREGS, self.pid(), ptr::null_mut::<u8>(), room.as_mut_ptr())
            };
            // SAFETY: plain integers, for which zeroes are valid too.
            (got == 0).then(|| unsafe { room.assume_init() })
        }

        fn pid(&self) -> i32 {
            self.child.id().cast_signed()
        }
    }

    impl Drop for Stepped {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn opens_or_writes(number: u64) -> bool {
        let Ok(number) = u32::try_from(number) else { return false };
        let name = call_names::name(Syscall { abi: Abi::Native, number });
        let ends = name.starts_with("exit");
        ends || CallFacts::of(&name).is_some_and(|call| {
            call.opens() || call.writes() || matches!(call.does, Does::Executes | Does::Waits(Wait::Vfork))
        })
    }

    fn trace_me() -> io::Result<()> {
        // SAFETY: PTRACE_TRACEME takes no pointer; it marks the calling process as traced by its parent.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::super::cpuid_count;
        use super::*;

        /// The count for a program in assembly; `None` if it cannot be built.
        fn counted(text: &str) -> Option<Result<u64, NoCpuidCount>> {
            let folder = tempfile::tempdir().unwrap();
            let (source, program) = (folder.path().join("c.S"), folder.path().join("c"));
            std::fs::write(&source, text).unwrap();
            let built = std::process::Command::new("cc")
                .args(["-nostdlib", "-static", "-o"])
                .args([&program, &source])
                .status();
            let command = Command::new(&[program]).ok()?;
            built.is_ok_and(|status| status.success()).then(|| cpuid_count(&command))
        }

        /// Three CPUID instructions, then `write(-1, …)`.
        #[test]
        fn instructions_are_counted_exactly_before_the_first_write() {
            let text = ".globl _start\n_start: mov $3,%r12d\n1: xor %eax,%eax\n cpuid\n dec %r12d\n jnz 1b\n \
                        mov $1,%eax\n mov $-1,%edi\n syscall\n xor %eax,%eax\n cpuid\n mov $60,%eax\n syscall\n";
            assert_eq!(counted(text).unwrap_or(Ok(3)), Ok(3));
        }

        #[test]
        fn a_program_that_ends_before_it_writes_has_no_count() {
            let fault = ".globl _start\n_start: xor %eax,%eax\n cpuid\n ud2\n";
            assert_eq!(counted(fault).unwrap_or(Err(NoCpuidCount::Untraced)), Err(NoCpuidCount::Untraced));
        }
    }
}
