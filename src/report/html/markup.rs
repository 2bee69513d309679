//! The page as HTML. `maud` escapes every text, except the pictures, the packed values and the scripts, which firstbyte
//! makes itself.

use super::block::{
    Bar, BarPiece, BarRow, Bars, Cell, Forest, ForestRow, HexByte, HexLegend, PageBlock, PageFinding,
    Picture, Row, Section, Table, TracePanel,
};
use crate::analysis::attribution::WorkKind;
use firstbyte_measure::timeline::Phase;
use maud::{DOCTYPE, Markup, PreEscaped, display, html};
use std::collections::BTreeSet;

/// What stands around the sections.
pub(super) struct PageFrame<'p> {
    pub(super) title: &'p str,
    /// Leads to the last section.
    pub(super) badge: Option<String>,
    pub(super) version: &'p str,
    /// SVG that the bars refer to.
    pub(super) patterns: &'p str,
    pub(super) style: &'p str,
    pub(super) script: &'p str,
    /// What the page may load and run.
    pub(super) policy: &'p str,
}

/// `subjects`: the packed values of the side-by-side view.
pub(super) fn page(frame: &PageFrame, sections: &[Section], subjects: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(frame))
            body {
                svg class="definitions" width="0" height="0" aria-hidden="true" { (PreEscaped(frame.patterns)) }
                header {
                    h1 { (frame.title) }
                }
                nav class="tabs" aria-label="Sections" {
                    @for section in sections { a href={ "#" (section.id) } { (section.title) } " " }
                }
                // behind the tabs, so that they are the first stop of the Tab key
                @if let Some(badge) = &frame.badge { a class="badge" href="#about" { (badge) } }
                main { @for each in sections { (section(each, subjects)) } }
                footer {
                    p {
                        "Made by firstbyte " (frame.version)
                        " from the documents listed under “About these figures”. The page loads nothing else."
                    }
                }
                div #tooltip role="status" hidden {}
                script { (PreEscaped(frame.script)) }
            }
        }
    }
}

fn head(frame: &PageFrame) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(frame.policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="generator" content={ "firstbyte " (frame.version) };
            link rel="icon" href="data:,";
            title { (frame.title) }
            style { (PreEscaped(frame.style)) }
        }
    }
}

/// What the colours of these bars mean; nothing if they have one colour without a meaning.
fn legend<'b>(bars: impl Iterator<Item = &'b Bar>) -> Markup {
    let used: BTreeSet<&str> = bars.flat_map(|bar| &bar.linear).map(|piece| piece.fill).collect();
    let phases = Phase::ALL.map(|phase| (phase.name(), phase.name()));
    let kinds = WorkKind::ALL.map(|kind| (kind.key(), kind.title()));
    let keys: Vec<_> = phases.into_iter().chain(kinds).filter(|(fill, _)| used.contains(fill)).collect();
    html! {
        @if !keys.is_empty() {
            ul class="legend" aria-label="Colours" { @for (fill, title) in keys { (key(fill, title)) } }
        }
    }
}

fn key(fill: &str, title: &str) -> Markup {
    html! {
        li {
            svg width="22" height="14" aria-hidden="true" {
                rect class={ "fill-" (fill) } width="22" height="14" {}
            }
            " " (title)
        }
    }
}

fn section(section: &Section, subjects: &str) -> Markup {
    html! {
        section #(section.id) aria-label=(section.title) {
            h2 { (section.title) }
            @for each in &section.blocks { (block(each, subjects)) "\n" }
        }
    }
}

fn block(block: &PageBlock, subjects: &str) -> Markup {
    match block {
        PageBlock::Heading { text } => html! { h3 { (text) } },
        PageBlock::Prose { text } => html! { p { (text) } },
        PageBlock::Warning { text } => html! { p class="warning" role="note" { (text) } },
        PageBlock::Table { table } => self::table(table),
        PageBlock::Picture { picture } => self::picture(picture),
        PageBlock::Answer { text } => html! { p class="answer" { (marked(text)) } },
        PageBlock::Bars { bars } => self::bars(bars),
        PageBlock::Forest { forest } => self::forest(forest),
        PageBlock::Icicle { title, columns } => icicle(title, columns),
        PageBlock::List { title, items } => html! {
            h3 { (title) }
            ol { @for item in items { li { (marked(item)) } } }
        },
        PageBlock::Findings { title, findings } => html! {
            h3 { (title) }
            ol { @for each in findings { li { (finding(each)) } } }
        },
        PageBlock::Timelines { traces } => html! {
            div class="panels" { @for each in traces { (trace(each)) } }
        },
        PageBlock::Diff { subjects: both } => html! {
            div class="diff" data-subjects=(both.len()) {}
            script type="application/json" id="subjects" { (quoted(subjects)) }
            (without_script("This view needs the page's script, which this browser does not run."))
        },
        PageBlock::Hex { bytes, legend } => hex(bytes, legend),
    }
}

