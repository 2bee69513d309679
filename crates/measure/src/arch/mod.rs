//! What differs between architectures: the system-call tables, and the processor's own instructions.
//!
//! System calls are listed by name in `calls`, and the `syscalls` crate has their numbers, so the list holds for every
//! architecture. What a new architecture adds here by hand is its number in `audit`; a second, 32-bit table goes
//! into [`call_names`]. [`cpuid`] is x86-64's alone.

pub(crate) mod audit;
pub mod call_names;
mod call_table;
pub mod cpuid;
mod syscall;
mod syscalls;

pub use self::syscalls::{
    Argument, Buffer, CallFacts, CallRole, Does, FileCall, Layout, PathPositions, Structure, Use, Values,
    Wait, buffers, call_roles, file_calls, lookups, path_arguments, structures,
};
pub use call_names::{compat_number, native_number};
pub use call_table::CallTable;
pub use syscall::{Abi, IO_URING_BASE, IO_URING_SETUP, Syscall};
