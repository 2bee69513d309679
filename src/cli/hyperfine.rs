//! Options of hyperfine, 1.x or 2.0, that firstbyte does not have: what to use instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Each option, and the help for those who type it.
const MISSING: [(&str, &str); 9] = [
    ("--show-output", "run the command by itself to see its output"),
    ("--style", "NO_COLOR=1 switches colours off, and progress is shown only on a terminal"),
    ("--metrics", "every metric is always measured; --compare-by first-byte compares the first byte"),
    ("--time-unit", "each time has the unit that fits; --export-json has nanoseconds"),
    ("-u", "each time has the unit that fits; --export-json has nanoseconds"),
    ("--sort", "the summary keeps the order of the commands"),
    ("--reference-name", "name the commands with -n, in order"),
    ("--min-benchmarking-time", "--time limits the time, and --min-runs requires a number of runs"),
    ("--debug-mode", "-r 1 --no-counts runs each command once"),
];

/// The message for an option of hyperfine that is missing here.
pub(super) fn remedy(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let (option, help) = MISSING.iter().find(|(option, _)| option == argument)?;
    Some(format!("firstbyte has no `{option}`, which hyperfine has\nhelp: {help}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{CommandFactory, Parser};

    #[test]
    fn options_of_hyperfine_are_answered_with_what_to_use_instead() {
        for (option, help) in MISSING {
            let error = Cli::try_parse_from(["firstbyte", "bench", option, "x", "true"]).unwrap_err();
            let message = remedy(&error).unwrap_or_else(|| panic!("{option}: {error}"));
            assert!(message.ends_with(&format!("\nhelp: {help}")), "{message}");
        }
        let error = Cli::try_parse_from(["firstbyte", "bench", "--nonsense", "true"]).unwrap_err();
        assert_eq!(remedy(&error), None);
    }

    #[test]
    fn only_missing_options_are_listed() {
        let bench = Cli::command().find_subcommand("bench").cloned().unwrap();
        let mut names = bench.get_arguments().filter_map(|argument| argument.get_long());
        assert!(names.all(|name| MISSING.iter().all(|(option, _)| option.trim_start_matches('-') != name)));
    }
}
