//! Arguments of `firstbyte doctor`.

use super::options::JsonArgs;

/// Check what this machine can measure and how to enable the rest
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    #[command(flatten)]
    json: JsonArgs,
    /// Install the Debian packages that the corpus needs (as root; otherwise the command is printed)
    #[arg(long)]
    pub install: bool,
    /// With --install: also install what firstbyte's own tests need
    #[arg(long, requires = "install")]
    pub tests: bool,
    /// With --install: install what all programs of the corpus need, after printing the sizes and asking once
    #[arg(long, requires = "install", conflicts_with = "tests")]
    pub all: bool,
    /// With --install: install only what the programs of this group need, such as jvm or lisp (can be repeated)
    #[arg(long, requires = "install", conflicts_with = "tests", value_name = "NAME", value_delimiter = ',')]
    pub group: Vec<String>,
    /// With --all or --group: do not ask
    #[arg(short, long, requires = "install")]
    pub yes: bool,
}

impl Args {
    pub fn json(&self) -> bool {
        self.json.json
    }
}