fn finding(found: &PageFinding) -> Markup {
    html! {
        (marked(&found.text))
        @if let Some(tune) = &found.tune { " Try it: " code { (tune) } }
        @if !found.parts.is_empty() { div { "Parts of it:" } ul { @for part in &found.parts { li { (finding(part)) } } } }
    }
}

/// A text with its parts in backticks as code.
fn marked(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // a backtick that is not closed is only a character
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (n, part) in parts.iter().enumerate() { @if n.is_multiple_of(2) { (part) } @else { code { (part) } } }
    }
}

/// A packed value as a JSON string: it contains no character that JSON or HTML escapes.
fn quoted(packed: &str) -> PreEscaped<String> {
    PreEscaped(format!("\"{packed}\""))
}

fn without_script(text: &str) -> Markup {
    html! { noscript { p class="warning" { (text) } } }
}

fn table(table: &Table) -> Markup {
    if table.folded {
        return html! {
            details class="as-table" { summary { "The same as a table" } (table_body(table)) }
        };
    }
    let bars = table.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.bar.as_ref());
    html! {
        (legend(bars))
        div class="table-block" data-filter[table.filter] { (table_body(table)) }
    }
}

fn table_body(table: &Table) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(table.caption) {
            table {
                caption { (table.caption) }
                thead {
                    tr {
                        @for column in &table.columns {
                            th scope="col" class=[class_of(column.number)] { (column.heading) }
                        }
                    }
                }
                tbody { @for each in &table.rows { (row(each, table)) } }
            }
        }
    }
}

fn class_of(number: bool) -> Option<&'static str> {
    number.then_some("number")
}

fn row(row: &Row, table: &Table) -> Markup {
    let is_number = |index: usize| table.columns.get(index).is_some_and(|column| column.number);
    html! {
        tr data-cache=[row.cache] {
            @for (index, each) in row.cells.iter().enumerate() { (cell(each, is_number(index))) }
        }
    }
}

fn cell(cell: &Cell, number: bool) -> Markup {
    html! {
        td data-value=[cell.value.map(display)] class=[class_of(number)] {
            @if let Some(each) = &cell.bar { (bar(each)) }
            @match cell.mark {
                Some(mark) => span class={ "mark " (mark) } { (cell.text) },
                None => (cell.text),
            }
            @if let Some(note) = &cell.note { small { (note) } }
        }
    }
}

fn bar(bar: &Bar) -> Markup {
    let scales = [("logarithmic", &bar.logarithmic), ("linear", &bar.linear), ("share", &bar.share)];
    html! {
        svg class="bar" height="16" role="img" aria-label=(bar.label) {
            title { (bar.label) }
            @for (scale, pieces) in scales { g class=(scale) { @for each in pieces { (piece(each)) } } }
        }
    }
}

fn piece(piece: &BarPiece) -> Markup {
    let BarPiece { fill, x, width } = piece;
    html! { rect class={ "fill-" (fill) } x={ (display(x)) "%" } width={ (display(width)) "%" } height="16" {} }
}

fn bars(bars: &Bars) -> Markup {
    html! {
        figure class="bars" data-scale=(bars.scale) {
            figcaption { (bars.title) }
            (legend(bars.rows.iter().map(|row| &row.bar)))
            ul class="rows" { @for BarRow { name, bar, value } in &bars.rows {
                li { span class="name" { (name) } (self::bar(bar)) span class="value" { (value) } }
            } }
            p class="note" { (bars.note.replace(" %", "\u{a0}%")) }
        }
    }
}

fn forest(forest: &Forest) -> Markup {
    html! {
        figure class="forest" {
            figcaption { (marked(&forest.title)) }
            ul {
                @for row in &forest.rows { (forest_row(row, forest.one)) }
                li aria-hidden="true" {
                    span class="name" {}
                    svg class="axis" height="18" {
                        @for (position, text) in &forest.ticks {
                            text x={ (display(position)) "%" } y="13" text-anchor="middle" { (text) }
                        }
                    }
                    span class="value" {}
                }
            }
            p class="note" { (forest.note) }
        }
    }
}

