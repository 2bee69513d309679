//! The runtime, unpacked and compiled once for each compiler, in `CACHE/runtime/ARCHITECTURE/KEY/`. KEY is a digest of
//! the sources, the compiler and the flags.

use super::compiler::Compiler;
use super::error::RuntimeError;
use super::flags;
use super::sources::Sources;
use firstbyte_cache::{BuildCache, CacheError, user_folder};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The name of these builds in the cache.
const KIND: &str = "runtime";

/// The folder with `include/`, `firstbyte.ld` and `libfirstbyte.a` in the user's cache. It is built if it does not
/// exist.
pub fn installed(sources: &Sources, compiler: &Compiler) -> Result<PathBuf, RuntimeError> {
    installed_in(&user_folder().ok_or(CacheError::Nowhere)?, sources, compiler)
}

/// The same, in the given cache folder.
pub fn installed_in(cache: &Path, sources: &Sources, compiler: &Compiler) -> Result<PathBuf, RuntimeError> {
    let key = key(sources, compiler);
    let architecture = compiler.architecture.name();
    if let Some(entry) = firstbyte_cache::entry(cache, KIND, architecture, &key) {
        return Ok(entry);
    }

    let error = |cause| RuntimeError::Folder { path: cache.to_owned(), cause };
    let lock = BuildCache::at(cache, KIND)?.lock(architecture, || false).map_err(error)?;
    // Another process may have been faster.
    if let Some(entry) = lock.entry(&key) {
        return Ok(entry);
    }

    let staging = lock.staging().map_err(error)?;
    sources.unpack(&staging)?;
    build(sources, compiler, &staging)?;
    let entry = lock.seal(&key).map_err(error)?;
    // An old build that cannot be removed only takes space.
    let _ = lock.collect_garbage(&key);
    Ok(entry)
}

fn key(sources: &Sources, compiler: &Compiler) -> String {
    let mut digest = Sha256::new();
    sources.digest(&mut digest);
    let nowhere = Path::new("");
    for folder in ["string", "stdlib", ""] {
        digest.update(flags::runtime(compiler, nowhere, folder).join("\0"));
    }
    digest.update(compiler.command.join("\0"));
    digest.update(&compiler.version);
    digest.finalize().iter().take(12).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Runs one compiler process for each folder of sources, all at the same time. Each writes its objects to its own
/// folder.
fn build(sources: &Sources, compiler: &Compiler, folder: &Path) -> Result<(), RuntimeError> {
    let mut running = Vec::new();
    for (place, units) in sources.units() {
        if belongs_to_another(&place, compiler) {
            continue;
        }
        let objects = folder.join("objects").join(place.to_string_lossy().replace('/', "-"));
        fs::create_dir_all(&objects)
            .map_err(|cause| RuntimeError::Folder { path: objects.clone(), cause })?;
        running.push(start(compiler, folder, &place, &units, &objects)?);
    }
    running.into_iter().try_for_each(|child| finished(compiler, child))?;
    archive(compiler, folder)
}

/// `arch/X` is compiled only for X.
fn belongs_to_another(place: &Path, compiler: &Compiler) -> bool {
    place.starts_with("arch") && !place.ends_with(compiler.architecture.name().replace('-', "_"))
}

fn start(
    compiler: &Compiler,
    folder: &Path,
    place: &Path,
    units: &[PathBuf],
    objects: &Path,
) -> Result<Child, RuntimeError> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let mut command = compiler.run();
    command
        .arg("-c")
        .args(flags::runtime(compiler, folder, &name))
        .args(units.iter().map(|u| folder.join(u)));
    command.current_dir(objects).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    spawn(&mut command)
}

fn archive(compiler: &Compiler, folder: &Path) -> Result<(), RuntimeError> {
    let mut objects: Vec<OsString> = Vec::new();
    let pattern = folder.join("objects");
    let error = |cause| RuntimeError::Folder { path: pattern.clone(), cause };
    for place in fs::read_dir(&pattern).map_err(error)? {
        for object in fs::read_dir(place.map_err(error)?.path()).map_err(error)? {
            objects.push(object.map_err(error)?.path().into_os_string());
        }
    }
    objects.sort();
    let mut command = Command::new("ar");
    command.arg("rcsD").arg(folder.join("libfirstbyte.a")).args(objects);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    finished(compiler, spawn(&mut command)?)?;
    fs::remove_dir_all(&pattern).map_err(error)
}

fn spawn(command: &mut Command) -> Result<Child, RuntimeError> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|cause| RuntimeError::Start { command: name, cause })
}

fn finished(compiler: &Compiler, child: Child) -> Result<(), RuntimeError> {
    let name = compiler.command.join(" ");
    let output =
        child.wait_with_output().map_err(|cause| RuntimeError::Start { command: name.clone(), cause })?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    Err(RuntimeError::Build { compiler: name, messages })
}
