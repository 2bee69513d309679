//! Renderings for a terminal.

pub mod bench;
pub mod bisect;
pub mod check;
pub mod claims;
mod clipping;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod elf;
pub mod floor;
pub mod gate;
pub(crate) mod head;
pub mod inspect;
mod lists;
mod mark_bars;
pub mod phase_bars;
pub mod showdown;
mod side_by_side;
mod sparkline;
pub mod terminal;
pub mod throughput;
pub mod trace;
pub mod tune;
pub mod watch;
pub mod watch_compare;
