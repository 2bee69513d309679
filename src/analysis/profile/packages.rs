//! To which package a source file belongs.

use super::{Frame, SourceLine};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How the source files of a language are arranged.
struct Rules {
    language: &'static str,
    /// What comes with the language.
    library: &'static str,
    is_standard: fn(&str) -> bool,
    /// The folders whose entries are packages. Packages may have such folders of their own: the last one counts.
    folders: &'static [&'static str],
    /// How many names behind such a folder make a package.
    names: fn(&str) -> usize,
}

const ALL: [Rules; 7] = [
    Rules {
        language: "Python",
        library: "Python's standard library",
        is_standard: |file| {
            ["/lib/python3.", "/lib64/python3."].iter().any(|known| file.contains(known))
                || file.starts_with("<frozen ")
        },
        folders: &["/site-packages/", "/dist-packages/"],
        names: |_| 1,
    },
    Rules {
        language: "JavaScript",
        library: "Node.js's standard library",
        is_standard: |file| file.starts_with("node:"),
        folders: &["/node_modules/"],
        // `@scope/name`
        names: |inside| if inside.starts_with('@') { 2 } else { 1 },
    },
    Rules {
        language: "Ruby",
        library: "Ruby's standard library",
        is_standard: |file| {
            ["/lib/ruby/", "-linux-gnu/ruby/"].iter().any(|known| file.contains(known))
                || file.starts_with("<internal:")
        },
        // `/gems/3.1.0/gems/NAME-VERSION/`
        folders: &["/gems/"],
        names: |_| 1,
    },
    Rules {
        language: "Java",
        library: "Java's standard library",
        is_standard: |file| {
            ["java/", "javax/", "jdk/", "sun/", "com/sun/"].iter().any(|known| file.starts_with(known))
        },
        folders: &[],
        names: |_| 1,
    },
    Rules {
        language: "Perl",
        library: "Perl's standard library",
        is_standard: |file| ["/perl/5.", "/perl-base/", "/lib/5."].iter().any(|known| file.contains(known)),
        folders: &[
            "/share/perl5/",
            "/lib/perl5/",
            "-linux-gnu/perl5/",
            "/site_perl/",
            "/vendor_perl/",
            "/local/share/perl/",
        ],
        names: |inside| 1 + inside.split('/').take_while(|name| is_version(name)).count(),
    },
    Rules {
        language: "PHP",
        library: "PHP's standard library",
        is_standard: |file| file.contains("/share/php/"),
        folders: &["/vendor/"],
        // `name/name`
        names: |_| 2,
    },
    Rules {
        language: "zsh",
        library: "zsh's own functions",
        is_standard: |file| file.contains("/share/zsh/"),
        folders: &["/site-functions/"],
        names: |_| 1,
    },
];

/// The name of a folder for one version of Perl, or one processor.
fn is_version(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit()) || name.contains("-linux")
}

impl Rules {
    fn of(language: &str) -> Option<&'static Rules> {
        ALL.iter().find(|rules| rules.language == language)
    }

    /// Where the name of a package begins in a path.
    fn inside(&self, path: &str) -> Option<usize> {
        self.folders.iter().filter_map(|folder| Some(path.rfind(folder)? + folder.len())).max()
    }

    fn package<'f>(&self, file: &'f str) -> Option<&'f str> {
        let start = self.inside(file)?;
        let inside = &file[start..];
        let ends = inside.match_indices('/').map(|(at, _)| at).chain([inside.len()]);
        ends.take((self.names)(inside)).last().map(|length| &file[..start + length])
    }
}

/// Whether a language frame is no part of the program itself.
pub fn is_library(frame: &Frame) -> bool {
    let Some(SourceLine { language, file, .. }) = &frame.source else { return false };
    let rules = Rules::of(language);
    let is_package = |rules: &Rules| rules.package(file).is_some_and(|package| *package == *frame.module);
    rules.is_some_and(|rules| *frame.module == *rules.library || is_package(rules))
}

