//! Sections as HTML. Every text is escaped, except the pictures and the packed values that firstbyte makes itself.

use super::block::{
    Bar, BarPiece, Cell, HexByte, HexLegend, PageBlock, Picture, Row, Section, Table, TracePanel,
};
use std::fmt::{Display, Formatter, Result, Write};

/// A text whose characters have no meaning in HTML, neither between tags nor in quotes.
pub(super) struct Escaped<'t>(pub(super) &'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;"),
                '<' => f.write_str("&lt;"),
                '>' => f.write_str("&gt;"),
                '"' => f.write_str("&quot;"),
                '\'' => f.write_str("&#x27;"),
                '/' => f.write_str("&#x2f;"),
                other => f.write_char(other),
            }?;
        }
        Ok(())
    }
}

/// The markup of each, one after another.
fn each<T>(all: impl IntoIterator<Item = T>, markup: impl Fn(T) -> String) -> String {
    all.into_iter().map(markup).collect()
}

/// Links to the sections.
pub(super) fn tabs(sections: &[Section]) -> String {
    each(sections, |section| format!("<a href=\"#{}\">{}</a>\n", Escaped(section.id), Escaped(section.title)))
}

/// A phase of the legend.
pub(super) fn legend(phase: &str) -> String {
    format!(
        "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\"><rect class=\"phase-{phase}\" width=\"22\" \
         height=\"14\"></rect></svg> {phase}</li>\n"
    )
}

/// `subjects`: the packed values of the side-by-side view.
pub(super) fn section(section: &Section, subjects: &str) -> String {
    let (id, title) = (Escaped(section.id), Escaped(section.title));
    let blocks = each(&section.blocks, |block| self::block(block, subjects));
    format!("<section id=\"{id}\" aria-label=\"{title}\">\n<h2>{title}</h2>\n{blocks}</section>\n")
}

fn block(block: &PageBlock, subjects: &str) -> String {
    match block {
        PageBlock::Heading { text } => format!("<h3>{}</h3>\n", Escaped(text)),
        PageBlock::Prose { text } => format!("<p>{}</p>\n", Escaped(text)),
        PageBlock::Warning { text } => format!("<p class=\"warning\" role=\"note\">{}</p>\n", Escaped(text)),
        PageBlock::Table { table } => self::table(table),
        PageBlock::Picture { picture } => self::picture(picture),
        PageBlock::Timelines { traces } => format!("<div class=\"panels\">\n{}</div>\n", each(traces, trace)),
        PageBlock::Diff { subjects: both } => format!(
            "<div class=\"diff\" data-subjects=\"{}\"></div>\n\
             <script type=\"application/json\" id=\"subjects\">\"{subjects}\"</script>\n{}",
            both.len(),
            without_script("This view needs the page's script, which this browser does not run.")
        ),
        PageBlock::Hex { bytes, legend } => hex(bytes, legend),
    }
}

fn without_script(text: &str) -> String {
    format!("<noscript><p class=\"warning\">{text}</p></noscript>\n")
}

fn table(table: &Table) -> String {
    let body = table_body(table);
    if table.folded {
        return format!(
            "<details class=\"as-table\"><summary>The same as a table</summary>\n{body}</details>\n"
        );
    }
    let filter = if table.filter { " data-filter" } else { "" };
    format!("<div class=\"table-block\"{filter}>\n{body}</div>\n")
}

fn table_body(table: &Table) -> String {
    let caption = Escaped(&table.caption);
    let headings = each(&table.columns, |column| {
        format!("<th scope=\"col\"{}>{}</th>", class_of(column.number), Escaped(&column.heading))
    });
    let rows = each(&table.rows, |row| self::row(row, table));
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n\
         <caption>{caption}</caption>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn class_of(number: bool) -> &'static str {
    if number { " class=\"number\"" } else { "" }
}

fn row(row: &Row, table: &Table) -> String {
    let cache = row.cache.map_or(String::new(), |cache| format!(" data-cache=\"{cache}\""));
    let cells = row.cells.iter().enumerate();
    let cells = each(cells, |(place, cell)| {
        let number = table.columns.get(place).is_some_and(|column| column.number);
        self::cell(cell, number)
    });
    format!("<tr{cache}>{cells}</tr>\n")
}

fn cell(cell: &Cell, number: bool) -> String {
    let value = cell.value.map_or(String::new(), |value| format!(" data-value=\"{value}\""));
    let bar = cell.bar.as_ref().map_or(String::new(), bar);
    let text = match cell.mark {
        Some(mark) => format!("<span class=\"mark {mark}\">{}</span>", Escaped(&cell.text)),
        None => Escaped(&cell.text).to_string(),
    };
    let note = cell.note.as_ref().map_or(String::new(), |note| format!("<small>{}</small>", Escaped(note)));
    format!("<td{value}{}>{bar}{text}{note}</td>", class_of(number))
}

