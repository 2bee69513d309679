//! Descriptors of every kind to write to, some with a reader on another processor.

use super::FloorError;
use super::pinned::pin_to;
use firstbyte_measure::launch::ourselves;
use firstbyte_measure::page_cache::FileSystem;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// A descriptor to write to. Its reader, if there is one, stops when this is dropped.
pub(super) struct WriteSink {
    descriptor: Option<OwnedFd>,
    reader: Option<Reader>,
}

impl WriteSink {
    fn alone(descriptor: OwnedFd) -> WriteSink {
        WriteSink { descriptor: Some(descriptor), reader: None }
    }

    pub(super) fn fd(&self) -> RawFd {
        self.descriptor.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    pub(super) fn device(path: &'static str) -> Result<WriteSink, FloorError> {
        let opened = File::options().read(true).write(true).open(path);
        opened
            .map(|file| WriteSink::alone(file.into()))
            .map_err(|cause| FloorError::Resource { what: "a device file", cause })
    }

    /// A pipe without a reader, and its reading end, which does not block.
    pub(super) fn pipe() -> Result<(WriteSink, File), FloorError> {
        let (ours, theirs) = pipe(libc::O_NONBLOCK)?;
        // SAFETY: the flags of a descriptor of our own. Writing blocks.
        unsafe { libc::fcntl(theirs.as_raw_fd(), libc::F_SETFL, 0) };
        Ok((WriteSink::alone(theirs), ours))
    }

    /// A pipe whose reader sleeps in `read` on processor `cpu`.
    pub(super) fn pipe_with_reader(cpu: usize) -> Result<WriteSink, FloorError> {
        let (ours, theirs) = pipe(0)?;
        Ok(WriteSink { descriptor: Some(theirs), reader: Some(Reader::of(ours.into(), cpu)?) })
    }

    /// A pair of stream sockets with a reader on processor `cpu`.
    pub(super) fn socket_with_reader(cpu: usize) -> Result<WriteSink, FloorError> {
        let mut ends = [0; 2];
        // SAFETY: room for the two descriptors, which are owned at once.
        let (ours, theirs) = unsafe {
            let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
            if libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) != 0 {
                return Err(FloorError::last("a pair of sockets"));
            }
            (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        Ok(WriteSink { descriptor: Some(theirs), reader: Some(Reader::of(ours.into(), cpu)?) })
    }

    /// A pseudo terminal, in its default mode or raw, with a reader on processor `cpu`.
    pub(super) fn terminal_with_reader(cpu: usize, raw: bool) -> Result<WriteSink, FloorError> {
        let (master, terminal) = terminal()?;
        if raw {
            // SAFETY: plain data, filled and read by the kernel.
            unsafe {
                let mut mode: libc::termios = std::mem::zeroed();
                libc::tcgetattr(terminal.as_raw_fd(), &raw mut mode);
                libc::cfmakeraw(&raw mut mode);
                libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const mode);
            }
        }
        Ok(WriteSink { descriptor: Some(terminal), reader: Some(Reader::of(master.into(), cpu)?) })
    }

    /// A file in memory, served by the same kernel code as a file on tmpfs.
    pub(super) fn memory() -> Result<WriteSink, FloorError> {
        // SAFETY: the name is a C string; the descriptor is owned at once.
        unsafe {
            match libc::memfd_create(c"firstbyte".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => Err(FloorError::last("a file in memory")),
                descriptor => Ok(WriteSink::alone(OwnedFd::from_raw_fd(descriptor))),
            }
        }
    }

    /// An unnamed file in `folder`, and the name of its file system.
    pub(super) fn file(folder: &Path) -> Result<(WriteSink, &'static str), FloorError> {
        let what = "a temporary file";
        let file = tempfile::tempfile_in(folder).map_err(|cause| FloorError::Resource { what, cause })?;
        let system = FileSystem::of_file(&file).map_or("an unknown file system", |found| found.name);
        Ok((WriteSink::alone(file.into()), system))
    }
}

impl Drop for WriteSink {
    fn drop(&mut self) {
        // Once our end is closed, the reader sees the end (on a terminal: an error) and stops.
        self.descriptor = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.thread.join();
        }
    }
}

/// A thread that reads one end until nothing more can come.
struct Reader {
    thread: JoinHandle<()>,
    /// The end that it reads, if the thread could not get its own descriptor table.
    _shared: Option<OwnedFd>,
}

impl Reader {
    /// The thread gets its own descriptor table if it can: see [`ourselves::keep_descriptors`].
    fn of(from: OwnedFd, cpu: usize) -> Result<Reader, FloorError> {
        let (tell, told) = mpsc::channel();
        let number = from.as_raw_fd();
        let read = move || {
            // If this fails, the reader is only slower.
            let _ = pin_to(cpu);
            let _ = tell.send(ourselves::keep_descriptors(Some(number)));
            let mut buffer = vec![0_u8; 1 << 16];
            // SAFETY: the descriptor is open, in this thread's table or because the `Reader` keeps it; room for the bytes.
            while unsafe { libc::read(number, buffer.as_mut_ptr().cast(), buffer.len()) } > 0 {}
        };
        let thread = std::thread::Builder::new().spawn(read);
        let thread = thread.map_err(|cause| FloorError::Resource { what: "a thread", cause })?;
        let alone = told.recv().unwrap_or(false);
        Ok(Reader { thread, _shared: (!alone).then_some(from) })
    }
}

fn pipe(flags: libc::c_int) -> Result<(File, OwnedFd), FloorError> {
    let mut ends = [0; 2];
    // SAFETY: room for the two descriptors, which are owned at once.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | flags) != 0 {
            return Err(FloorError::last("a pipe"));
        }
        Ok((File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

fn terminal() -> Result<(File, OwnedFd), FloorError> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: plain system calls; the descriptors are owned at once.
    unsafe {
        let master = libc::posix_openpt(flags);
        if master < 0 {
            return Err(FloorError::last("a pseudo terminal"));
        }
        let ours = File::from_raw_fd(master);
        if libc::grantpt(master) != 0 || libc::unlockpt(master) != 0 {
            return Err(FloorError::last("a pseudo terminal"));
        }
        // Since Linux 4.13, without a path: /dev/pts need not be mounted.
        match libc::ioctl(master, libc::TIOCGPTPEER, flags) {
            -1 => Err(FloorError::last("a pseudo terminal")),
            peer => Ok((ours, OwnedFd::from_raw_fd(peer))),
        }
    }
}
