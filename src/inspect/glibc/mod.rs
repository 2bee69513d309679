//! glibc's dynamic loader: which files it looks for, in which order, and which system calls that takes.
//!
//! [`loader`] reads from the loader's file what its search depends on, and [`version`] says how versions differ. [`search`]
//! finds one library as `_dl_map_object` does, with [`folders`] that are known not to exist. [`loading`] is the whole
//! course, from the loader's first call to the program's entry. Each call that these files do not know of makes the counts
//! minima, which [`loading::Loading`] says.

mod calls;
mod folders;
pub(super) mod loader;
pub(super) mod loading;
mod memory;
mod search;
mod version;