/// What the package or the module of the standard library is called that a function is of: the name of the package, or those
/// of the source file and of its folder.
pub(super) fn library_names(frame: &Frame) -> Vec<&str> {
    let Some(source) = frame.source.as_ref().filter(|_| is_library(frame)) else { return Vec::new() };
    let is_package = source.file.starts_with(&*frame.module);
    let (path, names) = if is_package { (&*frame.module, 1) } else { (&*source.file, 2) };
    path.rsplit('/').take(names).map(without_version).collect()
}

/// `haml-6.1.0` is `haml`, and `six.py` is `six`.
fn without_version(name: &str) -> &str {
    let version =
        name.match_indices('-').find(|(at, _)| name[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let name = version.map_or(name, |(at, _)| &name[..at]);
    name.split('.').next().unwrap_or(name)
}

/// What an interpreter was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// The path of a script.
    Script(String),
    /// The name of a package or module of Python.
    Module(String),
}

impl Started {
    /// The package of a module, whose name may have dots.
    pub fn python_module(name: &str) -> Started {
        Started::Module(name.split('.').next().unwrap_or(name).to_owned())
    }
}

/// The packages that are the program itself, because it was started with them.
#[derive(Debug, Default)]
pub struct Own {
    /// By their folders or files.
    packages: BTreeSet<String>,
    /// By their names in Python.
    modules: BTreeSet<String>,
}

impl Own {
    pub fn of(started: &[Started]) -> Own {
        let mut own = Own::default();
        for started in started {
            match started {
                Started::Script(script) => {
                    let packages = ALL.iter().filter_map(|rules| rules.package(script));
                    own.packages.extend(packages.map(str::to_owned));
                }
                Started::Module(name) => own.modules.extend([name.clone()]),
            }
        }
        own
    }

    /// Makes a function of one of these packages a part of the program: its module is its source file.
    pub(super) fn claim(&self, frame: &mut Frame) {
        if let Some(source) = frame.source.as_ref().filter(|source| self.has(frame, source)) {
            frame.module = Arc::clone(&source.file);
        }
    }

    fn has(&self, frame: &Frame, source: &SourceLine) -> bool {
        let is_package = || source.file.starts_with(&*frame.module);
        let name = |modules: &BTreeSet<String>| {
            library_names(frame).first().is_some_and(|name| modules.contains(*name))
        };
        self.packages.contains(&*frame.module)
            || !self.modules.is_empty() && source.language == "Python" && is_package() && name(&self.modules)
    }
}

/// Where the names of a package begin in the path of a module, whatever its language is.
pub fn inside_package(path: &str) -> Option<usize> {
    // many programs have a folder with this name
    let is_meant = |rules: &&Rules| rules.language != "PHP" || path.rsplit('.').next() == Some("php");
    ALL.iter().filter(is_meant).filter_map(|rules| rules.inside(path)).max()
}

/// The package of a source file; of the user's own code, the file itself.
pub(super) fn package(language: &str, file: &Arc<str>) -> Arc<str> {
    let found = Rules::of(language)
        .and_then(|rules| rules.package(file).or_else(|| (rules.is_standard)(file).then_some(rules.library)));
    found.map_or_else(|| Arc::clone(file), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_the_standard_library_are_told_from_own_code() {
        let of_python = Rules::of("Python").unwrap().library;
        let of = |file: &str| package("Python", &file.into()).to_string();
        assert_eq!(of("/v/lib/python3.11/site-packages/rich/a.py"), "/v/lib/python3.11/site-packages/rich");
        assert_eq!(of("/usr/lib/python3/dist-packages/six.py"), "/usr/lib/python3/dist-packages/six.py");
        assert_eq!(of("/usr/lib/python3.11/json/decoder.py"), of_python);
        assert_eq!(of("<frozen importlib._bootstrap>"), of_python);
        assert_eq!([of("/app/plugins.py"), of("<string>")], ["/app/plugins.py", "<string>"]);
    }

    #[test]
    fn packages_of_ruby_are_gems() {
        let of_ruby = Rules::of("Ruby").unwrap().library;
        let of = |file: &str| package("Ruby", &file.into()).to_string();
        assert_eq!(of("/var/lib/gems/3.1.0/gems/rack-3.0/lib/rack.rb"), "/var/lib/gems/3.1.0/gems/rack-3.0");
        assert_eq!([of("/usr/lib/ruby/3.1.0/json.rb"), of("<internal:kernel>")], [of_ruby; 2]);
        assert_eq!([of("/app/lib/ruby.rb"), of("-e")], ["/app/lib/ruby.rb", "-e"]);
    }

    #[test]
    fn packages_of_node_are_the_innermost_ones() {
        let of_node = Rules::of("JavaScript").unwrap().library;
        let of = |file: &str| package("JavaScript", &file.into()).to_string();
        assert_eq!(of("/a/node_modules/x/node_modules/y/lib/b.js"), "/a/node_modules/x/node_modules/y");
        assert_eq!(of("/a/node_modules/@s/y/b.js"), "/a/node_modules/@s/y");
        assert_eq!(
            [of("/a/node_modules/@s"), of("/a/node_modules/")],
            ["/a/node_modules/@s", "/a/node_modules/"]
        );
        assert_eq!([of("node:internal/fs"), of("/app/a.js"), of("[eval]")], [of_node, "/app/a.js", "[eval]"]);
    }

    #[test]
    fn packages_of_perl_are_behind_versions() {
        let of = |file: &str| package("Perl", &file.into()).to_string();
        assert_eq!(of("/usr/share/perl5/Moo/Role.pm"), "/usr/share/perl5/Moo");
        assert_eq!(
            of("/usr/lib/x86_64-linux-gnu/perl5/5.36/Clone.pm"),
            "/usr/lib/x86_64-linux-gnu/perl5/5.36/Clone.pm"
        );
        assert_eq!(
            of("/p/lib/site_perl/5.40.0/x86_64-linux/Clone.pm"),
            "/p/lib/site_perl/5.40.0/x86_64-linux/Clone.pm"
        );
        let library = Rules::of("Perl").unwrap().library;
        let standard = ["/usr/share/perl/5.36/Carp.pm", "/usr/lib/x86_64-linux-gnu/perl-base/strict.pm"];
        assert_eq!(standard.map(of), [library; 2]);
        assert_eq!(of("/app/perl/a.pl"), "/app/perl/a.pl");
    }

    #[test]
    fn functions_of_packages_and_of_the_standard_library_are_no_part_of_the_program() {
        let is = |language, file: &str| {
            let file: Arc<str> = file.into();
            let source = Some(SourceLine { language, file: Arc::clone(&file), line: 1 });
            is_library(&Frame { module: package(language, &file), function: None, source })
        };
        assert!(is("JavaScript", "node:fs") && is("JavaScript", "/a/node_modules/x/b.js"));
        assert!(is("Python", "/usr/lib/python3/dist-packages/six.py"));
        assert!(!is("JavaScript", "/app/a.js") && !is("Python", "/gems/a.py") && !is("bash", "/gems/a"));
        assert!(!is_library(&Frame::native("/gems/a.so", None)));
    }

    #[test]
    fn the_package_of_the_script_that_was_started_is_the_program() {
        let is = |own: &Own, language, file: &str| {
            let file: Arc<str> = file.into();
            let source = Some(SourceLine { language, file: Arc::clone(&file), line: 1 });
            let mut frame = Frame { module: package(language, &file), function: None, source };
            own.claim(&mut frame);
            is_library(&frame)
        };
        let own = Own::of(&[Started::Script("/a/node_modules/tool/bin/tool.js".to_owned())]);
        let of_node = |file: &str| is(&own, "JavaScript", file);
        assert!(!of_node("/a/node_modules/tool/lib/cli.js") && !of_node("/a/node_modules/tool/bin/tool.js"));
        assert!(of_node("/a/node_modules/tool/node_modules/x/b.js") && of_node("/a/node_modules/y/b.js"));

        let own = Own::of(&["tool.cli", "json"].map(Started::python_module));
        let of_python = |file: &str| is(&own, "Python", file);
        assert!(!of_python("/v/lib/python3.11/site-packages/tool/cli.py"));
        assert!(of_python("/v/lib/python3.11/site-packages/dep/tool.py"));
        assert!(of_python("/v/lib/python3.11/json/tool.py"), "the standard library is never the program");
        assert!(of_node("/a/node_modules/json/b.js"));
    }
}
