//! How each runtime is asked, and where its answer is.

use super::{files, java_counters};
use crate::analysis::runs::AskedRuntime;
use firstbyte_measure::launch::{Command, Environment};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

const NODE_HOOK: &str = include_str!("node.cjs");
const RUBY_HOOK: &str = include_str!("ruby.rb");
const PERL_HOOK: &str = include_str!("perl.pm");
const ZSH_HOOK: &str = include_str!("zsh/rc.zsh");
const ZSH_MEASURE: &str = include_str!("zsh/measure.zsh");
/// How the names of the files with Java's counters begin.
const COUNTERS: &str = "counters-";
const ZSH_FILES: [&str; 4] = [".zshenv", ".zprofile", ".zshrc", ".zlogin"];

/// Prepares the environment of a command. The answers that are not written to stderr come into the folder.
pub(super) fn ask(runtime: AskedRuntime, command: &mut Command, folder: &Path) -> io::Result<()> {
    let path = folder.to_string_lossy();
    let (name, value, separator) = match runtime {
        AskedRuntime::Python => ("PYTHONPROFILEIMPORTTIME", "1".to_owned(), None),
        AskedRuntime::Node => {
            ("NODE_OPTIONS", format!("--require={}", hook(folder, "node.cjs", NODE_HOOK)?), Some(" "))
        }
        AskedRuntime::Java => {
            let log = format!("-Xlog:startuptime,class+load=info:file={path}/java-%p.log:uptimenanos,tags");
            let counters = format!("-XX:+PerfDataSaveToFile -XX:PerfDataSaveFile={path}/{COUNTERS}%p");
            ("JAVA_TOOL_OPTIONS", format!("{log} {counters}"), Some(" "))
        }
        AskedRuntime::Go => ("GODEBUG", "inittrace=1".to_owned(), Some(",")),
        AskedRuntime::Ruby => ("RUBYOPT", format!("-r{}", hook(folder, "ruby.rb", RUBY_HOOK)?), Some(" ")),
        AskedRuntime::Perl => {
            std::fs::create_dir(folder.join("Devel"))?;
            hook(folder, "Devel/FirstbyteLoads.pm", PERL_HOOK)?;
            ("PERL5OPT", format!("-I{path} -d:FirstbyteLoads"), Some(" "))
        }
        AskedRuntime::Zsh => return ask_zsh(command, folder),
        // its answer needs a descriptor
        AskedRuntime::Bash => return Ok(()),
    };

    let value = match (users(name), separator) {
        (Some(users), Some(separator)) => format!("{users}{separator}{value}"),
        _ => value,
    };

    command.set_variable(name, OsStr::new(&value)).map_err(io::Error::other)?;
    if matches!(runtime, AskedRuntime::Node | AskedRuntime::Ruby | AskedRuntime::Perl) {
        // the hooks read it
        command.set_variable("FIRSTBYTE_LOADS", folder.as_os_str()).map_err(io::Error::other)?;
    }
    Ok(())
}

/// What bash writes before each command: its process, its file and its line, between two marks.
const BASH_PLACE: &str = "+\u{1}$BASHPID:$BASH_SOURCE:$LINENO\u{1} ";
/// bash takes `PS4` from its environment only if it does not run as root. Scripts of root read it from here.
const BASH_HOOK: &str = "PS4=$'+\\001$BASHPID:$BASH_SOURCE:$LINENO\\001 '\n";

