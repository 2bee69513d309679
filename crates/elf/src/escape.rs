//! Escapes in a message: `\n`, `\t`, `\r`, `\0`, `\\` and `\xHH`.

use super::ElfError;

/// The bytes that a text with escapes stands for.
///
/// # Errors
/// [`ElfError::UnknownEscape`], also for an escape that is not complete.
pub fn unescape(text: &[u8]) -> Result<Vec<u8>, ElfError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, length) = if first == b'\\' { escape(behind)? } else { (first, 0) };
        bytes.push(byte);
        rest = &behind[length..];
    }
    Ok(bytes)
}

/// The byte of the escape after a backslash, and the length of the escape.
fn escape(behind: &[u8]) -> Result<(u8, usize), ElfError> {
    let unknown = || {
        let shown = &behind[..behind.len().min(if behind.starts_with(b"x") { 3 } else { 1 })];
        ElfError::UnknownEscape(format!("\\{}", String::from_utf8_lossy(shown)))
    };
    match behind.first() {
        Some(b'n') => Ok((b'\n', 1)),
        Some(b't') => Ok((b'\t', 1)),
        Some(b'r') => Ok((b'\r', 1)),
        Some(b'0') => Ok((0, 1)),
        Some(b'\\') => Ok((b'\\', 1)),
        Some(b'x') => hexadecimal(behind.get(1..3)).map(|byte| (byte, 3)).ok_or_else(unknown),
        _ => Err(unknown()),
    }
}

fn hexadecimal(digits: Option<&[u8]>) -> Option<u8> {
    let digits = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_their_bytes() {
        assert_eq!(unescape(br"a\n\t\r\0\\\x00\xfF").unwrap(), b"a\n\t\r\0\\\x00\xff");
        assert_eq!(unescape("ä\u{1F600}".as_bytes()).unwrap(), "ä\u{1F600}".as_bytes());
    }

    #[test]
    fn an_unknown_or_unfinished_escape_is_an_error() {
        for text in [r"\", r"\q", r"\x", r"\x1", r"\xg0", r"\x+1"] {
            assert!(unescape(text.as_bytes()).is_err(), "{text}");
        }
    }
}
