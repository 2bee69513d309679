//! `firstbyte report`: makes a page and charts from documents.

use super::{CommandError, Exit, export};
use crate::cli::report::Plan;
use crate::comparison;
use crate::comparison::machines::{ProgramOnMachines, by_machine};
use crate::document::Document;
use crate::document::compare::CompareDocument;
use crate::output::{Target, say, visible, visible_path};
use crate::report::html;
use crate::report::html::machines::oddity;
use crate::report::html::{PageSource, Together};
use crate::report::pictures::plots;
use crate::report::pictures::png;
use firstbyte_measure::units::Bytes;
use std::path::{Path, PathBuf};

/// Reads the documents, writes the page and the charts.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    if let Some(page) = &plan.page {
        page.check().map_err(CommandError::usage)?;
        plan.files.iter().try_for_each(|file| export::refuse_overwrite([page], file))?;
    }
    let mut sources = plan.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    name_alike(&plan.files, &mut sources);
    let machines = by_machine(&documents(&sources));
    tell_odd_ones(&machines);
    let compared = compared(&sources);
    distinguish(&mut sources, &machines);
    let together = Together { machines, compared };
    // a page can show what no chart draws
    if let Some(target) = &plan.page {
        write_page(target, &sources, &together)?;
    }
    if let Some(folder) = &plan.plots {
        write_plots(folder, &sources)?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<(String, PageSource), CommandError> {
    let source = PageSource::read(path).map_err(CommandError::usage)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok((name, source))
}

/// Files with the same name in different folders have their paths as names.
fn name_alike(paths: &[PathBuf], sources: &mut [(String, PageSource)]) {
    let names: Vec<String> = sources.iter().map(|(name, _)| name.clone()).collect();
    for ((name, _), path) in sources.iter_mut().zip(paths) {
        if names.iter().filter(|other| *other == name).count() > 1 {
            *name = path.to_string_lossy().into_owned();
        }
    }
}

fn documents(sources: &[(String, PageSource)]) -> Vec<(&str, &Document)> {
    let programs = sources.iter().filter_map(|(name, source)| match source {
        PageSource::Programs(document) => Some((stem(name), &**document)),
        _ => None,
    });
    programs.collect()
}

/// The comparison of the second file of measured programs with the first, if there are two and they have a program in common.
fn compared(sources: &[(String, PageSource)]) -> Option<CompareDocument> {
    let [(old, before), (new, after)] = documents(sources)[..] else { return None };
    comparison::compare((Path::new(old), before), (Path::new(new), after)).ok()
}

/// A file of results is named after its machine.
fn stem(name: &str) -> &str {
    name.strip_suffix(".json").unwrap_or(name)
}

fn tell_odd_ones(machines: &[ProgramOnMachines]) {
    for program in machines {
        for machine in program.machines.iter().filter(|machine| machine.odd) {
            say(format_args!("`{}`: {}", visible(&program.program), oddity(machine)));
        }
    }
}

/// Where several files have the same program, its name gets the file's.
fn distinguish(sources: &mut [(String, PageSource)], machines: &[ProgramOnMachines]) {
    if machines.is_empty() {
        return;
    }
    for (name, source) in sources {
        let PageSource::Programs(document) = source else { continue };
        let labelled = |label: &str| format!("{label} ({})", stem(name));
        for result in &mut document.results {
            result.name = Some(labelled(result.label()));
            for relative in &mut result.relative {
                relative.reference = labelled(&relative.reference);
            }
        }
    }
}

fn write_page(
    target: &Target,
    sources: &[(String, PageSource)],
    together: &Together,
) -> Result<(), CommandError> {
    let page = html::render(sources, together);
    target.write(&page).map_err(CommandError::unable)?;
    tell(target, page.len());
    Ok(())
}

fn tell(target: &Target, bytes: usize) {
    if !target.is_stdout() {
        say(format_args!("wrote `{}`: {}", visible_path(target.path()), Bytes(bytes as u64)));
    }
}

fn write_plots(folder: &Path, sources: &[(String, PageSource)]) -> Result<(), CommandError> {
    let plots = plots::plots(sources);
    if plots.is_empty() {
        return Err(CommandError::usage(
            "these files contain nothing to draw a chart of\nhelp: firstbyte report -o page.html FILE makes a page of them",
        ));
    }

    std::fs::create_dir_all(folder).map_err(|error| {
        let folder = visible_path(folder);
        CommandError::unable(format!(
            "cannot make `{folder}`: {error}\nhelp: name a folder that you may write to"
        ))
    })?;

    for plot in plots {
        write_plot(folder, &plot.name, "svg", plot.svg.as_bytes())?;
        if let Some(picture) = png::of_svg(&plot.svg) {
            write_plot(folder, &plot.name, "png", &picture)?;
        }
    }
    Ok(())
}

fn write_plot(folder: &Path, name: &str, ending: &str, picture: &[u8]) -> Result<(), CommandError> {
    let target = Target::from(folder.join(format!("{name}.{ending}")));
    target.write_bytes(picture).map_err(CommandError::unable)?;
    tell(&target, picture.len());
    Ok(())
}
