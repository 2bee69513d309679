//! One statement of a seed, and how it is tested.

use super::check::Check;
use super::{seed_000, seed_001, seed_002, seed_003, seed_004};

/// A published post whose statements are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seed {
    /// E. Johnson, "Hello World, Utterly Overdone" (2017).
    Overdone,
    /// C. Eckman, "Startup Showdown 1 - Hello" (2024).
    Showdown,
    /// "A response to response to hello world" (2020).
    Response,
    /// "Print Benchmark: Sub-20ms Challenge".
    Print,
    /// R. Hileman, "C Runtime Overhead" (2015).
    Runtime,
}

impl Seed {
    /// All of them, in the order of their numbers.
    pub const ALL: [Seed; 5] = [Seed::Overdone, Seed::Showdown, Seed::Response, Seed::Print, Seed::Runtime];

    /// The number that `--only` takes.
    pub fn number(self) -> &'static str {
        match self {
            Seed::Overdone => "000",
            Seed::Showdown => "001",
            Seed::Response => "002",
            Seed::Print => "003",
            Seed::Runtime => "004",
        }
    }

    /// The post's title.
    pub fn title(self) -> &'static str {
        match self {
            Seed::Overdone => "Hello World, Utterly Overdone",
            Seed::Showdown => "Startup Showdown 1 - Hello",
            Seed::Response => "A response to response to hello world",
            Seed::Print => "Print Benchmark: Sub-20ms Challenge",
            Seed::Runtime => "C Runtime Overhead",
        }
    }
}

/// One entry of the table.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Unique; begins with the seed's number.
    pub id: &'static str,
    /// Where it is made.
    pub seed: Seed,
    /// What is said, in the seed's words or in ours where those would not fit one line: it is never shown as a quotation.
    pub text: &'static str,
    /// The figures that go with it; may be empty.
    pub figure: &'static str,
    /// How it is measured here, and where that differs from the seed's way.
    pub how: &'static str,
    /// When it holds, in words; the numbers are in the checks.
    pub rule: &'static str,
    /// What must be met, all of it. Empty: it cannot be tested on any machine of this kind.
    pub checks: Vec<Check>,
    /// The explanation where it holds.
    pub holds: &'static str,
    /// The explanation where it does not; of a claim without checks, why it has none.
    pub fails: &'static str,
}

/// Every claim, seed by seed.
pub fn all() -> Vec<Claim> {
    [seed_000::claims(), seed_001::claims(), seed_002::claims(), seed_003::claims(), seed_004::claims()]
        .concat()
}

/// The claims that were asked for, by the seed's number or by id; all of them if none was. The error is the name that
/// is neither.
pub fn select(names: &[String]) -> Result<Vec<Claim>, String> {
    let all = all();
    let asked = |claim: &Claim, name: &String| claim.seed.number() == name || claim.id == name;
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|claim| asked(claim, name))) {
        return Err(unknown.clone());
    }
    Ok(all
        .into_iter()
        .filter(|claim| names.is_empty() || names.iter().any(|name| asked(claim, name)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_claim_has_an_id_of_its_own_that_begins_with_its_seed() {
        let claims = all();
        let ids: BTreeSet<&str> = claims.iter().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), claims.len());
        for claim in &claims {
            assert!(claim.id.starts_with(&format!("{}-", claim.seed.number())), "{}", claim.id);
        }
        for seed in Seed::ALL {
            assert!(claims.iter().filter(|claim| claim.seed == seed).count() >= 5, "{}", seed.title());
        }
    }

    #[test]
    fn every_text_is_one_line_and_none_is_missing() {
        for claim in all() {
            let required = [claim.text, claim.how, claim.rule, claim.fails];
            assert!(required.iter().all(|text| !text.is_empty()), "{}", claim.id);
            for text in required.iter().chain([&claim.figure, &claim.holds]) {
                assert!(!text.contains('\n'), "{}", claim.id);
                assert_eq!(text.trim(), *text, "{}", claim.id);
            }
            assert!(claim.checks.is_empty() || !claim.holds.is_empty(), "{}", claim.id);
        }
    }

    #[test]
    fn claims_are_chosen_by_seed_and_by_id() {
        let chosen = |names: &[&str]| select(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(chosen(&[]).unwrap().len(), all().len());
        assert!(chosen(&["002"]).unwrap().iter().all(|claim| claim.seed == Seed::Response));
        assert_eq!(chosen(&["003-154-bytes"]).unwrap().len(), 1);
        assert_eq!(chosen(&["003-154-bytes", "nonsense"]).unwrap_err(), "nonsense");
    }
}
