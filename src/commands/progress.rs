//! Progress bars, on stderr and only if it is a terminal.

use crate::bench::{self, Series};
use crate::cli::style::Style;
use crate::corpus::PrepareStep;
use crate::tracing::{Stage, TraceProgress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The bars of an experiment: one for the timed runs, with an estimate of the time left, one for the counting runs.
pub(super) struct ExperimentBar<'c> {
    shown: ProgressBar,
    counting: Option<ProgressBar>,
    checkpoint: Option<Checkpoint<'c>>,
    estimated: Instant,
    /// The warm-up is over, and the length is known.
    planned: bool,
    colours: bool,
}

/// Saves the results that would be lost if the process died now.
type Checkpoint<'c> = &'c mut dyn FnMut(&[Series]);

const MEASURING: &str = "{prefix:>9} {wide_bar:.cyan/dim} {pos}/{len} {elapsed:>3}, {eta:>4} left {msg:<18!}";

/// The number of runs is known after the warm-up, which shows how long one takes. Until then, also in a first run that takes
/// long, the time goes on.
const WARMING_UP: &str = "  warm-up {pos} runs {elapsed:>3} {msg:<18!}";

/// How often the bar shows the estimate of another program.
const ESTIMATE_EVERY: Duration = Duration::from_millis(500);

/// A bar for `length` steps of a kind of work. It is not shown if stderr is not a terminal.
pub(super) fn bar(work: &'static str, length: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(8)
    } else {
        ProgressDrawTarget::hidden()
    };
    // `set_prefix` would draw a bar that has not begun, above another one
    let bar = ProgressBar::with_draw_target(Some(length), target).with_prefix(work);
    set_template(&bar, MEASURING);
    bar
}

/// A bar for work of unknown length. It disappears when it is dropped.
pub(super) struct Spinner(ProgressBar);

impl Spinner {
    pub(super) fn new(work: &'static str) -> Spinner {
        let shown = bar(work, 0);
        set_template(&shown, "{prefix:>9} {spinner}");
        keep_moving(&shown, Duration::from_millis(125));
        Spinner(shown)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl bench::Progress for Spinner {}

/// The bars of a trace: one for each stage.
pub(super) struct TraceBars;

impl TraceProgress for TraceBars {
    fn begin(&mut self, stage: Stage) -> Box<dyn bench::Progress> {
        match stage {
            Stage::Tracing => Box::new(ExperimentBar::of("tracing", None)),
            Stage::Sampling => Box::new(ExperimentBar::of("sampling", None)),
            Stage::Counting => Box::new(Spinner::new("counting")),
            Stage::Asking => Box::new(Spinner::new("asking")),
            Stage::Calibrating => Box::new(Spinner::new("calibrating")),
        }
    }
}

/// The bar of programs that are being built.
pub(super) struct Building(ProgressBar);

impl Building {
    pub(super) fn new() -> Building {
        Building(bar("building", 0))
    }

    pub(super) fn step(&self, step: &PrepareStep) {
        match step {
            PrepareStep::Planned(0) => {}
            PrepareStep::Planned(programs) => {
                self.0.set_length(*programs as u64);
                self.0.reset();
                keep_moving(&self.0, Duration::from_millis(500));
            }
            PrepareStep::Started(name) => self.0.set_message((*name).to_owned()),
            PrepareStep::Finished(_) => self.0.inc(1),
        }
        if self.0.length() == Some(self.0.position()) {
            self.0.finish_and_clear();
        }
    }
}

/// After an interruption the last step may be missing.
impl Drop for Building {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Draws the bar again and again, on a thread of its own. indicatif would create it for a hidden bar, too, and would panic
/// where no thread can be created.
fn keep_moving(bar: &ProgressBar, every: Duration) {
    if !bar.is_hidden() && std::thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(every);
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
}

impl<'c> ExperimentBar<'c> {
    pub(super) fn new(checkpoint: Option<Checkpoint<'c>>) -> ExperimentBar<'c> {
        ExperimentBar::of("measuring", checkpoint)
    }

    /// The bar of runs that are made for something else than their times.
    pub(super) fn of(work: &'static str, checkpoint: Option<Checkpoint<'c>>) -> ExperimentBar<'c> {
        let shown = bar(work, 0);
        let estimated = Instant::now();
        ExperimentBar { shown, counting: None, checkpoint, estimated, planned: false, colours: true }
    }

    /// The bar in this style.
    pub(super) fn styled(mut self, style: Style) -> ExperimentBar<'c> {
        self.colours = style.colours != Some(false);
        if !style.progress {
            self.shown.set_draw_target(ProgressDrawTarget::hidden());
        }
        self
    }

    fn set_template(&self, template: &str) {
        let template = if self.colours { template.to_owned() } else { template.replace(":.cyan/dim", "") };
        set_template(&self.shown, &template);
    }
}

/// After an error no event says that the experiment has ended.
impl Drop for ExperimentBar<'_> {
    fn drop(&mut self) {
        bench::Progress::ended(self);
    }
}

impl bench::Progress for ExperimentBar<'_> {
    fn began(&mut self) {
        self.planned = false;
        self.set_template(WARMING_UP);
        self.shown.reset();
        self.shown.set_length(0);
        keep_moving(&self.shown, Duration::from_millis(500));
    }

