//! The metrics that `bench --metrics` chooses from: their names, which are hyperfine 2's where it has the metric, and their
//! units.

use firstbyte_measure::timeline::Phase;
use std::str::FromStr;

/// What a metric is measured in. Its values are nanoseconds, bytes, counts or percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    Time,
    Memory,
    Count,
    /// A part of the total, in percent.
    Share,
}

/// Where the values of a metric are in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Wall time of each run.
    Wall,
    /// User and system time of each run.
    Cpu,
    /// User code, and the rest of it.
    User,
    System,
    /// User and system time of all processes, those that nobody waited for, too.
    Burnt,
    /// Peak resident set size of each run.
    Memory,
    /// Context switches of each run.
    Switches,
    FirstByte,
    Total,
    Phase(Phase),
    /// The part of each run's total that a phase takes.
    Share(Phase),
    /// The region between two texts.
    Region,
    /// What `strace -f` prints a line for: each system call, and each thread's end.
    StraceLines,
    /// The counting runs, by the name in `counts`.
    Counted(&'static str),
    /// The processor, in runs of their own, by the name in `counts`.
    Processor(&'static str),
    /// Nowhere: hyperfine counts it, firstbyte does not.
    Nowhere,
}

/// One line of [`METRICS`].
#[derive(Debug, PartialEq, Eq)]
pub struct MetricEntry {
    pub name: &'static str,
    pub dimension: Dimension,
    pub source: Source,
}

/// Every metric: hyperfine 2's in its order, then ours.
pub static METRICS: [MetricEntry; 38] = [
    metric("time_wall_clock", Dimension::Time, Source::Wall),
    metric("time_cpu", Dimension::Time, Source::Cpu),
    metric("time_user", Dimension::Time, Source::User),
    metric("time_system", Dimension::Time, Source::System),
    metric("memory_peak_resident", Dimension::Memory, Source::Memory),
    metric("cpu_cycles", Dimension::Count, Source::Processor("cycles")),
    metric("instructions", Dimension::Count, Source::Processor("instructions")),
    metric("cache_references", Dimension::Count, Source::Nowhere),
    metric("cache_misses", Dimension::Count, Source::Processor("cache_misses")),
    metric("branch_misses", Dimension::Count, Source::Processor("branch_misses")),
    metric("first_byte", Dimension::Time, Source::FirstByte),
    metric("total", Dimension::Time, Source::Total),
    metric("startup", Dimension::Time, Source::Phase(Phase::Startup)),
    metric("setup", Dimension::Time, Source::Phase(Phase::Setup)),
    metric("write", Dimension::Time, Source::Phase(Phase::Write)),
    metric("teardown", Dimension::Time, Source::Phase(Phase::Teardown)),
    metric("startup_share", Dimension::Share, Source::Share(Phase::Startup)),
    metric("setup_share", Dimension::Share, Source::Share(Phase::Setup)),
    metric("write_share", Dimension::Share, Source::Share(Phase::Write)),
    metric("teardown_share", Dimension::Share, Source::Share(Phase::Teardown)),
    metric("region", Dimension::Time, Source::Region),
    metric("time_burnt", Dimension::Time, Source::Burnt),
    metric("strace_lines", Dimension::Count, Source::StraceLines),
    metric("processes", Dimension::Count, Source::Counted("processes")),
    metric("threads", Dimension::Count, Source::Counted("threads")),
    metric("execs", Dimension::Count, Source::Counted("execs")),
    metric("syscalls", Dimension::Count, Source::Counted("syscalls")),
    metric("context_switches", Dimension::Count, Source::Switches),
    metric("page_faults", Dimension::Count, Source::Counted("page_faults")),
    metric("major_faults", Dimension::Count, Source::Counted("major_faults")),
    metric("files_opened", Dimension::Count, Source::Counted("files_opened")),
    metric("failed_opens", Dimension::Count, Source::Counted("failed_opens")),
    metric("bytes_read", Dimension::Memory, Source::Counted("bytes_read")),
    metric("writes", Dimension::Count, Source::Counted("writes")),
    metric("cpu_cycles_kernel", Dimension::Count, Source::Processor("cycles_kernel")),
    metric("instructions_kernel", Dimension::Count, Source::Processor("instructions_kernel")),
    metric("cache_misses_kernel", Dimension::Count, Source::Processor("cache_misses_kernel")),
    metric("branch_misses_kernel", Dimension::Count, Source::Processor("branch_misses_kernel")),
];

const fn metric(name: &'static str, dimension: Dimension, source: Source) -> MetricEntry {
    MetricEntry { name, dimension, source }
}

/// A unit that a user may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub symbol: &'static str,
    /// How many nanoseconds, bytes or events it is.
    pub size: f64,
}

