//! The corpus: manifests, builds, the cache, verification.

use crate::support::skipped;
use firstbyte::corpus::{
    BuildCache, Built, Corpus, CorpusError, Manifest, PrepareOptions, PrepareStep, Program, Selection,
    SkipCause, SkippedProgram, build, prepare, prepare_all,
};
use firstbyte::floor::prints::{LINE, MARKER, PRINTS};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// A folder of programs and a cache, both removed at the end of the test.
struct Bench {
    folder: TempDir,
    cache: BuildCache,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("programs")).unwrap();
        let cache = BuildCache::at(&folder.path().join("cache"), "corpus").unwrap();
        Bench { folder, cache }
    }

    fn programs(&self) -> PathBuf {
        self.folder.path().join("programs")
    }

    fn entries(&self, program: &str) -> Vec<PathBuf> {
        let all = fs::read_dir(self.folder.path().join("cache/corpus").join(program)).unwrap();
        all.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
    }

    /// A program whose `test` is this shell script.
    fn script(&self, script: &str, more: &str) -> Program {
        self.write("hello.sh", script);
        self.program(&format!(
            "{more}\n[script]\nsource = \"hello.sh\"\ninterpreter = \"{{sh}}\"\n\
             [[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n"
        ))
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.programs().join("own")).unwrap();
        fs::write(self.programs().join("own").join(name), text).unwrap();
    }

    fn program(&self, rest: &str) -> Program {
        let head = "name = \"own\"\nlanguage = \"sh\"\ndescription = \"a program\"\ntags = [\"own\"]\n";
        self.write("program.toml", &format!("{head}{rest}"));
        Corpus::load(Some(&self.programs())).unwrap().find("own").unwrap().clone()
    }

    fn prepare(&self, program: &Program) -> Result<Built, SkippedProgram> {
        prepare(program, &self.cache, &|| false)
    }
}

fn refused(load: Result<Corpus, CorpusError>) -> String {
    let text = load.expect_err("a corpus that cannot be used").to_string();
    let (first, help) = text.split_once('\n').expect("a help line");
    assert!(help.starts_with("help: ") && !help.contains('\n'), "{text}");
    first.to_owned()
}

