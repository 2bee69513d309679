//! What each system call takes and does. The list of calls is the only place that says it; everything else asks here.

mod argument;
mod list;

use super::{Abi, CallTable};
pub use argument::{Argument, Buffer, Layout, Structure, Use, Values};
use std::collections::HashMap;
use std::sync::LazyLock;

/// What is known of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFacts {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, one letter each: see the list.
    letters: &'static str,
    /// The same in the 32-bit table.
    compat_letters: &'static str,
    /// What it does, besides reading and writing.
    pub does: Does,
}

/// What a system call does, besides reading from descriptors and writing to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It executes a program.
    Executes,
    /// It opens a file by its path.
    Opens,
    /// It asks whether a file exists, and for its properties. Calls that fail for files that exist, as `readlink(2)` does for
    /// those that are not links, are not among these.
    Asks,
    /// It sets up an `io_uring`, through which files can be opened, read and written without further calls.
    SetsUpRing,
    /// It can wait.
    Waits(Wait),
    /// Anything else.
    Other,
}

/// What a system call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// `wait4`, `waitid`.
    Child,
    /// `vfork` and similar: until the child has executed its program.
    Vfork,
    /// `futex`: a lock, a condition variable, the end of a thread.
    Futex,
    /// `poll`, `select`, `epoll_wait`.
    Poll,
    /// `io_uring_enter`: the operations that the thread had queued.
    IoUring,
    /// `read`, `recv`, `msgrcv` and similar.
    Read,
    /// `write`, `send`, `msgsnd`, `fsync` and similar.
    Write,
    /// `splice`, `sendfile` and similar, which wait for data or for space.
    Splice,
    /// `connect`, `accept`.
    Connection,
    /// `flock`, `fcntl`.
    FileLock,
    /// `semop` and similar.
    Semaphore,
    /// `pause`, `sigsuspend`, `sigtimedwait`.
    Signal,
    /// `nanosleep`.
    Sleep,
}

/// The role of a system call in the phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRole {
    /// It executes a program.
    Exec,
    /// It may write to a descriptor, which is its argument at this position, from 0.
    Output(u8),
}

/// What a system call does with files, for the counts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCall {
    /// It opens a file by its path.
    Open,
    /// It reads from a descriptor (of a file, a pipe, a terminal) and returns the number of bytes.
    ///
    /// This is the one definition of the bytes that count as read: `read(2)` and its variants. `recv(2)` and its
    /// variants do not count, nor do calls that move bytes between two descriptors without the program seeing them.
    Read,
    /// It sets up an `io_uring`, through which files can be opened, read and written without further calls.
    Ring,
}

/// The positions of a call's first and second path among its arguments, from 0.
pub type PathPositions = [Option<u8>; 2];

