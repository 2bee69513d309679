//! The programs outside the core of the corpus: their manifests, and what installs their tools.

use super::trace::result;
use crate::support::{skipped, write_executable};
use firstbyte::corpus::{BuildCache, Corpus, Program, SkipCause, prepare};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn in_groups(corpus: &Corpus) -> impl Iterator<Item = &Program> {
    corpus.programs().iter().filter(|program| !program.is_core())
}

#[test]
fn a_hundred_programs_in_sixty_languages_are_outside_the_core() {
    let corpus = Corpus::load(None).unwrap();
    let languages: BTreeSet<&str> = in_groups(&corpus).map(|p| p.manifest.language.as_str()).collect();
    assert!(languages.len() >= 60, "{languages:?}");
    assert!(in_groups(&corpus).count() >= 100);
}

/// The files that a command names are in the program's folder, or have the stem of one that is there.
#[test]
fn the_commands_of_a_manifest_name_files_of_its_folder() {
    for program in in_groups(&Corpus::load(None).unwrap()) {
        let stems: BTreeSet<_> = program.sources.iter().map(|file| file.path.file_stem()).collect();
        let manifest = &program.manifest;
        let words = manifest.build.iter().chain([&manifest.run]).flatten();
        for word in words.filter(|word| word.to_ascii_lowercase().starts_with("hello.")) {
            assert!(stems.contains(&Path::new(word).file_stem()), "{}: `{word}`", program.name());
        }

        let is_run_from_source = manifest.build.is_empty() && manifest.script.is_none();
        let has_artifact = program.sources.iter().any(|file| file.path == manifest.artifact);
        assert_eq!(is_run_from_source, has_artifact, "{}: what is its artifact?", program.name());
    }
}

#[test]
fn a_program_without_its_tools_is_skipped_with_the_commands_that_install_them() {
    let folder = tempfile::tempdir().unwrap();
    let cache = BuildCache::at(folder.path(), "corpus").unwrap();
    for program in in_groups(&Corpus::load(None).unwrap()) {
        let mut bare = program.clone();
        bare.manifest.architectures.clear();
        for tool in &mut bare.manifest.toolchain {
            tool.tool = format!("no-such-{}", tool.tool);
        }
        let skip = prepare(&bare, &cache, &|| false).unwrap_err();
        assert_eq!(skip.cause, SkipCause::ToolMissing, "{skip:?}");
        let install = skip.install.unwrap_or_default();
        let words = bare.manifest.toolchain.iter().flat_map(|tool| tool.packages.iter().chain(&tool.install));
        for word in words {
            assert!(install.split(' ').any(|given| given == word), "{}: {install}", bare.name());
        }
    }
}

/// Reading a program's folder takes 14 calls: five for the folder, four for each of its two files, and one for its manifest. In
/// this build, three more: a debug assertion asks with `fcntl` whether a descriptor that is closed is open.
#[test]
fn a_folder_of_several_hundred_programs_costs_a_few_system_calls_for_each() {
    const PER_PROGRAM: usize = 17;
    let calls = |programs: usize| {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..programs {
            let own = folder.path().join(format!("own-{number}"));
            fs::create_dir(&own).unwrap();
            fs::write(own.join("hello.sh"), "echo hello world\n").unwrap();
            let manifest = format!(
                "name = \"own-{number}\"\nlanguage = \"sh\"\ndescription = \"a program\"\ntags = [\"own\"]\n\
                 [script]\nsource = \"hello.sh\"\ninterpreter = \"{{sh}}\"\n[[toolchain]]\ntool = \"sh\"\n"
            );
            fs::write(own.join("program.toml"), manifest).unwrap();
        }

        let path = folder.path().to_str().unwrap();
        let list = [env!("CARGO_BIN_EXE_firstbyte"), "showdown", "--list", "--corpus", path];
        let traced = result(&[&["--backend", "ptrace", "--runs", "1", "--"], &list[..]].concat())?;
        let spans = traced["spans"].as_array().unwrap();
        assert!(!spans.iter().any(|span| span["name"] == "fork"), "listing starts nothing");
        Some(spans.iter().filter(|span| span["kind"] == "syscall").count())
    };
    let (Some(few), Some(many)) = (calls(100), calls(400)) else { return };
    assert!(many - few <= 300 * PER_PROGRAM, "{few} calls with 100 programs, {many} with 400");
}

/// Says how large everything is, and notes what it is asked for.
const APT_GET: &str = "#!/bin/sh
case \"$*\" in
*--assume-no*) echo 'Need to get 1,234 kB of archives.'; echo 'After this operation, 5,678 kB of additional disk space will be used.'; exit 1;;
esac
echo \"$*\" >>\"$NOTES/asked\"
";

