//! What language runtimes themselves report of their loads.

use super::{Load, decimal, shells};
use crate::analysis::Account;
use crate::analysis::binaries::FileBinaries;
use crate::analysis::runs::AskedRuntime;
use crate::analysis::user_code::is_loader;
use firstbyte_measure::sampler::has_readable_frames;
use firstbyte_measure::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// The runtime whose classes these are. They are not inside the phases that [`AskedRuntime::Java`] reports.
pub const JAVA_CLASSES: &str = "Java classes";

/// Those that the program loads by a class loader of its own, from files that are not on the class path. No archive that is made
/// when a program exits contains them.
pub const JAVA_OWN_CLASSES: &str = "Java classes of own loaders";

/// What a class-data archive saves of them, by the virtual machine's own counters: to find and to parse classes, and to
/// verify their code.
const ARCHIVE_SAVES: [&str; 4] = [
    "sun.cls.appClassLoadTime.self",
    "sun.cls.classVerifyTime.self",
    "sun.cls.defineAppClassTime.self",
    "sun.cls.sysClassLoadTime",
];

/// Where an archived class comes from.
pub const ARCHIVE: &str = "shared objects";

/// A class is loaded in less. If more time passes until the next one, the program did something else.
const MAX_CLASS_TIME: Nanos = Nanos(1_000_000);

/// The runtimes of which a run executes one program. The reports of several would be mixed.
pub(in crate::analysis) fn runtimes(account: &Account, binaries: &FileBinaries) -> Vec<AskedRuntime> {
    let mut found: BTreeMap<AskedRuntime, usize> = BTreeMap::new();
    for exec in account.processes.iter().flat_map(|process| &process.execs) {
        if let Some(runtime) = runtime(&exec.executed, binaries) {
            *found.entry(runtime).or_default() += 1;
        }
    }
    found.into_iter().filter(|(_, programs)| *programs == 1).map(|(runtime, _)| runtime).collect()
}

/// The interpreters in it that execute programs whose frames can be read.
pub(in crate::analysis) fn interpreters(account: &Account) -> BTreeSet<&str> {
    let execs = account.processes.iter().flat_map(|process| &process.execs);
    let files = execs.flat_map(|exec| {
        // the dynamic loader may be started with a program
        let words = exec.argv.iter().skip(1).filter(|_| is_loader(&exec.executed));
        std::iter::once(&*exec.executed).chain(words.map(|word| &**word))
    });
    files.filter(|path| has_readable_frames(path.rsplit('/').next().unwrap_or_default())).collect()
}

fn runtime(path: &str, binaries: &FileBinaries) -> Option<AskedRuntime> {
    let name = path.rsplit('/').next().unwrap_or_default();
    // python3.11, ruby3.1, perl5.36.0
    match name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-')) {
        "python" | "pypy" => Some(AskedRuntime::Python),
        "node" | "nodejs" => Some(AskedRuntime::Node),
        "java" | "javac" | "jar" | "jshell" | "javap" => Some(AskedRuntime::Java),
        "ruby" => Some(AskedRuntime::Ruby),
        "perl" => Some(AskedRuntime::Perl),
        "bash" => Some(AskedRuntime::Bash),
        "zsh" => Some(AskedRuntime::Zsh),
        _ => binaries.is_go(path).then_some(AskedRuntime::Go),
    }
}

/// The loads in a report, each followed by those that it brought in.
pub(super) fn loads(runtime: AskedRuntime, text: &str) -> Vec<Load> {
    match runtime {
        AskedRuntime::Python => python(text),
        AskedRuntime::Go => text.lines().filter_map(go).collect(),
        AskedRuntime::Java => java(text),
        AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl => hooked(runtime.name(), text),
        AskedRuntime::Bash => shells::bash(text),
        AskedRuntime::Zsh => shells::zsh(text),
    }
}

/// Whether several threads import at once. Python keeps one tree for all of them, and takes what one imports off the own time of
/// what another one imports: such times can be negative.
pub(in crate::analysis) fn mixes_threads(runtime: AskedRuntime, text: &str) -> bool {
    let own = |line: &str| line.strip_prefix("import time:")?.split('|').next()?.trim().parse::<i64>().ok();
    runtime == AskedRuntime::Python && text.lines().filter_map(own).any(|time| time < 0)
}

