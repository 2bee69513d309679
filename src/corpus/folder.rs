//! The user's corpus: a folder with one subfolder per program.

use super::{CorpusError, Manifest, Program, SkipCause, SkippedProgram, SourceFile};
use std::fs::{self, DirEntry, File, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "program.toml";

/// Sources are small. A build tree left in the folder by accident is not.
const MAX_FOLDER_BYTES: u64 = 16 << 20;

/// The programs in the subfolders of `root`, sorted by name, and the subfolders without a program. Subfolders whose name
/// begins with a dot are ignored.
pub(crate) fn programs(root: &Path) -> Result<(Vec<Program>, Vec<SkippedProgram>), CorpusError> {
    let shown = entries(root)?.into_iter().filter(is_shown);
    let mut folders: Vec<PathBuf> = shown.map(|(path, _)| path).collect();
    folders.sort();
    let (programs, others): (Vec<_>, Vec<_>) =
        folders.into_iter().partition(|folder| folder.join(MANIFEST).exists());
    if programs.is_empty() {
        return Err(CorpusError::Empty { path: root.to_owned() });
    }

    let programs = programs.iter().map(|folder| program(folder)).collect::<Result<_, _>>()?;
    Ok((programs, others.iter().map(|folder| no_program(folder)).collect()))
}

fn is_shown((path, kind): &(PathBuf, FileType)) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    (kind.is_dir() || kind.is_symlink() && path.is_dir()) && !hidden
}

fn no_program(folder: &Path) -> SkippedProgram {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let reason = format!("`{}` has no `{MANIFEST}`", folder.display());
    SkippedProgram::new(&name, SkipCause::Unfit, reason)
}

fn program(folder: &Path) -> Result<Program, CorpusError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut sources = Vec::new();
    let mut left = MAX_FOLDER_BYTES;
    collect(folder, folder, &mut left, &mut sources)?;
    assemble(sources, &folder.join(MANIFEST).display().to_string(), &name)
}

/// Makes a program from its files: finds the manifest among them, and checks the rules that concern both.
pub(crate) fn assemble(
    mut sources: Vec<SourceFile>,
    manifest_path: &str,
    folder: &str,
) -> Result<Program, CorpusError> {
    let rule = |cause: String| CorpusError::Rule { manifest: manifest_path.to_owned(), cause };
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    let text = sources.iter().find(|file| file.path == Path::new(MANIFEST));
    let text = text.ok_or_else(|| rule("it does not exist".to_owned()))?;
    let mut manifest = Manifest::parse(&text.contents, manifest_path, folder)?;

    if let Some(script) = &mut manifest.script
        && script.source.as_os_str().is_empty()
    {
        let mut others = sources.iter().map(|file| &file.path).filter(|path| *path != Path::new(MANIFEST));
        let (Some(only), None) = (others.next(), others.next()) else {
            return Err(rule(
                "its `script` needs a `source`: there is not exactly one other file".to_owned(),
            ));
        };
        script.source.clone_from(only);
    }
    if let Some(script) = &manifest.script
        && !sources.iter().any(|file| file.path == script.source)
    {
        return Err(rule(format!("its script `{}` is not in its folder", script.source.display())));
    }
    Ok(Program { manifest, sources })
}

fn collect(
    root: &Path,
    folder: &Path,
    left: &mut u64,
    sources: &mut Vec<SourceFile>,
) -> Result<(), CorpusError> {
    for (path, kind) in entries(folder)? {
        // Symbolic links are not followed: a link upwards would never end.
        if kind.is_dir() {
            collect(root, &path, left, sources)?;
        } else if kind.is_file() {
            let contents = read(&path, *left + 1).map_err(|cause| unreadable(&path, cause))?;
            *left = left
                .checked_sub(contents.len() as u64)
                .ok_or_else(|| CorpusError::TooLarge { path: root.to_owned(), limit: MAX_FOLDER_BYTES })?;

            let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
            sources.push(SourceFile { path, contents });
        }
    }
    Ok(())
}

/// At most this many bytes of a file.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut contents = Vec::with_capacity(4096); // so that a source is read at once
    File::open(path)?.take(most).read_to_end(&mut contents)?;
    Ok(contents)
}

/// The paths in a folder and their types, which cost no further system calls.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, FileType)>, CorpusError> {
    let typed = |entry: io::Result<DirEntry>| entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
    let listed = fs::read_dir(folder).and_then(|all| all.map(typed).collect());
    listed.map_err(|cause| unreadable(folder, cause))
}

fn unreadable(path: &Path, cause: io::Error) -> CorpusError {
    CorpusError::Unreadable { path: path.to_owned(), cause }
}
