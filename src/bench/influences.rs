//! Files of a machine that slow a program's start even in a clean environment.

use firstbyte_measure::page_cache::UsedFiles;
use std::fs;
use std::path::Path;

/// Scripts that run, or settings that apply, before the program's own code.
const RUN_FIRST: [&str; 14] = [
    ".bashrc",
    ".zshenv",
    "bash.bashrc",
    "ld.so.preload",
    "sitecustomize.pl",
    "sitecustomize.py",
    "usercustomize.py",
    "zshenv",
    ".profile",
    ".bash_profile",
    "profile",
    "config.fish",
    "rbconfig.local.rb",
    ".noderc",
];

/// The files among those that a run read, by path. Files that contain nothing but comments slow nothing.
pub(super) fn among(files: &UsedFiles) -> Vec<String> {
    let influences = files.read.iter().filter(|path| runs_first(path) || is_path_file_with_code(path));
    influences.map(|path| path.display().to_string()).collect()
}

fn runs_first(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| RUN_FIRST.iter().any(|known| name == *known));
    named && any_line(path, |line| !line.is_empty() && !line.starts_with('#'))
}

/// A line of a `.pth` file that begins with `import` is executed at each start
/// (<https://docs.python.org/3/library/site.html>).
fn is_path_file_with_code(path: &Path) -> bool {
    let is_path_file = path.extension().is_some_and(|extension| extension == "pth");
    is_path_file && any_line(path, |line| line.starts_with("import ") || line.starts_with("import\t"))
}

fn any_line(path: &Path, wanted: fn(&str) -> bool) -> bool {
    fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).lines().any(|line| wanted(line.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_files_with_code_and_scripts_that_run_first_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let written = [
            ("a.pth", "import certifi\n"),
            ("b.pth", "/some/folder\n"),
            ("zshenv", "# only a comment\n\n"),
            (".zshenv", "export A=1\n"),
            ("hello.py", "import os\n"),
        ];
        let paths = written.map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        });
        let files = UsedFiles { read: paths.into(), ..UsedFiles::default() };
        let found = among(&files);
        let names: Vec<&str> = found.iter().filter_map(|path| path.rsplit('/').next()).collect();
        assert_eq!(names, [".zshenv", "a.pth"]);
    }
}
