//! `firstbyte elf`.

use super::{CommandError, Exit, show, terminal};
use crate::cli::elf::{Plan, PlannedPurpose};
use firstbyte_elf::explain::explain;

use crate::document::elf::ElfDocument;
use crate::output as export;
use crate::output::Target;
use crate::report::formats::json;
use crate::report::text::elf as elf_text;
use firstbyte_elf::Purpose;

use std::fs;
use std::io::Read;
use std::path::Path;

/// Writes an executable, explains it, or both.
pub fn run(plan: Plan) -> Result<Exit, CommandError> {
    let architecture = plan.architecture.ok_or_else(|| {
        CommandError::usage(
            "firstbyte cannot write executables for this machine\nhelp: name another with `--arch`",
        )
    })?;
    if let (Some(input), Some(output)) = (plan.purpose.input(), &plan.output) {
        super::export::refuse_overwrite([&Target::from(output.clone())], input)?;
    }

    let purpose = match plan.purpose {
        PlannedPurpose::Ready(purpose) => purpose,
        PlannedPurpose::CodeFrom(file) => Purpose::Code(read(&file, "machine code")?),
        PlannedPurpose::MessageFrom(file, exit) => {
            let file = if file == Path::new("-") { Path::new("/dev/stdin") } else { &file };
            Purpose::Message { text: read(file, "text")?, exit }
        }
    };

    let executable = firstbyte_elf::write(architecture, &purpose, plan.style).map_err(CommandError::usage)?;
    if let Some(path) = &plan.output {
        save(path, &executable.image)?;
    }
    if plan.explain {
        let explained = elf_text::render(&explain(&executable));
        show(terminal().wrap_lines(&explained, elf_text::NOTES).as_bytes())?;
    }
    if plan.json {
        let machine = crate::document::this_machine();
        show(json::render(&ElfDocument::of(&executable, machine)).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// An image has at most 1 GiB, so longer files are not read to their end.
fn read(file: &Path, what: &str) -> Result<Vec<u8>, CommandError> {
    let mut code = Vec::new();
    let limit = firstbyte_elf::plain::MAX_IMAGE_BYTES as u64 + 1;
    let read = fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut code));
    let error = |e| {
        CommandError::usage(format!(
            "`{}` could not be read: {e}\nhelp: name a file of {what}",
            file.display()
        ))
    };
    read.map(|_| code).map_err(error)
}

/// Written under another name in the same folder and then renamed, so that an incomplete file is never seen.
fn save(path: &Path, image: &[u8]) -> Result<(), CommandError> {
    if path == Path::new("-") {
        return show(image);
    }
    export::write_program(path, image).map_err(|cause| {
        CommandError::unable(format!(
            "`{}` could not be written: {cause}\nhelp: name a place that you may write to",
            path.display()
        ))
    })
}
