//! The tracee's stdout and stderr, and what the tracee wrote to them.

use super::diagnosis::LaunchError;
use super::interrupt;
use super::notify;
use super::pipes::{close_together, hung_up, is_as_wide, keep, pipe, read_now};
use super::places::PlaceSearch;
use super::stderr::Stderr;
use super::temporary::temporary_file;
use super::until::{Awaited, MarkSeen, Sign, Until};
use crate::clock;
use crate::units::Nanos;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Kinds of stdout for a tracee (`--output`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// `/dev/null`: nobody can check the output.
    Null,
    /// A pipe whose other end we read.
    #[default]
    Pipe,
    /// A pseudo terminal, 80 by 24, in its default mode.
    Pty,
    /// A regular file: one in the temporary folder that is already unlinked, or one of the user.
    File,
    /// The stdout of this process: we do not see what is written.
    Inherit,
}

impl OutputKind {
    /// Whether nobody but the run has the file, so that we can read what it wrote there.
    pub fn is_read(self) -> bool {
        !matches!(self, OutputKind::Null | OutputKind::Inherit)
    }
}

/// How many bytes of the output are kept for messages.
const HEAD: usize = 4096;

/// How many bytes are read at a time.
const CHUNK: usize = 16384;

/// One run's stdout: the tracee's end until the launch, our end until everything has been read. Its stderr goes the same
/// way.
#[derive(Debug)]
pub struct Stdout {
    kind: OutputKind,
    tracee: Option<OwnedFd>,
    ours: Option<File>,
    collected: Collected,
    expected: Option<std::sync::Arc<[u8]>>,
    awaited: Option<Awaited>,
    places: Option<PlaceSearch>,
    was_full: bool,
    /// A descriptor of the tracee's process, which becomes readable at its end; `None`: none was wanted.
    pub(super) end: Option<OwnedFd>,
    /// Everything was read, and nobody is left who could write more.
    complete: bool,
    /// Its pipes serve the next run, too.
    pub(super) keeps_pipes: bool,
    stderr: Stderr,
}

/// How much fits into a pipe: `pipe(7)`, "Pipe capacity". A look that comes late, on a busy machine, need not see it full.
const PIPE: u64 = 65_536;

/// The output of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// How many bytes there were. For a pty this does not count the carriage returns that its line discipline adds.
    pub bytes: u64,
    /// The first bytes, at most 4 KiB.
    pub head: Vec<u8>,
    /// How many bytes there were up to the end of each text that was looked for, as far as they were found.
    pub places: Vec<u64>,
    /// The bytes are not the expected ones.
    pub differs: bool,
    /// When the first bytes arrived at our end, and how many.
    pub first_read: Option<(Nanos, u64)>,
    /// The tracee had ended before that.
    pub late: bool,
    /// The last bytes of stderr, at most 4 KiB.
    pub stderr: Vec<u8>,
    /// When the moment came that ends the run (see [`Stdout::end_at`]), and what showed it.
    pub reached: Option<(Nanos, Sign)>,
    /// Every other process has closed it.
    pub closed: bool,
}

impl Stdout {
    /// Opens a fresh stdout for one run. The output is compared with `expected` as it arrives. `kept`: the file of
    /// [`OutputKind::File`], which is created or emptied; `None`: a temporary one.
    pub fn open(
        kind: OutputKind,
        kept: Option<&Path>,
        expected: Option<std::sync::Arc<[u8]>>,
    ) -> Result<Stdout, LaunchError> {
        let (tracee, ours) = match kind {
            OutputKind::Null => (null()?, None),
            OutputKind::Pipe => pipe().map(|(ours, tracee)| (tracee, Some(ours)))?,
            OutputKind::Pty => pty().map(|(ours, tracee)| (tracee, Some(ours)))?,
            OutputKind::File => file(kept).map(|(ours, tracee)| (tracee, Some(ours)))?,
            OutputKind::Inherit => (inherited()?, None),
        };
        Ok(Stdout {
            kind,
            tracee: Some(tracee),
            ours,
            collected: Collected::default(),
            expected,
            awaited: None,
            places: None,
            was_full: false,
            end: None,
            complete: false,
            keeps_pipes: false,
            stderr: Stderr::open()?,
        })
    }

