//! Joins compiler, runtime and flags into the one command that is run.

use super::archive;
use super::arguments::{Arguments, Printed};
use super::compiler::Compiler;
use super::error::RuntimeError;
use super::flags;
use super::sources::Sources;
use firstbyte_elf::Architecture;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// A compiler with the runtime built for it.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The compiler.
    pub compiler: Compiler,
    /// Where the runtime lies, built.
    pub runtime: PathBuf,
}

impl Driver {
    /// For the arguments' architecture, or this machine's.
    pub fn new(arguments: &Arguments) -> Result<Driver, RuntimeError> {
        let architecture =
            arguments.architecture.or_else(Architecture::host).ok_or(RuntimeError::UnknownHost)?;
        let compiler = Compiler::find(architecture)?;
        let runtime = archive::installed(&Sources::find()?, &compiler)?;
        Ok(Driver { compiler, runtime })
    }

    /// With a runtime in a folder and a cache of one's own.
    pub fn of_folder(runtime: &Path, cache: &Path, compiler: Compiler) -> Result<Driver, RuntimeError> {
        let runtime = archive::installed_in(cache, &Sources::of_folder(runtime)?, &compiler)?;
        Ok(Driver { compiler, runtime })
    }

    /// The compiler's command for these arguments.
    pub fn command(&self, arguments: &Arguments) -> Command {
        let mut command = self.compiler.run();
        command.args(&arguments.passed).args(flags::compile(&self.compiler, &self.runtime));
        if arguments.links() {
            // A language given by -x holds for all that follows: the archive is none.
            if arguments.passed.iter().any(|argument| argument.to_string_lossy().starts_with("-x")) {
                command.args(["-x", "none"]);
            }
            command.args(flags::link(&self.compiler, &self.runtime, arguments.debugs()));
        }
        command
    }

    /// Runs it and waits; its messages are its own.
    pub fn compile(&self, arguments: &Arguments) -> Result<ExitStatus, RuntimeError> {
        self.command(arguments).status().map_err(|cause| self.not_started(cause))
    }

    /// Replaces this process by it: its exit status is ours. Returns only if that fails.
    pub fn become_compiler(&self, arguments: &Arguments) -> RuntimeError {
        let cause = self.command(arguments).exec();
        self.not_started(cause)
    }

    fn not_started(&self, cause: io::Error) -> RuntimeError {
        RuntimeError::Start { command: self.compiler.command.join(" "), cause }
    }

    /// One line of what was asked for, quoted for a shell.
    pub fn printed(&self, arguments: &Arguments, what: Printed) -> String {
        let compile = flags::compile(&self.compiler, &self.runtime);
        let link = flags::link(&self.compiler, &self.runtime, arguments.debugs());
        match what {
            Printed::Flags => shell_words::join(compile.iter().chain(&link)),
            Printed::CompileFlags => shell_words::join(&compile),
            Printed::LinkFlags => shell_words::join(&link),
            Printed::Runtime => self.runtime.display().to_string(),
        }
    }
}
