//! The programs in the binary. `build.rs` packs each folder of programs into one compressed file.

use super::{CorpusError, Program, SourceFile, folder};
use flate2::read::DeflateDecoder;
use std::collections::BTreeMap;
use std::io::Read;

static CORPUS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/corpus.packed"));

/// Sorted by name.
pub(crate) fn programs() -> Result<Vec<Program>, CorpusError> {
    programs_of(CORPUS)
}

/// The programs of another packed folder, sorted by name.
pub(crate) fn programs_of(packed: &[u8]) -> Result<Vec<Program>, CorpusError> {
    let mut unpacked = Vec::new();
    let _ = DeflateDecoder::new(packed).read_to_end(&mut unpacked); // a file that we packed has no errors

    let mut programs: BTreeMap<&str, Vec<SourceFile>> = BTreeMap::new();
    let mut rest = &unpacked[..];
    while let Some((program, file, after)) = first_file(rest) {
        rest = after;
        programs.entry(program).or_default().push(file);
    }
    let assemble = |(name, sources)| folder::assemble(sources, &format!("{name}/program.toml"), name);
    programs.into_iter().map(assemble).collect()
}

/// The first file and its program, and what follows it.
fn first_file(packed: &[u8]) -> Option<(&str, SourceFile, &[u8])> {
    let end = packed.iter().position(|byte| *byte == b'\n')?;
    let (length, path) = std::str::from_utf8(&packed[..end]).ok()?.split_once(' ')?;
    let (contents, rest) = packed[end + 1..].split_at_checked(length.parse().ok()?)?;
    let (program, path) = path.split_once('/')?;
    Some((program, SourceFile { path: path.into(), contents: contents.to_vec() }, rest))
}
