//! `firstbyte bisect`: measures commits between a good and a bad one, as `git bisect` chooses them.

use super::{CommandError, Exit, before_launching, bench, diff, show, terminal};
use crate::bisect::judgement::COUNTS;
use crate::bisect::{Boundary, Commit, Found, Quantity, Repository, Side, Tree};
use crate::cli::bisect::{ATTEMPTS, Plan};
use crate::document::Document;
use crate::document::bench::Metric;
use crate::output::say;
use crate::report::text::bisect as text;
use firstbyte_measure::launch::{Command, interrupt};

/// Finds the first bad commit, and shows what it brought.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    before_launching();
    let repository = Repository::open().map_err(CommandError::usage)?;
    let [good, bad] =
        [&plan.good, &plan.bad].map(|name| repository.commit(name).map_err(CommandError::usage));
    let (good, bad) = (good?, bad?);
    let good_tree = built(&repository, "good", &good, plan)?;
    let bad_tree = built(&repository, "bad", &bad, plan)?;

    let boundary = boundary(plan, [&good_tree, &bad_tree])?;
    say(text::boundary(&boundary));
    let found = search(plan, &bad_tree, &good_tree, [&good, &bad], &boundary)?;
    match found {
        Found::First(commit) => {
            show(text::first_bad(&commit, &terminal()).as_bytes())?;
            brought(plan, &repository, [&good_tree, &bad_tree], &commit)?;
        }
        Found::OneOf(commits) => {
            show(text::one_of(&commits, &terminal()).as_bytes())?;
            return Ok(Exit::Unable);
        }
        Found::Next(_) => return Ok(Exit::Interrupted),
    }
    Ok(if interrupt::interrupted().is_some() { Exit::Interrupted } else { Exit::Done })
}

/// A working tree with a commit that must build.
fn built<'r>(
    repository: &'r Repository,
    name: &str,
    commit: &Commit,
    plan: &Plan,
) -> Result<Tree<'r>, CommandError> {
    let tree = repository.tree(name, commit).map_err(CommandError::unable)?;
    build(&tree, plan).map_err(|reason| {
        CommandError::program(format!(
            "the {name} commit {} does not build: --build {reason}\nhelp: try it: git worktree add /tmp/{name} {}",
            commit.short, commit.short
        ))
    })?;
    Ok(tree)
}

fn build(tree: &Tree, plan: &Plan) -> Result<(), String> {
    plan.build.as_ref().map_or(Ok(()), |command| tree.build(command))
}

/// The names of both sides of a measurement.
const NAMES: [&str; 2] = ["good", "tried"];

/// One measurement of a program in two trees.
fn measured(
    plan: &Plan,
    trees: [&Tree; 2],
    by: Option<Quantity>,
    attempt: u32,
) -> Result<Document, CommandError> {
    let folders = [(NAMES[0], trees[0].folder()), (NAMES[1], trees[1].folder())];
    let document = bench::measured(&plan.measuring(folders, by, attempt).map_err(CommandError::usage)?)?;
    match document.failed.first() {
        Some(failed) => Err(CommandError::program(&failed.reason)),
        None => Ok(document),
    }
}

/// What tells the bad commit from the good one.
fn boundary(plan: &Plan, trees: [&Tree; 2]) -> Result<Boundary, CommandError> {
    for attempt in 0..ATTEMPTS {
        let document = measured(plan, trees, plan.by, attempt)?;
        let all = std::iter::once(Quantity::Time(Metric::Total)).chain(COUNTS.map(Quantity::Count));
        let mut tried = all.chain(plan.by).filter(|quantity| plan.by.is_none_or(|by| by == *quantity));
        if let Some(boundary) = tried.find_map(|quantity| Boundary::by(quantity, &document, NAMES)) {
            return Ok(boundary);
        }
        if interrupt::interrupted().is_some() {
            return Err(CommandError::interrupted("interrupted before both commits were compared"));
        }
    }
    let by = plan.by.map_or_else(|| "total or by a count".to_owned(), Quantity::name);
    Err(CommandError::unable(format!(
        "`{}` is not certainly worse than `{}` by {by}\nhelp: firstbyte bench compares two builds in more runs",
        plan.bad, plan.good
    )))
}

/// Marks one commit after another, in the tree of the bad one.
fn search(
    plan: &Plan,
    tree: &Tree,
    good_tree: &Tree,
    [good, bad]: [&Commit; 2],
    boundary: &Boundary,
) -> Result<Found, CommandError> {
    let mut found = tree.begin(good, bad).map_err(CommandError::usage)?;
    for number in 1.. {
        let Found::Next(commit) = &found else { break };
        let side = build(tree, plan).map_err(|reason| format!("--build {reason}"));
        let side = side.and_then(|()| judged(plan, [good_tree, tree], boundary));
        if interrupt::interrupted().is_some() {
            break;
        }
        say(text::step(number, commit, side.as_ref().copied().map_err(String::as_str)));
        // as git bisect run does for status 125
        let mark = match side {
            Ok(Side::Good) => "good",
            Ok(Side::Bad) => "bad",
            Ok(Side::Open) | Err(_) => "skip",
        };
        found = tree.mark(mark).map_err(CommandError::unable)?;
    }
    Ok(found)
}

/// The side of the commit in the second tree. While it is open, the commit is measured again.
fn judged(plan: &Plan, trees: [&Tree; 2], boundary: &Boundary) -> Result<Side, String> {
    for attempt in 0..ATTEMPTS {
        let document = measured(plan, trees, Some(boundary.quantity), attempt);
        let document =
            document.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())?;
        let side = boundary.side(&document, NAMES[1]);
        if side != Side::Open || interrupt::interrupted().is_some() {
            return Ok(side);
        }
    }
    Ok(Side::Open)
}

/// Compares the start before the commit with the start after it.
fn brought(
    plan: &Plan,
    repository: &Repository,
    trees: [&Tree; 2],
    commit: &Commit,
) -> Result<(), CommandError> {
    let before = repository.commit(&format!("{}^", commit.id)).map_err(CommandError::usage)?;
    for (tree, commit) in trees.into_iter().zip([&before, commit]) {
        tree.check_out(commit).map_err(CommandError::unable)?;
        if let Err(reason) = build(tree, plan) {
            say(format_args!("{} does not build, so what came is not known: {reason}", commit.short));
            return Ok(());
        }
    }

    let words = plan.words().map_err(CommandError::usage)?;
    let command =
        |tree: &Tree| Command::in_directory(&words, Some(&tree.folder())).map_err(CommandError::program);
    let names = [format!("before {}", commit.short), commit.short.clone()];
    let commands = [command(trees[0])?, command(trees[1])?];
    diff::between(&plan.comparing(names), &commands, trees.map(Tree::top), |came| {
        show(format!("{}\n", text::brought(came, &terminal())).as_bytes())
    })
}
