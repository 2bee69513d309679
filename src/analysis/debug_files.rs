//! Where distributions keep the symbols of stripped programs: in a file of their own, or compressed in the program.
//!
//! The places are those of gdb ("Separate Debug Files" in its manual) and of elfutils' debuginfod client. A file counts only
//! if it has the same build ID as the program, or else the checksum that the program names: wrong symbols are worse than
//! none.

use firstbyte_measure::regular_file;
use object::{Object, ObjectSection};
use std::fmt::Write;
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use xz4rust::{XzDecoder, XzReader};

/// The largest file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 2 << 30;
/// The largest symbol table that is unpacked. Those of Fedora's largest programs have a tenth of this.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// The maximum memory for unpacking. xz(1) needs 64 MiB for what it packed with `-9`.
const MAX_DICTIONARY_BYTES: usize = 64 << 20;
const BUFFER_BYTES: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// The folders with debug files.
#[derive(Clone, Debug)]
pub struct DebugFolders {
    /// Where packages install them, with the paths of the programs below.
    pub installed: Vec<PathBuf>,
    /// What a debuginfod client has downloaded, in a folder for each build ID.
    pub downloaded: Vec<PathBuf>,
}

impl Default for DebugFolders {
    /// Those of this machine and user.
    fn default() -> DebugFolders {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let below = |name: &str, rest: &str| variable(name).map(|folder| folder.join(rest));
        let downloaded = [
            variable("DEBUGINFOD_CACHE_PATH"),
            below("XDG_CACHE_HOME", "debuginfod_client"),
            below("HOME", ".cache/debuginfod_client"),
            below("HOME", ".debuginfod_client_cache"),
        ];
        DebugFolders {
            installed: vec![PathBuf::from("/usr/lib/debug")],
            downloaded: downloaded.into_iter().flatten().collect(),
        }
    }
}

impl DebugFolders {
    /// Nowhere.
    pub const NONE: DebugFolders = DebugFolders { installed: Vec::new(), downloaded: Vec::new() };

    /// The first debug file of a program that has symbols and belongs to it.
    pub(super) fn debug_file(&self, program: &object::File<'_>, path: &Path) -> Option<Vec<u8>> {
        let id = program.build_id().ok().flatten();
        let link = program.gnu_debuglink().ok().flatten();
        // a path would lead anywhere
        let link = link.and_then(|(name, sum)| Some((std::str::from_utf8(name).ok()?, sum)));
        let link = link.filter(|(name, _)| !name.contains('/') && !name.is_empty());
        let candidates =
            self.by_build_id(id).into_iter().chain(self.by_path(path, link.map(|(name, _)| name)));
        candidates.into_iter().find_map(|candidate| {
            let (bytes, _) = regular_file::read(&candidate, MAX_FILE_BYTES).ok()?;
            belongs(&bytes, id, link.map(|(_, sum)| sum)).then_some(bytes)
        })
    }

    fn by_build_id(&self, id: Option<&[u8]>) -> Vec<PathBuf> {
        let id = hexadecimal(id.unwrap_or_default());
        let Some((folder, rest)) = id.split_at_checked(2) else { return Vec::new() };
        let installed = self.installed.iter().map(|it| it.join(format!(".build-id/{folder}/{rest}.debug")));
        let downloaded = self.downloaded.iter().map(|it| it.join(&id).join("debuginfo"));
        installed.chain(downloaded).collect()
    }

    /// Beside the program, and below the folders with the program's path, which may contain a link (`/lib`).
    fn by_path(&self, path: &Path, link: Option<&str>) -> Vec<PathBuf> {
        let real = path.canonicalize().ok().filter(|real| real != path);
        let paths: Vec<&Path> = [Some(path), real.as_deref()].into_iter().flatten().collect();
        let mut all = Vec::new();
        for folder in paths.iter().filter_map(|path| path.parent()) {
            if let Some(name) = link {
                all.extend([folder.join(name), folder.join(".debug").join(name)]);
                all.extend(self.installed.iter().map(|it| it.join(relative(folder)).join(name)));
            }
        }
        for path in paths {
            let mut named = relative(path).as_os_str().to_owned();
            named.push(".debug");
            all.extend(self.installed.iter().map(|it| it.join(&named)));
        }
        all
    }
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Whether a file has the symbols of the program with this build ID or, where one of both has none, this checksum.
fn belongs(bytes: &[u8], id: Option<&[u8]>, sum: Option<u32>) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    let is_same = match (id, file.build_id().ok().flatten()) {
        (Some(program), Some(debug)) => program == debug,
        _ => sum == Some(crc32fast::hash(bytes)),
    };
    is_same && file.symbol_table().is_some()
}

/// The symbols that Fedora and its relatives leave in each program (`MiniDebugInfo` in gdb's manual).
pub(super) fn packed_symbols(program: &object::File<'_>) -> Option<Vec<u8>> {
    let packed = program.section_by_name(".gnu_debugdata")?.data().ok()?;
    let decoder = Box::new(XzDecoder::with_alloc_dict_size(BUFFER_BYTES.get(), MAX_DICTIONARY_BYTES));
    let reader =
        XzReader::new_with_buffer_size_and_decoder(Cursor::new(packed.to_vec()), BUFFER_BYTES, decoder);
    let mut unpacked = Vec::new();
    let length = reader.take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut unpacked).ok()?;
    (length as u64 <= MAX_UNPACKED_BYTES).then_some(unpacked)
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
