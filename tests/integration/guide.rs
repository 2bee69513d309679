//! `docs/guide.md` is correct: its blocks are run, as this user and as one without privileges.
//!
//! A block of the language `console` contains commands, each on a line after `$ `, followed by its output. Figures match
//! any figures, parts of bars match any bars, and a line of three dots matches any lines. `$?` after the last lines, as
//! in `$? 3`, is an exit status other than 0.

use crate::support::{copy_executable, skipped};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GUIDE: &str = include_str!("../../docs/guide.md");
const ANY_LINES: &str = "...";

/// One command and its output.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    command: String,
    prints: Vec<String>,
    status: i32,
}

fn steps(page: &str) -> Vec<Step> {
    let (mut steps, mut within): (Vec<Step>, bool) = (Vec::new(), false);
    for line in page.lines() {
        match (within, line.strip_prefix("$ "), line.strip_prefix("$? ")) {
            _ if line.starts_with("```") => within = line == "```console",
            (false, ..) => {}
            (true, Some(command), _) => {
                steps.push(Step { command: command.to_owned(), prints: Vec::new(), status: 0 });
            }
            (true, _, Some(status)) => steps.last_mut().unwrap().status = status.parse().unwrap(),
            (true, ..) => steps.last_mut().unwrap().prints.push(line.to_owned()),
        }
    }
    steps
}

/// A line without its figures, bars and the width of its gaps.
fn outline(line: &str) -> String {
    let mut outline = String::new();
    for c in line.trim_end().chars() {
        let kind = match c {
            '0'..='9' => '0',
            '░' | '█' | '┃' | '▒' | '─' | '━' | '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' | '·' => {
                '█'
            }
            _ => c,
        };
        let part_of_number = matches!(kind, '.' | '0') && outline.ends_with('0');
        let repeated = matches!(kind, ' ' | '█') && outline.ends_with(kind);
        if !part_of_number && !repeated {
            outline.push(kind);
        }
    }
    // A time may be printed in another unit.
    ["ns", "µs", "ms"].iter().fold(outline, |text, unit| text.replace(&format!("0 {unit}"), "0 s"))
}

/// Compares the output with the guide. The error contains the first line that differs.
fn agrees(shown: &[String], printed: &[String]) -> Result<(), String> {
    let Some((first, rest)) = shown.split_first() else {
        return printed
            .iter()
            .find(|line| !line.is_empty())
            .map_or(Ok(()), |line| Err(format!("and then: {line}")));
    };
    if first == ANY_LINES {
        let any = (0..=printed.len()).any(|skipped| agrees(rest, &printed[skipped..]).is_ok());
        return if any {
            Ok(())
        } else {
            Err(format!("nowhere: {}", rest.first().map_or("", String::as_str)))
        };
    }
    match printed.split_first() {
        Some((line, others)) if outline(line) == outline(first) => agrees(rest, others),
        Some((line, _)) => Err(format!("shown:   {first}\nprinted: {line}")),
        None => Err(format!("missing: {first}")),
    }
}

/// The user who runs the commands.
struct User {
    folder: tempfile::TempDir,
    /// A command in front of a shell that makes it run as another user.
    prefix: Vec<String>,
}

impl User {
    fn run(&self, command: &str) -> Output {
        let words = self.prefix.iter().map(String::as_str).chain(["sh", "-c", command]);
        let words: Vec<&str> = words.collect();
        let binaries = Path::new(env!("CARGO_BIN_EXE_firstbyte")).parent().unwrap();
        let path = format!("{}:{}", self.binaries(binaries).display(), std::env::var("PATH").unwrap());
        Command::new(words[0])
            .args(&words[1..])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("COLUMNS", "80")
            .env("FIRSTBYTE_CACHE", self.folder.path().join("cache"))
            .env("HOME", self.folder.path())
            .output()
            .unwrap()
    }

