//! What differs between architectures: system-call names and numbers by meaning, ABIs.

pub mod call_names;
pub mod cpuid;
pub mod file_calls;
pub mod output_calls;
pub mod path_arguments;
mod syscall;

pub use call_names::{compat_number, native_number};
pub use file_calls::{FileCall, file_call, file_calls};
pub use output_calls::{Meaning, meanings};
pub use path_arguments::path_arguments;
pub use syscall::{Abi, IO_URING_BASE, Syscall};
