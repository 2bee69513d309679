//! Creates processes as barely as a program can, and checks how each ended.
//!
//! The launcher of [`firstbyte_measure::launch`] is not used: it prepares a tracee (process group, three descriptors, parent-death
//! signal), and here the price of the bare thing is wanted.

use super::alarm::Alarm;
use super::batch::Operation;
use firstbyte_measure::launch::{ExitStatus, interrupt, ourselves};
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;
use syscalls::Sysno;
use syscalls::raw::{syscall1, syscall2};

/// How a process is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// fork(3): a copy of our page tables, libc's handlers run. Without a program: see [`Heap`].
    Fork,
    /// clone3(2) that shares nothing: the same without libc.
    Clone3,
    /// clone(2) with `CLONE_VM | CLONE_VFORK`, as vfork(2) has it.
    Vfork,
    /// `posix_spawn(3)`.
    PosixSpawn,
}

/// What a new process executes; without one it exits at once.
#[derive(Debug)]
pub struct Program {
    path: CString,
    argv: Vec<CString>,
    /// How it must end.
    expected: ExitStatus,
}

impl Program {
    /// A file with its argument vector (`argv[0]` included), which must end with status 0.
    pub fn new<S: AsRef<OsStr>>(path: &Path, argv: &[S]) -> io::Result<Program> {
        let c_string = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        Ok(Program {
            path: c_string(path.as_os_str())?,
            argv: argv.iter().map(|word| c_string(word.as_ref())).collect::<Result<_, _>>()?,
            expected: ExitStatus::SUCCESS,
        })
    }

    /// The same, which must end in this way.
    #[must_use]
    pub fn ending(self, expected: ExitStatus) -> Program {
        Program { expected, ..self }
    }
}

/// Creates a process, waits for it, and compares its end: one operation.
pub struct Spawn {
    how: How,
    program: Option<Program>,
    argv: Vec<*const c_char>,
    null: &'static File,
    stack: Box<[u128]>,
    /// Kept out of forks.
    heap: Option<Heap>,
    alarm: Alarm,
    /// How long a batch may last at most.
    limit: Duration,
}

/// A batch is some milliseconds long, or one program.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// More than a thread's descriptor has (glibc's `struct pthread`: some 2,300 bytes).
const DESCRIPTOR: usize = 8192;

/// Our heap, which a fork that is to be as cheap as a small program's does not copy: page tables, and then the pages
/// that parent or child write first, are half of what it costs us (`MADV_DONTFORK`, madvise(2)). The child must not
/// touch it, nor the thread's variables, which a static C library keeps there.
#[derive(Clone, Copy, Debug)]
struct Heap {
    begin: usize,
    length: usize,
}

impl Heap {
    /// As it is now; `None` where `/proc` does not tell.
    fn ours() -> Option<Heap> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let line = maps.lines().find(|line| line.ends_with("[heap]"))?;
        let (begin, end) = line.split(' ').next()?.split_once('-')?;
        let (begin, end) = (usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        // A static C library keeps the thread's descriptor there, to which the kernel writes whenever the child
        // comes onto a processor (rseq(2)).
        // SAFETY: no preconditions.
        let thread = unsafe { libc::pthread_self() };
        let thread = usize::try_from(thread).unwrap_or(0);
        let page = rustix::param::page_size();
        let begin =
            if (begin..end).contains(&thread) { (thread + DESCRIPTOR).next_multiple_of(page) } else { begin };
        Some(Heap { begin, length: end.checked_sub(begin)? })
    }

    /// Whether new processes get a copy from now on.
    fn copied(self, yes: bool) {
        let advice = if yes { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
        // SAFETY: what it holds stays as it is for us.
        unsafe { libc::madvise(ptr::without_provenance_mut(self.begin), self.length, advice) };
    }
}

/// Sixty-four KiB: the child makes four system calls.
const STACK: usize = 4096;

/// What the child does, read by it before the exec.
struct Orders {
    program: *const c_char,
    argv: *const *const c_char,
    null: c_int,
}

impl Spawn {
    /// Processes that exit at once.
    pub fn exiting(how: How) -> io::Result<Spawn> {
        Spawn::new(how, None)
    }

