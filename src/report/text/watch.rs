//! The results of `firstbyte watch` for a terminal: the sums, a row for each program, the findings.

use super::lists::list;
use super::terminal::{Terminal, columns, fitted, fitted_path};
use crate::document::watch::{WatchDocument, WatchPath, WatchProgram, WatchTimes, WatchTotals};
use crate::output::visible;
use crate::report::row::{UNKNOWN, percent, percents};
use crate::report::words::count_of;
use firstbyte_measure::tracer::Backend;
use firstbyte_measure::units::{Nanos, display_nanos};
use std::fmt::Write;

/// The largest number of rows, and of findings.
const MAX_PROGRAMS: usize = 30;
const MAX_FINDINGS: usize = 12;
const MAX_MARKS: usize = 12;

/// Names of programs have at least this much room.
const NARROWEST_NAME: usize = 16;
const WIDEST_NAME: usize = 40;

/// Caveats about the figures.
const BY_PTRACE: &str = "watched by ptrace: every fork, exec and exit was stopped and took longer than usual; \
                         first output, marks and the critical path are not known";

pub fn render(document: &WatchDocument, terminal: &Terminal) -> String {
    let findings = document.findings.iter().take(MAX_FINDINGS).map(|finding| finding.text.clone());
    let parts = [
        head(document, terminal),
        table(document, terminal),
        list("Marks", marks(document).into_iter(), terminal),
        list("Findings", findings, terminal),
        list("Notes", notes(document).into_iter(), terminal),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn head(document: &WatchDocument, terminal: &Terminal) -> String {
    let title = document.command.as_ref().unwrap_or(&document.scope);
    let title = terminal.wrap(&visible(title), 2);
    let lines: String = sums(document).iter().map(|line| terminal.wrap(line, 2) + "\n").collect();
    format!("{}\n{lines}", terminal.bold(&title))
}

/// The sums over all programs, in words; the first line is the time that was watched.
pub(crate) fn sums(document: &WatchDocument) -> Vec<String> {
    let WatchDocument { totals, wall_ns, .. } = document;
    let processors = totals.cpu_ns as f64 / (*wall_ns).max(1) as f64;
    let mut lines = vec![
        format!(
            "wall time {}, CPU time {} ({processors:.2} processors)",
            Nanos(*wall_ns),
            Nanos(totals.cpu_ns)
        ),
        format!(
            "{} of {} in {}, {}",
            counted(totals.execs, "exec", "execs"),
            counted(totals.programs, "program", "programs"),
            counted(totals.processes, "process", "processes"),
            counted(totals.failed, "failed exec", "failed execs")
        ),
        format!(
            "exec (execve to the first instruction of the program): {}, {} of the wall time",
            Nanos(totals.startup_ns),
            percent(share(totals.startup_ns, *wall_ns))
        ),
    ];
    lines.extend(totals.critical_path.map(|path| on_path(path, *wall_ns)));
    let traced = document.tool.backend.as_deref() == Some(Backend::Ptrace.name());
    lines.extend(traced.then(|| BY_PTRACE.to_owned()));
    lines
}

fn on_path(WatchPath { execs, startup_ns }: WatchPath, wall_ns: u64) -> String {
    format!(
        "exec time on the critical path: {} in {}, {} of the wall time",
        Nanos(startup_ns),
        counted(execs, "exec", "execs"),
        percent(share(startup_ns, wall_ns))
    )
}

fn counted(count: u64, one: &str, many: &str) -> String {
    count_of(usize::try_from(count).unwrap_or(usize::MAX), one, many)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A column: its heading of two lines, its width, and its cell.
struct Column {
    heading: [&'static str; 2],
    width: usize,
    cell: fn(&WatchProgram, &WatchDocument) -> String,
}

/// In the order of the table. Where there is no room for all, those of `LEAST` are left out, the first of it first.
static COLUMNS: [Column; 12] = [
    Column { heading: ["", "execs"], width: 7, cell: |program, _| program.execs.to_string() },
    Column { heading: ["", "failed"], width: 7, cell: |program, _| program.failed.to_string() },
    Column { heading: ["exec", "median"], width: 9, cell: |program, _| median(program.startup_ns.as_ref()) },
    Column { heading: ["", "p95"], width: 8, cell: |program, _| p95(program.startup_ns.as_ref()) },
    Column { heading: ["", "sum"], width: 8, cell: |program, _| sum(program.startup_ns.as_ref()) },
    Column { heading: ["% of", "wall"], width: 5, cell: of_wall },
    Column { heading: ["% of", "path"], width: 5, cell: of_path },
    Column {
        heading: ["1st output", "median"],
        width: 11,
        cell: |program, _| median(program.first_output_ns.as_ref()),
    },
    Column { heading: ["life", "median"], width: 8, cell: |program, _| median(program.lifetime_ns.as_ref()) },
    Column { heading: ["", "sum"], width: 8, cell: |program, _| sum(program.lifetime_ns.as_ref()) },
    Column { heading: ["CPU", "sum"], width: 8, cell: |program, _| Nanos(program.cpu_ns).to_string() },
    Column { heading: ["% of", "CPU"], width: 5, cell: of_cpu },
];

const LEAST: [usize; 9] = [9, 10, 1, 3, 7, 8, 11, 5, 6];

/// The columns that are left out if the critical path, or the first output, is not known.
const OF_PATH: usize = 6;
const FIRST_OUTPUT: usize = 7;

fn median(times: Option<&WatchTimes>) -> String {
    shown(times, |times| times.median)
}

fn p95(times: Option<&WatchTimes>) -> String {
    shown(times, |times| times.p95)
}

fn sum(times: Option<&WatchTimes>) -> String {
    shown(times, |times| times.sum)
}

fn shown(times: Option<&WatchTimes>, figure: fn(&WatchTimes) -> u64) -> String {
    times.map_or_else(|| UNKNOWN.to_owned(), |times| display_nanos(figure(times) as f64))
}

fn of_wall(program: &WatchProgram, document: &WatchDocument) -> String {
    let startup = program.startup_ns.as_ref().map_or(0, |times| times.sum);
    percents(share(startup, document.wall_ns))
}

fn of_path(program: &WatchProgram, document: &WatchDocument) -> String {
    let share = |path: WatchPath| percents(share(path.startup_ns, document.wall_ns));
    program.critical_path.map_or_else(|| UNKNOWN.to_owned(), share)
}

fn of_cpu(program: &WatchProgram, document: &WatchDocument) -> String {
    percents(share(program.cpu_ns, document.totals.cpu_ns))
}

fn table(document: &WatchDocument, terminal: &Terminal) -> String {
    let rows: Vec<&WatchProgram> = document.results.iter().filter(|program| program.execs > 0).collect();
    if rows.is_empty() {
        return "no program was executed\n".to_owned();
    }
    let chosen = columns_for(terminal.width, &unknown(document));
    let numbers: usize = chosen.iter().map(|column| column.width).sum();
    let widest = rows.iter().map(|row| columns(&visible(&row.program))).max().unwrap_or(0);
    let room = terminal.width.saturating_sub(numbers).clamp(NARROWEST_NAME, WIDEST_NAME);
    let width = widest.clamp("program".len(), room);

    let line = |name: &str, cells: &dyn Fn(&Column) -> String| {
        let mut line = if name.contains('/') { fitted_path(name, width) } else { fitted(name, width) };
        for column in &chosen {
            let _ = write!(line, "{:>1$}", cells(column), column.width);
        }
        line
    };
    let headings = [
        line("", &|column| column.heading[0].to_owned()),
        line("program", &|column| column.heading[1].to_owned()),
    ];
    let mut text = headings.map(|heading| terminal.bold(heading.trim_end()) + "\n").concat();
    for row in rows.iter().take(MAX_PROGRAMS) {
        text += &line(&row.program, &|column| (column.cell)(row, document));
        text.push('\n');
    }
    if let Some(more @ 1..) = rows.len().checked_sub(MAX_PROGRAMS) {
        let _ = writeln!(text, "… and {more} more: --export-json has them all");
    }
    text
}

/// A line for each mark, those with the largest sums of times first.
fn marks(document: &WatchDocument) -> Vec<String> {
    let mut all: Vec<(&String, &String, &WatchTimes)> = Vec::new();
    for program in &document.results {
        all.extend(program.marks.iter().map(|(mark, times)| (&program.program, mark, times)));
    }
    all.sort_by_key(|(.., times)| std::cmp::Reverse(times.sum)); // stable: equal ones stay in alphabetic order

    let line = |(program, mark, times): &(&String, &String, &WatchTimes)| {
        let WatchTimes { count, median, p95, .. } = times;
        let (median, p95, times) = (Nanos(*median), Nanos(*p95), counted(*count, "time", "times"));
        format!("{}: `{}` {median}, p95 {p95}, {times}", visible(program), visible(mark))
    };
    let more = all.len().saturating_sub(MAX_MARKS);
    let mut shown: Vec<String> = all.iter().take(MAX_MARKS).map(line).collect();
    shown.extend((more > 0).then(|| format!("… and {more} more: --export-json has them all")));
    shown
}

/// The columns without any figure.
fn unknown(document: &WatchDocument) -> Vec<usize> {
    let path = document.totals.critical_path.is_none().then_some(OF_PATH);
    path.into_iter().chain((!has_first_output(document)).then_some(FIRST_OUTPUT)).collect()
}

pub(crate) fn has_first_output(document: &WatchDocument) -> bool {
    document.results.iter().any(|program| program.first_output_ns.is_some())
}

/// As many columns as there is room for, without these.
fn columns_for(width: usize, unknown: &[usize]) -> Vec<&'static Column> {
    let mut indices: Vec<usize> = (0..COLUMNS.len()).filter(|index| !unknown.contains(index)).collect();
    for least in LEAST {
        let used: usize = indices.iter().map(|index| COLUMNS[*index].width).sum();
        if used + NARROWEST_NAME > width {
            indices.retain(|index| *index != least);
        }
    }
    indices.into_iter().map(|index| &COLUMNS[index]).collect()
}

/// Caveats about the figures.
pub(crate) fn notes(document: &WatchDocument) -> Vec<String> {
    let WatchDocument { totals, lost_events: lost, .. } = document;
    let WatchTotals { running, unlisted_execs, unlisted_command_lines, unlisted_runs, .. } = totals;
    let missed = document.results.iter().map(|program| program.unlisted_execs).max().unwrap_or(0);
    let if_any = |count: u64, text: String| (count > 0).then_some(text);
    let notes = [
        if_any(
            *lost,
            format!(
                "{} lost, so the counts are too low; --memory gives the buffer more room",
                counted(*lost, "event was", "events were")
            ),
        ),
        if_any(
            *running,
            format!(
                "{} not ended; those lifetimes and CPU times are not included",
                counted(*running, "process had", "processes had")
            ),
        ),
        if_any(
            *unlisted_execs,
            format!(
                "{} in the row `(other programs)`; --memory keeps more",
                counted(*unlisted_execs, "exec is", "execs are")
            ),
        ),
        if_any(
            missed,
            format!(
                "up to {} of a program can be in that row, because programs that were executed least often made room for others",
                counted(missed, "exec", "execs")
            ),
        ),
        if_any(
            *unlisted_command_lines,
            format!(
                "the command lines of {} were not kept; --memory keeps more",
                counted(*unlisted_command_lines, "exec", "execs")
            ),
        ),
        if_any(
            *unlisted_runs,
            format!(
                "{} missing in the timeline; --memory keeps more",
                counted(*unlisted_runs, "exec is", "execs are")
            ),
        ),
        if_any(u64::from(document.partial), "interrupted: this is what was seen until then".to_owned()),
        document.slow_calls.as_ref().map(|why| format!("every system call of the machine was slower: {why}")),
    ];
    notes.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::watch::WatchFinding;
    use crate::stats::LogHistogram;

    fn times(values: &[u64]) -> Option<WatchTimes> {
        let mut histogram = LogHistogram::default();
        for value in values {
            histogram.add(*value);
        }
        WatchTimes::of(&histogram)
    }

    fn program(name: &str, execs: u64, startup: &[u64]) -> WatchProgram {
        WatchProgram {
            program: name.to_owned(),
            path: format!("/bin/{name}"),
            execs,
            startup_ns: times(startup),
            lifetime_ns: times(&[4_000_000]),
            cpu_ns: 1_000_000,
            ..WatchProgram::default()
        }
    }

    fn document(results: Vec<WatchProgram>) -> WatchDocument {
        let finding = WatchFinding {
            rule: "repeated_command".to_owned(),
            subject: "git".to_owned(),
            count: 10,
            cost_ns: 5,
            text: "10 execs of `git`".to_owned(),
        };
        WatchDocument {
            command: Some("make -j4".to_owned()),
            wall_ns: 10_000_000,
            totals: WatchTotals {
                programs: results.len() as u64,
                execs: results.iter().map(|program| program.execs).sum(),
                startup_ns: 2_000_000,
                cpu_ns: 4_000_000,
                ..WatchTotals::default()
            },
            critical_path_unknown: Some("the machine is watched".to_owned()),
            findings: vec![finding],
            ..WatchDocument::of(results)
        }
    }

    #[test]
    fn a_row_has_the_figures_of_a_program() {
        let text = render(&document(vec![program("git", 2, &[500_000, 500_000])]), &Terminal::default());
        let row = text.lines().find(|line| line.starts_with("git")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            ["git", "2", "0", "500", "µs", "500", "µs", "1.00", "ms", "10", "4.00", "ms", "25"],
            "{text}"
        );
        assert!(
            text.starts_with("make -j4\nwall time 10.0 ms, CPU time 4.00 ms (0.40 processors)\n"),
            "{text}"
        );
        assert!(text.contains("\nFindings\n  10 execs of `git`\n"), "{text}");
        assert!(!text.contains("Notes"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let names = ["git", "/a/path/with/more/than/forty/letters/and/python", "日本語"];
        let results: Vec<WatchProgram> = names.map(|name| program(name, 1, &[1])).into();
        let mut document = document(results);
        document.lost_events = 3;
        document.totals.running = 1;
        for width in [40, 50, 60, 80, 100, 120, 200] {
            let text = render(&document, &Terminal { width, ..Terminal::default() });
            assert!(text.lines().all(|line| columns(line) <= width), "{width}\n{text}");
            assert!(text.contains("3 events were lost"), "{text}");
            assert!(text.contains("/python "), "the end of a path says more: {text}");
        }
    }

    #[test]
    fn a_wide_terminal_has_every_column_and_long_lists_are_cut() {
        assert_eq!(columns_for(200, &[]).len(), COLUMNS.len());
        assert!(columns_for(80, &[]).len() < COLUMNS.len());
        assert!(columns_for(200, &[OF_PATH]).iter().all(|column| column.heading != ["% of", "path"]));
        let results = (0..MAX_PROGRAMS + 2).map(|n| program(&format!("p{n}"), 1, &[1])).collect();
        let text = render(&document(results), &Terminal::default());
        assert!(text.contains("… and 2 more: "), "{text}");
    }

    #[test]
    fn nothing_executed_is_said() {
        let mut failed = program("none", 0, &[]);
        failed.failed = 3;
        assert!(render(&document(vec![failed]), &Terminal::default()).contains("no program was executed"));
    }
}
