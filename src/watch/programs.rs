//! The rows of the table, in bounded memory.
//!
//! When there is no room for another row, the quarter of the rows whose programs can have been executed least often moves into
//! the row of all others. If such a program is executed again, it gets a new row, which counts from 0 and says how many
//! executions can be missing from it: the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, 2005), with many rows at a time.

use super::memory::{Memory, PROGRAM};
use super::program::Program;
use crate::document::watch::OTHERS_ROW;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The path of the row with the programs that have no row of their own.
pub(super) const OTHERS: &str = "(other programs)";

/// One part in this many moves at a time.
const MOVED: usize = 4;

/// A row. No id is given twice, so that of a row that has moved means the row of all others.
pub(super) type ProgramId = u64;

/// All rows.
#[derive(Debug)]
pub(super) struct Programs {
    rows: BTreeMap<ProgramId, Program>,
    by_path: HashMap<String, ProgramId>,
    /// For the rows, without their command lines.
    memory: Memory,
    last_id: ProgramId,
    /// No program without a row was executed more often.
    most_missed: u64,
    /// How often a row was looked for, and when moving rows is worth trying again.
    now: u64,
    next_try: u64,
}

impl Programs {
    pub(super) fn new(memory: Memory) -> Programs {
        Programs {
            rows: BTreeMap::new(),
            by_path: HashMap::new(),
            memory,
            last_id: OTHERS_ROW,
            most_missed: 0,
            now: 0,
            next_try: 0,
        }
    }

