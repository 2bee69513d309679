//! Which programs have a label of their own.
//!
//! Monitoring keeps a set of series for each label, so their number is bounded. Every count of a label may only grow, or
//! else rates are wrong. Therefore not the counts of a program are shown, but their growth is added to the label that the
//! program has at that moment.
//!
//! A row whose program had to make room for others disappears, and is part of that of all others from then on. So what it had
//! counts as already seen there.

use crate::document::exposition::{Exposition, OTHER, ProgramFigures};
use crate::document::watch::{OTHERS_ROW, WatchDocument, WatchProgram};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A program that was not executed for this long, in nanoseconds, gives its label to another one.
const IDLE: u64 = 3600 * 1_000_000_000;

/// A program that was not executed for this long gives its label to one that was executed more often. So names of which each
/// is executed once, by one user who wants all labels, keep them for a minute, and take none from what is used.
const BRIEFLY_IDLE: u64 = 60 * 1_000_000_000;

#[derive(Debug)]
pub(super) struct Catalogue {
    most: usize,
    labels: BTreeMap<String, Label>,
    rest: ProgramFigures,
    /// What each row had when it was last looked at.
    seen: HashMap<u64, ProgramFigures>,
}

#[derive(Debug, Default)]
struct Label {
    figures: ProgramFigures,
    /// When something was last counted, in nanoseconds since the watch began.
    last: u64,
}

impl Catalogue {
    /// `most`: the number of labels, besides [`OTHER`].
    pub(super) fn new(most: usize) -> Catalogue {
        Catalogue { most, labels: BTreeMap::new(), rest: ProgramFigures::default(), seen: HashMap::new() }
    }

    /// Adds the growth since the last time. `unwritten`: how often the text file could not be written.
    pub(super) fn update(&mut self, document: &WatchDocument, unwritten: u64) -> Exposition {
        self.forget_moved_rows(&document.results);
        for program in &document.results {
            self.add(program, document.wall_ns);
        }
        let labels = self.labels.iter().map(|(name, label)| (name.clone(), label.figures.clone()));
        Exposition {
            version: env!("CARGO_PKG_VERSION"),
            scope: document.scope.clone(),
            programs: labels.chain([(OTHER.to_owned(), self.without_marks())]).collect(),
            lost_events: document.lost_events,
            unwritten,
        }
    }

    /// What has no label of its own has no marks: those of different programs have nothing in common.
    fn without_marks(&self) -> ProgramFigures {
        ProgramFigures { marks: BTreeMap::new(), ..self.rest.clone() }
    }

    fn forget_moved_rows(&mut self, results: &[WatchProgram]) {
        let rows: HashSet<u64> = results.iter().map(|program| program.row).collect();
        let moved = self.seen.extract_if(|row, _| !rows.contains(row)).map(|(_, figures)| figures);
        let moved: Vec<ProgramFigures> = moved.collect();
        let nothing = ProgramFigures::default();
        for figures in moved {
            self.seen.entry(OTHERS_ROW).or_default().add_growth(&nothing, &figures);
        }
    }

    fn add(&mut self, program: &WatchProgram, now: u64) {
        let figures = ProgramFigures::of(program);
        let before = self.seen.get(&program.row).cloned().unwrap_or_default();
        if figures == before {
            return;
        }
        self.figures_for(program, now).add_growth(&before, &figures);
        self.seen.insert(program.row, figures);
    }

    /// The figures that a program's growth belongs to. What was never executed has no label: its name may be anything
    /// that somebody typed.
    fn figures_for(&mut self, program: &WatchProgram, now: u64) -> &mut ProgramFigures {
        let name = name(&program.path);
        if program.execs == 0 || name == OTHER || !self.has_room_for(name, program.execs, now) {
            return &mut self.rest;
        }
        let label = self.labels.entry(name.to_owned()).or_default();
        label.last = now;
        &mut label.figures
    }

    /// `execs`: how often the program without a label was executed.
    fn has_room_for(&mut self, name: &str, execs: u64, now: u64) -> bool {
        if self.labels.contains_key(name) || self.labels.len() < self.most {
            return true;
        }
        let idle = |label: &Label| now.saturating_sub(label.last);
        let oldest = self.labels.iter().min_by_key(|(_, label)| label.last);
        let unused = oldest.filter(|(_, label)| idle(label) >= IDLE);
        let resting = self.labels.iter().filter(|(_, label)| idle(label) >= BRIEFLY_IDLE);
        let rarest = resting.min_by_key(|(_, label)| (label.figures.execs, label.last));
        let rarer = rarest.filter(|(_, label)| label.figures.execs < execs);
        let Some(given) = unused.or(rarer).map(|(name, _)| name.clone()) else { return false };
        self.labels.remove(&given);
        true
    }
}

