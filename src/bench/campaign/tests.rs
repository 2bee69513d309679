//! Campaigns with a scripted runner: no process, no clock, exact order.

use super::*;
use crate::bench::{Accepted, Adaptive, BothKinds, validity};
use crate::document::series::Rejected;
use firstbyte_measure::launch::wait::Killed;
use firstbyte_measure::launch::{ExitStatus, LaunchError};
use firstbyte_measure::tracer::{Backend, Event, EventKind, Output, Recording};
use firstbyte_measure::units::Nanos;

/// Logs every request. Runs of a program succeed unless its script says otherwise.
#[derive(Default)]
struct Scripted {
    log: Vec<String>,
    /// (program, number of its run from 0, result)
    exceptions: Vec<(usize, usize, Exception)>,
    runs: Vec<usize>,
    /// The number of the switch, from 1, that fails.
    broken_switch: Option<usize>,
    /// More events that each run has.
    events: usize,
    /// Events that were missed in unknown runs.
    missed: u64,
}

#[derive(Clone, Copy)]
enum Exception {
    Lost,
    WrongExit,
    NoDescriptor,
    Interrupted,
    Unkillable,
    TimedOut,
    /// And its time was up only because of that.
    Suspended,
    /// We observed it too late.
    Late,
}

impl Runner for Scripted {
    fn switch(&mut self, traced: bool) -> Result<(), ExperimentError> {
        self.log.push(if traced { "attach" } else { "detach" }.to_owned());
        let switches = self.log.iter().filter(|entry| entry.ends_with("tach")).count();
        if self.broken_switch == Some(switches) { Err(ExperimentError::machine("no")) } else { Ok(()) }
    }

    fn missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }

    fn run(&mut self, program: usize) -> Result<Recording, LaunchError> {
        self.log.push(program.to_string());
        self.runs.resize(self.runs.len().max(program + 1), 0);
        let run = self.runs[program];
        self.runs[program] += 1;

        let exception = self.exceptions.iter().find(|e| e.0 == program && e.1 == run).map(|e| e.2);
        let mut recording = recording(100 + run as u64);
        let last = recording.events[1].clone();
        recording.events.extend(vec![last; self.events]);
        match exception {
            Some(Exception::Interrupted) => return Err(LaunchError::Interrupted),
            Some(Exception::Unkillable) => {
                return Err(LaunchError::unkillable(0, std::io::Error::from_raw_os_error(libc::EPERM)));
            }
            Some(Exception::NoDescriptor) => {
                let cause = std::io::Error::from_raw_os_error(libc::EMFILE);
                return Err(LaunchError::Resource { what: "a pipe", cause });
            }
            Some(Exception::Lost) => recording.lost = 3,
            Some(Exception::TimedOut) => recording.killed = Some(Killed::TimedOut),
            Some(Exception::Suspended) => {
                (recording.suspended, recording.killed) = (true, Some(Killed::TimedOut));
            }
            Some(Exception::Late) => recording.late = true,
            Some(Exception::WrongExit) => recording.exit = ExitStatus::Code(7),
            None => {}
        }
        Ok(recording)
    }
}

fn recording(wall: u64) -> Recording {
    let event = |at, kind| Event { at: Nanos(at), pid: 0, tid: 0, kind };
    Recording {
        events: vec![event(0, EventKind::Spawn), event(wall, EventKind::Reaped { status: 0 })],
        output: Output { bytes: Some(12), exact: true, ok: Some(true), ..Output::default() },
        ..Recording::empty(Backend::Pipe, 1)
    }
}

#[derive(Default)]
struct Silent {
    planned: u64,
    checkpoints: usize,
}

impl Progress for Silent {
    fn planned(&mut self, runs: u64) {
        self.planned = runs;
    }
    fn ran(&mut self, _: &str) {}
    fn checkpoint(&mut self, _: &[Series]) {
        self.checkpoints += 1;
    }
}

fn campaign(runs: u32, overhead: bool) -> Campaign {
    Campaign { aim: Aim::Time, limit: RunLimit::Runs(runs), warmup: WARMUP, seed: 5, overhead }
}

fn series(programs: usize) -> Vec<Series> {
    let series =
        |n: usize| Series { name: format!("p{n}"), accepted: Accepted::SUCCESS, ..Series::default() };
    (0..programs).map(series).collect()
}

/// As many rounds as any tracer needs to settle, so that the speed of this machine does not matter.
const WARMUP: u32 = 16;

