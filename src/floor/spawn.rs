//! Creates processes in the cheapest way that a program can, and checks how each ended.
//!
//! The launcher of [`firstbyte_measure::launch`] is not used: it prepares a tracee (process group, three descriptors,
//! parent-death signal), and the cost of creating a process without all that is measured here.

use super::alarm::Alarm;
use super::batch::Operation;
use firstbyte_measure::launch::{Environment, ExitStatus, interrupt, ourselves};
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
    /// fork(3): copies our page tables and runs libc's handlers. Without a program, see [`Heap`].
    Fork,
    /// clone3(2) that shares nothing: a fork without libc.
    Clone3,
    /// clone(2) with `CLONE_VM | CLONE_VFORK`, like vfork(2).
    Vfork,
    /// `posix_spawn(3)`.
    PosixSpawn,
}

/// The program that a new process executes. A process without one exits at once.
#[derive(Debug)]
pub struct SpawnedProgram {
    path: CString,
    argv: Vec<CString>,
    /// The exit status that it must have.
    expected: ExitStatus,
}

impl SpawnedProgram {
    /// A file with its argument vector (including `argv[0]`), which must exit with status 0.
    pub fn new<S: AsRef<OsStr>>(path: &Path, argv: &[S]) -> io::Result<SpawnedProgram> {
        let c_string = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        Ok(SpawnedProgram {
            path: c_string(path.as_os_str())?,
            argv: argv.iter().map(|word| c_string(word.as_ref())).collect::<Result<_, _>>()?,
            expected: ExitStatus::SUCCESS,
        })
    }

    /// Sets the exit status that it must have.
    #[must_use]
    pub fn ending(self, expected: ExitStatus) -> SpawnedProgram {
        SpawnedProgram { expected, ..self }
    }
}

/// One operation: creates a process, waits for it and checks its exit status.
pub struct Spawn {
    how: How,
    program: Option<SpawnedProgram>,
    argv: Vec<*const c_char>,
    environment: Variables,
    null: &'static File,
    stack: Box<[u128]>,
    /// Excluded from forks.
    heap: Option<Heap>,
    alarm: Alarm,
    /// Time limit of a batch.
    limit: Duration,
}

/// Generous: a batch takes some milliseconds, or consists of one program.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// Bytes to skip for the thread's descriptor (glibc's `struct pthread` has some 2,300 bytes).
const DESCRIPTOR: usize = 8192;

/// Our heap, which is excluded from forks (`MADV_DONTFORK`, madvise(2)) so that a fork costs as little as in a small
/// program: its page tables, and then the pages that parent or child write first, are half of the cost. The child must
/// not touch the heap, nor the thread's variables, which a static C library keeps there.
#[derive(Clone, Copy, Debug)]
struct Heap {
    begin: usize,
    length: usize,
}

impl Heap {
    /// The heap as it is now; `None` if `/proc` does not say.
    fn ours() -> Option<Heap> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let line = maps.lines().find(|line| line.ends_with("[heap]"))?;
        let (begin, end) = line.split(' ').next()?.split_once('-')?;
        let (begin, end) = (usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        // A static C library keeps the thread's descriptor there. The kernel writes to it whenever the child is
        // scheduled onto a processor (rseq(2)).
        // SAFETY: no preconditions.
        let thread = unsafe { libc::pthread_self() };
        let thread = usize::try_from(thread).unwrap_or(0);
        let page = rustix::param::page_size();
        let begin =
            if (begin..end).contains(&thread) { (thread + DESCRIPTOR).next_multiple_of(page) } else { begin };
        Some(Heap { begin, length: end.checked_sub(begin)? })
    }

    /// Includes the heap in forks, or excludes it.
    fn copied(self, yes: bool) {
        let advice = if yes { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
        // SAFETY: the advice does not change the contents for this process.
        unsafe { libc::madvise(ptr::without_provenance_mut(self.begin), self.length, advice) };
    }
}

/// In 16-byte units: 64 KiB. The child makes four system calls.
const STACK: usize = 4096;

/// The environment of the programs as `execve(2)` takes it.
struct Variables {
    /// Ends with a null pointer. Points into `_entries`.
    pointers: Vec<*const c_char>,
    _entries: Vec<CString>,
}

impl Variables {
    fn of_programs() -> Variables {
        let environment = Environment::of_programs();
        let entries: Vec<CString> =
            environment.entries().filter_map(|entry| CString::new(entry).ok()).collect();
        let pointers = entries.iter().map(|entry| entry.as_ptr()).chain([ptr::null()]).collect();
        Variables { pointers, _entries: entries }
    }
}

/// Instructions for the child, which reads them before the exec.
struct Orders {
    program: *const c_char,
    argv: *const *const c_char,
    environment: *const *const c_char,
    null: c_int,
}

impl Spawn {
    /// Creates processes that exit at once.
    pub fn exiting(how: How) -> io::Result<Spawn> {
        Spawn::new(how, None)
    }

