//! Procedure calls, threads and processes: the cost of each, for every way to create it and every kind of program.

use super::FloorError;
use super::batch::{Microbenchmark, Operation};
use super::spawn::{How, Spawn, SpawnedProgram};
use super::syscalls::{Candidate, FigureText};
use firstbyte_measure::page_cache;
use std::ffi::{OsStr, OsString, c_void};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// A program to execute: one rung of the ladder from the raw executable to the shell.
#[derive(Clone, Debug)]
pub struct Rung {
    /// `static glibc`
    pub name: String,
    pub executable: PathBuf,
    pub argv: Vec<OsString>,
}

impl Rung {
    /// Creates a process for each run.
    pub fn spawn(&self, how: How) -> io::Result<Spawn> {
        Spawn::executing(how, SpawnedProgram::new(&self.executable, &self.argv)?)
    }
}

/// The shell that `system(3)` runs.
pub const SHELL: &str = "/bin/sh";

/// Creates shells that run a script given as an argument.
pub fn shell(script: &str, how: How) -> io::Result<Spawn> {
    Spawn::executing(how, SpawnedProgram::new(Path::new(SHELL), &["sh", "-c", script])?)
}

/// The rung's file, quoted for a shell.
pub fn word(rung: &Rung) -> String {
    shell_words::quote(&rung.executable.to_string_lossy()).into_owned()
}

/// Everything that does not depend on the size of this process. The floor is the first of the `rungs`. `folder` is a
/// private folder on a disk, for scripts and copies.
pub fn candidates(rungs: &[Rung], folder: &Path) -> Vec<Candidate> {
    let mut all = without_exec();
    let floor = rungs.first();
    all.extend(
        floor.map(|floor| process("posix_spawn+exec, plain ELF", floor.spawn(How::PosixSpawn), None, None)),
    );
    all.extend(floor.map(|floor| {
        process("fork+exec, plain ELF", floor.spawn(How::Fork), Some("Process fork+execve"), None)
    }));
    for rung in rungs {
        all.push(exec(rung));
    }
    all.extend(rungs.last().map(through_shell));
    all.extend(floor.map(|floor| scripts(floor, folder)).into_iter().flatten());
    all.extend(rungs.iter().filter(|rung| is_native(rung)).map(|rung| cold(rung, folder)));
    all
}

/// Cold runs use only the ends of the ladder and static glibc.
fn is_native(rung: &Rung) -> bool {
    ["plain ELF", "static glibc", "dynamic C"].contains(&rung.name.as_str())
}

/// One rung of the ladder: vfork and exec of a program.
pub(super) fn exec(rung: &Rung) -> Candidate {
    process(&format!("vfork+exec, {}", rung.name), rung.spawn(How::Vfork), None, None)
}

fn process(
    name: &str,
    operation: io::Result<impl Operation + 'static>,
    lmbench: Option<&'static str>,
    note: Option<&'static str>,
) -> Candidate {
    match operation {
        Ok(operation) => Ok((Microbenchmark::new(name, operation), FigureText { lmbench, note })),
        Err(cause) => Err((name.to_owned(), FloorError::Resource { what: "a process", cause })),
    }
}

fn without_exec() -> Vec<Candidate> {
    let calls = Microbenchmark::new("procedure call", Procedures).unrolled(UNROLLED);
    let text = FigureText {
        lmbench: Some("Procedure call"),
        note: Some("each call needs the result of the previous one"),
    };
    vec![
        Ok((calls, text)),
        process("thread create+join", Ok(Threads), None, None),
        process("fork+exit", Spawn::exiting(How::Fork), Some("Process fork+exit"), Some(OF_FORK)),
        process(
            "clone3+exit",
            Spawn::exiting(How::Clone3),
            None,
            Some("a fork that copies everything firstbyte has in memory"),
        ),
        process("vfork+exit", Spawn::exiting(How::Vfork), None, None),
    ]
}

const OF_FORK: &str = "of a small process: firstbyte's heap is excluded from the copy";

/// Calls of a procedure that does next to nothing. A processor executes the turns of a loop and the calls in them at the
/// same time, so the cost of a turn cannot be subtracted from a single call. With many calls per turn it is negligible.
struct Procedures;

/// Calls per turn.
const UNROLLED: u32 = 16;

impl Operation for Procedures {
    fn repeat(&mut self, times: u32) -> Result<(), String> {
        let mut value = black_box(0);
        for _ in 0..times / UNROLLED {
            value = four(four(four(four(value))));
        }
        for _ in 0..times % UNROLLED {
            value = procedure(value);
        }
        if black_box(value) == u64::from(times) { Ok(()) } else { Err("calls were lost".to_owned()) }
    }
}

#[inline]
fn four(value: u64) -> u64 {
    procedure(procedure(procedure(procedure(value))))
}

#[inline(never)]
fn procedure(argument: u64) -> u64 {
    argument.wrapping_add(1)
}

struct Threads;

impl Operation for Threads {
    fn repeat(&mut self, times: u32) -> Result<(), String> {
        (0..times).try_for_each(|_| thread().map_err(|error| format!("cannot create a thread: {error}")))
    }
}

