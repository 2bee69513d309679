//! The kinds of arguments that system calls take.

/// An argument of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A descriptor.
    Descriptor(Use),
    /// A directory descriptor, from which the path that follows is resolved.
    Directory,
    /// The address of a path.
    Path,
    /// An unsigned number of bytes or elements.
    Size,
    /// A C int.
    Int,
    /// An address.
    Address,
    /// An offset or a length in a file, in one register.
    Offset,
    /// An offset or a length in a file, in two registers of 32 bits with the low half first.
    LowHigh,
    /// The same with the high half first.
    HighLow,
    /// Flags of `open(2)`.
    OpenFlags,
    /// The mode of a new file.
    Mode,
    /// `PROT_*` of `mmap(2)`.
    Protection,
    /// `MAP_*` of `mmap(2)`.
    MappingFlags,
    /// `R_OK` and similar of `access(2)`.
    Access,
    /// A signal's number.
    Signal,
    /// `CLONE_*` of `clone(2)`.
    CloneFlags,
    /// An operation of `futex(2)`.
    FutexOperation,
    /// `SEEK_*` of `lseek(2)`.
    Whence,
    /// A number or flags that have names.
    Value(Values),
    /// The address of a structure whose content is recorded.
    Structure(Structure),
    /// The address of bytes, or of an array of buffers, whose content can be recorded.
    Buffer(Buffer),
    /// A register without a meaning.
    Unused,
}

/// Bytes that a call takes from the program's memory or puts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Buffer {
    /// It takes them. The next argument is their number.
    Written = 0,
    /// It takes them from the buffers of an array of `struct iovec`. The next argument is the number of buffers.
    WrittenVector = 1,
    /// The same, and a `struct msghdr` tells where the array is.
    WrittenMessage = 2,
    /// It puts them there. Its result is their number.
    Read = 3,
    /// It puts them into the buffers of such an array.
    ReadVector = 4,
    /// The same, and a `struct msghdr` tells where the array is.
    ReadMessage = 5,
    /// It puts a path there. Its result is the length.
    Path = 6,
}

impl Buffer {
    /// Whether it contains what the program reads: a file, a pipe, a terminal, a socket, random numbers.
    pub fn is_read(self) -> bool {
        matches!(self, Buffer::Read | Buffer::ReadVector | Buffer::ReadMessage)
    }
}

/// What an address in memory contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The two descriptors that `pipe(2)` or `socketpair(2)` made.
    Pair,
    /// A `struct timespec`.
    Time,
    /// The same, which the kernel has filled.
    ClockTime,
    /// A `struct timeval` or `timespec` in which the kernel stores the time that was left.
    TimeLeft,
    /// A `struct sockaddr` of the kind that its family says.
    SocketAddress,
    /// The status of a child (`wait(2)`).
    ChildStatus,
    /// An array of `struct pollfd`.
    Polled,
    /// A `struct stat`: the mode and the size of a file. A device has no size, but a number.
    FileStatus,
    /// The same of a `struct statx`.
    ExtendedStatus,
    /// The kernel's `struct sigaction`: its handler and its flags.
    SignalAction,
    /// A set of signals.
    SignalSet,
    /// A `struct rlimit64`.
    Limits,
}

impl Structure {
    /// How many bytes are recorded at most of most of them.
    pub const USUAL_ROOM: usize = 16;
    /// How many bytes of a large one are recorded: the longest socket address has 110 (`unix(7)`).
    pub const LARGE_ROOM: usize = 112;

    /// What is recorded of it.
    pub fn layout(self) -> Layout {
        match self {
            Structure::SocketAddress => Layout::Large,
            Structure::FileStatus => Layout::Status,
            Structure::ExtendedStatus => Layout::ExtendedStatus,
            _ => Layout::Usual,
        }
    }
}

/// What is recorded of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Layout {
    /// Its beginning: [`Structure::USUAL_ROOM`].
    Usual = 0,
    /// More of it: [`Structure::LARGE_ROOM`].
    Large = 1,
    /// The mode in a `struct stat`, and 8 bytes later its size, or the number of a device.
    Status = 2,
    /// The same of a `struct statx`.
    ExtendedStatus = 3,
}

