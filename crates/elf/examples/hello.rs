//! Writes an executable that prints a text: `cargo run --example hello -- TEXT FILE`.

use firstbyte_elf::{Architecture, Purpose, Style};
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

fn main() -> Result<(), Box<dyn Error>> {
    let [_, text, path] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: hello TEXT FILE".into());
    };
    let purpose = Purpose::Message { text: format!("{text}\n").into_bytes(), exit: Some(0) };
    let executable = firstbyte_elf::write(Architecture::X86_64, &purpose, Style::Plain { align: None })?;

    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(&executable.image)?;
    println!("{} bytes", executable.image.len());
    Ok(())
}
