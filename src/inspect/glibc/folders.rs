//! The folders that glibc's loader has heard of. It remembers which of them do not exist (`elf/dl-load.c`).

use super::memory::{Block, Memory};

/// What is known about a folder and each of its subfolders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    Exists,
    Missing,
}

#[derive(Clone, Debug)]
pub(super) struct Folder {
    /// With a slash at its end, or empty: the current folder.
    pub(super) name: String,
    /// One for each subfolder.
    pub(super) known: Vec<Known>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Folders {
    all: Vec<Folder>,
    subfolders: usize,
}

/// Folders, by their number.
pub(super) type PathList = Vec<usize>;

impl Folders {
    pub(super) fn new(subfolders: usize) -> Folders {
        Folders { all: Vec::new(), subfolders }
    }

    pub(super) fn get_mut(&mut self, number: usize) -> &mut Folder {
        &mut self.all[number]
    }

    pub(super) fn add(&mut self, name: String) -> usize {
        // what is relative may appear when the program changes its folder
        let known = if name.starts_with('/') { Known::Nothing } else { Known::Exists };
        self.all.push(Folder { name, known: vec![known; self.subfolders] });
        self.all.len() - 1
    }

    /// Reads a list of names (`fillin_rpath`). `expand` replaces the tokens of one; `owner` is the name of the object that
    /// has the list.
    pub(super) fn list(
        &mut self,
        names: &[&str],
        owner: Option<&str>,
        memory: &mut Memory,
        mut expand: impl FnMut(&str, &mut Memory) -> (String, Block),
    ) -> PathList {
        let mut list = PathList::new();
        for name in names {
            let expanded = (!name.is_empty()).then(|| expand(name, memory));
            let (folder, copy) =
                expanded.map_or((String::new(), None), |(folder, copy)| (folder, Some(copy)));
            if folder.is_empty() && !name.is_empty() {
                memory.free(copy);
                continue;
            }

            let folder = if folder.is_empty() { folder } else { with_one_slash(&folder) };
            let known = self.all.iter().position(|known| known.name == folder);
            let number = known.unwrap_or_else(|| {
                let owner = owner.map_or(0, |owner| owner.len() as u64 + 1);
                memory.allocate(40 + 4 * self.subfolders as u64 + owner + folder.len() as u64 + 1);
                self.add(folder)
            });
            memory.free(copy);
            if !list.contains(&number) {
                list.push(number);
            }
        }
        list
    }
}

fn with_one_slash(name: &str) -> String {
    let bare = name.trim_end_matches('/');
    format!("{bare}/")
}

/// Replaces `$ORIGIN`, `$PLATFORM` and `$LIB`, also in braces. Without an origin, a name that contains it becomes empty.
pub(super) fn substituted(text: &str, origin: Option<&str>, platform: &str, lib: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        result += &rest[..at];
        rest = &rest[at + 1..];
        match token(rest) {
            Some((name, length)) => {
                let value = match name {
                    "ORIGIN" => origin,
                    "PLATFORM" => Some(platform),
                    _ => Some(lib),
                };
                let Some(value) = value else { return String::new() };
                result += value;
                rest = &rest[length..];
            }
            None => result.push('$'),
        }
    }
    result + rest
}

/// The token behind a `$`, and how long it is with its braces.
fn token(text: &str) -> Option<(&'static str, usize)> {
    ["ORIGIN", "PLATFORM", "LIB"].into_iter().find_map(|name| {
        if let Some(inner) = text.strip_prefix('{') {
            return inner.strip_prefix(name)?.starts_with('}').then_some((name, name.len() + 2));
        }
        text.starts_with(name).then_some((name, name.len()))
    })
}

/// How many tokens a text contains.
pub(super) fn tokens(text: &str) -> u64 {
    text.match_indices('$').filter(|(at, _)| token(&text[at + 1..]).is_some()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_replaced_with_and_without_braces() {
        let replaced = |text| substituted(text, Some("/a"), "x86_64", "lib64");
        assert_eq!(replaced("$ORIGIN/../${LIB}/$PLATFORM"), "/a/../lib64/x86_64");
        assert_eq!(replaced("/x/$ORIGINAL$"), "/x//aAL$");
        assert_eq!(replaced("${ORIGIN"), "${ORIGIN");
        assert_eq!(substituted("$ORIGIN/x", None, "", ""), "");
        assert_eq!((tokens("$ORIGIN:$HOME:${LIB}"), tokens("$")), (2, 0));
    }
}
