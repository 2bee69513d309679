//! What a section consists of; the template knows how each is drawn.

use serde::Serialize;

/// A part of the page with a tab of its own.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Section {
    /// What the address of the page ends with when the tab is open.
    pub(super) id: &'static str,
    /// The tab's label.
    pub(super) title: &'static str,
    /// What is in it.
    pub(super) blocks: Vec<Block>,
}

impl Section {
    /// Nothing in it yet.
    pub(super) fn new(id: &'static str, title: &'static str) -> Section {
        Section { id, title, blocks: Vec::new() }
    }
}

/// One thing under the other.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Block {
    /// A heading.
    Heading { text: String },
    /// A paragraph.
    Prose { text: String },
    /// What a reader must know.
    Warning { text: String },
    /// A table.
    Table { table: Table },
    /// A picture, and the table that says the same.
    Picture { picture: Picture },
    /// The timelines of all traced programs.
    Timelines { traces: Vec<TracePanel> },
    /// Two programs side by side: drawn by the page's script.
    Diff { subjects: Vec<String> },
    /// The bytes of an executable.
    Hex { bytes: Vec<HexByte>, legend: Vec<HexLegend> },
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Table {
    /// What it shows.
    pub(super) caption: String,
    /// Its columns.
    pub(super) columns: Vec<Column>,
    /// Its rows.
    pub(super) rows: Vec<Row>,
    /// Whether there is a field to filter rows by.
    pub(super) filter: bool,
    /// It is the table of a picture, and folded up until asked for.
    pub(super) folded: bool,
}

/// A column.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Column {
    /// Its heading.
    pub(super) heading: String,
    /// Sorted as numbers.
    pub(super) number: bool,
}

/// A row.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Row {
    /// Its cells.
    pub(super) cells: Vec<Cell>,
    /// `warm`, `cold` or nothing: the rows that a choice leaves.
    pub(super) cache: Option<&'static str>,
}

/// A cell.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Cell {
    /// What is shown.
    pub(super) text: String,
    /// What it is sorted by, where that is not the text.
    pub(super) value: Option<f64>,
    /// What is shown on hover, and under the figure in small print.
    pub(super) note: Option<String>,
    /// The phases of a bar, in place of text.
    pub(super) bar: Option<Bar>,
    /// `holds`, `fails` or nothing: how the text is marked.
    pub(super) mark: Option<&'static str>,
}

impl Cell {
    /// Text.
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A figure as it is shown, and as it is sorted.
    pub(super) fn figure(text: impl Into<String>, value: f64) -> Cell {
        Cell { text: text.into(), value: value.is_finite().then_some(value), ..Cell::default() }
    }

    /// The same with a note.
    pub(super) fn noted(self, note: impl Into<String>) -> Cell {
        Cell { note: Some(note.into()), ..self }
    }
}

/// A stacked bar; every number in pixels.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Bar {
    /// What it says in words.
    pub(super) label: String,
    /// Its pieces, on each scale.
    pub(super) logarithmic: Vec<Piece>,
    /// Its pieces on a scale from 0 to the longest bar's end.
    pub(super) linear: Vec<Piece>,
    /// Its pieces as shares of itself.
    pub(super) share: Vec<Piece>,
}

/// A piece of a bar.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Piece {
    /// Which phase.
    pub(super) phase: &'static str,
    /// Where it begins.
    pub(super) x: f64,
    /// How long it is.
    pub(super) width: f64,
}

/// A picture.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Picture {
    /// What it shows.
    pub(super) title: String,
    /// SVG, by a drawing library that escapes what it writes.
    pub(super) svg: String,
    /// The same as a table.
    pub(super) table: Table,
}

/// One program's timeline.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TracePanel {
    /// The program.
    pub(super) label: String,
    /// The command.
    pub(super) command: String,
    /// What was observed how.
    pub(super) notes: Vec<String>,
    /// What would save time.
    pub(super) findings: Vec<String>,
    /// The phases over all runs.
    pub(super) phases: Table,
    /// Where the time went.
    pub(super) attribution: Table,
    /// The same spans for the script: [`super::packed`].
    pub(super) packed: String,
}

/// A byte.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HexByte {
    /// Two digits.
    pub(super) hex: String,
    /// What it is.
    pub(super) title: String,
    /// Which colour of a few.
    pub(super) class: usize,
    /// The row of the table that explains it.
    pub(super) row: usize,
}

/// What a colour stands for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HexLegend {
    /// The colour.
    pub(super) class: usize,
    /// What it stands for.
    pub(super) text: &'static str,
}

/// Columns by their headings; those that begin with `#` are numbers.
pub(super) fn columns(headings: &[&str]) -> Vec<Column> {
    let column = |heading: &&str| match heading.strip_prefix('#') {
        Some(heading) => Column { heading: heading.to_owned(), number: true },
        None => Column { heading: (*heading).to_owned(), number: false },
    };
    headings.iter().map(column).collect()
}

/// A row of cells.
pub(super) fn row(cells: Vec<Cell>) -> Row {
    Row { cells, cache: None }
}
