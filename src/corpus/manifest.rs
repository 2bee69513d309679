//! `program.toml`: a description of a program, how to build and run it, and its expected output.

use super::CorpusError;
use super::placeholder;
use super::tool::{ToolSpec, shared_tool};
use crate::document::read::position;
use firstbyte_measure::launch::{Environment, ExitStatus};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The contents of `program.toml`. Every argv may contain placeholders: `{TOOL}` is the path of a tool in `toolchain` or
/// `corpus/tools.toml`, `{arch}` is the machine's architecture.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The folder's name, unique in the corpus: lower-case letters, digits, `-` and `_`.
    #[serde(default)]
    pub name: String,
    /// The language, as it spells its own name.
    pub language: String,
    /// The difference from the language's plain program; empty for the plain one.
    #[serde(default)]
    pub variant: String,
    /// One line.
    pub description: String,
    /// `--tag` selects programs by these.
    pub tags: Vec<String>,
    /// Included in a showdown only if its name or one of its tags is given.
    #[serde(default)]
    pub optional: bool,
    /// The group of a program outside the core: included in a showdown only with `--all`, or if its name, its language or
    /// this group is given. Its tools are installed with `doctor --install --all`.
    #[serde(default)]
    pub group: Option<String>,
    /// The architectures that it supports, named as in `std::env::consts::ARCH`. Empty means all.
    #[serde(default)]
    pub architectures: Vec<String>,
    /// The tools that build and run it. Those of `corpus/tools.toml` are added when it is read.
    #[serde(default)]
    pub toolchain: Vec<ToolSpec>,
    /// The tools of `corpus/tools.toml` that it needs although none of its commands names them.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Debian packages that it needs besides tools: headers and libraries.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Further conditions for the program to run on a machine.
    #[serde(default)]
    pub require: Vec<Requirement>,
    /// The build steps in order, one argv each. A program without a step, a script and a builtin is run from its source.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// If set, the executable file `test` is this script.
    #[serde(default)]
    pub script: Option<ScriptProgram>,
    /// If set, firstbyte itself writes the executable file `test`.
    #[serde(default)]
    pub builtin: Option<Builtin>,
    /// The command that starts it. Its working directory is the folder of the build.
    #[serde(default = "test_argv")]
    pub run: Vec<String>,
    /// The file whose size is reported, relative to the folder of the build.
    #[serde(default = "test_file")]
    pub artifact: PathBuf,
    #[serde(default)]
    pub expected: Expected,
    /// Variables that its runs need in addition to the clean environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Variables that its runs take over from the user's environment.
    #[serde(default)]
    pub keep_environment: Vec<String>,
}

/// A condition on the machine or on a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// A command that exits with status 0 if the condition is met.
    pub check: Vec<String>,
    /// Why the program is skipped otherwise: one lower-case line.
    pub reason: String,
}

/// A script that the kernel starts through its `#!` line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptProgram {
    /// The file that contains the script, without a `#!` line. Empty if there is only one file beside `program.toml`.
    #[serde(default)]
    pub source: PathBuf,
    /// A placeholder or an absolute path.
    pub interpreter: String,
    /// The argument that the kernel passes to the interpreter before the script's name.
    #[serde(default)]
    pub argument: Option<String>,
}

/// An executable that firstbyte writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Builtin {
    /// The plain static ELF: headers, a write and an exit. The floor.
    PlainElf,
    /// The plain static ELF whose segment is aligned to 4 bytes.
    #[serde(rename = "plain-elf-align-4")]
    PlainElfAlign4,
    /// The smallest executable that the kernel accepts.
    PackedElf,
    /// The plain i386 executable, for x86-64.
    PlainElfI386,
    /// The smallest i386 executable, for x86-64.
    PackedElfI386,
}

/// The expected result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The exact bytes on stdout.
    #[serde(default = "hello_world")]
    pub stdout: String,
    /// The number of times that they are printed.
    #[serde(default = "once")]
    pub times: u16,
    /// Printed once before them.
    #[serde(default)]
    pub before: String,
    /// An exit status (`0`) or a signal's name (`"SIGSEGV"`).
    #[serde(default = "success", deserialize_with = "exit")]
    pub exit: ExitStatus,
}

impl Default for Expected {
    fn default() -> Expected {
        Expected { stdout: hello_world(), times: once(), before: String::new(), exit: success() }
    }
}

