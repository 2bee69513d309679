//! `inspect`: executables, scripts, libraries and the loader's cache. The file is also the library that it needs.
#![no_main]

use firstbyte::inspect::ld_cache::LdCache;
use firstbyte::inspect::libraries::LibrarySearch;
use firstbyte::inspect::{FileView, InspectError, disassembly, inspect};
use firstbyte::report::text::inspect as text;
use std::path::Path;

/// A name that would clear a terminal and fake a line of output.
const NAME: &str = "/fi\x1b[2Jle\n  runtime  \u{9b}5n";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let files = OneFile(bytes);
    let search =
        LibrarySearch { files: &files, library_path: Some("/lib".into()), cache: LdCache::parse(bytes) };
    if let Ok(inspection) = inspect(Path::new(NAME), &search) {
        shows_no_escape(&text::render(&inspection, None));
        assert!(!serde_json::to_vec(&inspection).expect("every path is text").contains(&0x1b));
    }
    if let Ok(lines) = disassembly::disassemble(Path::new(NAME), bytes, "main") {
        shows_no_escape(&text::render_lines(&lines));
    }
});

struct OneFile<'a>(&'a [u8]);

impl FileView for OneFile<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, InspectError> {
        let missing = || InspectError::NotAFile { path: path.display().to_string() };
        self.is_file(path).then(|| self.0.to_vec()).ok_or_else(missing)
    }

    fn is_file(&self, path: &Path) -> bool {
        path == Path::new(NAME) || path.starts_with("/lib")
    }
}

fn shows_no_escape(text: &str) {
    let shown = text.chars().find(|c| c.is_control() && *c != '\n');
    assert!(shown.is_none(), "{text:?}");
}
