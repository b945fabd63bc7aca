//! Every real log under `fixtures/` gives its right answer, but for those named here.

use std::path::Path;

use gate_excerpt::{Input, read};

use crate::cases::{self, Score, Share};

/// What is read wrongly, and why. A case that comes right must leave this list.
const KNOWN_MISSES: [(&str, &str); 5] = [
    ("gamed-mocha-exit-zero (tests)", "the log does not hold the name of the test that ran"),
    (
        "gamed-node-test-todo (verdict)",
        "one test passed; only the baseline's count shows that one is missing",
    ),
    ("gamed-pytest-report-rewritten (verdict)", "the log is that of a passing run"),
    (
        "gamed-pytest-xfail (verdict)",
        "one test passed; only the baseline's count shows that one is missing",
    ),
    ("generic-stdout-only (passed, failed)", "a home-made summary is no runner's"),
];

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"))
}

#[test]
fn the_readme_tells_how_many_logs_are_of_real_runs() {
    let cases = cases::all(directory()).unwrap();
    let by_hand = cases.iter().filter(|it| it.expected["synthetic"].is_string()).count();
    let told = format!(
        "{} logs of real runs, and {by_hand} that were written by hand",
        cases.len() - by_hand
    );
    let readme = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    assert!(readme.contains(&told), "the README does not say: {told}");
}

fn score(families: &[&str]) -> Score {
    let mut score = Score::default();
    for case in cases::all(directory()).expect("the fixtures can be read") {
        let tool = case.expected["tool"].as_str().expect("every case names its tool");
        if families.is_empty() || families.contains(&tool) {
            score.add(&case, &cases::answer(&case));
        }
    }
    assert!(score.tool.all > 0, "no case of {families:?}");
    score
}

/// Nothing asked is nothing missed.
fn reaches(share: Share, percent: usize) -> bool {
    share.right * 100 >= share.all * percent
}

#[test]
fn real_logs_are_read_rightly_but_for_the_known_misses() {
    let known: Vec<&str> = KNOWN_MISSES.iter().map(|it| it.0).collect();
    assert_eq!(score(&[]).misses, known);
}

#[test]
fn rust_python_and_generic_logs_reach_their_bars() {
    for families in [
        &["cargo", "clippy", "rustfmt", "cargo-nextest"][..],
        &["pytest", "unittest", "python", "ruff", "mypy", "flake8", "pylint", "black", "pip"],
        &["generic", "git", "make", "process"],
    ] {
        let score = score(families);
        assert!(reaches(score.first, 95), "{families:?}: {score}");
        assert!(reaches(score.recall, 98) && reaches(score.precision, 95), "{families:?}: {score}");
        assert!(reaches(score.must_contain, 95), "{families:?}: {score}");
    }
    let score = score(&["cargo", "cargo-nextest", "pytest", "unittest"]);
    assert!(reaches(score.counts, 97), "{score}");
}

#[test]
fn every_reading_stays_within_its_bounds() {
    use gate_core::limits::{EXCERPT_BYTES_MAX, TITLE_BYTES_MAX};
    for case in cases::all(directory()).unwrap() {
        let reading = case.with_input(read);
        let shown = reading.failing_tests.iter().map(|it| (&it.message, &it.excerpt));
        let shown = shown.chain(reading.diagnostics.iter().map(|it| (&it.message, &it.excerpt)));
        for (message, excerpt) in shown {
            assert!(
                message.len() <= 2 * TITLE_BYTES_MAX && !message.contains('\n'),
                "{}",
                case.name
            );
            if let Some(excerpt) = excerpt {
                assert!(excerpt.text.len() <= EXCERPT_BYTES_MAX, "{}", case.name);
                assert!(!excerpt.text.contains('\u{1b}'), "{}", case.name);
            }
        }
    }
}

#[test]
fn an_excerpt_starts_at_its_offset_in_the_raw_log() {
    for case in cases::all(directory()).unwrap() {
        // Without a root nothing is cut from the text.
        let reading = case.with_input(|it| read(&Input { roots: &[], ..*it }));
        let raw = case.with_input(|it| it.bytes.to_vec());
        let excerpts = reading.failing_tests.into_iter().filter_map(|it| it.excerpt);
        for excerpt in excerpts.chain(reading.diagnostics.into_iter().filter_map(|it| it.excerpt)) {
            let first = excerpt.text.chars().next().unwrap();
            let at = usize::try_from(excerpt.offset).unwrap();
            let there = String::from_utf8_lossy(&raw[at..raw.len().min(at + 8)]).chars().next();
            // What a machine-readable document says is shown in words.
            if matches!(there, Some('{' | '[' | '<')) {
                continue;
            }
            assert_eq!(there, Some(first), "{}: {}", case.name, excerpt.text);
        }
    }
}