/// A campaign with its results.
struct Outcome {
    series: Vec<Series>,
    ending: CampaignEnd,
    progress: Silent,
}

fn carry_out(programs: usize, campaign: &Campaign, runner: &mut Scripted) -> Outcome {
    let (mut series, mut progress) = (series(programs), Silent::default());
    let ending = campaign.run(&mut series, runner, &mut progress).unwrap();
    Outcome { series, ending, progress }
}

fn error(programs: usize, campaign: &Campaign, runner: &mut Scripted) -> String {
    campaign.run(&mut series(programs), runner, &mut ()).unwrap_err().to_string()
}

#[test]
fn events_that_were_missed_in_unknown_runs_are_noted_with_every_program() {
    let mut runner = Scripted { missed: 5, ..Scripted::default() };
    let outcome = carry_out(2, &campaign(3, false), &mut runner);
    let noted: Vec<_> = outcome.series.iter().map(|s| (s.lost_events, s.samples.len())).collect();
    assert_eq!(noted, [(5, 3), (5, 3)]);
}

#[test]
fn every_round_runs_every_program_once() {
    let mut runner = Scripted::default();
    let outcome = carry_out(3, &campaign(5, false), &mut runner);
    assert_eq!(runner.log[0], "attach");
    for round in runner.log[1..].chunks(3) {
        let mut sorted = round.to_vec();
        sorted.sort();
        assert_eq!(sorted, ["0", "1", "2"]);
    }
    assert_eq!(runner.log.len(), 1 + 3 * (WARMUP as usize + 5), "warm-up rounds and five measured ones");
    assert!(outcome.series.iter().all(|series| series.samples.len() == 5 && series.rejected.is_empty()));
    assert_eq!((outcome.progress.planned, outcome.progress.checkpoints), (15, 1));
}

#[test]
fn a_run_that_does_not_count_is_repeated_in_place() {
    let mut runner =
        Scripted { exceptions: vec![(1, WARMUP as usize + 1, Exception::Lost)], ..Scripted::default() };
    let outcome = carry_out(2, &campaign(4, false), &mut runner);
    let series = &outcome.series[1];
    assert_eq!(series.samples.len(), 4);
    assert_eq!(
        series.rejected,
        [Rejected {
            run: 1,
            reason: "the tracer lost 3 events (--backend ptrace loses none)".to_owned(),
            stderr: Vec::new()
        }]
    );
    assert_eq!(series.lost_events, 3);
}

#[test]
fn a_run_during_which_we_were_stopped_is_made_again_whatever_it_is_for() {
    let stopped = |run| Scripted { exceptions: vec![(0, run, Exception::Suspended)], ..Scripted::default() };
    let (timed, explaining) = (campaign(4, false), Campaign { overhead: false, ..explained(4) });
    for (campaign, run) in [(timed, WARMUP as usize + 1), (explaining, 1), (explaining, 3)] {
        let series = carry_out(1, &campaign, &mut stopped(run)).series.remove(0);
        assert_eq!((series.samples.len(), series.rejected.len()), (4, 1));
        assert_eq!(series.rejected[0].reason, validity::SUSPENDED);
    }
}

#[test]
fn a_run_that_we_observed_too_late_is_made_again_without_a_word_but_not_for_ever() {
    let run = WARMUP as usize + 1;
    let exceptions = |times: usize| (0..times).map(|n| (0, run + n, Exception::Late)).collect();
    for (times, runs) in [(1, run + 4), (TRIES as usize, run + 3 + TRIES as usize - 1)] {
        let mut runner = Scripted { exceptions: exceptions(times), ..Scripted::default() };
        let series = carry_out(1, &campaign(4, false), &mut runner).series.remove(0);
        assert_eq!((series.samples.len(), series.rejected.len()), (4, 0));
        assert_eq!(runner.runs, [runs]);
    }
}

#[test]
fn a_program_that_keeps_failing_is_given_up_and_ends_nothing_else() {
    let exceptions = (0..TRIES as usize).map(|run| (0, run, Exception::WrongExit)).collect();
    let mut runner = Scripted { exceptions, ..Scripted::default() };
    let outcome = carry_out(2, &campaign(3, false), &mut runner);
    assert!(outcome.series[0].samples.is_empty());
    assert_eq!(outcome.series[0].rejected.len(), TRIES as usize);
    assert_eq!(outcome.series[0].rejected[0].reason, "it ended with exit status 7 instead of exit status 0");
    assert_eq!(outcome.series[1].samples.len(), 3);
    assert!(!outcome.ending.interrupted);
}