impl Expected {
    /// The complete output.
    pub fn output(&self) -> String {
        self.before.clone() + &self.stdout.repeat(self.times.into())
    }
}

fn test_argv() -> Vec<String> {
    vec!["./test".to_owned()]
}

fn test_file() -> PathBuf {
    PathBuf::from("test")
}

fn hello_world() -> String {
    "hello world\n".to_owned()
}

fn once() -> u16 {
    1
}

fn success() -> ExitStatus {
    ExitStatus::SUCCESS
}

/// The signals by which faulty programs die.
const SIGNALS: [(&str, i32); 7] = [
    ("SIGABRT", libc::SIGABRT),
    ("SIGBUS", libc::SIGBUS),
    ("SIGFPE", libc::SIGFPE),
    ("SIGILL", libc::SIGILL),
    ("SIGSEGV", libc::SIGSEGV),
    ("SIGSYS", libc::SIGSYS),
    ("SIGTRAP", libc::SIGTRAP),
];

fn exit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ExitStatus, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected an exit status (0 to 255) or a signal's name in quotes")]
    enum Written {
        Code(u8),
        Signal(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Code(code) => Ok(ExitStatus::Code(code.into())),
        Written::Signal(name) => {
            let known = SIGNALS.iter().find(|(signal, _)| *signal == name);
            known.map(|(_, number)| ExitStatus::Signal(*number)).ok_or_else(|| {
                let names = SIGNALS.map(|(signal, _)| signal).join(", ");
                serde::de::Error::custom(format!("unknown signal `{name}`, expected one of {names}"))
            })
        }
    }
}

impl Manifest {
    /// Reads and checks a manifest. Errors name it by `path`; `folder` is the name of its folder.
    pub fn parse(text: &[u8], path: &str, folder: &str) -> Result<Manifest, CorpusError> {
        let rule = |cause: String| CorpusError::Rule { manifest: path.to_owned(), cause };
        let text = std::str::from_utf8(text).map_err(|_| rule("it is not UTF-8".to_owned()))?;
        let mut manifest: Manifest = toml::from_str(text).map_err(|error| CorpusError::Syntax {
            manifest: path.to_owned(),
            line: position(text, error.span().map_or(0, |span| span.start)).0,
            cause: error.message().lines().collect::<Vec<_>>().join("; "),
        })?;

        if manifest.name.is_empty() {
            folder.clone_into(&mut manifest.name);
        }
        if manifest.name != folder {
            return Err(rule(format!("`name` is `{}`, but its folder is `{folder}`", manifest.name)));
        }
        manifest.add_shared_tools().and_then(|()| manifest.check()).map_err(rule)?;
        Ok(manifest)
    }

    pub fn environment_of_runs(&self) -> Environment {
        let mut environment = Environment::of_programs();
        for (name, value) in self.kept().chain(self.added()) {
            environment.set(name.as_ref(), &value);
        }
        environment
    }

    /// What it adds to the environment that all programs get.
    pub fn added(&self) -> impl Iterator<Item = (&str, OsString)> {
        self.environment.iter().map(|(name, value)| (name.as_str(), OsString::from(value)))
    }

    /// What it takes over from the user's environment.
    fn kept(&self) -> impl Iterator<Item = (&str, OsString)> {
        self.keep_environment.iter().filter_map(|name| Some((name.as_str(), std::env::var_os(name)?)))
    }

    /// Every Debian package that it names, for tools or otherwise.
    pub fn packages(&self) -> impl Iterator<Item = String> {
        let of_tools = self.toolchain.iter().flat_map(|tool| &tool.packages);
        of_tools.chain(&self.packages).cloned()
    }

    /// Whether it supports an architecture.
    pub fn fits(&self, architecture: &str) -> bool {
        self.architectures.is_empty() || self.architectures.iter().any(|known| known == architecture)
    }

    fn add_shared_tools(&mut self) -> Result<(), String> {
        let named = self.commands().into_iter().flatten().flat_map(|argument| placeholder::names(argument));
        let mut added: Vec<ToolSpec> = Vec::new();
        for (name, is_required) in
            named.map(|name| (name, false)).chain(self.tools.iter().map(|name| (name.as_str(), true)))
        {
            let is_known = self.toolchain.iter().chain(&added).any(|known| known.tool == name);
            match shared_tool(name) {
                Some(tool) if !is_known => added.push(tool.clone()),
                None if is_required => return Err(format!("`{name}` is not in `corpus/tools.toml`")),
                _ => {}
            }
        }
        self.toolchain.extend(added);
        Ok(())
    }

