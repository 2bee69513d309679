//! `firstbyte doctor`.

/// Says what this machine can and cannot do, why, and what would mend it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Install what the corpus lacks, from Debian's packages (as root; otherwise the command is printed)
    #[arg(long)]
    pub install: bool,
    /// With --install: also what the project's own tests need
    #[arg(long, requires = "install")]
    pub tests: bool,
}
