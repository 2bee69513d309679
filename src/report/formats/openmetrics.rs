//! The counts of a watch for Prometheus: as `OpenMetrics`, or in the older text format that the node exporter's textfile collector
//! reads.
//!
//! The two differ in the names of counters and of `info` in the head of a metric, in its unit and in the end:
//! <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md> and
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use crate::document::exposition::{Buckets, Exposition, ProgramFigures};
use std::fmt::Write;

/// A dialect of the text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Version 1.0.0.
    OpenMetrics,
    /// Version 0.0.4 of Prometheus' own text format.
    Prometheus,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Metric {
    Counter,
    Histogram,
    Info,
}

/// Every metric, each with the values of all programs.
pub fn render(exposition: &Exposition, dialect: Dialect) -> String {
    let mut page = Page { text: String::new(), dialect };
    page.info(exposition);
    page.counter("execs", "", "Programs that were executed.", exposition, |f| f.execs.to_string());
    page.counter("failed_execs", "", "Execs that failed in the search for a program.", exposition, |f| {
        f.failed.to_string()
    });
    page.counter("cpu_seconds", "seconds", "CPU time of the programs that have ended.", exposition, |f| {
        seconds(f.cpu_ns)
    });
    page.histogram("startup_seconds", "From the entry of execve to its return.", exposition, |f| &f.startup);
    page.histogram(
        "first_output_seconds",
        "From the entry of execve to the first output.",
        exposition,
        |f| &f.first_output,
    );
    page.histogram("lifetime_seconds", "From the entry of execve to the end.", exposition, |f| &f.lifetime);
    page.marks(exposition);
    page.single("lost_events", "Events that could not be recorded.", exposition.lost_events);
    page.single("textfile_errors", "Times that the text file could not be written.", exposition.unwritten);
    page.end()
}

struct Page {
    text: String,
    dialect: Dialect,
}

impl Page {
    fn head(&mut self, name: &str, metric: Metric, unit: &str, help: &str) {
        let is_open = self.dialect == Dialect::OpenMetrics;
        let (suffix, kind) = match (metric, is_open) {
            (Metric::Histogram, _) => ("", "histogram"),
            (Metric::Counter, true) => ("", "counter"),
            (Metric::Counter, false) => ("_total", "counter"),
            (Metric::Info, true) => ("", "info"),
            (Metric::Info, false) => ("_info", "gauge"),
        };
        self.line(format_args!("# HELP firstbyte_{name}{suffix} {help}"));
        self.line(format_args!("# TYPE firstbyte_{name}{suffix} {kind}"));
        if is_open && !unit.is_empty() {
            self.line(format_args!("# UNIT firstbyte_{name}{suffix} {unit}"));
        }
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn info(&mut self, exposition: &Exposition) {
        self.head("watch", Metric::Info, "", "What counts, and which processes.");
        let (version, scope) = (exposition.version, escaped(&exposition.scope));
        self.line(format_args!("firstbyte_watch_info{{version=\"{version}\",scope=\"{scope}\"}} 1"));
    }

    fn single(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, Metric::Counter, "", help);
        self.line(format_args!("firstbyte_{name}_total {value}"));
    }

    fn counter(
        &mut self,
        name: &str,
        unit: &str,
        help: &str,
        exposition: &Exposition,
        value: impl Fn(&ProgramFigures) -> String,
    ) {
        self.head(name, Metric::Counter, unit, help);
        for (program, figures) in &exposition.programs {
            let (program, value) = (escaped(program), value(figures));
            self.line(format_args!("firstbyte_{name}_total{{program=\"{program}\"}} {value}"));
        }
    }

    /// A program without values has no series: `true` writes nothing.
    fn histogram<'e>(
        &mut self,
        name: &str,
        help: &str,
        exposition: &'e Exposition,
        buckets: impl Fn(&'e ProgramFigures) -> &'e Buckets,
    ) {
        self.head(name, Metric::Histogram, "seconds", help);
        for (program, figures) in &exposition.programs {
            let buckets = buckets(figures);
            if buckets.count() > 0 {
                self.buckets(name, &format!("program=\"{}\"", escaped(program)), buckets);
            }
        }
    }

