//! Any bytes, any size.

use gate_core::LogStream;
use gate_core::limits::EXCERPT_BYTES_MAX;
use gate_excerpt::{Input, read};

use crate::cases;

/// Commands that choose each parser, and none.
const COMMANDS: [&[&str]; 28] = [
    &["cargo", "test"],
    &["cargo", "nextest", "run"],
    &["pytest", "-q"],
    &["python", "-m", "unittest"],
    &["npx", "jest"],
    &["vitest"],
    &["mocha"],
    &["node", "--test"],
    &["go", "test", "-v"],
    &["make", "check"],
    &["mvn", "test"],
    &["gradle", "test"],
    &["dotnet", "test"],
    &["dotnet", "build"],
    &["swift", "test"],
    &["phpunit"],
    &["php", "a.php"],
    &["rspec"],
    &["ruby", "a.rb"],
    &["rake", "test"],
    &["mix", "test"],
    &["prove", "t"],
    &["bats", "t"],
    &["ctest"],
    &["./t", "--gtest_color=no"],
    &["g++", "a.cpp"],
    &["valgrind", "./t"],
    &["java", "App"],
];

/// `SplitMix64`: the same bytes on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("it is below a usize")
    }
}

fn check(bytes: &[u8], command: &[&str]) {
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    let input = Input {
        bytes,
        command: &command,
        exit_code: Some(1),
        signal: None,
        timed_out: false,
        stream: LogStream::Merged,
        roots: &["/w"],
        ..Input::default()
    };
    let reading = read(&input);
    let gave_up = reading.diagnostics.iter().find(|it| it.message.contains("gave up on this log"));
    assert_eq!(gave_up, None, "a parser panicked on {:?}", String::from_utf8_lossy(bytes));
    let excerpts = reading.failing_tests.iter().filter_map(|it| it.excerpt.as_ref());
    let excerpts = excerpts.chain(reading.diagnostics.iter().filter_map(|it| it.excerpt.as_ref()));
    for excerpt in excerpts.chain(&reading.tail) {
        assert!(excerpt.text.len() <= EXCERPT_BYTES_MAX && excerpt.offset < bytes.len() as u64);
    }
}

#[test]
fn random_bytes_are_read() {
    let mut random = Random(1);
    for _ in 0..300 {
        let length = random.below(3000);
        let bytes: Vec<u8> =
            (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        check(&bytes, COMMANDS[random.below(COMMANDS.len())]);
    }
}

/// Lines of real logs, shuffled, cut, doubled, and torn: what no tool prints, but a killed one might.
#[test]
fn torn_and_shuffled_logs_are_read() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let logs: Vec<Vec<u8>> = cases::all(directory.as_ref())
        .unwrap()
        .iter()
        .map(|case| case.with_input(|it| it.bytes.to_vec()))
        .filter(|it| !it.is_empty())
        .collect();
    let lines: Vec<&[u8]> =
        logs.iter().flat_map(|it| it.split_inclusive(|byte| *byte == b'\n')).collect();
    let mut random = Random(2);
    for round in 0..600 {
        let mut bytes = Vec::new();
        if round % 2 == 0 {
            let log = &logs[random.below(logs.len())];
            let start = random.below(log.len());
            bytes.extend_from_slice(&log[start..start + random.below(log.len() - start)]);
            for _ in 0..random.below(20) {
                if let Some(byte) = bytes.get(random.below(bytes.len())).copied() {
                    let at = random.below(bytes.len());
                    bytes[at] = byte;
                }
            }
        } else {
            for _ in 0..random.below(200) {
                let line = lines[random.below(lines.len())];
                bytes.extend_from_slice(&line[..line.len() - random.below(line.len() / 4 + 1)]);
            }
        }
        check(&bytes, COMMANDS[random.below(COMMANDS.len())]);
    }
}

