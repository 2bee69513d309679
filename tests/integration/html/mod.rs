//! The HTML page: the files that `report` and `--html` write. `tests/browser` opens them in Chromium.

mod documents;
mod page;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `firstbyte` with these arguments in `folder`.
fn firstbyte(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

/// Writes the documents and one page of all of them. Returns the page.
fn page(folder: &Path, documents: &[(&str, serde_json::Value)]) -> String {
    let mut arguments = vec!["report", "-o", "page.html"];
    for (name, document) in documents {
        std::fs::write(folder.join(name), document.to_string()).unwrap();
        arguments.push(name);
    }
    let output = firstbyte(folder, &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("wrote `page.html`: "), "{said}");
    std::fs::read_to_string(folder.join("page.html")).unwrap()
}
