//! Builds a program: finds its tools, and builds it once for every combination of sources and tools.

use super::execute::{Destination, ExecuteError, Interrupted, Limits, execute, execute_with};
use super::manifest::{Manifest, ScriptProgram};
use super::placeholder::{Tools, expand, expand_all};
use super::toolchain::{self, FoundTool, MissingTool};
use super::{Built, Program, SkipCause, SkippedProgram, builtin, debian};
use firstbyte_cache::{BuildCache, Lock};
use firstbyte_measure::launch::find_in_path;
use firstbyte_measure::units::Bytes;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Part of every key. Raise it when the same sources are built differently.
const RECIPE: &[u8] = b"firstbyte corpus 1";
const LOG: &str = "build.log";

/// `TMPDIR` of the tools. It is in the staging folder, so an interrupted build leaves nothing behind.
const TEMPORARY: &str = ".temporary";

/// Long enough for a first `go build`, which compiles the standard library.
const STEP_TIMEOUT: Duration = Duration::from_secs(300);
pub(super) const CHECK_TIMEOUT: Duration = Duration::from_secs(20);

/// The kernel reads this many bytes of a script to find its `#!` line (`BINPRM_BUF_SIZE`, linux/binfmts.h).
const HASHBANG_LIMIT: usize = 256;

/// Builds a program, or finds it in the cache.
pub fn build(
    program: &Program,
    cache: &BuildCache,
    interrupted: Interrupted,
) -> Result<Built, SkippedProgram> {
    let manifest = &program.manifest;
    if !manifest.fits(std::env::consts::ARCH) {
        let reason = format!("it exists only for {}", manifest.architectures.join(" and "));
        return Err(SkippedProgram::new(program.name(), SkipCause::Unfit, reason));
    }

    let tools = toolchain::find_all(manifest).map_err(|missing| without_tools(program, &missing))?;
    let paths = toolchain::paths(&tools);
    check_requirements(program, &paths)?;

    let bytes = builtin_image(program)?;
    let key = key(program, &tools, bytes.as_deref());
    let job = Job { program, tools: &paths, image: bytes.as_deref(), interrupted };
    let (directory, cached) = job.entry(cache, &key)?;
    describe(program, directory, tools, &paths, cached)
}

fn without_tools(program: &Program, missing: &[MissingTool]) -> SkippedProgram {
    let mut packages: Vec<String> = missing.iter().flat_map(|tool| tool.packages.clone()).collect();
    packages.extend(absent(&program.manifest));
    packages.sort();
    packages.dedup();
    let reasons: Vec<&str> = missing.iter().map(|tool| tool.reason.as_str()).collect();
    let others = missing.iter().filter(|tool| !tool.install.is_empty());
    let commands: Vec<String> = debian::install_command(&packages)
        .into_iter()
        .chain(others.map(|tool| tool.install.join(" ")))
        .collect();
    SkippedProgram {
        install: (!commands.is_empty()).then(|| commands.join(" && ")),
        ..SkippedProgram::new(program.name(), SkipCause::ToolMissing, reasons.join(", "))
    }
}

/// The packages that provide no tool and are known to be missing.
fn absent(manifest: &Manifest) -> Vec<String> {
    manifest.packages.iter().filter(|name| debian::is_installed(name) == Some(false)).cloned().collect()
}

fn check_requirements(program: &Program, tools: &Tools) -> Result<(), SkippedProgram> {
    let limits = Limits { timeout: CHECK_TIMEOUT, output: 1 << 16, interrupted: &|| false };
    for requirement in &program.manifest.require {
        let argv = expand_all(&requirement.check, tools);
        let holds =
            execute(&argv, Path::new("/"), Destination::Stdout, limits).is_ok_and(|run| run.exit.success());
        if !holds {
            return Err(SkippedProgram::new(program.name(), SkipCause::Unfit, requirement.reason.clone()));
        }
    }
    Ok(())
}