const fn unit(symbol: &'static str, size: f64) -> Unit {
    Unit { symbol, size }
}

static TIMES: [Unit; 6] =
    [unit("ns", 1.0), unit("µs", 1e3), unit("ms", 1e6), unit("s", 1e9), unit("min", 60e9), unit("h", 3600e9)];

static SIZES: [Unit; 9] = [
    unit("B", 1.0),
    unit("kB", 1e3),
    unit("MB", 1e6),
    unit("GB", 1e9),
    unit("TB", 1e12),
    unit("KiB", 1024.0),
    unit("MiB", 1_048_576.0),
    unit("GiB", 1_073_741_824.0),
    unit("TiB", 1_099_511_627_776.0),
];

static SHARES: [Unit; 1] = [unit("%", 1.0)];

static COUNTS: [Unit; 4] = [unit("count", 1.0), unit("k", 1e3), unit("M", 1e6), unit("B", 1e9)];

impl Dimension {
    /// hyperfine's units, and its symbols for them.
    fn units(self) -> &'static [Unit] {
        match self {
            Dimension::Time => &TIMES,
            Dimension::Memory => &SIZES,
            Dimension::Count => &COUNTS,
            Dimension::Share => &SHARES,
        }
    }

    /// The unit in CSV where none was asked for: seconds, bytes, counts, percent.
    pub fn base(self) -> Unit {
        match self {
            Dimension::Time => TIMES[3],
            Dimension::Memory => SIZES[0],
            Dimension::Count => COUNTS[0],
            Dimension::Share => SHARES[0],
        }
    }
}

/// A metric that is to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selected {
    pub metric: &'static MetricEntry,
    /// `None`: the unit that fits.
    pub unit: Option<Unit>,
}

/// The metrics that are to be shown, in this order. Empty: the usual ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    pub metrics: Vec<Selected>,
    /// Metrics that no program has are left out.
    pub only_known: bool,
}

impl Selection {
    fn preset(wanted: impl Fn(&MetricEntry) -> bool) -> Selection {
        let metrics = METRICS.iter().filter(|metric| wanted(metric));
        let metrics = metrics.map(|metric| Selected { metric, unit: None }).collect();
        Selection { metrics, only_known: true }
    }

    fn listed(list: &str) -> Result<Selection, String> {
        let mut metrics: Vec<Selected> = Vec::new();
        for item in list.split(',') {
            let selected = Selected::parse(item)?;
            let name = selected.metric.name;
            if metrics.iter().any(|earlier| earlier.metric == selected.metric) {
                return Err(format!("the metric `{name}` is given twice\nhelp: name it once"));
            }
            metrics.push(selected);
        }
        Ok(Selection { metrics, only_known: false })
    }
}

/// What Hello World Overdone compares languages by.
const OVERDONE: &str = "strace_lines,processes,setup_share,teardown_share";

/// `default`, `time`, `all`, `overdone`, or a list such as `time_wall_clock:ms,syscalls`.
impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Selection, String> {
        match text {
            "default" => Ok(Selection::default()),
            "time" => Ok(Selection::preset(|metric| metric.dimension == Dimension::Time)),
            "all" => Ok(Selection::preset(|_| true)),
            "overdone" => Selection::listed(OVERDONE),
            list => Selection::listed(list),
        }
    }
}

