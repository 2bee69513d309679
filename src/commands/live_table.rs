//! A table that is drawn again and again at the same place of a terminal.

use std::io::Write;
use std::time::{Duration, Instant};

/// How often it is drawn.
const SHOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LiveTable {
    /// The lines that are shown now.
    lines: usize,
    shown: Instant,
}

impl Default for LiveTable {
    fn default() -> LiveTable {
        LiveTable { lines: 0, shown: Instant::now() }
    }
}

impl LiveTable {
    pub(super) fn is_due(&self) -> bool {
        self.shown.elapsed() >= SHOW
    }

    /// Shows as much of the text as the terminal has room for.
    pub(super) fn show(&mut self, text: &str) {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        let room = size.map_or(24, |size| usize::from(size.ws_row)).saturating_sub(1);
        let lines: Vec<&str> = text.lines().take(room).collect();
        print(&frame(self.lines.min(room), &lines));
        (self.lines, self.shown) = (lines.len(), Instant::now());
    }

    /// Removes it, and a `^C` below.
    pub(super) fn clear(&mut self) {
        if self.lines > 0 {
            print(&(frame(self.lines, &[]) + "\x1b[J"));
            self.lines = 0;
        }
    }
}

/// What replaces the `before` lines above the cursor (`CUU` and `EL` in `console_codes(4)`).
///
/// A line is cleared before it is written: afterwards, some terminals would clear the last character of a full line. Lines
/// are cleared one at a time, because tmux keeps a screen that is cleared at once, and its history would fill with tables.
fn frame(before: usize, lines: &[&str]) -> String {
    let left = before.saturating_sub(lines.len());
    let written: Vec<String> = lines.iter().map(|line| format!("\x1b[2K{line}\n")).collect();
    up(before) + &written.concat() + &"\x1b[2K\n".repeat(left) + &up(left)
}

/// The terminal may have shown a `^C` where the cursor was, so it also goes to the first column.
fn up(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\r\x1b[{lines}A") }
}

/// A terminal that has gone away needs no table.
fn print(text: &str) {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_replaces_the_one_before_from_the_first_column_on() {
        assert_eq!(frame(0, &["a", "b"]), "\x1b[2Ka\n\x1b[2Kb\n");
        assert_eq!(frame(1, &["a", "b"]), "\r\x1b[1A\x1b[2Ka\n\x1b[2Kb\n");
        assert_eq!(frame(3, &["a"]), "\r\x1b[3A\x1b[2Ka\n\x1b[2K\n\x1b[2K\n\r\x1b[2A");
        assert_eq!(frame(1, &[]), "\r\x1b[1A\x1b[2K\n\r\x1b[1A");
        assert_eq!(frame(0, &[]), "");
    }
}