fn builtin_image(program: &Program) -> Result<Option<Vec<u8>>, SkippedProgram> {
    let message = program.manifest.expected.output();
    let image =
        program.manifest.builtin.map(|builtin| builtin::image(builtin, message.as_bytes())).transpose();
    image.map_err(|reason| SkippedProgram::new(program.name(), SkipCause::Unfit, reason))
}

/// A hash of everything that a build depends on, as 32 hexadecimal digits. Each part is hashed with its length, so that
/// two different lists of parts never hash alike.
fn key(program: &Program, tools: &[FoundTool], image: Option<&[u8]>) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };

    add(RECIPE);
    add(std::env::consts::ARCH.as_bytes());
    for file in &program.sources {
        add(file.path.as_os_str().as_bytes());
        add(&file.contents);
    }
    for tool in tools {
        add(tool.path.as_os_str().as_bytes());
        add(tool.version.as_deref().unwrap_or_default().as_bytes());
    }
    add(image.unwrap_or_default());

    let digest: [u8; 32] = hash.finalize().into();
    let (half, _) = digest.split_at(16);
    format!("{:032x}", half.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte)))
}

struct Job<'a> {
    program: &'a Program,
    tools: &'a Tools,
    image: Option<&'a [u8]>,
    interrupted: Interrupted<'a>,
}

