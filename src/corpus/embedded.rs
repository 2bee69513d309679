//! The corpus embedded in the binary.

use super::{CorpusError, Program, SourceFile};
use include_dir::{Dir, include_dir};

static CORPUS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/corpus");

/// Sorted by name.
pub(crate) fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(&CORPUS)
}

/// The programs of another embedded folder, sorted by name.
pub(crate) fn programs_of(corpus: &Dir<'static>) -> Result<Vec<Program>, CorpusError> {
    let mut programs = corpus.dirs().map(program).collect::<Result<Vec<_>, _>>()?;
    programs.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(programs)
}

fn program(folder: &Dir<'static>) -> Result<Program, CorpusError> {
    let name = folder.path().to_string_lossy();
    let mut sources = Vec::new();
    collect(folder, folder, &mut sources);
    super::folder::assemble(sources, &format!("{name}/program.toml"), &name)
}

fn collect(root: &Dir<'static>, folder: &Dir<'static>, sources: &mut Vec<SourceFile>) {
    for file in folder.files() {
        let path = file.path().strip_prefix(root.path()).unwrap_or(file.path());
        sources.push(SourceFile { path: path.to_owned(), contents: file.contents().to_vec() });
    }
    for inner in folder.dirs() {
        collect(root, inner, sources);
    }
}
