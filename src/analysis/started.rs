//! What the interpreters of a run were started with. Its packages are the program's own code.

use super::model::{Account, Execution};
use super::profile::Started;
use std::fs;

/// The scripts and modules that were started, as far as they are known.
pub(super) fn started(account: &Account) -> Vec<Started> {
    let execs = account.processes.iter().flat_map(|process| &process.execs);
    execs.filter_map(of_exec).flat_map(with_entry_point).collect()
}

fn of_exec(exec: &Execution) -> Option<Started> {
    let path = fs::canonicalize(&*exec.path).ok()?;
    let executed = fs::canonicalize(&*exec.executed).ok().filter(|executed| *executed == path);
    let Some(interpreter) = executed else {
        return path.into_os_string().into_string().ok().map(Started::Script);
    };

    let name = interpreter.file_name()?.to_str()?;
    let words = exec.argv.iter().skip(1).map(String::as_str);
    match if name.starts_with("python") { of_python(words)? } else { of_words(name, words)? } {
        Started::Script(script) => {
            fs::canonicalize(script).ok()?.into_os_string().into_string().ok().map(Started::Script)
        }
        module @ Started::Module(_) => Some(module),
    }
}

/// Options whose value is the next word, by how the names of their interpreters begin.
const WITH_VALUE: [(&str, &[&str]); 4] = [
    ("node", &["-C", "-r", "--conditions", "--experimental-loader", "--import", "--loader", "--require"]),
    ("perl", &["-I"]),
    ("php", &["-c", "-d", "-z"]),
    ("ruby", &["-C", "-E", "-I", "-r"]),
];

/// The first word that is no option.
fn of_words<'w>(interpreter: &str, mut words: impl Iterator<Item = &'w str>) -> Option<Started> {
    let of_it = WITH_VALUE.iter().find(|(name, _)| interpreter.starts_with(name));
    let with_value = of_it.map_or(&[][..], |(_, options)| options);
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(Started::Script(word.to_owned()));
        }
        if with_value.contains(&word) {
            words.next();
        }
    }
    None
}

/// Python's letters stand behind one dash, and the first one that has a value is the last one: `-Im tool`, `-Xdev`.
fn of_python<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<Started> {
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-') else { return Some(Started::Script(word.to_owned())) };
        let option = letters.find(['c', 'm', 'W', 'X']).filter(|_| !letters.starts_with('-'));
        let Some((option, value)) = option.map(|at| letters[at..].split_at(1)) else { continue };
        let value = if value.is_empty() { words.next()? } else { value };
        match option {
            "m" => return Some(Started::python_module(value)),
            "c" => return None,
            _ => {}
        }
    }
    None
}

/// Installers write short scripts that only call a function of the package.
fn with_entry_point(started: Started) -> Vec<Started> {
    let module = match &started {
        Started::Script(script) => fs::read_to_string(script).ok().and_then(|text| entry_point(&text)),
        Started::Module(_) => None,
    };
    [started].into_iter().chain(module).collect()
}

/// Longer scripts are programs.
const LINES: usize = 16;

/// The module whose function is all that a script of Python calls, as pip, uv and other installers write it
/// (<https://packaging.python.org/en/latest/specifications/entry-points/>).
fn entry_point(script: &str) -> Option<Started> {
    let mut lines = script.lines();
    let is_python = lines.next()?.strip_prefix("#!")?.contains("python");
    let imports = |line: &'_ str| Some(line.strip_prefix("from ")?.split_once(" import ")?.0.to_owned());
    let modules: Vec<String> = lines.filter_map(imports).collect();
    let [module] = &modules[..] else { return None };
    let is_short = script.lines().count() <= LINES && script.contains("sys.exit(");
    (is_python && is_short).then(|| Started::python_module(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_or_a_module_follows_the_options() {
        let of = |words: &str| of_python(words.split_whitespace());
        let [script, module] = [Started::Script("a.py".into()), Started::Module("tool".into())];
        assert_eq!(
            ["-S a.py -m x", "-W ignore a.py", "-Xdev -IB a.py"].map(of),
            [(); 3].map(|()| Some(script.clone()))
        );
        assert_eq!(["-m tool", "-Imtool.cli a.py"].map(of), [(); 2].map(|()| Some(module.clone())));
        assert_eq!(["-c a.py", "-Sc a.py", "-m", "", "-"].map(of), [const { None }; 5]);
        let of_node = |words: &str| of_words("node", words.split_whitespace());
        assert_eq!(of_node("-r hook.js --no-warnings a.py x"), Some(script));
        assert_eq!(of_node("--import"), None);
    }

    #[test]
    fn an_entry_point_names_its_module() {
        let of_pip = "#!/v/bin/python3\n# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom tool.cli import main\n\
                      if __name__ == '__main__':\n    sys.argv[0] = re.sub(r'x', '', sys.argv[0])\n    sys.exit(main())\n";
        assert_eq!(entry_point(of_pip), Some(Started::Module("tool".into())));
        let others = [
            of_pip.replace("python3", "sh"),
            of_pip.replace("sys.exit", "print"),
            of_pip.replace("import re", "from re import sub"),
        ];
        assert_eq!(others.map(|script| entry_point(&script)), [const { None }; 3]);
        assert_eq!(entry_point(&format!("{of_pip}{}", "x\n".repeat(9))), None, "a program");
        assert_eq!(entry_point(""), None);
    }
}
