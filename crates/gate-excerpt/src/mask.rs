//! Makes lines comparable that differ in numbers, times, addresses, and directories only.

use std::collections::HashSet;

use crate::clean::Log;
use crate::limits::BASELINE_LINES_MAX;

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Of the line with each number, hexadecimal word, and directory masked.
pub(crate) fn hash(line: &str) -> u64 {
    let bytes = line.as_bytes();
    let mut hash = SEED;
    let mut start = 0;
    while start < bytes.len() {
        let end = if is_word(bytes[start]) {
            start + bytes[start..].iter().take_while(|it| is_word(**it)).count()
        } else {
            start + 1
        };
        let word = &bytes[start..end];
        // Of a path, its last part counts.
        let is_directory = is_word(word[0]) && matches!(bytes.get(end), Some(b'/' | b'\\'));
        if !is_directory && !matches!(word, b"/" | b"\\") {
            hash = add(hash, word);
        }
        start = end;
    }
    hash
}

/// A word, letter by letter, without its digits; one that is a number in hexadecimal counts as one.
fn add(hash: u64, word: &[u8]) -> u64 {
    let has_digit = word.iter().any(u8::is_ascii_digit);
    let is_number = has_digit && word.iter().all(|it| it.is_ascii_hexdigit() || *it == b'x');
    let letters = word.iter().filter(|it| !has_digit || !it.is_ascii_digit());
    let letters = letters.take(if is_number { 0 } else { usize::MAX });
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    let hash = if has_digit { step(hash, &b'#') } else { hash };
    letters.fold(hash, step)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What a green run prints too.
#[derive(Debug, Default)]
pub(crate) struct Noise(HashSet<u64>);

impl Noise {
    /// From the log of the baseline.
    pub(crate) fn read(log: &Log) -> Self {
        let lines = log.slice(0..log.len().min(BASELINE_LINES_MAX));
        Self(lines.filter(|it| !it.1.trim().is_empty()).map(|it| hash(it.1.trim())).collect())
    }

    pub(crate) fn has(&self, line: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&hash(line.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_times_addresses_and_directories_do_not_count() {
        for (one, two) in [
            ("poll 17 took 3.2s", "poll 4 took 12.9s"),
            ("at 0x7ffc12ab", "at 0x55d0beef"),
            ("2026-11-30T20:15:01Z error: retry", "2026-12-01T01:02:03Z error: retry"),
            ("open /w/1/tree/a.txt", "open /w/22/tree/a.txt"),
            ("commit 4f1c9e7 ok", "commit 88aa001 ok"),
        ] {
            assert_eq!(hash(one), hash(two), "{one}");
        }
        assert_ne!(hash("error: no space"), hash("error: no file"));
        assert_ne!(hash("open a/x.txt"), hash("open a/y.txt"));
    }
}
