//! The stacks of user code for pprof: its `Profile` (`https://github.com/google/pprof/blob/main/proto/profile.proto`), in the
//! encoding of protocol buffers, compressed by gzip. Times are nanoseconds.

use super::stacks::stacks;
use crate::document::trace::{TraceCall, TraceDocument};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashMap;
use std::io::Write;

pub fn render(document: &TraceDocument) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // writing to memory cannot fail
    encoder.write_all(&profile(document)).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// A message: each field is its number and its kind, then a number, or a length and bytes.
#[derive(Default)]
struct Message(Vec<u8>);

/// The kinds of fields.
const NUMBER: u64 = 0;
const BYTES: u64 = 2;

impl Message {
    /// Groups of seven bits, the lowest ones first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | NUMBER);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Several numbers in one field.
    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0);
    }

    fn of(numbers: &[(u64, u64)]) -> Message {
        let mut message = Message::default();
        for (field, value) in numbers {
            message.number(*field, *value);
        }
        message
    }
}

/// The fields of `Profile`.
const SAMPLE_TYPE: u64 = 1;
const SAMPLE: u64 = 2;
const LOCATION: u64 = 4;
const FUNCTION: u64 = 5;
const STRING: u64 = 6;
const PERIOD_TYPE: u64 = 11;
const PERIOD: u64 = 12;

fn profile(document: &TraceDocument) -> Vec<u8> {
    let (mut profile, mut tables) = (Message::default(), Tables::default());
    tables.string(""); // the first one has to be empty
    let kind = Message::of(&[(1, tables.string("cpu")), (2, tables.string("nanoseconds"))]);
    profile.bytes(SAMPLE_TYPE, &kind.0);
    profile.bytes(PERIOD_TYPE, &kind.0);
    let sampling = document.results.iter().find_map(|result| result.sampling.as_ref());
    profile.number(PERIOD, sampling.map_or(0, |sampling| sampling.period_ns));
    for result in &document.results {
        for (stack, time) in stacks(&result.user_calls, |call| tables.function(call)) {
            let mut sample = Message::default();
            // the innermost one first
            sample.numbers(1, stack.into_iter().rev());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
            sample.numbers(2, [time.round() as u64]);
            profile.bytes(SAMPLE, &sample.0);
        }
    }
    tables.write(&mut profile);
    profile.0
}

/// The functions, each with the location of the same number, and the texts.
#[derive(Default)]
struct Tables {
    functions: HashMap<[u64; 3], u64>,
    strings: HashMap<String, u64>,
}

impl Tables {
    fn string(&mut self, text: &str) -> u64 {
        let next = self.strings.len() as u64;
        *self.strings.entry(text.to_owned()).or_insert(next)
    }

    fn function(&mut self, call: &TraceCall) -> u64 {
        let name = call.name().unwrap_or_else(|| format!("[{}]", call.module));
        let file = call.source.file.as_deref().unwrap_or(&call.module);
        let key = [self.string(&name), self.string(file), call.source.line.unwrap_or_default().into()];
        // numbers begin with 1
        let next = self.functions.len() as u64 + 1;
        *self.functions.entry(key).or_insert(next)
    }

    fn write(self, profile: &mut Message) {
        let mut functions: Vec<_> = self.functions.into_iter().collect();
        functions.sort_by_key(|(_, number)| *number);
        for ([name, file, line], number) in functions {
            let function = Message::of(&[(1, number), (2, name), (3, name), (4, file), (5, line)]);
            profile.bytes(FUNCTION, &function.0);
            let mut location = Message::of(&[(1, number)]);
            location.bytes(4, &Message::of(&[(1, number), (2, line)]).0);
            profile.bytes(LOCATION, &location.0);
        }
        let mut strings: Vec<_> = self.strings.into_iter().collect();
        strings.sort_by_key(|(_, number)| *number);
        for (text, _) in &strings {
            profile.bytes(STRING, text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }

    /// The fields of a message: their numbers, and their bytes. A number is one varint.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let length = match key & 7 {
                NUMBER => bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1,
                BYTES => usize::try_from(varint(&mut bytes)).unwrap(),
                kind => panic!("a field of kind {kind}"),
            };
            let (field, rest) = bytes.split_at(length);
            fields.push((key >> 3, field.to_vec()));
            bytes = rest;
        }
        fields
    }

    fn number(message: &[u8], wanted: u64) -> u64 {
        let all = fields(message);
        varint(&mut &*all.iter().find(|(field, _)| *field == wanted).unwrap().1)
    }

    fn numbers(message: &[u8], wanted: u64) -> Vec<u64> {
        let all = fields(message);
        let mut packed = &*all.iter().find(|(field, _)| *field == wanted).unwrap().1;
        let mut numbers = Vec::new();
        while !packed.is_empty() {
            numbers.push(varint(&mut packed));
        }
        numbers
    }

    #[test]
    fn a_profile_is_decoded_to_its_stacks_their_times_and_their_places() {
        let json = r#"{"schema": "firstbyte/1", "tool": {"name": "firstbyte", "version": "0"}, "results": [{"command": "p",
            "total_ns": 1000, "spans": [], "user_calls": [
            {"caller": null, "module": "p", "function": "main", "ns": 1000},
            {"caller": 0, "module": "a.py", "function": "f", "language": "Python", "file": "/a.py", "line": 300, "ns": 700},
            {"caller": 1, "module": "libx.so", "ns": 200}]}]}"#;
        let document: TraceDocument = serde_json::from_str(json).unwrap();
        let mut unpacked = Vec::new();
        GzDecoder::new(&*render(&document)).read_to_end(&mut unpacked).unwrap();

        let profile = fields(&unpacked);
        let all = |wanted: u64| {
            profile.iter().filter(move |(field, _)| *field == wanted).map(|(_, bytes)| &**bytes)
        };
        let strings: Vec<&str> = all(STRING).map(|text| std::str::from_utf8(text).unwrap()).collect();
        let text = |index: u64| strings[usize::try_from(index).unwrap()];
        assert_eq!(strings[0], "");
        let kind = all(SAMPLE_TYPE).next().unwrap();
        assert_eq!([1, 2].map(|field| text(number(kind, field))), ["cpu", "nanoseconds"]);

        let functions: HashMap<u64, (&str, &str, u64)> = all(FUNCTION)
            .map(|it| (number(it, 1), (text(number(it, 2)), text(number(it, 4)), number(it, 5))))
            .collect();
        let locations: HashMap<u64, u64> = all(LOCATION)
            .map(|it| {
                let line = &fields(it)[1].1;
                assert_eq!(number(line, 2), functions[&number(line, 1)].2);
                (number(it, 1), number(line, 1))
            })
            .collect();
        let stacks: Vec<(Vec<_>, u64)> = all(SAMPLE)
            .map(|it| {
                let stack = numbers(it, 1).iter().map(|location| functions[&locations[location]]).collect();
                (stack, numbers(it, 2)[0])
            })
            .collect();
        let [main, f, x] = [("main", "p", 0), ("f", "/a.py", 300), ("[libx.so]", "libx.so", 0)];
        assert_eq!(stacks, [(vec![main], 300), (vec![f, main], 500), (vec![x, f, main], 200)]);
    }
}
