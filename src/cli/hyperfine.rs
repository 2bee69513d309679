//! Options of hyperfine, 1.x or 2.0, that firstbyte does not have: what to use instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Each option, and the help for those who type it.
const MISSING: [(&str, &str); 5] = [
    ("--time-unit", "--metrics chooses units, as in --metrics total:ms,first_byte:us"),
    ("-u", "--metrics chooses units, as in --metrics total:ms,first_byte:us"),
    ("--sort", "the summary begins with the fastest command"),
    ("--reference-name", "name the commands with -n, in order"),
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
