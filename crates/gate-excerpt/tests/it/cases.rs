//! Real logs with their right answers, the answer that a reading gives, and the rules that compare them.

use std::fmt;
use std::path::Path;

use gate_core::LogStream;
use gate_excerpt::{Answer, AnswerError, Asked, Input, Side, command_words, read};
use serde_json::Value;

/// One log.
pub(crate) struct Case {
    /// Its file's name.
    pub(crate) name: String,
    log: Vec<u8>,
    sides: Vec<(String, Vec<u8>)>,
    words: Vec<String>,
    root: String,
    /// The right answer.
    pub(crate) expected: Value,
}

impl Case {
    fn read(path: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".expect.json").unwrap_or(name).to_owned();
        let expected: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let log = std::fs::read(path.with_file_name(format!("{name}.log")))?;
        let input = &expected["input"];
        let command = input["command"].as_str().unwrap_or_default();
        let words = command_words(command);
        let root = input["cwd"].as_str().unwrap_or_default().to_owned();
        let mut sides = Vec::new();
        for file in expected["side_files"].as_array().into_iter().flatten() {
            let file = file.as_str().unwrap_or_default();
            let written = file.split_once(".side.").map_or(file, |it| it.1).to_owned();
            sides.push((written, std::fs::read(path.with_file_name(file))?));
        }
        Ok(Self { name, log, sides, words, root, expected })
    }

    /// What the reader gets, for the time of a call.
    pub(crate) fn with_input<T>(&self, read: impl FnOnce(&Input<'_>) -> T) -> T {
        let input = &self.expected["input"];
        let sides: Vec<Side<'_>> =
            self.sides.iter().map(|(name, bytes)| Side { name, bytes }).collect();
        let number = |name: &str| input[name].as_i64().and_then(|it| i32::try_from(it).ok());
        read(&Input {
            bytes: &self.log,
            command: &self.words,
            exit_code: number("exit_code"),
            signal: number("signal"),
            timed_out: input["timed_out"].as_bool().unwrap_or(false),
            stream: LogStream::Merged,
            roots: &[&self.root],
            sides: &sides,
            ..Input::default()
        })
    }
}

/// All cases of a directory and those below it, by name.
pub(crate) fn all(directory: &Path) -> Result<Vec<Case>, Box<dyn std::error::Error>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            cases.extend(all(&path)?);
        } else if path.to_str().is_some_and(|it| it.ends_with(".expect.json")) {
            cases.push(Case::read(&path)?);
        }
    }
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    Ok(cases)
}

/// What the gate says of it, as a check of kind `tests`.
pub(crate) fn answer(case: &Case) -> Answer {
    case.with_input(|input| Answer::new(input, &read(input), Asked::Tests))
}

/// A share of right answers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    /// Right answers.
    pub(crate) right: usize,
    /// All answers.
    pub(crate) all: usize,
}

impl Share {
    fn add(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.right as f64 / self.all.max(1) as f64;
        write!(f, "{}/{} = {percent:.1}%", self.right, self.all)
    }
}

/// How many answers are right, by the rules of the cases.
#[derive(Debug, Default)]
pub(crate) struct Score {
    /// The tool's name.
    pub(crate) tool: Share,
    /// The first error, or one as good, at rank 1.
    pub(crate) first: Share,
    /// Expected tests that were named.
    pub(crate) recall: Share,
    /// Named tests that were expected.
    pub(crate) precision: Share,
    /// Single figures.
    pub(crate) counts: Share,
    /// Texts that the excerpt must hold.
    pub(crate) must_contain: Share,
    /// Green-looking runs that must not pass.
    pub(crate) verdicts: Share,
    /// Bytes of each excerpt.
    pub(crate) sizes: Vec<usize>,
    /// What was wrong, by case.
    pub(crate) misses: Vec<String>,
}