/// Makes bash write every command to a descriptor before it executes it, with its file and line where it can.
pub(super) fn ask_bash(command: &mut Command, descriptor: i32, folder: &Path) -> io::Result<()> {
    let number = descriptor.to_string();
    let options = users("SHELLOPTS").map_or_else(|| "xtrace".to_owned(), |set| format!("{set}:xtrace"));
    for (name, value) in [("SHELLOPTS", &*options), ("BASH_XTRACEFD", &number), ("PS4", BASH_PLACE)] {
        command.set_variable(name, OsStr::new(value)).map_err(io::Error::other)?;
    }
    if users("BASH_ENV").is_none() && rustix::process::geteuid().is_root() {
        let hook = hook(folder, "bash-env", BASH_HOOK)?;
        command.set_variable("BASH_ENV", OsStr::new(&hook)).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Makes a zsh that was asked write the file and the line of each command, which takes too long to measure anything else.
pub(super) fn ask_places(command: &mut Command) -> io::Result<()> {
    command.set_variable("FIRSTBYTE_PLACES", OsStr::new("1")).map_err(io::Error::other)
}

/// zsh reads its rc files from `ZDOTDIR`: ours source the user's.
fn ask_zsh(command: &mut Command, folder: &Path) -> io::Result<()> {
    let hooks = folder.join("zsh");
    std::fs::create_dir(&hooks)?;
    hook(&hooks, "measure.zsh", ZSH_MEASURE)?;
    for name in ZSH_FILES {
        hook(&hooks, name, ZSH_HOOK)?;
    }
    if let Some(set) = users("ZDOTDIR") {
        command.set_variable("FIRSTBYTE_OWN", OsStr::new(&set)).map_err(io::Error::other)?;
    }
    command.set_variable("ZDOTDIR", hooks.as_os_str()).map_err(io::Error::other)?;
    command.set_variable("FIRSTBYTE_LOADS", folder.as_os_str()).map_err(io::Error::other)
}

/// Writes a hook, and returns its path.
fn hook(folder: &Path, name: &str, text: &str) -> io::Result<String> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    Ok(path.to_string_lossy().into_owned())
}

/// The variable's value in the environment of the programs, if it has one.
fn users(name: &str) -> Option<String> {
    let environment = Environment::of_programs();
    let value = environment.variables().find(|(set, _)| *set == name).map(|(_, value)| value);
    value.map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// The report in a text on stderr, and the rest.
pub(super) fn separate(runtime: AskedRuntime, stderr: &str) -> (String, String) {
    let (report, rest): (Vec<&str>, Vec<&str>) =
        stderr.split_inclusive('\n').partition(|line| belongs_to_report(runtime, line));
    let report = if runtime == AskedRuntime::Java { String::new() } else { report.concat() };
    (report, rest.concat())
}

fn belongs_to_report(runtime: AskedRuntime, line: &str) -> bool {
    match runtime {
        AskedRuntime::Python => line.starts_with("import time:"),
        AskedRuntime::Go => line.starts_with("init ") && line.trim_end().ends_with(" allocs"),
        AskedRuntime::Java => line.starts_with("Picked up JAVA_TOOL_OPTIONS:"),
        AskedRuntime::Node
        | AskedRuntime::Ruby
        | AskedRuntime::Perl
        | AskedRuntime::Bash
        | AskedRuntime::Zsh => false,
    }
}

/// The reports that were written to files.
pub(super) fn written(runtime: AskedRuntime, folder: &Path) -> String {
    let beginning = match runtime {
        AskedRuntime::Python | AskedRuntime::Go | AskedRuntime::Bash => return String::new(),
        AskedRuntime::Zsh => "zsh-",
        AskedRuntime::Node => "node-",
        AskedRuntime::Java => "java-",
        AskedRuntime::Ruby => "ruby-",
        AskedRuntime::Perl => "perl-",
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let counters = files(folder, COUNTERS).into_iter().map(|bytes| java_counters::text(&bytes));
    files(folder, beginning).into_iter().map(text).chain(counters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_separated_from_the_programs_own_text() {
        let stderr = "import time: self [us] | cumulative | imported package\nown text\nimport time:  1 |  1 | a\nrest";
        let (report, rest) = separate(AskedRuntime::Python, stderr);
        assert_eq!(report.lines().count(), 2);
        assert_eq!(rest, "own text\nrest");
        let (report, rest) =
            separate(AskedRuntime::Go, "init os @1 ms, 2 ms clock, 3 bytes, 4 allocs\ninit failed\n");
        assert_eq!((&*report, &*rest), ("init os @1 ms, 2 ms clock, 3 bytes, 4 allocs\n", "init failed\n"));
        assert_eq!(separate(AskedRuntime::Java, "Picked up JAVA_TOOL_OPTIONS: -Xint\nx\n").1, "x\n");
    }
}