    /// Notes whether the tracee is waiting for us to read.
    pub(crate) fn note_whether_full(&mut self) {
        let of = |fd| libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
        let mut asked = [of(self.tracee_end()), of(self.stderr.tracee_end())];
        // SAFETY: the array is valid for its length; returns at once.
        let writable = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, 0) };
        self.was_full = usize::try_from(writable).is_ok_and(|writable| writable < asked.len());
    }

    /// Whether the tracee had to wait because nobody read its output, or would have had to wait if we had not read it.
    pub(super) fn was_full(&self) -> bool {
        self.was_full || self.kind == OutputKind::Pipe && self.collected.bytes > PIPE
    }

    /// Whether it was read to its end, and nobody of the tracee's tree is left who could write more.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the tracee has left its pipes as wide as they were, and no process elsewhere has got them. Closes the tracee's ends
    /// to find out.
    pub(super) fn leaves_pipes(&mut self) -> bool {
        let is_pipe = self.kind == OutputKind::Pipe;
        let as_wide = is_as_wide(self.tracee_stderr()) && (!is_pipe || is_as_wide(self.tracee_end()));
        self.stderr.close_tracees_end();
        if is_pipe {
            self.tracee = None;
        }
        let [stdout, stderr, _] = self.pollable();
        as_wide && hung_up(stderr) && (!is_pipe || hung_up(stdout))
    }

    /// Ends the run when this has come.
    ///
    /// # Errors
    ///
    /// There is no socket for it.
    pub(crate) fn end_at(&mut self, until: Until) -> Result<(), LaunchError> {
        self.awaited = Some(Awaited::new(until, self.kind == OutputKind::Pty)?);
        Ok(())
    }

    /// The variable that the tracee needs to say that it is ready; `None`: that does not end the run.
    pub(super) fn ready_variable(&self) -> Option<(&'static str, String)> {
        match &self.awaited {
            Some(Awaited::Ready(socket)) => Some((notify::VARIABLE, socket.address())),
            _ => None,
        }
    }

    /// Where a tracer notes the mark that ends the run; `None`: no mark does.
    pub(crate) fn awaited_mark(&self) -> Option<MarkSeen> {
        match &self.awaited {
            Some(Awaited::Mark(seen)) => Some(seen.clone()),
            _ => None,
        }
    }

    /// Finds the places of these texts, each after the one before. None of them may be empty.
    pub(crate) fn look_for(&mut self, texts: Vec<std::sync::Arc<[u8]>>) {
        self.places = Some(PlaceSearch::new(texts));
    }

    /// Whether the run ends at a moment before the program ends.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.is_some()
    }

    /// Whether that moment has come.
    pub fn is_reached(&self) -> bool {
        self.awaited.as_ref().is_some_and(|awaited| awaited.found().is_some())
    }

    /// Looks for a moment that no output shows.
    pub(crate) fn look(&mut self) {
        if let Some(awaited) = &mut self.awaited {
            awaited.look();
        }
    }

    /// How long to wait for output at most, if `pause` is what everything else allows.
    pub(crate) fn pause(&self, pause: Duration, elapsed: Duration) -> Duration {
        let look = self.awaited.as_ref().and_then(|awaited| awaited.pause_after(elapsed));
        look.map_or(pause, |look| look.min(pause))
    }

    /// The kind of this stdout.
    pub fn kind(&self) -> OutputKind {
        self.kind
    }

    /// Whether output comes to us, so that we can see its first byte.
    pub(crate) fn arrives(&self) -> bool {
        matches!(self.kind, OutputKind::Pipe | OutputKind::Pty)
    }

    /// The descriptor that the tracee gets as its stdout.
    pub(super) fn tracee_end(&self) -> i32 {
        self.tracee.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Closes our copy of a terminal's end for the tracee. Its output reaches our end by then. Call it only once the tracee has
    /// exited. The ends of pipes are closed together with ours, which needs fewer system calls.
    pub fn release(&mut self) {
        if self.kind == OutputKind::Pty {
            self.tracee = None;
        }
    }

    /// The descriptor that the tracee gets as its stderr.
    pub(super) fn tracee_stderr(&self) -> i32 {
        self.stderr.tracee_end()
    }

    /// The descriptors to poll: of stdout, of stderr, and that at which the tracee says that it is ready; -1, which poll(2)
    /// ignores, if there is nothing to wait for.
    pub(crate) fn pollable(&self) -> [i32; 3] {
        let stdout = match self.kind {
            OutputKind::Pipe | OutputKind::Pty if !self.collected.closed => {
                self.ours.as_ref().map_or(-1, AsRawFd::as_raw_fd)
            }
            _ => -1,
        };
        let ready = match &self.awaited {
            Some(Awaited::Ready(socket)) => socket.descriptor(),
            _ => -1,
        };
        [stdout, self.stderr.pollable(), ready]
    }

    /// How many bytes of stdout were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.collected.bytes
    }

    /// Reads what has arrived, without waiting.
    pub fn drain(&mut self) {
        let awaited = &mut self.awaited;
        self.stderr.drain(self.complete, |piece| {
            if let Some(awaited) = awaited.as_mut() {
                awaited.take_stderr(piece);
            }
        });
        self.drain_stdout();
    }

    /// Notes that the tracee has ended: what was not read by then arrived earlier than it is read.
    pub(super) fn note_end(&mut self) {
        self.collected.late |= self.collected.first_read.is_none();
    }

    /// Reads the rest. Nobody is left who could write more.
    pub(super) fn complete(&mut self) {
        self.complete = true;
        self.drain();
    }

    /// Reads what has arrived of stdout, without waiting.
    pub(super) fn drain_stdout(&mut self) {
        let is_over = self.kind == OutputKind::Pipe && self.collected.closed;
        if self.kind == OutputKind::File || is_over {
            return;
        }
        let Some(mut ours) = self.ours.take() else { return };
        let mut buffer = [0_u8; CHUNK];
        loop {
            let read = match self.kind {
                OutputKind::Pipe => read_now(&ours, &mut buffer),
                _ => ours.read(&mut buffer),
            };
            match read {
                Ok(0) => break self.collected.closed = true,
                Ok(count) => {
                    self.take(&buffer[..count]);
                    if self.kind == OutputKind::Pipe && count < CHUNK && !self.complete {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A pty answers EIO once every other process has closed it.
                Err(_) => break self.collected.closed = true,
            }
        }
        self.ours = Some(ours);
    }

    /// All of the output. The tracee must have ended.
    pub fn finish(mut self) -> Collected {
        if !self.complete {
            self.drain();
        }
        if self.kind == OutputKind::File {
            self.read_file();
        }
        if let Some(expected) = &self.expected
            && self.kind.is_read()
        {
            self.collected.differs |= self.collected.bytes != expected.len() as u64;
        }
        let keeps = self.complete && self.keeps_pipes && self.awaited.is_none();
        self.collected.reached = self.awaited.and_then(|awaited| Some((awaited.found()?, awaited.sign()?)));
        self.collected.places = self.places.map(PlaceSearch::found).unwrap_or_default();
        let (tail, errors) = self.stderr.into_parts();
        self.collected.stderr = tail;
        let of_stdout = keeps && self.kind == OutputKind::Pipe && !self.collected.closed;
        let pipes = [(errors, keeps), ((self.ours, self.tracee), of_stdout)];
        let left = pipes.map(|(ends, keeps)| if keeps { keep(ends) } else { ends });
        let left = left.into_iter().flat_map(|(ours, tracees)| [ours.map(OwnedFd::from), tracees]);
        close_together(left.chain([self.end]).flatten());
        self.collected
    }

    fn read_file(&mut self) {
        let Some(ours) = self.ours.take() else { return };
        let mut buffer = [0_u8; CHUNK];
        while let Ok(count @ 1..) = ours.read_at(&mut buffer, self.collected.bytes) {
            self.take(&buffer[..count]);
        }
        self.collected.first_read = None; // read after the run: the instant means nothing
        self.collected.closed = true;
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.collected.first_read.is_none() {
            self.collected.first_read = Some((clock::now(), bytes.len() as u64));
        }
        if let Some(awaited) = &mut self.awaited {
            awaited.take_stdout(bytes);
        }
        if self.kind == OutputKind::Pty {
            let without_returns: Vec<u8> = bytes.iter().copied().filter(|&b| b != b'\r').collect();
            self.compare(&without_returns);
        } else {
            self.compare(bytes);
        }
    }

    fn compare(&mut self, bytes: &[u8]) {
        if let Some(places) = &mut self.places {
            places.take(bytes);
        }
        let from = usize::try_from(self.collected.bytes).unwrap_or(usize::MAX);
        if let Some(expected) = &self.expected {
            let wanted = expected.get(from..from.saturating_add(bytes.len()));
            self.collected.differs |= wanted != Some(bytes);
        }
        let room = HEAD.saturating_sub(self.collected.head.len());
        self.collected.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.collected.bytes += bytes.len() as u64;
    }
}

/// `/dev/null`, opened for writing.
pub(super) fn null() -> Result<OwnedFd, LaunchError> {
    let opened = File::options().read(true).write(true).open("/dev/null");
    opened.map(OwnedFd::from).map_err(|cause| LaunchError::Resource { what: "/dev/null", cause })
}

/// A file that tracees read. A named pipe waits for its writer, unless a signal interrupts us.
pub(super) fn input(path: &Path) -> Result<OwnedFd, LaunchError> {
    loop {
        if interrupt::interrupted().is_some() {
            return Err(LaunchError::Interrupted);
        }
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(opened) => return Ok(opened),
            Err(Errno::INTR) => {}
            Err(cause) => return Err(LaunchError::Resource { what: "the input", cause: cause.into() }),
        }
    }
}

