//! What `--fail-if-slower` says.

use super::lists::list;
use super::terminal::Terminal;

/// The programs that are certainly slower by more than `limit`, as a fraction.
pub fn verdict(slower: &[&str], limit: f64, terminal: &Terminal) -> String {
    let percent = limit * 100.0;
    if slower.is_empty() {
        return terminal.wrap(&format!("No program is certainly slower by more than {percent} %."), 0) + "\n";
    }
    let line = |name: &&str| format!("`{name}`: certainly slower by more than {percent} %");
    list("Too slow", slower.iter().map(line), terminal)
}
