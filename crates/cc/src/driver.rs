//! Joins compiler, runtime and flags into the command that is run.

use super::archive;
use super::arguments::{Arguments, PrintRequest};
use super::compiler::Compiler;
use super::error::RuntimeError;
use super::flags;
use super::sources::Sources;
use firstbyte_elf::Architecture;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// A compiler, and the runtime built by it.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The compiler that is run.
    pub compiler: Compiler,
    /// The folder of the built runtime.
    pub runtime: PathBuf,
}

impl Driver {
    /// Finds a compiler for the arguments' architecture, or for this machine's, and builds the runtime if necessary.
    pub fn new(arguments: &Arguments) -> Result<Driver, RuntimeError> {
        let architecture =
            arguments.architecture.or_else(Architecture::host).ok_or(RuntimeError::UnknownHost)?;
        let compiler = Compiler::find(architecture)?;
        let runtime = archive::installed(&Sources::find()?, &compiler)?;
        Ok(Driver { compiler, runtime })
    }

    /// Uses this compiler, the runtime in this folder, and this folder as the cache.
    pub fn of_folder(runtime: &Path, cache: &Path, compiler: Compiler) -> Result<Driver, RuntimeError> {
        let runtime = archive::installed_in(cache, &Sources::of_folder(runtime)?, &compiler)?;
        Ok(Driver { compiler, runtime })
    }

    /// The compiler's command for these arguments.
    pub fn command(&self, arguments: &Arguments) -> Command {
        let mut command = self.compiler.run();
        command.args(&arguments.passed).args(flags::compile(&self.compiler, &self.runtime));
        if arguments.links() {
            // A language given with -x applies to everything after it, and the archive is not in that language.
            if arguments.passed.iter().any(|argument| argument.to_string_lossy().starts_with("-x")) {
                command.args(["-x", "none"]);
            }
            command.args(flags::link(&self.compiler, &self.runtime, arguments.debugs()));
        }
        command
    }

    /// Runs the compiler and waits for it. The compiler prints its own messages.
    pub fn compile(&self, arguments: &Arguments) -> Result<ExitStatus, RuntimeError> {
        self.command(arguments).status().map_err(|cause| self.not_started(cause))
    }

    /// Replaces this process with the compiler, whose exit status becomes ours. Returns only if this fails.
    pub fn become_compiler(&self, arguments: &Arguments) -> RuntimeError {
        let cause = self.command(arguments).exec();
        self.not_started(cause)
    }

    fn not_started(&self, cause: io::Error) -> RuntimeError {
        RuntimeError::Start { command: self.compiler.command.join(" "), cause }
    }

    /// The flags or the folder to print, on one line. Flags are quoted for a shell.
    pub fn printed(&self, arguments: &Arguments, what: PrintRequest) -> String {
        let compile = flags::compile(&self.compiler, &self.runtime);
        let link = flags::link(&self.compiler, &self.runtime, arguments.debugs());
        match what {
            PrintRequest::Flags => shell_words::join(compile.iter().chain(&link)),
            PrintRequest::CompileFlags => shell_words::join(&compile),
            PrintRequest::LinkFlags => shell_words::join(&link),
            PrintRequest::Runtime => self.runtime.display().to_string(),
        }
    }
}
