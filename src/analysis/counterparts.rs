//! Files of two start-ups that play the same part: the program that each side runs, the wrappers before it, and the files that
//! are executed for them.

use super::model::Execution;
use super::step::{PageFault, Region, What};
use super::summary::Summary;
use std::sync::Arc;

/// Paths of one side, each with the name that both sides share.
type SharedNames = Vec<(Arc<str>, Arc<str>)>;

/// The files of one side that have another path on the other side, each with the name that both sides share.
#[derive(Clone, Debug, Default)]
pub(super) struct Counterparts {
    shared: SharedNames,
    /// Files in this folder have their path from there.
    folder: Option<Arc<str>>,
}

const PROGRAM: &str = "the program";
const WRAPPER: &str = "the wrapper";
/// The interpreter of a script, or the file to which a symbolic link leads.
const EXECUTABLE: &str = "the executed file";

impl Counterparts {
    /// For both sides. A file that has the same path on both keeps its name.
    pub(super) fn of(first: &Summary, second: &Summary) -> [Counterparts; 2] {
        let [ours, theirs] = shared_names([first, second].map(executions));
        let within = |shared, summary: &Summary| Counterparts { shared, folder: summary.folder.clone() };
        [within(ours, first), within(theirs, second)]
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

/// For the files of both sides that have other paths there, the names that they share.
fn shared_names(sides: [&[Execution]; 2]) -> [SharedNames; 2] {
    let (mut ours, mut theirs) = (SharedNames::new(), SharedNames::new());
    if sides[0].is_empty() || sides[0].len() != sides[1].len() {
        return [ours, theirs];
    }

    let mut add = |name: &str, [a, b]: [&Arc<str>; 2]| {
        let is_new = ours.iter().all(|(known, _)| known != a) && theirs.iter().all(|(known, _)| known != b);
        if a != b && is_new {
            ours.push((Arc::clone(a), name.into()));
            theirs.push((Arc::clone(b), name.into()));
        }
    };
    // the program first: what is executed twice is that
    for (name, (a, b)) in parts(sides[0].len()).iter().zip(sides[0].iter().zip(sides[1])).rev() {
        add(name, [&a.path, &b.path]);
        match [a, b].map(|execution| is_same_file(&execution.path, &execution.executed)) {
            [true, true] => add(name, [&a.executed, &b.executed]),
            [false, false] if name == PROGRAM => add(EXECUTABLE, [&a.executed, &b.executed]),
            [false, false] => add(&format!("{EXECUTABLE} of {name}"), [&a.executed, &b.executed]),
            _ => {}
        }
    }
    [ours, theirs]
}

/// What each of so many programs is that are executed one after another.
fn parts(executions: usize) -> Vec<String> {
    let wrapper = |number| match executions {
        2 => WRAPPER.to_owned(),
        _ => format!("{WRAPPER} {number}"),
    };
    (1..executions).map(wrapper).chain([PROGRAM.to_owned()]).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use firstbyte_measure::units::Nanos;

    #[test]
    fn wrappers_under_other_paths_are_counterparts_as_the_program_is() {
        let exec = |path: &str, executed: &str| Execution {
            start: Nanos(0),
            took: Nanos(0),
            path: path.into(),
            executed: executed.into(),
            argv: Vec::new(),
        };
        let side = |version: &str| {
            let wrapper = exec(&format!("/{version}/bin/run"), &format!("/{version}/bin/sh"));
            [exec("/usr/bin/env", "/usr/bin/env"), wrapper, exec(&format!("/{version}/lib/app"), "app")]
        };
        let (old, new) = (side("1"), side("2"));
        let shared = |path: &str| {
            let [first, second] = shared_names([&old, &new]).map(|names| {
                names.into_iter().find(|(of, _)| path.ends_with(&of[2..])).map(|(_, name)| name)
            });
            assert_eq!(first, second);
            first
        };
        assert_eq!(shared("/lib/app").as_deref(), Some("the program"));
        assert_eq!(shared("/bin/run").as_deref(), Some("the wrapper 2"));
        assert_eq!(shared("/bin/sh").as_deref(), Some("the executed file of the wrapper 2"));
        assert_eq!(shared("/usr/bin/env"), None);
        assert_eq!(shared_names([&old, &new[1..]]), [SharedNames::new(), SharedNames::new()]);
    }
}
