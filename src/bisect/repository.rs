//! A git repository: commits in working trees of their own, so that the user's stays as it is, and `git bisect`.

use crate::bench::hook::Hook;
use firstbyte_measure::own_folder::OwnFolder;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A build that takes longer is killed.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    /// The shortest unique beginning of it.
    pub short: String,
    pub author: String,
    /// As `2026-11-26`.
    pub date: String,
    pub subject: String,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It goes on with this commit, in the tree.
    Next(Commit),
    /// The first bad commit.
    First(Commit),
    /// The first bad commit is one of these; those between them could not be judged.
    OneOf(Vec<Commit>),
}

/// The repository of the current folder.
#[derive(Debug)]
pub struct Repository {
    /// The current folder, seen from the top of a working tree.
    prefix: PathBuf,
    /// The trees.
    folder: OwnFolder,
}

/// A working tree. It is removed when it is dropped.
#[derive(Debug)]
pub struct Tree<'r> {
    repository: &'r Repository,
    top: PathBuf,
}

impl Repository {
    /// The error is the message for the user.
    pub fn open() -> Result<Repository, String> {
        let prefix = git(Path::new("."), &["rev-parse", "--show-prefix"])
            .map_err(|error| format!("this folder is in no git repository: {error}\nhelp: cd into one"))?;
        let folder = OwnFolder::temporary().map_err(|error| error.to_string())?;
        // what invocations that were killed have left behind
        let _ = git(Path::new("."), &["worktree", "prune"]);
        Ok(Repository { prefix: PathBuf::from(prefix.trim_end()), folder })
    }

    /// The commit that a user names.
    pub fn commit(&self, name: &str) -> Result<Commit, String> {
        let format = "--format=%H%x00%h%x00%an%x00%ad%x00%s";
        let text =
            git(Path::new("."), &["log", "-1", "--date=short", format, "--end-of-options", name, "--"])
                .map_err(|_| format!("`{name}` is no commit of this repository\nhelp: git log --oneline"))?;
        let mut fields = text.trim_end_matches('\n').split('\0').map(str::to_owned);
        let mut field = || fields.next().unwrap_or_default();
        Ok(Commit { id: field(), short: field(), author: field(), date: field(), subject: field() })
    }

    /// A working tree with a commit.
    pub fn tree(&self, name: &str, commit: &Commit) -> Result<Tree<'_>, String> {
        let top = self.folder.path().join(name);
        let path = top.to_string_lossy();
        git(Path::new("."), &["worktree", "add", "--detach", "--force", "--quiet", &path, &commit.id])?;
        Ok(Tree { repository: self, top })
    }
}

impl Tree<'_> {
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder in it that corresponds to the user's.
    pub fn folder(&self) -> PathBuf {
        self.top.join(&self.repository.prefix)
    }

    /// Puts another commit there.
    pub fn check_out(&self, commit: &Commit) -> Result<(), String> {
        git(&self.top, &["checkout", "--detach", "--force", "--quiet", &commit.id]).map(drop)
    }

    /// Builds what is there. The error says how it failed.
    pub fn build(&self, command: &str) -> Result<(), String> {
        let folder = self.folder();
        let script = format!("cd {} || exit\n{command}", shell_words::quote(&folder.to_string_lossy()));
        Hook { command: script, limit: BUILD_LIMIT, shell: None, variables: Vec::new() }.run()
    }

    /// Begins a search here.
    pub fn begin(&self, good: &Commit, bad: &Commit) -> Result<Found, String> {
        self.searched(&["bisect", "start", &bad.id, &good.id])
    }

    /// Continues it: the commit that is here is `good` or `bad`, or cannot be judged (`skip`).
    pub fn mark(&self, verdict: &str) -> Result<Found, String> {
        // a build may have changed files that git knows
        git(&self.top, &["reset", "--hard", "--quiet"])?;
        self.searched(&["bisect", verdict])
    }

    fn searched(&self, words: &[&str]) -> Result<Found, String> {
        let (text, error) = match git_output(&self.top, words)? {
            (true, text, _) => (text, String::new()),
            (false, text, error) => (text, error),
        };
        let ids =
            || text.lines().filter(|line| line.len() >= 40 && line.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some((id, _)) = text.lines().find_map(|line| line.split_once(" is the first bad commit")) {
            return self.repository.commit(id).map(Found::First);
        }
        if text.contains("only 'skip'ped commits left") {
            return ids().map(|id| self.repository.commit(id)).collect::<Result<_, _>>().map(Found::OneOf);
        }
        if !error.is_empty() {
            return Err(error);
        }
        let here = git(&self.top, &["rev-parse", "HEAD"])?;
        self.repository.commit(here.trim_end()).map(Found::Next)
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        let _ = git(Path::new("."), &["worktree", "remove", "--force", &self.top.to_string_lossy()]);
    }
}

/// Runs git, and returns what it prints. The error is its last line.
fn git(folder: &Path, words: &[&str]) -> Result<String, String> {
    match git_output(folder, words)? {
        (true, text, _) => Ok(text),
        (false, _, error) => Err(error),
    }
}

/// Whether git succeeded, what it printed, and its last line about errors.
fn git_output(folder: &Path, words: &[&str]) -> Result<(bool, String, String), String> {
    let mut command = Command::new("git");
    // A hook of git sets these for its own repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    let output = command.env("LC_ALL", "C").arg("-C").arg(folder).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        format!("`git` could not be run: {error}\nhelp: install it, as in apt-get install git")
    })?;
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let last = errors.trim_end().lines().last().unwrap_or("git failed");
    Ok((output.status.success(), text, last.trim_start_matches("fatal: ").to_owned()))
}
