//! What a section consists of; the template knows how each is drawn.

use serde::Serialize;

/// A part of the page with a tab of its own.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Section {
    /// What the address of the page ends with when the tab is open.
    pub(crate) id: &'static str,
    /// The tab's label.
    pub(crate) title: &'static str,
    /// What is in it.
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// Nothing in it yet.
    pub(crate) fn new(id: &'static str, title: &'static str) -> Section {
        Section { id, title, blocks: Vec::new() }
    }
}

/// One thing under the other.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Block {
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
pub(crate) struct Table {
    /// What it shows.
    pub(crate) caption: String,
    /// Its columns.
    pub(crate) columns: Vec<Column>,
    /// Its rows.
    pub(crate) rows: Vec<Row>,
    /// Whether there is a field to filter rows by.
    pub(crate) filter: bool,
    /// It is the table of a picture, and folded up until asked for.
    pub(crate) folded: bool,
}

/// A column.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Column {
    /// Its heading.
    pub(crate) heading: String,
    /// Sorted as numbers.
    pub(crate) number: bool,
}

/// A row.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Row {
    /// Its cells.
    pub(crate) cells: Vec<Cell>,
    /// `warm`, `cold` or nothing: the rows that a choice leaves.
    pub(crate) cache: Option<&'static str>,
}

/// A cell.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Cell {
    /// What is shown.
    pub(crate) text: String,
    /// What it is sorted by, where that is not the text.
    pub(crate) value: Option<f64>,
    /// What is shown on hover, and under the figure in small print.
    pub(crate) note: Option<String>,
    /// The phases of a bar, in place of text.
    pub(crate) bar: Option<Bar>,
    /// `holds`, `fails` or nothing: how the text is marked.
    pub(crate) mark: Option<&'static str>,
}

impl Cell {
    /// Text.
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A figure as it is shown, and as it is sorted.
    pub(crate) fn figure(text: impl Into<String>, value: f64) -> Cell {
        Cell { text: text.into(), value: value.is_finite().then_some(value), ..Cell::default() }
    }

    /// The same with a note.
    pub(crate) fn noted(self, note: impl Into<String>) -> Cell {
        Cell { note: Some(note.into()), ..self }
    }
}

/// A stacked bar; every number in pixels.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Bar {
    /// What it says in words.
    pub(crate) label: String,
    /// Its pieces, on each scale.
    pub(crate) logarithmic: Vec<Piece>,
    /// Its pieces on a scale from 0 to the longest bar's end.
    pub(crate) linear: Vec<Piece>,
    /// Its pieces as shares of itself.
    pub(crate) share: Vec<Piece>,
}

/// A piece of a bar.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Piece {
    /// Which phase.
    pub(crate) phase: &'static str,
    /// Where it begins.
    pub(crate) x: f64,
    /// How long it is.
    pub(crate) width: f64,
}

/// A picture.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Picture {
    /// What it shows.
    pub(crate) title: String,
    /// SVG, by a drawing library that escapes what it writes.
    pub(crate) svg: String,
    /// The same as a table.
    pub(crate) table: Table,
}

/// One program's timeline.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TracePanel {
    /// The program.
    pub(crate) label: String,
    /// The command.
    pub(crate) command: String,
    /// What was observed how.
    pub(crate) notes: Vec<String>,
    /// What would save time.
    pub(crate) findings: Vec<String>,
    /// The phases over all runs.
    pub(crate) phases: Table,
    /// Where the time went.
    pub(crate) attribution: Table,
    /// The same spans for the script: [`super::packed`].
    pub(crate) packed: String,
}

/// A byte.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HexByte {
    /// Two digits.
    pub(crate) hex: String,
    /// What it is.
    pub(crate) title: String,
    /// Which colour of a few.
    pub(crate) class: usize,
    /// The row of the table that explains it.
    pub(crate) row: usize,
}

/// What a colour stands for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HexLegend {
    /// The colour.
    pub(crate) class: usize,
    /// What it stands for.
    pub(crate) text: &'static str,
}

/// Columns by their headings; those that begin with `#` are numbers.
pub(crate) fn columns(headings: &[&str]) -> Vec<Column> {
    let column = |heading: &&str| match heading.strip_prefix('#') {
        Some(heading) => Column { heading: heading.to_owned(), number: true },
        None => Column { heading: (*heading).to_owned(), number: false },
    };
    headings.iter().map(column).collect()
}

/// A row of cells.
pub(crate) fn row(cells: Vec<Cell>) -> Row {
    Row { cells, cache: None }
}
