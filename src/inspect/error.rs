//! The errors of this room.

use thiserror::Error;

/// Why a file cannot be explained.
#[derive(Debug, Error)]
pub enum InspectError {
    #[error("`{path}` cannot be read: {cause}\nhelp: {}", reading_help(path))]
    Unreadable { path: String, cause: std::io::Error },
    #[error("`{path}` is not a regular file\nhelp: name an executable, a library or a script")]
    NotAFile { path: String },
    #[error(
        "`{path}` has {size} bytes, and files of more than 2 GiB are not examined\nhelp: `readelf -hlW {path}`"
    )]
    TooLarge { path: String, size: u64 },
    /// The file is nothing that Linux executes.
    #[error(
        "`{path}` is {what}, but Linux executes only ELF files and scripts\nhelp: `file {path}` may say more"
    )]
    NotExecutable { path: String, what: &'static str },
    /// The headers of an ELF file contradict each other.
    #[error(
        "`{path}` is a damaged ELF file: {cause}\nhelp: `readelf -hlW {path}` shows what can still be read"
    )]
    Damaged { path: String, cause: String },
    #[error(
        "`{path}` has no function `{symbol}`\nhelp: `nm {path}` and `nm -D {path}` list its functions; strip(1) removes their names"
    )]
    NoSuchFunction { path: String, symbol: String },
    /// The code is for a machine whose instructions cannot be disassembled.
    #[error(
        "`{path}` is {machine} code, and only x86 code is disassembled\nhelp: use `objdump -d {path}` from the binutils for that machine"
    )]
    OtherMachine { path: String, machine: String },
    #[error(
        "`{compiler}` cannot be run: {cause}\nhelp: `apt-get install gcc`, or name another compiler with `--compiler`"
    )]
    NoCompiler { compiler: String, cause: std::io::Error },
    #[error("`{path}` does not compile: {message}\nhelp: `{compiler} -c {path}` shows all errors")]
    NotCompiled { path: String, compiler: String, message: String },
}

/// A name without a slash was looked for along PATH, too.
fn reading_help(path: &str) -> String {
    if path.contains('/') {
        format!("`ls -l {path}` shows whether it exists and who may read it")
    } else {
        format!(
            "it is neither a file here nor a program in PATH; `type -a {path}` shows what the shell finds"
        )
    }
}