    /// By id, which is the order in which they appeared.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ProgramId, &Program)> {
        self.rows.iter().map(|(id, program)| (*id, program))
    }

    /// All but that of all others.
    pub(super) fn listed_ones(&self) -> impl Iterator<Item = &Program> {
        self.rows.range(OTHERS_ROW + 1..).map(|(_, program)| program)
    }

    /// The row of all others, if it is needed.
    pub(super) fn others(&self) -> Option<&Program> {
        self.rows.get(&OTHERS_ROW)
    }

    /// The id under which a row is listed now.
    pub(super) fn listed(&self, id: ProgramId) -> ProgramId {
        if self.rows.contains_key(&id) { id } else { OTHERS_ROW }
    }

    pub(super) fn path(&self, id: ProgramId) -> &str {
        self.rows.get(&id).map_or(OTHERS, |program| &program.path)
    }

    /// A row, or that of all others if it has moved.
    pub(super) fn get(&mut self, id: ProgramId) -> &mut Program {
        let id = self.listed(id);
        self.rows.entry(id).or_insert_with(|| Program::new(OTHERS))
    }

    /// Whether rows should move before this path is looked for.
    pub(super) fn needs_room(&self, path: &str) -> bool {
        let is_new = !self.by_path.contains_key(path);
        is_new && !self.memory.has(PROGRAM, path) && self.now >= self.next_try
    }

    /// The row of a program that is executed or looked for. It is that of all others if there is no room.
    pub(super) fn of_path(&mut self, path: &str, is_executed: bool) -> ProgramId {
        self.now += 1;
        if let Some(id) = self.by_path.get(path).copied() {
            self.get(id).last_seen = self.now;
            return id;
        }
        if !self.memory.take(PROGRAM, path) {
            self.most_missed += u64::from(is_executed);
            return OTHERS_ROW;
        }

        self.last_id += 1;
        let program = Program { missed: self.most_missed, last_seen: self.now, ..Program::new(path) };
        self.rows.insert(self.last_id, program);
        self.by_path.insert(path.to_owned(), self.last_id);
        self.last_id
    }

    /// Makes room: moves rows that are not in use into the row of all others. `texts` is the memory of command lines.
    pub(super) fn move_rarest(&mut self, in_use: &HashSet<ProgramId>, texts: &mut Memory) {
        let rows = self.rows.iter().filter(|(id, _)| **id != OTHERS_ROW && !in_use.contains(id));
        let mut idle: Vec<(u64, u64, ProgramId)> =
            rows.map(|(id, program)| (program.execs + program.missed, program.last_seen, *id)).collect();
        idle.sort_unstable();
        idle.truncate(self.rows.len().div_ceil(MOVED));

        for (execs, _, id) in idle {
            self.most_missed = self.most_missed.max(execs);
            self.move_row(id, texts);
        }
        // If hardly any row could move, looking at all of them is not worth it for each new program.
        self.next_try = self.now + (self.rows.len() / MOVED / 2) as u64;
    }

    fn move_row(&mut self, id: ProgramId, texts: &mut Memory) {
        let Some(moved) = self.rows.remove(&id) else { return };
        self.by_path.remove(&moved.path);
        self.memory.give(PROGRAM + moved.path.len() as u64);
        texts.give(moved.memory_of_texts());
        self.get(OTHERS_ROW).absorb(&moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 100;

    /// Paths of five bytes.
    fn rows(count: usize) -> Programs {
        Programs::new(Memory::new(count as u64 * (PROGRAM + 5)))
    }

    fn execute(programs: &mut Programs, path: &str, in_use: &HashSet<ProgramId>) -> ProgramId {
        if programs.needs_room(path) {
            programs.move_rarest(in_use, &mut Memory::new(0));
        }
        let id = programs.of_path(path, true);
        programs.get(id).execs += 1;
        id
    }

    fn row<'p>(programs: &'p Programs, path: &str) -> Option<&'p Program> {
        programs.by_path.get(path).map(|id| &programs.rows[id])
    }

    #[test]
    fn totals_are_exact_and_no_row_misses_more_than_it_says_whatever_is_executed() {
        for seed in 0..20 {
            let (mut programs, mut random) = (rows(ROWS), fastrand::Rng::with_seed(seed));
            let mut real: HashMap<String, u64> = HashMap::new();
            for step in 0..20_000 {
                // One exec in two is of one of ten programs, of which the second half begins late.
                let often = if step < 10_000 { 5 } else { 10 };
                let path = if random.bool() {
                    format!("/h{:03}", random.usize(..often))
                } else {
                    format!("/{:04}", random.usize(..10_000))
                };
                execute(&mut programs, &path, &HashSet::new());
                *real.entry(path).or_default() += 1;
            }

            assert_eq!(programs.iter().map(|(_, program)| program.execs).sum::<u64>(), 20_000);
            assert!(programs.rows.len() <= ROWS + 1);
            for (path, execs) in &real {
                let (seen, missed) =
                    row(&programs, path).map_or((0, programs.most_missed), |row| (row.execs, row.missed));
                assert!(seen <= *execs && *execs <= seen + missed, "{path}: {seen} of {execs}, {missed}");
            }
            let guaranteed = 20_000 / (ROWS as u64 * 3 / 4);
            assert!(programs.most_missed <= guaranteed, "{}", programs.most_missed);
            for often in (0..10).map(|n| format!("/h{n:03}")) {
                assert!(
                    row(&programs, &often).is_some(),
                    "{often} was executed more often than {guaranteed}"
                );
            }
        }
    }

    #[test]
    fn a_row_that_is_in_use_stays_and_without_an_idle_one_execs_are_those_of_others() {
        let mut programs = rows(4);
        let paths = ["/0001", "/0002", "/0003", "/0004"];
        let mut in_use: HashSet<ProgramId> =
            paths.iter().map(|path| execute(&mut programs, path, &HashSet::new())).collect();
        execute(&mut programs, "/0005", &in_use);
        assert_eq!((programs.others().unwrap().execs, programs.most_missed), (1, 1));
        assert!(paths.iter().all(|path| row(&programs, path).is_some_and(|row| row.missed == 0)));

        let ended = programs.by_path["/0003"];
        in_use.remove(&ended);
        let new = execute(&mut programs, "/0005", &in_use);
        assert_eq!((programs.path(ended), programs.path(new)), (OTHERS, "/0005"));
        assert_eq!(programs.listed(ended), OTHERS_ROW);
        assert_eq!((programs.get(ended).execs, row(&programs, "/0005").unwrap().missed), (2, 1));
    }

    #[test]
    fn of_rows_with_equal_counts_those_that_were_not_seen_for_long_move() {
        let mut programs = rows(4);
        for path in ["/0001", "/0002", "/0003", "/0004", "/0001", "/0002", "/0003", "/0004", "/0001"] {
            execute(&mut programs, path, &HashSet::new());
        }
        execute(&mut programs, "/0005", &HashSet::new());
        assert!(row(&programs, "/0002").is_none() && row(&programs, "/0003").is_some());
    }

    #[test]
    fn a_program_whose_path_is_that_of_the_others_has_a_row_of_its_own() {
        let mut programs = Programs::new(Memory::new(PROGRAM + OTHERS.len() as u64));
        let row = execute(&mut programs, OTHERS, &HashSet::new());
        let all = HashSet::from([row]);
        execute(&mut programs, "/0001", &all);
        assert_eq!((programs.get(row).execs, programs.others().unwrap().execs), (1, 1));
    }
}
