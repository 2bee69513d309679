//! Which variants are tried together. Pure.
//!
//! Adding variants one by one finds only those that help alone. Two that help only together are found from the other end:
//! all variants together, from which those are removed that do nothing there.

use super::candidate::Candidate;

/// The variants that may be used together, the best first: of those that conflict, the better one.
pub fn compatible<'c>(ranked: &[&'c Candidate]) -> Vec<&'c Candidate> {
    let mut chosen: Vec<&Candidate> = Vec::new();
    for candidate in ranked {
        if !chosen.iter().any(|other| other.conflicts(candidate)) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// The variants without one of them, and without those that use it.
pub fn without<'c>(all: &[&'c Candidate], name: &str) -> Vec<&'c Candidate> {
    all.iter().filter(|other| other.name != name && other.base() != Some(name)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::super::start::{ChainEnd, Start};
    use super::*;

    #[test]
    fn of_two_that_conflict_the_better_one_is_used_and_what_uses_another_goes_with_it() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let end = ChainEnd { words: words("/opt/python3 app.py"), ..ChainEnd::default() };
        let chain = words("/shims/python3 /opt/python3");
        let start = Start { words: words("python3 app.py"), chain, end: Some(end), ..Start::default() };
        let catalogue = catalogue::load(&[]).unwrap();
        let (all, _) = super::super::candidates(&catalogue, &start);
        let of = |name: &str| all.iter().find(|candidate| candidate.name == name).unwrap();
        let names = |all: Vec<&Candidate>| all.iter().map(|it| it.name.clone()).collect::<Vec<_>>();

        let ranked = [of("large-heap-steps"), of("direct"), of("huge-pages"), of("python-frozen-modules")];
        let chosen = compatible(&ranked);
        assert_eq!(names(chosen.clone()), ["large-heap-steps", "direct", "python-frozen-modules"]);
        assert_eq!(names(without(&chosen, "direct")), ["large-heap-steps"]);
        assert_eq!(names(without(&chosen, "large-heap-steps")), ["direct", "python-frozen-modules"]);
    }
}