#[test]
fn a_program_that_turns_bad_keeps_its_samples_and_is_told_of() {
    let first = WARMUP as usize + 2;
    let exceptions = (first..first + TRIES as usize).map(|run| (1, run, Exception::WrongExit)).collect();
    let mut runner = Scripted { exceptions, ..Scripted::default() };
    let outcome = carry_out(2, &campaign(5, false), &mut runner);
    assert_eq!(outcome.ending.given_up, [1]);
    assert_eq!((outcome.series[0].samples.len(), outcome.series[1].samples.len()), (5, 2));
    let failed = crate::bench::results::given_up_entry(&outcome.series[1]).unwrap();
    assert!(
        failed.reason.starts_with("given up after 2 runs: it ended with exit status 7"),
        "{}",
        failed.reason
    );
}

#[test]
fn an_interruption_keeps_what_is_finished() {
    let mut runner = Scripted {
        exceptions: vec![(0, WARMUP as usize + 2, Exception::Interrupted)],
        ..Scripted::default()
    };
    let outcome = carry_out(1, &campaign(10, false), &mut runner);
    assert!(outcome.ending.interrupted);
    assert_eq!(outcome.series[0].samples.len(), 2, "warm-up runs are none");
}

#[test]
fn a_process_that_cannot_be_killed_ends_the_campaign_and_is_named() {
    let unkillable =
        |run| Scripted { exceptions: vec![(0, run, Exception::Unkillable)], ..Scripted::default() };
    let mut runner = unkillable(WARMUP as usize + 2);
    let outcome = carry_out(1, &campaign(10, false), &mut runner);
    let broken = outcome.ending.broken.unwrap().to_string();
    assert!(
        broken.contains("(process 0) could not be killed and keeps running: ") && broken.contains("\nhelp: ")
    );
    assert_eq!((outcome.series[0].samples.len(), runner.runs[0]), (2, WARMUP as usize + 3));

    let mut runner = unkillable(0);
    error(1, &campaign(10, false), &mut runner);
    assert_eq!(runner.runs, [1], "it is not tried again");
}

#[test]
fn untraced_rounds_follow_the_traced_ones_of_their_block_and_pair_with_them() {
    let mut runner = Scripted::default();
    let outcome = carry_out(1, &campaign(8, true), &mut runner);
    let switches: Vec<_> = runner.log.iter().filter(|line| line.len() > 1).cloned().collect();
    assert_eq!(switches, ["attach", "detach", "attach", "detach", "attach", "detach", "attach", "detach"]);
    let series = &outcome.series[0];
    assert_eq!((series.samples.len(), series.untraced.len()), (8, 4));
    let beside: Vec<_> = series.untraced.iter().map(|untraced| untraced.beside.clone()).collect();
    assert_eq!(beside, [0..2, 2..4, 4..6, 6..8], "each with those of its block");
    assert_eq!(outcome.progress.checkpoints, 4);
    let made = runner.log.len() - switches.len() - WARMUP as usize;
    let planned = outcome.progress.planned;
    assert!(planned >= made as u64, "{planned} planned, {made} made");
}

#[test]
fn the_blocks_of_a_program_that_fails_now_and_then_are_those_in_which_it_ran() {
    let first = WARMUP as usize;
    // the second sample of the first block only succeeds when it is tried again
    let exceptions = vec![(0, first + 1, Exception::WrongExit)];
    let mut runner = Scripted { exceptions, ..Scripted::default() };
    let outcome = carry_out(1, &campaign(8, true), &mut runner);
    let series = &outcome.series[0];
    let blocks = series.blocks();
    assert_eq!((blocks.len(), series.rejected.len()), (4, 1));
    let traced: Vec<f64> = blocks.iter().flat_map(|block| block.traced.clone()).collect();
    let all: Vec<f64> = series.samples.iter().map(|sample| sample.wall.as_f64()).collect();
    assert_eq!(traced, all, "each sample is in one block");
    // each scripted run takes a nanosecond longer, so the untraced runs show that they come after their block
    for BothKinds { untraced, traced } in &blocks {
        assert!((untraced.len(), traced.len()) == (1, 2) && untraced[0] > traced[1], "{blocks:?}");
    }
}

const TEN_MINUTES: Adaptive = Adaptive {
    least: 4,
    most: 13,
    least_time: Duration::ZERO,
    time: Duration::from_secs(600),
    limit: None,
    precision: 0.1,
};

