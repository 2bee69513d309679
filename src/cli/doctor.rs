//! Arguments of `firstbyte doctor`.

use super::options::JsonArgs;

/// Check what this machine can measure and how to enable the rest
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    json: JsonArgs,
    /// Install the Debian packages that the corpus needs (as root; otherwise the command is printed)
    #[arg(long)]
    pub install: bool,
    /// With --install: also install what firstbyte's own tests need
    #[arg(long, requires = "install")]
    pub tests: bool,
}

impl Args {
    pub fn json(&self) -> bool {
        self.json.json
    }
}
