//! The contents of buffers among the arguments of system calls, as strace writes them.

use firstbyte_measure::arch::Buffer;
use firstbyte_measure::tracer::event::{Call, Content, WantedContents};

/// The content of a call's buffer, or of the buffers of an array; `None`: it was not recorded.
pub(super) fn text(kind: Buffer, at: usize, call: &Call) -> Option<String> {
    let first = call.contents.first()?;
    match kind {
        Buffer::Written | Buffer::Read => Some(quoted(first)),
        Buffer::Path => Some(quoted(&without_nul(first))),
        Buffer::WrittenVector | Buffer::ReadVector => {
            let count = call.arguments.get(at + 1)? & 0xffff_ffff;
            Some(array(kind, &call.contents, (call.contents.len() as u64) < count))
        }
        Buffer::WrittenMessage | Buffer::ReadMessage => {
            let may_have_more = call.contents.len() == WantedContents::MOST_BUFFERS;
            Some(format!("{{msg_iov={}, ...}}", array(kind, &call.contents, may_have_more)))
        }
    }
}

/// The first buffers of an array.
fn array(kind: Buffer, contents: &[Content], has_more: bool) -> String {
    // one that is read into may have more room
    let length = |content: &Content| match kind {
        Buffer::WrittenVector | Buffer::WrittenMessage => format!(", iov_len={}", content.length),
        _ => String::new(),
    };
    let one = |content: &Content| format!("{{iov_base={}{}}}", quoted(content), length(content));
    let shown: Vec<String> = contents.iter().map(one).collect();
    format!("[{}{}]", shown.join(", "), if has_more { ", ..." } else { "" })
}

/// `getcwd(2)` counts the NUL.
fn without_nul(content: &Content) -> Content {
    match content.bytes.split_last() {
        Some((0, path)) => Content { length: content.length - 1, bytes: path.to_vec(), unreadable: None },
        _ => content.clone(),
    }
}

/// Bytes in quotes; `...` follows if there are more. Those that could not be read are their address.
pub(super) fn quoted(content: &Content) -> String {
    match content.unreadable {
        Some(address) => format!("{address:#x}"),
        None => format!("\"{}\"{}", escaped(&content.bytes), if content.is_cut() { "..." } else { "" }),
    }
}

/// Bytes as C writes them. All that is not ASCII is a number.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for (n, byte) in bytes.iter().enumerate() {
        let digit_follows = bytes.get(n + 1).is_some_and(|next| (b'0'..=b'7').contains(next));
        escape(&mut text, *byte, digit_follows);
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
        let shown =
            |bytes: &[u8], length| quoted(&Content { length, bytes: bytes.to_vec(), unreadable: None });
        assert_eq!(shown(b"hello world\n", 12), r#""hello world\n""#);
        assert_eq!(shown(b"", 0), r#""""#);
        assert_eq!(shown(b"\x7fELF\x02\x01\x01\x03\0\0\x009", 832), r#""\177ELF\2\1\1\3\0\0\09"..."#);
        assert_eq!(shown(b"\0\x007", 3), r#""\0\0007""#);
        assert_eq!(shown("a\"\\\t\u{b}\u{1b}[2J€".as_bytes(), 12), r#""a\"\\\t\v\33[2J\342\202\254""#);
    }
}
