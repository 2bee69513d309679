//! Arguments of `firstbyte lines`.

use super::values::whole;
use crate::throughput::lines::MAX_LINES;
use std::ffi::OsString;

/// The text of Response to Response.
const TEXT: &str = "hello world";

const EXAMPLES: &str = "\
The output is that of `yes TEXT | head -n N`.

Examples:
  firstbyte lines 1000000 | consumer
  firstbyte lines 3 'hello again'";

/// Print the same line N times, as fast as possible
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of lines, from 0 to 2^63
    #[arg(value_name = "N", value_parser = whole::<u64>(0..=MAX_LINES))]
    pub count: u64,
    /// Text of each line
    #[arg(value_name = "TEXT", default_value = TEXT)]
    pub text: OsString,
    /// Turn off the output processing of a terminal, its slowest part, until all lines are printed
    #[arg(long)]
    pub raw_tty: bool,
}

impl Args {
    /// A valid `lines N [TEXT]` without options. `None` for anything else, which clap then parses: to define every
    /// command for it takes most of this command's start-up time and memory.
    pub(super) fn plain(mut words: impl Iterator<Item = OsString>) -> Option<Args> {
        words.next().filter(|word| word == "lines")?;
        let count = words.next()?.to_str()?.parse().ok().filter(|count| *count <= MAX_LINES)?;
        let text = words.next().unwrap_or_else(|| TEXT.into());
        let is_plain = !text.as_encoded_bytes().starts_with(b"-") && words.next().is_none();
        is_plain.then_some(Args { count, text, raw_tty: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, CliCommand};
    use clap::Parser;

    fn plain(words: &[&str]) -> Option<(u64, OsString, bool)> {
        let args = Args::plain(words.iter().map(OsString::from))?;
        Some((args.count, args.text, args.raw_tty))
    }

    #[test]
    fn a_plain_command_line_has_the_meaning_that_clap_gives_it() {
        for words in [&["lines", "3"][..], &["lines", "0", ""], &["lines", "9223372036854775808", "a b"]] {
            let cli = Cli::try_parse_from([&["firstbyte"], words].concat()).unwrap();
            let CliCommand::Lines(args) = cli.command else { panic!("another command") };
            assert_eq!(plain(words), Some((args.count, args.text, args.raw_tty)));
        }
    }

    #[test]
    fn any_other_command_line_is_left_to_clap() {
        for words in [
            &[][..],
            &["lines"],
            &["line", "3"],
            &["lines", "x"],
            &["lines", "-1"],
            &["lines", "9223372036854775809"],
            &["lines", "3", "-x"],
            &["lines", "3", "--raw-tty"],
            &["lines", "3", "--"],
            &["lines", "--", "3"],
            &["lines", "3", "a", "b"],
        ] {
            assert_eq!(plain(words), None, "{words:?}");
        }
    }
}
