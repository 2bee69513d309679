//! The contents of buffers among the arguments of system calls, as strace writes them.

use firstbyte_measure::arch::Buffer;
use firstbyte_measure::tracer::event::{Call, Content};

/// The content of a call's buffer, or of the buffers of an array; `None`: it was not recorded.
pub(super) fn text(kind: Buffer, at: usize, call: &Call) -> Option<String> {
    let first = call.contents.first()?;
    match kind {
        Buffer::Written | Buffer::Read => Some(quoted(first)),
        Buffer::Path => Some(quoted(&without_nul(first))),
        Buffer::WrittenVector | Buffer::ReadVector => {
            let count = call.arguments.get(at + 1)? & 0xffff_ffff;
            let one = |content: &Content| match kind {
                // a buffer that is read into may have more room
                Buffer::ReadVector => format!("{{iov_base={}}}", quoted(content)),
                _ => format!("{{iov_base={}, iov_len={}}}", quoted(content), content.length),
            };
            let shown: Vec<String> = call.contents.iter().map(one).collect();
            let more = if (shown.len() as u64) < count { ", ..." } else { "" };
            Some(format!("[{}{more}]", shown.join(", ")))
        }
    }
}

/// `getcwd(2)` counts the NUL.
fn without_nul(content: &Content) -> Content {
    match content.bytes.split_last() {
        Some((0, path)) => Content { length: content.length - 1, bytes: path.to_vec() },
        _ => content.clone(),
    }
}

/// Bytes in quotes; `...` follows if there are more.
fn quoted(content: &Content) -> String {
    let mut text = String::from("\"");
    for (n, byte) in content.bytes.iter().enumerate() {
        let digit_follows = content.bytes.get(n + 1).is_some_and(|next| (b'0'..=b'7').contains(next));
        escape(&mut text, *byte, digit_follows);
    }
    text.push('"');
    if (content.bytes.len() as u64) < content.length {
        text.push_str("...");
    }
    text
}

/// One byte as C writes it. An octal number is as short as what follows it allows.
fn escape(text: &mut String, byte: u8, digit_follows: bool) {
    let escaped = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\t' => "\\t",
        b'\r' => "\\r",
        0x0b => "\\v",
        0x0c => "\\f",
        b' '..=b'~' => return text.push(byte.into()),
        _ if digit_follows => &format!("\\{byte:03o}"),
        _ => &format!("\\{byte:o}"),
    };
    text.push_str(escaped);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_escaped_as_strace_escapes_them() {
        let shown = |bytes: &[u8], length| quoted(&Content { length, bytes: bytes.to_vec() });
        assert_eq!(shown(b"hello world\n", 12), r#""hello world\n""#);
        assert_eq!(shown(b"", 0), r#""""#);
        assert_eq!(shown(b"\x7fELF\x02\x01\x01\x03\0\0\x009", 832), r#""\177ELF\2\1\1\3\0\0\09"..."#);
        assert_eq!(shown(b"\0\x007", 3), r#""\0\0007""#);
        assert_eq!(shown("a\"\\\t\u{b}\u{1b}[2J€".as_bytes(), 12), r#""a\"\\\t\v\33[2J\342\202\254""#);
    }
}