fn pty() -> Result<(File, OwnedFd), LaunchError> {
    // SAFETY: plain system calls; the descriptors are owned at once.
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC | libc::O_NONBLOCK);
        if master < 0 {
            return Err(LaunchError::resource("a pseudo terminal"));
        }
        let ours = File::from_raw_fd(master);
        if libc::grantpt(master) != 0 || libc::unlockpt(master) != 0 {
            return Err(LaunchError::resource("a pseudo terminal"));
        }

        // Linux 4.13: opens the peer without a path, so /dev/pts need not be mounted here.
        let peer = libc::ioctl(master, libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        if peer < 0 {
            return Err(LaunchError::resource("a pseudo terminal"));
        }

        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        libc::ioctl(master, libc::TIOCSWINSZ, &raw const size);
        Ok((ours, OwnedFd::from_raw_fd(peer)))
    }
}

/// Our own stdout.
fn inherited() -> Result<OwnedFd, LaunchError> {
    let cloned = io::stdout().as_fd().try_clone_to_owned();
    cloned.map_err(|cause| LaunchError::Resource { what: "stdout", cause })
}

fn file(kept: Option<&Path>) -> Result<(File, OwnedFd), LaunchError> {
    let resource = |cause| LaunchError::Resource { what: "the output", cause };
    let open = |path: &Path| File::options().read(true).write(true).create(true).truncate(true).open(path);
    let ours = kept.map_or_else(temporary_file, |path| open(path).map_err(resource))?;
    let tracee = OwnedFd::from(ours.try_clone().map_err(resource)?);
    Ok((ours, tracee))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The tracee's ends of stdout and stderr.
    fn ends(stdout: &Stdout) -> [File; 2] {
        [stdout.tracee_end(), stdout.tracee_stderr()].map(|number| {
            // SAFETY: a fresh descriptor that is owned at once.
            unsafe { File::from_raw_fd(libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3)) }
        })
    }

    #[test]
    fn packets_are_read_to_the_last_one() {
        let mut stdout = Stdout::open(OutputKind::Pipe, None, None).unwrap();
        for mut end in ends(&stdout) {
            // SAFETY: plain fcntl on a descriptor that we own.
            assert_eq!(unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFL, libc::O_DIRECT) }, 0);
            end.write_all(b"ab").unwrap();
            end.write_all(b"c").unwrap();
        }
        stdout.complete();
        let collected = stdout.finish();
        assert_eq!((&*collected.head, &*collected.stderr), (&b"abc"[..], &b"abc"[..]));
    }

    #[test]
    fn pipes_that_others_hold_or_that_were_resized_are_not_for_the_next_run() {
        let mut alone = Stdout::open(OutputKind::Pipe, None, None).unwrap();
        assert!(alone.leaves_pipes());
        for held in 0..2 {
            let mut shared = Stdout::open(OutputKind::Pipe, None, None).unwrap();
            let _others = ends(&shared).into_iter().nth(held);
            assert!(!shared.leaves_pipes());
        }
        let mut resized = Stdout::open(OutputKind::Pipe, None, None).unwrap();
        // SAFETY: plain fcntl on a descriptor that we own.
        assert!(unsafe { libc::fcntl(resized.tracee_stderr(), libc::F_SETPIPE_SZ, 4096) } > 0);
        assert!(!resized.leaves_pipes());
    }

    #[test]
    fn what_is_read_after_the_end_is_late() {
        let late = |ends_first: bool| {
            let mut stdout = Stdout::open(OutputKind::Pipe, None, None).unwrap();
            let mut writer = File::from(stdout.tracee.as_ref().unwrap().try_clone().unwrap());
            writer.write_all(b"x").unwrap();
            if ends_first {
                stdout.note_end();
            }
            stdout.drain();
            stdout.note_end();
            stdout.finish().late
        };
        assert_eq!([false, true].map(late), [false, true]);
    }
}