    fn planned(&mut self, runs: u64) {
        // each step draws the bar: before its length is known, it has no place for it
        self.shown.set_length(runs);
        self.set_template(MEASURING);
        self.shown.reset();
        self.planned = true;
        keep_moving(&self.shown, Duration::from_millis(500));
    }

    fn ran(&mut self, _name: &str) {
        // The bar is drawn at most eight times a second, and only between runs.
        self.shown.inc(1);
        // Runs that did not count are repeated, so there may be more than were planned.
        if self.planned && Some(self.shown.position()) > self.shown.length() {
            self.shown.inc_length(1);
        }
    }

    fn sampled(&mut self, series: &Series) {
        if self.estimated.elapsed() < ESTIMATE_EVERY {
            return;
        }
        self.estimated = Instant::now();
        let mut totals: Vec<_> = series.samples.iter().map(|sample| sample.total).collect();
        let middle = totals.len() / 2;
        let (_, median, _) = totals.select_nth_unstable(middle);
        self.shown.set_message(format!("{median} {}", series.name));
    }

    fn checkpoint(&mut self, series: &[Series]) {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint(series);
        }
    }

    fn counting(&mut self, programs: usize) {
        self.shown.finish_and_clear();
        let counting = bar("counting", programs as u64);
        if self.shown.is_hidden() {
            counting.set_draw_target(ProgressDrawTarget::hidden());
        }
        self.counting = Some(counting);
    }

    fn counted(&mut self) {
        self.counting.iter().for_each(|bar| bar.inc(1));
    }

    fn ended(&mut self) {
        self.shown.finish_and_clear();
        self.counting.take().iter().for_each(ProgressBar::finish_and_clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Progress as _;
    use indicatif::TermLike;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// Keeps all that is drawn.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_has_a_length_whenever_it_is_drawn() {
        let screen = Screen::default();
        let target = || ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255);
        let mut bar = ExperimentBar::new(None);
        bar.shown.set_draw_target(target());
        bar.began();
        bar.ran("a");
        bar.planned(7);
        bar.ran("a");
        bar.ended();
        let building = Building::new();
        building.0.set_draw_target(target());
        building.step(&PrepareStep::Planned(0));
        building.step(&PrepareStep::Planned(3));
        drop(building);
        let drawn = screen.0.lock().unwrap().clone();
        assert!(["warm-up 0 runs", " 0/7 ", " 0/3 "].iter().all(|part| drawn.contains(part)), "{drawn}");
        assert!(!drawn.contains("0/0"), "{drawn}");
    }
}
