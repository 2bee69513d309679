//! What a person sees while it goes on: on stderr, and only where that is a terminal.

use crate::bench::{self, Series};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// A bar with an estimate of the time left.
pub(super) struct Bar<'c> {
    shown: ProgressBar,
    checkpoint: &'c mut dyn FnMut(&[Series]),
    estimated: Instant,
    /// The warm-up is over, and the length is known.
    planned: bool,
}

const MEASURING: &str = "{prefix:>9} {wide_bar:.cyan/dim} {pos}/{len} {eta:>4} left {msg:<18!}";

/// The estimate that is shown is of one program, then of another.
const ESTIMATE_EVERY: Duration = Duration::from_millis(500);

/// A bar for `length` steps of a kind of work; silent where stderr is no terminal.
pub(super) fn bar(work: &'static str, length: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(8)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    set_template(&bar, MEASURING);
    bar.set_prefix(work);
    bar
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
}

impl<'c> Bar<'c> {
    /// A bar for a campaign.
    pub(super) fn new(checkpoint: &'c mut dyn FnMut(&[Series])) -> Bar<'c> {
        let shown = bar("measuring", 0);
        // How many runs there will be is known when these have shown how long one takes.
        set_template(&shown, "  warm-up {pos} runs {msg:<18!}");
        Bar { shown, checkpoint, estimated: Instant::now(), planned: false }
    }

    /// Takes it off the screen.
    pub(super) fn finish(&self) {
        self.shown.finish_and_clear();
    }
}

impl bench::Progress for Bar<'_> {
    fn planned(&mut self, runs: u64) {
        self.shown.reset();
        self.shown.set_length(runs);
        set_template(&self.shown, MEASURING);
        self.planned = true;
        self.shown.enable_steady_tick(Duration::from_millis(500));
    }

    fn ran(&mut self, _name: &str) {
        // The bar draws at most eight times a second, and between runs only.
        self.shown.inc(1);
        // Runs that did not count are made again: more than were planned.
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
        (self.checkpoint)(series);
    }
}
