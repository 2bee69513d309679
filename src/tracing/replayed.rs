//! A recording from a file, explained by the files that it saw.

use crate::analysis::Summary;
use crate::analysis::behind_env;
use crate::analysis::binaries::FileBinaries;
use crate::analysis::libraries;
use crate::analysis::loads;
use crate::analysis::named_spans;
use crate::analysis::notes::failure;
use crate::analysis::recorded::RecordedBinaries;
use crate::analysis::runs::{Along, ObservedRuns};
use crate::analysis::trace_analysis::{TraceAnalysis, UsedTracer, account};
use firstbyte_measure::launch::KnownEnvironment;
use firstbyte_measure::timeline::marks::Marks;
use firstbyte_measure::tracer::replay;
use firstbyte_measure::tracer::replay::Loaded;
use std::collections::BTreeMap;
use std::path::Path;

/// A recording, explained.
#[derive(Debug)]
pub struct Replayed {
    pub analysis: TraceAnalysis,
    /// Caveats about it, a sentence each.
    pub notes: Vec<String>,
    /// The variables that change how programs start, as they were then; `None` if the recording does not list them.
    pub environment: Option<BTreeMap<String, String>>,
}

/// Reads a recording and explains it. The error is the message for the user.
pub fn replayed(path: &Path, along: Along, mark: Option<&str>) -> Result<Replayed, String> {
    let Loaded { recording, modules, cpuid, environment } =
        replay::load(path).map_err(|error| error.to_string())?;
    let mut notes: Vec<String> = failure(recording.exit).into_iter().collect();
    let recorded = modules.map(RecordedBinaries::new);
    let analysis = if let Some(binaries) = &recorded {
        let analysis = account(&recording, binaries, along);
        notes.extend(binaries.notes());
        analysis
    } else {
        notes.push("It does not list its files, so functions are those of today's files.".to_owned());
        account(&recording, &FileBinaries::default(), along)
    };

    let wrong = |cause: String| {
        format!(
            "`{}` has no account: {cause}\nhelp: record it again: firstbyte trace --record FILE CMD",
            path.display()
        )
    };
    let account = analysis.map_err(|error| wrong(error.to_string()))?;
    let marks = Marks::of(&recording).map_err(|error| wrong(error.to_string()))?;
    let account = match mark {
        Some(name) => named_spans::within(account, &marks, name)?,
        None => account,
    };
    let marks = [marks];
    let files = FileBinaries::default();
    let mut summary = Summary::of(vec![account]).ok_or_else(|| wrong("it is empty".to_owned()))?;

    summary.loads = loads::of_path(&summary.median_run, &files);
    summary.linked = libraries::linked(&summary.median_run, &summary.loads, &files);
    summary.linked.retain(|file| recorded.as_ref().is_some_and(|then| then.is_unchanged(&file.path)));
    summary.marks = named_spans::named_spans(&marks, 0);
    summary.within = mark.map(str::to_owned);
    let known = environment.clone().map_or(KnownEnvironment::Unknown, KnownEnvironment::Recorded);
    summary.environment = behind_env::environment(&summary.median_run, &known);
    let backend = recording.backend;
    let analysis = TraceAnalysis {
        exit: recording.exit,
        stderr: Vec::new(),
        caveats: named_spans::caveats(&marks),
        sampling_executions: 0,
        totals: vec![(0, summary.total.median)],
        binaries: files,
        unsampled: None,
        reports: None,
        misread_lines: 0,
        observed: ObservedRuns {
            traced: vec![summary.median_run.wall.as_f64()],
            recordings: vec![recording],
            ..ObservedRuns::default()
        },
        tracer: UsedTracer { backend, reason: "a recording".to_owned(), sees_faults: true },
        cpuid: Ok(cpuid),
        costs: None,
        summary,
    };
    Ok(Replayed { analysis, notes, environment })
}