/// Kinds of numbers and flags that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// `AT_*` of `newfstatat(2)` and similar.
    AtFlags,
    /// A command of `fcntl(2)`.
    FcntlCommand,
    /// A request of `ioctl(2)`.
    IoctlRequest,
    /// An operation of `prctl(2)`.
    Process,
    /// A code of `arch_prctl(2)`.
    Architecture,
    /// `MADV_*` of `madvise(2)`.
    Advice,
    /// A clock of `clock_gettime(2)`.
    Clock,
    /// How `sigprocmask(2)` changes the mask.
    MaskChange,
    /// The domain of a socket.
    Domain,
    /// The type of a socket, with its flags.
    SocketType,
    /// A resource of `getrlimit(2)`.
    Limit,
    /// An operation of `epoll_ctl(2)`.
    EpollOperation,
    /// Options of `wait4(2)` and `waitid(2)`.
    WaitOptions,
    /// An operation of `flock(2)`.
    LockOperation,
    /// Flags of a new descriptor, as of `pipe2(2)` and `eventfd(2)`.
    DescriptorFlags,
    /// Flags of `getrandom(2)`.
    RandomFlags,
    /// Flags of `memfd_create(2)`.
    MemoryFile,
    /// Whose usage `getrusage(2)` returns.
    Whose,
    /// Flags of `mremap(2)`.
    RemapFlags,
}

/// What a call does with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads bytes from it.
    Reads,
    /// It writes bytes to it.
    Writes,
    /// It works on the file behind it.
    File,
    /// It uses it for something else: an instance of epoll, the options of a socket.
    Other,
}

impl Argument {
    /// The argument that a letter of the list stands for.
    pub(super) fn of_letter(letter: u8) -> Argument {
        match letter {
            b'R' => Argument::Descriptor(Use::Reads),
            b'W' => Argument::Descriptor(Use::Writes),
            b'f' => Argument::Descriptor(Use::File),
            b'd' => Argument::Descriptor(Use::Other),
            b'D' => Argument::Directory,
            b'p' => Argument::Path,
            b'z' => Argument::Size,
            b'i' => Argument::Int,
            b'o' => Argument::Offset,
            b'L' => Argument::LowHigh,
            b'H' => Argument::HighLow,
            b'O' => Argument::OpenFlags,
            b'm' => Argument::Mode,
            b'P' => Argument::Protection,
            b'M' => Argument::MappingFlags,
            b'a' => Argument::Access,
            b's' => Argument::Signal,
            b'c' => Argument::CloneFlags,
            b'F' => Argument::FutexOperation,
            b'w' => Argument::Whence,
            b'B' => Argument::Structure(Structure::Pair),
            b't' => Argument::Structure(Structure::Time),
            b'Z' => Argument::Structure(Structure::ClockTime),
            b'N' => Argument::Structure(Structure::SocketAddress),
            b'j' => Argument::Structure(Structure::ChildStatus),
            b'y' => Argument::Structure(Structure::Polled),
            b'X' => Argument::Structure(Structure::TimeLeft),
            b'u' => Argument::Structure(Structure::FileStatus),
            b'Y' => Argument::Structure(Structure::ExtendedStatus),
            b'G' => Argument::Structure(Structure::SignalAction),
            b'K' => Argument::Structure(Structure::SignalSet),
            b'J' => Argument::Structure(Structure::Limits),
            b'>' => Argument::Buffer(Buffer::Written),
            b']' => Argument::Buffer(Buffer::WrittenVector),
            b'}' => Argument::Buffer(Buffer::WrittenMessage),
            b'<' => Argument::Buffer(Buffer::Read),
            b'[' => Argument::Buffer(Buffer::ReadVector),
            b'{' => Argument::Buffer(Buffer::ReadMessage),
            b'/' => Argument::Buffer(Buffer::Path),
            b'_' => Argument::Unused,
            _ => Values::of_letter(letter).map_or(Argument::Address, Argument::Value),
        }
    }
}

impl Values {
    fn of_letter(letter: u8) -> Option<Values> {
        Some(match letter {
            b'A' => Values::AtFlags,
            b'C' => Values::FcntlCommand,
            b'I' => Values::IoctlRequest,
            b'q' => Values::Process,
            b'Q' => Values::Architecture,
            b'v' => Values::Advice,
            b'k' => Values::Clock,
            b'h' => Values::MaskChange,
            b'S' => Values::Domain,
            b'T' => Values::SocketType,
            b'l' => Values::Limit,
            b'e' => Values::EpollOperation,
            b'n' => Values::WaitOptions,
            b'b' => Values::LockOperation,
            b'g' => Values::DescriptorFlags,
            b'r' => Values::RandomFlags,
            b'E' => Values::MemoryFile,
            b'U' => Values::Whose,
            b'V' => Values::RemapFlags,
            _ => return None,
        })
    }
}
