//! All claims of all posts.

use super::claim::Claim;
use super::{
    c_runtime_overhead, hello_world_overdone, print_benchmark, response_to_response, startup_showdown,
};

/// Every claim, post by post.
pub fn all() -> Vec<Claim> {
    [
        hello_world_overdone::claims(),
        startup_showdown::claims(),
        response_to_response::claims(),
        print_benchmark::claims(),
        c_runtime_overhead::claims(),
    ]
    .concat()
}

/// The claims with these ids, and those of the posts with these numbers; without any name, all claims. The error is a name
/// that is neither.
pub fn select(names: &[String]) -> Result<Vec<Claim>, String> {
    let all = all();
    let is_called = |claim: &Claim, name: &String| claim.post.number() == name || claim.id == name;
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|claim| is_called(claim, name))) {
        return Err(unknown.clone());
    }

    let chosen = |claim: &Claim| names.is_empty() || names.iter().any(|name| is_called(claim, name));
    Ok(all.into_iter().filter(chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Post;
    use std::collections::BTreeSet;

    #[test]
    fn every_claim_has_its_own_id_which_begins_with_the_number_of_its_post() {
        let claims = all();
        let ids: BTreeSet<&str> = claims.iter().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), claims.len());
        for claim in &claims {
            assert!(claim.id.starts_with(&format!("{}-", claim.post.number())), "{}", claim.id);
        }
        for post in Post::ALL {
            assert!(claims.iter().filter(|claim| claim.post == post).count() >= 5, "{}", post.title());
        }
    }

    #[test]
    fn every_text_is_there_and_is_one_line() {
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
    fn claims_are_chosen_by_post_and_by_id() {
        let chosen = |names: &[&str]| select(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(chosen(&[]).unwrap().len(), all().len());
        assert!(chosen(&["002"]).unwrap().iter().all(|claim| claim.post == Post::ResponseToResponse));
        assert_eq!(chosen(&["003-154-bytes"]).unwrap().len(), 1);
        assert_eq!(chosen(&["003-154-bytes", "nonsense"]).unwrap_err(), "nonsense");
    }
}
