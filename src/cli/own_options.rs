//! Options of a program that are written where those of firstbyte belong: `firstbyte trace python3 -c 1`.

use super::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory};

/// The message for an unknown option behind a program. `words`: all arguments of firstbyte.
pub(super) fn remedy(error: &clap::Error, words: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let (name, words) = words.split_first()?;
    let command = Cli::command().find_subcommand(name)?.clone();
    let program = first_value(&command, words)?;
    // clap names `-c` for `-c1`
    let is_behind = words[program..].iter().any(|word| word.starts_with(option.as_str()));
    let takes_words = command.get_arguments().any(Arg::is_last_set);
    let takes_commands = command.get_positionals().any(|argument| argument.get_id() == "commands");

    let (before, program) = words.split_at(program);
    let before = [name].into_iter().chain(before).map(|word| format!("{} ", shell_words::quote(word)));
    let before = before.collect::<String>();
    let help = match program {
        _ if !is_behind => return None,
        [first, rest @ ..] if takes_words => {
            let first = shell_words::split(first).ok()?;
            let program = first.iter().chain(rest);
            format!("write `--` before the program: firstbyte {before}-- {}", shell_words::join(program))
        }
        _ if takes_commands => {
            let program = shell_words::join(program);
            format!(
                "put the program and its options in quotes: firstbyte {before}{}",
                shell_words::quote(&program)
            )
        }
        _ => return None,
    };
    if !option.starts_with('-') {
        return Some(format!("`firstbyte {name}` takes its command after `--`\nhelp: {help}"));
    }
    let similar = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(similar)) => format!("use `{similar}`, or "),
        _ => String::new(),
    };
    Some(format!(
        "`firstbyte {name}` has no option `{option}`\nhelp: {similar}if it is one of the program's, {help}"
    ))
}

/// The place of the first word that is neither an option nor the value of one.
fn first_value(command: &Command, words: &[String]) -> Option<usize> {
    let takes_value = |word: &str| {
        let is_meant = |argument: &&Arg| {
            let long = argument.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            long || argument
                .get_short()
                .is_some_and(|short| word.strip_prefix('-') == Some(&*short.to_string()))
        };
        let argument = command.get_arguments().find(is_meant);
        argument.is_some_and(|argument| matches!(argument.get_action(), ArgAction::Set | ArgAction::Append))
    };
    let mut index = 0;
    while words.get(index)?.starts_with('-') {
        index += if takes_value(&words[index]) { 2 } else { 1 };
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn message(words: &[&str]) -> Option<String> {
        let error = Cli::try_parse_from(["firstbyte"].iter().chain(words)).unwrap_err();
        remedy(&error, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_option_behind_the_program_is_answered_with_what_to_type() {
        for (words, help) in [
            (&["trace", "python3", "-c", "print(1)"][..], "firstbyte trace -- python3 -c 'print(1)'"),
            (&["trace", "--runs", "3", "ls", "-l"], "firstbyte trace --runs 3 -- ls -l"),
            (&["trace", "--full", "node app.js", "--x"], "firstbyte trace --full -- node app.js --x"),
            (&["watch", "--runs-not-known", "ls"], ""),
            (&["bench", "ls", "-l"], "firstbyte bench 'ls -l'"),
            (&["bench", "ls", "--run", "3"], "firstbyte bench 'ls --run 3'"),
            (&["watch", "make"], "`--`\nhelp: write `--` before the program: firstbyte watch -- make"),
            (&["trace", "--nonsense", "ls"], ""),
            (&["trace", "-r", "3", "--nonsense"], ""),
        ] {
            let message = message(words);
            assert_eq!(message.is_some(), !help.is_empty(), "{words:?}: {message:?}");
            assert!(message.unwrap_or_default().ends_with(help), "{words:?}");
        }
    }
}
