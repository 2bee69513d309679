//! The parts of a section, which [`super::markup`] writes.

/// A finding of a trace, and what lies within its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageFinding {
    pub(crate) text: String,
    /// The command that tries what it says.
    pub(crate) tune: Option<String>,
    pub(crate) parts: Vec<PageFinding>,
}

/// A part of the page with a tab of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    /// The fragment of the page's address.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) blocks: Vec<PageBlock>,
}

impl Section {
    pub(crate) fn new(id: &'static str, title: &'static str) -> Section {
        Section { id, title, blocks: Vec::new() }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum PageBlock {
    Heading {
        text: String,
    },
    Prose {
        text: String,
    },
    Warning {
        text: String,
    },
    Table {
        table: Table,
    },
    Picture {
        picture: Picture,
    },
    /// What a document says, in a sentence or two.
    Answer {
        text: String,
    },
    Bars {
        bars: Bars,
    },
    Forest {
        forest: Forest,
    },
    /// What called or started what, drawn by the page's script: [`super::icicle`].
    Icicle {
        title: &'static str,
        columns: String,
    },
    List {
        title: String,
        items: Vec<String>,
    },
    Findings {
        title: &'static str,
        findings: Vec<PageFinding>,
    },
    Timelines {
        traces: Vec<TracePanel>,
    },
    /// Two programs side by side, drawn by the page's script.
    Diff {
        subjects: Vec<String>,
    },
    /// The bytes of an executable.
    Hex {
        bytes: Vec<HexByte>,
        legend: Vec<HexLegend>,
    },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// It has a field that filters its rows.
    pub(crate) filter: bool,
    /// It is the table of a picture, and closed until a reader opens it.
    pub(crate) folded: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) heading: String,
    /// It is sorted as numbers.
    pub(crate) number: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// `warm` or `cold`: readers can choose these rows.
    pub(crate) cache: Option<&'static str>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Rows are sorted by this, or else by the text.
    pub(crate) value: Option<f64>,
    /// Shown below the text in small print.
    pub(crate) note: Option<String>,
    /// Shown instead of the text.
    pub(crate) bar: Option<Bar>,
    /// The class of the text: `holds`, `fails` or `unknown`.
    pub(crate) mark: Option<&'static str>,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A figure as text, and the value that it is sorted by.
    pub(crate) fn figure(text: impl Into<String>, value: f64) -> Cell {
        Cell { text: text.into(), value: value.is_finite().then_some(value), ..Cell::default() }
    }

    pub(crate) fn noted(self, note: impl Into<String>) -> Cell {
        Cell { note: Some(note.into()), ..self }
    }
}

/// A stacked bar. All numbers are percents of its width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bar {
    /// The bar in words.
    pub(crate) label: String,
    /// On a logarithmic scale.
    pub(crate) logarithmic: Vec<BarPiece>,
    /// On a scale from 0 to the end of the longest bar.
    pub(crate) linear: Vec<BarPiece>,
    /// As shares of the bar.
    pub(crate) share: Vec<BarPiece>,
}

#[derive(Clone, Debug)]
pub(crate) struct BarPiece {
    /// The name of a phase, or another one that the style of the page has a colour for.
    pub(crate) fill: &'static str,
    pub(crate) x: f64,
    pub(crate) width: f64,
}

/// Several bars over the whole width of the page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bars {
    pub(crate) title: String,
    /// Which scale of the bars is shown: `logarithmic` or `linear`.
    pub(crate) scale: &'static str,
    pub(crate) rows: Vec<BarRow>,
    /// Caveats about the scale.
    pub(crate) note: String,
}

#[derive(Clone, Debug)]
pub(crate) struct BarRow {
    pub(crate) name: String,
    pub(crate) bar: Bar,
    pub(crate) value: String,
}

/// Ratios with their intervals, on a logarithmic scale. Places are percents of its width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forest {
    pub(crate) title: String,
    pub(crate) rows: Vec<ForestRow>,
    /// Ratios with their places; 1 is one of them.
    pub(crate) ticks: Vec<(f64, String)>,
    /// The place of the ratio 1.
    pub(crate) one: f64,
    pub(crate) note: String,
}

#[derive(Clone, Debug)]
pub(crate) struct ForestRow {
    pub(crate) name: String,
    pub(crate) low: f64,
    pub(crate) ratio: f64,
    pub(crate) high: f64,
    /// The class of the verdict: `faster`, `slower` or `unknown`.
    pub(crate) verdict: &'static str,
    /// The verdict and the figures.
    pub(crate) text: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    pub(crate) title: String,
    /// By a drawing library that escapes text.
    pub(crate) svg: String,
    /// The same as a table.
    pub(crate) table: Table,
}

/// One program's timeline.
#[derive(Clone, Debug)]
pub(crate) struct TracePanel {
    pub(crate) label: String,
    pub(crate) command: String,
    /// How it was observed.
    pub(crate) notes: Vec<String>,
    /// The phases over all runs.
    pub(crate) phases: Table,
    pub(crate) attribution: Table,
    /// The spans for the script: [`super::packed`].
    pub(crate) packed: String,
}

#[derive(Clone, Debug)]
pub(crate) struct HexByte {
    /// Two digits.
    pub(crate) hex: String,
    pub(crate) title: String,
    /// The number of its colour.
    pub(crate) class: usize,
    /// The row of the table that explains it.
    pub(crate) row: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct HexLegend {
    pub(crate) class: usize,
    pub(crate) text: &'static str,
}

/// Columns by their headings. A heading that begins with `#` is for numbers.
pub(crate) fn columns(headings: &[&str]) -> Vec<Column> {
    let column = |heading: &&str| match heading.strip_prefix('#') {
        Some(heading) => Column { heading: heading.to_owned(), number: true },
        None => Column { heading: (*heading).to_owned(), number: false },
    };
    headings.iter().map(column).collect()
}

impl Table {
    /// `None` without rows.
    pub(crate) fn of(caption: &str, headings: &[&str], rows: Vec<Row>) -> Option<Table> {
        let table =
            Table { caption: caption.to_owned(), columns: columns(headings), rows, ..Table::default() };
        (!table.rows.is_empty()).then_some(table)
    }
}

impl From<Table> for PageBlock {
    fn from(table: Table) -> PageBlock {
        PageBlock::Table { table }
    }
}

pub(crate) fn row(cells: Vec<Cell>) -> Row {
    Row { cells, cache: None }
}
