//! Completions and the manual page, from the one clap definition.

use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// `firstbyte completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// `firstbyte man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for every command into this folder instead of the main page to stdout
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// The completion script of a shell.
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

/// A manual page for every command, written into a folder, which is made if it is not there.
pub fn man_pages(folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(super::Cli::command(), folder)
}