/// The last part of the path. The whole path would be another label for each version and each user. Rows that stand for
/// several programs have a path without a slash in brackets.
fn name(path: &str) -> &str {
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(OTHER);
    if name == path && path.starts_with('(') { OTHER } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: &str = "(other programs)";

    fn program(path: &str, execs: u64, failed: u64) -> WatchProgram {
        let [program, path] = [path; 2].map(str::to_owned);
        let row = row_of(&path);
        WatchProgram { program, path, row, execs, failed, cpu_ns: execs * 10, ..WatchProgram::default() }
    }

    fn row_of(path: &str) -> u64 {
        if path == OTHERS {
            OTHERS_ROW
        } else {
            path.bytes().fold(1, |row: u64, byte| row.wrapping_mul(31) + u64::from(byte))
        }
    }

    fn document(wall_ns: u64, results: Vec<WatchProgram>) -> WatchDocument {
        WatchDocument { wall_ns, lost_events: 3, ..WatchDocument::of(results) }
    }

    fn execs(exposition: &Exposition) -> Vec<(&str, u64)> {
        exposition.programs.iter().map(|(name, figures)| (name.as_str(), figures.execs)).collect()
    }

    #[test]
    fn programs_with_the_same_name_share_a_label() {
        let mut catalogue = Catalogue::new(10);
        let both = vec![program("/usr/bin/git", 2, 0), program("/opt/git", 3, 1)];
        let shown = catalogue.update(&document(1, both.clone()), 0);
        assert_eq!(execs(&shown), [("git", 5), (OTHER, 0)]);
        assert_eq!(shown.programs[0].1.cpu_ns, 50);
        assert_eq!(shown.lost_events, 3);
        assert_eq!(catalogue.update(&document(2, both), 0), shown, "nothing has happened");
    }

    #[test]
    fn there_are_at_most_so_many_labels_and_no_count_is_lost_or_shrinks() {
        let mut catalogue = Catalogue::new(2);
        let many = |n: u64| (0..5).map(|i| program(&format!("/bin/p{i}"), n, 0)).collect::<Vec<_>>();
        let shown = catalogue.update(&document(1, many(1)), 0);
        assert_eq!(execs(&shown), [("p0", 1), ("p1", 1), (OTHER, 3)]);
        let shown = catalogue.update(&document(2, many(4)), 0);
        assert_eq!(execs(&shown), [("p0", 4), ("p1", 4), (OTHER, 12)]);
        let none = Catalogue::new(0).update(&document(1, many(1)), 0);
        assert_eq!(execs(&none), [(OTHER, 5)]);
    }

    #[test]
    fn an_idle_label_goes_to_a_program_that_is_used_and_its_past_stays_where_it_was() {
        let mut catalogue = Catalogue::new(1);
        catalogue.update(&document(1, vec![program("/a", 7, 0)]), 0);
        let early = vec![program("/a", 7, 0), program("/b", 1, 0)];
        assert_eq!(execs(&catalogue.update(&document(2, early), 0)), [("a", 7), (OTHER, 1)]);
        let late = vec![program("/a", 7, 0), program("/b", 5, 0)];
        assert_eq!(execs(&catalogue.update(&document(IDLE + 1, late), 0)), [("b", 4), (OTHER, 1)]);
        let again = vec![program("/a", 9, 0), program("/b", 5, 0)];
        assert_eq!(execs(&catalogue.update(&document(IDLE + 2, again), 0)), [("b", 4), (OTHER, 3)]);
    }

    #[test]
    fn names_that_are_executed_once_keep_no_label_from_a_program_that_is_used() {
        let mut catalogue = Catalogue::new(2);
        let once = |names: std::ops::Range<u64>| names.map(|n| program(&format!("/tmp/once{n}"), 1, 0));
        let used = |execs| program("/bin/used", execs, 0);
        catalogue.update(&document(1, once(0..9).collect()), 0);
        let soon: Vec<_> = once(0..9).chain([used(3)]).collect();
        assert_eq!(execs(&catalogue.update(&document(2, soon), 0))[2], (OTHER, 10));

        let later: Vec<_> = once(0..9).chain([used(5)]).collect();
        let shown = catalogue.update(&document(BRIEFLY_IDLE + 1, later), 0);
        assert_eq!(execs(&shown), [("once1", 1), ("used", 2), (OTHER, 10)]);
        let others: Vec<_> = once(0..99).chain([used(5)]).collect();
        let shown = catalogue.update(&document(3 * BRIEFLY_IDLE, others), 0);
        assert_eq!(execs(&shown), [("once1", 1), ("used", 2), (OTHER, 100)], "no churn");
    }

    #[test]
    fn what_was_never_executed_has_no_label_and_neither_have_rows_of_several_programs() {
        let mut catalogue = Catalogue::new(10);
        let rows = vec![program("/home/me/pa55word", 0, 7), program(OTHERS, 4, 0), program("/x/other", 1, 0)];
        let shown = catalogue.update(&document(1, rows), 9);
        assert_eq!(execs(&shown), [(OTHER, 5)]);
        assert_eq!((shown.programs[0].1.failed, shown.unwritten), (7, 9));
    }

    #[test]
    fn what_has_moved_into_the_row_of_all_others_is_not_counted_again() {
        let mut catalogue = Catalogue::new(10);
        catalogue.update(&document(1, vec![program("/a", 7, 0), program("/b", 5, 0)]), 0);
        let moved = vec![program("/b", 6, 0), program(OTHERS, 9, 0)];
        let shown = catalogue.update(&document(2, moved), 0);
        assert_eq!(execs(&shown), [("a", 7), ("b", 6), (OTHER, 2)], "two more of `a` before it moved");

        // Both have moved, and `a` has come back in another row, with fewer execs than it had.
        let back = WatchProgram { row: 1, ..program("/a", 3, 0) };
        let shown = catalogue.update(&document(3, vec![back.clone(), program(OTHERS, 15, 0)]), 0);
        assert_eq!(execs(&shown), [("a", 10), ("b", 6), (OTHER, 2)]);
        let shown = catalogue.update(&document(4, vec![back, program(OTHERS, 16, 0)]), 0);
        assert_eq!(execs(&shown), [("a", 10), ("b", 6), (OTHER, 3)]);
    }
}
