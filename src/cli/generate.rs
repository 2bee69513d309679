//! Completions and manual pages, generated from the one clap definition.

use clap::{Args, CommandFactory};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  firstbyte completions bash >/etc/bash_completion.d/firstbyte
  firstbyte completions fish >~/.config/fish/completions/firstbyte.fish";

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// Shell to print the script for
    pub shell: clap_complete::Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page for each command into DIR instead of printing the main page
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "firstbyte", &mut script);
    script
}

/// The manual page of `firstbyte` itself, in roff.
pub fn man_page() -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(super::Cli::command()).render(&mut page)?;
    Ok(page)
}

/// Writes one manual page for each command into a folder, which is created if it does not exist.
pub fn man_pages(folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(super::Cli::command(), folder)
}
