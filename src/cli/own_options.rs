//! Options of a program that are written where those of firstbyte belong: `firstbyte bench npm --version`.

use super::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory};

/// The message for an option behind a command that firstbyte does not have, or that it answers with a text about itself.
/// `words`: all arguments of firstbyte.
pub(super) fn remedy(error: &clap::Error, words: &[String]) -> Option<String> {
    let (name, words) = words.split_first()?;
    let command = Cli::command().find_subcommand(name)?.clone();
    let takes_commands = ["commands", "first"];
    command.get_positionals().find(|argument| takes_commands.contains(&argument.get_id().as_str()))?;
    let (before, program) = words.split_at(first_value(&command, words)?);

    let option = behind(program, error)?;
    let before = [name].into_iter().chain(before).map(|word| format!("{} ", shell_words::quote(word)));
    let before = before.collect::<String>();
    let program = shell_words::join(program);
    let similar = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(similar)) => format!("use `{similar}`, or "),
        _ => String::new(),
    };
    Some(format!(
        "`firstbyte {name}` {}\nhelp: {similar}if it is one of the program's, put the program and its options in quotes: \
         firstbyte {before}{}",
        match error.kind() {
            ErrorKind::UnknownArgument => format!("has no option `{option}`"),
            _ => format!("takes `{option}` before the commands only"),
        },
        shell_words::quote(&program)
    ))
}

/// The option that clap stopped at, if it is behind the first command.
fn behind(program: &[String], error: &clap::Error) -> Option<String> {
    let is_there = |option: &&str| program.iter().any(|word| word == option);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
            // clap names `-c` for `-c1`
            let is_behind = option.starts_with('-') && program.iter().any(|word| word.starts_with(option));
            is_behind.then(|| option.clone())
        }
        ErrorKind::DisplayVersion => {
            ["--version", "-V"].iter().find(|option| is_there(option)).map(|it| (*it).to_owned())
        }
        ErrorKind::DisplayHelp => {
            ["--help", "-h"].iter().find(|option| is_there(option)).map(|it| (*it).to_owned())
        }
        _ => None,
    }
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
            (&["bench", "ls", "-l"][..], "firstbyte bench 'ls -l'"),
            (&["bench", "ls", "--run", "3"], "firstbyte bench 'ls --run 3'"),
            (&["bench", "-r", "3", "npm", "--version"], "firstbyte bench -r 3 'npm --version'"),
            (&["bench", "npm", "-V"], "firstbyte bench 'npm -V'"),
            (&["bench", "npm", "--help"], "firstbyte bench 'npm --help'"),
            (&["bench", "npm", "-h"], "firstbyte bench 'npm -h'"),
            (&["diff", "npm", "--version"], "firstbyte diff 'npm --version'"),
            (&["bench", "--help", "npm"], ""),
            (&["bench", "-V"], ""),
            (&["watch", "--runs-not-known", "ls"], ""),
            (&["trace", "--nonsense", "ls"], ""),
            (&["trace", "-r", "3", "--nonsense"], ""),
        ] {
            let message = message(words);
            assert_eq!(message.is_some(), !help.is_empty(), "{words:?}: {message:?}");
            assert!(message.unwrap_or_default().ends_with(help), "{words:?}");
        }
    }
}
