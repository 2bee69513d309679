//! To which package a source file belongs.

use std::sync::Arc;

/// What comes with Python.
const OF_PYTHON: &str = "Python's standard library";
/// What comes with Node.js.
const OF_NODE: &str = "Node.js's standard library";
const OF_RUBY: &str = "Ruby's standard library";

/// The folders whose entries are packages of Python.
const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];
/// That of packages of Node.js. Packages have such folders of their own, too.
const MODULES: &str = "/node_modules/";

/// That of packages of Ruby.
const GEMS: &str = "/gems/";

/// Whether a module of a language frame is no part of the program itself.
pub fn is_library(module: &str) -> bool {
    [OF_PYTHON, OF_NODE, OF_RUBY].contains(&module)
        || PACKAGES.iter().chain([&MODULES, &GEMS]).any(|folder| module.contains(folder))
}

/// The package of a source file; of the user's own code, the file itself.
pub(super) fn package(language: &str, file: &Arc<str>) -> Arc<str> {
    let found = match language {
        "Python" => of_python(file),
        "JavaScript" => of_node(file),
        "Ruby" => of_ruby(file),
        _ => None,
    };
    found.map_or_else(|| Arc::clone(file), Into::into)
}

fn of_python(file: &str) -> Option<&str> {
    let start = PACKAGES.iter().find_map(|folder| Some(file.find(folder)? + folder.len()));
    let in_library = file.contains("/lib/python3") || file.starts_with("<frozen ");
    start.map(|start| entry(file, start)).or(in_library.then_some(OF_PYTHON))
}

fn of_node(file: &str) -> Option<&str> {
    let start = file.rfind(MODULES).map(|at| at + MODULES.len());
    // `@scope/name`
    let end = |start: usize| {
        let first = entry(file, start);
        if file[start..].starts_with('@') { entry(file, first.len() + 1) } else { first }
    };
    start.map(end).or(file.starts_with("node:").then_some(OF_NODE))
}

fn of_ruby(file: &str) -> Option<&str> {
    // `/gems/3.1.0/gems/NAME-VERSION/`
    let start = file.rfind(GEMS).map(|at| at + GEMS.len());
    let in_library = file.contains("/lib/ruby/") || file.starts_with("<internal:");
    start.map(|start| entry(file, start)).or(in_library.then_some(OF_RUBY))
}

/// The path to the entry whose name begins there.
fn entry(file: &str, start: usize) -> &str {
    let end = file.get(start..).and_then(|rest| rest.find('/'));
    &file[..end.map_or(file.len(), |length| start + length)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_the_standard_library_are_told_from_own_code() {
        let of = |file: &str| package("Python", &file.into()).to_string();
        assert_eq!(of("/v/lib/python3.11/site-packages/rich/a.py"), "/v/lib/python3.11/site-packages/rich");
        assert_eq!(of("/usr/lib/python3/dist-packages/six.py"), "/usr/lib/python3/dist-packages/six.py");
        assert_eq!(of("/usr/lib/python3.11/json/decoder.py"), OF_PYTHON);
        assert_eq!(of("<frozen importlib._bootstrap>"), OF_PYTHON);
        assert_eq!([of("/app/plugins.py"), of("<string>")], ["/app/plugins.py", "<string>"]);
    }

    #[test]
    fn packages_of_ruby_are_gems() {
        let of = |file: &str| package("Ruby", &file.into()).to_string();
        assert_eq!(of("/var/lib/gems/3.1.0/gems/rack-3.0/lib/rack.rb"), "/var/lib/gems/3.1.0/gems/rack-3.0");
        assert_eq!([of("/usr/lib/ruby/3.1.0/json.rb"), of("<internal:kernel>")], [OF_RUBY; 2]);
        assert_eq!([of("/app/lib/ruby.rb"), of("-e")], ["/app/lib/ruby.rb", "-e"]);
    }

    #[test]
    fn packages_of_node_are_the_innermost_ones() {
        let of = |file: &str| package("JavaScript", &file.into()).to_string();
        assert_eq!(of("/a/node_modules/x/node_modules/y/lib/b.js"), "/a/node_modules/x/node_modules/y");
        assert_eq!(of("/a/node_modules/@s/y/b.js"), "/a/node_modules/@s/y");
        assert_eq!(
            [of("/a/node_modules/@s"), of("/a/node_modules/")],
            ["/a/node_modules/@s", "/a/node_modules/"]
        );
        assert_eq!([of("node:internal/fs"), of("/app/a.js"), of("[eval]")], [OF_NODE, "/app/a.js", "[eval]"]);
        assert!(is_library(OF_NODE) && is_library("/a/node_modules/x") && !is_library("/app/a.js"));
    }
}
