//! The load to which the time of a process belongs.

use crate::analysis::Code;
use firstbyte_measure::units::Nanos;
use std::collections::HashMap;
use std::sync::Arc;

/// Loads are places in the list of rows.
#[derive(Clone, Debug)]
pub(super) struct LoadingProcess {
    pub(super) executable: usize,
    /// The file that the kernel executes: the interpreter of a script.
    pub(super) interpreter: Arc<str>,
    /// The load whose code runs: the executable or the last script or module.
    pub(super) code: usize,
    /// Files that are being read, each until it has been read.
    pub(super) data: Vec<(usize, Nanos)>,
    /// The library that the loader maps.
    pub(super) mapped: Option<usize>,
    /// An exec has begun and has not returned.
    pub(super) executing: bool,
    /// It has executed nothing yet: it does what the process does that created it.
    pub(super) inherited: bool,
    /// Time since the last boundary that no load has yet.
    pub(super) pending: Nanos,
    pub(super) known: HashMap<Arc<str>, usize>,
    /// Libraries that were opened after the start, as long as their own code runs.
    visit: Option<Visit>,
    /// Code other than the loader's has run.
    started: bool,
}

#[derive(Clone, Debug)]
struct Visit {
    library: usize,
    files: Vec<Arc<str>>,
}

impl LoadingProcess {
    pub(super) fn executes(row: usize, executed: Arc<str>) -> LoadingProcess {
        LoadingProcess {
            executable: row,
            interpreter: Arc::clone(&executed),
            code: row,
            data: Vec::new(),
            mapped: None,
            executing: false,
            inherited: false,
            pending: Nanos(0),
            known: HashMap::from([(executed, row)]),
            visit: None,
            started: false,
        }
    }

    /// A process that this one creates.
    pub(super) fn child(&self) -> LoadingProcess {
        let process = LoadingProcess::executes(self.executable, Arc::clone(&self.interpreter));
        LoadingProcess {
            code: self.current(),
            inherited: true,
            started: true,
            known: HashMap::new(),
            ..process
        }
    }

    /// The load to which the time belongs.
    pub(super) fn current(&self) -> usize {
        let read = self.data.last().map(|(row, _)| *row);
        let visited = self.visit.as_ref().map(|visit| visit.library);
        read.or(self.mapped).or(visited).unwrap_or(self.code)
    }

    /// The libraries of the executable are loaded for it. One that is opened later brings in others for itself.
    pub(super) fn maps_library(&mut self, row: usize, path: &Arc<str>) {
        self.data.clear();
        if self.started {
            let first = Visit { library: row, files: Vec::new() };
            let linking = self.visit.take().filter(|_| self.mapped.is_some());
            self.visit.insert(linking.unwrap_or(first)).files.push(Arc::clone(path));
        }
        self.mapped = Some(row);
    }

    pub(super) fn begins_code(&mut self, row: usize) {
        self.works();
        self.code = row;
    }

    /// Code other than the loader's and the C library's runs. If it does not belong to the libraries that were opened last,
    /// they are ready.
    pub(super) fn own_code_runs(&mut self, code: &Code) {
        self.started = true;
        self.mapped = None;
        self.visit = self.visit.take().filter(|visit| visit.files.contains(&code.module.path));
    }

    /// The program is at work, with all that it has loaded.
    pub(super) fn has_loaded(&mut self) {
        self.works();
        self.code = self.executable;
    }

    /// Before its exec has returned.
    pub(super) fn during_exec(self) -> LoadingProcess {
        LoadingProcess { executing: true, ..self }
    }

    /// Nothing is being loaded.
    fn works(&mut self) {
        self.data.clear();
        self.mapped = None;
        self.visit = None;
    }
}