    /// Every argv that builds or runs it, or checks a condition.
    fn commands(&self) -> Vec<&[String]> {
        let script = self.script.as_ref().map(|script| std::slice::from_ref(&script.interpreter));
        let required = self.require.iter().map(|requirement| &requirement.check);
        let build = self.build.iter().chain([&self.run]).chain(required).map(Vec::as_slice);
        build.chain(script).collect()
    }

    fn check(&self) -> Result<(), String> {
        self.check_words()?;
        self.check_files()?;
        let ways = [!self.build.is_empty(), self.script.is_some(), self.builtin.is_some()];
        let ways = ways.iter().filter(|way| **way).count();
        if ways > 1 || ways == 0 && self.run == test_argv() {
            return Err("it needs exactly one of `build`, `script` and `builtin`, or only `run`".to_owned());
        }
        self.check_commands()
    }

    fn check_words(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let group = self.group.iter().map(|group| ("group", group));
        let origins = self.toolchain.iter().flat_map(|tool| tool.installations.keys());
        let origins = origins.map(|origin| ("installations", origin));
        for (field, word) in [("name", &self.name)].into_iter().chain(group).chain(origins) {
            if word.is_empty() || !word.chars().all(plain) || word.starts_with('-') {
                return Err(format!(
                    "`{field}` is `{word}`, but may only contain a to z, 0 to 9, `-` and `_`"
                ));
            }
        }
        for (field, text) in [("language", &self.language), ("description", &self.description)] {
            if text.trim().is_empty() || text.chars().any(char::is_control) {
                return Err(format!("`{field}` must be one line of text"));
            }
        }

        let package = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        match self.packages().find(|name| name.starts_with('-') || !name.chars().all(package)) {
            Some(name) => Err(format!("`{name}` is not a valid name of a Debian package")),
            None => Ok(()),
        }
    }

    fn check_files(&self) -> Result<(), String> {
        let script =
            self.script.as_ref().map(|script| &script.source).filter(|path| !path.as_os_str().is_empty());
        for path in script.into_iter().chain([&self.artifact]) {
            if !stays_inside(path) {
                return Err(format!("`{}` is not a path inside the program's folder", path.display()));
            }
        }
        Ok(())
    }

    fn check_commands(&self) -> Result<(), String> {
        let tools: Vec<&str> = self.toolchain.iter().map(|tool| tool.tool.as_str()).collect();
        let versions =
            self.toolchain.iter().map(|tool| tool.version.as_slice()).filter(|argv| !argv.is_empty());
        for argv in self.commands().into_iter().chain(versions) {
            if argv.first().is_none_or(String::is_empty) {
                return Err("a command is empty".to_owned());
            }
            for argument in argv {
                placeholder::check(argument, &tools)?;
            }
        }
        Ok(())
    }
}

