//! Arguments and plan of `firstbyte elf`.

use super::options::JsonArgs;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, ElfError, Purpose, Style, escape};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// clap would print it as one line, which is wider than a terminal.
const USAGE: &str = "firstbyte elf [OPTIONS] <--message <TEXT>|--escape <TEXT>
                               |--message-file <FILE>|--code <FILE>|--reader>";

const EXAMPLES: &str = "\
Examples:
  firstbyte elf --escape 'Hello, World!\\n' -o hello
  firstbyte elf --escape 'Hello, World!\\n' --layout packed -o hello --explain
  firstbyte elf --arch aarch64 --message hello -o hello";

/// Write the smallest possible executables, without a compiler
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES, mut_arg("json", the_explanation))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Write for this architecture: x86-64, i386, aarch64 or riscv64 [default: this machine's]
    #[arg(long, value_name = "ARCH")]
    arch: Option<Architecture>,
    #[command(flatten)]
    purpose: PurposeArgs,
    /// Exit with STATUS
    #[arg(long, value_name = "STATUS", default_value_t = 0, conflicts_with_all = ["code", "reader"])]
    exit: u8,
    /// Leave out the exit, so that the program crashes after it has printed
    #[arg(long, conflicts_with_all = ["exit", "code", "reader"])]
    no_exit: bool,
    /// Use the layout that starts fastest (plain) or the smallest one (packed)
    #[arg(long, value_enum, default_value_t = LayoutArg::Plain)]
    layout: LayoutArg,
    /// Plain: state this alignment of the segment in bytes, a power of two [default: the largest page size of the
    /// architecture's kernels]
    #[arg(long, value_name = "BYTES")]
    align: Option<u64>,
    /// Packed: allow files that only real kernels run, not qemu-user, which checks more
    #[arg(long)]
    real_kernels_only: bool,
    /// Packed: allow up to 2 GiB of mapped memory, which the program never touches
    #[arg(long)]
    large_mappings: bool,
    /// Packed: try every possible arrangement (slow)
    #[arg(long)]
    exhaustive: bool,
    /// Write the executable to FILE (`-` for stdout)
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["explain", "json"])]
    output: Option<PathBuf>,
    /// Print every byte: its field, how the kernel uses it, and its value
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    json: JsonArgs,
}

fn the_explanation(json: clap::Arg) -> clap::Arg {
    json.help("Print the same as --explain, as JSON").conflicts_with("explain")
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct PurposeArgs {
    /// Print TEXT as it is, without adding a newline
    #[arg(long, value_name = "TEXT")]
    message: Option<OsString>,
    /// Print TEXT, in which \n, \t, \r, \0, \\ and \xHH are escapes
    #[arg(long, value_name = "TEXT")]
    escape: Option<OsString>,
    /// Print the contents of FILE (`-` for stdin); use it for texts above 128 KiB, the limit of an argument
    #[arg(long, value_name = "FILE")]
    message_file: Option<PathBuf>,
    /// Run the flat machine code in FILE, starting at its first byte
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
    /// Copy stdin to stdout, like a minimal cat
    #[arg(long)]
    reader: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LayoutArg {
    Plain,
    Packed,
}

#[derive(Debug)]
pub struct Plan {
    /// `None` if executables for this machine's architecture cannot be written.
    pub architecture: Option<Architecture>,
    pub purpose: PlannedPurpose,
    pub style: Style,
    /// `-` is stdout.
    pub output: Option<PathBuf>,
    /// Print the annotated hex dump.
    pub explain: bool,
    /// Print it as JSON.
    pub json: bool,
}

/// What the executable does, before any file is read.
#[derive(Debug)]
pub enum PlannedPurpose {
    Ready(Purpose),
    /// Runs the machine code in this file.
    CodeFrom(PathBuf),
    /// Prints the text in this file, and exits with this status.
    MessageFrom(PathBuf, Option<u8>),
}

impl PlannedPurpose {
    /// The file that must be read; `None` for stdin.
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
    pub fn plan(self) -> Result<Plan, ElfError> {
        let style = match self.layout {
            LayoutArg::Plain => Style::Plain { align: self.align },
            LayoutArg::Packed if self.align.is_some() => return Err(ElfError::PackedAligns),
            LayoutArg::Packed => Style::Packed(Demands {
                real_kernels_only: self.real_kernels_only,
                large_mappings: self.large_mappings,
                exhaustive: self.exhaustive,
            }),
        };
        let purpose = self.purpose.plan((!self.no_exit).then_some(self.exit))?;
        let architecture = self.arch.or_else(Architecture::host);
        let (output, explain, json) = (self.output, self.explain, self.json.json);
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
