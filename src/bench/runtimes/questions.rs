//! How each runtime is asked, and where its answer is.

use super::{Runtime, files};
use firstbyte_measure::launch::{Command, Environment};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

const NODE_HOOK: &str = include_str!("node.cjs");
const RUBY_HOOK: &str = include_str!("ruby.rb");
const PERL_HOOK: &str = include_str!("perl.pm");

/// Prepares the environment of a command. The answers that are not written to stderr come into the folder.
pub(super) fn ask(runtime: Runtime, command: &mut Command, folder: &Path) -> io::Result<()> {
    let path = folder.to_string_lossy();
    let (name, value, separator) = match runtime {
        Runtime::Python => ("PYTHONPROFILEIMPORTTIME", "1".to_owned(), None),
        Runtime::Node => {
            ("NODE_OPTIONS", format!("--require={}", hook(folder, "node.cjs", NODE_HOOK)?), Some(" "))
        }
        Runtime::Java => {
            let log = format!("-Xlog:startuptime,class+load=info:file={path}/java-%p.log:uptimenanos,tags");
            ("JAVA_TOOL_OPTIONS", log, Some(" "))
        }
        Runtime::Go => ("GODEBUG", "inittrace=1".to_owned(), Some(",")),
        Runtime::Ruby => ("RUBYOPT", format!("-r{}", hook(folder, "ruby.rb", RUBY_HOOK)?), Some(" ")),
        Runtime::Perl => {
            hook(folder, "FirstbyteLoads.pm", PERL_HOOK)?;
            ("PERL5OPT", format!("-I{path} -MFirstbyteLoads"), Some(" "))
        }
    };
    let value = match (users(name), separator) {
        (Some(users), Some(separator)) => format!("{users}{separator}{value}"),
        _ => value,
    };
    command.set_variable(name, OsStr::new(&value)).map_err(io::Error::other)?;
    if matches!(runtime, Runtime::Node | Runtime::Ruby | Runtime::Perl) {
        // the hooks read it
        command.set_variable("FIRSTBYTE_LOADS", folder.as_os_str()).map_err(io::Error::other)?;
    }
    Ok(())
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
    let value = environment.variables().find(|(own, _)| *own == name).map(|(_, value)| value);
    value.map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// The report in a text on stderr, and the rest.
pub(super) fn separate(runtime: Runtime, stderr: &str) -> (String, String) {
    let (report, rest): (Vec<&str>, Vec<&str>) =
        stderr.split_inclusive('\n').partition(|line| belongs_to_report(runtime, line));
    let report = if runtime == Runtime::Java { String::new() } else { report.concat() };
    (report, rest.concat())
}

fn belongs_to_report(runtime: Runtime, line: &str) -> bool {
    match runtime {
        Runtime::Python => line.starts_with("import time:"),
        Runtime::Go => line.starts_with("init ") && line.trim_end().ends_with(" allocs"),
        Runtime::Java => line.starts_with("Picked up JAVA_TOOL_OPTIONS:"),
        Runtime::Node | Runtime::Ruby | Runtime::Perl => false,
    }
}

/// The reports that were written to files.
pub(super) fn written(runtime: Runtime, folder: &Path) -> String {
    let beginning = match runtime {
        Runtime::Python | Runtime::Go => return String::new(),
        Runtime::Node => "node-",
        Runtime::Java => "java-",
        Runtime::Ruby => "ruby-",
        Runtime::Perl => "perl-",
    };
    files(folder, beginning).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_separated_from_the_programs_own_text() {
        let stderr = "import time: self [us] | cumulative | imported package\nown text\nimport time:  1 |  1 | a\nrest";
        let (report, rest) = separate(Runtime::Python, stderr);
        assert_eq!(report.lines().count(), 2);
        assert_eq!(rest, "own text\nrest");
        let (report, rest) =
            separate(Runtime::Go, "init os @1 ms, 2 ms clock, 3 bytes, 4 allocs\ninit failed\n");
        assert_eq!((&*report, &*rest), ("init os @1 ms, 2 ms clock, 3 bytes, 4 allocs\n", "init failed\n"));
        assert_eq!(separate(Runtime::Java, "Picked up JAVA_TOOL_OPTIONS: -Xint\nx\n").1, "x\n");
    }
}
