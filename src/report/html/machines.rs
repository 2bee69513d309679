//! The same programs on several machines.

use super::block::{Cell, PageBlock, Picture, Row, Section, Table, columns, row};
use crate::comparison::machines::{MIN_MACHINES, OnMachine, ProgramOnMachines};
use crate::document::bench::Distribution;
use crate::output::visible;
use crate::report::pictures::charts;
use crate::report::row::ratio;
use crate::report::words::count_of;
use firstbyte_measure::units::display_nanos;

/// The most machines in a picture; the table has all.
const MAX_DRAWN: usize = 60;

/// For each program its samples by machine, and who stands apart.
pub(crate) fn section(programs: &[ProgramOnMachines]) -> Option<Section> {
    let mut section = Section::new("machines", "Machines");
    for program in programs {
        section.blocks.push(PageBlock::Heading { text: visible(&program.program) });
        section.blocks.push(PageBlock::Answer { text: answer(program) });
        section.blocks.extend(picture(program).map(|picture| PageBlock::Picture { picture }));
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn answer(program: &ProgramOnMachines) -> String {
    let machines = count_of(program.machines.len(), "file", "files");
    let ends = [program.machines.last(), program.machines.first()];
    let [least, most] = ends.map(|end| end.map_or(String::new(), |end| display_nanos(end.time.median)));
    let range = format!(
        "{machines}: medians from {least} to {most}, in the middle {}.",
        display_nanos(program.middle)
    );
    let odd: Vec<String> = program.machines.iter().filter(|machine| machine.odd).map(oddity).collect();
    if !odd.is_empty() {
        format!("{range} {}", odd.join(" "))
    } else if program.machines.len() < MIN_MACHINES {
        format!("{range} With fewer than {MIN_MACHINES} files, none is called odd.")
    } else {
        format!("{range} None stands apart from the others.")
    }
}

/// One odd machine in a sentence.
pub fn oddity(machine: &OnMachine) -> String {
    let how = if machine.ratio > 1.0 { "slower" } else { "faster" };
    let times = if machine.ratio > 1.0 { machine.ratio } else { 1.0 / machine.ratio };
    let name = visible(&machine.machine);
    let facts: Vec<String> = machine.differs.iter().map(|fact| visible(&fact.to_string())).collect();
    let facts = if facts.is_empty() {
        "no known fact about it differs from the machine in the middle".to_owned()
    } else {
        format!("it differs from the machine in the middle in: {}", facts.join(", "))
    };
    format!(
        "`{name}` is odd, {} times {how} ({}); {facts}.",
        ratio(times),
        display_nanos(machine.time.median)
    )
}

fn picture(program: &ProgramOnMachines) -> Option<Picture> {
    let drawn = program.machines.iter().take(MAX_DRAWN);
    let rows: Vec<(String, &Distribution)> =
        drawn.map(|machine| (machine.machine.clone(), &machine.time)).collect();
    let title = format!("{} by machine", visible(&program.program));
    Some(Picture { title, svg: charts::samples(&rows)?, table: table(program) })
}

fn table(program: &ProgramOnMachines) -> Table {
    Table {
        caption: "First byte (or the total, if a program prints nothing)".to_owned(),
        columns: columns(&[
            "machine",
            "#median",
            "#low",
            "#high",
            "#× middle",
            "#p95",
            "#max",
            "#runs",
            "odd",
            "differs from the machine in the middle",
        ]),
        rows: program.machines.iter().map(line).collect(),
        folded: true,
        ..Table::default()
    }
}

fn line(machine: &OnMachine) -> Row {
    let d = &machine.time;
    let time = |ns: f64| Cell::figure(display_nanos(ns), ns);
    let facts: Vec<String> = machine.differs.iter().map(|fact| visible(&fact.to_string())).collect();
    let runs = d.samples.len();
    row(vec![
        Cell::text(visible(&machine.machine)),
        time(d.median),
        time(d.low),
        time(d.high),
        Cell::figure(ratio(machine.ratio), machine.ratio),
        time(d.p95),
        time(d.max),
        Cell::figure(runs.to_string(), runs as f64),
        Cell::text(if machine.odd { "odd" } else { "" }),
        Cell::text(facts.join(", ")),
    ])
}
