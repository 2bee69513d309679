//! firstbyte as an app of Android: under its filter, as a user without privileges.

#[path = "../../../android/answers.rs"]
mod answers;

use super::{Check, check, right};
use crate::report::Checked;
use crate::tool::{User, command};

pub(super) fn list() -> Vec<Check> {
    vec![check("-", "every command under Android's filter, another user", answers)]
}

fn answers() -> Checked {
    let faults = answers::faults(|| command(User::Other, "/bin/firstbyte"));
    if faults.is_empty() { right("") } else { Err(faults.join("; ")) }
}
