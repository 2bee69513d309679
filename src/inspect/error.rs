//! Why a file cannot be explained.

use thiserror::Error;

/// Why a file cannot be explained.
#[derive(Debug, Error)]
pub enum InspectError {
    /// It cannot be read.
    #[error(
        "`{path}` could not be read: {cause}\nhelp: `ls -l {path}` shows whether it is there and readable"
    )]
    Unreadable {
        /// Which file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// Not a regular file.
    #[error("`{path}` is no regular file\nhelp: name an executable, a library or a script")]
    NotAFile {
        /// Which file.
        path: String,
    },
    /// Larger than we read.
    #[error(
        "`{path}` has {size} bytes: files of more than 2 GiB are not examined\nhelp: `readelf -hlW {path}`"
    )]
    TooLarge {
        /// Which file.
        path: String,
        /// Its size in bytes.
        size: u64,
    },
    /// Nothing that Linux executes.
    #[error("`{path}` is {what}: Linux executes ELF files and scripts\nhelp: `file {path}` may know more")]
    NotExecutable {
        /// Which file.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// An ELF file whose headers contradict themselves.
    #[error("`{path}` is a damaged ELF file: {cause}\nhelp: `readelf -hlW {path}` shows what is left of it")]
    Damaged {
        /// Which file.
        path: String,
        /// What is wrong.
        cause: String,
    },
    /// No such function.
    #[error(
        "`{path}` has no function `{symbol}`\nhelp: `nm {path}` and `nm -D {path}` list what it has; strip(1) takes names away"
    )]
    NoSuchFunction {
        /// Which file.
        path: String,
        /// Which function.
        symbol: String,
    },
    /// Code for a machine whose instructions we cannot read.
    #[error(
        "`{path}` is {machine} code: only x86 is disassembled\nhelp: `objdump -d {path}` of that machine's binutils"
    )]
    OtherMachine {
        /// Which file.
        path: String,
        /// The machine.
        machine: String,
    },
    /// The compiler cannot be started.
    #[error(
        "`{compiler}` cannot be run: {cause}\nhelp: `apt-get install gcc`, or name another by `--compiler`"
    )]
    NoCompiler { compiler: String, cause: std::io::Error },
    /// The compiler refuses the source.
    #[error("`{path}` does not compile: {messages}\nhelp: `{compiler} -c {path}` shows it again")]
    NotCompiled { path: String, compiler: String, messages: String },
}
