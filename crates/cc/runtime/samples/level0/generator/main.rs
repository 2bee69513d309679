//! Turns a word list into a C table: `generate exact WORDS > dictionary.h`, `generate bloom BYTES HASHES WORDS > …`,
//! `generate perfect WORDS > …`.
//!
//! Words with capitals or spaces are left out. The program looks up words without spaces in lower case, so nothing can
//! match them. `exact` reads its own table back and compares its words with the list before it prints anything.

mod automaton;
mod bloom;
mod hash;
mod layout;
mod perfect;
mod table;

use std::io::Write;
use std::{env, fs, process};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let text = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["exact", path] => exact(&words(path)),
        ["bloom", bytes, hashes, path] => bloom::header(&words(path), number(bytes), number(hashes)),
        ["perfect", path] => perfect::header(&words(path))
            .unwrap_or_else(|| fail("two words of the list have the same hash")),
        _ => fail("usage: generate exact WORDS, generate bloom BYTES HASHES WORDS, or generate perfect WORDS"),
    };
    if let Err(error) = std::io::stdout().write_all(text.as_bytes()) {
        fail(&format!("cannot write the table: {error}"));
    }
}

fn fail(message: &str) -> ! {
    eprintln!("generate: {message}");
    process::exit(2);
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| fail(&format!("`{text}` is not a number")))
}

/// The words that can be found, sorted and without duplicates.
fn words(path: &str) -> Vec<Vec<u8>> {
    let text = fs::read(path).unwrap_or_else(|error| fail(&format!("cannot read `{path}`: {error}")));
    let can_match = |word: &&[u8]| !word.is_empty() && !word.iter().any(|b| b.is_ascii_uppercase() || *b == b' ');
    let mut words: Vec<Vec<u8>> = text.split(|&b| b == b'\n').filter(can_match).map(<[u8]>::to_vec).collect();
    words.sort();
    words.dedup();
    words
}

fn exact(words: &[Vec<u8>]) -> String {
    let automaton = automaton::minimal(words);
    let table = table::encode(&automaton, &table::alphabet(words));
    if table.words() != words {
        fail("the table does not contain exactly the words of the list");
    }
    eprintln!("{} words, {} states, {} bytes", words.len(), automaton.states.len(), table.bytes.len());
    table.header()
}
