//! Waits for what the kernel reports about tracees, at the same cost for one tracee and for many thousands.
//!
//! The simplest wait is `wait4(-1)`. For each report the kernel walks along all tracees, the newest first, until it finds
//! one that has stopped (`do_wait` in kernel/exit.c). If it is asked for the resources that were used, it also walks
//! along all threads of that one's process (`getrusage` in kernel/sys.c). With many tracees both take longer than all
//! else. So then the resources are asked for once, when the root is dead, and a few tracees are looked at first, each at
//! the same cost for any number of tracees (since Linux 5.14; `do_wait_pid`): those that have stopped last, because a
//! thread that creates others is usually the next one, too, and those that were created after them, because threads that
//! were woken together end in the order of their creation.

use super::tracee::TracedThread;
use crate::clock;
use crate::units::Nanos;
use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// One report from the kernel.
pub(super) struct Report {
    pub(super) at: Nanos,
    pub(super) tracee: TracedThread,
    pub(super) status: i32,
    /// What it has used: known if there are few tracees, and if this is the end of the root.
    pub(super) usage: libc::rusage,
}

/// The result of one wait.
pub(super) enum Waited {
    Reported(Report),
    /// A signal ended the wait.
    Interrupted,
    /// There is no tracee left.
    Over,
    /// The kernel refuses to tell.
    Refused(io::Error),
}

/// Up to this many tracees are few.
const FEW: usize = 64;

/// How many tracees are looked at first.
const LAST: usize = 4;

/// For how long they are looked at again and again if nobody else seems to have stopped. Then there is a pause between two
/// looks, which takes about as long as the kernel needs to walk along so many tracees.
const PATIENCE: Nanos = Nanos(20_000);
const PAUSE: Duration = Duration::from_micros(20);
const TRACEES_A_PAUSE: usize = 4096;

/// All tracees are checked after `TURNS` reports of the last ones, plus one for every `TRACEES_A_TURN` tracees: others may have
/// stopped long ago, and the last ones may be waiting for them.
const TURNS: usize = 16;
const TRACEES_A_TURN: usize = 64;

/// Children and tracees of every kind, but only those of the calling thread.
const OURS: i32 = libc::__WALL | libc::__WNOTHREAD;

/// The reports about the tree of one root.
#[derive(Debug)]
pub(super) struct Reports {
    root: i32,
    /// The tracees that have stopped last.
    last: [i32; LAST],
    /// How many reports in a row came from them.
    turns: usize,
    /// All tracees that are known, in the order of their creation.
    known: BTreeSet<i32>,
    /// The last look at all found one that had stopped already, so there may be more.
    backlog: bool,
}

/// What a tracee has to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct News {
    tracee: i32,
    is_dead: bool,
}

impl Reports {
    /// For the tree that begins with `root`.
    pub(super) fn about(root: i32) -> Reports {
        Reports { root, last: [root; LAST], turns: 0, known: BTreeSet::from([root]), backlog: false }
    }

    /// Waits for the next report about a tracee; there are so many `tracees`.
    pub(super) fn next(&mut self, tracees: usize) -> Waited {
        let waited = if tracees <= FEW {
            taken(-1, 0, true).unwrap_or_else(failed)
        } else {
            self.next_of_many(tracees)
        };
        if let Waited::Reported(report) = &waited {
            self.note(report);
        }
        waited
    }

    fn note(&mut self, Report { tracee, status, .. }: &Report) {
        if libc::WIFSTOPPED(*status) {
            self.remember(tracee.0);
        } else {
            self.known.remove(&tracee.0);
        }
    }

    fn next_of_many(&mut self, tracees: usize) -> Waited {
        loop {
            let prefers_the_last = self.turns < TURNS + tracees / TRACEES_A_TURN;
            let report = prefers_the_last.then(|| self.of_the_last(tracees)).flatten();
            self.turns = if report.is_some() { self.turns + 1 } else { 0 };
            // A tracee that was killed meanwhile has nothing to report yet.
            if let Some(report) = report.or_else(|| self.of_all()) {
                return report;
            }
        }
    }

    /// The report of any tracee, as soon as there is one.
    fn of_all(&mut self) -> Option<Waited> {
        let present = news(libc::P_ALL, 0, libc::WNOHANG);
        self.backlog = present.is_some();
        match present.or_else(|| news(libc::P_ALL, 0, 0)) {
            Some(news) => self.take(news),
            None => Some(failed()),
        }
    }

    /// The report of one of the tracees that have stopped last, or of a next one. If all others seem to run, it may take a
    /// while.
    fn of_the_last(&self, tracees: usize) -> Option<Waited> {
        let (since, mut pauses) = (clock::now(), 0);
        loop {
            let report = self.last.iter().find_map(|tracee| self.of_one(*tracee));
            if report.is_some() || pauses > tracees / TRACEES_A_PAUSE {
                return report;
            }
            if self.backlog {
                return self.last.iter().find_map(|tracee| self.of_one(self.created_after(*tracee)?));
            }
            if clock::now().0 - since.0 < PATIENCE.0 {
                std::thread::yield_now(); // they may have to run on this processor
            } else {
                clock::pause(PAUSE);
                pauses += 1;
            }
        }
    }