impl Selected {
    fn parse(item: &str) -> Result<Selected, String> {
        let (name, unit) = item.split_once(':').map_or((item, None), |(name, unit)| (name, Some(unit)));
        let metric = METRICS.iter().find(|metric| metric.name == name).ok_or_else(|| unknown(name))?;
        let unit = unit.map(|symbol| metric.unit(symbol)).transpose()?;
        Ok(Selected { metric, unit })
    }
}

impl MetricEntry {
    fn unit(&self, symbol: &str) -> Result<Unit, String> {
        let symbol = if symbol == "us" { "µs" } else { symbol };
        let units = self.dimension.units();
        units.iter().find(|unit| unit.symbol == symbol).copied().ok_or_else(|| {
            let all: Vec<&str> = units.iter().map(|unit| unit.symbol).collect();
            format!("`{symbol}` is not a unit of `{}`\nhelp: use one of {}", self.name, all.join(", "))
        })
    }
}

fn unknown(name: &str) -> String {
    if ["default", "time", "all", "overdone"].contains(&name) {
        return format!(
            "`{name}` is a preset, which is used alone\nhelp: --metrics {name}, or a list of metrics"
        );
    }
    let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    format!(
        "there is no metric `{name}`\nhelp: use default, time, all, overdone, or some of {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::median_counts::MedianCounts;

    fn names(text: &str) -> Vec<&'static str> {
        let selection: Selection = text.parse().unwrap();
        selection.metrics.iter().map(|selected| selected.metric.name).collect()
    }

    #[test]
    fn hyperfines_lists_and_presets_are_understood() {
        assert_eq!(names("default"), [""; 0]);
        assert_eq!(names("syscalls,time_wall_clock:us"), ["syscalls", "time_wall_clock"]);
        assert_eq!(names("time")[..4], ["time_wall_clock", "time_cpu", "time_user", "time_system"]);
        assert_eq!(names("all").len(), METRICS.len());
        assert_eq!(names("overdone"), ["strace_lines", "processes", "setup_share", "teardown_share"]);

        let selection: Selection = "memory_peak_resident:MiB,cpu_cycles:B,total:us".parse().unwrap();
        let symbols = selection.metrics.iter().map(|selected| selected.unit.unwrap().symbol);
        assert_eq!(symbols.collect::<Vec<_>>(), ["MiB", "B", "µs"]);
    }

    #[test]
    fn an_unknown_name_an_unknown_unit_and_a_repetition_are_errors_that_help() {
        for (text, help) in [
            ("speed", "branch_misses"),
            ("", "time_wall_clock"),
            ("memory_peak_resident:ms", "KiB"),
            ("total,total:ms", "once"),
            ("time,all", "--metrics time"),
        ] {
            let error = text.parse::<Selection>().unwrap_err();
            assert!(error.contains("\nhelp: ") && error.contains(help), "{text}: {error}");
        }
    }

    #[test]
    fn every_counted_metric_is_in_the_document() {
        let one = Some(1);
        let counts = MedianCounts {
            processes: one,
            threads: one,
            execs: one,
            syscalls: one,
            page_faults: one,
            major_faults: one,
            files_opened: one,
            failed_opens: one,
            bytes_read: one,
            writes: one,
            max_rss: one,
            instructions: one,
            instructions_kernel: one,
            cycles: one,
            cycles_kernel: one,
            branch_misses: one,
            branch_misses_kernel: one,
            cache_misses: one,
            cache_misses_kernel: one,
        };
        for metric in &METRICS {
            if let Source::Counted(name) | Source::Processor(name) = metric.source {
                assert!(counts.known().iter().any(|(known, _)| *known == name), "{name}");
            }
        }
    }
}
