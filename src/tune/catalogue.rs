//! The catalogue of variants: one small file a runtime, embedded in the binary, and files of the user.

use super::version::Version;
use crate::document::read::position;
use firstbyte_measure::regular_file;
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use toml::Spanned;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/tune");

/// Stands for the variant's own folder.
pub const FOLDER: &str = "{folder}";

/// Nobody writes more.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The variants for one runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// As it spells its own name.
    #[serde(rename = "runtime")]
    pub name: String,
    /// Its executables, without versions. Empty: the variants are for any program.
    #[serde(default)]
    pub programs: Vec<String>,
    /// The variants are for executables that Go's linker wrote.
    #[serde(default)]
    pub go: bool,
    /// The options with which it prints its version.
    #[serde(default)]
    pub version: Vec<String>,
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
}

/// One other way to start a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub name: Spanned<String>,
    /// What is different, a clause.
    pub text: String,
    /// What cannot be written as words and variables.
    #[serde(default)]
    pub how: Option<How>,
    /// Variables and their values. A variable that has another value is left alone, unless `replace` is set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    #[serde(default)]
    pub replace: bool,
    /// Variables that are removed, each by a variant of its own.
    #[serde(default)]
    pub unset: Vec<String>,
    /// Variables that are removed besides.
    #[serde(default)]
    pub unset_too: Vec<String>,
    /// Options of the runtime.
    #[serde(default)]
    pub options: Vec<String>,
    /// The options of one run that is made before, and that prepares the others.
    #[serde(default)]
    pub first: Vec<String>,
    /// Words instead of the runtime.
    #[serde(default)]
    pub program: Vec<String>,
    /// Words before the command.
    #[serde(default)]
    pub before: Vec<String>,
    /// Files of the catalogue that are copied to the variant's folder.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Start-up files that are copied there, and the variables that may name their folder: the first one that is set does. If
    /// the variant sets one of them, the other files of that folder are linked.
    #[serde(default)]
    pub start_files: Vec<String>,
    #[serde(default)]
    pub start_folder: Vec<String>,
    /// A command that is executed once, after the files are copied.
    #[serde(default)]
    pub make: Vec<String>,
    /// Options of the compiler.
    #[serde(default)]
    pub compiler: Vec<String>,
    /// It makes sense only if one of these variables is set.
    #[serde(default)]
    pub if_set: Vec<String>,
    /// It makes sense only for a program with several threads.
    #[serde(default)]
    pub if_threads: bool,
    /// The findings of `trace` whose cause it removes.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Only if they name one of these files; empty: always.
    #[serde(default)]
    pub files_of_findings: Vec<String>,
    /// Of several variants of a group, one is used at a time.
    #[serde(default)]
    pub group: Option<String>,
    /// The first version of the runtime that has it, and the first one that has it no more.
    #[serde(default)]
    pub since: Option<Version>,
    #[serde(default)]
    pub until: Option<Version>,
    /// It changes what the program does.
    #[serde(default)]
    pub behaviour: bool,
    /// What it writes to its folder.
    #[serde(default)]
    pub writes: Option<String>,
    /// How its effect is undone.
    #[serde(default)]
    pub undo: Option<String>,
    /// The folder of the user that its files are in; `None`: they are embedded.
    #[serde(skip)]
    pub origin: Option<PathBuf>,
}

/// Variants that depend on the course of the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// The program in which a chain of execs ends.
    Direct,
    /// The same, in the environment of the command.
    DirectPlain,
    /// PATH with the folder first in which programs are found.
    PathFirst,
    /// The child that prints.
    DirectChild,
    /// One of the most expensive imports is lazy.
    LazyImport,
    /// One of the .pth files, or `sitecustomize`, is left out.
    SiteHook,
    /// One of the most expensive lines of the start-up files is left out.
    ShellLine,
    /// The program is compiled with other options.
    Build,
}

/// Why a catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("cannot read `{}`: {cause}\nhelp: name a readable folder with .toml files: --catalogue DIR", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("`{}` contains no .toml file\nhelp: docs/tune.md describes the files of a catalogue", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` line {line}: {message}\nhelp: docs/tune.md describes the files of a catalogue", path.display())]
    Content {
        path: PathBuf,
        /// From 1.
        line: usize,
        message: String,
    },
}

