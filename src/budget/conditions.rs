//! What besides a program decides its counts: the variables and the executables of the machine. A budget file keeps both,
//! and [`differing`] finds what is not as it was.

use super::budget_file::{BudgetFile, ProgramBudget};
use super::executables::{Executable, executables};
use crate::document::compare::ComparedFact;
use firstbyte_measure::launch::Environment;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is not as it was when the file was written. `now`: the environment of the programs.
pub fn differing(file: &BudgetFile, words: &[Vec<String>], now: &Environment) -> Vec<ComparedFact> {
    let variables = file.environment.iter().flat_map(|then| variables(then, now));
    let programs = file.programs.iter().zip(words);
    variables.chain(programs.flat_map(|(program, words)| executables_that_differ(program, words))).collect()
}

fn variables(then: &BTreeMap<String, String>, now: &Environment) -> Vec<ComparedFact> {
    let today = now.to_fix();
    let names: BTreeSet<&String> = then.keys().chain(today.keys()).collect();
    let is_same = |name: &str| match (then.get(name), today.get(name)) {
        // the folders of the file come first
        (Some(then), Some(now)) if name == "PATH" => format!("{now}:").starts_with(&format!("{then}:")),
        (then, now) => then == now,
    };
    let value =
        |of: &BTreeMap<String, String>, name: &str| of.get(name).cloned().map_or(Value::Null, Value::from);
    let fact =
        |name: &String| ComparedFact { name: name.clone(), old: value(then, name), new: value(&today, name) };
    names.into_iter().filter(|name| !is_same(name)).map(fact).collect()
}

/// A program that cannot be found is reported as such.
fn executables_that_differ(program: &ProgramBudget, words: &[String]) -> Vec<ComparedFact> {
    let now = executables(words);
    if program.executables.is_empty() || now.is_empty() {
        return Vec::new();
    }
    let paired =
        (0..program.executables.len().max(now.len())).map(|n| (program.executables.get(n), now.get(n)));
    let shown =
        |executable: Option<&Executable>| executable.map_or(Value::Null, |e| Value::from(e.to_string()));
    let fact = |(then, now)| ComparedFact {
        name: format!("the executable of `{}`", program.label()),
        old: shown(then),
        new: shown(now),
    };
    paired.filter(|(then, now)| then != now).map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let executables =
            vec![Executable { path: "/then/sh".to_owned(), sha256: "0123456789abcdef".to_owned() }];
        let program =
            ProgramBudget { command: "sh -c x".to_owned(), executables, ..ProgramBudget::default() };
        let then = BTreeMap::from([("LANG", "C"), ("PATH", "/a"), ("TZ", "UTC")]);
        let then = then.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let file = BudgetFile { environment: Some(then), programs: vec![program] };
        let mut now = Environment::clean();
        now.set("PATH".as_ref(), "/a:/b".as_ref());
        now.set("LC_ALL".as_ref(), "POSIX".as_ref());

        let facts = differing(&file, &[words("sh -c x")], &now);
        let shown: Vec<_> = facts.iter().map(|fact| (&*fact.name, &fact.old, &fact.new)).collect();
        let null = Value::Null;
        assert_eq!(shown[0], ("LANG", &"C".into(), &"C.UTF-8".into()));
        assert_eq!(shown[1], ("LC_ALL", &null, &"POSIX".into()));
        assert_eq!(shown[2], ("TZ", &"UTC".into(), &null));
        assert_eq!(
            (shown[3].0, shown[3].1),
            ("the executable of `sh -c x`", &"/then/sh (sha256 0123456789ab)".into())
        );
        assert_eq!(shown.len(), 4, "{shown:?}");
    }
}