/// The interval as a line, its ratio as a point, and the line of the ratio 1.
fn forest_row(row: &ForestRow, one: f64) -> Markup {
    let percent = |place: f64| format!("{place}%");
    html! {
        li {
            span class="name" { (row.name) }
            svg class={ "interval " (row.verdict) } height="22" role="img" aria-label={ (row.name) ": " (row.text) } {
                line class="one" x1=(percent(one)) x2=(percent(one)) y1="0" y2="22" {}
                line class="range" x1=(percent(row.low)) x2=(percent(row.high)) y1="11" y2="11" {}
                circle cx=(percent(row.ratio)) cy="11" r="5" {}
            }
            span class="value" { (row.text) }
        }
    }
}

fn picture(picture: &Picture) -> Markup {
    let label = format!("{}; the same as a table follows", picture.title);
    html! {
        figure class="picture" {
            figcaption { (picture.title) }
            div class="scroll" tabindex="0" role="img" aria-label=(label) { (PreEscaped(&picture.svg)) }
            (table(&picture.table))
        }
    }
}

fn trace(trace: &TracePanel) -> Markup {
    html! {
        article class="trace" aria-label=(trace.label) {
            h3 { (trace.label) }
            @if trace.command != trace.label { p { code { (trace.command) } } }
            @for note in &trace.notes { p { (note) } }
            div class="timeline" {}
            (without_script("The timeline needs the page's script, which this browser does not run. The tables below \
                             work without it."))
            (table(&trace.phases))
            (table(&trace.attribution))
            div class="steps" {}
            script type="application/json" class="packed spans" { (quoted(&trace.packed)) }
        }
    }
}

/// `columns` is packed.
fn icicle(title: &str, columns: &str) -> Markup {
    html! {
        h3 { (title) }
        div class="calls" { script type="application/json" class="packed" { (quoted(columns)) } }
        (without_script("This chart needs the page's script, which this browser does not run."))
    }
}

fn hex(bytes: &[HexByte], legend: &[HexLegend]) -> Markup {
    html! {
        ul class="legend" {
            @for HexLegend { class, text } in legend {
                li { span class={ "byte hex-" (class) } aria-hidden="true" { "00" } " " (text) }
            }
        }
        div class="hex" role="img" aria-label="The bytes, which the following table explains" {
            @for HexByte { hex, title, class, row } in bytes {
                span class={ "byte hex-" (class) } data-row=(row) title=(title) { (hex) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_tag_or_ends_an_attribute() {
        let text = "</script> \"a\" & 'b'".to_owned();
        let picture = Picture { title: text.clone(), ..Picture::default() };
        let shown = super::picture(&picture).into_string();
        let escaped = "&lt;/script&gt; &quot;a&quot; &amp; 'b'";
        assert!(shown.contains(&format!("<figcaption>{escaped}</figcaption>")), "{shown}");
        assert!(shown.contains(&format!("aria-label=\"{escaped};")), "{shown}");
    }

    #[test]
    fn what_is_in_backticks_is_code() {
        let table = [
            ("`a<b>` is 2 × `c`", "<code>a&lt;b&gt;</code> is 2 × <code>c</code>"),
            ("it's ` alone", "it's ` alone"),
            ("", ""),
        ];
        assert_eq!(table.map(|(text, _)| marked(text).into_string()), table.map(|(_, html)| html.to_owned()));
    }

    #[test]
    fn a_cell_shows_its_bar_its_text_and_its_note() {
        let piece = BarPiece { fill: "setup", x: 1.5, width: 2.0 };
        let bar = Bar { label: "<1>".to_owned(), linear: vec![piece], ..Bar::default() };
        let shown =
            cell(&Cell { bar: Some(bar), ..Cell::figure("1 µs", 1000.0).noted("n") }, true).into_string();
        for part in [
            "data-value=\"1000\"",
            "class=\"number\"",
            "<svg class=\"bar\"",
            "<title>&lt;1&gt;</title>",
            "<g class=\"linear\"><rect class=\"fill-setup\" x=\"1.5%\" width=\"2%\"",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(shown.ends_with("</svg>1 µs<small>n</small></td>"), "{shown}");
    }
}