/// The number of lines that look like a part of a runtime's report, and cannot be read.
pub(in crate::analysis) fn misread(runtime: AskedRuntime, text: &str) -> usize {
    let is_misread: fn(&str) -> bool = match runtime {
        AskedRuntime::Python => |line| {
            let is_row = line.starts_with("import time:") && !line.contains("| imported package");
            is_row && python_line(line).is_none()
        },
        AskedRuntime::Go => |line| line.starts_with("init ") && go(line).is_none(),
        AskedRuntime::Java => |line| {
            line.contains("[startuptime") && java_phase(line).is_none()
                || line.contains("[class,load") && line.contains(" source: ") && java_class(line).is_none()
        },
        AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl => {
            |line| hooked_line("", line).is_none()
        }
        AskedRuntime::Zsh => return shells::zsh_misread(text),
        // a command may have several lines, with anything in them
        AskedRuntime::Bash => return 0,
    };
    text.lines().filter(|line| is_misread(line)).count()
}

/// `import time:      148 |        201 |     encodings`: own and cumulative microseconds. A module stands after those that it
/// imports, which are indented by two more spaces.
fn python(text: &str) -> Vec<Load> {
    let mut trees: Vec<(u32, Vec<Load>)> = Vec::new();
    for line in text.lines() {
        let Some(load) = python_line(line) else { continue };
        let inside = trees.iter().rposition(|(depth, _)| *depth <= load.depth).map_or(0, |at| at + 1);
        let inside = trees.split_off(inside).into_iter().flat_map(|(_, loads)| loads);
        trees.push((load.depth, std::iter::once(load).chain(inside).collect()));
    }
    trees.into_iter().flat_map(|(_, loads)| loads).collect()
}

fn python_line(line: &str) -> Option<Load> {
    let mut fields = line.strip_prefix("import time:")?.splitn(3, '|');
    let mut time = || Some(Nanos(fields.next()?.trim().parse::<u64>().ok()?.saturating_mul(1000)));
    let (self_time, total) = (time()?, time()?);
    let name = fields.next()?;
    let spaces = name.len() - name.trim_start().len();
    let depth = u32::try_from(spaces.saturating_sub(1) / 2).ok()?;
    Some(Load {
        runtime: AskedRuntime::Python.name(),
        unit: name.trim().to_owned(),
        file: None,
        self_time,
        total,
        depth,
    })
}

/// `init os @0.25 ms, 0.003 ms clock, 2776 bytes, 4 allocs`.
fn go(line: &str) -> Option<Load> {
    let (unit, rest) = line.strip_prefix("init ")?.split_once(" @")?;
    let clock = rest.split(", ").find_map(|part| part.strip_suffix(" ms clock"))?;
    let time = Nanos::rounded(decimal(clock)? * 1e6);
    Some(Load {
        runtime: AskedRuntime::Go.name(),
        unit: unit.to_owned(),
        file: None,
        self_time: time,
        total: time,
        depth: 0,
    })
}

/// `depth`, nanoseconds, name and file, with tabs between them: the form of our own hooks. Without a time, the program has
/// exited within the load. Then the load is a part of the program, and those inside it are the program's loads.
fn hooked(runtime: &'static str, text: &str) -> Vec<Load> {
    let (mut loads, mut parts): (Vec<Load>, u32) = (Vec::new(), 0);
    // the places of the loads around the next one
    let mut around: Vec<usize> = Vec::new();
    for (load, has_ended) in text.lines().filter_map(|line| hooked_line(runtime, line)) {
        if !has_ended {
            parts += 1;
            continue;
        }
        // a load is in one that was listed, whatever a program writes into its report
        around.truncate(load.depth.saturating_sub(parts) as usize);
        if let Some(parent) = around.last() {
            let parent: &mut Load = &mut loads[*parent];
            parent.self_time = Nanos(parent.self_time.0.saturating_sub(load.total.0));
        }
        around.push(loads.len());
        let depth = u32::try_from(around.len() - 1).unwrap_or(u32::MAX);
        loads.push(Load { depth, ..load });
    }
    loads
}

