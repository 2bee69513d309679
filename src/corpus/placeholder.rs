//! Placeholders in the commands of a manifest: `{gcc}` is the path of a tool, `{arch}` the machine's architecture.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The paths of the tools by name.
pub(crate) type Tools = BTreeMap<String, PathBuf>;

/// A part of an argument. Braces around anything that does not look like a tool's name are text.
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn pieces(argument: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = argument;
    while let Some((start, end)) = next_name(rest) {
        found.push(Piece::Text(&rest[..start]));
        found.push(Piece::Name(&rest[start + 1..end]));
        rest = &rest[end + 1..];
    }
    found.push(Piece::Text(rest));
    found
}

/// The positions of the braces of the first placeholder.
fn next_name(text: &str) -> Option<(usize, usize)> {
    text.match_indices('{').find_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        is_name(&text[start + 1..end]).then_some((start, end))
    })
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-._".contains(c);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(allowed)
}

/// The names of its placeholders, also of `{arch}`.
pub(crate) fn names(argument: &str) -> impl Iterator<Item = &str> {
    pieces(argument).into_iter().filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// Checks that every placeholder names a tool. The error is the broken rule.
pub(crate) fn check(argument: &str, tools: &[&str]) -> Result<(), String> {
    match names(argument).find(|name| *name != "arch" && !tools.contains(name)) {
        Some(name) => Err(format!("`{{{name}}}` is not a tool in `toolchain` or `corpus/tools.toml`")),
        None => Ok(()),
    }
}

/// Replaces every placeholder. One without a tool becomes its bare name.
pub(crate) fn expand(argument: &str, tools: &Tools) -> OsString {
    let mut expanded = Vec::new();
    for piece in pieces(argument) {
        match piece {
            Piece::Text(text) => expanded.extend_from_slice(text.as_bytes()),
            Piece::Name("arch") => expanded.extend_from_slice(std::env::consts::ARCH.as_bytes()),
            Piece::Name(name) => {
                expanded.extend_from_slice(
                    tools.get(name).map_or(OsStr::new(name), |p| p.as_os_str()).as_bytes(),
                );
            }
        }
    }
    OsString::from_vec(expanded)
}

/// [`expand`] for a whole command.
pub(crate) fn expand_all(argv: &[String], tools: &Tools) -> Vec<OsString> {
    argv.iter().map(|argument| expand(argument, tools)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        Tools::from([("g++".to_owned(), PathBuf::from("/usr/bin/g++"))])
    }

    #[test]
    fn placeholders_become_paths_and_other_braces_stay() {
        assert_eq!(expand("{g++}", &tools()), "/usr/bin/g++");
        assert_eq!(expand("a {g++} b", &tools()), "a /usr/bin/g++ b");
        assert_eq!(expand("{arch}", &tools()), std::env::consts::ARCH);
        for text in ["", "{", "}", "{}", "{ x }", "${Version}", "{{", "() => { y() }", "{é}"] {
            assert_eq!(expand(text, &tools()), text);
            assert_eq!(check(text, &[]), Ok(()));
        }
    }

    #[test]
    fn a_placeholder_inside_other_braces_is_found() {
        assert_eq!(expand("{{g++}}", &tools()), "{/usr/bin/g++}");
        assert!(check("{X{gcc}", &["g++"]).is_err());
    }
}
