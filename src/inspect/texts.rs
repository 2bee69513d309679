//! Finds texts in the bytes of files.

/// Where a text is. Looks for the first byte alone, because files are large.
pub(super) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| byte == first) {
        from += at;
        if bytes[from..].starts_with(wanted) {
            return Some(from);
        }
        from += 1;
    }
    None
}

pub(super) fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    find(bytes, wanted).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_is() {
        assert!(contains(b"aab", b"ab") && contains(b"ab", b"ab") && !contains(b"a", b"ab"));
        assert_eq!((find(b"xxab", b"ab"), find(b"", b"a"), find(b"a", b"")), (Some(2), None, None));
    }
}
