//! The starts of one program, each observed in one call: the first page of the README.

use crate::Counts;
use crate::launch::{Command, ExitStatus, LaunchError, Launcher, ResolveError};
use crate::timeline::{Timeline, TimelineError};
use crate::tracer::phases::choose_phases;
use crate::tracer::{Backend, BackendChoice, ChooseError, Recording, RunOptions, Tracer, ptrace};
use std::ffi::OsStr;

/// Starts a program as often as it is asked to, with the same tracer, and says how long each start took or what it did.
pub struct Starts {
    launcher: Launcher,
    tracer: Box<dyn Tracer>,
    options: RunOptions,
}

/// Why a start could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error(transparent)]
    Command(#[from] ResolveError),
    /// The program could not be started or observed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The backend could not be attached.
    #[error(transparent)]
    Tracer(#[from] ChooseError),
    /// What was observed has no timeline.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// The program failed.
    #[error("`{program}` failed: {exit}")]
    Failed {
        /// Its arguments, joined by blanks.
        program: String,
        /// How it ended.
        exit: ExitStatus,
    },
    /// The kernel dropped events, so the run says nothing.
    #[error("{0} events were lost")]
    Lost(u64),
}

impl Starts {
    /// The starts of a command, given by its words, with the best backend that works here.
    ///
    /// # Errors
    ///
    /// There is no such program, or no backend can be attached.
    pub fn of<S: AsRef<OsStr>>(words: &[S]) -> Result<Starts, StartError> {
        let launcher = Launcher::new(Command::new(words)?)?;
        let mut tracer = choose_phases(BackendChoice::Auto)?.tracer;
        tracer.attach()?;
        Ok(Starts { launcher, tracer, options: RunOptions::default() })
    }

    /// What observes the starts.
    pub fn backend(&self) -> Backend {
        self.tracer.backend()
    }

    /// Starts the program once, and waits for its end: how long it took until its first byte of output, and until its exit,
    /// in nanoseconds.
    ///
    /// # Errors
    ///
    /// The program fails, or the run could not be observed from its beginning to its end.
    pub fn once(&mut self) -> Result<Timeline, StartError> {
        let recording = succeeded(self.tracer.run(&mut self.launcher, &self.options)?)?;
        Ok(Timeline::of(&recording)?)
    }

    /// Starts the program `runs` times, at least once, and counts what it does: the smallest of each count. Each system call
    /// stops the program, so these runs are many times slower.
    ///
    /// # Errors
    ///
    /// The program fails, or ptrace does not work here.
    pub fn counts(&mut self, runs: u32) -> Result<Counts, StartError> {
        let mut counted = Vec::new();
        for _ in 0..runs.max(1) {
            let (counts, recording) = ptrace::count(&mut self.launcher, &self.options)?;
            succeeded(recording)?;
            counted.push(counts);
        }
        Ok(Counts::combined(&counted, |values| values.into_iter().min()).unwrap_or_default())
    }
}

/// The recording of a run that counts.
fn succeeded(recording: Recording) -> Result<Recording, StartError> {
    if recording.lost > 0 {
        return Err(StartError::Lost(recording.lost));
    }
    if !recording.exit.success() {
        return Err(StartError::Failed { program: recording.command.join(" "), exit: recording.exit });
    }
    Ok(recording)
}

/// Asserts that a start stays within limits: the smallest of each count of [`Counts`] in three runs.
///
/// ```
/// firstbyte_measure::assert_startup!(["true"], processes <= 1, files_opened <= 20);
/// ```
///
/// # Panics
///
/// A count is above its limit, or the start could not be measured.
#[macro_export]
macro_rules! assert_startup {
    ([$($word:expr),+ $(,)?], $($count:ident <= $most:expr),+ $(,)?) => {{
        let counts = $crate::start::Starts::of(&[$($word),+]).and_then(|mut starts| starts.counts(3));
        let counts = counts.unwrap_or_else(|error| panic!("{error}"));
        let exceeded: Vec<String> = [$((stringify!($count), counts.$count, $most)),+]
            .into_iter()
            .filter(|(_, count, most)| count > most)
            .map(|(name, count, most)| format!("{name} is {count}, at most {most}"))
            .collect();
        assert!(exceeded.is_empty(), "the start of {:?}: {}", [$($word),+], exceeded.join(", "));
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_has_phases_or_says_why_not() {
        let mut starts = Starts::of(&["echo", "hello"]).unwrap();
        let timeline = starts.once().unwrap();
        assert!(timeline.first_byte.is_some_and(|first| first <= timeline.total));
        assert!(matches!(Starts::of(&["/no/such/program"]), Err(StartError::Command(_))));
        let failed = Starts::of(&["false"]).unwrap().once().unwrap_err();
        assert_eq!(failed.to_string(), "`false` failed: exit status 1");
    }

    #[test]
    fn a_limit_holds_for_the_smallest_count_of_all_runs() {
        assert_startup!(["echo", "hello"], processes <= 1, writes <= 1);
        let exceeded =
            std::panic::catch_unwind(|| assert_startup!(["echo", "hello"], processes <= 1, syscalls <= 1));
        let message = exceeded.unwrap_err().downcast::<String>().unwrap();
        assert!(message.starts_with("the start of [\"echo\", \"hello\"]: syscalls is "), "{message}");
        assert!(message.ends_with(", at most 1") && !message.contains("processes"), "{message}");
    }
}