    /// Without a mark there is nothing, not even the head: they are seen only if they are wanted.
    fn marks(&mut self, exposition: &Exposition) {
        let name = "mark_seconds";
        let all = exposition.programs.iter().flat_map(|(program, figures)| {
            figures.marks.iter().map(move |(mark, buckets)| (escaped(program), escaped(mark), buckets))
        });
        let mut all = all.filter(|(.., buckets)| buckets.count() > 0).peekable();
        if all.peek().is_some() {
            self.head(
                name,
                Metric::Histogram,
                "seconds",
                "The part that ends with this mark of the program.",
            );
        }
        for (program, mark, buckets) in all {
            self.buckets(name, &format!("program=\"{program}\",mark=\"{mark}\""), buckets);
        }
    }

    fn buckets(&mut self, name: &str, labels: &str, buckets: &Buckets) {
        let mut below = 0;
        let bounds = buckets.bounds.iter().map(|bound| seconds(*bound)).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&buckets.counts) {
            below += count;
            self.line(format_args!("firstbyte_{name}_bucket{{{labels},le=\"{bound}\"}} {below}"));
        }
        self.line(format_args!("firstbyte_{name}_count{{{labels}}} {below}"));
        self.line(format_args!("firstbyte_{name}_sum{{{labels}}} {}", seconds(buckets.sum)));
    }

    fn end(mut self) -> String {
        if self.dialect == Dialect::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// A value of a label: a backslash, a quote and a line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Exactly, and as a float is written in the specification: `1.0`, `0.00025`.
fn seconds(nanos: u64) -> String {
    let fraction = format!("{:09}", nanos % 1_000_000_000);
    let fraction = fraction.trim_end_matches('0');
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    format!("{}.{fraction}", nanos / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::exposition::{OTHER, STARTUP_BOUNDS};

    fn exposition() -> Exposition {
        let startup =
            Buckets { bounds: STARTUP_BOUNDS, counts: vec![1, 0, 2, 0, 0, 0, 4], sum: 1_500_000_000 };
        let figures =
            ProgramFigures { execs: 7, failed: 1, cpu_ns: 250_000, startup, ..ProgramFigures::default() };
        Exposition {
            version: "1.2.3",
            scope: "all".to_owned(),
            programs: vec![("a\"b\\c\nd".to_owned(), figures), (OTHER.to_owned(), ProgramFigures::default())],
            lost_events: 5,
            unwritten: 0,
        }
    }

    #[test]
    fn the_two_dialects_differ_in_their_heads_and_in_the_end() {
        let [open, older] = [Dialect::OpenMetrics, Dialect::Prometheus].map(|d| render(&exposition(), d));
        assert!(open.contains("# TYPE firstbyte_execs counter\n") && open.ends_with("\n# EOF\n"), "{open}");
        assert!(open.contains("# UNIT firstbyte_cpu_seconds seconds\n"), "{open}");
        assert!(
            older.contains("# TYPE firstbyte_execs_total counter\n") && !older.contains("# EOF"),
            "{older}"
        );
        let samples = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(samples(&open), samples(&older));
    }

    #[test]
    fn buckets_are_cumulative_and_labels_escaped() {
        let text = render(&exposition(), Dialect::OpenMetrics);
        let of_startup: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("firstbyte_startup_seconds_")).collect();
        let program = r#"program="a\"b\\c\nd""#;
        let bucket = |le: &str, count: u64| format!("bucket{{{program},le=\"{le}\"}} {count}");
        assert_eq!(
            of_startup,
            [
                bucket("0.00025", 1),
                bucket("0.0005", 1),
                bucket("0.001", 3),
                bucket("0.0025", 3),
                bucket("0.01", 3),
                bucket("0.1", 3),
                bucket("+Inf", 7),
                format!("count{{{program}}} 7"),
                format!("sum{{{program}}} 1.5"),
            ]
        );
        assert!(text.contains("firstbyte_cpu_seconds_total{program=\"other\"} 0.0\n"), "{text}");
        assert!(text.contains("firstbyte_lost_events_total 5\n"), "{text}");
    }

    #[test]
    fn seconds_are_exact() {
        let texts = [0, 1, 250_000, 1_000_000_000, 100_000_000_000, 1_234_567_891].map(seconds);
        assert_eq!(texts, ["0.0", "0.000000001", "0.00025", "1.0", "100.0", "1.234567891"]);
    }
}