    /// Another user has no access to our folders and needs a copy of the command.
    fn binaries(&self, own: &Path) -> PathBuf {
        let copies = self.folder.path().join("bin");
        if !copies.exists() {
            fs::create_dir(&copies).unwrap();
            copy_executable(&own.join("firstbyte"), &copies.join("firstbyte"), 0o755);
        }
        copies
    }
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// Whether the programs in the guide's commands are installed.
fn has_all_tools() -> bool {
    if std::env::consts::ARCH != "x86_64" {
        skipped("the guide was written on x86-64");
        return false;
    }
    let tools = ["gcc", "bash", "dash", "git", "python3", "wc"];
    let missing = tools.iter().find(|tool| firstbyte_measure::launch::find_in_path(tool).is_none());
    if let Some(tool) = missing {
        skipped(&format!("the guide needs `{tool}`"));
    }
    missing.is_none()
}

/// Runs a command of the guide. The error contains the first line that differs, and the whole output.
fn try_out(user: &User, step: &Step) -> Result<(), String> {
    let output = user.run(&step.command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(step.status), "{}\n{said}", step.command);
    let mut printed = if step.status == 0 { lines(&output.stdout) } else { lines(&output.stderr) };
    if !user.prefix.is_empty() {
        // without bpf, a single stop does not see the write
        for line in &mut printed {
            *line = line.replace('–', "0 ns");
        }
    }
    agrees(&step.prints, &printed).map_err(|difference| {
        format!("{}\n{difference}\nthe whole output:\n{}", step.command, printed.join("\n"))
    })
}

/// What else the machine does can add a warning to the output of a single run, but not to that of each run.
fn follow(user: &User) {
    for step in steps(GUIDE) {
        let mut tries = (0..3).map(|_| try_out(user, &step).inspect_err(|error| eprintln!("{error}")));
        assert!(tries.any(|agreed| agreed.is_ok()), "`{}` never printed what the guide shows", step.command);
    }
}

#[test]
fn the_guide_shows_the_output_of_its_commands() {
    if has_all_tools() {
        follow(&User { folder: tempfile::tempdir().unwrap(), prefix: Vec::new() });
    }
}

#[test]
fn the_guide_is_correct_for_a_user_without_privileges() {
    if !has_all_tools() {
        return;
    }
    if !rustix::process::geteuid().is_root() || firstbyte_measure::launch::find_in_path("setpriv").is_none() {
        return skipped("only root can become another user, with `setpriv`");
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    let prefix = "setpriv --reuid 65534 --regid 65534 --clear-groups".split(' ').map(str::to_owned).collect();
    follow(&User { folder, prefix });
}

#[test]
fn every_command_is_in_the_guide() {
    use clap::CommandFactory;
    let commands = firstbyte::cli::Cli::command();
    for command in commands.get_subcommands() {
        let name = format!("firstbyte {}", command.get_name());
        assert!(GUIDE.contains(&name), "{name}");
    }
}

#[test]
fn figures_bars_and_gaps_match_any_others() {
    let line = |text: &str| vec![text.to_owned()];
    let table = [
        ("dash   658 µs 15%", "dash 1.21 ms  3%", true),
        ("a ░░██┃▒ 1.5 ms", "a ░█┃ 12 ms", true),
        ("dash 1 ms", "bash 1 ms", false),
        ("one two", "one", false),
    ];
    for (shown, printed, expected) in table {
        assert_eq!(agrees(&line(shown), &line(printed)).is_ok(), expected, "{shown}");
    }
    let all = ["a 1", "b 2", "c 3"].map(str::to_owned);
    assert!(agrees(&["a 9", "...", "c 9"].map(str::to_owned), &all).is_ok());
    assert!(agrees(&["...", "b 0"].map(str::to_owned), &all).is_err());
    assert!(agrees(&["..."].map(str::to_owned), &[]).is_ok());
}

#[test]
fn blocks_are_read_as_commands_and_their_output() {
    let page = "text\n```console\n$ one\nA\n$ two\n$? 3\n```\n$ no command\n```sh\n$ nor this\n```\n";
    let step = |command: &str, prints: &[&str], status| Step {
        command: command.to_owned(),
        prints: prints.iter().map(ToString::to_string).collect(),
        status,
    };
    assert_eq!(steps(page), [step("one", &["A"], 0), step("two", &[], 3)]);
}