fn hooked_line(runtime: &'static str, line: &str) -> Option<(Load, bool)> {
    let mut fields = line.split('\t');
    let depth = fields.next()?.parse().ok()?;
    let time = fields.next()?;
    let total = Nanos(if time == "-" { 0 } else { time.parse().ok()? });
    let unit = fields.next()?.to_owned();
    let file = fields.next().filter(|file| file.starts_with('/')).map(Into::into);
    Some((Load { runtime, unit, file, self_time: total, total, depth }, time != "-"))
}

/// The phases of the virtual machine's start (`[123ns][startuptime] Genesis, 0.0149 secs`), and its classes
/// (`[123ns][class,load] java.lang.Object source: shared objects file`), each with the time until the next one, as far as a
/// class can take. Where counters say how long the classes took that are in no archive, these share that time.
fn java(text: &str) -> Vec<Load> {
    let mut phases: Vec<Load> = text.lines().filter_map(java_phase).collect();
    // the last one is around the others
    if phases.last().is_some_and(|last| last.unit == "Create VM") {
        phases.rotate_right(1);
        let inside: Nanos = phases[1..].iter().map(|phase| phase.total).sum();
        phases[0].self_time = Nanos(phases[0].total.0.saturating_sub(inside.0));
        for phase in &mut phases[1..] {
            phase.depth = 1;
        }
    }

    let classes: Vec<(u64, &str, &str)> = text.lines().filter_map(java_class).collect();
    let next = classes.iter().skip(1).map(|(at, ..)| *at).chain(classes.last().map(|(at, ..)| *at));
    let class_path = text.lines().find_map(|line| line.strip_prefix("class path\t"));
    let class = |((at, name, source), next): (&(u64, &str, &str), u64)| {
        let time = Nanos(next.saturating_sub(*at)).min(MAX_CLASS_TIME);
        let (unit, file) = ((*name).to_owned(), Some((*source).into()));
        let runtime = if is_archivable(source, class_path) { JAVA_CLASSES } else { JAVA_OWN_CLASSES };
        Load { runtime, unit, file, self_time: time, total: time, depth: 0 }
    };
    let mut classes: Vec<Load> = classes.iter().zip(next).map(class).collect();
    let counted = text.lines().filter_map(java_counter);
    let counted: Nanos = counted.filter(|(name, _)| ARCHIVE_SAVES.contains(name)).map(|(_, time)| time).sum();
    if counted > Nanos(0) {
        share(&mut classes, counted);
    }
    phases.into_iter().chain(classes).collect()
}

/// Whether an archive can contain the classes of a source: those of the virtual machine, and of the files on the class path. If
/// that is not known, all can.
fn is_archivable(source: &str, class_path: Option<&str>) -> bool {
    let Some(class_path) = class_path else { return true };
    let file = source.strip_prefix("file:");
    file.is_none_or(|file| class_path.split(':').any(|entry| entry == file))
}

/// Divides a time among the classes that are in no archive, as their own times are to each other.
fn share(classes: &mut [Load], time: Nanos) {
    let parsed = || classes.iter().filter(|class| !class.path().starts_with(ARCHIVE));
    let all: f64 = parsed().map(|class| class.self_time.as_f64()).sum();
    let factor = time.as_f64() / all.max(1.0);
    for class in classes.iter_mut().filter(|class| !class.path().starts_with(ARCHIVE)) {
        class.self_time = Nanos::rounded(class.self_time.as_f64() * factor);
        class.total = class.self_time;
    }
}

/// `counter<tab>nanoseconds<tab>name`.
fn java_counter(line: &str) -> Option<(&str, Nanos)> {
    let (time, name) = line.strip_prefix("counter\t")?.split_once('\t')?;
    Some((name, Nanos(time.parse().ok()?)))
}