fn bar(bar: &Bar) -> String {
    let label = Escaped(&bar.label);
    let scales = [("logarithmic", &bar.logarithmic), ("linear", &bar.linear), ("share", &bar.share)];
    let scales = each(scales, |(scale, pieces)| format!("<g class=\"{scale}\">{}</g>", each(pieces, piece)));
    format!(
        "<svg class=\"bar\" width=\"250\" height=\"16\" viewBox=\"0 0 250 16\" role=\"img\" \
         aria-label=\"{label}\"><title>{label}</title>{scales}</svg>"
    )
}

fn piece(piece: &BarPiece) -> String {
    let BarPiece { phase, x, width } = piece;
    format!("<rect class=\"phase-{phase}\" x=\"{x}\" width=\"{width}\" height=\"16\"></rect>")
}

fn picture(picture: &Picture) -> String {
    let title = Escaped(&picture.title);
    format!(
        "<figure class=\"picture\">\n<figcaption>{title}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"img\" aria-label=\"{title}; the same as a table follows\">{}</div>\n{}</figure>\n",
        picture.svg,
        table(&picture.table)
    )
}

fn trace(trace: &TracePanel) -> String {
    let label = Escaped(&trace.label);
    let named = trace.command == trace.label;
    let command =
        if named { String::new() } else { format!("<p><code>{}</code></p>\n", Escaped(&trace.command)) };
    let notes = each(&trace.notes, |note| format!("<p>{}</p>\n", Escaped(note)));
    let no_timeline = without_script(
        "The timeline needs the page's script, which this browser does not run. The tables below work without it.",
    );
    format!(
        "<article class=\"trace\" aria-label=\"{label}\">\n<h3>{label}</h3>\n{command}{notes}\
         <div class=\"timeline\"></div>\n{no_timeline}{}{}{}{}<div class=\"steps\"></div>\n\
         <script type=\"application/json\" class=\"packed spans\">\"{}\"</script>\n</article>\n",
        findings(&trace.findings),
        table(&trace.phases),
        table(&trace.attribution),
        trace.calls.as_deref().map_or(String::new(), user_code),
        trace.packed
    )
}

fn findings(findings: &[String]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let items = each(findings, |finding| format!("<li>{}</li>", Escaped(finding)));
    format!("<h4>What would save time</h4>\n<ul>{items}</ul>\n")
}

/// `calls` is packed.
fn user_code(calls: &str) -> String {
    format!(
        "<h4>User code by samples</h4>\n<div class=\"calls\"><script type=\"application/json\" \
         class=\"packed\">\"{calls}\"</script></div>\n{}",
        without_script("The chart of user code needs the page's script, which this browser does not run.")
    )
}

fn hex(bytes: &[HexByte], legend: &[HexLegend]) -> String {
    let legend = each(legend, |entry| {
        let (class, text) = (entry.class, Escaped(entry.text));
        format!("<li><span class=\"byte hex-{class}\" aria-hidden=\"true\">00</span> {text}</li>")
    });
    let bytes = each(bytes, |byte| {
        let HexByte { hex, title, class, row } = byte;
        let title = Escaped(title);
        format!("<span class=\"byte hex-{class}\" data-row=\"{row}\" title=\"{title}\">{hex}</span>")
    });
    format!(
        "<ul class=\"legend\">{legend}</ul>\n<div class=\"hex\" role=\"img\" aria-label=\"The bytes, which the \
         following table explains\">{bytes}</div>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_tag_or_ends_an_attribute() {
        let text = Escaped("</script> \"a\" & 'b'").to_string();
        assert_eq!(text, "&lt;&#x2f;script&gt; &quot;a&quot; &amp; &#x27;b&#x27;");
    }

    #[test]
    fn a_cell_shows_its_bar_its_text_and_its_note() {
        let piece = BarPiece { phase: "setup", x: 1.5, width: 2.0 };
        let bar = Bar { label: "<1>".to_owned(), linear: vec![piece], ..Bar::default() };
        let shown = cell(&Cell { bar: Some(bar), ..Cell::figure("1 µs", 1000.0).noted("n") }, true);
        assert!(shown.starts_with("<td data-value=\"1000\" class=\"number\"><svg class=\"bar\""), "{shown}");
        assert!(shown.contains("<title>&lt;1&gt;</title>"), "{shown}");
        assert!(
            shown.contains("<g class=\"linear\"><rect class=\"phase-setup\" x=\"1.5\" width=\"2\""),
            "{shown}"
        );
        assert!(shown.ends_with("</svg>1 µs<small>n</small></td>"), "{shown}");
    }
}
