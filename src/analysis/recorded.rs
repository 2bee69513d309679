//! The executables of a recording: their layouts at that time, and their functions as long as the files are the same.

use super::binaries::{Binaries, FileBinaries, MemoryLayout};
use firstbyte_measure::tracer::module::Module;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Executables from a recording. A file that has changed since has no functions, because today's are at other offsets.
#[derive(Debug)]
pub struct RecordedBinaries {
    modules: HashMap<String, (Module, Rc<MemoryLayout>)>,
    today: FileBinaries,
    /// Whether each file that was asked for is still the same.
    same: RefCell<BTreeMap<String, bool>>,
}

impl RecordedBinaries {
    pub fn new(modules: Vec<Module>) -> RecordedBinaries {
        let known = modules.into_iter().map(|module| {
            let layout = Rc::new(module.layout.clone());
            (module.path.clone(), (module, layout))
        });
        RecordedBinaries {
            modules: known.collect(),
            today: FileBinaries::default(),
            same: RefCell::default(),
        }
    }

    fn is_same(&self, then: &Module) -> bool {
        if let Some(known) = self.same.borrow().get(&then.path) {
            return *known;
        }
        let same = self.today.module(&then.path).is_some_and(|now| now.is_same(then));
        self.same.borrow_mut().insert(then.path.clone(), same);
        same
    }

    /// Whether a file was recorded, and is the same today.
    pub fn is_unchanged(&self, path: &str) -> bool {
        self.modules.get(path).is_some_and(|(then, _)| self.is_same(then))
    }

    /// One sentence for each changed file of which a function was asked for.
    pub fn notes(&self) -> Vec<String> {
        let note = |path: &String| {
            let why = match self.today.module(path) {
                Some(_) => "has changed since it was recorded",
                None => "does not exist, or cannot be read",
            };
            format!("`{path}` {why}, so its functions have no names.")
        };
        let same = self.same.borrow();
        same.iter().filter(|(_, same)| !**same).map(|(path, _)| note(path)).collect()
    }
}

impl Binaries for RecordedBinaries {
    fn layout(&self, path: &str) -> Option<Rc<MemoryLayout>> {
        self.modules.get(path).map(|(_, layout)| Rc::clone(layout))
    }

    fn function(&self, path: &str, offset: u64) -> Option<Arc<str>> {
        let (then, _) = self.modules.get(path)?;
        if self.is_same(then) { self.today.function(path, offset) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Account;
    use firstbyte_measure::tracer::replay;

    #[test]
    fn functions_have_names_as_long_as_the_file_is_the_same_and_layouts_stay() {
        let this_binary = std::env::current_exe().unwrap();
        let path = this_binary.to_str().unwrap();
        let files = FileBinaries::default();
        let module = files.module(path).unwrap();
        let entry = module.layout.entry;
        let holds = |s: &&firstbyte_measure::tracer::module::LoadSegment| {
            (s.address..s.address + s.file_size).contains(&entry)
        };
        let segment = *module.layout.segments.iter().find(holds).unwrap();
        let offset = entry - segment.address + segment.offset;
        assert_eq!(files.modules(), std::slice::from_ref(&module));

        let same = RecordedBinaries::new(vec![module.clone()]);
        assert_eq!(same.function(path, offset).as_deref(), Some("_start"));
        assert_eq!(same.notes(), Vec::<String>::new());

        let other = RecordedBinaries::new(vec![Module { size: module.size + 1, ..module.clone() }]);
        assert_eq!((other.function(path, offset), other.function(path, offset)), (None, None));
        assert_eq!(other.layout(path).as_deref(), Some(&module.layout));
        assert_eq!(
            other.notes(),
            [format!("`{path}` has changed since it was recorded, so its functions have no names.")]
        );

        let nowhere = Module { path: "/no/such/file".to_owned(), ..module };
        let gone = RecordedBinaries::new(vec![nowhere]);
        assert_eq!((gone.function("/no/such/file", offset), gone.function(path, offset)), (None, None));
        assert_eq!(gone.notes().len(), 1, "a file that was not recorded gives no note");
    }

    /// Each damaged recording gives an error or an account.
    #[test]
    fn damaged_recordings_never_panic() {
        let good = include_bytes!("../../tests/recordings/small.jsonl");
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..3000 {
            let mut bad = good.to_vec();
            for _ in 0..random.usize(1..6) {
                let offset = random.usize(0..bad.len());
                match random.u8(0..3) {
                    0 => bad[offset] = random.u8(..),
                    1 => bad[offset] = b"0123456789,:{}[]\""[random.usize(0..17)],
                    _ => bad.truncate(offset.max(1)),
                }
            }

            if let Ok(loaded) = replay::read("x", bad.as_slice()) {
                let binaries = RecordedBinaries::new(loaded.modules.unwrap_or_default());
                let _ = Account::of(&loaded.recording, &binaries);
            }
        }
    }
}
