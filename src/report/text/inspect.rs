//! An executable and what its start costs, for a terminal. Names in files may be hostile, so all are made visible.

use crate::document::inspect::StartCost;
use crate::inspect::Inspection;
use crate::inspect::compilations::Compilation;
use crate::inspect::disassembly::AssemblyLine;
use crate::inspect::headers::Elf;
use crate::inspect::library::Library;
use crate::inspect::prediction::Prediction;
use crate::inspect::relocations::Relocations;
use crate::output::{visible, visible_path};
use crate::report::words::count_of;
use firstbyte_measure::units::display_nanos;
use std::fmt::Write as _;

/// The column where values begin.
pub const VALUES: usize = 18;

pub fn render(inspection: &Inspection, estimate: Option<&StartCost>) -> String {
    let mut text = format!("{}\n", visible_path(&inspection.path));
    for script in &inspection.scripts {
        let line = &script.first_line;
        let argument = line.argument.as_ref().map_or(String::new(), |a| format!(" {}", visible(a)));
        let (script, interpreter) = (visible_path(&script.path), visible_path(&line.interpreter));
        let _ = writeln!(text, "  script          {script} is run by {interpreter}{argument}");
    }

    for launcher in &inspection.launchers {
        let (path, starts) = (visible_path(&launcher.path), visible(&launcher.starts));
        let failed = match launcher.failed_execs {
            0 => String::new(),
            failed => format!(", which {} of PATH do not have", folders(failed)),
        };
        let _ = writeln!(text, "  launcher        {path} executes {starts}{failed}");
    }

    if let (Some(elf), Some(program)) = (&inspection.elf, &inspection.program) {
        if program != &inspection.path {
            let _ = writeln!(text, "{}", visible_path(program));
        }
        text += &headers(elf);
        text += &segments(elf);
        text += &libraries(&inspection.libraries);
    }

    for problem in &inspection.problems {
        let _ = writeln!(text, "  problem         {}", visible(problem));
    }
    if let Some(prediction) = &inspection.prediction {
        text += &self::prediction(prediction);
        text += &estimate.map_or_else(String::new, self::estimate);
    }
    text
}

fn headers(elf: &Elf) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<15} {}", visible(&value));
    };

    line(
        "type",
        format!(
            "{}, {} bits, {}, {} endian",
            elf.kind.describe(),
            elf.class,
            elf.machine_name,
            elf.byte_order
        ),
    );
    let debug = if elf.debug_size == 0 {
        String::new()
    } else {
        format!(", {} of them debug sections", elf.debug_size)
    };
    line("size", format!("{} bytes{debug}", elf.size));
    if let Some(interpreter) = &elf.interpreter {
        line("dynamic loader", interpreter.clone());
    }

    line("relocations", relocations(&elf.relocations));
    if let Some(dynamic) = &elf.dynamic {
        let when = if dynamic.bind_now { "at start (BIND_NOW)" } else { "at the first call" };
        line("binding", format!("functions {when}; RELRO {}", if elf.relro { "yes" } else { "no" }));
        line("symbol hash", dynamic.hash_style.unwrap_or("none").to_owned());
        line("constructors", format!("{}, destructors {}", dynamic.constructors, dynamic.destructors));
        for (name, folders) in [("RPATH", &dynamic.rpath), ("RUNPATH", &dynamic.runpath)] {
            if let Some(folders) = folders {
                line(name, folders.clone());
            }
        }
    }
    if elf.kind.is_executable() {
        let evidence = elf.runtime.evidence.join(", ");
        let evidence = if evidence.is_empty() { "no evidence".to_owned() } else { evidence };
        line("runtime", format!("{} ({evidence})", elf.runtime.describe()));
    }

    for note in &elf.notes {
        line("note", note.clone());
    }
    for damage in &elf.damage {
        line("damaged", damage.clone());
    }
    text
}

