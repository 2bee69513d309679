//! A tool that builds or runs programs. Those that several programs use are described once, in `corpus/tools.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

/// A tool: an executable in `PATH`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// The name to look for in `PATH`.
    pub tool: String,
    /// A command that prints the version in its first line. Empty if there is none.
    #[serde(default)]
    pub version: Vec<String>,
    /// A command that prints the path of the real executable, which a version manager hides.
    #[serde(default)]
    pub locate: Vec<String>,
    /// The Debian packages that provide it.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The command that installs it if no Debian package does.
    #[serde(default)]
    pub install: Vec<String>,
    /// Where versions of it are, for `--versions`: patterns of paths, by who installs it there.
    #[serde(default)]
    pub installations: BTreeMap<String, Vec<String>>,
    /// The executable itself, instead of the one in `PATH`.
    #[serde(skip)]
    pub path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct SharedTools {
    toolchain: Vec<ToolSpec>,
}

static SHARED: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
    let text = include_str!("../../corpus/tools.toml");
    let shared: SharedTools = toml::from_str(text).expect("a test reads it");
    shared.toolchain
});

pub(super) fn shared_tool(name: &str) -> Option<&'static ToolSpec> {
    SHARED.iter().find(|tool| tool.tool == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_shared_tool_is_described_once() {
        let names: BTreeSet<&str> = SHARED.iter().map(|tool| tool.tool.as_str()).collect();
        assert_eq!(names.len(), SHARED.len(), "{names:?}");
        assert!(!names.is_empty());
    }
}
