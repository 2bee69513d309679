//! A program with each installed version of its interpreter.

use super::selection::matches;
use super::tool::ToolSpec;
use super::toolchain;
use super::{Corpus, CorpusError, Program, Selection};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The origin of an interpreter that is in `PATH` and at no place that the manifest names.
const IN_PATH: &str = "path";

impl Corpus {
    /// The wanted programs whose manifest says where versions of their interpreter are, each once with every version. An
    /// error if there is none.
    pub fn versions(&self, selection: &Selection) -> Result<Vec<Program>, CorpusError> {
        let wanted = self.select(selection)?;
        let mut programs: Vec<Program> = wanted.into_iter().filter_map(of_program).flatten().collect();
        if programs.is_empty() {
            let known = self.programs().iter().filter(|program| interpreter(program).is_some());
            return Err(CorpusError::NoVersions {
                known: known.map(Program::name).collect::<Vec<_>>().join(","),
            });
        }
        distinguish(&mut programs);
        Ok(programs)
    }
}

/// The tool that has several versions.
fn interpreter(program: &Program) -> Option<&ToolSpec> {
    program.manifest.toolchain.iter().find(|tool| !tool.installations.is_empty())
}

/// Where no version is installed, the program itself, which then says what installs one.
fn of_program(program: &Program) -> Option<Vec<Program>> {
    let found = installed(interpreter(program)?);
    if found.is_empty() {
        return Some(vec![program.clone()]);
    }
    Some(found.iter().map(|(path, origin)| with_installation(program, path, origin)).collect())
}

/// The executables, without symbolic links, so that each is there once, and who installed them.
fn installed(interpreter: &ToolSpec) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut add = |path: &Path, origin: &str| {
        if let Ok(path) =
            path.canonicalize().and_then(|path| Ok(fs::metadata(&path)?.is_file().then_some(path)))
        {
            path.map(|path| found.entry(path).or_insert_with(|| origin.to_owned()));
        }
    };
    for (origin, patterns) in &interpreter.installations {
        patterns.iter().flat_map(|pattern| fitting(pattern)).for_each(|path| add(&path, origin));
    }
    if let Ok(tool) = toolchain::find(interpreter) {
        add(&tool.path, IN_PATH);
    }
    found
}

/// All tools of the program are those in the folder of the interpreter.
fn with_installation(program: &Program, path: &Path, origin: &str) -> Program {
    let mut program = program.clone();
    let manifest = &mut program.manifest;
    for tool in &mut manifest.toolchain {
        let is_interpreter = !tool.installations.is_empty();
        tool.path = Some(if is_interpreter { path.to_owned() } else { path.with_file_name(&tool.tool) });
        tool.packages.clear(); // they would install another version
        tool.install.clear();
    }

    let version = interpreter(&program).and_then(|tool| toolchain::find(tool).ok()?.version);
    let words = [Some(program.name()), version.as_deref().map(number), Some(origin)];
    program.manifest.name =
        words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    program.manifest.description = path.display().to_string();
    program
}

/// The number in what a program says about its version, such as `3.12.1` in `Python 3.12.1`.
fn number(version: &str) -> &str {
    let begun = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = begun.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(begun.len());
    begun[..end].trim_end_matches('.')
}

/// Two programs of one name are numbered from the second on.
fn distinguish(programs: &mut [Program]) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for program in programs {
        let name = &mut program.manifest.name;
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(name, "-{count}"); // a string has room
        }
    }
}

/// The paths that a pattern fits. It begins with `/`, with `~/` (the home folder) or with `$NAME/` (a variable), and `*` and
/// `?` stand for a part of a name.
fn fitting(pattern: &str) -> Vec<PathBuf> {
    let (first, rest) = pattern.split_once('/').unwrap_or((pattern, ""));
    let root = match first {
        "" => Some("/".into()),
        "~" => std::env::var_os("HOME"),
        _ => first.strip_prefix('$').and_then(std::env::var_os),
    };
    let begin = root.filter(|root| !root.is_empty()).map(PathBuf::from).into_iter().collect();
    rest.split('/').fold(begin, |folders: Vec<PathBuf>, name| {
        folders.iter().flat_map(|folder| inside(folder, name)).collect()
    })
}

/// The paths in a folder whose names fit. Names that begin with a dot are fitted by none but themselves.
fn inside(folder: &Path, name: &str) -> Vec<PathBuf> {
    if !name.contains(['*', '?']) {
        return vec![folder.join(name)];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let own = path.file_name().unwrap_or_default().as_encoded_bytes();
        !own.starts_with(b".") && matches(name.as_bytes(), own)
    };
    entries.map(|entry| entry.path()).filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_first_number_with_its_parts() {
        for (text, expected) in [
            ("Python 3.12.1", "3.12.1"),
            ("v22.1.0", "22.1.0"),
            ("ruby 3.1.2p20 (2022-04-12 revision 4491bb740a) [x86_64-linux-gnu]", "3.1.2p20"),
            ("openjdk version \"17.0.17\" 2025-10-21", "17.0.17"),
            ("openjdk version \"1.8.0_402\"", "1.8.0"),
            ("version 3.", "3"),
            ("none", ""),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn a_pattern_fits_what_a_shell_would_find() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["versions/3.12/bin", "versions/3.13/bin", "versions/.tmp/bin"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let mut found = fitting(&format!("{}/versions/*/bin", folder.path().display()));
        found.sort();
        assert_eq!(found, ["3.12", "3.13"].map(|name| folder.path().join("versions").join(name).join("bin")));
        for pattern in ["versions/*", "$NO_SUCH_VARIABLE/*", "/no-such-folder/*"] {
            assert!(fitting(pattern).is_empty(), "{pattern}");
        }
    }
}
