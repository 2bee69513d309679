//! The functions of stripped programs are found wherever distributions keep their names, and nowhere else.

use crate::support::skipped;
use firstbyte::analysis::binaries::{Binaries, FileBinaries};
use firstbyte::analysis::debug_files::DebugFolders;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A function that no dynamic symbol names.
const SOURCE: &str = "__attribute__((noinline)) static int hidden(int n) { return n * 3; }\n\
                      int main(int n, char **a) { (void)a; return hidden(n); }\n";

/// A program, and where its hidden function is in its file.
struct Stripped {
    folder: tempfile::TempDir,
    offset: u64,
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

impl Stripped {
    /// The program with all its symbols is `whole`, its debug file is `debug`, and `program` has no symbols.
    fn new(options: &[&str]) -> Option<Stripped> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let [source, whole, debug, program] = ["source.c", "whole", "debug", "program"].map(path);
        fs::write(&source, SOURCE).unwrap();
        let compiled = runs("cc", &[&["-O1", "-g", "-o", &whole, &source], options].concat());
        if !compiled || !runs("objcopy", &["--only-keep-debug", &whole, &debug]) {
            skipped("`cc` or `objcopy` is missing; help: `apt-get install gcc binutils`");
            return None;
        }
        assert!(runs("objcopy", &["--strip-all", &whole, &program]));
        let offset = offset(Path::new(&whole));
        Some(Stripped { folder, offset })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Copies the debug file to this path.
    fn place(&self, at: &Path) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::copy(self.path("debug"), at).unwrap();
    }

    /// Names the debug file in the program, with its checksum.
    fn link(&self) {
        let link = format!("--add-gnu-debuglink={}", self.shown("debug"));
        assert!(runs("objcopy", &[&link, &self.shown("program")]));
        fs::rename(self.path("debug"), self.path("debug.kept")).unwrap();
    }

    fn folders(&self) -> DebugFolders {
        DebugFolders { installed: vec![self.path("installed")], downloaded: vec![self.path("downloaded")] }
    }

    fn found(&self) -> Option<String> {
        let binaries = FileBinaries::with_debug_folders(self.folders());
        binaries.function(&self.shown("program"), self.offset).map(|name| name.to_string())
    }

    #[track_caller]
    fn is_found(&self) {
        assert_eq!(self.found().as_deref(), Some("hidden"));
    }

    #[track_caller]
    fn is_not_found(&self) {
        assert_ne!(self.found().as_deref(), Some("hidden"));
    }

    fn build_id(&self) -> String {
        let module =
            FileBinaries::with_debug_folders(DebugFolders::NONE).module(&self.shown("program")).unwrap();
        module.build_id.unwrap()
    }

    /// The path of the program below a folder for debug files.
    fn below(&self, folder: &str, file: &str) -> PathBuf {
        self.path(folder).join(self.folder.path().strip_prefix("/").unwrap()).join(file)
    }
}

/// Where `hidden` is in a file that has its symbols.
fn offset(whole: &Path) -> u64 {
    let output = Command::new("nm").arg(whole).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.ends_with(" t hidden")).unwrap();
    let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let binaries = FileBinaries::with_debug_folders(DebugFolders::NONE);
    let layout = binaries.layout(whole.to_str().unwrap()).unwrap();
    let segment =
        layout.segments.iter().find(|s| (s.address..s.address + s.file_size).contains(&address)).unwrap();
    let offset = address - segment.address + segment.offset;
    assert_eq!(binaries.function(whole.to_str().unwrap(), offset).as_deref(), Some("hidden"));
    offset
}

#[test]
fn a_stripped_program_has_no_names_by_itself() {
    let Some(stripped) = Stripped::new(&[]) else { return };
    stripped.is_not_found();
}

#[test]
fn by_its_build_id_where_packages_install_debug_files() {
    let Some(stripped) = Stripped::new(&["-Wl,--build-id"]) else { return };
    let id = stripped.build_id();
    let at = format!("installed/.build-id/{}/{}.debug", &id[..2], &id[2..]);
    stripped.place(&stripped.path(&at));
    stripped.is_found();
}

