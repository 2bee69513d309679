//! Options of the region whose time is wanted: between two texts that a program prints.

use firstbyte_measure::launch::OutputKind;
use firstbyte_measure::timeline::region::Region;
use std::sync::Arc;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct RegionArgs {
    /// Measure the region that begins when the program has written TEXT to its stdout [default: at the start]
    #[arg(long, value_name = "TEXT")]
    from: Option<String>,
    /// Measure the region that ends when the program has written TEXT to its stdout, after the text of --from [default: at
    /// the exit]
    #[arg(long, value_name = "TEXT")]
    to: Option<String>,
}

impl RegionArgs {
    /// Whether a region is wanted.
    pub(super) fn is_wanted(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The region, or an error that ends in its `help:` line.
    pub(super) fn region(&self, output: OutputKind) -> Result<Option<Region>, String> {
        if !self.is_wanted() {
            return Ok(None);
        }
        for (option, text) in [("--from", &self.from), ("--to", &self.to)] {
            if text.as_ref().is_some_and(String::is_empty) {
                return Err(format!("the text of `{option}` is empty\nhelp: leave out {option}"));
            }
        }
        if !output.is_read() {
            return Err("`--from` and `--to` cannot see output to /dev/null or to firstbyte's own stdout\n\
                        help: use --output pipe or --output pty"
                .to_owned());
        }
        let bytes = |text: &Option<String>| text.as_ref().map(|text| Arc::from(text.as_bytes()));
        Ok(Some(Region { from: bytes(&self.from), to: bytes(&self.to) }))
    }
}
