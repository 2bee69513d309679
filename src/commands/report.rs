//! `firstbyte report`: makes a page and charts from documents.

use super::{CommandError, Exit, export};
use crate::cli::report::Plan;
use crate::output::Target;
use crate::output::visible_path;
use crate::report::html;
use crate::report::html::PageSource;
use crate::report::pictures::plots;
use crate::report::pictures::png;
use firstbyte_measure::units::Bytes;
use std::path::Path;

/// Reads the documents, writes the page and the charts.
pub fn run(plan: &Plan) -> Result<Exit, CommandError> {
    if let Some(page) = &plan.page {
        page.check().map_err(CommandError::usage)?;
        plan.files.iter().try_for_each(|file| export::spare([page], file))?;
    }
    let sources = plan.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    // a page can show what no chart draws
    if let Some(target) = &plan.page {
        write_page(target, &sources)?;
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

fn write_page(target: &Target, sources: &[(String, PageSource)]) -> Result<(), CommandError> {
    let page = html::render(sources);
    target.write(&page).map_err(CommandError::unable)?;
    tell(target, page.len());
    Ok(())
}

fn tell(target: &Target, bytes: usize) {
    if !target.is_stdout() {
        eprintln!("wrote `{}`: {}", visible_path(target.path()), Bytes(bytes as u64));
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
