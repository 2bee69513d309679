//! Makes a program: finds its tools, builds it once for every combination of sources and tools, verifies it.

use super::execute::{Destination, ExecuteError, Interrupted, Limits, execute, execute_with};
use super::manifest::{Manifest, Script};
use super::placeholder::{Tools, expand, expand_all};
use super::toolchain::{self, Missing, Tool};
use super::{Program, SkipCause, Skipped, builtin, debian, verify};
use firstbyte_cache::{Cache, Lock};
use firstbyte_measure::launch::find_in_path;
use firstbyte_measure::units::Bytes;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Part of every key: to be raised when the same sources are built in another way.
const RECIPE: &[u8] = b"firstbyte corpus 1";
const LOG: &str = "build.log";

/// In the staging folder, for what the tools write to `TMPDIR`: it vanishes with that when a build is interrupted.
const TEMPORARY: &str = ".temporary";

/// Enough for a first `go build`, which compiles the standard library.
const STEP_TIMEOUT: Duration = Duration::from_secs(300);
const CHECK_TIMEOUT: Duration = Duration::from_secs(20);

/// How a program is made and verified.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// How many programs are made at a time.
    pub jobs: usize,
    /// When the run that verifies is killed.
    pub timeout: Duration,
    /// Whether to end early.
    pub interrupted: Interrupted<'a>,
}

/// The kernel reads this much of a script to find its `#!` line (`BINPRM_BUF_SIZE`, linux/binfmts.h).
const HASHBANG_LIMIT: usize = 256;

/// A program that has been built and does what its manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its name.
    pub program: String,
    /// The working directory of its runs.
    pub directory: PathBuf,
    /// What starts it.
    pub argv: Vec<OsString>,
    /// The absolute path of the file that `execve` gets.
    pub executable: PathBuf,
    /// The file that was made for it.
    pub artifact: PathBuf,
    /// The size of that file.
    pub artifact_size: Bytes,
    /// The tools that built it or run it.
    pub toolchain: Vec<Tool>,
    /// Whether it had been built before.
    pub cached: bool,
}

