//! Which functions `main` calls, for several ways to compile it.

use super::disassembly::disassemble;
use super::{FileView, InspectError, MachineFiles};
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// The options that are compared.
const COMPILATIONS: [&[&str]; 4] = [&["-O0"], &["-O2"], &["-O0", "-fno-builtin"], &["-O2", "-fno-builtin"]];

/// The functions that `main` calls when it is compiled with these options.
#[derive(Debug, Serialize)]
pub struct Compilation {
    pub options: String,
    pub calls: Vec<String>,
}

/// Compiles a C file with each set of options, in an empty folder.
pub fn compilations(source: &Path, compiler: &Path, folder: &Path) -> Result<Vec<Compilation>, InspectError> {
    MachineFiles.read(source)?;
    COMPILATIONS.iter().map(|options| compilation(source, compiler, folder, options)).collect()
}

fn compilation(
    source: &Path,
    compiler: &Path,
    folder: &Path,
    options: &[&str],
) -> Result<Compilation, InspectError> {
    let failed = |cause| InspectError::NoCompiler { compiler: compiler.display().to_string(), cause };
    let object = folder.join("object.o");
    let mut command = Command::new(compiler);
    command.args(options).arg("-c").arg("-o").arg(&object).arg(source);
    let output = command.output().map_err(failed)?;
    if !output.status.success() {
        return Err(InspectError::NotCompiled {
            path: source.display().to_string(),
            compiler: compiler.display().to_string(),
            message: first_error(&String::from_utf8_lossy(&output.stderr)),
        });
    }

    let lines = disassemble(source, &MachineFiles.read(&object)?, "main")?;
    let calls = lines.into_iter().filter_map(|line| line.calls).collect();
    Ok(Compilation { options: options.join(" "), calls })
}

/// The first error among the compiler's messages.
fn first_error(messages: &str) -> String {
    let mut lines = messages.lines();
    let error = lines.clone().find(|line| line.contains("error:"));
    error.or_else(|| lines.next()).unwrap_or_default().to_owned()
}
