//! The tools that manifests name: whether they are installed, where they really are, and their versions.

use super::execute::{Destination, Finished, Limits, execute};
use super::manifest::Manifest;
use super::placeholder::{Tools, expand_all};
use super::tool::ToolSpec;
use firstbyte_measure::launch::find_in_path;
use serde::Serialize;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundTool {
    /// The name to look for in `PATH`.
    pub tool: String,
    /// The real executable, not a version manager's shim.
    pub path: PathBuf,
    /// The first line of its version output.
    pub version: Option<String>,
}

/// A tool that is not installed, or does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingTool {
    /// The name that was looked for in `PATH`.
    pub tool: String,
    /// One lower-case line.
    pub reason: String,
    /// The Debian packages that provide it.
    pub packages: Vec<String>,
    /// The command that installs it if no Debian package does, or empty.
    pub install: Vec<String>,
}

type Found = Result<FoundTool, MissingTool>;

/// Asking a tool takes one or two processes, so each is asked once.
static ASKED: LazyLock<Mutex<HashMap<ToolSpec, Arc<OnceLock<Found>>>>> = LazyLock::new(Mutex::default);

/// Long enough for a JVM or a version manager on a slow machine.
const LIMITS: Limits = Limits { timeout: Duration::from_secs(20), output: 1 << 16, interrupted: &|| false };

/// Looks for a tool. The answer is remembered until [`forget`] is called.
pub fn find(spec: &ToolSpec) -> Found {
    let cell = {
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        asked.entry(spec.clone()).or_default().clone()
    };
    cell.get_or_init(|| ask(spec)).clone()
}

/// Forgets all answers, after something has been installed.
pub fn forget() {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// All tools of a manifest, or the missing ones.
pub fn find_all(manifest: &Manifest) -> Result<Vec<FoundTool>, Vec<MissingTool>> {
    let (found, missing): (Vec<Found>, Vec<Found>) =
        manifest.toolchain.iter().map(find).partition(Result::is_ok);
    if missing.is_empty() {
        Ok(found.into_iter().filter_map(Result::ok).collect())
    } else {
        Err(missing.into_iter().filter_map(Result::err).collect())
    }
}

/// The paths that placeholders stand for.
pub(crate) fn paths(tools: &[FoundTool]) -> Tools {
    tools.iter().map(|tool| (tool.tool.clone(), tool.path.clone())).collect()
}

fn ask(spec: &ToolSpec) -> Found {
    let missing = |reason: String| {
        let ToolSpec { tool, packages, install, .. } = spec.clone();
        MissingTool { tool, reason, packages, install }
    };
    let path = path(spec).map_err(missing)?;
    let version = version(spec, &path);
    if spec.path.is_some() && version.is_none() {
        return Err(missing(format!("`{}` does not work: it does not report its version", path.display())));
    }
    Ok(FoundTool { tool: spec.tool.clone(), path, version })
}

fn path(spec: &ToolSpec) -> Result<PathBuf, String> {
    if let Some(path) = &spec.path {
        return Ok(path.clone());
    }
    let first = find_in_path(&spec.tool).ok_or_else(|| format!("`{}` is not in PATH", spec.tool))?;
    if spec.locate.is_empty() { Ok(first) } else { locate(spec, &first) }
}

/// The path that the tool reports for itself. A version manager's shim reports the interpreter that it would start.
fn locate(spec: &ToolSpec, first: &Path) -> Result<PathBuf, String> {
    let argv: Vec<OsString> = spec.locate.iter().map(OsString::from).collect();
    let failed = |why: String| format!("`{}` exists, but does not work: {why}", first.display());
    let Finished { exit, mut output } = execute(&argv, Path::new("/"), Destination::Stdout, LIMITS)
        .map_err(|error| failed(error.to_string()))?;
    if !exit.success() {
        return Err(failed(exit.to_string()));
    }

    while output.last().is_some_and(u8::is_ascii_whitespace) {
        output.pop();
    }
    let path = PathBuf::from(OsString::from_vec(output));
    if path.is_absolute() && path.is_file() {
        Ok(path)
    } else {
        Err(failed("it does not report its path".to_owned()))
    }
}

/// Asked in `/`: a version manager may choose another version in the current folder, but builds do not run there.
fn version(spec: &ToolSpec, path: &Path) -> Option<String> {
    let tools = Tools::from([(spec.tool.clone(), path.to_owned())]);
    let argv = expand_all(&spec.version, &tools);
    let finished = execute(&argv, Path::new("/"), Destination::Both, LIMITS).ok()?;
    let text = String::from_utf8_lossy(&finished.output);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    finished
        .exit
        .success()
        .then(|| line.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(tool: &str, version: &[&str], locate: &[&str]) -> ToolSpec {
        let owned = |argv: &[&str]| argv.iter().map(|text| (*text).to_owned()).collect();
        let (tool, version, locate) = (tool.to_owned(), owned(version), owned(locate));
        ToolSpec { tool, version, locate, ..ToolSpec::default() }
    }

    #[test]
    fn a_tool_is_found_with_the_first_line_of_its_version() {
        let tool = find(&spec("sh", &["{sh}", "-c", "echo; echo sh 1.2 >&2; echo more"], &[])).unwrap();
        assert!(tool.path.is_absolute());
        assert_eq!(tool.version.as_deref(), Some("sh 1.2"));
    }

    #[test]
    fn a_tool_without_a_version_is_found_too() {
        assert_eq!(find(&spec("sh", &["{sh}", "-c", "exit 1"], &[])).unwrap().version, None);
        assert_eq!(find(&spec("sh", &[], &[])).unwrap().version, None);
    }

    #[test]
    fn a_shim_is_resolved_to_the_real_tool() {
        let tool = find(&spec("sh", &[], &["sh", "-c", "echo /bin/sh"])).unwrap();
        assert_eq!(tool.path, Path::new("/bin/sh"));
    }

    #[test]
    fn a_shim_without_a_real_tool_is_a_missing_tool() {
        for script in ["exit 1", "echo nowhere", "true"] {
            let missing = find(&spec("sh", &[], &["sh", "-c", script])).unwrap_err();
            assert!(missing.reason.contains("exists, but does not work"), "{}", missing.reason);
        }
    }

    #[test]
    fn a_tool_that_is_not_in_path_is_missing() {
        assert_eq!(
            find(&spec("no-such-tool", &[], &[])).unwrap_err().reason,
            "`no-such-tool` is not in PATH"
        );
    }
}