/// Relative, and without `..`.
fn stays_inside(path: &Path) -> bool {
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"
name = "c"
language = "C"
description = "a program"
tags = ["native"]
build = [["{gcc}", "hello.c", "-o", "test"]]

[[toolchain]]
tool = "gcc"
version = ["{gcc}", "--version"]
packages = ["gcc"]
"#;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(text.as_bytes(), "c/program.toml", "c").map_err(|error| error.to_string())
    }

    fn complaint(from: &str, to: &str) -> String {
        assert!(PLAIN.contains(from));
        let text = parse(&PLAIN.replace(from, to)).expect_err("a hostile manifest");
        let (first, help) = text.split_once('\n').expect("a help line");
        assert!(help.starts_with("help: ") && !help.contains('\n'), "{text}");
        first.to_owned()
    }

    #[test]
    fn omitted_fields_have_the_defaults_of_the_corpus() {
        let manifest = parse(PLAIN).unwrap();
        assert_eq!(manifest.run, ["./test"]);
        assert_eq!(manifest.artifact, Path::new("test"));
        assert_eq!(manifest.expected.stdout, "hello world\n");
        assert_eq!(manifest.expected.exit, ExitStatus::SUCCESS);
        assert_eq!(manifest.packages().collect::<Vec<_>>(), ["gcc"]);
    }

    #[test]
    fn a_shared_tool_needs_no_description_and_may_have_another_one() {
        let (bare, _) = PLAIN.split_once("[[toolchain]]").unwrap();
        let manifest = parse(&format!("{bare}tools = [\"cc\"]")).unwrap();
        assert_eq!(manifest.toolchain.iter().map(|tool| &tool.tool).collect::<Vec<_>>(), ["gcc", "cc"]);
        let own = parse(&PLAIN.replace("[\"gcc\"]", "[\"gcc-13\"]")).unwrap();
        assert_eq!(own.toolchain.iter().map(|tool| &tool.packages).collect::<Vec<_>>(), [&["gcc-13"]]);
    }

    #[test]
    fn an_exit_is_a_status_or_a_signal_name() {
        let with = |exit: &str| parse(&format!("{PLAIN}\n[expected]\nexit = {exit}\n"));
        assert_eq!(with("3").unwrap().expected.exit, ExitStatus::Code(3));
        assert_eq!(with("\"SIGSEGV\"").unwrap().expected.exit, ExitStatus::Signal(libc::SIGSEGV));
        assert!(with("\"SIGNOT\"").unwrap_err().contains("unknown signal `SIGNOT`"));
        assert!(with("300").unwrap_err().contains("0 to 255"));
        assert!(with("-1").is_err());
    }

    #[test]
    fn the_expected_output_may_be_repeated_after_a_prefix() {
        let with = |expected: &str| parse(&format!("{PLAIN}\n[expected]\n{expected}\n"));
        assert_eq!(with("times = 2").unwrap().expected.output(), "hello world\nhello world\n");
        let marked = with("stdout = \"b\"\ntimes = 3\nbefore = \"a\"").unwrap();
        assert_eq!(marked.expected.output(), "abbb");
        assert!(with("times = -1").is_err());
    }

    #[test]
    fn an_unknown_field_is_reported_with_its_line() {
        let text = complaint("language = \"C\"", "langauge = \"C\"");
        assert!(text.starts_with("cannot use `c/program.toml`: line 3: unknown field `langauge`"), "{text}");
    }

    #[test]
    fn invalid_toml_and_invalid_utf8_are_errors_with_a_help_line() {
        assert!(complaint("tags = [\"native\"]", "tags = [").contains("line "));
        let error = Manifest::parse(b"name = \"\xff\"", "c/program.toml", "c").unwrap_err();
        assert!(error.to_string().contains("not UTF-8"));
    }

    #[test]
    fn broken_rules_are_reported() {
        let cases = [
            ("name = \"c\"", "name = \"d\"", "`name` is `d`, but its folder is `c`"),
            ("[\"native\"]", "[\"native\"]\nartifact = \"../c\"", "`../c` is not a path inside"),
            ("[\"native\"]", "[\"native\"]\nartifact = \"/c\"", "`/c` is not a path inside"),
            ("[\"native\"]", "[\"native\"]\nartifact = \"\"", "`` is not a path inside"),
            ("[\"native\"]", "[\"native\"]\nbuiltin = \"plain-elf\"", "exactly one of"),
            ("[\"native\"]", "[\"native\"]\nrun = []", "a command is empty"),
            ("[\"native\"]", "[\"native\"]\ntools = [\"x\"]", "`x` is not in `corpus/tools.toml`"),
            (
                "{gcc}\", \"hello",
                "{gccc}\", \"hello",
                "`{gccc}` is not a tool in `toolchain` or `corpus/tools.toml`",
            ),
            ("[\"gcc\"]", "[\"--allow-downgrades\"]", "`--allow-downgrades` is not a valid name"),
            ("[\"gcc\"]", "[\"gcc;reboot\"]", "`gcc;reboot` is not a valid name"),
            ("[\"gcc\"]", "[\"gcc\"]\ninstallations = { \"../x\" = [] }", "`installations` is `../x`"),
            ("\"a program\"", "\"a\\nprogram\"", "`description` must be one line"),
        ];
        for (from, to, expected) in cases {
            let text = complaint(from, to);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_name_that_would_leave_the_cache_is_refused() {
        let text = PLAIN.replace("name = \"c\"", "name = \"..\"");
        let error = Manifest::parse(text.as_bytes(), "../program.toml", "..").unwrap_err();
        assert!(error.to_string().contains("may only contain a to z"));
    }
}
