//! The `firstbyte` command: parse, run, exit.

#![cfg_attr(trapped_calls, no_main)]

#[cfg(all(trapped_calls, target_arch = "x86_64"))]
mod c_library;
#[cfg(trapped_calls)]
mod trapped_calls;

use firstbyte::cli::{Cli, CliCommand};
use firstbyte::commands::Exit;
use firstbyte::output::{say, visible};
use firstbyte_measure::allocation::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new(out_of_memory);

fn out_of_memory() -> ! {
    say("error: there is no more memory\nhelp: free some memory, or raise the limit (`ulimit -v` shows it)");
    std::process::exit(Exit::Unable.code().into())
}

#[cfg(not(trapped_calls))]
fn main() -> std::process::ExitCode {
    finished().into()
}

// In the static binary the C library calls this `main`, without the start of Rust's standard library (`lang_start` in
// std/src/rt.rs). That makes 17 of 36 system calls, to tell an overflow of the stack from other invalid accesses: here both
// end with SIGSEGV. What else it does is done here. `std::env::args` works without it with glibc.
#[cfg(all(trapped_calls, target_arch = "x86_64"))]
std::arch::global_asm!(".globl main", "main: jmp {main}", main = sym main);
#[cfg(all(trapped_calls, target_arch = "aarch64"))]
std::arch::global_asm!(".globl main", "main: b {main}", main = sym main);

#[cfg(trapped_calls)]
extern "C" fn main() -> std::ffi::c_int {
    firstbyte_measure::launch::ready_standard_streams();
    std::process::exit(finished().into())
}

/// Does what the command line asks for, and returns the exit status.
fn finished() -> u8 {
    let cli = Cli::of_process();
    // `lines` writes nothing but lines, and ends as any other filter does
    if !matches!(cli.command, CliCommand::Lines(_)) {
        firstbyte_measure::launch::leave_inherited_children();
        firstbyte_measure::launch::outlive_file_size_limits();
    }
    match firstbyte::commands::run(cli) {
        Ok(exit) => exit.code(),
        Err(error) => {
            // what names of files and programs hold must not reach the terminal as it is
            let lines: Vec<String> = error.to_string().lines().map(visible).collect();
            say(format_args!("error: {}", lines.join("\n")));
            error.exit.code()
        }
    }
}
