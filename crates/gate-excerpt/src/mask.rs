//! Makes lines comparable that differ in numbers, times, addresses, and directories only.

use std::collections::HashSet;

use crate::clean::Log;
use crate::limits::BASELINE_LINES_MAX;

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// What a byte is, so that each is looked up once.
const WORD: u8 = 1;
const DIGIT: u8 = 2;
/// In a word that it keeps from being a hexadecimal number.
const LETTER: u8 = 4;
const SLASH: u8 = 8;

static KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = u8::MIN;
    loop {
        kinds[byte as usize] = match byte {
            b'0'..=b'9' => WORD | DIGIT,
            b'a'..=b'f' | b'A'..=b'F' | b'x' => WORD,
            b'_' | 0x80.. => WORD | LETTER,
            b'/' | b'\\' => SLASH,
            _ if byte.is_ascii_alphabetic() => WORD | LETTER,
            _ => 0,
        };
        if byte == u8::MAX {
            return kinds;
        }
        byte += 1;
    }
}

/// Of the line with each number, hexadecimal word, and directory masked. One look at each byte.
pub(crate) fn hash(line: &str) -> u64 {
    let kind = |byte: u8| KINDS[usize::from(byte)];
    let mut bytes = line.bytes();
    // What is settled, and with it the letters of the word that is open, of which `seen` has the kinds.
    let (mut hash, mut word, mut seen) = (SEED, SEED, 0);
    loop {
        let byte = bytes.next();
        let is = byte.map_or(0, kind);
        if is & DIGIT != 0 {
            seen |= is;
        } else if is & WORD != 0 {
            seen |= is;
            // The open word's letters only.
            word = step(word, byte.unwrap_or(0));
        } else {
            // A number in hexadecimal counts as one; of a path, the last part counts.
            if is & SLASH == 0 && seen != 0 {
                hash = match (seen & DIGIT != 0, seen & LETTER != 0) {
                    (true, false) => step(hash, b'#'),
                    (true, true) => step(word, b'#'),
                    (false, _) => word,
                };
            }
            match byte {
                None => return hash,
                Some(byte) if is & SLASH == 0 => hash = step(hash, byte),
                Some(_) => {}
            }
            (word, seen) = (hash, 0);
        }
    }
}

const fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(PRIME)
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
