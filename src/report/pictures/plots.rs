//! The pictures of a page as files, for texts about the results.

use crate::document::Document;
use crate::report::html::distributions;
use crate::report::html::source::PageSource;
use crate::report::phase_row::PhaseRow;
use crate::report::pictures::charts;
use crate::report::pictures::{floor as floor_svg, throughput as throughput_chart};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The name of its file, without the extension.
    pub name: String,
    pub svg: String,
}

/// Every picture that can be drawn from the documents.
pub fn plots(sources: &[(String, PageSource)]) -> Vec<Plot> {
    let documents: Vec<&Document> = sources.iter().filter_map(|(_, source)| programs(source)).collect();
    let all = distributions::ordered(&documents);
    let mut plots: Vec<Plot> = Vec::new();
    plots.extend(charts::phases(&charts::rows(&all)).map(|svg| plot("phases", svg)));
    plots.extend(charts::distributions(&all).map(|svg| plot("distributions", svg)));
    plots.extend(charts::phases(&traced(sources)).map(|svg| plot("trace-phases", svg)));
    for (_, source) in sources {
        plots.extend(of(source));
    }
    numbered(&mut plots);
    plots
}

fn programs(source: &PageSource) -> Option<&Document> {
    if let PageSource::Programs(document) = source { Some(document) } else { None }
}

/// The phases of the traced programs.
fn traced(sources: &[(String, PageSource)]) -> Vec<PhaseRow> {
    let documents = sources.iter().filter_map(|(_, source)| match source {
        PageSource::Trace(document) => Some(document),
        _ => None,
    });
    documents.flat_map(|document| &document.results).filter_map(PhaseRow::traced).collect()
}

fn of(source: &PageSource) -> Vec<Plot> {
    match source {
        PageSource::Floor(floor) => {
            floor.waterfalls.iter().filter_map(floor_svg::svg).map(|svg| plot("waterfall", svg)).collect()
        }
        PageSource::Throughput(document) => {
            let charts = [("throughput", false), ("throughput-log", true)];
            charts
                .iter()
                .filter_map(|(name, log)| Some(plot(name, throughput_chart::svg(document, *log)?)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn plot(name: &str, svg: String) -> Plot {
    Plot { name: name.to_owned(), svg }
}

/// The second picture with a name is `waterfall-2`.
fn numbered(plots: &mut [Plot]) {
    let names: Vec<String> = plots.iter().map(|plot| plot.name.clone()).collect();
    for (index, plot) in plots.iter_mut().enumerate() {
        let before = names[..index].iter().filter(|name| **name == names[index]).count();
        if before > 0 {
            plot.name = format!("{}-{}", names[index], before + 1);
        }
    }
}
