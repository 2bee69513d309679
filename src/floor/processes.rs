//! Procedure call, thread, process: what creating each costs, by every way of creating it and for every kind of program.

use super::FloorError;
use super::batch::{Operation, Subject};
use super::spawn::{How, Program, Spawn};
use super::syscalls::{Candidate, Remark};
use std::ffi::{OsStr, OsString, c_void};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// A program to be executed: one rung of the ladder from the raw executable to the shell.
#[derive(Clone, Debug)]
pub struct Rung {
    /// What it is called: `static glibc`.
    pub name: String,
    /// The file.
    pub executable: PathBuf,
    /// Its argument vector.
    pub argv: Vec<OsString>,
}

impl Rung {
    /// Runs of it, each a new process.
    pub fn spawn(&self, how: How) -> io::Result<Spawn> {
        Spawn::executing(how, Program::new(&self.executable, &self.argv)?)
    }
}

/// The shell that `system(3)` runs.
pub const SHELL: &str = "/bin/sh";

/// A shell that runs a script given as an argument.
pub fn shell(script: &str, how: How) -> io::Result<Spawn> {
    Spawn::executing(how, Program::new(Path::new(SHELL), &["sh", "-c", script])?)
}

/// A rung's file as a word of a shell.
pub fn word(rung: &Rung) -> String {
    shell_words::quote(&rung.executable.to_string_lossy()).into_owned()
}

/// Everything that does not depend on our own size. `rungs` are ordered, the floor first; `folder` is a private one on
/// a disk, where scripts and copies are put.
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

/// The cold page cache is tried with the ends of the ladder and the static libc between them.
fn is_native(rung: &Rung) -> bool {
    ["plain ELF", "static glibc", "dynamic C"].contains(&rung.name.as_str())
}

/// The exec of a program, as the ladder has it.
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
        Ok(operation) => Ok((Subject::new(name, operation), Remark { lmbench, note })),
        Err(cause) => Err((name.to_owned(), FloorError::Resource { what: "a process", cause })),
    }
}

fn without_exec() -> Vec<Candidate> {
    let calls = Subject::new("procedure call", Procedures).unrolled(UNROLLED);
    let remark =
        Remark { lmbench: Some("Procedure call"), note: Some("each needs the answer of the one before") };
    vec![
        Ok((calls, remark)),
        process("thread create+join", Ok(Threads), None, None),
        process("fork+exit", Spawn::exiting(How::Fork), Some("Process fork+exit"), Some(OF_FORK)),
        process(
            "clone3+exit",
            Spawn::exiting(How::Clone3),
            None,
            Some("a fork with all that firstbyte has in memory"),
        ),
        process("vfork+exit", Spawn::exiting(How::Vfork), None, None),
    ]
}

const OF_FORK: &str = "of a small process: firstbyte's heap is kept out of the copy";

/// Calls of a procedure that does next to nothing. A processor overlaps the turns of a loop with what is called in them,
/// so the turn's cost cannot be subtracted from a single call; of so many, it is a small part.
struct Procedures;

/// How many calls a turn makes.
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
        (0..times).try_for_each(|_| thread().map_err(|error| format!("no thread could be created: {error}")))
    }
}

extern "C" fn return_at_once(_: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

fn thread() -> io::Result<()> {
    // SAFETY: the thread does nothing, and is joined before this returns.
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
    // not the last command, so that the shell cannot replace itself by it
    let spawn = shell(&format!("{}; exit 0", word(rung)), How::Fork);
    process(&name, spawn, Some("Process fork+/bin/sh -c"), None)
}

const OF_SCRIPTS: &str = "the interpreter is the plain ELF: the difference to it is what a `#!` line costs";

/// A script whose interpreter is the floor, and one whose interpreter is that script: what the `#!` line itself costs.
fn scripts(floor: &Rung, folder: &Path) -> Vec<Candidate> {
    let written = |name: &str, interpreter: &Path| -> io::Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, format!("#!{}\n", interpreter.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    let executing = |path: io::Result<PathBuf>| {
        path.and_then(|path| Spawn::executing(How::Vfork, Program::new(&path, &[path.as_os_str()])?))
    };
    let one = written("one", &floor.executable);
    let two = one.as_ref().map_or_else(|error| Err(error.kind().into()), |one| written("two", one));
    vec![
        process("vfork+exec, script with a #! line", executing(one), None, Some(OF_SCRIPTS)),
        process("vfork+exec, script of a script", executing(two), None, Some(OF_SCRIPTS)),
    ]
}

const OF_COLD: &str = "the executable alone is read from the disk; libraries are not";

/// Runs of a private copy that is out of the page cache, which is proven before each.
struct Cold {
    file: File,
    spawn: Spawn,
}

impl Operation for Cold {
    fn prepare(&mut self) -> Result<(), String> {
        // SAFETY: advice about our own descriptor.
        unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        match resident_pages(&self.file) {
            Ok(0) => Ok(()),
            Ok(pages) => Err(format!("{pages} pages of the file stay in the page cache")),
            Err(error) => Err(format!("nobody says what is in the page cache: {error}")),
        }
    }

    fn repeat(&mut self, times: u32) -> Result<(), String> {
        self.spawn.repeat(times)
    }
}

fn cold(rung: &Rung, folder: &Path) -> Candidate {
    let name = format!("vfork+exec, {}, not in the page cache", rung.name);
    let operation = copied(rung, folder).and_then(|(path, file)| {
        let program = Program::new(&path, &[OsStr::new("./test")])?;
        Ok(Cold { file, spawn: Spawn::executing(How::Vfork, program)? })
    });
    process(&name, operation, None, Some(OF_COLD)).map(|(subject, remark)| (subject.at_most(1), remark))
}

/// A copy that is on the disk, so that its pages can be dropped.
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

/// How many pages of a file are in the page cache, by mincore(2).
pub(super) fn resident_pages(file: &File) -> io::Result<usize> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let pages = length.div_ceil(rustix::param::page_size());
    let mut resident = vec![0_u8; pages];
    // SAFETY: a mapping of our own that is never read; the vector has a byte a page.
    unsafe {
        let flags = libc::MAP_SHARED;
        let base = libc::mmap(ptr::null_mut(), length, libc::PROT_READ, flags, file.as_raw_fd(), 0);
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let answer = libc::mincore(base, length, resident.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(base, length);
        if answer != 0 {
            return Err(error);
        }
    }
    Ok(resident.iter().filter(|page| *page & 1 == 1).count())
}

/// Anonymous memory that is really there, in pages of the smallest size: what makes a fork dear.
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
        // SAFETY: every address lies in the mapping.
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

/// What depends on how large the parent is, to be measured while a [`Ballast`] exists.
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

    #[test]
    fn a_written_file_is_resident_and_an_empty_one_is_not_mapped() {
        let mut file = tempfile::tempfile().unwrap();
        assert!(resident_pages(&file).is_err());
        file.write_all(&[1; 10_000]).unwrap();
        assert_eq!(resident_pages(&file).unwrap(), 10_000_usize.div_ceil(rustix::param::page_size()));
    }
}