/// All variants: the embedded ones, then those of the user.
pub fn load(folders: &[PathBuf]) -> Result<Vec<Runtime>, CatalogueError> {
    let mut runtimes = Vec::new();
    for file in EMBEDDED.files() {
        let text = String::from_utf8_lossy(file.contents());
        runtimes.push(parse(&text, file.path(), None)?);
    }
    // that of any program comes first
    runtimes.sort_by_key(|runtime| (!runtime.is_general(), runtime.name.clone()));
    for folder in folders {
        for path in files(folder)? {
            runtimes.push(parse(&text(&path)?, &path, Some(folder))?);
        }
    }
    Ok(runtimes)
}

/// A file of the embedded catalogue.
pub fn embedded(path: &Path) -> Option<&'static [u8]> {
    EMBEDDED.get_file(path).map(include_dir::File::contents)
}

fn text(path: &Path) -> Result<String, CatalogueError> {
    let (bytes, _) = regular_file::read(path, MAX_FILE_BYTES).map_err(|cause| {
        let is_other = cause.kind() == io::ErrorKind::InvalidInput;
        let cause = if is_other { io::Error::other("it is no regular file of at most 1 MiB") } else { cause };
        CatalogueError::Unreadable { path: path.to_owned(), cause }
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let (line, _) = position(&valid, valid.len());
        CatalogueError::Content { path: path.to_owned(), line, message: "it is not UTF-8".to_owned() }
    })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let listed = std::fs::read_dir(folder).and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    let listed: Vec<PathBuf> =
        listed.map_err(|cause| CatalogueError::Unreadable { path: folder.to_owned(), cause })?;
    let is_one = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix == "toml");
    let mut files: Vec<PathBuf> = listed.into_iter().filter(is_one).collect();
    files.sort();
    if files.is_empty() { Err(CatalogueError::Empty { path: folder.to_owned() }) } else { Ok(files) }
}

fn parse(text: &str, path: &Path, origin: Option<&Path>) -> Result<Runtime, CatalogueError> {
    let wrong = |byte: usize, message: String| {
        let (line, _) = position(text, byte);
        CatalogueError::Content { path: path.to_owned(), line, message }
    };
    let mut runtime: Runtime = toml::from_str(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        wrong(error.span().map_or(0, |span| span.start), message)
    })?;

    let mut names = BTreeSet::new();
    for variant in &runtime.variants {
        let twice = !names.insert(variant.name());
        let flaw = variant
            .flaw()
            .or_else(|| twice.then(|| format!("two variants are named `{}`", variant.name())))
            .or_else(|| variant.missing_file(origin?));
        if let Some(message) = flaw {
            return Err(wrong(variant.name.span().start, message));
        }
    }
    runtime.variants.iter_mut().for_each(|variant| variant.origin = origin.map(Path::to_owned));
    Ok(runtime)
}

impl Runtime {
    /// Its variants are for any program.
    pub fn is_general(&self) -> bool {
        self.programs.is_empty() && !self.go
    }

    /// Whether a program is one of its executables.
    pub fn executes(&self, program: &str) -> bool {
        self.programs.iter().any(|name| name == program_name(program))
    }
}

/// The name of a program without its folder and its version.
pub fn program_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

impl Variant {
    pub fn name(&self) -> &str {
        self.name.get_ref()
    }

    /// Why it makes no sense.
    fn flaw(&self) -> Option<String> {
        let name = self.name();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
            return Some(format!(
                "the name `{}` may only contain a to z, 0 to 9 and `-`",
                name.escape_debug()
            ));
        }
        if self.text.trim().is_empty() || self.text.chars().any(char::is_control) {
            return Some(format!("the text of `{name}` must be one line"));
        }
        let variables = self.set.keys().chain(&self.unset).chain(&self.unset_too);
        if let Some(variable) = variables.into_iter().find(|name| !is_variable(name)) {
            return Some(format!("`{}` is not the name of a variable", variable.escape_debug()));
        }
        if self.words().any(|word| word.contains('\0')) {
            return Some(format!("a word of `{name}` contains a NUL byte"));
        }
        let files = self.files.iter().map(PathBuf::as_path).chain(self.start_files.iter().map(Path::new));
        if let Some(file) = files.into_iter().find(|file| !stays_inside(file)) {
            return Some(format!("`{}` is not a path inside the folder of the catalogue", file.display()));
        }
        self.changes_nothing().then(|| format!("`{name}` changes nothing"))
    }

    /// A file of the user's catalogue that does not exist.
    fn missing_file(&self, folder: &Path) -> Option<String> {
        let missing = self.files.iter().find(|file| !folder.join(file).is_file())?;
        Some(format!("`{}` is no file in the folder of the catalogue", missing.display()))
    }

    /// Its folder takes the place of the user's.
    pub fn replaces_folder(&self) -> bool {
        self.start_folder.iter().any(|name| self.set.contains_key(name))
    }

    fn words(&self) -> impl Iterator<Item = &String> {
        let lists = [&self.options, &self.first, &self.program, &self.before, &self.make, &self.compiler];
        lists.into_iter().flatten().chain(self.set.values())
    }

    fn changes_nothing(&self) -> bool {
        let lists = [&self.options, &self.program, &self.before, &self.unset, &self.unset_too];
        self.how.is_none() && self.set.is_empty() && lists.iter().all(|list| list.is_empty())
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !name.chars().any(char::is_whitespace)
}

fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_catalogue_is_valid_and_has_its_files() {
        let all = load(&[]).unwrap();
        assert_eq!(all[0].name, "any program");
        let variants = || all.iter().flat_map(|runtime| &runtime.variants);
        assert!(variants().flat_map(|variant| &variant.files).all(|file| embedded(file).is_some()));
        let fills = |variant: &&Variant| variant.words().any(|word| word.contains(FOLDER));
        let writes = |variant: &&Variant| variant.files.is_empty() && fills(variant);
        assert!(variants().filter(writes).all(|variant| variant.writes.is_some() && variant.undo.is_some()));
        assert!(all.iter().any(|runtime| runtime.programs.contains(&"node".to_owned())));
    }

    fn error(text: &str) -> String {
        parse(text, Path::new("x.toml"), None).unwrap_err().to_string()
    }

    #[test]
    fn a_hostile_file_is_an_error_with_its_line() {
        let variant =
            |rest: &str| format!("runtime = \"x\"\n\n[[variant]]\nname = \"a\"\ntext = \"t\"\n{rest}\n");
        for (text, expected) in [
            ("runtime = 7".to_owned(), "`x.toml` line 1: invalid type"),
            ("runtime = \"x\"\nunknown = 1".to_owned(), "`x.toml` line 2: unknown field `unknown`"),
            ("a = [[[".repeat(2000), "`x.toml` line 1: "),
            (variant("set = { \"A B\" = \"1\" }"), "`x.toml` line 4: `A B` is not the name of a variable"),
            (variant("options = [\"a\\u0000b\"]"), "`x.toml` line 4: a word of `a` contains a NUL byte"),
            (variant("files = [\"../x\"]\nunset = [\"A\"]"), "`x.toml` line 4: `../x` is not a path inside"),
            (variant(""), "`x.toml` line 4: `a` changes nothing"),
            (variant("since = \"new\""), "`x.toml` line 6: "),
            (variant("how = \"magic\""), "`x.toml` line 6: unknown variant `magic`"),
            (
                variant("unset = [\"A\"]\n[[variant]]\nname = \"a\"\ntext = \"t\"\nunset = [\"B\"]"),
                "`x.toml` line 8: two variants are named `a`",
            ),
        ] {
            let message = error(&text);
            assert!(message.starts_with(expected), "{message}");
            assert!(message.contains("\nhelp: "), "{message}");
        }
    }

    #[test]
    fn a_folder_without_readable_files_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let message = load(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(message.contains("contains no .toml file"), "{message}");
        assert!(load(&[folder.path().join("no")]).unwrap_err().to_string().starts_with("cannot read"));
        std::fs::write(folder.path().join("own.toml"), b"runtime = \"x\"\n# \xff\n").unwrap();
        let message = load(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(message.contains("own.toml` line 2: it is not UTF-8"), "{message}");
        let missing = "runtime = \"x\"\n[[variant]]\nname = \"a\"\ntext = \"t\"\nset = { A = \"1\" }\nfiles = [\"b\"]\n";
        std::fs::write(folder.path().join("own.toml"), missing).unwrap();
        let message = load(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(
            message.contains("own.toml` line 3: `b` is no file in the folder of the catalogue"),
            "{message}"
        );
        std::fs::remove_file(folder.path().join("own.toml")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("own.toml")).unwrap();
        let message = load(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(message.contains("it is no regular file of at most 1 MiB"), "{message}");
    }
}