impl CallFacts {
    /// The facts about a call; `None` if it is not in the list.
    pub fn of(name: &str) -> Option<&'static CallFacts> {
        static CALLS: LazyLock<HashMap<&str, CallFacts>> =
            LazyLock::new(|| list::all().map(|call| (call.name, call)).collect());
        CALLS.get(name)
    }

    /// Its arguments in a table, in the order of the registers.
    pub fn arguments(&self, abi: Abi) -> impl Iterator<Item = Argument> {
        let letters = if abi == Abi::Compat { self.compat_letters } else { self.letters };
        letters.bytes().map(Argument::of_letter)
    }

    /// The position of its first argument of a kind. It is the same in both tables and the number of the register.
    pub fn position(&self, wanted: Argument) -> Option<u8> {
        let at = self.arguments(Abi::Native).position(|argument| argument == wanted)?;
        u8::try_from(at).ok()
    }

    /// The structure among its arguments whose content is recorded, and its position.
    pub fn structure(&self) -> Option<(u8, Structure)> {
        (0..).zip(self.arguments(Abi::Native)).find_map(|(at, argument)| match argument {
            Argument::Structure(kind) => Some((at, kind)),
            _ => None,
        })
    }

    /// The buffer among its arguments whose content can be recorded, and its position.
    pub fn buffer(&self) -> Option<(u8, Buffer)> {
        (0..).zip(self.arguments(Abi::Native)).find_map(|(at, argument)| match argument {
            Argument::Buffer(kind) => Some((at, kind)),
            _ => None,
        })
    }

    /// Whether it opens a file by its path.
    pub fn opens(&self) -> bool {
        self.does == Does::Opens
    }

    /// Whether it looks up a path: it opens or executes the file, or asks for its properties.
    pub fn looks_up(&self) -> bool {
        matches!(self.does, Does::Opens | Does::Executes | Does::Asks)
    }

    /// Whether it reads from a descriptor into the program's memory.
    pub fn reads(&self) -> bool {
        self.position(Argument::Descriptor(Use::Reads)).is_some() && !self.writes()
    }

    /// Whether it writes to a descriptor.
    pub fn writes(&self) -> bool {
        self.position(Argument::Descriptor(Use::Writes)).is_some()
    }

    /// What it waits for, if it can wait.
    pub fn waits_for(&self) -> Option<Wait> {
        match self.does {
            Does::Waits(wait) => Some(wait),
            _ => None,
        }
    }

    fn role(&self) -> Option<CallRole> {
        match self.position(Argument::Descriptor(Use::Writes)) {
            Some(position) => Some(CallRole::Output(position)),
            None => (self.does == Does::Executes).then_some(CallRole::Exec),
        }
    }

    fn file_call(&self) -> Option<FileCall> {
        match self.does {
            Does::Opens => Some(FileCall::Open),
            Does::SetsUpRing => Some(FileCall::Ring),
            _ => self.reads().then_some(FileCall::Read),
        }
    }

    fn lookup(&self) -> Option<u8> {
        matches!(self.does, Does::Opens | Does::Asks).then(|| self.position(Argument::Path)).flatten()
    }

    fn paths(&self) -> Option<PathPositions> {
        let is_path = |argument: &(u8, Argument)| argument.1 == Argument::Path;
        let mut paths = (0..).zip(self.arguments(Abi::Native)).filter(is_path).map(|(position, _)| position);
        Some([Some(paths.next()?), paths.next()])
    }
}

/// The calls that execute or write, by number.
pub fn call_roles() -> &'static CallTable<CallRole> {
    static TABLE: LazyLock<CallTable<CallRole>> = LazyLock::new(|| table(CallFacts::role));
    &TABLE
}

/// The calls that the counts of a run need, by number.
pub fn file_calls() -> &'static CallTable<FileCall> {
    static TABLE: LazyLock<CallTable<FileCall>> = LazyLock::new(|| table(CallFacts::file_call));
    &TABLE
}

/// The calls that look up a path and do nothing else if there is no such file, by number: the position of the path among
/// their arguments, which is 0 or 1.
pub fn lookups() -> &'static CallTable<u8> {
    static TABLE: LazyLock<CallTable<u8>> = LazyLock::new(|| table(CallFacts::lookup));
    &TABLE
}

/// The calls that take paths, by number.
pub fn path_arguments() -> &'static CallTable<PathPositions> {
    static TABLE: LazyLock<CallTable<PathPositions>> = LazyLock::new(|| table(CallFacts::paths));
    &TABLE
}

/// The calls that take a structure whose content is recorded, by number.
pub fn structures() -> &'static CallTable<(u8, Structure)> {
    static TABLE: LazyLock<CallTable<(u8, Structure)>> = LazyLock::new(|| table(CallFacts::structure));
    &TABLE
}

/// The calls that take a buffer whose content can be recorded, by number.
pub fn buffers() -> &'static CallTable<(u8, Buffer)> {
    static TABLE: LazyLock<CallTable<(u8, Buffer)>> = LazyLock::new(|| table(CallFacts::buffer));
    &TABLE
}

fn table<T: Copy>(fact: impl Fn(&CallFacts) -> Option<T>) -> CallTable<T> {
    let entries: Vec<(&str, T)> = list::all().filter_map(|call| Some((call.name, fact(&call)?))).collect();
    CallTable::by_name(&entries)
}