    /// Creates processes that execute a program with `/dev/null` as their standard descriptors.
    pub fn executing(how: How, program: SpawnedProgram) -> io::Result<Spawn> {
        Spawn::new(how, Some(program))
    }

    /// Sets the time limit of a batch.
    #[must_use]
    pub fn within(self, limit: Duration) -> Spawn {
        Spawn { limit, ..self }
    }

    fn new(how: How, program: Option<SpawnedProgram>) -> io::Result<Spawn> {
        ourselves::handle_broken_pipes();
        let words = program.iter().flat_map(|program| &program.argv).map(|word| word.as_ptr());
        Ok(Spawn {
            how,
            argv: words.chain([ptr::null()]).collect(),
            environment: Variables::of_programs(),
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
            environment: self.environment.pointers.as_ptr(),
            null: self.null.as_raw_fd(),
        }
    }

    /// Returns the id of the new process.
    fn create(&mut self, orders: &Orders) -> io::Result<i32> {
        let orders_pointer = ptr::from_ref(orders).cast_mut().cast::<c_void>();
        // SAFETY: `child` makes only system calls. With fork and clone3 it runs on a copy of everything, with vfork on
        // its own stack while this thread sleeps.
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
        // SAFETY: the actions are created, used and destroyed here; all pointers outlive the call.
        let error = unsafe {
            let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
            libc::posix_spawn_file_actions_init(&raw mut actions);
            for standard in 0..=2 {
                libc::posix_spawn_file_actions_adddup2(&raw mut actions, orders.null, standard);
            }

            let environment = orders.environment.cast::<*mut c_char>();
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
        let pid = self.create(&orders).map_err(|error| format!("cannot create a process: {error}"))?;
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

/// `/dev/null`, opened only once: every open descriptor is copied for each new process and closed by its exec.
fn null() -> io::Result<&'static File> {
    static NULL: OnceLock<File> = OnceLock::new();
    if let Some(file) = NULL.get() {
        return Ok(file);
    }
    let file = File::options().read(true).write(true).open("/dev/null")?;
    Ok(NULL.get_or_init(|| file))
}

/// The exit status of a child whose exec failed, as in shells.
const NOT_EXECUTED: c_int = 126;

extern "C" fn child(orders: *mut c_void) -> c_int {
    // SAFETY: the orders live until the exec, or are a copy; only system calls are made.
    unsafe {
        let orders = &*orders.cast::<Orders>();
        if orders.program.is_null() {
            syscall1(Sysno::exit_group as usize, 0);
        }
        for standard in 0..=2 {
            libc::dup2(orders.null, standard);
        }
        libc::execve(orders.program, orders.argv, orders.environment);
        libc::_exit(NOT_EXECUTED)
    }
}

/// Like fork: returns 0 in the child, and -1 with `errno` on failure.
unsafe fn clone3() -> i32 {
    // SAFETY: plain data; without flags the child has a copy of everything, including this stack.
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

/// Waits until the child has ended. Kills it if the user interrupts or the time is over.
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

    fn shell(script: &str) -> SpawnedProgram {
        SpawnedProgram::new(Path::new("/bin/sh"), &["sh", "-c", script]).unwrap()
    }

    /// Whether this is the process in which the test runs alone; otherwise it starts that. Without their heap, children that
    /// other tests fork meanwhile could not execute anything, and there is one alarm for all.
    fn alone(test: &str) -> bool {
        const ALONE: &str = "FIRSTBYTE_TEST_ALONE";
        if std::env::var_os(ALONE).is_some() {
            return true;
        }
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--exact", &format!("floor::spawn::tests::{test}")]).env(ALONE, "").output();
        let said = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
        assert!(said.contains("1 passed"), "{said}");
        false
    }

    #[test]
    fn every_way_to_create_a_process_works_and_leaves_none_behind() {
        if !alone("every_way_to_create_a_process_works_and_leaves_none_behind") {
            return;
        }
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
    fn a_program_that_never_ends_is_killed_and_reported() {
        if !alone("a_program_that_never_ends_is_killed_and_reported") {
            return;
        }
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
        if !alone("a_child_that_fails_is_never_timed_as_a_success") {
            return;
        }
        let mut failing = Spawn::executing(How::Vfork, shell("exit 3")).unwrap();
        assert!(failing.repeat(1).unwrap_err().contains("exit status 3 instead of exit status 0"));
        let mut expected = Spawn::executing(How::Vfork, shell("exit 3").ending(ExitStatus::Code(3))).unwrap();
        expected.repeat(1).unwrap();
        let nothing = SpawnedProgram::new(Path::new("/no/such/file"), &["x"]).unwrap();
        let mut missing = Spawn::executing(How::Vfork, nothing).unwrap();
        assert!(missing.repeat(1).unwrap_err().contains("could not be executed"));
    }
}
