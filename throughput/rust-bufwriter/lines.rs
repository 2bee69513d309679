use std::io::{BufWriter, Write};

fn main() -> std::io::Result<()> {
    let count: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("a number of lines");
    let mut out = BufWriter::new(std::io::stdout().lock());
    for _ in 0..count {
        out.write_all(b"hello world\n")?;
    }
    out.flush()
}
