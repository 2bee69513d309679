//! Compiles C against the runtime: `cargo run --example compile -- hello.c -o hello`.

use firstbyte_cc::{Arguments, Driver, RuntimeError};

fn main() -> Result<(), RuntimeError> {
    let arguments = Arguments::parse(std::env::args_os().skip(1))?;
    let status = Driver::new(&arguments)?.compile(&arguments)?;
    println!("{status}");
    Ok(())
}