/// What a preparation tells while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// Work on this program has begun.
    Started(&'a str),
    /// It is ready, or it is skipped.
    Finished(&'a Result<Built, Skipped>),
}

/// Builds and verifies programs, `jobs` at a time. The results are in the order of `programs`.
pub fn prepare_all(
    programs: &[&Program],
    cache: &Cache,
    jobs: usize,
    interrupted: Interrupted,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Result<Built, Skipped>> {
    prepare_within(programs, cache, Making { jobs, timeout: CHECK_TIMEOUT, interrupted }, progress)
}

/// The same, with another time limit for the runs that verify.
pub fn prepare_within(
    programs: &[&Program],
    cache: &Cache,
    making: Making,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Result<Built, Skipped>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..making.jobs.clamp(1, programs.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, program)) = take(programs, &next) {
                    progress(Progress::Started(program.name()));
                    let result = prepared(program, cache, making);
                    progress(Progress::Finished(&result));
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a>(programs: &[&'a Program], next: &AtomicUsize) -> Option<(usize, &'a Program)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    programs.get(index).map(|program| (index, *program))
}

/// Builds a program and verifies it. A build from the cache that is wrong is made once more.
pub fn prepare(program: &Program, cache: &Cache, interrupted: Interrupted) -> Result<Built, Skipped> {
    prepared(program, cache, Making { jobs: 1, timeout: CHECK_TIMEOUT, interrupted })
}

fn prepared(program: &Program, cache: &Cache, making: Making) -> Result<Built, Skipped> {
    let interrupted = making.interrupted;
    let limits = Limits { timeout: making.timeout, output: 0, interrupted };
    let mut built = build(program, cache, interrupted)?;
    let mut verdict = verify::verify(&built, &program.manifest.expected, limits);
    if verdict.is_err() && built.cached {
        discard(&built);
        built = build(program, cache, interrupted)?;
        verdict = verify::verify(&built, &program.manifest.expected, limits);
    }
    match verdict {
        Ok(()) => Ok(built),
        Err(verify::VerifyError::Execute(ExecuteError::Interrupted)) => Err(interruption(program)),
        Err(error) if is_foreign(&built) => {
            let reason = format!("this kernel may not execute files of its kind: {error}");
            Err(Skipped::new(program.name(), SkipCause::Unfit, reason))
        }
        Err(error) => Err(Skipped::new(program.name(), SkipCause::Wrong, error.to_string())),
    }
}

/// A 32-bit program on a kernel without IA32 emulation, say: the build is right, the machine is not for it.
/// The error does not tell: `execvp(3)` gives a file that the kernel refuses to the shell.
fn is_foreign(built: &Built) -> bool {
    let kinds = (elf_kind(&built.executable), elf_kind(Path::new("/proc/self/exe")));
    matches!(kinds, (Some(its), Some(ours)) if its != ours)
}

/// What an ELF file is for: `EI_CLASS` and `e_machine` (`elf(5)`).
fn elf_kind(path: &Path) -> Option<(u8, [u8; 2])> {
    let mut header = [0; 20];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    header.starts_with(b"\x7fELF").then_some((header[4], [header[18], header[19]]))
}

/// Whatever it is that makes it wrong, the next look-up must not find it.
fn discard(built: &Built) {
    let _ = fs::remove_dir_all(&built.directory);
}

/// Builds a program, or finds it built.
pub fn build(program: &Program, cache: &Cache, interrupted: Interrupted) -> Result<Built, Skipped> {
    let manifest = &program.manifest;
    if !manifest.fits(std::env::consts::ARCH) {
        let reason = format!("it exists for {} alone", manifest.architectures.join(" and "));
        return Err(Skipped::new(program.name(), SkipCause::Unfit, reason));
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

fn without_tools(program: &Program, missing: &[Missing]) -> Skipped {
    let mut packages: Vec<String> = missing.iter().flat_map(|tool| tool.packages.clone()).collect();
    packages.extend(absent(&program.manifest));
    packages.sort();
    packages.dedup();
    let reasons: Vec<&str> = missing.iter().map(|tool| tool.reason.as_str()).collect();
    let install = debian::install_command(&packages);
    Skipped { install, ..Skipped::new(program.name(), SkipCause::ToolMissing, reasons.join(", ")) }
}

/// The packages that bring no tool and are known not to be there.
fn absent(manifest: &Manifest) -> Vec<String> {
    manifest.packages.iter().filter(|name| debian::is_installed(name) == Some(false)).cloned().collect()
}

fn check_requirements(program: &Program, tools: &Tools) -> Result<(), Skipped> {
    let limits = Limits { timeout: CHECK_TIMEOUT, output: 1 << 16, interrupted: &|| false };
    for requirement in &program.manifest.require {
        let argv = expand_all(&requirement.check, tools);
        let holds =
            execute(&argv, Path::new("/"), Destination::Stdout, limits).is_ok_and(|run| run.exit.success());
        if !holds {
            return Err(Skipped::new(program.name(), SkipCause::Unfit, requirement.reason.clone()));
        }
    }
    Ok(())
}

fn builtin_image(program: &Program) -> Result<Option<Vec<u8>>, Skipped> {
    let message = program.manifest.expected.output();
    let image =
        program.manifest.builtin.map(|builtin| builtin::image(builtin, message.as_bytes())).transpose();
    image.map_err(|reason| Skipped::new(program.name(), SkipCause::Unfit, reason))
}

/// What a build depends on, as 32 hexadecimal digits: every part with its length, so that none runs into the next.
fn key(program: &Program, tools: &[Tool], image: Option<&[u8]>) -> String {
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

/// One build.
struct Job<'a> {
    program: &'a Program,
    tools: &'a Tools,
    image: Option<&'a [u8]>,
    interrupted: Interrupted<'a>,
}

impl Job<'_> {
    /// The folder of the build, and whether it was there already.
    fn entry(&self, cache: &Cache, key: &str) -> Result<(PathBuf, bool), Skipped> {
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

    fn make(&self, staging: &Path) -> Result<(), Failure> {
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
        let _ = fs::remove_dir_all(&temporary); // a build is not wrong for what cannot be removed
        if !staging.join(&manifest.artifact).is_file() {
            return Err(Failure::Said(format!("the build made no file `{}`", manifest.artifact.display())));
        }
        Ok(())
    }

    fn write_script(&self, script: &Script, staging: &Path) -> Result<(), Failure> {
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
            return Err(Failure::Said(format!("the kernel cannot take `{path}` from a `#!` line")));
        }
        text.extend_from_slice(&fs::read(staging.join(&script.source))?);
        Ok(write_executable(&staging.join("test"), &text)?)
    }

    fn step(&self, number: usize, step: &[String], staging: &Path, log: &File) -> Result<(), Failure> {
        let argv = expand_all(step, self.tools);
        let limits = Limits { timeout: STEP_TIMEOUT, output: 0, interrupted: self.interrupted };
        let failed = |why: String| Failure::Step { command: step.join(" "), number, why };
        let temporary = staging.join(TEMPORARY);
        let log = Destination::Log(log.try_clone()?);
        match execute_with(&argv, staging, Some(&temporary), log, limits) {
            Ok(finished) if finished.exit.success() => Ok(()),
            Ok(finished) => Err(failed(format!("{}{}", finished.exit.ending(), complaint(staging)))),
            Err(ExecuteError::Interrupted) => Err(Failure::Interrupted),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn failed(&self, lock: &Lock, failure: Failure) -> Skipped {
        let log =
            lock.give_up(LOG).map_or_else(|_| String::new(), |path| format!(" (log: {})", path.display()));
        let reason = match failure {
            Failure::Interrupted => return interruption(self.program),
            Failure::Said(text) => text,
            Failure::File(error) => format!("cannot write to the cache: {error}"),
            Failure::Step { command, number, why } => format!("build step {number}, `{command}`: {why}{log}"),
        };
        let install = debian::install_command(&absent(&self.program.manifest));
        Skipped { install, ..Skipped::new(self.program.name(), SkipCause::BuildFailed, reason) }
    }

    fn no_cache(&self, error: &io::Error) -> Skipped {
        if error.kind() == io::ErrorKind::Interrupted {
            return interruption(self.program);
        }
        Skipped::new(
            self.program.name(),
            SkipCause::BuildFailed,
            format!("cannot write to the cache: {error}"),
        )
    }
}

enum Failure {
    Step { command: String, number: usize, why: String },
    Said(String),
    File(io::Error),
    Interrupted,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::File(error)
    }
}

fn interruption(program: &Program) -> Skipped {
    Skipped::new(program.name(), SkipCause::Interrupted, "interrupted")
}

/// The line of a log that most likely says what is wrong: the first that speaks of an error, or the last one.
fn complaint(staging: &Path) -> String {
    const MOST: usize = 160;
    let log = fs::read(staging.join(LOG)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(|line| line.to_ascii_lowercase().contains("error"));
    match first.or_else(|| lines.next_back()) {
        Some(line) => {
            format!(": {}", line.chars().filter(|c| !c.is_control()).take(MOST).collect::<String>())
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
    toolchain: Vec<Tool>,
    paths: &Tools,
    cached: bool,
) -> Result<Built, Skipped> {
    let wrong = |reason: String| Skipped::new(program.name(), SkipCause::BuildFailed, reason);
    let argv = expand_all(&program.manifest.run, paths);
    let executable = executable(&argv, &directory).map_err(wrong)?;
    let artifact = directory.join(&program.manifest.artifact);
    let size =
        fs::metadata(&artifact).map_err(|error| wrong(format!("cannot read its artifact: {error}")))?.len();
    let artifact_size = Bytes(size);
    let program = program.name().to_owned();
    Ok(Built { program, directory, argv, executable, artifact, artifact_size, toolchain, cached })
}

/// What `execvp` would find, seen from the folder of the build.
fn executable(argv: &[OsString], directory: &Path) -> Result<PathBuf, String> {
    let name = argv.first().map(PathBuf::from).unwrap_or_default();
    if name.as_os_str().as_bytes().contains(&b'/') {
        return Ok(directory.join(name));
    }
    let found = find_in_path(&name.to_string_lossy());
    found.ok_or_else(|| format!("`{}` is not in PATH", name.display()))
}
