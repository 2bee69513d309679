//! Reads Rust sources: which module a file is, and what it imports. Tests are left out, because they may import anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A path as names: `["crate", "bench", "Series"]`. The first name is `crate` or the name of another crate.
pub(super) type Names = Vec<String>;

/// One source file.
pub(super) struct Source {
    /// Its path in the repository.
    pub(super) file: PathBuf,
    /// Its module path in the crate; empty for `lib.rs`.
    pub(super) module: Names,
    /// Every path to our code, in `use` declarations and elsewhere.
    pub(super) paths: BTreeSet<Names>,
    /// Every word of its code, except in strings and comments; a macro also with its `!`.
    pub(super) words: BTreeSet<String>,
    /// The names that it imports, and where each comes from.
    imported: BTreeMap<String, Names>,
    /// The modules that exist only in tests.
    test_modules: Vec<String>,
}

/// The sources in a folder of the repository.
pub(super) fn sources(repository: &Path, folder: &str) -> Vec<Source> {
    let mut files = Vec::new();
    collect(&repository.join(folder), &mut files);
    files.sort();
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        let file = file.strip_prefix(repository).unwrap();
        Source::parse(file, module_of(file.strip_prefix(folder).unwrap()), &text)
    };
    let all: Vec<Source> = files.iter().map(read).collect();
    let of_tests: BTreeSet<Names> = all
        .iter()
        .flat_map(|source| source.test_modules.iter().map(|name| joined(&source.module, name)))
        .collect();
    let is_test = |source: &Source| of_tests.iter().any(|module| source.module.starts_with(module));
    all.into_iter().filter(|source| !is_test(source)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn joined(module: &[String], name: &str) -> Names {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn module_of(file: &Path) -> Names {
    let mut module: Names =
        file.with_extension("").iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    if file.ends_with("mod.rs") || file == Path::new("lib.rs") {
        module.pop();
    }
    module
}

impl Source {
    pub(super) fn parse(file: &Path, module: Names, text: &str) -> Source {
        let mut reader = Reader {
            tokens: tokens(text),
            index: 0,
            depth: 0,
            inner: Vec::new(),
            source: Source {
                file: file.to_owned(),
                module,
                paths: BTreeSet::new(),
                words: BTreeSet::new(),
                imported: BTreeMap::new(),
                test_modules: Vec::new(),
            },
        };
        reader.read();
        reader.source
    }

    /// The full path, if the first name after this module is one that the module imports.
    pub(super) fn origin(&self, path: &[String]) -> Option<Names> {
        let rest = &path[1 + self.module.len()..];
        let (first, further) = rest.split_first()?;
        let target = self.imported.get(first)?;
        Some(target.iter().chain(further).cloned().collect())
    }
}

/// Goes through the tokens of one file.
struct Reader {
    tokens: Vec<String>,
    index: usize,
    depth: usize,
    /// The modules within the file that enclose the current token, each with the depth of its braces.
    inner: Vec<(String, usize)>,
    source: Source,
}

impl Reader {
    fn read(&mut self) {
        while self.index < self.tokens.len() {
            match self.token(0) {
                "#" if self.token(1) == "[" => self.attribute(),
                "mod" if self.token(2) == "{" => {
                    self.depth += 1;
                    self.inner.push((self.token(1).to_owned(), self.depth));
                    self.index += 3;
                }
                "use" => {
                    self.index += 1;
                    self.tree(&Names::new());
                }
                _ if self.begins_path() => {
                    let names = self.names();
                    self.add(&names);
                }
                _ => self.pass(),
            }
        }
    }

    fn note(&mut self, indices: Range<usize>) {
        for index in indices.filter(|index| is_name(&self.tokens[*index])) {
            let word = self.tokens[index].clone();
            if self.tokens.get(index + 1).is_some_and(|next| next == "!") {
                self.source.words.insert(format!("{word}!"));
            }
            self.source.words.insert(word);
        }
    }

    fn token(&self, further: usize) -> &str {
        self.tokens.get(self.index + further).map_or("", String::as_str)
    }

    /// Skips one token and counts braces.
    fn pass(&mut self) {
        self.note(self.index..self.index + 1);
        match self.token(0) {
            "{" => self.depth += 1,
            "}" => {
                self.inner.retain(|(_, depth)| *depth < self.depth);
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
        self.index += 1;
    }

    /// Reads an attribute. An item that it reserves for tests is skipped.
    fn attribute(&mut self) {
        let begin = self.index;
        self.index += 1;
        self.pass_group("[", "]");
        self.note(begin..self.index);
        let attribute = &self.tokens[begin..self.index];
        let is = |name: &str| attribute.iter().any(|token| token == name);
        if !is("cfg") || !is("test") || is("not") {
            return;
        }
        while self.token(0) == "#" {
            self.index += 1;
            self.pass_group("[", "]");
        }
        let is_import = self.token(0) == "use";
        if self.token(0) == "mod" && self.token(2) == ";" {
            let name = self.token(1).to_owned();
            self.source.test_modules.push(name);
        }
        while self.index < self.tokens.len() {
            match self.token(0) {
                ";" => break,
                "(" => self.pass_group("(", ")"),
                "[" => self.pass_group("[", "]"),
                "{" => {
                    self.pass_group("{", "}");
                    if !is_import {
                        return;
                    }
                }
                _ => self.index += 1,
            }
        }
        self.index += 1;
    }

    /// Skips from an opening bracket to behind its closing bracket.
    fn pass_group(&mut self, open: &str, close: &str) {
        let mut depth = 0;
        while self.index < self.tokens.len() {
            let token = self.token(0);
            depth += usize::from(token == open);
            let closes = token == close;
            self.index += 1;
            if closes {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
    }

    fn begins_path(&self) -> bool {
        let begins = matches!(self.token(0), "crate" | "super" | "self" | "firstbyte")
            || self.token(0).starts_with("firstbyte_");
        let within = self.index > 0 && self.tokens[self.index - 1] == "::";
        begins && !within && self.token(1) == "::"
    }

    /// The names of a path, up to the first token that is not a name.
    fn names(&mut self) -> Names {
        let begin = self.index;
        let mut names = Names::new();
        while is_name(self.token(0)) {
            names.push(self.token(0).to_owned());
            self.index += 1;
            if self.token(0) != "::" || !is_name(self.token(1)) {
                break;
            }
            self.index += 1;
        }
        self.note(begin..self.index);
        names
    }

    /// Reads a tree of imports below `prefix`. Every leaf is a path.
    fn tree(&mut self, prefix: &[String]) {
        if self.token(0) == "::" {
            self.index += 1;
        }
        let mut names = prefix.to_vec();
        names.extend(self.names());
        if self.token(0) == "::" {
            self.index += 1;
        }
        match self.token(0) {
            "{" => {
                self.index += 1;
                while self.token(0) != "}" && self.index < self.tokens.len() {
                    self.tree(&names);
                    self.index += usize::from(self.token(0) == ",");
                }
                self.index += 1;
            }
            "*" => {
                self.index += 1;
                self.add(&names);
            }
            "as" => {
                let name = self.token(1).to_owned();
                self.index += 2;
                self.import(&names, &name);
            }
            _ => {
                if names.last().is_some_and(|name| name == "self") {
                    names.pop();
                }
                let name = names.last().cloned().unwrap_or_default();
                self.import(&names, &name);
            }
        }
    }

    fn import(&mut self, names: &[String], name: &str) {
        if let Some(path) = self.add(names)
            && self.inner.is_empty()
        {
            self.source.imported.insert(name.to_owned(), path);
        }
    }

    /// Stores a path to our code as an absolute path.
    fn add(&mut self, names: &[String]) -> Option<Names> {
        let mut here = self.source.module.clone();
        here.extend(self.inner.iter().map(|(name, _)| name.clone()));
        let path = absolute(&here, names)?;
        self.source.paths.insert(path.clone());
        Some(path)
    }
}

fn absolute(here: &[String], names: &[String]) -> Option<Names> {
    let root = |below: &[String]| ["crate".to_owned()].into_iter().chain(below.iter().cloned()).collect();
    let mut module = here.to_vec();
    let mut rest = names;
    match names.first()?.as_str() {
        "crate" | "firstbyte" => return Some(root(&names[1..])),
        "self" | "super" => {}
        name if name.starts_with("firstbyte_") => return Some(names.to_vec()),
        // A child of this module or a foreign crate. A child has a file, a foreign crate has none.
        _ => return Some(root(&[here, names].concat())),
    }
    while let Some(first @ ("self" | "super")) = rest.first().map(String::as_str) {
        if first == "super" {
            module.pop();
        }
        rest = &rest[1..];
    }
    Some(root(&[&module, rest].concat()))
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_') && token != "as"
}

/// Names, `::` and single punctuation characters, without comments, strings and character literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => comment(rest),
            '"' => string(rest),
            '\'' => character(rest),
            _ if literal_prefix(rest).is_some() => literal(rest),
            _ if rest.starts_with("::") => 2,
            _ if first.is_alphanumeric() || first == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let token = &rest[..length];
        let is_code = !first.is_whitespace() && !token.starts_with('/') && !token.contains(['"', '\'']);
        if is_code {
            tokens.push(token.to_owned());
        }
        rest = &rest[length..];
    }
    tokens
}

/// The length of a comment that may contain other comments.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    let mut index = 0;
    while index < text.len() {
        let rest = &text[index..];
        if rest.starts_with("/*") {
            depth += 1;
            index += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            index += 2;
            if depth == 0 {
                return index;
            }
        } else {
            index += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string including its quotes.
fn string(text: &str) -> usize {
    let mut escaped = true; // the opening quote does not close it
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal including its quotes, or of the quote that begins a lifetime.
fn character(text: &str) -> usize {
    let mut inner = text[1..].char_indices();
    match inner.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(text.len(), |end| end + 4),
        Some(_) => match inner.next() {
            Some((index, '\'')) => index + 2,
            _ => 1,
        },
        None => 1,
    }
}

/// The letters and hashes before the quote of a byte string, a C string or a raw string.
fn literal_prefix(text: &str) -> Option<&str> {
    let letters = ["br", "cr", "b", "c", "r"].into_iter().find(|letters| text.starts_with(letters))?;
    let hashes = text[letters.len()..].find(|c| c != '#')?;
    let prefix = &text[..letters.len() + hashes];
    let quoted = text[prefix.len()..].starts_with('"');
    (quoted && (hashes == 0 || letters.ends_with('r'))).then_some(prefix)
}

/// The length of such a string.
fn literal(text: &str) -> usize {
    let prefix = literal_prefix(text).unwrap_or_default();
    if !prefix.contains('r') {
        return prefix.len() + string(&text[prefix.len()..]);
    }
    let end = format!("\"{}", "#".repeat(prefix.matches('#').count()));
    let begin = prefix.len() + 1;
    text[begin..].find(&end).map_or(text.len(), |index| begin + index + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let module = ["bench", "runner"].map(str::to_owned).to_vec();
        let source = Source::parse(Path::new("runner.rs"), module, text);
        source.paths.iter().map(|names| names.join("::")).collect()
    }

    #[test]
    fn braces_and_relative_paths_are_expanded() {
        let text = "use crate::document::{self, bench::{Cold, Cache as State}, read::*};
            use super::{sample::Series, super::stats};
            use firstbyte_measure::{launch, tracer::{Backend, Tracer}};";
        let expected = [
            "crate::bench::sample::Series",
            "crate::document",
            "crate::document::bench::Cache",
            "crate::document::bench::Cold",
            "crate::document::read",
            "crate::stats",
            "firstbyte_measure::launch",
            "firstbyte_measure::tracer::Backend",
            "firstbyte_measure::tracer::Tracer",
        ];
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn paths_in_code_are_found_and_those_in_comments_and_strings_are_not() {
        let text = r##"// crate::a::b
            fn f<'a>(x: &'a crate::floor::Figure) -> char { /* crate::c /* */ crate::d */
                let s = "crate::e \" crate::f"; let r = r#"crate::g " crate::h"#; let q = '"';
                super::counting::count(x); self.x; Vec::<crate::cli::Plan>::new(); '\''
            }"##;
        assert_eq!(
            paths(text),
            ["crate::bench::counting::count", "crate::cli::Plan", "crate::floor::Figure"]
        );
    }

    #[test]
    fn a_module_within_a_file_has_its_own_parent() {
        let text = "mod inner { use super::x; mod deeper { fn f() { super::super::y() } } } use super::z;";
        assert_eq!(paths(text), ["crate::bench::runner::x", "crate::bench::runner::y", "crate::bench::z"]);
    }

    #[test]
    fn items_that_exist_only_in_tests_are_left_out() {
        let text = "#[cfg(test)] use crate::cli::{A, B}; #[cfg(test)] mod tests { use crate::report; }
            #[cfg(test)] #[derive(Debug)] struct S { x: [u8; 2], y: crate::floor::F }
            #[cfg(not(test))] fn g() { crate::stats::h() }";
        assert_eq!(paths(text), ["crate::stats::h"]);
    }

    #[test]
    fn words_are_whole_and_not_in_strings_or_comments() {
        let has = |text, word| Source::parse(Path::new("x.rs"), Names::new(), text).words.contains(word);
        assert!(has("fn f() { unsafe { g() } }", "unsafe"));
        assert!(has("#[derive(clap::Args)] struct Args;", "clap"));
        assert!(!has("#![deny(unsafe_op_in_unsafe_fn)] // unsafe\nconst S: &str = \"unsafe\";", "unsafe"));
    }
}
