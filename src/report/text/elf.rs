//! An annotated hex dump of an executable that firstbyte wrote, for a terminal.

use firstbyte_elf::explain::ExplainedBytes;
use std::fmt::Write as _;

/// Bytes on one line.
const BYTES: usize = 8;

/// The column where the explanation begins.
pub const NOTES: usize = 41;

/// One line for each row; more if it has more than eight bytes or several notes.
pub fn render(rows: &[ExplainedBytes]) -> String {
    let mut text = String::new();
    for row in rows {
        render_row(&mut text, row);
    }
    text
}

fn render_row(text: &mut String, row: &ExplainedBytes) {
    let notes = notes(row);
    let lines = row.bytes.chunks(BYTES).collect::<Vec<_>>();
    for i in 0..lines.len().max(notes.len()) {
        let bytes = lines.get(i).copied().unwrap_or_default();
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let offset = if bytes.is_empty() { String::new() } else { format!("{:04x}", row.offset + i * BYTES) };
        let note = notes.get(i).map_or("", String::as_str);
        let line = format!("{offset:4}  {:23}  {:8}  {note}", hex.join(" "), printable(bytes));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn notes(row: &ExplainedBytes) -> Vec<String> {
    let mut notes: Vec<String> = row.fields.iter().map(|f| format!("{}: {}", f.name, f.kernel)).collect();
    notes.extend(row.content.map(|content| format!("= {content}")));
    notes
}

fn printable(bytes: &[u8]) -> String {
    bytes.iter().map(|&b| if b.is_ascii_graphic() || b == b' ' { char::from(b) } else { '.' }).collect()
}
