//! The texts of the source lines that user code is in.

use super::Summary;
use super::profile::SourceLine;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Larger files are not read, and no more of a line is kept.
const MAX_FILE: u64 = 4 << 20;
const MAX_LINE: usize = 160;

/// By file and line, as far as the files can be read.
pub(super) fn source_lines(summary: &Summary) -> BTreeMap<String, BTreeMap<u32, String>> {
    let Some(divided) = summary.user_code.as_ref().map(|code| &code.divided) else { return BTreeMap::new() };
    let nodes = divided.nodes.iter().map(|node| (&node.frame, &[][..]));
    let functions = divided.functions.iter().map(|function| (&function.frame, &function.lines[..]));
    let mut wanted = BTreeMap::<&str, BTreeSet<u32>>::new();
    for (frame, lines) in nodes.chain(functions) {
        if let Some(SourceLine { file, line, .. }) = &frame.source {
            let lines = lines.iter().map(|line| line.line).chain([*line]);
            wanted.entry(file).or_default().extend(lines.filter(|line| *line > 0));
        }
    }
    let known =
        wanted.into_iter().filter_map(|(file, lines)| Some((file.to_owned(), of_file(file, &lines)?)));
    known.filter(|(_, lines)| !lines.is_empty()).collect()
}

fn of_file(file: &str, wanted: &BTreeSet<u32>) -> Option<BTreeMap<u32, String>> {
    let path = file.strip_prefix("file://").unwrap_or(file);
    // a pipe has no text yet, and would be waited for
    fs::metadata(path).ok().filter(|facts| facts.is_file() && facts.len() <= MAX_FILE)?;
    let bytes = fs::read(path).ok()?;
    let numbered = (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(line, _)| wanted.contains(line));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().chars().take(MAX_LINE).collect();
    Some(numbered.map(|(line, bytes)| (line, text(bytes))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_regular_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.py");
        fs::write(&file, b"import os\n\n  def f(\xff):\n".as_slice()).unwrap();
        let of = |path: &str| of_file(path, &BTreeSet::from([1, 3, 9]));
        let expected = BTreeMap::from([(1, "import os".to_owned()), (3, "def f(\u{fffd}):".to_owned())]);
        assert_eq!(of(file.to_str().unwrap()).unwrap(), expected);
        assert_eq!(of(&format!("file://{}", file.display())).unwrap(), expected);
        assert_eq!([of("<string>"), of("/dev/zero"), of("/dev")], [None, None, None]);
    }
}
