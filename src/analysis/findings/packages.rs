//! To which package a file of an interpreted language belongs, by its path.

use crate::analysis::profile::inside_package;

/// Further folders of packages: of a language without functions in traces, and of what comes with a language.
const FURTHER: [&str; 3] = ["/R/library/", "/vendor_ruby/", "/perl-base/"];

/// Languages whose folders of packages have a version.
const LANGUAGES: [&str; 8] = ["lua", "perl", "perl5", "pypy", "python", "ruby", "site_ruby", "vendor_ruby"];

/// The name of the package in a folder of packages; elsewhere the folder.
pub(super) fn package(path: &str) -> &str {
    let further = FURTHER.iter().filter_map(|folder| path.rfind(folder).map(|at| at + folder.len())).max();
    if let Some(begin) = inside_package(path).max(further).max(of_version(path)) {
        let rest = &path[begin..];
        let names = if rest.starts_with('@') { 2 } else { 1 };
        let end = rest.match_indices('/').nth(names - 1).map_or(rest.len(), |(end, _)| end);
        let name = &rest[..end];
        return if end == rest.len() { without_suffix(name) } else { name };
    }
    let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    folder.trim_end_matches("/__pycache__")
}

/// Where the name of a package begins behind a folder with the version of a language, as in `/usr/lib/python3.11/`,
/// `/usr/share/perl/5.36.0/` and `/usr/lib/ruby/3.1.0/`.
fn of_version(path: &str) -> Option<usize> {
    let (mut index, mut before, mut behind) = (0, "", None);
    for part in path.split_inclusive('/') {
        index += part.len();
        let (name, version) = part.split_at(part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len()));
        let is_version =
            version.contains('.') && version.chars().all(|c| c.is_ascii_digit() || "./".contains(c));
        let of_language = LANGUAGES.contains(&name) || name.is_empty() && LANGUAGES.contains(&before);
        if part.ends_with('/')
            && (is_version && of_language || behind == Some(index - part.len()) && part == "__pycache__/")
        {
            behind = Some(index);
        }
        before = part.trim_end_matches('/');
    }
    behind
}

fn without_suffix(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn a_module_belongs_to_its_package_or_its_folder() {
        for (path, expected) in [
            ("/a/node_modules/eslint/lib/api.js", "eslint"),
            ("/a/node_modules/eslint/node_modules/@scope/x/i.js", "@scope/x"),
            ("/v/lib/python3.11/site-packages/pandas/core/__pycache__/api.cpython-311.pyc", "pandas"),
            ("/v/lib/python3.11/site-packages/six.py", "six"),
            ("/usr/lib/R/library/stats/R/stats.rdb", "stats"),
            ("/usr/lib/python3.11/asyncio/__pycache__/tasks.cpython-311.pyc", "asyncio"),
            ("/usr/lib/python3.11/__pycache__/enum.cpython-311.pyc", "enum"),
            ("/usr/lib/ruby/3.1.0/net/http.rb", "net"),
            ("/usr/share/perl/5.36.0/CPAN.pm", "CPAN"),
            ("/usr/lib/x86_64-linux-gnu/perl/5.36/Config.pm", "Config"),
            ("/opt/app-2.1/src/main.rb", "/opt/app-2.1/src"),
            ("hello.js", "hello.js"),
        ] {
            assert_eq!(package(path), expected, "{path}");
        }
    }
}