#[test]
fn precise_medians_do_not_end_a_campaign_before_the_least_time() {
    let adaptive = Adaptive { least_time: TEN_MINUTES.time, ..TEN_MINUTES };
    let campaign = Campaign { limit: RunLimit::Adaptive(adaptive), ..campaign(0, false) };
    let outcome = carry_out(2, &campaign, &mut Scripted::default());
    assert_eq!((outcome.ending.finish, outcome.series[0].samples.len()), (Finish::MostRuns, 13));
}

#[test]
fn an_adaptive_campaign_stops_as_soon_as_the_medians_are_known() {
    let adaptive = |most, precision| Campaign {
        limit: RunLimit::Adaptive(Adaptive { most, precision, ..TEN_MINUTES }),
        ..campaign(0, false)
    };
    // The scripted runs grow by a nanosecond each: 4 differ by less than 10 %, and no number of them by nothing.
    let outcome = carry_out(2, &adaptive(100, 0.1), &mut Scripted::default());
    assert_eq!((outcome.ending.finish, outcome.series[0].samples.len()), (Finish::Precise, 4));
    let outcome = carry_out(2, &adaptive(13, 0.0), &mut Scripted::default());
    assert_eq!((outcome.ending.finish, outcome.series[1].samples.len()), (Finish::MostRuns, 13));
    assert_eq!(outcome.progress.checkpoints, 4, "blocks of 4, 2, 3 and 4 rounds");
}

#[test]
fn without_time_an_adaptive_campaign_makes_the_least_runs() {
    let adaptive = Adaptive { least: 5, most: 100, ..Adaptive::default() };
    let campaign = Campaign { limit: RunLimit::Adaptive(adaptive), ..campaign(0, false) };
    let outcome = carry_out(1, &campaign, &mut Scripted::default());
    assert_eq!((outcome.ending.finish, outcome.series[0].samples.len()), (Finish::TimeSpent, 5));
}

#[test]
fn a_limit_ends_an_adaptive_campaign_before_the_least_runs() {
    let adaptive = Adaptive { least: 5, most: 100, limit: Some(Duration::ZERO), ..Adaptive::default() };
    let campaign = Campaign { limit: RunLimit::Adaptive(adaptive), ..campaign(0, false) };
    let outcome = carry_out(2, &campaign, &mut Scripted::default());
    assert_eq!((outcome.ending.finish, outcome.series[1].samples.len()), (Finish::TimeSpent, 1));
}

#[test]
fn a_tracer_that_fails_loses_no_samples_and_one_that_never_worked_is_an_error() {
    let hour = Duration::from_secs(3600);
    let limit = RunLimit::Adaptive(Adaptive { least: 2, most: 8, time: hour, ..Adaptive::default() });
    let mut runner = Scripted { broken_switch: Some(3), ..Scripted::default() };
    let outcome = carry_out(2, &Campaign { limit, ..campaign(0, true) }, &mut runner);
    assert_eq!(outcome.ending.broken.map(|error| error.to_string()).as_deref(), Some("no"));
    assert!(outcome.series.iter().all(|series| series.samples.len() == 2 && !series.untraced.is_empty()));
    assert!(!outcome.ending.interrupted && outcome.ending.given_up.is_empty());
    let mut runner = Scripted { broken_switch: Some(1), ..Scripted::default() };
    error(1, &campaign(8, true), &mut runner);
}

#[test]
fn a_time_that_is_up_ends_the_untraced_rounds_too() {
    let adaptive = Adaptive { least: 12, most: 100, ..Adaptive::default() };
    let campaign = Campaign { limit: RunLimit::Adaptive(adaptive), ..campaign(0, true) };
    let outcome = carry_out(1, &campaign, &mut Scripted::default());
    let series = &outcome.series[0];
    assert_eq!((series.samples.len(), series.untraced.len()), (12, 1), "the least, and one to compare with");
}

#[test]
fn a_machine_that_fails_is_not_blamed_on_a_program() {
    let failing =
        |run| Scripted { exceptions: vec![(1, run, Exception::NoDescriptor)], ..Scripted::default() };
    let mut at_once = failing(0);
    let error = error(2, &campaign(4, false), &mut at_once);
    assert!(error.starts_with("cannot get a pipe: ") && error.contains("\nhelp: "), "{error}");
    assert_eq!(at_once.runs[1], 1, "no other try would fare better");
    let outcome = carry_out(2, &campaign(4, false), &mut failing(WARMUP as usize + 2));
    assert!(outcome.ending.broken.unwrap().to_string().starts_with("cannot get a pipe: "));
    assert_eq!(outcome.series[1].samples.len(), 2, "what is finished is kept");
    assert!(outcome.ending.given_up.is_empty() && outcome.series[1].rejected.is_empty());
}

