//! Which files contain code that runs once they are read, and which only contain settings or other data.

/// Suffixes of modules and of archives of code. What follows their reading is what their code does.
const MODULES: [&str; 28] = [
    "beam", "cjs", "class", "cmo", "dll", "el", "elc", "go", "js", "lua", "luac", "mjs", "ph", "php", "pl",
    "pm", "pmc", "py", "pyc", "pyo", "r", "rb", "rdb", "rds", "tcl", "ts", "wasm", "zwc",
];

/// Suffixes of archives of code, and the runtimes that load code from them. For any other program they are data.
const ARCHIVES: [(&str, &[&str]); 9] = [
    ("egg", PYTHON),
    ("jar", JAVA),
    ("jmod", JAVA),
    ("jsa", JAVA),
    ("phar", &["php"]),
    ("pyz", PYTHON),
    ("whl", PYTHON),
    ("zip", PYTHON),
    ("zip", JAVA),
];
const PYTHON: &[&str] = &["pypy", "python"];
const JAVA: &[&str] =
    &["jar", "java", "javac", "javadoc", "javap", "jcmd", "jdeps", "jlink", "jpackage", "jshell"];

/// Suffixes of scripts and settings that are executed line by line.
const SCRIPTS: [&str; 6] = ["bash", "fish", "pth", "sh", "vim", "zsh"];

const SHELLS: [&str; 10] = ["ash", "bash", "busybox", "dash", "ksh", "ksh93", "mksh", "sh", "yash", "zsh"];

/// Folders and names of what a shell reads and does not execute.
const NO_SCRIPTS: [&str; 12] = [
    "/dev/",
    "/etc/host",
    "/etc/group",
    "/etc/inputrc",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/proc/",
    "/run/",
    "/sys/",
    "/locale",
    "/gconv/",
    "/terminfo/",
];

/// Whether a file is code for a program. Such code runs after the file has been read, and often after it has been closed.
/// `script`: the file that the kernel gave to the program, its interpreter.
pub(in crate::analysis) fn is_code(path: &str, program: &str, script: Option<&str>) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let of_vim = matches!(name, "vimrc" | ".vimrc" | "gvimrc");
    is_module(path, program)
        || has_suffix(name, &SCRIPTS)
        || of_vim
        || script == Some(path)
        || is_shell(program) && is_script(path, name)
}

/// Whether a file is a module, or an archive from which this program loads code.
pub(in crate::analysis) fn is_module(path: &str, program: &str) -> bool {
    let runtime = program.rsplit('/').next().unwrap_or_default();
    // python3.11
    let runtime = runtime.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let is_archive =
        |(suffix, runtimes): &(&str, &[&str])| runtimes.contains(&runtime) && has_suffix(path, &[suffix]);
    let of_java = JAVA.contains(&runtime) && path.ends_with("/modules") && path.contains("/lib/");
    of_java || has_suffix(path, &MODULES) || ARCHIVES.iter().any(is_archive)
}

fn has_suffix(path: &str, suffixes: &[&str]) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    suffix.is_some_and(|suffix| suffixes.contains(&&*suffix))
}

fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.rsplit('/').next().unwrap_or_default())
}

fn is_script(path: &str, name: &str) -> bool {
    let data = NO_SCRIPTS
        .iter()
        .any(|part| if part.starts_with("/etc/") { path.starts_with(part) } else { path.contains(part) });
    !data && !name.contains("history") && name != ".inputrc"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_scripts_are_code_and_settings_are_not() {
        for (path, program) in [
            ("/usr/lib/python3/json.pyc", "/usr/bin/python3"),
            ("/a/node_modules/x/index.js", "node"),
            ("/usr/lib/jvm/lib/server/classes.jsa", "java"),
            ("/usr/lib/jvm/lib/modules", "java"),
            ("/root/.bashrc", "/bin/bash"),
            ("/usr/lib/R/library/base/R/base.rdb", "R"),
            ("/a/app.jar", "/usr/lib/jvm/bin/java"),
            ("/a/app.pyz", "/usr/bin/python3.11"),
            ("/usr/lib/python311.zip", "/usr/bin/python3.11"),
        ] {
            assert!(is_code(path, program, None), "{path}");
        }
        for (path, program) in [
            ("/etc/passwd", "/bin/bash"),
            ("/usr/lib/locale/C.utf8/LC_CTYPE", "/bin/bash"),
            ("/usr/lib/locale/C.utf8/LC_CTYPE", "gcc"),
            ("/etc/ssl/certs/ca-certificates.crt", "node"),
            ("/root/.bashrc", "cat"),
            ("/root/.bash_history", "bash"),
            ("/a/data.zip", "/usr/bin/unzip"),
            ("/a/app.jar", "/usr/bin/unzip"),
            ("/a/data.zip", "node"),
            ("/a/lib/modules", "/bin/cat"),
        ] {
            assert!(!is_code(path, program, None), "{path}");
        }
        assert!(is_code("/usr/bin/aws", "/usr/bin/python3", Some("/usr/bin/aws")));
    }
}
