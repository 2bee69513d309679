//! The kernel side's table of what system calls mean to us: see `run.h`.

use super::shared_run::CALLS;
use crate::arch::{Abi, CallRole, call_roles, lookups};

const MEANS_EXEC: u8 = 4;
const COMPAT_SHIFT: u8 = 4;
const MEANS_LOOKUP: u8 = 6;

/// One byte for each number: the meaning of the native call in the low half, that of the 32-bit call in the high
/// half.
pub(super) fn table() -> [u8; CALLS] {
    table_of(|_| true)
}

/// Only calls with a role that is wanted have a meaning.
pub(super) fn table_of(is_wanted: impl Fn(CallRole) -> bool) -> [u8; CALLS] {
    let mut table = [0; CALLS];
    for (abi, shift) in [(Abi::Native, 0), (Abi::Compat, COMPAT_SHIFT)] {
        for (number, meaning) in call_roles().of(abi).filter(|(_, role)| is_wanted(*role)) {
            let code = match meaning {
                CallRole::Exec => MEANS_EXEC,
                CallRole::Output(argument) => argument + 1,
            };
            table[number as usize] |= code << shift;
        }
    }
    table
}

/// Also the calls that look up paths, among which are marks.
pub(super) fn with_lookups(mut table: [u8; CALLS]) -> [u8; CALLS] {
    for (abi, shift) in [(Abi::Native, 0), (Abi::Compat, COMPAT_SHIFT)] {
        for (number, position) in lookups().of(abi) {
            table[number as usize] |= (MEANS_LOOKUP + position) << shift;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::c_header::Headers;
    use super::*;
    use crate::arch::IO_URING_BASE;

    #[test]
    fn the_codes_are_those_of_run_h() {
        let headers = Headers::read();
        assert_eq!(headers.constant("MEANS_EXEC"), u64::from(MEANS_EXEC));
        assert_eq!(headers.constant("MEANS_COMPAT_SHIFT"), u64::from(COMPAT_SHIFT));
        assert_eq!(headers.constant("MEANS_LOOKUP"), u64::from(MEANS_LOOKUP));
        assert_eq!(headers.constant("CALL_URING"), u64::from(IO_URING_BASE));
    }
}