impl Score {
    /// Compares one answer.
    pub(crate) fn add(&mut self, case: &Case, answer: &Answer) {
        let expected = &case.expected;
        self.tool.add(expected["tool"].as_str() == Some(&answer.tool));
        self.sizes.push(answer.excerpt.chars().count());
        let mut misses = Vec::new();
        if !expected["first_error"].is_null() {
            let also = expected["also_accept"].as_array().cloned().unwrap_or_default();
            let accepted = also.iter().chain([&expected["first_error"]]);
            let is_right =
                answer.errors.first().is_some_and(|it| accepted.clone().any(|want| hits(it, want)));
            self.first.add(is_right);
            misses.extend((!is_right).then_some("first"));
        }
        misses.extend(self.add_tests(expected, answer));
        for (name, got) in [("passed", answer.counts.0), ("failed", answer.counts.1)] {
            if let Some(want) = expected["counts"][name].as_u64() {
                self.counts.add(want == got);
                misses.extend((want != got).then_some(name));
            }
        }
        let shown = spaced(&answer.excerpt);
        for text in
            expected["must_contain"].as_array().into_iter().flatten().filter_map(Value::as_str)
        {
            let is_shown = shown.contains(&spaced(text));
            self.must_contain.add(is_shown);
            misses.extend((!is_shown).then_some("must_contain"));
        }
        if let Some(verdict) = expected["verdict"].as_str() {
            let is_right = answer.passes == (verdict == "PASS");
            self.verdicts.add(is_right);
            misses.extend((!is_right).then_some("verdict"));
        }
        if !misses.is_empty() {
            self.misses.push(format!("{} ({})", case.name, misses.join(", ")));
        }
    }

    fn add_tests(&mut self, expected: &Value, answer: &Answer) -> Option<&'static str> {
        let wanted: Vec<&str> = expected["failing_tests"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut left: Vec<&str> = answer.failing_tests.iter().map(String::as_str).collect();
        let mut is_right = true;
        for want in &wanted {
            let at = left.iter().position(|got| is_same_test(got, want));
            self.recall.add(at.is_some());
            is_right &= at.is_some();
            if let Some(at) = at {
                left.remove(at);
                self.precision.add(true);
            }
        }
        left.iter().for_each(|_| self.precision.add(false));
        (!is_right || !left.is_empty()).then_some("tests")
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        let at = |percent: usize| sizes.get(sizes.len() * percent / 100).copied().unwrap_or(0);
        writeln!(f, "cases {} | tool {} | first error @1 {}", sizes.len(), self.tool, self.first)?;
        writeln!(
            f,
            "failing tests: recall {} precision {} | counts {}",
            self.recall, self.precision, self.counts
        )?;
        writeln!(
            f,
            "must_contain {} | verdict on green-looking runs {}",
            self.must_contain, self.verdicts
        )?;
        let longest = sizes.last().copied().unwrap_or(0);
        writeln!(f, "excerpt characters: median {} p95 {} max {longest}", at(50), at(95))?;
        write!(f, "missed: {}", self.misses.join(" · "))
    }
}

fn hits(told: &AnswerError, want: &Value) -> bool {
    let file = told.location.as_ref().map_or("", |it| it.file.as_str()).replace('\\', "/");
    if let Some(wanted) = want["file"].as_str() {
        let wanted = wanted.replace('\\', "/");
        if file.is_empty() || !(file.ends_with(&wanted) || wanted.ends_with(&file)) {
            return false;
        }
    }
    let line = told.location.as_ref().and_then(|it| it.line).map(u64::from);
    let is_line = want["line"].as_u64().is_none_or(|it| line == Some(it));
    is_line
        && spaced(&told.message).contains(&spaced(want["message_contains"].as_str().unwrap_or("")))
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Suites are joined differently by each runner: the last segment counts.
fn is_same_test(one: &str, two: &str) -> bool {
    last_segment(one) == last_segment(two) || spaced(one) == spaced(two)
}

fn last_segment(name: &str) -> &str {
    let after = |separator: &str| name.rfind(separator).map_or(0, |it| it + separator.len());
    let start = ["::", " > ", " › ", "#", " - "].iter().map(|it| after(it)).max().unwrap_or(0);
    let segment = if start < name.len() { name[start..].trim() } else { name };
    match segment.rsplit_once('.') {
        Some((_, last)) if is_identifier(last) => last,
        Some(_) | None => segment,
    }
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|it| it.is_ascii_alphabetic() || it == b'_')
        && bytes.all(|it| it.is_ascii_alphanumeric() || it == b'_')
}
