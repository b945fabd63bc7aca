//! Real logs and documents, spliced, cut, doubled, and damaged: a fixed number of inputs from a fixed seed, so that
//! every machine reads the same. `fuzz/` has the same target for `cargo fuzz`, which needs a nightly compiler.

use std::fs;
use std::path::Path;

use gate_core::limits::EXCERPT_BYTES_MAX;

use crate::clean::work;
use crate::limits::{
    ALSO_AT_MAX, COMPARED_BYTES_MAX, DIAGNOSTICS_MAX, FAILING_TESTS_MAX, MESSAGE_BYTES_MAX,
    NAME_BYTES_MAX,
};
use crate::{Input, Side, read};

/// Inputs of one run.
const ROUNDS: usize = 2_500;
/// Bytes of one input; a longer one is cut.
const INPUT_BYTES_MAX: usize = 16 * 1024;
/// Lines that are looked at for each line of the log: parsers, times the passes of each.
const LOOKS_PER_LINE_MAX: u64 = 1_500;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// What is mutated, and the command that printed it.
struct Seed {
    bytes: Vec<u8>,
    command: Vec<String>,
    is_document: bool,
}

fn seeds(directory: &Path, into: &mut Vec<Seed>) {
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.to_str().unwrap();
        if path.is_dir() {
            seeds(&path, into);
        } else if name.ends_with(".log") || name.contains(".side.") {
            let bytes = fs::read(&path).unwrap();
            let stem = name.split(".side.").next().unwrap().trim_end_matches(".log");
            let expected = fs::read(format!("{stem}.expect.json")).expect(stem);
            let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
            let command = expected["input"]["command"].as_str().unwrap().to_owned();
            let command = vec!["sh".to_owned(), "-c".to_owned(), command];
            let is_document = !name.ends_with(".log") || bytes.trim_ascii().starts_with(b"{");
            into.push(Seed { bytes, command, is_document });
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|it| *it == b'\n').collect()
}

/// Bytes that mean something to somebody.
const TOKENS: [&[u8]; 22] = [
    b"\0",
    b"\x1b[",
    b"\x1b]8;;",
    b"\r",
    b"\xff\xfe",
    b"\xe2\x80",
    b"\n\n",
    b"18446744073709551616",
    b"-1",
    b"0",
    b"]",
    b"}",
    b"\"",
    b"</testcase>",
    b"<![CDATA[",
    b"&#x110000;",
    b"{",
    b"[[[[",
    b"# TODO",
    b"1..99999999999",
    b": ",
    b"\xf0\x9f\x92\xa5",
];

fn mutate(random: &mut Random, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(9) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(..at)),
            2 => drop(bytes.splice(at..at, random.one(&TOKENS).iter().copied())),
            3 if at < bytes.len() => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            4 => {
                let lines = lines(&bytes);
                let line =
                    lines.get(random.below(lines.len())).map_or(Vec::new(), |it| it.to_vec());
                let times = random.below(60);
                drop(bytes.splice(at..at, line.repeat(times)));
            }
            5 => {
                let mut lines = lines(&bytes);
                if !lines.is_empty() {
                    let (one, two) = (random.below(lines.len()), random.below(lines.len()));
                    lines.swap(one, two);
                    bytes = lines.concat();
                }
            }
            6 => {
                let from = random.below(other.len() + 1);
                let part = &other[from..from + random.below(other.len() - from + 1)];
                drop(bytes.splice(at..at, part.iter().copied()));
            }
            7 => {
                // Another number, as large as it gets.
                let end = bytes.iter().skip(at).take_while(|it| it.is_ascii_digit()).count();
                drop(bytes.splice(at..at + end, b"99999999999999999999".iter().copied()));
            }
            _ => {
                let lines = lines(&bytes);
                let keep = |random: &mut Random| random.below(8) > 0;
                bytes = lines.into_iter().filter(|_| keep(random)).collect::<Vec<_>>().concat();
            }
        }
        bytes.truncate(INPUT_BYTES_MAX);
    }
    bytes
}

/// `[… 12345 bytes left out]`, at either end of one side of a comparison.
const LEFT_OUT_BYTES: usize = 40;

fn check(input: &Input<'_>) {
    let mut reading = None;
    let looks = work::lines(|| reading = Some(read(input)));
    let reading = reading.unwrap();
    let told = || String::from_utf8_lossy(input.bytes).into_owned();
    let all = input.bytes.iter().filter(|it| matches!(it, b'\n' | b'\r')).count() as u64 + 8;
    assert!(looks <= LOOKS_PER_LINE_MAX * all, "{looks} looks at {all} lines:\n{}", told());
    for it in &reading.diagnostics {
        assert!(!it.message.contains("gave up on"), "{}:\n{}", it.message, told());
        assert!(it.message.len() <= MESSAGE_BYTES_MAX && it.also_at.len() <= ALSO_AT_MAX);
    }
    for it in &reading.failing_tests {
        assert!(it.name.len() <= NAME_BYTES_MAX && it.message.len() <= MESSAGE_BYTES_MAX);
        let mut sides = it.expected.iter().chain(&it.actual);
        // What was left out is told beside that.
        assert!(sides.all(|it| it.len() <= COMPARED_BYTES_MAX + 2 * LEFT_OUT_BYTES));
    }
    assert!(reading.diagnostics.len() <= DIAGNOSTICS_MAX);
    assert!(reading.failing_tests.len() <= FAILING_TESTS_MAX);
    let excerpts = reading.failing_tests.iter().filter_map(|it| it.excerpt.as_ref());
    let excerpts = excerpts.chain(reading.diagnostics.iter().filter_map(|it| it.excerpt.as_ref()));
    for it in excerpts.chain(&reading.tail) {
        assert!(it.text.len() <= EXCERPT_BYTES_MAX && it.offset < input.bytes.len() as u64);
    }
}

#[test]
fn damaged_logs_and_documents_are_read_within_every_bound() {
    let mut all = Vec::new();
    seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut all);
    let documents: Vec<&Seed> = all.iter().filter(|it| it.is_document).collect();
    let script = ["make".to_owned(), "check".to_owned()];
    let mut random = Random(4);
    for _ in 0..ROUNDS {
        let (seed, other) = (random.one(&all), random.one(&all));
        let bytes = mutate(&mut random, &seed.bytes, &other.bytes);
        let document = random.one(&documents);
        let document = mutate(&mut random, &document.bytes, &other.bytes);
        let sides = [Side { name: "out/result", bytes: &document }];
        check(&Input {
            bytes: &bytes,
            command: if random.below(3) == 0 { &script } else { &seed.command },
            exit_code: Some(i32::from(random.below(5) > 0)),
            roots: &["/build"],
            sides: if random.below(2) == 0 { &sides } else { &[] },
            baseline: (random.below(4) == 0).then_some(&other.bytes[..]),
            ..Input::default()
        });
    }
}