/// Every package is missing.
const DPKG_QUERY: &str = "#!/bin/sh\nprintf not-installed\n";

/// `doctor --install` with an apt-get of our own, on a machine without the tools of any group.
fn doctor(folder: &Path, arguments: &[&str]) -> Output {
    for (name, text) in [("apt-get", APT_GET), ("dpkg-query", DPKG_QUERY)] {
        write_executable(&folder.join(name), text, 0o755);
    }
    for name in ["env", "sh"] {
        let _ = std::os::unix::fs::symlink(Path::new("/usr/bin").join(name), folder.join(name));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstbyte"));
    command.args(["doctor", "--install"]).args(arguments).env("PATH", folder).env("NOTES", folder);
    command.stdin(Stdio::null()).output().unwrap()
}

fn asked(folder: &Path) -> String {
    fs::read_to_string(folder.join("asked")).unwrap_or_default()
}

#[test]
fn the_sizes_of_a_group_are_printed_and_nothing_is_installed_without_a_yes() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root installs packages");
    }
    let folder = tempfile::tempdir().unwrap();
    let output = doctor(folder.path(), &["--group", "logic"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("logic        gcc gprolog swi-prolog-nox: 1,234 kB to download, 5,678 kB"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("stdin is not a terminal\nhelp: firstbyte doctor --install --all --yes"),
        "{error}"
    );
    assert!(!asked(folder.path()).contains("install"), "{}", asked(folder.path()));

    let output = doctor(folder.path(), &["--group", "logic", "--yes"]);
    assert_eq!(output.status.code(), Some(0));
    let wanted = "install -y --no-install-recommends gcc gprolog swi-prolog-nox";
    assert!(asked(folder.path()).lines().any(|line| line == wanted), "{}", asked(folder.path()));
}

#[test]
fn an_unknown_group_is_an_error_that_lists_the_groups() {
    let folder = tempfile::tempdir().unwrap();
    let output = doctor(folder.path(), &["--group", "lips"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("the corpus contains no group `lips`\nhelp: its groups are "), "{error}");
    assert!(error.contains("jvm, lisp, "), "{error}");
}

/// The results that docs/languages.md is made from.
const RESULTS: &str = "results/2026-11-26-epyc-kvm";

/// What `scripts/figures/languages.py page` writes, from the files of results that begin with `languages`, changed by `change`.
fn page(change: impl Fn(&Path)) -> Option<String> {
    if firstbyte_measure::launch::find_in_path("python3").is_none() {
        skipped("`python3` is not in PATH");
        return None;
    }
    let (root, own) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().unwrap());
    let results = own.path().join(RESULTS);
    fs::create_dir_all(&results).unwrap();
    fs::create_dir(own.path().join("docs")).unwrap();
    for entry in fs::read_dir(root.join(RESULTS)).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("languages") {
            fs::copy(entry.path(), results.join(entry.file_name())).unwrap();
        }
    }
    change(&results);

    let page = own.path().join("docs/languages.md");
    let mut script = Command::new("python3");
    script.arg("-B").arg(root.join("scripts/figures/languages.py")).arg("page").args([&results, &page]);
    let output = script.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(fs::read_to_string(page).unwrap())
}

#[test]
fn the_page_of_all_languages_is_what_the_results_say() {
    let Some(page) = page(|_| {}) else { return };
    let written =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/languages.md")).unwrap();
    let first = page.lines().zip(written.lines()).find(|(should, is)| should != is);
    assert!(page == written, "scripts/figures/languages.py page {RESULTS} docs/languages.md: {first:?}");
}

#[test]
fn a_trace_says_where_the_time_of_a_language_goes_and_why_it_stands_out() {
    let trace = r#"{"gccgo": {"total_ns": 999, "parts_ns": {"fault": 50, "user": 144, "waiting": 6}, "findings":
        [{"rule": "r", "costs_ns": 1, "saves_ns": null, "text": "It reads | itself."}]}, "go": {"error": "status 1"}}"#;
    let Some(page) = page(|results| fs::write(results.join("languages-traces.json"), trace).unwrap()) else {
        return;
    };
    assert!(page.contains("| `gccgo` | user code 72 %, page faults 25 %. It reads / itself |\n"), "{page}");
    assert!(!page.contains("| `go` | user"), "a trace that failed explains nothing");
    let why = page.lines().find(|line| line.starts_with("- **`gccgo`**, ")).unwrap();
    assert!(why.contains(" times `go`. ") && why.ends_with(". It reads / itself."), "{why}");
}