#[test]
fn an_error_in_the_middle_of_a_huge_line_is_found() {
    let mut bytes = b"item=ok,".repeat(13 * 1024 * 1024);
    let middle = bytes.len() / 2;
    bytes.splice(middle..middle, *b" ERROR in ./src/app.js 12:7 Unexpected token ");
    let command = ["./bundle".to_owned()];
    let reading = read(&Input {
        bytes: &bytes,
        command: &command,
        exit_code: Some(1),
        signal: None,
        timed_out: false,
        stream: LogStream::Merged,
        roots: &[],
        ..Input::default()
    });
    // More than the reader keeps of a log: the middle of it is not looked at, and that is no failure.
    assert!(bytes.len() > 100 * 1024 * 1024);
    assert!(reading.diagnostics[0].message.len() < 1024);

    let start = middle - 1024 * 1024;
    let reading = read(&Input {
        bytes: &bytes[start..middle + 1024 * 1024],
        command: &command,
        exit_code: Some(1),
        signal: None,
        timed_out: false,
        stream: LogStream::Merged,
        roots: &[],
        ..Input::default()
    });
    let first = &reading.diagnostics[0];
    let location = first.location.as_ref().unwrap();
    assert_eq!((location.file.as_str(), location.line), ("src/app.js", Some(12)));
    assert!(
        first.message.starts_with("ERROR in ./src/app.js 12:7 Unexpected token"),
        "{}",
        first.message
    );
}

#[test]
fn a_failure_among_fifty_thousand_lines_is_found() {
    let mut log =
        String::from("============ test session starts ============\ncollected 2 items\n\n");
    log.push_str("test_svc.py::test_before row 0 error=none\n");
    log.extend((0..50_000).map(|it| format!("row {it} error=none\n")));
    log.push_str("PASSED [ 50%]\ntest_svc.py::test_polls FAILED [100%]\n\n");
    log.push_str(
        "=================================== FAILURES ===================================\n",
    );
    log.push_str(
        "__________________________________ test_polls __________________________________\n\n",
    );
    log.push_str(
        "    def test_polls():\n>       assert polls() == 25000\nE       assert 24999 == 25000\n\n",
    );
    log.push_str("test_svc.py:10: AssertionError\n");
    log.push_str(
        "------------------------------ Captured log call -------------------------------\n",
    );
    log.extend((0..50_000).map(|it| format!("INFO svc:svc.py:7 poll {it} errors=0 failed=0\n")));
    log.push_str(
        "=========================== short test summary info ============================\n",
    );
    log.push_str("FAILED test_svc.py::test_polls - assert 24999 == 25000\n");
    log.push_str(
        "========================= 1 failed, 1 passed in 2.90s ==========================\n",
    );
    let command = ["pytest".to_owned(), "-s".to_owned()];
    let reading = read(&Input {
        bytes: log.as_bytes(),
        command: &command,
        exit_code: Some(1),
        signal: None,
        timed_out: false,
        stream: LogStream::Merged,
        roots: &[],
        ..Input::default()
    });
    let [test] = &reading.failing_tests[..] else { panic!("{:?}", reading.failing_tests) };
    assert_eq!(test.location.as_ref().unwrap().line, Some(10));
    assert!(test.excerpt.as_ref().unwrap().text.len() < 400);
    let tally = reading.tally.unwrap();
    assert_eq!((tally.passed, tally.failed), (1, 1));
}

#[test]
fn the_one_error_in_a_crowd_of_others_is_told_and_the_crowd_is_counted() {
    let mut lines: Vec<String> =
        (0..30_000).map(|it| format!("src/a{it}.c:{}:3: error: no field {it}", it % 900)).collect();
    lines[20_000] = "src/b.c:1:10: fatal error: config.h: No such file or directory".to_owned();
    lines.push("src/z.c:7:1: error: control reaches the end".to_owned());
    let log = lines.join("\n");
    let command = ["make".to_owned()];
    let reading = read(&Input {
        bytes: log.as_bytes(),
        command: &command,
        exit_code: Some(2),
        ..Input::default()
    });
    let told: Vec<&str> = reading.diagnostics.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(told[0], "config.h: No such file or directory");
    assert!(told.contains(&"control reaches the end"), "{told:?}");
    let left = reading.diagnostics.last().unwrap();
    assert_eq!(left.message, "28935 more lines look like errors told here; not listed");
}