    /// Processes that execute a program, their standard descriptors `/dev/null`.
    pub fn executing(how: How, program: Program) -> io::Result<Spawn> {
        Spawn::new(how, Some(program))
    }

    /// The same, but a batch may last so long at most.
    #[must_use]
    pub fn within(self, limit: Duration) -> Spawn {
        Spawn { limit, ..self }
    }

    fn new(how: How, program: Option<Program>) -> io::Result<Spawn> {
        ourselves::handle_broken_pipes();
        let words = program.iter().flat_map(|program| &program.argv).map(|word| word.as_ptr());
        Ok(Spawn {
            how,
            argv: words.chain([ptr::null()]).collect(),
            program,
            heap: None,
            alarm: Alarm::of_this_thread()?,
            limit: LIMIT,
            null: null()?,
            stack: vec![0; STACK].into_boxed_slice(),
        })
    }

    fn orders(&self) -> Orders {
        Orders {
            program: self.program.as_ref().map_or(ptr::null(), |program| program.path.as_ptr()),
            argv: self.argv.as_ptr(),
            null: self.null.as_raw_fd(),
        }
    }

    /// The new process' id.
    fn create(&mut self, orders: &Orders) -> io::Result<i32> {
        let orders_pointer = ptr::from_ref(orders).cast_mut().cast::<c_void>();
        // SAFETY: `child` makes nothing but system calls; with fork and clone3 it runs on a copy of everything, with
        // vfork on a stack of its own while we sleep.
        let pid = unsafe {
            match self.how {
                How::Fork if self.program.is_some() => match libc::fork() {
                    0 => child(orders_pointer),
                    pid => pid,
                },
                How::Fork | How::Clone3 => match clone3() {
                    0 => child(orders_pointer),
                    pid => pid,
                },
                How::Vfork => {
                    let top = self.stack.as_mut_ptr_range().end.cast();
                    libc::clone(
                        child,
                        top,
                        libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                        orders_pointer,
                    )
                }
                How::PosixSpawn => return Spawn::posix_spawn(orders),
            }
        };
        if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
    }

    fn posix_spawn(orders: &Orders) -> io::Result<i32> {
        let mut pid = 0;
        // SAFETY: the actions are made, used and destroyed here; all pointers outlive the call.
        let error = unsafe {
            let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
            libc::posix_spawn_file_actions_init(&raw mut actions);
            for standard in 0..=2 {
                libc::posix_spawn_file_actions_adddup2(&raw mut actions, orders.null, standard);
            }
            let environment = environ.cast::<*mut c_char>();
            let argv = orders.argv.cast::<*mut c_char>();
            let spawned = libc::posix_spawn(
                &raw mut pid,
                orders.program,
                &raw const actions,
                ptr::null(),
                argv,
                environment,
            );
            libc::posix_spawn_file_actions_destroy(&raw mut actions);
            spawned
        };
        if error == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    fn run(&mut self) -> Result<(), String> {
        let orders = self.orders();
        let pid = self.create(&orders).map_err(|error| format!("no process could be created: {error}"))?;
        let ended = wait(pid).map_err(|error| error.to_string())?;
        if Alarm::rang() {
            return Err(format!("{} had not ended after {:?}", self.called(), self.limit));
        }
        let expected = self.program.as_ref().map_or(ExitStatus::SUCCESS, |program| program.expected);
        if ended == expected { Ok(()) } else { Err(self.complaint(ended, expected)) }
    }

    fn complaint(&self, ended: ExitStatus, expected: ExitStatus) -> String {
        match ended {
            ExitStatus::Code(NOT_EXECUTED) => format!("{} could not be executed", self.called()),
            _ => format!("{} {}", self.called(), ended.instead_of(expected)),
        }
    }

    fn called(&self) -> String {
        self.program.as_ref().map_or("a process".to_owned(), |p| format!("`{}`", p.path.to_string_lossy()))
    }
}

impl Operation for Spawn {
    fn prepare(&mut self) -> Result<(), String> {
        self.heap = if self.how == How::Fork && self.program.is_none() { Heap::ours() } else { None };
        self.heap.inspect(|heap| heap.copied(false));
        self.alarm.set(self.limit);
        Ok(())
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        (0..times).try_for_each(|_| self.run())
    }