fn java_phase(line: &str) -> Option<Load> {
    let (_, rest) = line.split_once("[startuptime")?;
    let (unit, seconds) = rest.split_once(']')?.1.trim().rsplit_once(", ")?;
    let time = Nanos::rounded(decimal(seconds.strip_suffix(" secs")?)? * 1e9);
    Some(Load {
        runtime: AskedRuntime::Java.name(),
        unit: unit.to_owned(),
        file: None,
        self_time: time,
        total: time,
        depth: 0,
    })
}

fn java_class(line: &str) -> Option<(u64, &str, &str)> {
    let (at, rest) = line.strip_prefix('[')?.split_once("ns]")?;
    let (_, rest) = rest.split_once("[class,load")?;
    let (name, source) = rest.split_once(']')?.1.trim().split_once(" source: ")?;
    Some((at.trim().parse().ok()?, name, source.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(loads: &[Load]) -> Vec<(&str, u64, u64, u32)> {
        loads.iter().map(|it| (&*it.unit, it.self_time.0, it.total.0, it.depth)).collect()
    }

    #[test]
    fn python_reports_a_module_after_those_that_it_imports() {
        let report = "\
import time: self [us] | cumulative | imported package
import time:       100 |        100 |   zipimport
import time:         5 |          5 |     codecs
import time:        10 |         15 |   encodings.aliases
import time:        20 |         35 | encodings
import time:         1 |          1 | site
";
        let expected = [
            ("encodings", 20_000, 35_000, 0),
            ("zipimport", 100_000, 100_000, 1),
            ("encodings.aliases", 10_000, 15_000, 1),
            ("codecs", 5_000, 5_000, 2),
            ("site", 1_000, 1_000, 0),
        ];
        assert_eq!(shown(&loads(AskedRuntime::Python, report)), expected);
    }

    #[test]
    fn hooks_report_a_file_before_those_that_it_requires() {
        let report =
            "0\t100\ta\t/a.js\n1\t30\t./b\t/b.js\n2\t10\tfs\tfs\n1\t20\t./c\t/c.js\n0\t7\td\t/d.js\n";
        let loads = loads(AskedRuntime::Node, report);
        let expected =
            [("a", 50, 100, 0), ("./b", 20, 30, 1), ("fs", 10, 10, 2), ("./c", 20, 20, 1), ("d", 7, 7, 0)];
        assert_eq!(shown(&loads), expected);
        assert_eq!((loads[0].file.as_deref(), loads[2].file.as_deref()), (Some("/a.js"), None));
    }

    #[test]
    fn a_load_within_which_the_program_exits_is_a_part_of_the_program() {
        let report =
            "0\t-\tcli\t/cli.js\n1\t30\ta\t/a.js\n2\t10\tb\tb\n1\t-\trun\t/run.js\n2\t20\tc\t/c.js\n";
        let loads = loads(AskedRuntime::Node, report);
        assert_eq!(shown(&loads), [("a", 20, 30, 0), ("b", 10, 10, 1), ("c", 20, 20, 0)]);
    }

    #[test]
    fn a_load_is_in_one_that_was_listed_whatever_the_report_says() {
        let most = u64::MAX;
        let report = format!("4000000000\t{most}\ta\t/a.js\n7\t{most}\tb\tb\n1\t{most}\tc\tc\n");
        let listed = loads(AskedRuntime::Node, &report);
        assert_eq!(shown(&listed), [("a", 0, most, 0), ("b", most, most, 1), ("c", most, most, 1)]);
        let deep: Vec<String> = (0..50_000).map(|depth| format!("{depth}\t1\ta\ta")).collect();
        assert_eq!(loads(AskedRuntime::Node, &deep.join("\n")).last().unwrap().depth, 49_999);
    }

    #[test]
    fn times_that_no_program_can_take_add_up_to_the_largest_one() {
        let report = "\
[1ns][startuptime] Genesis, 1e300 secs
[2ns][startuptime] Module, 1e300 secs
[3ns][class,load] A source: jrt:/a
counter\t18446744073709551615\tsun.cls.classVerifyTime.self
counter\t18446744073709551615\tsun.cls.defineAppClassTime.self
[4ns][startuptime] Create VM, 0.0400000 secs
";
        let listed = loads(AskedRuntime::Java, report);
        assert_eq!((listed[0].self_time, listed[0].total), (Nanos(0), Nanos(40_000_000)));
        assert_eq!(listed[3].self_time, Nanos(0), "the class took no time that could be shared");
    }

    #[test]
    fn a_report_in_another_locale_is_read_and_lines_that_cannot_be_read_are_counted() {
        let java_in_german = "[1ns][startuptime] Genesis, 0,0149000 secs\n";
        assert_eq!(
            shown(&loads(AskedRuntime::Java, java_in_german)),
            [("Genesis", 14_900_000, 14_900_000, 0)]
        );
        let counts = [
            (AskedRuntime::Java, java_in_german, 0),
            (AskedRuntime::Java, "[1ns][startuptime] Genesis, soon\nother\n", 1),
            (
                AskedRuntime::Python,
                "import time: self [us] | cumulative | imported package\nimport time: x\n",
                1,
            ),
            (AskedRuntime::Node, "0\t1\ta\ta\nx\n", 1),
            (AskedRuntime::Go, "init os @0.25 ms, x ms clock\nelse\n", 1),
        ];
        for (runtime, text, expected) in counts {
            assert_eq!(misread(runtime, text), expected, "{text}");
        }
    }

    #[test]
    fn threads_that_import_at_once_show_in_negative_times() {
        let report = |time: &str| format!("import time: {time} |      10017 |   xml.dom.domreg\n");
        assert!(mixes_threads(AskedRuntime::Python, &report("   -1702")));
        assert!(!mixes_threads(AskedRuntime::Python, &report("    1702")));
    }

    #[test]
    fn go_reports_the_initialisation_of_packages() {
        let loads = loads(AskedRuntime::Go, "init os @0.25 ms, 0.003 ms clock, 2776 bytes, 4 allocs\nelse\n");
        assert_eq!(shown(&loads), [("os", 3000, 3000, 0)]);
    }

    #[test]
    fn java_reports_phases_and_classes() {
        let report = "\
[20000000ns][class,load] java.lang.Object source: shared objects file
[25000000ns][class,load] Main source: file:/app/
[30000000ns][startuptime] Genesis, 0.0149000 secs
[40000000ns][startuptime] Create VM, 0.0400000 secs
";
        let loads = loads(AskedRuntime::Java, report);
        let expected = [
            ("Create VM", 25_100_000, 40_000_000, 0),
            ("Genesis", 14_900_000, 14_900_000, 1),
            ("java.lang.Object", 1_000_000, 1_000_000, 0),
            ("Main", 0, 0, 0),
        ];
        assert_eq!(shown(&loads), expected);
        assert_eq!(loads[3].file.as_deref(), Some("file:/app/"));
    }

    #[test]
    fn a_class_is_archivable_if_the_virtual_machine_or_the_class_path_has_it() {
        let report = "\
[100ns][class,load] A source: jrt:/java.logging
[200ns][class,load] B source: file:/boot/worlds.jar
[300ns][class,load] C source: file:/lib/core.jar
class path\t/boot/worlds.jar
";
        let runtimes = |report: &str| {
            let all = loads(AskedRuntime::Java, report);
            all.iter().map(|class| class.runtime == JAVA_CLASSES).collect::<Vec<bool>>()
        };
        assert_eq!(runtimes(report), [true, true, false]);
        let without = report.rsplit_once("class path").unwrap().0;
        assert_eq!(runtimes(without), [true; 3], "the class path is not known");
    }

    #[test]
    fn classes_without_an_archive_share_the_time_that_java_counted() {
        let report = "\
[100ns][class,load] java.lang.Object source: shared objects file
[200ns][class,load] A source: jrt:/jdk.compiler
[500ns][class,load] B source: file:/app/
[600ns][class,load] C source: shared objects file
counter\t60\tsun.cls.defineAppClassTime.self
counter\t20\tsun.cls.classVerifyTime.self
counter\t900\tsun.cls.time
";
        let expected =
            [("java.lang.Object", 100, 100, 0), ("A", 60, 60, 0), ("B", 20, 20, 0), ("C", 0, 0, 0)];
        assert_eq!(shown(&loads(AskedRuntime::Java, report)), expected);
    }
}