#[cfg(test)]
mod tests {
    use super::super::{IO_URING_SETUP, native_number};
    use super::*;

    #[test]
    fn what_opens_or_asks_looks_up_a_path() {
        let looked_up = |name: &str| CallFacts::of(name).is_some_and(CallFacts::looks_up);
        let all =
            ["open", "openat", "openat2", "creat", "stat", "statx", "lstat64", "fstatat64", "faccessat2"];
        assert!(all.iter().chain(&["access", "faccessat", "execve", "execveat"]).all(|name| looked_up(name)));
        assert!(!["readlink", "fstat", "mkdir", "unlink", "no_such_call"].iter().any(|name| looked_up(name)));

        assert!(list::all().filter_map(|call| call.lookup()).all(|at| at < 2));
        let without_path = |call: &CallFacts| call.looks_up() && call.position(Argument::Path).is_none();
        assert!(list::all().all(|call| !without_path(&call)));
    }

    #[test]
    fn the_descriptors_say_what_is_read_and_written() {
        let of = |name: &str| {
            let call = CallFacts::of(name).unwrap();
            [Use::Reads, Use::Writes].map(|used| call.position(Argument::Descriptor(used)))
        };
        assert_eq!(of("splice"), [Some(0), Some(2)]);
        assert_eq!(of("sendfile"), [Some(1), Some(0)]);
        assert_eq!(of("recvfrom"), [None, None]);
        assert_eq!(CallFacts::of("splice").unwrap().file_call(), None, "the program does not see the bytes");
        assert_eq!(CallFacts::of("pread64").unwrap().file_call(), Some(FileCall::Read));
        assert_eq!(native_number("io_uring_setup"), Some(IO_URING_SETUP));
    }

    #[test]
    fn a_position_is_a_register_in_both_tables() {
        let wide = |argument: &Argument| matches!(argument, Argument::LowHigh | Argument::HighLow);
        for call in list::all() {
            let compat: Vec<Argument> = call.arguments(Abi::Compat).collect();
            let first = compat.iter().position(wide).unwrap_or(compat.len());
            for argument in [Argument::Path, Argument::OpenFlags, Argument::MappingFlags] {
                assert!(call.position(argument).is_none_or(|at| usize::from(at) < first), "{}", call.name);
            }
        }
    }

    /// `arch/x86/entry/syscalls/syscall_64.tbl` and `syscall_32.tbl`.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_numbers_are_those_of_the_published_tables() {
        use super::super::call_table::numbers;
        let native = [1, 18, 20, 40, 44, 46, 59, 275, 276, 278, 296, 307, 322, 326, 328];
        let compat = [4, 11, 146, 181, 187, 239, 313, 315, 316, 334, 345, 358, 369, 370, 377, 379];
        assert_eq!(numbers(call_roles(), Abi::Native), native);
        assert_eq!(numbers(call_roles(), Abi::Compat), compat);

        let native = [0, 2, 17, 19, 85, 257, 295, 327, 425, 437];
        let compat = [3, 5, 8, 145, 180, 295, 333, 378, 425, 437];
        assert_eq!(numbers(file_calls(), Abi::Native), native);
        assert_eq!(numbers(file_calls(), Abi::Compat), compat);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn paths_are_found_by_the_numbers_of_both_tables() {
        use super::super::Syscall;
        let paths = |abi, number| path_arguments().get(Syscall { abi, number });
        assert_eq!(paths(Abi::Native, 257), Some([Some(1), None]), "openat");
        assert_eq!(paths(Abi::Compat, 295), Some([Some(1), None]), "openat");
        assert_eq!(paths(Abi::Native, 88), Some([Some(0), Some(1)]), "symlink");
    }

    #[test]
    fn calls_wait_for_what_the_manual_says() {
        let waits = |name: &str| CallFacts::of(name).and_then(CallFacts::waits_for);
        assert_eq!(waits("preadv2"), Some(Wait::Read));
        assert_eq!(waits("rt_sigtimedwait"), Some(Wait::Signal));
        assert_eq!(waits("uname"), None);
    }
}