    fn settle(&mut self) {
        self.alarm.set(Duration::ZERO);
        self.heap.take().inspect(|heap| heap.copied(true));
    }
}

/// `/dev/null`, opened once for all: every descriptor that is open is copied for each new process, and closed by its exec.
fn null() -> io::Result<&'static File> {
    static NULL: OnceLock<File> = OnceLock::new();
    if let Some(file) = NULL.get() {
        return Ok(file);
    }
    let file = File::options().read(true).write(true).open("/dev/null")?;
    Ok(NULL.get_or_init(|| file))
}

unsafe extern "C" {
    /// Our environment (environ(7)): given to the programs as it is.
    static environ: *const *const c_char;
}

/// The status of a child whose exec failed: the shells' "cannot execute".
const NOT_EXECUTED: c_int = 126;

extern "C" fn child(orders: *mut c_void) -> c_int {
    // SAFETY: the parent's orders live until the exec, or are a copy; nothing but system calls.
    unsafe {
        let orders = &*orders.cast::<Orders>();
        if orders.program.is_null() {
            syscall1(Sysno::exit_group as usize, 0);
        }
        for standard in 0..=2 {
            libc::dup2(orders.null, standard);
        }
        libc::execve(orders.program, orders.argv, environ);
        libc::_exit(NOT_EXECUTED)
    }
}

/// Returns 0 in the child, as fork does; -1 with `errno` where it fails.
unsafe fn clone3() -> i32 {
    // SAFETY: plain data; no flags, so the child has a copy of everything, this stack included.
    unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.exit_signal = libc::SIGCHLD.unsigned_abs().into();
        let answer = syscall2(Sysno::clone3 as usize, &raw const arguments as usize, size_of_val(&arguments));
        match i32::try_from(answer.cast_signed()).unwrap_or(-libc::EINVAL) {
            error @ ..0 => {
                *libc::__errno_location() = -error;
                -1
            }
            pid => pid,
        }
    }
}

/// Waits until the child has ended; kills it when the user interrupts us, or the time is over.
fn wait(pid: i32) -> io::Result<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: our own child; the status is valid for writing.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            return Ok(ExitStatus::from_wait(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        if Alarm::rang() || interrupt::interrupted().is_some() {
            // SAFETY: our own child, not reaped yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::new(Path::new("/bin/sh"), &["sh", "-c", script]).unwrap()
    }

    #[test]
    fn every_way_of_creating_a_process_ends_well_and_leaves_nobody() {
        for how in [How::Fork, How::Clone3, How::Vfork] {
            let mut spawn = Spawn::exiting(how).unwrap();
            spawn.prepare().unwrap();
            spawn.repeat(3).unwrap();
            spawn.settle();
        }
        for how in [How::Fork, How::Clone3, How::Vfork, How::PosixSpawn] {
            Spawn::executing(how, shell(":")).unwrap().repeat(2).unwrap();
        }
    }

    #[test]
    fn a_program_that_never_ends_is_killed_and_told() {
        let pipe = io::pipe().unwrap();
        let ends_with_us = format!("read line < /proc/{}/fd/{}", std::process::id(), pipe.0.as_raw_fd());
        for how in [How::Vfork, How::PosixSpawn] {
            let hanging = Spawn::executing(how, shell(&ends_with_us)).unwrap();
            let mut hanging = hanging.within(Duration::from_millis(20));
            hanging.prepare().unwrap();
            assert_eq!(hanging.repeat(1).unwrap_err(), "`/bin/sh` had not ended after 20ms");
            hanging.settle();
            assert!(!Alarm::rang());
        }
    }

    #[test]
    fn a_child_that_fails_is_never_timed_as_a_success() {
        let mut failing = Spawn::executing(How::Vfork, shell("exit 3")).unwrap();
        assert!(failing.repeat(1).unwrap_err().contains("exit status 3 instead of exit status 0"));
        let mut expected = Spawn::executing(How::Vfork, shell("exit 3").ending(ExitStatus::Code(3))).unwrap();
        expected.repeat(1).unwrap();
        let nothing = Program::new(Path::new("/no/such/file"), &["x"]).unwrap();
        let mut missing = Spawn::executing(How::Vfork, nothing).unwrap();
        assert!(missing.repeat(1).unwrap_err().contains("could not be executed"));
    }
}