/// The kinds that the file has.
fn relocations(counts: &Relocations) -> String {
    let packed = match counts.relative_packed {
        0 => "relative".to_owned(),
        packed => format!("relative ({packed} packed)"),
    };
    let kinds = [
        (counts.relative, packed.as_str()),
        (counts.symbolic, "symbolic"),
        (counts.jump_slot, "functions"),
        (counts.irelative, "ifuncs"),
        (counts.copy, "copies"),
        (counts.thread_local, "thread-local"),
        (counts.other, "others"),
    ];
    let found = kinds.into_iter().filter(|(count, _)| *count > 0);
    let found: Vec<String> = found.map(|(count, kind)| format!("{count} {kind}")).collect();
    if found.is_empty() { "none".to_owned() } else { found.join(", ") }
}

fn segments(elf: &Elf) -> String {
    let mut text = String::new();
    for segment in elf.segments.iter().filter(|s| s.kind == "LOAD") {
        let pages = |count| count_of(usize::try_from(count).unwrap_or(usize::MAX), "page", "pages");
        let zeros = match segment.zero_pages {
            0 => String::new(),
            zeros => format!(", {} of zeros", pages(zeros)),
        };
        let _ = writeln!(
            text,
            "  segment {}     {} of the file{zeros}",
            segment.flags,
            pages(segment.file_pages)
        );
    }
    text
}

fn libraries(libraries: &[Library]) -> String {
    let mut text = String::new();
    for (i, library) in libraries.iter().enumerate() {
        let path = library.path.as_ref().map_or("MISSING".to_owned(), |path| visible_path(path));
        let how = [library.asked_by, library.found_by].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let how = if how.is_empty() { how } else { format!(" ({how})") };
        let heading = if i == 0 { "libraries" } else { "" };
        let _ = writeln!(text, "  {heading:<15} {} -> {path}{how}", visible(&library.name));
    }
    text
}

fn prediction(prediction: &Prediction) -> String {
    let (sure, faults) = if prediction.is_minimum() { ("at least", "") } else { ("exactly", "about ") };
    let heading = format!("its start takes {sure}");
    let mut text = format!("  {heading:<32} system calls  {faults}page faults\n");
    let faults_width = 13 + faults.len();
    let mut row = |name: &str, calls: u64, faults: u64| {
        let _ = writeln!(text, "    {name:<36} {calls:>6} {faults:>faults_width$}");
    };
    for part in &prediction.parts {
        row(&visible(&part.name), part.syscalls, part.page_faults);
    }
    row("in all", prediction.syscalls, prediction.page_faults);
    for (i, cause) in prediction.minimum_because.iter().enumerate() {
        let heading = if i == 0 { "at least" } else { "" };
        let _ = writeln!(text, "  {heading:<15} {}", visible(cause));
    }
    text
}

fn folders(count: u64) -> String {
    count_of(usize::try_from(count).unwrap_or(usize::MAX), "folder", "folders")
}

fn estimate(estimate: &StartCost) -> String {
    let mut text = format!("  estimated from costs on this machine: {}\n", estimate.source);
    let mut total = 0.0;
    for cost in &estimate.costs {
        let sum = cost.count as f64 * cost.ns;
        total += sum;
        let (each, sum) = (display_nanos(cost.ns), display_nanos(sum));
        let _ = writeln!(text, "    {:<32} {:>5} × {each:>8} = {sum:>8}", cost.name, cost.count);
    }

    if !estimate.costs.is_empty() {
        let _ = writeln!(
            text,
            "    {:<49}   {:>8}",
            "lower bound: without the code of loader and program",
            display_nanos(total)
        );
    }
    text
}

/// The instructions of a function.
pub fn render_lines(lines: &[AssemblyLine]) -> String {
    let mut text = String::new();
    for line in lines {
        let calls = line.calls.as_ref().map_or(String::new(), |calls| format!("   # {}", visible(calls)));
        let _ = writeln!(text, "{:>8x}  {}{calls}", line.address, line.text);
    }
    text
}

/// The functions that main calls, for each set of compiler options.
pub fn render_calls(rows: &[Compilation]) -> String {
    let width = rows.iter().map(|row| row.options.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Compilation { options, calls } in rows {
        let calls = if calls.is_empty() { "nothing".to_owned() } else { visible(&calls.join(", ")) };
        let _ = writeln!(text, "{options:width$}  main calls {calls}");
    }
    text
}
