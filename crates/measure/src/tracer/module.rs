//! Identifies a file that was mapped, and records where its segments are: enough to explain a recording on another
//! machine or when the file has changed.

use serde::{Deserialize, Serialize};

/// A `PT_LOAD` program header. In a recording it is an array of these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, u64, bool)", into = "(u64, u64, u64, u64, bool)")]
pub struct LoadSegment {
    /// The address at which it is to be loaded.
    pub address: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its size in the file, in bytes.
    pub file_size: u64,
    /// Its size in memory, in bytes.
    pub memory_size: u64,
    /// It contains code.
    pub executable: bool,
}

impl From<(u64, u64, u64, u64, bool)> for LoadSegment {
    fn from(
        (address, offset, file_size, memory_size, executable): (u64, u64, u64, u64, bool),
    ) -> LoadSegment {
        LoadSegment { address, offset, file_size, memory_size, executable }
    }
}

impl From<LoadSegment> for (u64, u64, u64, u64, bool) {
    fn from(s: LoadSegment) -> (u64, u64, u64, u64, bool) {
        (s.address, s.offset, s.file_size, s.memory_size, s.executable)
    }
}

/// How an ELF file is laid out in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLayout {
    /// The entry point, before relocation.
    pub entry: u64,
    /// The segments that are loaded.
    pub segments: Vec<LoadSegment>,
    /// Its ELF interpreter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
}

/// An ELF file as it was when a program mapped it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Its path, as the program or the kernel named it.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last modified, in nanoseconds since 1970 (`st_mtim`, inode(7)).
    pub modified: i64,
    /// The build id that the linker computed from its content (`NT_GNU_BUILD_ID`, `ld --build-id`), in hexadecimal
    /// digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Its segments.
    pub layout: MemoryLayout,
}

impl Module {
    /// Whether both are the same file: the same build, or without a build id the same modification time.
    pub fn is_same(&self, other: &Module) -> bool {
        let built = match (&self.build_id, &other.build_id) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.modified == other.modified,
            _ => false,
        };
        built && self.size == other.size && self.layout == other.layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(build_id: Option<&str>, modified: i64, size: u64) -> Module {
        let layout = MemoryLayout::default();
        Module { path: "/x".to_owned(), size, modified, build_id: build_id.map(str::to_owned), layout }
    }

    #[test]
    fn files_are_the_same_by_build_id_or_by_date() {
        let table = [
            (module(Some("a"), 1, 9), module(Some("a"), 2, 9), true),
            (module(Some("a"), 1, 9), module(Some("b"), 1, 9), false),
            (module(Some("a"), 1, 9), module(Some("a"), 1, 8), false),
            (module(Some("a"), 1, 9), module(None, 1, 9), false),
            (module(None, 1, 9), module(None, 1, 9), true),
            (module(None, 1, 9), module(None, 2, 9), false),
        ];
        for (a, b, same) in table {
            assert_eq!((a.is_same(&b), b.is_same(&a)), (same, same), "{a:?} {b:?}");
        }
    }
}
