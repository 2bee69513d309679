//! Where libraries lie decides how many system calls a start takes. For each of these layouts, `inspect` predicts the files
//! and folders that glibc's loader tries, one by one, and the number of all calls. strace says what happens.

use crate::bench::firstbyte;
use crate::inspect::here;
use crate::support::skipped;
use firstbyte::inspect::{Environment, Inspection, Surroundings, inspect};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with programs and libraries.
struct Layout {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

const EMPTY_MAIN: &str = "int main(void) { return 0; }\n";

impl Layout {
    fn new() -> Layout {
        Layout { folder: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn set(&mut self, name: &str, value: String) {
        self.environment.push((name.to_owned(), value));
    }

    fn compile(&self, output: &str, source: &str, options: &[&str]) {
        let output = self.path(output);
        fs::create_dir_all(output.parent().unwrap()).unwrap();
        let file = self.path("source.c");
        fs::write(&file, source).unwrap();
        let status = Command::new("cc").arg("-o").args([&output, &file]).args(options).status().unwrap();
        assert!(status.success(), "cc {options:?}");
    }

    /// A library whose only function has its name; `options` say what it needs.
    fn library(&self, output: &str, options: &[&str]) {
        let stem = Path::new(output).file_stem().unwrap().to_str().unwrap().replace('.', "_");
        let source = format!("int {stem}(void) {{ return 1; }}\n");
        let soname = format!("-Wl,-soname,{}", Path::new(output).file_name().unwrap().to_str().unwrap());
        let all = [&["-shared", "-fPIC", "-Wl,--no-as-needed", soname.as_str()], options].concat();
        self.compile(output, &source, &all);
    }

    /// A program that needs what the options say, although it uses none of it.
    fn program(&self, options: &[&str]) {
        self.compile("program", EMPTY_MAIN, &[&["-Wl,--no-as-needed"], options].concat());
    }

    fn inspected(&self) -> Inspection {
        let environment =
            self.environment.iter().fold(Environment::default(), |all, (name, value)| all.with(name, value));
        let surroundings = Surroundings { environment, ..here() };
        inspect(&self.path("program"), &surroundings).unwrap()
    }

    /// The system calls of a run, one a line.
    fn traced(&self) -> Option<Vec<String>> {
        let output = self.path("trace");
        let mut command = Command::new("strace");
        command.args(["-qq", "-e", "signal=none", "-s", "4096", "-o"]).arg(&output);
        // strace itself is not loaded so
        command.args(self.environment.iter().map(|(name, value)| format!("-E{name}={value}")));
        command.arg(self.path("program")).env_clear().current_dir(self.folder.path());
        if command.output().is_err() {
            skipped("`strace` is missing; help: `apt-get install strace`");
            return None;
        }
        let text = fs::read_to_string(output).unwrap();
        Some(text.lines().filter(|line| !line.starts_with("+++")).map(str::to_owned).collect())
    }

    /// Compares the files and folders that are tried, and the number of calls.
    #[track_caller]
    fn is_as_predicted(&self) {
        let Some(lines) = self.traced() else { return };
        let inspection = self.inspected();
        assert_eq!(inspection.problems, Vec::<String>::new());
        assert_eq!(tried(&inspection), opened(&lines));
        counts_are_as_predicted(&lines, &inspection);
    }
}

/// The counts alone.
#[track_caller]
fn counts_are_as_predicted(lines: &[String], inspection: &Inspection) {
    let prediction = inspection.prediction.as_ref().unwrap();
    let (predicted, traced) = (prediction.syscalls, lines.len() as u64);
    eprintln!("predicted {predicted}, traced {traced} {:?}", prediction.minimum_because);
    if prediction.minimum_because.is_empty() {
        assert_eq!(predicted, traced, "{}\n{prediction:#?}", lines.join("\n"));
    } else {
        assert!(predicted <= traced, "{}\n{prediction:#?}", lines.join("\n"));
    }
    // on the versions of glibc that are known, nothing is left open
    let unknown = "were not compared with a trace";
    let is_unknown = prediction.minimum_because.iter().any(|cause| cause.contains(unknown));
    assert!(is_unknown || prediction.minimum_because.is_empty(), "{:?}", prediction.minimum_because);
}

/// The files and folders that the loader tries, in order.
fn tried(inspection: &Inspection) -> Vec<String> {
    let of_library = |library: &firstbyte::inspect::library::Library| {
        let found = library.path.clone().filter(|_| library.found_by != Some("interpreter"));
        library.tried.iter().cloned().chain(found).collect::<Vec<PathBuf>>()
    };
    let all = inspection.libraries.iter().flat_map(of_library);
    all.map(|path| path.display().to_string().trim_end_matches('/').to_owned()).collect()
}

/// The same, as strace shows it.
fn opened(lines: &[String]) -> Vec<String> {
    let names = ["openat(AT_FDCWD, \"", "newfstatat(AT_FDCWD, \"", "stat(\"", "open(\""];
    let path = |line: &String| {
        let rest = names.iter().find_map(|name| line.strip_prefix(name))?;
        Some(rest.split('"').next()?.trim_end_matches('/').to_owned())
    };
    let own = ["/etc/ld.so.cache", "/etc/ld.so.preload"];
    lines.iter().filter_map(path).filter(|path| !own.contains(&path.as_str())).collect()
}

#[test]
fn a_program_that_needs_only_the_c_library() {
    let layout = Layout::new();
    layout.program(&[]);
    layout.is_as_predicted();
}

/// Folders that do not exist are tried once, with all their subfolders.
#[test]
fn an_rpath_of_eight_folders() {
    let layout = Layout::new();
    layout.library("libs/h/liba.so", &[]);
    fs::create_dir(layout.path("libs/b")).unwrap();
    let folders = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| layout.shown(&format!("libs/{name}")));
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", folders.join(":"));
    layout.program(&[&rpath, &format!("-L{}", folders[7]), "-la"]);
    layout.is_as_predicted();
    let prediction = layout.inspected().prediction.unwrap();
    assert!(prediction.syscalls > 60, "{prediction:?}");
}

#[test]
fn a_runpath_of_folders_of_which_some_exist() {
    let layout = Layout::new();
    layout.library("libs/c/liba.so", &[]);
    layout.library("libs/c/libb.so", &[]);
    fs::create_dir(layout.path("libs/b")).unwrap();
    let folders = ["a", "b", "c"].map(|name| layout.shown(&format!("libs/{name}")));
    let runpath = format!("-Wl,--enable-new-dtags,-rpath,{}", folders.join(":"));
    layout.program(&[&runpath, &format!("-L{}", folders[2]), "-la", "-lb"]);
    layout.is_as_predicted();
}

/// An empty name is the current folder; a name that is there twice is searched once.
#[test]
fn a_library_path_with_empty_missing_and_repeated_folders() {
    let mut layout = Layout::new();
    layout.library("libs/liba.so", &[]);
    layout.program(&[&format!("-L{}", layout.shown("libs")), "-la"]);
    let [missing, libs] = ["nowhere", "libs"].map(|name| layout.shown(name));
    layout.set("LD_LIBRARY_PATH", format!("{missing}::relative:{missing}//;{libs}/:{libs}"));
    let Some(lines) = layout.traced() else { return };
    // our current folder is not that of the program, so what is relative is as absent here as there
    counts_are_as_predicted(&lines, &layout.inspected());
    assert_eq!(tried(&layout.inspected()), opened(&lines));
}

#[test]
fn tokens_in_the_paths_of_a_program() {
    let layout = Layout::new();
    layout.library("libs/liba.so", &[]);
    let runpath = "-Wl,-rpath,$ORIGIN/$PLATFORM:${ORIGIN}/$LIB:$ORIGIN/$UNKNOWN:$ORIGIN/libs";
    layout.program(&[runpath, &format!("-L{}", layout.shown("libs")), "-la"]);
    layout.is_as_predicted();
}

/// The origin of a program is where its file is, and not the link to it.
#[test]
fn the_origin_of_a_program_behind_a_link() {
    let layout = Layout::new();
    layout.library("real/liba.so", &[]);
    let options = ["-Wl,-rpath,$ORIGIN", &format!("-L{}", layout.shown("real")), "-la"];
    layout.compile("real/program", EMPTY_MAIN, &[&["-Wl,--no-as-needed"], &options[..]].concat());
    std::os::unix::fs::symlink("real/program", layout.path("program")).unwrap();
    layout.is_as_predicted();
}

/// A library's own origin is the folder where it was found.
#[test]
fn the_origin_of_a_library() {
    let layout = Layout::new();
    layout.library("libs/deep/libb.so", &[]);
    let deep = format!("-L{}", layout.shown("libs/deep"));
    layout.library("libs/liba.so", &[&deep, "-lb", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/deep"]);
    let libs = layout.shown("libs");
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la"]);
    layout.is_as_predicted();
}

/// An RPATH also counts for what a library needs.
#[test]
fn an_rpath_that_libraries_inherit() {
    let layout = Layout::new();
    layout.library("two/libb.so", &[]);
    layout.library("one/liba.so", &[&format!("-L{}", layout.shown("two")), "-lb"]);
    let [one, two] = ["one", "two"].map(|name| layout.shown(name));
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{one}:{two},-rpath-link,{two}");
    layout.program(&[&rpath, &format!("-L{one}"), "-la"]);
    layout.is_as_predicted();
}

/// A RUNPATH does not. The library is found by `LD_LIBRARY_PATH`, which comes before it.
#[test]
fn a_runpath_that_libraries_do_not_inherit() {
    let mut layout = Layout::new();
    layout.library("two/libb.so", &[]);
    layout.library("one/liba.so", &[&format!("-L{}", layout.shown("two")), "-lb"]);
    let [one, two] = ["one", "two"].map(|name| layout.shown(name));
    let runpath = format!("-Wl,--enable-new-dtags,-rpath,{one},-rpath-link,{two}");
    layout.program(&[&runpath, &format!("-L{one}"), "-la"]);
    layout.set("LD_LIBRARY_PATH", two);
    layout.is_as_predicted();
}

/// The folders of a processor's level come first.
#[test]
fn a_library_for_a_better_processor() {
    let layout = Layout::new();
    layout.library("libs/liba.so", &[]);
    layout.library("libs/glibc-hwcaps/x86-64-v2/liba.so", &[]);
    let libs = layout.shown("libs");
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la"]);
    layout.is_as_predicted();
}

/// glibc 2.37 has removed these subfolders.
#[test]
fn a_library_in_a_legacy_subfolder() {
    let layout = Layout::new();
    layout.library("libs/liba.so", &[]);
    layout.library("libs/tls/liba.so", &[]);
    let libs = layout.shown("libs");
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la"]);
    layout.is_as_predicted();
}

#[test]
fn a_preloaded_library() {
    let mut layout = Layout::new();
    layout.library("libs/libp.so", &[]);
    layout.program(&[]);
    layout.set("LD_PRELOAD", layout.shown("libs/libp.so"));
    layout.is_as_predicted();
    let libraries = layout.inspected().libraries;
    assert_eq!((libraries[0].asked_by, libraries[0].found_by), (Some("LD_PRELOAD"), Some("path")));
}

/// What cannot be preloaded is searched for everywhere, and then there is a message.
#[test]
fn preloaded_libraries_of_which_one_is_missing() {
    let mut layout = Layout::new();
    layout.library("libs/libp.so", &[]);
    layout.program(&[]);
    layout.set("LD_LIBRARY_PATH", layout.shown("libs"));
    layout.set("LD_PRELOAD", "libp.so libnowhere.so".to_owned());
    layout.is_as_predicted();
}

/// A library for another machine is opened, read, and left.
#[test]
fn a_library_for_another_machine() {
    let layout = Layout::new();
    layout.library("right/liba.so", &[]);
    let mut other = fs::read(layout.path("right/liba.so")).unwrap();
    other[18] = 183; // e_machine: aarch64
    fs::create_dir(layout.path("wrong")).unwrap();
    fs::write(layout.path("wrong/liba.so"), other).unwrap();
    let [wrong, right] = ["wrong", "right"].map(|name| layout.shown(name));
    layout.program(&[&format!("-Wl,-rpath,{wrong}:{right}"), &format!("-L{right}"), "-la"]);
    layout.is_as_predicted();
}

/// The second name is opened, and then found to be the same file.
#[test]
fn two_names_of_one_library() {
    let layout = Layout::new();
    for name in ["libs/liba.so", "libs/libb.so"] {
        layout.compile(name, "int f(void) { return 1; }\n", &["-shared", "-fPIC"]);
    }
    let libs = layout.shown("libs");
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la", "-lb"]);
    fs::remove_file(layout.path("libs/libb.so")).unwrap();
    std::os::unix::fs::symlink("liba.so", layout.path("libs/libb.so")).unwrap();
    let Some(lines) = layout.traced() else { return };
    counts_are_as_predicted(&lines, &layout.inspected());
}

/// A name with a slash is not searched for.
#[test]
fn a_library_that_is_needed_by_its_path() {
    let layout = Layout::new();
    layout.compile("libs/liba.so", "int f(void) { return 1; }\n", &["-shared", "-fPIC"]);
    layout.program(&[&layout.shown("libs/liba.so")]);
    layout.is_as_predicted();
}

/// The loader asks the kernel for memory again and again.
#[test]
fn thirty_libraries_in_a_row() {
    let layout = Layout::new();
    let libs = layout.shown("libs");
    let (rpath, here) = (format!("-Wl,-rpath,{libs}"), format!("-L{libs}"));
    for number in 0..30 {
        let next = format!("-lchain{}", number - 1);
        let needs: &[&str] = if number == 0 { &[] } else { &[&here, &next] };
        layout.library(&format!("libs/libchain{number}.so"), &[&[rpath.as_str()], needs].concat());
    }
    layout.program(&[&rpath, &here, "-lchain29"]);
    layout.is_as_predicted();
}

#[test]
fn thread_local_variables_of_all_sizes() {
    let layout = Layout::new();
    let libs = layout.shown("libs");
    for (name, source) in [
        ("liba.so", "_Thread_local int a = 1; int f(void) { return a; }\n"),
        (
            "libb.so",
            "_Thread_local char b[5000] __attribute__((aligned(256))); int g(void) { return b[1]; }\n",
        ),
    ] {
        layout.compile(&format!("libs/{name}"), source, &["-shared", "-fPIC"]);
    }
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la", "-lb"]);
    layout.is_as_predicted();
}

/// Zeros behind the file's part are mapped; without RELRO, nothing is protected.
#[test]
fn a_library_with_zeros_and_without_protection() {
    let layout = Layout::new();
    let source = "char zeros[100000]; int f(void) { return zeros[1]; }\n";
    layout.compile("libs/liba.so", source, &["-shared", "-fPIC", "-Wl,-z,norelro"]);
    let libs = layout.shown("libs");
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la", "-Wl,-z,now"]);
    layout.is_as_predicted();
}

#[test]
fn versions_of_symbols() {
    let layout = Layout::new();
    let versions = (0..60).fold(String::new(), |text, number| format!("{text}V{number} {{ f{number}; }};\n"));
    let source =
        (0..60).fold(String::new(), |text, number| format!("{text}int f{number}(void) {{ return 1; }}\n"));
    fs::write(layout.path("versions"), versions).unwrap();
    let script = format!("-Wl,--version-script={}", layout.shown("versions"));
    layout.compile("libs/liba.so", &source, &["-shared", "-fPIC", &script]);
    let libs = layout.shown("libs");
    layout.program(&[&format!("-Wl,-rpath,{libs}"), &format!("-L{libs}"), "-la"]);
    layout.is_as_predicted();
}

/// The default folders and what the cache says about them do not count.
#[test]
fn a_program_without_default_folders() {
    let layout = Layout::new();
    let rpath = "-Wl,-z,nodefaultlib,-rpath,/nowhere:/lib/x86_64-linux-gnu:/lib64:/usr/lib64";
    layout.program(&[rpath]);
    layout.is_as_predicted();
}

#[test]
fn all_functions_are_looked_up_at_the_start() {
    let mut layout = Layout::new();
    layout.compile("program", crate::inspect::HELLO, &["-O2"]);
    layout.set("LD_BIND_NOW", "1".to_owned());
    layout.is_as_predicted();
}

/// The loader is that of glibc, but no C library starts the program.
#[test]
fn a_program_without_a_c_library() {
    let layout = Layout::new();
    if !cfg!(target_arch = "x86_64") {
        return skipped("the program is written for x86-64");
    }
    let source = "void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(0)); }\n";
    layout.compile("program", source, &["-O2", "-nostdlib", "-pie", "-fPIE"]);
    layout.is_as_predicted();
    let inspection = layout.inspected();
    assert_eq!(inspection.elf.unwrap().runtime.c_library, None);
    let shown = firstbyte(layout.folder.path(), &["inspect", "program"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(!shown.contains("of glibc"), "{shown}");
}

/// An audit module is loaded with a C library of its own, so there are at least as many calls again.
#[test]
fn an_audit_module() {
    let mut layout = Layout::new();
    let source = "unsigned la_version(unsigned version) { return version; }\n";
    layout.compile("libs/libaudit.so", source, &["-shared", "-fPIC", "-Wl,--no-as-needed"]);
    layout.program(&[]);
    let without = layout.inspected().prediction.unwrap().syscalls;
    layout.set("LD_AUDIT", layout.shown("libs/libaudit.so"));
    let Some(lines) = layout.traced() else { return };
    let prediction = layout.inspected().prediction.unwrap();
    eprintln!("predicted {}, traced {}", prediction.syscalls, lines.len());
    assert!(prediction.is_minimum() && prediction.syscalls > without + 15);
    assert!(prediction.syscalls <= lines.len() as u64, "{prediction:#?}\n{}", lines.join("\n"));
}

/// The loader stops at a file that is no library, so the program does not start.
#[test]
fn a_text_in_place_of_a_library() {
    let mut layout = Layout::new();
    layout.library("libs/liba.so", &[]);
    layout.program(&[&format!("-L{}", layout.shown("libs")), "-la"]);
    fs::create_dir(layout.path("texts")).unwrap();
    fs::write(layout.path("texts/liba.so"), "/* GNU ld script */\n".repeat(10)).unwrap();
    layout.set("LD_LIBRARY_PATH", [layout.shown("texts"), layout.shown("libs")].join(":"));
    let inspection = layout.inspected();
    assert!(
        inspection.prediction.is_none() && inspection.problems[0].contains("liba.so"),
        "{:?}",
        inspection.problems
    );
    let Some(lines) = layout.traced() else { return };
    assert!(lines.last().unwrap().starts_with("exit_group(127)"), "{lines:?}");
}
