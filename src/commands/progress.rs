//! What a person sees while it goes on: on stderr, and only where that is a terminal.

use crate::bench::{self, Series};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A bar with an estimate of the time left.
pub(super) struct Bar<'c> {
    bar: ProgressBar,
    checkpoint: &'c mut dyn FnMut(&[Series]),
}

/// A bar for `length` steps of a kind of work; silent where stderr is no terminal.
pub(super) fn bar(work: &'static str, length: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(8)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let template = "{prefix:>9} {wide_bar:.cyan/dim} {pos}/{len} {eta:>4} left {msg:<18!}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.set_prefix(work);
    bar
}

impl<'c> Bar<'c> {
    /// A bar for a campaign.
    pub(super) fn new(checkpoint: &'c mut dyn FnMut(&[Series])) -> Bar<'c> {
        Bar { bar: bar("measuring", 0), checkpoint }
    }

    /// Takes it off the screen.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl bench::Progress for Bar<'_> {
    fn planned(&mut self, runs: u64) {
        self.bar.set_length(runs);
        self.bar.reset();
        self.bar.enable_steady_tick(Duration::from_millis(500));
    }

    fn ran(&mut self, _name: &str) {
        // The bar draws at most eight times a second, and between runs only.
        self.bar.inc(1);
    }

    fn checkpoint(&mut self, series: &[Series]) {
        (self.checkpoint)(series);
    }
}
