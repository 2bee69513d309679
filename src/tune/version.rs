//! Versions of runtimes: numbers between dots.

use serde::{Deserialize, Deserializer};
use std::fmt;

/// The first numbers decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl Version {
    /// The first version in a text: `Python 3.11.2`, `v22.1.0`, `openjdk version "25"`.
    pub fn found_in(text: &str) -> Option<Version> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let mut words =
            text.split(|c: char| c.is_whitespace() || matches!(c, '"' | ',' | '(' | ')' | '-' | '+' | '_'));
        words.find_map(|word| {
            let word = word.trim_start_matches(['v', 'r', 'g', 'o', 'p']);
            let end = word.find(|c: char| !is_part(c)).unwrap_or(word.len());
            Version::parsed(&word[..end])
        })
    }

    fn parsed(text: &str) -> Option<Version> {
        let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        numbers.map(Version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong =
            || serde::de::Error::custom(format!("`{}` is no version such as 3.15", text.escape_debug()));
        Version::parsed(&text).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_in_a_text_is_found_and_compared_by_its_numbers() {
        for (text, version) in [
            ("Python 3.11.2\n", "3.11.2"),
            ("v22.1.0", "22.1.0"),
            ("openjdk version \"25\" 2025-09-16", "25"),
            ("ruby 3.1.2p20 (2022-04-12 revision 4491bb740a) [x86_64-linux-gnu]", "3.1.2"),
            ("This is perl 5, version 36, subversion 0 (v5.36.0)", "5"),
            ("zsh 5.9 (x86_64-debian-linux-gnu)", "5.9"),
            ("go version go1.22.1 linux/amd64", "1.22.1"),
        ] {
            assert_eq!(Version::found_in(text).unwrap().to_string(), version, "{text}");
        }
        assert_eq!(Version::found_in("no number"), None);
        let version = |text| Version::parsed(text).unwrap();
        assert!(version("3.15") > version("3.9.9") && version("22.1") > version("22"));
    }
}