    fn created_after(&self, tracee: i32) -> Option<i32> {
        self.known.range(tracee + 1..).next().copied()
    }

    fn of_one(&self, tracee: i32) -> Option<Waited> {
        if tracee == self.root {
            return self.take(news(libc::P_PID, tracee, libc::WNOHANG)?);
        }
        taken(tracee, libc::WNOHANG, false)
    }

    fn take(&self, news: News) -> Option<Waited> {
        taken(news.tracee, libc::WNOHANG, news.is_dead && news.tracee == self.root)
    }

    /// This tracee is likely to be among the next ones that stop.
    pub(super) fn remember(&mut self, tracee: i32) {
        let place = self.last.iter().position(|known| *known == tracee).unwrap_or(LAST - 1);
        self.last[..=place].rotate_right(1);
        self.last[0] = tracee;
        self.known.insert(tracee);
    }
}

/// Takes a report of a tracee, or of any (-1); `None`: there is none, or the wait failed (see `errno`).
fn taken(tracee: i32, options: i32, with_usage: bool) -> Option<Waited> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let wanted = if with_usage { usage.as_mut_ptr() } else { ptr::null_mut() };
    // SAFETY: the out-pointers are valid; the kernel leaves out one that is null.
    let reported = unsafe { libc::wait4(tracee, &raw mut status, OURS | options, wanted) };
    let at = clock::now();
    // SAFETY: plain integers, zeroed and then filled.
    let usage = unsafe { usage.assume_init() };
    (reported > 0).then_some(Waited::Reported(Report { at, tracee: TracedThread(reported), status, usage }))
}

/// Who has something to report, which stays to be taken; `None` as for [`taken`].
fn news(kind: libc::idtype_t, id: i32, options: i32) -> Option<News> {
    let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | OURS | options;
    // SAFETY: plain data, filled by the kernel; it has no report if it stays zero.
    unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let answer = libc::waitid(kind, id.cast_unsigned(), &raw mut found, options);
        let is_dead = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED].contains(&found.si_code);
        (answer == 0 && found.si_pid() != 0).then(|| News { tracee: found.si_pid(), is_dead })
    }
}

/// Why a wait that blocks failed.
fn failed() -> Waited {
    let cause = io::Error::last_os_error();
    match cause.raw_os_error() {
        Some(libc::EINTR) => Waited::Interrupted,
        Some(libc::ECHILD) => Waited::Over,
        _ => Waited::Refused(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    /// A program that waits. Its exec is over: the stop of an exec would take the place of an interruption.
    fn waiting() -> Child {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    fn seized(child: &Child) -> TracedThread {
        TracedThread::seize(child.id().cast_signed()).unwrap()
    }

    #[test]
    #[allow(clippy::zombie_processes)] // the reports reap them
    fn of_many_tracees_each_is_reported_and_the_root_with_what_it_has_used() {
        let children: Vec<Child> = (0..3).map(|_| waiting()).collect();
        let tracees: Vec<TracedThread> = children.iter().map(seized).collect();
        let mut reports = Reports::about(tracees[0].0);
        let mut next = || match reports.next(FEW + 1) {
            Waited::Reported(report) => report,
            Waited::Interrupted | Waited::Over | Waited::Refused(_) => panic!("nothing was reported"),
        };

        for tracee in &tracees {
            tracee.interrupt();
            let stopped = next();
            assert_eq!((stopped.tracee, libc::WIFSTOPPED(stopped.status)), (*tracee, true));
            assert_eq!(stopped.usage.ru_minflt, 0, "the kernel was not asked");
        }
        for tracee in tracees.iter().rev() {
            tracee.kill();
            let mut report = next();
            // the stop of its exit is not asked for by every kernel
            while libc::WIFSTOPPED(report.status) {
                report.tracee.resume(super::super::tracee::RunUntil::Event, 0);
                report = next();
            }
            assert_eq!((report.tracee, libc::WTERMSIG(report.status)), (*tracee, libc::SIGKILL));
            assert_eq!(report.usage.ru_minflt > 0, *tracee == tracees[0]);
        }
        assert!(matches!(reports.next(FEW + 1), Waited::Over));
    }

    /// The newest tracees could go on for ever while an older one waits for its turn.
    #[test]
    fn the_last_ones_are_not_preferred_for_ever() {
        let mut reports = Reports::about(1);
        reports.turns = TURNS + (FEW + 1) / TRACEES_A_TURN;
        assert!(matches!(reports.next(FEW + 1), Waited::Over));
        assert_eq!(reports.turns, 0);
    }

    #[test]
    fn the_tracees_that_have_stopped_last_are_remembered_once_each() {
        let mut reports = Reports::about(1);
        for tracee in [2, 3, 2, 4, 5, 6, 4] {
            reports.remember(tracee);
        }
        assert_eq!(reports.last, [4, 6, 5, 2]);
        assert_eq!([2, 4, 6].map(|tracee| reports.created_after(tracee)), [Some(3), Some(5), None]);
    }
}