#[test]
fn embedded_manifests_follow_the_rules_of_the_corpus() {
    let kinds = ["native", "interpreted", "vm"];
    let others = [
        "dynamic",
        "static",
        "plain",
        "tuned",
        "shell",
        "raw",
        "runtime",
        "floor",
        "crashes",
        "shim",
        "jvm",
        "print-benchmark",
    ];
    let corpus = Corpus::load(None).unwrap();
    for program in corpus.programs().iter().filter(|program| !program.has_tag("timed")) {
        let manifest = &program.manifest;
        let name = program.name();
        assert_eq!(manifest.expected.output(), if name == "true" { "" } else { "hello world\n" }, "{name}");
        assert_eq!(manifest.expected.exit.success(), !program.has_tag("crashes"), "{name}");
        assert!(kinds.iter().any(|kind| program.has_tag(kind)), "{name} has none of {kinds:?}");
        assert!(!(program.has_tag("plain") && program.has_tag("tuned")), "{name} is plain or tuned");
        let own_command = program.has_tag("vm") || !program.is_core();
        assert!(manifest.run == ["./test"] || own_command, "{name} is not started as ./test");
        for tag in &manifest.tags {
            assert!(kinds.contains(&tag.as_str()) || others.contains(&tag.as_str()), "{name}: tag `{tag}`");
        }
        for tool in &manifest.toolchain {
            let ways = [!tool.packages.is_empty(), !tool.install.is_empty()];
            assert_eq!(ways, [!ways[1], ways[1]], "{name}: nothing, or two ways, install `{}`", tool.tool);
        }
        assert!(
            !program.is_core() || manifest.toolchain.iter().all(|tool| tool.install.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn programs_that_time_themselves_are_optional_and_print_the_same() {
    let corpus = Corpus::load(None).unwrap();
    let timed = Selection { tags: vec!["timed".to_owned()], ..Selection::default() };
    let timed = corpus.select(&timed).unwrap();
    assert!(timed.len() >= 12);
    for program in timed {
        let (manifest, name) = (&program.manifest, program.name());
        assert!(manifest.optional && manifest.tags == ["timed"], "{name}: no other tag may select it");
        assert!(name.starts_with("timed-") && manifest.variant.starts_with("timed "), "{name}");
        let printed = manifest.expected.output();
        assert_eq!(printed.strip_prefix(MARKER), Some(&*LINE.repeat(PRINTS.try_into().unwrap())), "{name}");
    }
}

#[test]
fn every_language_has_exactly_one_plain_program_on_each_architecture() {
    let corpus = Corpus::load(None).unwrap();
    let languages: BTreeSet<&str> = corpus.programs().iter().map(|p| p.manifest.language.as_str()).collect();
    for language in languages.into_iter().filter(|language| *language != "ELF") {
        for architecture in ["x86_64", "aarch64"] {
            let exists = |program: &&Program| {
                let on = &program.manifest.architectures;
                on.is_empty() || on.iter().any(|name| name == architecture)
            };
            let own = corpus.programs().iter().filter(|p| p.manifest.language == language).filter(exists);
            let own: Vec<&Program> = own.collect();
            let plain: Vec<&str> = own.iter().filter(|p| p.has_tag("plain")).map(|p| p.name()).collect();
            assert_eq!(plain.len(), usize::from(!own.is_empty()), "{language}, {architecture}: {plain:?}");
        }
    }
}

#[test]
fn the_embedded_corpus_equals_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut on_disk: Vec<String> =
        folders.map(|path| path.file_name().unwrap().to_str().unwrap().into()).collect();
    on_disk.sort();
    let corpus = Corpus::load(None).unwrap();
    let embedded: Vec<&str> = corpus.programs().iter().map(Program::name).collect();
    assert_eq!(embedded, on_disk);
}

#[test]
fn programs_are_selected_by_name_or_tag_or_all_but_the_optional_ones() {
    let corpus = Corpus::load(None).unwrap();
    let selected = |names: &[&str], tags: &[&str]| -> Vec<&str> {
        let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let selection = Selection { names: owned(names), tags: owned(tags), ..Selection::default() };
        corpus.select(&selection).unwrap().into_iter().map(Program::name).collect()
    };
    let all = selected(&[], &[]);
    assert!(all.contains(&"floor-elf") && !all.contains(&"crash-after-print"), "{all:?}");
    assert_eq!(selected(&["go", "crash-after-print"], &[]), ["crash-after-print", "go"]);
    assert_eq!(selected(&["go"], &["floor"]), ["floor-elf", "go"]);
    assert_eq!(selected(&[], &["crashes"]), ["crash-after-print"]);
}

#[test]
fn an_unknown_name_is_an_error_that_names_the_nearest() {
    let corpus = Corpus::load(None).unwrap();
    let names = Selection { names: vec!["rusty".to_owned()], ..Selection::default() };
    let text = corpus.select(&names).unwrap_err().to_string();
    assert!(text.starts_with("the corpus contains no program `rusty`\nhelp: did you mean `rust"), "{text}");
    let tags = Selection { tags: vec!["natives".to_owned()], ..Selection::default() };
    let text = corpus.select(&tags).unwrap_err().to_string();
    assert_eq!(text, "the corpus contains no tag `natives`\nhelp: did you mean `native`?");
}

#[test]
fn there_is_always_a_floor_and_it_needs_no_toolchain() {
    let bench = Bench::new();
    let corpus = Corpus::load(None).unwrap();
    let floor = corpus.find("floor-elf").unwrap();
    assert!(floor.manifest.toolchain.is_empty() && floor.has_tag("floor"));
    let built = bench.prepare(floor).unwrap();
    assert_eq!(built.argv, ["./test"]);
    assert_eq!(built.executable, built.directory.join("test"));
    assert_eq!(built.artifact_size.0, fs::metadata(&built.artifact).unwrap().len());
}

/// Every program of the core whose tools are installed. `make corpus-all` checks the others.
#[test]
fn every_program_of_the_corpus_builds_and_prints_hello_world() {
    let bench = Bench::new();
    let corpus = Corpus::load(None).unwrap();
    let fits = |program: &&Program| {
        let on = &program.manifest.architectures;
        program.is_core() && (on.is_empty() || on.iter().any(|name| name == std::env::consts::ARCH))
    };
    let programs: Vec<&Program> = corpus.programs().iter().filter(fits).collect();
    let log = Mutex::new(Vec::new());
    let results = prepare_all(&programs, &bench.cache, PrepareOptions::new(&|| false), &|progress| {
        log.lock().unwrap().push(match progress {
            PrepareStep::Planned(programs) => format!("planned {programs}"),
            PrepareStep::Started(name) => format!("started {name}"),
            PrepareStep::Finished(Ok(built)) => format!("finished {}", built.program),
            PrepareStep::Finished(Err(skip)) => format!("finished {}", skip.name),
        });
    });
    let log = log.into_inner().unwrap();
    for (program, result) in programs.iter().zip(&results) {
        let name = program.name();
        for step in ["started", "finished"] {
            assert_eq!(log.iter().filter(|line| **line == format!("{step} {name}")).count(), 1, "{log:?}");
        }
        match result {
            Ok(built) => assert!(built.program == name && built.artifact_size.0 > 0 && !built.cached),
            Err(skip) => {
                assert!(matches!(skip.cause, SkipCause::ToolMissing | SkipCause::Unfit), "{skip:?}");
                skipped(&format!(
                    "{name}: {} ({})",
                    skip.reason,
                    skip.install.as_deref().unwrap_or("no package")
                ));
            }
        }
    }
}

#[test]
fn a_program_is_built_once_and_again_when_its_sources_change() {
    let bench = Bench::new();
    let first = bench.prepare(&bench.script("echo hello world", "")).unwrap();
    let second = bench.prepare(&bench.script("echo hello world", "")).unwrap();
    assert!(!first.cached && second.cached);
    assert_eq!(first.directory, second.directory);
    let changed = bench.prepare(&bench.script("echo 'hello world'", "")).unwrap();
    assert!(!changed.cached);
    assert_ne!(first.directory, changed.directory);
}

#[test]
fn nothing_is_written_into_the_users_folder() {
    let bench = Bench::new();
    let program = bench.script("echo hello world", "");
    bench.prepare(&program).unwrap();
    let files = fs::read_dir(bench.programs().join("own")).unwrap().count();
    assert_eq!(files, program.sources.len());
}

#[test]
fn a_corrupt_build_is_repeated() {
    let bench = Bench::new();
    let program = bench.script("echo hello world", "");
    let built = bench.prepare(&program).unwrap();
    // The size is the same, so only the verification can notice.
    let same_length = fs::read_to_string(&built.executable).unwrap().replace("hello", "jello");
    for damage in [same_length.as_str(), ""] {
        fs::write(&built.executable, damage).unwrap();
        let again = bench.prepare(&program).unwrap();
        assert!(!again.cached);
        assert_eq!(again.directory, built.directory);
    }
}

#[test]
fn simultaneous_builds_of_one_program_make_one_complete_entry() {
    let bench = Bench::new();
    let program = bench.program(
        "build = [[\"{sh}\", \"-c\", \"echo '#!/bin/sh' >test; echo echo hello world >>test; chmod +x test\"]]\n\
         [[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n",
    );
    let all = [&program; 8];
    let results = prepare_all(
        &all,
        &bench.cache,
        PrepareOptions { jobs: 8, ..PrepareOptions::new(&|| false) },
        &|_| {},
    );
    let fresh = results.iter().filter(|result| !result.as_ref().unwrap().cached).count();
    assert_eq!(fresh, 1);
    assert_eq!(bench.entries("own").len(), 1);
}

#[test]
fn a_failed_build_reports_the_step_the_reason_and_the_log() {
    let bench = Bench::new();
    let program = bench.program(
        "build = [[\"{sh}\", \"-c\", \"true\"], [\"{sh}\", \"-c\", \"echo one; echo an error: no luck; echo two; exit 4\"]]\n\
         [[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n",
    );
    let skip = bench.prepare(&program).unwrap_err();
    assert_eq!(skip.cause, SkipCause::BuildFailed);
    assert!(skip.reason.starts_with("build step 2, `{sh} -c echo one"), "{}", skip.reason);
    assert!(skip.reason.contains("ended with exit status 4: an error: no luck (log: "), "{}", skip.reason);
    assert!(!skip.reason.contains('\n'));
    let (_, log) = skip.reason.rsplit_once("(log: ").unwrap();
    assert_eq!(fs::read_to_string(log.trim_end_matches(')')).unwrap(), "one\nan error: no luck\ntwo\n");
    assert_eq!(bench.entries("own"), [] as [PathBuf; 0], "no incomplete build is left");
}

#[test]
fn a_build_without_a_result_is_a_failed_build() {
    let bench = Bench::new();
    let program = bench.program(
        "build = [[\"{sh}\", \"-c\", \"true\"]]\n[[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n",
    );
    let skip = bench.prepare(&program).unwrap_err();
    assert_eq!((skip.cause, skip.reason.as_str()), (SkipCause::BuildFailed, "the build made no file `test`"));
}

#[test]
fn wrong_programs_are_skipped_with_the_reason() {
    let bench = Bench::new();
    let cases = [
        ("echo goodbye", "it printed `goodbye\\n` instead of `hello world\\n`"),
        ("true", "it printed nothing instead of `hello world\\n`"),
        ("echo hello world; echo more", "it printed `hello world\\nmore\\n` instead of `hello world\\n`"),
        ("echo hello world; exit 3", "it ended with exit status 3 instead of exit status 0"),
        ("echo hello world; kill -SEGV $$", "it was killed by SIGSEGV instead of ending with exit status 0"),
        ("yes", "it printed more than 4108 bytes and was killed"),
    ];
    for (script, reason) in cases {
        let skip = bench.prepare(&bench.script(script, "")).unwrap_err();
        assert_eq!((skip.cause, skip.reason.as_str()), (SkipCause::Wrong, reason));
    }
}

#[test]
fn a_program_may_be_expected_to_crash() {
    let bench = Bench::new();
    let crash = "[expected]\nexit = \"SIGSEGV\"\n";
    assert!(bench.prepare(&bench.script("echo hello world; kill -SEGV $$", crash)).is_ok());
    let skip = bench.prepare(&bench.script("echo hello world", crash)).unwrap_err();
    assert_eq!(skip.reason, "it ended with exit status 0 instead of being killed by SIGSEGV");
}

#[test]
fn an_interruption_leaves_no_process_and_no_incomplete_build() {
    let bench = Bench::new();
    let program = bench.program(
        "build = [[\"{sh}\", \"-c\", \"sleep 1000\"]]\n[[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n",
    );
    let skip = prepare(&program, &bench.cache, &|| true).unwrap_err();
    assert_eq!(skip.cause, SkipCause::Interrupted);
    assert_eq!(bench.entries("own"), [] as [PathBuf; 0]);
}

/// Compilers leave their temporary files behind when they are killed.
#[test]
fn temporary_files_are_removed_after_interrupted_and_complete_builds() {
    let bench = Bench::new();
    let place = bench.folder.path().join("place");
    let script = format!("#!/bin/sh\nmktemp >'{0}.new'\nmv '{0}.new' '{0}'\n$1\n: >test\n", place.display());
    let program = |then: &str| {
        bench.write("build.sh", &script);
        bench.program(&format!(
            "build = [[\"{{sh}}\", \"build.sh\", \"{then}\"]]\nrun = [\"{{sh}}\", \"test\"]\n\
             [[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n"
        ))
    };
    let temporary = || PathBuf::from(fs::read_to_string(&place).unwrap().trim());
    let skip = prepare(&program("sleep 1000"), &bench.cache, &|| place.exists()).unwrap_err();
    assert_eq!(skip.cause, SkipCause::Interrupted);
    assert!(temporary().starts_with(bench.folder.path().join("cache")), "{:?}", temporary());
    assert!(!temporary().exists());
    let built = build::build(&program(":"), &bench.cache, &|| false).unwrap();
    assert!(!temporary().exists());
    let mut names: Vec<_> = fs::read_dir(built.directory).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["build.log", "build.sh", "built.json", "program.toml", "test"]);
}

#[test]
fn a_missing_tool_is_a_skip_with_its_install_command() {
    let bench = Bench::new();
    let program = bench.program(
        "build = [[\"{no-such-compiler}\", \"hello.x\"]]\n\
         [[toolchain]]\ntool = \"no-such-compiler\"\npackages = [\"compiler-x\", \"compiler-a\"]\n",
    );
    let skip = bench.prepare(&program).unwrap_err();
    assert_eq!(skip.cause, SkipCause::ToolMissing);
    assert_eq!(skip.reason, "`no-such-compiler` is not in PATH");
    match skip.install {
        Some(command) => assert!(
            command.ends_with("apt-get install -y --no-install-recommends compiler-a compiler-x"),
            "{command}"
        ),
        None => skipped("there is no apt-get"),
    }
}

#[test]
fn an_executable_for_another_machine_is_unfit_and_not_wrong() {
    let bench = Bench::new();
    // An ELF header for a machine that does not exist.
    let program = bench.program(
        "build = [[\"{sh}\", \"-c\", \"printf '\\\\177ELF\\\\7.............\\\\377\\\\377' >test; chmod +x test\"]]\n\
         [[toolchain]]\ntool = \"sh\"\npackages = [\"dash\"]\n",
    );
    let skip = bench.prepare(&program).unwrap_err();
    assert_eq!(skip.cause, SkipCause::Unfit, "{}", skip.reason);
}

#[test]
fn an_interpreter_that_does_not_fit_a_hashbang_line_is_a_reason() {
    let bench = Bench::new();
    bench.write("hello.sh", "echo hello world");
    for interpreter in [format!("/{}", "long/".repeat(60)), "/usr/bin/with space".to_owned()] {
        let script = format!("[script]\nsource = \"hello.sh\"\ninterpreter = \"{interpreter}\"\n");
        let skip = bench.prepare(&bench.program(&script)).unwrap_err();
        assert_eq!(skip.cause, SkipCause::BuildFailed);
        assert!(skip.reason.starts_with("the kernel does not accept `/"), "{}", skip.reason);
    }
}

#[test]
fn another_architecture_or_an_unmet_requirement_is_a_skip() {
    let bench = Bench::new();
    let skip = bench.prepare(&bench.script("echo hello world", "architectures = [\"vax\"]")).unwrap_err();
    assert_eq!((skip.cause, skip.reason.as_str()), (SkipCause::Unfit, "it exists only for vax"));
    let requirement =
        "[[require]]\ncheck = [\"{sh}\", \"-c\", \"exit 1\"]\nreason = \"this `sh` is wrong\"\n";
    let skip = bench.prepare(&bench.script("echo hello world", requirement)).unwrap_err();
    assert_eq!((skip.cause, skip.reason.as_str()), (SkipCause::Unfit, "this `sh` is wrong"));
}

#[test]
fn a_users_corpus_follows_ours_and_may_not_use_our_names() {
    let bench = Bench::new();
    bench.script("echo hello world", "");
    let ours = Corpus::load(None).unwrap().programs().len();
    let all = Corpus::load(Some(&bench.programs())).unwrap();
    assert_eq!(all.programs().len(), ours + 1);
    assert_eq!(all.programs()[ours].name(), "own");

    let manifest = fs::read_to_string(bench.programs().join("own/program.toml")).unwrap();
    fs::rename(bench.programs().join("own"), bench.programs().join("c-printf")).unwrap();
    let renamed = manifest.replace("name = \"own\"", "name = \"c-printf\"");
    fs::write(bench.programs().join("c-printf/program.toml"), renamed).unwrap();
    assert_eq!(refused(Corpus::load(Some(&bench.programs()))), "two programs are named `c-printf`");
}

#[test]
fn a_hostile_corpus_folder_is_refused_with_its_path() {
    let bench = Bench::new();
    let programs = bench.programs();
    assert!(refused(Corpus::load(Some(&programs))).contains("` contains no program: "));
    assert!(refused(Corpus::load(Some(&programs.join("nowhere")))).starts_with("cannot read `"));
    bench.write("hello.sh", "");
    assert!(
        refused(Corpus::load(Some(&programs))).contains("` contains no program: "),
        "no manifest, no program"
    );
    bench.write("program.toml", "name = ");
    assert!(refused(Corpus::load(Some(&programs))).contains("own/program.toml`: line 1: "));
    bench.write(
        "program.toml",
        "language = \"sh\"\ndescription = \"d\"\ntags = []\n[script]\ninterpreter = \"/bin/sh\"\n",
    );
    assert_eq!(Corpus::load(Some(&programs)).unwrap().find("own").unwrap().manifest.name, "own");
    bench.write("more.sh", "");
    assert!(refused(Corpus::load(Some(&programs))).contains("there is not exactly one other file"));
    fs::File::create(programs.join("own/big")).unwrap().set_len(1 << 40).unwrap();
    assert!(refused(Corpus::load(Some(&programs))).contains("more than 16777216 bytes"));
}

#[test]
fn a_link_to_a_parent_folder_is_not_followed() {
    let bench = Bench::new();
    bench.script("echo hello world", "");
    std::os::unix::fs::symlink("..", bench.programs().join("own/loop")).unwrap();
    let corpus = Corpus::load(Some(&bench.programs())).unwrap();
    assert_eq!(corpus.find("own").unwrap().sources.len(), 2);
}

#[test]
fn the_example_of_the_documentation_is_a_manifest() {
    let text = include_str!("../../docs/adding-a-language.md");
    let (_, example) = text.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    Manifest::parse(example.as_bytes(), "docs/adding-a-language.md", "ocaml").unwrap();
}

#[test]
fn the_list_of_packages_is_the_union_of_the_manifests() {
    let packages = Corpus::load(None).unwrap().packages();
    assert!(packages.windows(2).all(|pair| pair[0] < pair[1]), "{packages:?}");
    for name in ["gcc", "libc6-dev", "musl-tools", "ruby", "zsh", "lua5.4", "golang-go", "binutils"] {
        assert!(packages.iter().any(|package| package == name), "{name}");
    }
}

#[test]
fn the_archive_of_java_appcds_contains_the_program() {
    let bench = Bench::new();
    let corpus = Corpus::load(None).unwrap();
    let built = match bench.prepare(corpus.find("java-appcds").unwrap()) {
        Ok(built) => built,
        Err(skip) => return skipped(&skip.reason),
    };
    let mut java = std::process::Command::new(&built.executable);
    let output = java.arg("-Xlog:class+load").args(&built.argv[1..]).current_dir(&built.directory).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let line = text.lines().find(|line| line.contains(" Hello source:"));
    assert!(line.is_some_and(|line| line.contains("shared objects file")), "{line:?}");
}

#[test]
fn the_interpreter_of_python_is_not_a_script_of_a_version_manager() {
    let bench = Bench::new();
    let corpus = Corpus::load(None).unwrap();
    let built = match bench.prepare(corpus.find("python").unwrap()) {
        Ok(built) => built,
        Err(skip) => return skipped(&skip.reason),
    };
    let interpreter = fs::read(&built.toolchain[0].path).unwrap();
    assert_eq!(&interpreter[..4], b"\x7fELF");
    let script = fs::read_to_string(&built.executable).unwrap();
    assert!(script.starts_with(&format!("#!{}\n", built.toolchain[0].path.display())), "{script}");
    assert_eq!(fs::metadata(&built.executable).unwrap().permissions().mode() & 0o111, 0o111);
}
