//! Which programs of a corpus are wanted.

use super::manifest::Manifest;
use super::{Corpus, CorpusError, Program, SkippedProgram};

/// The wanted programs: those with one of these names, tags or languages, or without any of these, the core.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// `*` in a name stands for any characters, `?` for one.
    pub names: Vec<String>,
    /// A group is a tag, too.
    pub tags: Vec<String>,
    pub languages: Vec<String>,
    /// The programs of groups belong to the core.
    pub all: bool,
    /// Each program is wanted with every installed version of its interpreter ([`Corpus::versions`]).
    pub versions: bool,
}

impl Selection {
    fn names_nothing(&self) -> bool {
        self.names.is_empty() && self.tags.is_empty() && self.languages.is_empty()
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
    }

    fn includes(&self, manifest: &Manifest) -> bool {
        let is_near = self.all || manifest.group.is_none();
        if self.names_nothing() {
            return is_near && !manifest.optional;
        }

        let has_tag =
            |tag: &String| manifest.group.as_ref() == Some(tag) || is_near && manifest.tags.contains(tag);
        let language = |name: &String| name.eq_ignore_ascii_case(&manifest.language) && !manifest.optional;
        self.has_name(&manifest.name) || self.tags.iter().any(has_tag) || self.languages.iter().any(language)
    }
}

impl Corpus {
    /// The wanted programs, each once and in the order of the corpus.
    pub fn select(&self, selection: &Selection) -> Result<Vec<&Program>, CorpusError> {
        let manifests = || self.programs().iter().map(|program| &program.manifest);
        let others = self.others.iter().map(|skipped| skipped.name.as_str());
        let tags = || manifests().flat_map(|manifest| manifest.tags.iter().chain(&manifest.group));

        check_known("program", &selection.names, manifests().map(|m| m.name.as_str()).chain(others))?;
        check_known("tag", &selection.tags, tags().map(String::as_str))?;
        check_known("language", &selection.languages, manifests().map(|m| m.language.as_str()))?;
        Ok(self.programs().iter().filter(|program| selection.includes(&program.manifest)).collect())
    }

    /// The wanted subfolders that contain no program.
    pub fn not_programs(&self, selection: &Selection) -> impl Iterator<Item = &SkippedProgram> {
        self.others.iter().filter(|skipped| selection.names_nothing() || selection.has_name(&skipped.name))
    }
}

/// Whether a name fits a pattern with `*` and `?`. Case does not matter.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', after)), _) => {
            matches(after, name) || name.split_first().is_some_and(|(_, rest)| matches(pattern, rest))
        }
        (Some((wanted, after)), Some((byte, rest))) => {
            (*wanted == b'?' || wanted.eq_ignore_ascii_case(byte)) && matches(after, rest)
        }
        _ => false,
    }
}

/// Checks that every given name or pattern fits something.
fn check_known<'a>(
    kind: &'static str,
    asked: &[String],
    there: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), CorpusError> {
    for name in asked {
        if !there.clone().any(|known| matches(name.as_bytes(), known.as_bytes())) {
            let nearest = nearest(name, there);
            return Err(CorpusError::Unknown { kind, name: name.clone(), nearest });
        }
    }
    Ok(())
}

/// The known name that needs the fewest edits, if they are few for the name's length.
pub(super) fn nearest<'a>(name: &str, there: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |known: &str| strsim::damerau_levenshtein(known, name);
    let nearest = there.min_by_key(|known| distance(known))?;
    let most = (name.chars().count() / 3).max(1);
    (distance(nearest) <= most && !name.is_empty()).then(|| nearest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_pattern_fits_whole_names() {
        let fits = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        for (pattern, name) in
            [("go", "go"), ("*", ""), ("c-*", "c-printf"), ("lua-5-?", "lua-5-1"), ("*o*o", "foo")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "go"), ("g", "go"), ("?", ""), ("c-*", "cpp"), ("*-static", "c-static-pie")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_misspelt_name_has_a_nearest_name_and_a_strange_one_has_none() {
        let nearest = |name| nearest(name, ["c-printf", "c-printf-real", "go", "node", "zsh"].into_iter());
        assert_eq!(nearest("c-prinft").as_deref(), Some("c-printf"));
        assert_eq!(nearest("nodejs").as_deref(), Some("node"));
        assert_eq!(nearest("og").as_deref(), Some("go"));
        assert_eq!((nearest(""), nearest("cobol"), nearest("x")), (None, None, None));
    }

    #[test]
    fn the_error_for_an_unknown_name_always_helps() {
        let corpus = Corpus::load(None).unwrap();
        let message = |name: &str| {
            let selection = Selection { names: owned(&[name]), ..Selection::default() };
            corpus.select(&selection).unwrap_err().to_string()
        };
        assert!(message("c-prinft").ends_with("help: did you mean `c-printf`?"), "{}", message("c-prinft"));
        let help = "help: `firstbyte showdown --list --all` shows all of them";
        assert!(message("").ends_with(help), "{}", message(""));
    }

    #[test]
    fn groups_come_with_all_or_when_they_are_named() {
        let corpus = Corpus::load(None).unwrap();
        let selected = |selection: Selection| -> Vec<&str> {
            corpus.select(&selection).unwrap().into_iter().map(Program::name).collect()
        };
        let tags = |tag: &str, all| Selection { tags: owned(&[tag]), all, ..Selection::default() };
        let languages = |name: &str| Selection { languages: owned(&[name]), ..Selection::default() };

        let core = selected(Selection::default());
        let all = selected(Selection { all: true, ..Selection::default() });
        assert!(core.iter().all(|name| all.contains(name)) && !core.contains(&"luajit"));
        assert!(all.contains(&"luajit") && !all.contains(&"crash-after-print"));
        assert!(!selected(tags("plain", false)).contains(&"haskell"));
        assert!(selected(tags("plain", true)).contains(&"haskell"));
        assert!(selected(tags("functional", false)).contains(&"haskell"));
        assert_eq!(selected(languages("haskell")), selected(languages("Haskell")));
        assert!(!selected(languages("bash")).contains(&"timed-bash"));
        let pattern = Selection { names: owned(&["lua*", "timed-go"]), ..Selection::default() };
        assert!(["lua", "luajit", "timed-go"].iter().all(|name| selected(pattern.clone()).contains(name)));
    }
}
