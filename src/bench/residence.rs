//! Which part of each file of a program is in memory before a run.

use crate::document::residence::{FileRole, ResidentPart};
use firstbyte_measure::launch::diagnosis::interpreter_of;
use firstbyte_measure::page_cache::{UsedFiles, resident_part};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of one program, each with what it is for it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramFiles(Vec<(FileRole, PathBuf)>);

impl ProgramFiles {
    /// `program`: the executable or the script that the command names. `used`: the files that its runs read.
    pub(super) fn new(program: &Path, used: &UsedFiles) -> ProgramFiles {
        let named = named(program);
        let role = |path: &PathBuf| named.get(path).copied().unwrap_or_else(|| by_name(path));
        ProgramFiles(used.read.iter().map(|path| (role(path), path.clone())).collect())
    }

    /// Their state now. Files that cannot be looked at are left out.
    pub(super) fn resident(&self) -> Vec<ResidentPart> {
        let mut parts: BTreeMap<FileRole, ResidentPart> = BTreeMap::new();
        for (role, path) in &self.0 {
            let Ok((resident, pages)) = resident_part(path) else { continue };
            let empty = ResidentPart { role: *role, file: None, files: 0, pages: 0, resident: 0 };
            let part = parts.entry(*role).or_insert(empty);
            part.file = (part.files == 0 && *role != FileRole::Others).then(|| path.display().to_string());
            part.files += 1;
            part.pages += pages;
            part.resident += resident;
        }
        parts.into_values().collect()
    }
}

/// The files that the program and the headers of its files name.
fn named(program: &Path) -> BTreeMap<PathBuf, FileRole> {
    let mut named = BTreeMap::new();
    let next = |path: &Path| interpreter_of(path).and_then(|name| PathBuf::from(name).canonicalize().ok());
    let Ok(program) = program.canonicalize() else { return named };
    let is_script = std::fs::read(&program).is_ok_and(|content| content.starts_with(b"#!"));
    let executable = if is_script { next(&program) } else { Some(program.clone()) };

    if let Some(loader) = executable.as_deref().and_then(next) {
        named.insert(loader, FileRole::Loader);
    }
    if let Some(executable) = executable {
        named.insert(executable, if is_script { FileRole::Interpreter } else { FileRole::Executable });
    }
    if is_script {
        named.insert(program, FileRole::Script);
    }
    named
}

fn by_name(path: &Path) -> FileRole {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_libc = name.starts_with("libc.so") || name.starts_with("libc-") && name.contains(".so");
    if is_libc { FileRole::Libc } else { FileRole::Others }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_script_its_interpreter_and_the_libc_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let page = 4 * rustix::param::page_size() as u64;
        fs::write(at("shell"), vec![1; usize::try_from(page).unwrap()]).unwrap();
        fs::write(at("script"), format!("#!{}\necho\n", at("shell").display())).unwrap();
        let others = ["libc.so.6", "libcrypt.so.1", "text"].map(|name| {
            fs::write(at(name), "x").unwrap();
            at(name)
        });
        let read = [at("script"), at("shell")].into_iter().chain(others).collect();

        let files = ProgramFiles::new(&at("script"), &UsedFiles { read, ..UsedFiles::default() });
        let seen: Vec<(FileRole, u64, u64)> =
            files.resident().iter().map(|part| (part.role, part.files, part.pages)).collect();
        let expected = [
            (FileRole::Script, 1, 1),
            (FileRole::Interpreter, 1, 4),
            (FileRole::Libc, 1, 1),
            (FileRole::Others, 2, 2),
        ];
        assert_eq!(seen, expected);
        assert!(files.resident().iter().all(|part| part.resident <= part.pages), "just written");
    }
}
