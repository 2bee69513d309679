//! Files that a start-up uses, and paths that it looks for in vain.

use crate::analysis::{FileAccount, FileSearch, Summary};
use crate::output::visible;
use crate::report::text::terminal::{Terminal, truncated, truncated_front};
use crate::report::words::count_of;
use firstbyte_measure::units::{Bytes, Nanos};
use std::fmt::Write;

/// The maximum number of lines of each section. The rest becomes one line, and so does what costs little, beyond the first few.
const FILES: usize = 12;
const SEARCHES: usize = 8;
const MIN_ROWS: usize = 3;
/// Below this part of the total, the searches are not worth more than the first few.
const WORTH: f64 = 0.01;
/// What costs less than this part of the total shares a line.
const NOTEWORTHY: f64 = 0.001;
/// The maximum numbers of names and folders of a search, and the columns of a name and of a folder.
const NAMES: usize = 3;
const FOLDERS: usize = 2;
const NAME: usize = 24;
const FOLDER: usize = 32;

pub(super) fn files(summary: &Summary, terminal: &Terminal) -> String {
    let files = &summary.median_run.files;
    if files.is_empty() {
        return String::new();
    }
    let width = terminal.width.saturating_sub(46).max(14);
    let has_faults = summary.median_run.page_faults().is_some();
    let (shown, rest) = files.split_at(noteworthy(files.iter().map(|file| file.time), FILES, summary));

    let mut text = files_head(summary, terminal);
    for file in shown {
        text += &file_line(file, has_faults, &truncated_front(&file.path, width));
    }
    if !rest.is_empty() {
        text += &file_line(&sum(rest), has_faults, &count_of(rest.len(), "other", "others"));
    }
    text
}

fn files_head(summary: &Summary, terminal: &Terminal) -> String {
    let counts = &summary.median_run.counts;
    let title = format!(
        "Files: {} opened, {} failed opens, {} read",
        counts.files_opened,
        counts.failed_opens,
        Bytes(counts.bytes_read)
    );
    let columns = format!("{:>10}{:>7}{:>7}{:>11}{:>9}  path", "time", "opened", "failed", "read", "faults");
    format!("{}\n{columns}\n", terminal.bold(&title))
}

fn file_line(file: &FileAccount, has_faults: bool, path: &str) -> String {
    let (time, read) = (file.time.to_string(), Bytes(file.bytes_read).to_string());
    let faults = if has_faults { file.faults.to_string() } else { "-".to_owned() };
    format!("{time:>10}{:>7}{:>7}{read:>11}{faults:>9}  {path}\n", file.opened, file.failed)
}

/// How many of these, the most expensive first, have a line of their own. A single one that is left has one, too.
fn noteworthy(times: impl ExactSizeIterator<Item = Nanos>, most: usize, summary: &Summary) -> usize {
    let all = times.len();
    let least = NOTEWORTHY * summary.median_run.total.as_f64();
    let shown = times.take(most).take_while(|time| time.as_f64() >= least).count().max(MIN_ROWS.min(all));
    if all == shown + 1 { all } else { shown }
}

/// All of them as one, without a path.
fn sum(files: &[FileAccount]) -> FileAccount {
    let sum = |of: fn(&FileAccount) -> u64| files.iter().map(of).fold(0, u64::saturating_add);
    FileAccount {
        path: "".into(),
        opened: sum(|file| file.opened),
        failed: sum(|file| file.failed),
        calls: sum(|file| file.calls),
        bytes_read: sum(|file| file.bytes_read),
        faults: sum(|file| file.faults),
        major_faults: sum(|file| file.major_faults),
        time: Nanos(sum(|file| file.time.0)),
    }
}

/// Lookups that failed, folder by folder, until the file was found or given up.
pub(super) fn searches(summary: &Summary, terminal: &Terminal) -> String {
    let all = &summary.median_run.searches;
    if all.is_empty() {
        return String::new();
    }
    let misses = |searches: &[FileSearch]| searches.iter().map(|search| search.misses).sum::<u64>();
    let sum = |searches: &[FileSearch]| searches.iter().map(|search| search.time).sum::<Nanos>();
    let is_little = sum(all).as_f64() < WORTH * summary.median_run.total.as_f64();
    let most = if is_little { MIN_ROWS } else { SEARCHES };
    let (shown, rest) = all.split_at(noteworthy(all.iter().map(|row| row.time), most, summary));
    let title = format!("Searches: {} lookups of paths that do not exist, {}", misses(all), sum(all));

    let mut text = terminal.bold(&title) + &format!("\n{:>10}{:>7}  what\n", "time", "misses");
    for search in shown {
        let what = terminal.wrap(&format!("{:19}{}", "", visible(&search_text(search))), 21);
        let _ = writeln!(text, "{:>10}{:>7}  {}", search.time.to_string(), search.misses, what.trim_start());
    }
    if !rest.is_empty() {
        let others = count_of(rest.len(), "other", "others");
        let _ = writeln!(text, "{:>10}{:>7}  {others}", sum(rest).to_string(), misses(rest));
    }
    text
}

/// `libx.so: not in /a, /b; found in /c (ld.so)`.
fn search_text(search: &FileSearch) -> String {
    // cut rather than wrapped in the middle of a word
    let name = |name: &String| truncated(name, NAME);
    let folder = |folder: &String| truncated_front(folder, FOLDER);
    let first = search.names.iter().take(NAMES).map(name).collect::<Vec<String>>().join(", ");
    let names = match search.names.len().saturating_sub(NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    };

    let folders = search.folders.iter().take(FOLDERS).map(folder).collect::<Vec<String>>().join(", ");
    let more = match search.folders.len().saturating_sub(FOLDERS) {
        0 => String::new(),
        more => format!(" and {}", count_of(more, "more folder", "more folders")),
    };

    let found = match &search.found {
        Some(found) if search.folders.last() == Some(found) => "found there under another name".to_owned(),
        Some(found) => format!("found in {}", folder(found)),
        None => "not found".to_owned(),
    };
    format!("{names}: not in {folders}{more}; {found} ({})", search.by)
}