#[test]
fn by_its_build_id_where_debuginfod_keeps_what_it_downloaded() {
    let Some(stripped) = Stripped::new(&["-Wl,--build-id"]) else { return };
    // what the server does not have is an empty file
    let at = stripped.path(&format!("downloaded/{}/debuginfo", stripped.build_id()));
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, "").unwrap();
    stripped.is_not_found();
    stripped.place(&at);
    stripped.is_found();
}

#[test]
fn by_its_path_if_the_build_id_is_the_same() {
    let Some(stripped) = Stripped::new(&["-Wl,--build-id"]) else { return };
    stripped.place(&stripped.below("installed", "program.debug"));
    stripped.is_found();
}

/// Beside the program, in `.debug`, and below the folder of debug files.
#[test]
fn by_the_name_in_the_program_and_its_checksum() {
    let Some(stripped) = Stripped::new(&["-Wl,--build-id=none"]) else { return };
    stripped.link();
    stripped.is_not_found();
    for at in [stripped.path("debug"), stripped.path(".debug/debug"), stripped.below("installed", "debug")] {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::copy(stripped.path("debug.kept"), &at).unwrap();
        stripped.is_found();
        fs::remove_file(at).unwrap();
    }
}

/// Names of another build would be wrong ones.
#[test]
fn a_debug_file_of_another_build_is_not_taken() {
    let options = [&["-Wl,--build-id=none"][..], &["-Wl,--build-id=0x12345678"]];
    for options in options {
        let (Some(stripped), Some(other)) =
            (Stripped::new(options), Stripped::new(&["-Wl,--build-id=0xabcdef01", "-O2"]))
        else {
            return;
        };
        stripped.link();
        fs::copy(other.path("debug"), stripped.path("debug")).unwrap();
        other.place(&stripped.below("installed", "program.debug"));
        other.place(&stripped.path("installed/.build-id/12/345678.debug"));
        other.place(&stripped.path("downloaded/12345678/debuginfo"));
        stripped.is_not_found();
    }
}

/// As `find-debuginfo` of RPM leaves it: the names of functions, packed by xz, in a section.
#[test]
fn packed_in_the_program_as_fedora_has_them() {
    for options in [&[][..], &["--check=crc32"], &["--check=none"], &["-9", "--check=crc64"]] {
        let Some(stripped) = Stripped::new(&[]) else { return };
        let keep = stripped.shown("keep");
        fs::write(&keep, "hidden\nmain\n").unwrap();
        let (whole, small) = (stripped.shown("debug"), stripped.shown("small"));
        let list = format!("--keep-symbols={keep}");
        assert!(runs("objcopy", &["-S", "--remove-section", ".comment", &list, &whole, &small]));
        if !runs("xz", &[options, &[small.as_str()]].concat()) {
            return skipped("`xz` is missing; help: `apt-get install xz-utils`");
        }
        let section = format!("--add-section=.gnu_debugdata={small}.xz");
        assert!(runs("objcopy", &[&section, &stripped.shown("program")]));
        stripped.is_found();
    }
}

/// Anything may be in that section.
#[test]
fn packed_symbols_that_are_damaged_are_left_alone() {
    let Some(stripped) = Stripped::new(&[]) else { return };
    let whole = fs::read(stripped.path("whole")).unwrap();
    let packed = stripped.path("packed");
    fs::write(&packed, &whole).unwrap();
    if !runs("xz", &["-k", packed.to_str().unwrap()]) {
        return skipped("`xz` is missing; help: `apt-get install xz-utils`");
    }
    let good = fs::read(stripped.path("packed.xz")).unwrap();
    for damage in [0, 7, 12, 20, good.len() / 2, good.len() - 3] {
        let mut bytes = good.clone();
        bytes[damage] ^= 0x5a;
        fs::write(&packed, bytes).unwrap();
        fs::copy(stripped.path("program"), stripped.path("damaged")).unwrap();
        let section = format!("--add-section=.gnu_debugdata={}", packed.display());
        assert!(runs("objcopy", &[&section, &stripped.shown("damaged")]));
        let binaries = FileBinaries::with_debug_folders(stripped.folders());
        assert_ne!(binaries.function(&stripped.shown("damaged"), stripped.offset).as_deref(), Some("hidden"));
    }
}
