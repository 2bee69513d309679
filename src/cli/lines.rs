//! `firstbyte lines`: how many, and of what.

use crate::throughput::lines::MOST_LINES;
use std::ffi::OsString;

/// The seed's text.
const TEXT: &str = "hello world";

/// Prints N lines of one text as fast as the machine can: the bytes of `yes TEXT | head -n N`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many lines: 0 to 2^63
    #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(..=MOST_LINES))]
    pub count: u64,
    /// What stands on each
    #[arg(value_name = "TEXT", default_value = TEXT)]
    pub text: OsString,
    /// Turn a terminal's output processing off meanwhile: its slowest part; restored at the end
    #[arg(long)]
    pub raw_tty: bool,
}

impl Args {
    /// `lines N [TEXT]`, without options and right; `None` for all else, which clap is asked about. To define
    /// every command would be most of this one's start and of its memory.
    pub(super) fn plain(mut words: impl Iterator<Item = OsString>) -> Option<Args> {
        words.next().filter(|word| word == "lines")?;
        let count = words.next()?.to_str()?.parse().ok().filter(|count| *count <= MOST_LINES)?;
        let text = words.next().unwrap_or_else(|| TEXT.into());
        let is_plain = !text.as_encoded_bytes().starts_with(b"-") && words.next().is_none();
        is_plain.then_some(Args { count, text, raw_tty: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn plain(words: &[&str]) -> Option<(u64, OsString, bool)> {
        let args = Args::plain(words.iter().map(OsString::from))?;
        Some((args.count, args.text, args.raw_tty))
    }

    #[test]
    fn what_is_read_without_clap_is_read_as_by_clap() {
        for words in [&["lines", "3"][..], &["lines", "0", ""], &["lines", "9223372036854775808", "a b"]] {
            let cli = Cli::try_parse_from([&["firstbyte"], words].concat()).unwrap();
            let Command::Lines(args) = cli.command else { panic!("another command") };
            assert_eq!(plain(words), Some((args.count, args.text, args.raw_tty)));
        }
    }

    #[test]
    fn all_else_is_left_to_clap() {
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
