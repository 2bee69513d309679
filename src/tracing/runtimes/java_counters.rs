//! The counters that a Java virtual machine saves when it ends (`-XX:+PerfDataSaveToFile`): the format 2.0 of jvmstat, from
//! `src/hotspot/share/runtime/perfMemory.hpp` of `OpenJDK`.

/// The first bytes of such a file.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// How long its first part is, and where that says where the counters begin and how many they are.
const HEAD: usize = 32;
const FIRST_AT: usize = 24;
const COUNT_AT: usize = 28;
/// The letters of counters that are whole numbers of 64 bits, and of texts.
const LONG: u8 = b'J';
const BYTE: u8 = b'B';

/// How many ticks a second has.
const FREQUENCY: &str = "sun.os.hrt.frequency";
const CLASSES: &str = "sun.cls.";
/// Where the class loader of the application looks.
const CLASS_PATH: &str = "java.property.java.class.path";

/// The times that it spent on classes, as lines `counter<tab>nanoseconds<tab>name`, and `class path<tab>…`.
pub(super) fn text(bytes: &[u8]) -> String {
    let Counters { numbers: all, class_path } = counters(bytes).unwrap_or_default();
    let Some((_, frequency)) = all.iter().find(|(name, ticks)| name == FREQUENCY && *ticks > 0) else {
        return String::new();
    };
    let is_time = |name: &str| name.contains("Time") || name.contains("time");
    let times = all.iter().filter(|(name, _)| name.starts_with(CLASSES) && is_time(name));
    let line = |(name, ticks): &(String, u64)| {
        let nanoseconds = u128::from(*ticks) * 1_000_000_000 / u128::from(*frequency);
        format!("counter\t{nanoseconds}\t{name}\n")
    };
    times.map(line).collect::<String>()
        + &class_path.map_or(String::new(), |path| format!("class path\t{path}\n"))
}

#[derive(Clone, Debug, Default)]
struct Counters {
    /// Names and values.
    numbers: Vec<(String, u64)>,
    class_path: Option<String>,
}

/// `None`: this is another format.
fn counters(bytes: &[u8]) -> Option<Counters> {
    let little = *bytes.get(4)? == 1;
    let number = |at: usize| -> Option<usize> {
        let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }).ok()
    };
    if !bytes.starts_with(&MAGIC) || bytes.len() < HEAD {
        return None;
    }

    let (mut at, mut found) = (number(FIRST_AT)?, Counters::default());
    for _ in 0..number(COUNT_AT)? {
        let entry = bytes.get(at..at.checked_add(number(at)?.max(1))?)?;
        let [name_at, data_at] = [number(at + 4)?, number(at + 16)?];
        let is_one_number = number(at + 8)? == 0 && entry.get(12) == Some(&LONG);
        if let (true, Some(name), Some(value)) =
            (is_one_number, text_at(entry, name_at), long_at(entry, data_at, little))
        {
            found.numbers.push((name, value));
        } else if entry.get(12) == Some(&BYTE) && text_at(entry, name_at).as_deref() == Some(CLASS_PATH) {
            found.class_path = text_at(entry, data_at);
        }
        at += entry.len();
    }
    Some(found)
}

fn text_at(entry: &[u8], at: usize) -> Option<String> {
    let text = entry.get(at..)?.split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

fn long_at(entry: &[u8], at: usize, little: bool) -> Option<u64> {
    let eight: [u8; 8] = entry.get(at..at.checked_add(8)?)?.try_into().ok()?;
    Some(if little { u64::from_le_bytes(eight) } else { u64::from_be_bytes(eight) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(counters: &[(&str, u64)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 2, 0, 1]);
        bytes.resize(HEAD, 0);
        bytes[FIRST_AT..COUNT_AT].copy_from_slice(&32_u32.to_le_bytes());
        bytes[COUNT_AT..HEAD].copy_from_slice(&u32::try_from(counters.len()).unwrap().to_le_bytes());
        for (name, value) in counters {
            let data = (20 + name.len() + 1).next_multiple_of(8);
            for number in [data + 8, 20, 0] {
                bytes.extend(u32::try_from(number).unwrap().to_le_bytes());
            }
            bytes.extend([LONG, 0, 1, 1]);
            bytes.extend(u32::try_from(data).unwrap().to_le_bytes());
            bytes.extend(name.bytes());
            bytes.resize(bytes.len() + data - 20 - name.len(), 0);
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn times_of_classes_are_told_in_nanoseconds() {
        let all = [("java.ci.totalTime", 7), ("sun.cls.parseClassTime", 3_000), (FREQUENCY, 1_000_000)];
        assert_eq!(text(&file(&all)), "counter\t3000000\tsun.cls.parseClassTime\n");
        assert_eq!(text(&file(&all[..2])), "", "without a frequency, nothing says how long a tick is");
    }

    #[test]
    fn damaged_counters_are_none() {
        let whole = file(&[("sun.cls.time", 1), (FREQUENCY, 1)]);
        for end in 0..whole.len() {
            assert_eq!(text(&whole[..end]), "", "{end}");
        }
        let mut looping = whole;
        looping[32..36].fill(0);
        assert_eq!(text(&looping), "");
    }
}