impl Job<'_> {
    /// Returns the folder of the build, and whether it existed already.
    fn entry(&self, cache: &BuildCache, key: &str) -> Result<(PathBuf, bool), SkippedProgram> {
        let lock =
            cache.lock(self.program.name(), self.interrupted).map_err(|error| self.no_cache(&error))?;
        if let Some(entry) = lock.entry(key) {
            return Ok((entry, true));
        }

        let staging = lock.staging().map_err(|error| self.no_cache(&error))?;
        self.make(&staging).map_err(|failure| self.failed(&lock, failure))?;
        let entry = lock.seal(key).map_err(|error| self.no_cache(&error))?;
        lock.collect_garbage(key).map_err(|error| self.no_cache(&error))?;
        Ok((entry, false))
    }

    fn make(&self, staging: &Path) -> Result<(), BuildFailure> {
        let manifest = &self.program.manifest;
        let log = File::create(staging.join(LOG))?;

        for file in &self.program.sources {
            let path = staging.join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(staging))?;
            fs::write(path, &file.contents)?;
        }
        if let Some(image) = self.image {
            write_executable(&staging.join("test"), image)?;
        }
        if let Some(script) = &manifest.script {
            self.write_script(script, staging)?;
        }

        let temporary = staging.join(TEMPORARY);
        fs::create_dir_all(&temporary)?;
        for (index, step) in manifest.build.iter().enumerate() {
            self.step(index + 1, step, staging, &log)?;
        }
        let _ = fs::remove_dir_all(&temporary); // the build is right even if this fails

        if !staging.join(&manifest.artifact).is_file() {
            return Err(BuildFailure::Other(format!(
                "the build made no file `{}`",
                manifest.artifact.display()
            )));
        }
        Ok(())
    }

    fn write_script(&self, script: &ScriptProgram, staging: &Path) -> Result<(), BuildFailure> {
        let interpreter = expand(&script.interpreter, self.tools);
        let mut text = b"#!".to_vec();
        text.extend_from_slice(interpreter.as_bytes());
        if let Some(argument) = &script.argument {
            text.push(b' ');
            text.extend_from_slice(argument.as_bytes());
        }
        text.push(b'\n');

        if text.len() > HASHBANG_LIMIT || interpreter.as_bytes().iter().any(u8::is_ascii_whitespace) {
            let path = interpreter.display();
            return Err(BuildFailure::Other(format!("the kernel does not accept `{path}` in a `#!` line")));
        }

        text.extend_from_slice(&fs::read(staging.join(&script.source))?);
        Ok(write_executable(&staging.join("test"), &text)?)
    }

    fn step(&self, number: usize, step: &[String], staging: &Path, log: &File) -> Result<(), BuildFailure> {
        let argv = expand_all(step, self.tools);
        let limits = Limits { timeout: STEP_TIMEOUT, output: 0, interrupted: self.interrupted };
        let failed = |why: String| BuildFailure::Step { command: step.join(" "), number, why };
        let temporary = staging.join(TEMPORARY);
        let log = Destination::Log(log.try_clone()?);

        match execute_with(&argv, staging, Some(&temporary), log, limits) {
            Ok(finished) if finished.exit.success() => Ok(()),
            Ok(finished) => Err(failed(format!("{}{}", finished.exit.ending(), complaint(staging)))),
            Err(ExecuteError::Interrupted) => Err(BuildFailure::Interrupted),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn failed(&self, lock: &Lock, failure: BuildFailure) -> SkippedProgram {
        let log =
            lock.give_up(LOG).map_or_else(|_| String::new(), |path| format!(" (log: {})", path.display()));
        let reason = match failure {
            BuildFailure::Interrupted => return interruption(self.program),
            BuildFailure::Other(text) => text,
            BuildFailure::File(error) => format!("cannot write to the cache: {error}"),
            BuildFailure::Step { command, number, why } => {
                format!("build step {number}, `{command}`: {why}{log}")
            }
        };

        let install = debian::install_command(&absent(&self.program.manifest));
        SkippedProgram { install, ..SkippedProgram::new(self.program.name(), SkipCause::BuildFailed, reason) }
    }

    fn no_cache(&self, error: &io::Error) -> SkippedProgram {
        if error.kind() == io::ErrorKind::Interrupted {
            return interruption(self.program);
        }
        SkippedProgram::new(
            self.program.name(),
            SkipCause::BuildFailed,
            format!("cannot write to the cache: {error}"),
        )
    }
}

enum BuildFailure {
    Step { command: String, number: usize, why: String },
    Other(String),
    File(io::Error),
    Interrupted,
}

impl From<io::Error> for BuildFailure {
    fn from(error: io::Error) -> BuildFailure {
        BuildFailure::File(error)
    }
}

pub(super) fn interruption(program: &Program) -> SkippedProgram {
    SkippedProgram::new(program.name(), SkipCause::Interrupted, "interrupted")
}

/// The line of the log that most likely names the cause: the first that contains `error`, or else the last.
fn complaint(staging: &Path) -> String {
    const MAX_SHOWN_BYTES: usize = 160;
    let log = fs::read(staging.join(LOG)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(|line| line.to_ascii_lowercase().contains("error"));
    match first.or_else(|| lines.next_back()) {
        Some(line) => {
            format!(
                ": {}",
                line.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_BYTES).collect::<String>()
            )
        }
        None => String::new(),
    }
}

fn write_executable(path: &Path, contents: &[u8]) -> io::Result<()> {
    fs::write(path, contents)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn describe(
    program: &Program,
    directory: PathBuf,
    toolchain: Vec<FoundTool>,
    paths: &Tools,
    cached: bool,
) -> Result<Built, SkippedProgram> {
    let wrong = |reason: String| SkippedProgram::new(program.name(), SkipCause::BuildFailed, reason);
    let argv = expand_all(&program.manifest.run, paths);
    let executable = executable(&argv, &directory).map_err(wrong)?;
    let artifact = directory.join(&program.manifest.artifact);
    let size =
        fs::metadata(&artifact).map_err(|error| wrong(format!("cannot read its artifact: {error}")))?.len();

    let artifact_size = Bytes(size);
    let program = program.name().to_owned();
    Ok(Built { program, directory, argv, executable, artifact, artifact_size, toolchain, cached })
}

/// The file that `execvp` would find from the folder of the build.
fn executable(argv: &[OsString], directory: &Path) -> Result<PathBuf, String> {
    let name = argv.first().map(PathBuf::from).unwrap_or_default();
    if name.as_os_str().as_bytes().contains(&b'/') {
        return Ok(directory.join(name));
    }
    let found = find_in_path(&name.to_string_lossy());
    found.ok_or_else(|| format!("`{}` is not in PATH", name.display()))
}
