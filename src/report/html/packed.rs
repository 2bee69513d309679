//! Compresses JSON for a page: ten thousand spans take a hundred kilobytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::Write;

/// gzip in base64, which contains no HTML markup. The page's script unpacks it (`DecompressionStream`).
pub(crate) fn packed(value: &impl Serialize) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = serde_json::to_writer(&mut encoder, value).is_ok() && encoder.flush().is_ok();
    // writing to memory cannot fail
    encoder.finish().ok().filter(|_| written).map(|bytes| STANDARD.encode(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn packed_json_unpacks_to_the_same_and_contains_no_markup() {
        let value = ["</script><script>alert(1)</script>", "\u{2028}", "\"'\n\u{0}"];
        let text = packed(&value);
        assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c)), "{text}");
        let mut unpacked = String::new();
        GzDecoder::new(&STANDARD.decode(text).unwrap()[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(&unpacked).unwrap(), value);
    }
}
