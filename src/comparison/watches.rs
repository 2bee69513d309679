//! Compares two watches: how often each program was executed, and what that took.

use crate::document::Kind;
use crate::document::watch::{WatchDocument, WatchProgram, WatchTimes};
use crate::document::watch_compare::{WatchChange, WatchComparison, WatchProgramChange};
use crate::output::visible_path;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Facts about the machine in which two watches should agree.
const FACTS: [&str; 3] = ["cpu_model", "cores", "kernel_release"];

type NamedWatch<'d> = (&'d Path, &'d WatchDocument);

pub fn compare_watches(old: NamedWatch, new: NamedWatch) -> WatchComparison {
    let programs = programs(old.1, new.1);
    let (mut changed, same): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(WatchProgramChange::has_other_counts);
    changed.sort_by_key(|program| Reverse(program.changes[0].old.abs_diff(program.changes[0].new)));
    WatchComparison {
        kind: Kind::Compare,
        old: old.0.to_owned(),
        new: new.0.to_owned(),
        totals: totals(old.1, new.1),
        programs: changed,
        unchanged: same.len(),
        notes: [notes(old), notes(new), machines(old.1, new.1)].concat(),
    }
}

fn change(name: &str, old: u64, new: u64) -> WatchChange {
    WatchChange { name: name.to_owned(), old, new }
}

fn totals(old: &WatchDocument, new: &WatchDocument) -> Vec<WatchChange> {
    let [a, b] = [&old.totals, &new.totals];
    vec![
        change("execs", a.execs, b.execs),
        change("programs", a.programs, b.programs),
        change("processes", a.processes, b.processes),
        change("forks", a.forks, b.forks),
        change("failed", a.failed, b.failed),
        change("startup_ns", a.startup_ns, b.startup_ns),
        change("cpu_ns", a.cpu_ns, b.cpu_ns),
        change("wall_ns", old.wall_ns, new.wall_ns),
    ]
}

/// Every path that is in one of the files.
fn programs(old: &WatchDocument, new: &WatchDocument) -> Vec<WatchProgramChange> {
    let [old, new] = [old, new].map(by_path);
    let paths: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    paths.into_iter().map(|path| program(path, old.get(path).copied(), new.get(path).copied())).collect()
}

fn by_path(document: &WatchDocument) -> BTreeMap<&str, &WatchProgram> {
    document.results.iter().map(|program| (program.path.as_str(), program)).collect()
}

fn program(path: &str, old: Option<&WatchProgram>, new: Option<&WatchProgram>) -> WatchProgramChange {
    let figure = |name, of: fn(&WatchProgram) -> u64| change(name, old.map_or(0, of), new.map_or(0, of));
    let changes = vec![
        figure("execs", |program| program.execs),
        figure("failed", |program| program.failed),
        figure("forks", |program| program.forks),
        figure("startup_ns", |program| sum(program.startup_ns.as_ref())),
        figure("lifetime_ns", |program| sum(program.lifetime_ns.as_ref())),
        figure("cpu_ns", |program| program.cpu_ns),
    ];
    WatchProgramChange { path: path.to_owned(), changes }
}

fn sum(times: Option<&WatchTimes>) -> u64 {
    times.map_or(0, |times| times.sum)
}

fn notes((path, document): NamedWatch) -> Vec<String> {
    let file = visible_path(path);
    let partial = document.partial.then(|| format!("`{file}` is partial: it was interrupted"));
    let lost = document.lost_events;
    let lost = (lost > 0).then(|| format!("`{file}`: {lost} events were lost, so its counts are too low"));
    let unlisted = document.totals.unlisted_execs;
    let unlisted = (unlisted > 0).then(|| {
        format!(
            "`{file}`: {unlisted} execs are in `(other programs)`, so counts of single programs are too low"
        )
    });
    partial.into_iter().chain(lost).chain(unlisted).collect()
}

fn machines(old: &WatchDocument, new: &WatchDocument) -> Vec<String> {
    let differs = |fact: &&&str| old.machine.get(**fact) != new.machine.get(**fact);
    let shown = |document: &WatchDocument, fact: &str| {
        document.machine.get(fact).map_or_else(|| "unknown".to_owned(), Value::to_string)
    };
    let note = |fact: &&str| format!("another machine: {fact} {} and {}", shown(old, fact), shown(new, fact));
    FACTS.iter().filter(differs).map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::watch::WatchTotals;
    use serde_json::json;

    fn program(path: &str, execs: u64) -> WatchProgram {
        let [program, path] = [path; 2].map(str::to_owned);
        WatchProgram { program, path, execs, cpu_ns: execs * 10, ..WatchProgram::default() }
    }

    fn document(programs: &[(&str, u64)], cores: u64) -> WatchDocument {
        let execs = programs.iter().map(|(_, execs)| execs).sum();
        WatchDocument {
            machine: json!({"cores": cores}),
            totals: WatchTotals { execs, ..WatchTotals::default() },
            ..WatchDocument::of(programs.iter().map(|(path, execs)| program(path, *execs)).collect())
        }
    }

    fn compared(old: &WatchDocument, new: &WatchDocument) -> WatchComparison {
        compare_watches((Path::new("old.json"), old), (Path::new("new.json"), new))
    }

    #[test]
    fn programs_with_other_counts_are_listed_by_the_size_of_the_change() {
        let old = document(&[("/bin/git", 10), ("/bin/ls", 3), ("/bin/gone", 1)], 2);
        let new = document(&[("/bin/git", 910), ("/bin/ls", 3), ("/bin/sed", 5)], 2);
        let comparison = compared(&old, &new);
        let changed: Vec<_> = comparison.programs.iter().map(|program| program.path.as_str()).collect();
        assert_eq!(changed, ["/bin/git", "/bin/sed", "/bin/gone"]);
        assert_eq!(comparison.programs[1].changes[0], change("execs", 0, 5));
        assert_eq!((comparison.unchanged, &comparison.totals[0]), (1, &change("execs", 14, 918)));
        assert_eq!(comparison.notes, Vec::<String>::new());
    }

    #[test]
    fn a_watch_compared_with_itself_has_no_changed_program() {
        let one = document(&[("/bin/git", 10)], 2);
        let comparison = compared(&one, &one);
        assert_eq!((comparison.programs.len(), comparison.unchanged), (0, 1));
    }

    #[test]
    fn lost_events_and_another_machine_are_noted() {
        let (old, mut new) = (document(&[], 2), document(&[], 4));
        new.lost_events = 3;
        let notes = compared(&old, &new).notes;
        let expected =
            ["`new.json`: 3 events were lost, so its counts are too low", "another machine: cores 2 and 4"];
        assert_eq!(notes, expected);
    }
}
