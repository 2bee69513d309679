//! `inspect`: executables, scripts, libraries and the loader's cache. The file is also the library that it needs.
#![no_main]

use firstbyte::inspect::view::{FileFacts, FileKind};
use firstbyte::inspect::{Environment, FileView, InspectError, Surroundings, disassembly, inspect};
use firstbyte::report::text::inspect as text;
use std::path::{Path, PathBuf};

/// A name that would clear a terminal and fake a line of output.
const NAME: &str = "/fi\x1b[2Jle\n  runtime  \u{9b}5n";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let files = OneFile(bytes);
    let environment = Environment::default().with("LD_LIBRARY_PATH", "/lib").with("PATH", "/lib");
    let surroundings = Surroundings { files: &files, environment, user: 0 };
    if let Ok(inspection) = inspect(Path::new(NAME), &surroundings) {
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
        self.facts(path).map(|_| self.0.to_vec()).ok_or_else(missing)
    }

    fn facts(&self, path: &Path) -> Option<FileFacts> {
        let is_there =
            path == Path::new(NAME) || path.starts_with("/lib") || path == Path::new("/etc/ld.so.cache");
        let identity = (0, path.as_os_str().len() as u64);
        is_there.then_some(FileFacts { kind: FileKind::Regular, identity, mode: 0o100_755, owner: 0 })
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.facts(path).map(|_| path.to_owned())
    }
}

fn shows_no_escape(text: &str) {
    let shown = text.chars().find(|c| c.is_control() && *c != '\n');
    assert!(shown.is_none(), "{text:?}");
}
