//! Files of two start-ups that play the same part: the program that each side runs, and the file that is executed for it.

use super::model::Execution;
use super::step::{PageFault, Region, What};
use super::summary::Summary;
use std::sync::Arc;

/// The files of one side that have another path on the other side, each with the name that both sides share.
#[derive(Clone, Debug, Default)]
pub(super) struct Counterparts {
    shared: Vec<(Arc<str>, Arc<str>)>,
    /// Files in this folder have their path from there.
    folder: Option<Arc<str>>,
}

const PROGRAM: &str = "the program";
/// The interpreter of a script, or the file to which a symbolic link leads.
const EXECUTABLE: &str = "the executed file";

impl Counterparts {
    /// For both sides. A file that has the same path on both keeps its name.
    pub(super) fn of(first: &Summary, second: &Summary) -> [Counterparts; 2] {
        let in_folder =
            |summary: &Summary| Counterparts { shared: Vec::new(), folder: summary.folder.clone() };
        let [mut ours, mut theirs] = [first, second].map(in_folder);
        let executions = [first, second].map(executions);
        let [Some(a), Some(b)] = executions.map(<[Execution]>::last) else { return [ours, theirs] };
        if executions[0].len() != executions[1].len() {
            return [ours, theirs];
        }

        let mut add = |name: &str, [a, b]: [&Arc<str>; 2]| {
            if a != b {
                ours.shared.push((Arc::clone(a), name.into()));
                theirs.shared.push((Arc::clone(b), name.into()));
            }
        };
        add(PROGRAM, [&a.path, &b.path]);
        match [a, b].map(|execution| is_same_file(&execution.path, &execution.executed)) {
            [true, true] => add(PROGRAM, [&a.executed, &b.executed]),
            [false, false] => add(EXECUTABLE, [&a.executed, &b.executed]),
            _ => {}
        }
        [ours, theirs]
    }

    /// The shared name of a file, or else its path.
    pub(super) fn of_path(&self, path: &str) -> String {
        let shared = self.shared.iter().find(|(ours, _)| &**ours == path);
        shared.map_or_else(|| self.path_inside(path), |(_, shared)| shared).to_owned()
    }

    fn path_inside<'p>(&self, path: &'p str) -> &'p str {
        let inside = self.folder.as_ref().and_then(|folder| path.strip_prefix(&**folder));
        match inside {
            Some("") => ".",
            Some(inside) => inside.strip_prefix('/').unwrap_or(path),
            None => path,
        }
    }

    /// The same for a name that begins with that of a file without its folder.
    pub(super) fn of_name(&self, name: &str) -> String {
        let shared = self.shared.iter().find_map(|(path, shared)| {
            let rest = name.strip_prefix(file_name(path))?;
            (rest.is_empty() || rest.starts_with(',')).then(|| format!("{shared}{rest}"))
        });
        shared.unwrap_or_else(|| name.to_owned())
    }

    /// A step with the shared name of the file that it is about.
    pub(super) fn of_step(&self, what: &What) -> What {
        let path = |path: &Arc<str>| Arc::from(self.of_path(path));
        match what.clone() {
            What::Call { name, text, file: Some(file), failed, code } => {
                What::Call { name, text, file: Some(path(&file)), failed, code }
            }
            What::Fault(PageFault { region: Region::File(file), page, write, major, code }) => {
                What::Fault(PageFault { region: Region::File(path(&file)), page, write, major, code })
            }
            What::Fault(PageFault { region: Region::Bss(file), page, write, major, code }) => {
                What::Fault(PageFault { region: Region::Bss(path(&file)), page, write, major, code })
            }
            What::Exec { stage, path: file } => What::Exec { stage, path: path(&file) },
            other => other,
        }
    }
}

/// What the tracee's own process executed.
fn executions(summary: &Summary) -> &[Execution] {
    summary.median_run.processes.first().map_or(&[], |process| &process.execs)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// As far as the paths tell: one may be relative.
fn is_same_file(a: &str, b: &str) -> bool {
    file_name(a) == file_name(b)
}
