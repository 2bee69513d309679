//! `firstbyte elf`: for which architecture, what it is to do, how it is laid out, where it goes.

use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, ElfError, Purpose, Style, escape};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One line would be wider than a terminal.
const USAGE: &str = "firstbyte elf [OPTIONS] <--message <TEXT>|--escape <TEXT>
                               |--message-file <FILE>|--code <FILE>|--reader>";

/// Writes the smallest executables, without any toolchain.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// x86-64, i386, aarch64 or riscv64 (default: this machine's)
    #[arg(long, value_name = "ARCH")]
    arch: Option<Architecture>,
    #[command(flatten)]
    purpose: PurposeArgs,
    /// Exit with this status
    #[arg(long, value_name = "STATUS", default_value_t = 0, conflicts_with_all = ["code", "reader"])]
    exit: u8,
    /// Do not exit but run on behind the code, and crash
    #[arg(long, conflicts_with_all = ["exit", "code", "reader"])]
    no_exit: bool,
    /// One thing after the other, and the fastest to start, or as small as can be
    #[arg(long, value_enum, default_value_t = LayoutArg::Plain)]
    layout: LayoutArg,
    /// Packed: need not run under qemu-user, which checks more than kernels do
    #[arg(long)]
    real_kernels_only: bool,
    /// Packed: may have 2 GiB of memory mapped, none of it touched
    #[arg(long)]
    large_mappings: bool,
    /// Packed: try every arrangement there is (slow)
    #[arg(long)]
    exhaustive: bool,
    /// Where to write it (`-`: stdout)
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["explain", "json"])]
    output: Option<PathBuf>,
    /// Print every byte: its field, what the kernel does with it, what was put there
    #[arg(long)]
    explain: bool,
    /// The same as JSON
    #[arg(long, conflicts_with = "explain")]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct PurposeArgs {
    /// Write this text to stdout, as it is: no newline is added
    #[arg(long, value_name = "TEXT")]
    message: Option<OsString>,
    /// The same, with \n, \t, \r, \0, \\ and \xHH
    #[arg(long, value_name = "TEXT")]
    escape: Option<OsString>,
    /// The same, from a file of any length (`-`: stdin); an argument holds 128 KiB at most
    #[arg(long, value_name = "FILE")]
    message_file: Option<PathBuf>,
    /// Run this flat machine code, entered at its first byte
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
    /// Copy stdin to stdout: a smallest cat
    #[arg(long)]
    reader: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LayoutArg {
    Plain,
    Packed,
}

/// What `firstbyte elf` is to do.
#[derive(Debug)]
pub struct Plan {
    /// For which architecture; `None`: we do not write for this machine's.
    pub architecture: Option<Architecture>,
    /// What the executable does.
    pub purpose: PlannedPurpose,
    /// How it is laid out.
    pub style: Style,
    /// Where to; `-` is stdout.
    pub output: Option<PathBuf>,
    /// Print the annotated hex dump.
    pub explain: bool,
    /// Print it as JSON.
    pub json: bool,
}

/// What the executable does, its code not yet read.
#[derive(Debug)]
pub enum PlannedPurpose {
    /// Known.
    Ready(Purpose),
    /// The machine code in that file.
    CodeFrom(PathBuf),
    /// The text in that file, and the status to exit with.
    MessageFrom(PathBuf, Option<u8>),
}

impl PlannedPurpose {
    /// The file that is read for it; none for standard input.
    pub fn input(&self) -> Option<&Path> {
        match self {
            PlannedPurpose::Ready(_) => None,
            PlannedPurpose::CodeFrom(file) | PlannedPurpose::MessageFrom(file, _) => {
                Some(file.as_path()).filter(|file| *file != Path::new("-"))
            }
        }
    }
}

impl Args {
    /// The plan.
    ///
    /// # Errors
    /// [`ElfError::UnknownEscape`].
    pub fn plan(self) -> Result<Plan, ElfError> {
        let style = match self.layout {
            LayoutArg::Plain => Style::Plain,
            LayoutArg::Packed => Style::Packed(Demands {
                real_kernels_only: self.real_kernels_only,
                large_mappings: self.large_mappings,
                exhaustive: self.exhaustive,
            }),
        };
        let purpose = self.purpose.plan((!self.no_exit).then_some(self.exit))?;
        let architecture = self.arch.or_else(Architecture::host);
        let (output, explain, json) = (self.output, self.explain, self.json);
        Ok(Plan { architecture, purpose, style, output, explain, json })
    }
}

impl PurposeArgs {
    fn plan(self, exit: Option<u8>) -> Result<PlannedPurpose, ElfError> {
        if let Some(file) = self.code {
            return Ok(PlannedPurpose::CodeFrom(file));
        }
        if let Some(file) = self.message_file {
            return Ok(PlannedPurpose::MessageFrom(file, exit));
        }
        let text = match (self.message, self.escape) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, Some(text)) => escape::unescape(text.as_bytes())?,
            (None, None) => return Ok(PlannedPurpose::Ready(Purpose::Copy)),
        };
        Ok(PlannedPurpose::Ready(Purpose::Message { text, exit }))
    }
}