fn explained(runs: u32) -> Campaign {
    Campaign { aim: Aim::Explain, warmup: 1, ..campaign(runs, true) }
}

#[test]
fn a_time_that_is_up_leaves_the_least_runs_to_explain() {
    for limit in [RunLimit::RunsWithin(100, Duration::ZERO), RunLimit::Time(Duration::ZERO)] {
        let outcome = carry_out(1, &Campaign { limit, ..explained(0) }, &mut Scripted::default());
        assert_eq!(outcome.series[0].samples.len(), 3, "{limit:?}");
    }
    let within = Campaign { limit: RunLimit::RunsWithin(5, Duration::from_secs(3600)), ..explained(0) };
    assert_eq!(carry_out(1, &within, &mut Scripted::default()).series[0].samples.len(), 5);
}

#[test]
fn runs_with_many_events_are_fewer_but_never_those_that_were_asked_for() {
    let runs = |limit| {
        let mut runner = Scripted { events: MAX_EVENTS / 4, ..Scripted::default() };
        carry_out(1, &Campaign { limit, ..explained(0) }, &mut runner).series[0].samples.len()
    };
    assert_eq!(runs(RunLimit::RunsWithin(20, Duration::from_secs(3600))), 4);
    assert_eq!(runs(RunLimit::Time(Duration::from_secs(3600))), 4);
    assert_eq!(runs(RunLimit::Runs(20)), 20);
}

#[test]
fn explained_runs_begin_untraced_and_alternate_and_are_kept() {
    let mut runner = Scripted::default();
    let outcome = carry_out(1, &explained(6), &mut runner);
    let switches: Vec<_> = runner.log.iter().filter(|line| line.len() > 1).cloned().collect();
    assert_eq!(switches, ["attach", "detach", "attach"], "traced, untraced, untraced, traced");
    assert_eq!(runner.log[..2], ["0", "attach"]);
    let series = &outcome.series[0];
    let beside: Vec<_> = series.untraced.iter().map(|untraced| untraced.beside.clone()).collect();
    assert_eq!(beside, [0..3, 0..3, 0..3, 3..6, 3..6, 3..6]);
    let rounds: Vec<u32> = series.recordings.iter().map(|(round, _)| *round).collect();
    assert_eq!(rounds, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_loss_leaves_a_gap_among_explained_runs_and_is_not_repeated() {
    // the first run is untraced, the second one counts
    let mut runner = Scripted { exceptions: vec![(0, 1, Exception::Lost)], ..Scripted::default() };
    let campaign = Campaign { overhead: false, ..explained(1) };
    let outcome = carry_out(2, &campaign, &mut runner);
    assert_eq!(runner.runs, [2, 2]);
    assert_eq!((outcome.series[0].samples.len(), outcome.series[1].samples.len()), (0, 1));
    let reason = format!("3 events were lost ({})", Recording::HELP_FOR_LOST);
    assert_eq!(outcome.series[0].rejected[0].reason, reason);
    assert!(outcome.ending.given_up.is_empty());
}

#[test]
fn an_explained_run_that_fails_ends_the_campaign() {
    let failing = |exception| Scripted { exceptions: vec![(0, 2, exception)], ..Scripted::default() };
    let message = error(1, &explained(6), &mut failing(Exception::TimedOut));
    assert!(message.contains("it did not end in time and was killed\nhelp: give it more time"), "{message}");
    let message = error(1, &explained(6), &mut failing(Exception::NoDescriptor));
    assert!(message.starts_with("cannot get a pipe: "), "{message}");
    let outcome = carry_out(1, &explained(6), &mut failing(Exception::Interrupted));
    assert!(outcome.ending.interrupted && outcome.series[0].samples.len() <= 1);
}

#[test]
fn a_program_has_one_task_only_if_it_had_one_in_every_run() {
    let (campaign, mut all) = (campaign(2, false), series(1));
    let (mut runner, mut nobody) = (Scripted::default(), ());
    let mut state = State::new(&campaign, &mut all, &mut runner, &mut nobody);
    let mut sample = validity::sample(&recording(100), Accepted::Any).unwrap();
    for (threads, alone) in [(1, true), (2, false), (1, false)] {
        (sample.processes, sample.threads) = (1, threads);
        state.note_tasks(0, &sample);
        assert_eq!(state.alone[0], Some(alone), "{threads}");
    }
}
