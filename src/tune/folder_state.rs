//! Which files of the working directory a run changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More files than these are not looked at.
const MAX_FILES: usize = 20_000;

/// Folders in which interpreters keep what they have compiled: to fill them changes nothing for anybody.
const CACHES: [&str; 1] = ["__pycache__"];

/// The files of a folder, and of the folders in it, at a moment.
#[derive(Debug)]
pub struct FolderState(BTreeMap<PathBuf, (u64, Option<SystemTime>)>);

impl FolderState {
    pub fn now(folder: &Path) -> FolderState {
        let (mut files, mut waiting) = (BTreeMap::new(), vec![folder.to_owned()]);
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(found) = entry.metadata() else { continue };
                if found.is_dir() && !is_cache(&entry.path()) {
                    waiting.push(entry.path());
                } else if !found.is_dir() {
                    files.insert(entry.path(), (found.len(), found.modified().ok()));
                }
                if files.len() + waiting.len() > MAX_FILES {
                    return FolderState(files);
                }
            }
        }
        FolderState(files)
    }

    /// The files that were made, changed or removed until then.
    pub fn changed(&self, later: &FolderState) -> Vec<PathBuf> {
        let is_new = |path: &&PathBuf| self.0.get(*path) != later.0.get(*path);
        let mut changed: Vec<PathBuf> = self.0.keys().chain(later.0.keys()).filter(is_new).cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

fn is_cache(path: &Path) -> bool {
    path.file_name().is_some_and(|name| CACHES.iter().any(|cache| name == *cache))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_made_changed_or_removed_are_named_and_caches_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(of("sub/__pycache__")).unwrap();
        for name in ["kept", "changed", "sub/removed"] {
            std::fs::write(of(name), "a").unwrap();
        }
        let before = FolderState::now(folder.path());
        assert!(before.changed(&FolderState::now(folder.path())).is_empty());
        std::fs::write(of("changed"), "ab").unwrap();
        std::fs::write(of("sub/__pycache__/m.pyc"), "x").unwrap();
        std::fs::write(of("sub/new"), "x").unwrap();
        std::fs::remove_file(of("sub/removed")).unwrap();
        let changed = before.changed(&FolderState::now(folder.path()));
        assert_eq!(changed, ["changed", "sub/new", "sub/removed"].map(of));
    }
}
