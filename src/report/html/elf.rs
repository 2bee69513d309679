//! The bytes of an executable that firstbyte wrote, as a map.

use super::block::{Cell, HexByte, HexLegend, PageBlock, Section, Table, columns, row};
use crate::document::elf::{ElfDocument, ElfRow};
use crate::output::visible;

/// A map and its table for each document.
pub(crate) fn section(documents: &[&ElfDocument]) -> Option<Section> {
    let mut section = Section::new("elf", "Executable");
    for document in documents {
        let text = format!("{}, {} bytes", visible(&document.architecture), document.size);
        section.blocks.push(PageBlock::Heading { text });
        let legend = LEGEND.iter().enumerate().map(|(class, text)| HexLegend { class, text }).collect();
        section.blocks.push(PageBlock::Hex { bytes: map(document), legend });
        section.blocks.push(PageBlock::Table { table: table(document) });
    }
    (!section.blocks.is_empty()).then_some(section)
}

const LEGEND: [&str; 4] = [
    "a header field",
    "a header field that also contains code or text",
    "code or text outside the headers",
    "neither",
];

/// The maximum number of bytes in the map.
const MAX_BYTES: usize = 65_536;

fn map(document: &ElfDocument) -> Vec<HexByte> {
    let bytes = document.results.iter().enumerate().flat_map(|(index, row)| {
        let (title, class) = (describe(row), class(row));
        row.bytes.iter().enumerate().map(move |(place, byte)| HexByte {
            hex: format!("{byte:02x}"),
            title: format!("{:#06x}: {title}", row.offset.saturating_add(place)),
            class,
            row: index,
        })
    });
    bytes.take(MAX_BYTES).collect()
}

fn class(row: &ElfRow) -> usize {
    match (row.fields.is_empty(), row.content.is_some()) {
        (false, false) => 0,
        (false, true) => 1,
        (true, true) => 2,
        (true, false) => 3,
    }
}

fn describe(row: &ElfRow) -> String {
    let fields = row.fields.iter().map(|field| field.name.as_str());
    let parts: Vec<&str> = fields.chain(row.content.as_deref()).collect();
    visible(&if parts.is_empty() { "padding".to_owned() } else { parts.join(", ") })
}

fn table(document: &ElfDocument) -> Table {
    let line = |record: &ElfRow| {
        let hex: Vec<String> = record.bytes.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
        let more = if record.bytes.len() > 64 { " …" } else { "" };
        let names: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
        let kernel: Vec<&str> = record.fields.iter().map(|field| field.kernel.as_str()).collect();
        row(vec![
            Cell::figure(format!("{:#06x}", record.offset), record.offset as f64),
            Cell::text(hex.join(" ") + more),
            Cell::text(visible(&names.join(", "))),
            Cell::text(visible(&kernel.join("; "))),
            Cell::text(visible(record.content.as_deref().unwrap_or_default())),
        ])
    };

    Table {
        caption: "Every byte".to_owned(),
        columns: columns(&["#offset", "bytes", "field", "use by the kernel", "content"]),
        rows: document.results.iter().map(line).collect(),
        filter: true,
        folded: false,
    }
}
