//! A strict reader of the text format, for tests: what it accepts, Prometheus does.

use std::collections::{BTreeMap, BTreeSet};

/// One line with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: String,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) samples: Vec<Sample>,
}

impl Page {
    /// Panics if the text is not valid in one of the two formats.
    pub(crate) fn parse(text: &str) -> Page {
        assert!(text.ends_with('\n'), "the last line has an end");
        let is_open = text.ends_with("# EOF\n");
        let body = text.strip_suffix("# EOF\n").unwrap_or(text);
        let (mut types, mut samples) = (BTreeMap::new(), Vec::new());
        let (mut family, mut seen) = (String::new(), BTreeSet::new());
        for line in body.lines() {
            if let Some(words) = line.strip_prefix("# ") {
                let mut words = words.splitn(3, ' ');
                let [word, name, rest] = [words.next(), words.next(), words.next()].map(Option::unwrap);
                assert!(["HELP", "TYPE", "UNIT"].contains(&word), "{line}");
                assert!(is_open || word != "UNIT", "{line}");
                assert!(
                    word != "UNIT" || name.ends_with(&format!("_{rest}")),
                    "the unit ends the name: {line}"
                );
                if name != family {
                    assert!(seen.insert(name.to_owned()), "{name} is in one place");
                    name.clone_into(&mut family);
                }
                if word == "TYPE" {
                    assert!(types.insert(name.to_owned(), rest.to_owned()).is_none(), "{line}");
                }
                continue;
            }
            let sample = sample(line);
            let kind = types.get(&family).unwrap_or_else(|| panic!("no type before {line}"));
            let suffix = sample.name.strip_prefix(&family).unwrap_or_else(|| panic!("{line} in {family}"));
            let suffixes: &[&str] = match (kind.as_str(), is_open) {
                ("counter", true) => &["_total"],
                ("info", true) => &["_info"],
                ("counter" | "gauge", false) => &[""],
                ("histogram", _) => &["_bucket", "_count", "_sum"],
                other => panic!("{other:?}: {line}"),
            };
            assert!(suffixes.contains(&suffix), "{line} in a {kind}");
            samples.push(sample);
        }
        let page = Page { samples };
        page.check_no_repetition();
        page.check_histograms();
        page
    }

    fn check_no_repetition(&self) {
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            assert!(seen.insert((&sample.name, &sample.labels)), "{sample:?} is there twice");
        }
    }

    /// Buckets are cumulative, in order, and end with the count.
    fn check_histograms(&self) {
        let mut last: Option<(String, f64, u64)> = None;
        for Sample { name, labels, value } in &self.samples {
            let of =
                format!("{name} {:?}", labels.iter().filter(|(label, _)| label != "le").collect::<Vec<_>>());
            if let Some(series) = of.strip_prefix("").filter(|_| name.ends_with("_bucket")) {
                let bound = &labels.iter().find(|(label, _)| label == "le").unwrap().1;
                let bound: f64 = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
                let count: u64 = value.parse().unwrap();
                if let Some((_, before, smaller)) = last.filter(|(own, ..)| own == series) {
                    assert!(before < bound && smaller <= count, "{name} {labels:?}");
                }
                last = Some((series.to_owned(), bound, count));
            } else if name.ends_with("_count") {
                let (_, bound, count) = last.take().unwrap();
                assert!(bound.is_infinite() && *value == count.to_string(), "{name} {labels:?}");
            }
        }
    }

    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<&str> {
        let has = |sample: &Sample| {
            let mut own = sample.labels.iter();
            labels.iter().all(|(label, value)| own.any(|(l, v)| (l.as_str(), v.as_str()) == (*label, *value)))
        };
        let found = self.samples.iter().find(|sample| sample.name == name && has(sample));
        found.map(|sample| sample.value.as_str())
    }

    /// Every value of the label.
    pub(crate) fn programs(&self) -> Vec<&str> {
        let labels = self.samples.iter().flat_map(|sample| &sample.labels);
        let all: BTreeSet<&str> =
            labels.filter(|(label, _)| label == "program").map(|(_, value)| value.as_str()).collect();
        all.into_iter().collect()
    }
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
    let (name, mut rest) = line.split_at(end);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    assert!(!name.is_empty() && name.chars().all(is_name), "{line}");
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            let (value, after) = quoted(after).unwrap_or_else(|| panic!("{line}"));
            labels.push((label.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    value.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
    Sample { name: name.to_owned(), labels, value: value.to_owned() }
}

/// A value up to its quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[place + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                _ => return None,
            },
            c => value.push(c),
        }
    }
    None
}
