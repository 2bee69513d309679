//! Which load brought in which, and their times together.

use super::follow::{LoadOrigin, Row};
use super::{EXECUTABLE, FILE, LIBRARY, Load};
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The loads, each followed by those that it brought in. `needed`: the names of the libraries that a file needs.
pub(super) fn arranged(mut rows: Vec<Row>, needed: impl Fn(&str) -> Rc<[String]>) -> Vec<Load> {
    under_those_that_need_them(&mut rows, needed);
    let mut totals: Vec<Nanos> = rows.iter().map(|row| row.self_time).collect();
    let mut inside: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (index, row) in rows.iter().enumerate().rev() {
        inside.entry(row.around).or_default().push(index);
        if let Some(around) = row.around {
            totals[around] = totals[around] + totals[index];
        }
    }

    let mut loads = Vec::with_capacity(rows.len());
    let mut waiting: Vec<(usize, u32)> = roots(&inside);
    while let Some((index, depth)) = waiting.pop() {
        loads.push(load(&rows[index], totals[index], depth));
        let nested = inside.get(&Some(index)).into_iter().flatten();
        waiting.extend(nested.map(|index| (*index, depth + 1)));
    }
    loads
}

fn roots(inside: &HashMap<Option<usize>, Vec<usize>>) -> Vec<(usize, u32)> {
    inside.get(&None).into_iter().flatten().map(|index| (*index, 0)).collect()
}

/// A library is brought in by the first file of its process that needs it. `LD_PRELOAD` and `dlopen` bring in others.
fn under_those_that_need_them(rows: &mut [Row], needed: impl Fn(&str) -> Rc<[String]>) {
    let mut first: HashMap<(usize, String), usize> = HashMap::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.origin != LoadOrigin::File) {
        for name in needed(&row.path).iter() {
            first.entry((row.program, name.clone())).or_insert(index);
        }
    }
    for (index, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.origin == LoadOrigin::Library) {
        let around = first.get(&(row.program, file_name(&row.path).to_owned()));
        row.around = around.copied().filter(|around| *around < index).or(row.around);
    }
}

fn load(row: &Row, total: Nanos, depth: u32) -> Load {
    Load {
        runtime: match row.origin {
            LoadOrigin::Executable => EXECUTABLE,
            LoadOrigin::Library => LIBRARY,
            LoadOrigin::File => FILE,
        },
        unit: file_name(&row.path).to_owned(),
        file: Some(Arc::clone(&row.path)),
        self_time: row.self_time,
        total,
        depth,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(origin: LoadOrigin, path: &str, self_time: u64, around: Option<usize>) -> Row {
        Row { origin, path: path.into(), self_time: Nanos(self_time), around, program: 0 }
    }

    #[test]
    fn loads_follow_the_one_that_brought_them_in_and_are_in_its_total() {
        let rows = vec![
            row(LoadOrigin::Executable, "/bin/a", 1, None),
            row(LoadOrigin::Library, "/lib/libb.so", 2, Some(0)),
            row(LoadOrigin::Library, "/lib/libpreloaded.so", 4, Some(0)),
            row(LoadOrigin::Library, "/lib/libc.so", 8, Some(0)),
            row(LoadOrigin::File, "/etc/libc.so", 16, Some(0)),
        ];
        let needed = |path: &str| -> Rc<[String]> {
            match path {
                // a circle, as between libc and ld.so
                "/bin/a" | "/lib/libc.so" => ["libb.so".to_owned()].into(),
                "/lib/libb.so" => ["libc.so".to_owned()].into(),
                _ => [].into(),
            }
        };
        let loads = arranged(rows, needed);
        let shown: Vec<_> =
            loads.iter().map(|it| (&*it.unit, it.self_time.0, it.total.0, it.depth)).collect();
        let expected = [
            ("a", 1, 31, 0),
            ("libb.so", 2, 10, 1),
            ("libc.so", 8, 8, 2),
            ("libpreloaded.so", 4, 4, 1),
            ("libc.so", 16, 16, 1),
        ];
        assert_eq!(shown, expected);
    }
}
