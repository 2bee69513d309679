//! `firstbyte throughput`.

use super::progress::bar;
use super::{CommandError, Exit, before_launching, export, show, terminal};
use crate::bench::interference::Watch;
use crate::cli::throughput::Plan;
use crate::corpus::{BuildCache, PrepareOptions, Program, Progress, prepare_all};
use crate::document::bench::{Skipped, Tool};
use crate::document::throughput::{Throughput, ThroughputDocument, WrongOutput};
use crate::report::formats::Exported;
use crate::report::text::throughput as throughput_text;
use crate::throughput::design::{self, BASELINE, Design, OURS, WC_ALONE};
use crate::throughput::sink::{Places, Sink};
use crate::throughput::sweep::{Sweep, Swept};
use firstbyte_measure::launch::interrupt;
use firstbyte_measure::machine::Machine;

/// Builds the designs, measures them in turn, prints the tables.
pub fn run(plan: Plan) -> Result<Exit, CommandError> {
    let programs = design::programs().map_err(CommandError::usage)?;
    let known: Vec<&str> = programs.iter().map(Program::name).chain([OURS, WC_ALONE]).collect();
    if let Some(name) = plan.only.iter().find(|name| !known.contains(&name.as_str())) {
        let message = format!("no design `{name}`\nhelp: firstbyte throughput --list");
        return Err(CommandError::usage(message));
    }
    if plan.list {
        show(terminal().wrap_lines(&list(&programs), 21).as_bytes())?;
        return Ok(Exit::Done);
    }
    check(&plan)?;
    before_launching();
    let (exports, log) = (plan.exports.clone(), plan.log);
    let document = measured(plan)?;
    let drawn = export::write_drawn(&exports, &Exported::Throughput { document: &document, log })?;
    if !export::takes_stdout(&exports) {
        show(throughput_text::render(&document, &terminal()).as_bytes())?;
    }
    let failed = document.wrong.iter().any(|wrong| !wrong.literal);
    match document.partial {
        true => Ok(Exit::Interrupted),
        false if !drawn => Err(CommandError::unable(
            "there is no chart to draw: nothing was timed\nhelp: firstbyte throughput --list, and less by --n or more \
             time by --timeout",
        )),
        false if failed => Ok(Exit::ProgramFailed),
        false => Ok(Exit::Done),
    }
}

/// Builds the designs and measures them in turn.
pub(super) fn measured(plan: Plan) -> Result<ThroughputDocument, CommandError> {
    let programs = design::programs().map_err(CommandError::usage)?;
    let wanted: Vec<&Program> = programs.iter().filter(|program| wants(&plan, program.name())).collect();
    let (mut designs, skipped) = prepare(&wanted)?;
    let firstbyte = std::env::current_exe().map_err(CommandError::unable)?;
    for own in [Design::ours(&firstbyte), Design::wc_alone()] {
        designs.extend(Some(own).filter(|own| wants(&plan, &own.name)));
    }
    let mut document = header(skipped);
    if interrupt::interrupted().is_some() {
        document.partial = true;
    } else {
        measure(plan, designs, &mut document);
    }
    Ok(document)
}

fn wants(plan: &Plan, name: &str) -> bool {
    plan.only.is_empty() || name == BASELINE || plan.only.iter().any(|own| own == name)
}

fn list(programs: &[Program]) -> String {
    let line = |program: &Program| format!("{:<20} {}\n", program.name(), program.manifest.description);
    let own = [Design::ours("firstbyte".as_ref()), Design::wc_alone()];
    let own = own.map(|design| format!("{:<20} {}\n", design.name, design.description));
    programs.iter().map(line).chain(own).collect()
}

/// What can be refused is refused before the first run.
fn check(plan: &Plan) -> Result<(), CommandError> {
    export::check_targets(&plan.exports)?;
    let disk = plan.sinks.iter().any(|sink| matches!(sink, Sink::File | Sink::Overwrite));
    let memory = plan.sinks.iter().any(|sink| matches!(sink, Sink::Tmpfs | Sink::Wc));
    for (needed, folder, option) in
        [(disk, &plan.directory, "--directory"), (memory, &plan.memory, "--memory")]
    {
        if let Some(error) = needed.then(|| tempfile::tempfile_in(folder).err()).flatten() {
            let message = format!(
                "`{}` cannot hold files: {error}\nhelp: name another folder by {option}",
                folder.display()
            );
            return Err(CommandError::unable(message));
        }
    }
    Ok(())
}

fn prepare(programs: &[&Program]) -> Result<(Vec<Design>, Vec<Skipped>), CommandError> {
    let cache = BuildCache::of_user().map_err(CommandError::unable)?;
    let bar = bar("building", programs.len() as u64);
    let progress = |step: Progress| match step {
        Progress::Started(name) => bar.set_message(name.to_owned()),
        Progress::Finished(_) => bar.inc(1),
    };
    let interrupted = || interrupt::interrupted().is_some();
    let results = prepare_all(programs, &cache, PrepareOptions::new(&interrupted), &progress);
    bar.finish_and_clear();
    let (mut designs, mut skipped) = (Vec::new(), Vec::new());
    for (program, result) in programs.iter().zip(results) {
        match result {
            Ok(built) => designs.push(Design::of_program(program, &built)),
            Err(skip) => {
                skipped.push(Skipped { name: skip.name, reason: skip.reason, install: skip.install });
            }
        }
    }
    Ok((designs, skipped))
}

fn header(skipped: Vec<Skipped>) -> ThroughputDocument {
    let machine = serde_json::to_value(Machine::examine()).unwrap_or_default();
    ThroughputDocument { skipped, ..ThroughputDocument::new(Tool::ours(), machine, BASELINE) }
}

fn measure(plan: Plan, designs: Vec<Design>, document: &mut ThroughputDocument) {
    let sweep = Sweep {
        counts: plan.counts,
        sinks: plan.sinks,
        designs,
        runs: plan.runs,
        enough: plan.enough,
        limit: plan.timeout,
        places: Places { memory: plan.memory, disk: plan.directory },
        seed: plan.seed,
    };
    document.warnings = sweep.places.warnings(&sweep.sinks);
    let bar = bar("measuring", sweep.planned());
    let watch = Watch::begin();
    let swept = sweep.run(&mut |runs| bar.inc(runs));
    let interference = watch.end().warnings(&document.machine);
    document.warnings.extend(interference.iter().map(ToString::to_string));
    bar.finish_and_clear();
    fill(document, &sweep, swept);
}

fn fill(document: &mut ThroughputDocument, sweep: &Sweep, swept: Swept) {
    document.partial = swept.interrupted || interrupt::interrupted().is_some();
    for cell in swept.cells {
        let design = &sweep.designs[cell.design];
        let row = Throughput {
            sink: cell.sink.name().to_owned(),
            sink_description: cell.sink.description(&sweep.places),
            design: design.name.clone(),
            description: design.description.clone(),
            lines: cell.count,
            bytes: cell.count * (Design::TEXT.len() as u64 + 1),
            times_ns: cell.times.iter().map(|time| time.0).collect(),
            median_ns: 0.0,
            min_ns: 0.0,
            bytes_per_second: None,
            times_faster: None,
        };
        document.results.extend(row.summarised(cell.sink != Sink::Null));
    }
    for wrong in swept.wrong {
        let design = &sweep.designs[wrong.design];
        document.wrong.push(WrongOutput {
            design: design.name.clone(),
            description: design.description.clone(),
            literal: design.literal,
            sink: wrong.sink.name().to_owned(),
            lines: wrong.count,
            reason: wrong.reason,
        });
    }
    document.compare();
}