extern "C" fn return_at_once(_: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

fn thread() -> io::Result<()> {
    // SAFETY: the thread does nothing and is joined before this function returns.
    let error = unsafe {
        let mut thread = std::mem::zeroed();
        match libc::pthread_create(&raw mut thread, ptr::null(), return_at_once, ptr::null_mut()) {
            0 => libc::pthread_join(thread, ptr::null_mut()),
            error => error,
        }
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

fn through_shell(rung: &Rung) -> Candidate {
    let name = format!("fork+/bin/sh -c, {}", rung.name);
    // Not the last command: the shell would replace itself by it without a fork.
    let spawn = shell(&format!("{}; exit 0", word(rung)), How::Fork);
    process(&name, spawn, Some("Process fork+/bin/sh -c"), None)
}

const OF_SCRIPTS: &str = "the interpreter is the plain ELF: the difference to it is the cost of a `#!` line";

/// A script whose interpreter is the floor, and one whose interpreter is that script, for the cost of the `#!` line.
fn scripts(floor: &Rung, folder: &Path) -> Vec<Candidate> {
    let written = |name: &str, interpreter: &Path| -> io::Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, format!("#!{}\n", interpreter.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    let executing = |path: io::Result<PathBuf>| {
        path.and_then(|path| Spawn::executing(How::Vfork, SpawnedProgram::new(&path, &[path.as_os_str()])?))
    };
    let one = written("one", &floor.executable);
    let two = one.as_ref().map_or_else(|error| Err(error.kind().into()), |one| written("two", one));
    vec![
        process("vfork+exec, script with a #! line", executing(one), None, Some(OF_SCRIPTS)),
        process("vfork+exec, script of a script", executing(two), None, Some(OF_SCRIPTS)),
    ]
}

const OF_COLD: &str = "only the executable is read from the disk, libraries are not";

/// Runs a private copy that is not in the page cache. This is proven before each run.
struct ColdCopy {
    file: File,
    spawn: Spawn,
}

impl Operation for ColdCopy {
    fn prepare(&mut self) -> Result<(), String> {
        // What stays is found below.
        let _ = page_cache::evict(&self.file);
        match page_cache::resident_pages(&self.file) {
            Ok(0) => Ok(()),
            Ok(pages) => Err(format!("{pages} pages of the file stay in the page cache")),
            Err(error) => Err(format!("cannot ask the page cache: {error}")),
        }
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        self.spawn.repeat(times)
    }
}

fn cold(rung: &Rung, folder: &Path) -> Candidate {
    let name = format!("vfork+exec, {}, not in the page cache", rung.name);
    let operation = copied(rung, folder).and_then(|(path, file)| {
        let program = SpawnedProgram::new(&path, &[OsStr::new("./test")])?;
        Ok(ColdCopy { file, spawn: Spawn::executing(How::Vfork, program)? })
    });
    process(&name, operation, None, Some(OF_COLD)).map(|(benchmark, text)| (benchmark.at_most(1), text))
}

/// Writes a copy to the disk: its pages can be dropped then.
fn copied(rung: &Rung, folder: &Path) -> io::Result<(PathBuf, File)> {
    let path = folder.join(format!("cold {}", rung.name));
    let mut copy = File::create(&path)?;
    copy.write_all(&fs::read(&rung.executable)?)?;
    copy.sync_all()?;
    drop(copy);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    let file = File::open(&path)?;
    Ok((path, file))
}

/// Resident anonymous memory in pages of the smallest size, which makes a fork expensive.
pub struct Ballast {
    base: *mut c_void,
    length: usize,
}

impl Ballast {
    /// Maps and touches `length` bytes.
    pub fn of(length: usize) -> Result<Ballast, FloorError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of our own.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), length, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(FloorError::last("memory"));
        }
        let ballast = Ballast { base, length };
        // SAFETY: every address is in the mapping.
        unsafe {
            libc::madvise(base, length, libc::MADV_NOHUGEPAGE);
            for offset in (0..length).step_by(rustix::param::page_size()) {
                base.byte_add(offset).cast::<u8>().write_volatile(1);
            }
        }
        Ok(ballast)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.base, self.length) };
    }
}

/// Everything that depends on the size of this process, to be measured while a [`Ballast`] exists.
pub fn of_a_parent(size: &str, floor: Option<&Rung>) -> Vec<Candidate> {
    let mut all = vec![
        process(&format!("fork+exit, parent {size}"), Spawn::exiting(How::Fork), None, None),
        process(&format!("vfork+exit, parent {size}"), Spawn::exiting(How::Vfork), None, None),
    ];
    if let Some(floor) = floor {
        for (way, how) in [("fork", How::Fork), ("vfork", How::Vfork), ("posix_spawn", How::PosixSpawn)] {
            let name = format!("{way}+exec, plain ELF, parent {size}");
            all.push(process(&name, floor.spawn(how), None, None));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ballast_is_resident_while_it_exists() {
        let pages = || {
            let statm = fs::read_to_string("/proc/self/statm").unwrap();
            statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
        };
        let ballast = Ballast::of(64 << 20).unwrap();
        assert!(pages() * rustix::param::page_size() >= 64 << 20);
        drop(ballast);
    }

    #[test]
    fn threads_are_created_and_joined() {
        Threads.repeat(3).unwrap();
    }
}
