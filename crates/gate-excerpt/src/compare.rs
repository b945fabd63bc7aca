//! Finds both sides of a comparison that failed: what should have been, and what was. One place for all runners.

use crate::clean::Log;
use crate::limits::{COMPARED_BYTES_MAX, COMPARED_LINES_MAX, MESSAGE_BYTES_MAX};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

/// `left: 1`, `Expected substring: "a"`, `  actual  : 1`, ` but was: 2`.
static LABEL: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?i:(expected|wanted|want|right)|(received|actual|got|but was|left))(?: value| substring| string| length",
        r"| pattern| path| number of calls| return value| object| message)? *: ?(.*)$"
    ))
});
/// `expected: <2> but was: <1>`.
static BUT_WAS: Pattern =
    Pattern::new(|| pattern(r"expected: ?<(?P<expected>.*?)> but was: ?<(?P<actual>.*)>"));
/// `expected 1 to equal 2`, also `to deeply equal`, `to be 2 // Object.is equality`.
static CHAI: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"\bexpected (?P<actual>.+?) to (?:(?:deeply|strictly|loosely|deep|have) )*(?:equal|eql|be|match|include|contain)",
        r" (?P<expected>.+?)(?: // .*)?$"
    ))
});
/// `got 1, want 2`, `f() = 1; want 2`.
static GOT_WANT: Pattern = Pattern::new(|| {
    pattern(
        r"(?:\bgot:? =? ?| = )(?P<actual>[^=].*?)[,;] (?:but )?(?:want(?:ed)?|expected):? (?P<expected>.+)$",
    )
});
/// `expected 2, got 1`, `want 2; got 1`.
static WANT_GOT: Pattern = Pattern::new(|| {
    pattern(
        r"\b(?i:expected|want(?:ed)?):? (?P<expected>.+?)(?:[,;]| but)(?: but)? (?:got|was|received|found):? (?P<actual>.+)$",
    )
});
/// `Failed asserting that 1 matches expected 2.`
static PHPUNIT: Pattern = Pattern::new(|| {
    pattern(
        r"^Failed asserting that (?P<actual>.+?) (?:matches expected|is identical to|equals) (?P<expected>.+?)\.$",
    )
});

/// `Expected:<2>. Actual:<1>.`, `("1") is not equal to ("2")`, `<2> expected but was <1>`, `(add(1) → 1) == 2`,
/// `Assertion 'add(1) == 2' failed: add(1) == 1, 2 == 2`.
static OTHERS: [Pattern; 5] = [
    Pattern::new(|| pattern(r"Expected:<(?P<expected>.*?)>\. Actual:<(?P<actual>.*?)>")),
    Pattern::new(|| {
        pattern(r#"\("?(?P<actual>.*?)"?\) is not equal to \("?(?P<expected>.*?)"?\)"#)
    }),
    Pattern::new(|| pattern(r"<(?P<expected>.+?)> expected but was <(?P<actual>.+)>$")),
    Pattern::new(|| {
        pattern(r"^Expectation failed: \(.+? → (?P<actual>.+?)\) == (?P<expected>.+)$")
    }),
    Pattern::new(|| {
        pattern(r"^Assertion '.+ == .+' failed: .+? == (?P<actual>.+?), .+? == (?P<expected>.+)$")
    }),
];

/// What unittest says of two sequences before it shows them.
const KINDS: [&str; 3] = ["Lists differ: ", "Tuples differ: ", "Sequences differ: "];

/// Both sides, as the runner printed them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) expected: Option<String>,
    pub(crate) actual: Option<String>,
}

impl Sides {
    fn both(expected: &str, actual: &str) -> Option<Self> {
        let (expected, actual) = (expected.trim(), actual.trim());
        let is_told = !expected.is_empty() && !actual.is_empty();
        is_told
            .then(|| Self { expected: Some(expected.to_owned()), actual: Some(actual.to_owned()) })
    }
}

/// Looks at the lines of a failure first, for a message is shortened; at its message then.
pub(crate) fn find(message: &str, log: &Log, cut: &Cut) -> Option<Sides> {
    let start = cut.keys.iter().min().copied().unwrap_or(cut.range.start).max(cut.range.start);
    let end = cut.range.end.min(start + COMPARED_LINES_MAX);
    let lines: Vec<&str> = match &cut.text {
        Some((_, text)) => text.lines().take(COMPARED_LINES_MAX).collect(),
        None => log.slice(start..end).map(|it| it.1).collect(),
    };
    in_lines(&lines).or_else(|| in_message(message))
}

/// Looks at text that is not a part of the log, such as a field of a machine-readable file.
pub(crate) fn in_text(text: &str) -> Option<Sides> {
    let lines: Vec<&str> = text.lines().take(COMPARED_LINES_MAX).collect();
    in_lines(&lines).or_else(|| in_message(text.lines().next().unwrap_or(text)))
}

fn in_lines(lines: &[&str]) -> Option<Sides> {
    // pytest's own lines hold the values; around them stands the source.
    let told: Vec<&str> = lines.iter().copied().filter(|it| it.starts_with("E   ")).collect();
    let lines = if told.is_empty() { lines } else { &told };
    let bare: Vec<&str> = lines.iter().map(|it| bare(it)).collect();
    asserted(&bare).or_else(|| labelled(lines, &bare)).or_else(|| difference(&bare)).or_else(|| {
        let is_short = |it: &&&str| it.len() <= MESSAGE_BYTES_MAX;
        bare.iter().filter(is_short).find_map(|it| in_message(it))
    })
}

/// Without what runners put before each line of an explanation.
fn bare(line: &str) -> &str {
    let line = line.strip_prefix("E   ").unwrap_or(line);
    line.trim_start_matches([' ', '\t', '|', '│', '#', '┊', '├']).trim_end()
}

/// `assert 1 == 2`, `AssertionError: 1 != 2`, and `1 !== 2` on its own: the value that was stands left.
fn asserted(lines: &[&str]) -> Option<Sides> {
    let mut announced = false;
    for line in lines.iter().filter(|it| !it.is_empty()) {
        let text = line.strip_prefix("AssertionError: ").unwrap_or(line);
        let sides = if let Some(text) = text.strip_prefix("assert ") {
            split(text, " == ")
        } else if text.len() < line.len() {
            let text = text.split(" : ").next().unwrap_or(text);
            split(KINDS.iter().find_map(|it| text.strip_prefix(it)).unwrap_or(text), " != ")
        } else if let Some(text) = text.strip_prefix("values: ") {
            // doctest shows the values in the macro's brackets.
            let inner = text.split_once("( ").map_or("", |it| it.1).trim_end_matches(" )");
            split(inner, " == ")
        } else if announced {
            split(text, " !== ").or_else(|| split(text, " == "))
        } else {
            None
        };
        if let Some((actual, expected)) = sides {
            return Sides::both(expected, actual);
        }
        announced = text.ends_with(" to be strictly equal:")
            || text.ends_with(" to be loosely equal:")
            || text == "with expansion:";
    }
    None
}

/// At the operator that stands outside of quotes and brackets.
fn split<'t>(text: &'t str, operator: &str) -> Option<(&'t str, &'t str)> {
    let bytes = text.as_bytes();
    let (mut quote, mut depth, mut at) = (None, 0_i32, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth -= 1,
            (None, b' ') if depth <= 0 && bytes[at..].starts_with(operator.as_bytes()) => {
                return Some((&text[..at], &text[at + operator.len()..]));
            }
            (None, _) => {}
        }
        at += 1;
    }
    // An apostrophe that opens nothing: the first operator will do.
    text.split_once(operator)
}

/// A line for each side.
fn labelled(lines: &[&str], bare: &[&str]) -> Option<Sides> {
    let mut sides = Sides::default();
    for (index, line) in bare.iter().enumerate() {
        let may = line
            .starts_with(['E', 'e', 'W', 'w', 'R', 'r', 'A', 'a', 'G', 'g', 'B', 'b', 'L', 'l']);
        if !may || !line.contains(':') {
            continue;
        }
        let Some(found) = LABEL.captures(line) else { continue };
        let value = match group(&found, 3).trim() {
            // The value stands below its label.
            "" => bare.get(index + 1).copied().filter(|it| LABEL.captures(it).is_none()),
            value => Some(value),
        };
        let Some(value) = value.filter(|it| !it.is_empty()) else { continue };
        let side = if found.get(1).is_some() { &mut sides.expected } else { &mut sides.actual };
        // A value over several lines is indented further than its label.
        let is_more =
            |it: &&&str| indent(it) > indent(lines[index]) + 1 && !LABEL.is_match(self::bare(it));
        let rest = lines[index + 1..].iter().take_while(is_more);
        let more = if group(&found, 3).trim().is_empty() { 1 } else { 0 };
        let rest: Vec<&str> = rest.skip(more).map(|it| it.trim_end()).collect();
        side.get_or_insert_with(|| join(value, &rest));
        if sides.expected.is_some() && sides.actual.is_some() {
            return Some(sides);
        }
    }
    None
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn join(first: &str, rest: &[&str]) -> String {
    let mut text = first.to_owned();
    for line in rest {
        if text.len() > COMPARED_BYTES_MAX {
            break;
        }
        text.push('\n');
        text.push_str(line);
    }
    text
}

/// The signs of a difference's lines: that of what was expected, and that of what was.
fn signs(header: &str, next: &str) -> Option<(char, char)> {
    let (header, next) = (header.to_ascii_lowercase(), next.to_ascii_lowercase());
    match header.as_str() {
        "+ expected - actual" | "+ expected, - actual" => Some(('+', '-')),
        "- expected + actual" | "+ actual - expected" | "+ received - expected" => Some(('-', '+')),
        "diff < left / right > :" => Some(('>', '<')),
        _ => {
            let is_expected =
                header.starts_with("- expected") || header.starts_with("--- expected");
            let is_actual = ["+ received", "+ actual", "+++ actual", "+++ received"]
                .iter()
                .any(|it| next.starts_with(it));
            (is_expected && is_actual).then_some(('-', '+'))
        }
    }
}

/// The changed lines of a difference under its header.
fn difference(lines: &[&str]) -> Option<Sides> {
    let next = |index: usize| lines.get(index + 1).copied().unwrap_or("");
    let start = (0..lines.len()).find(|it| signs(lines[*it], next(*it)).is_some())?;
    let (expected, actual) = signs(lines[start], next(start))?;
    let has_two = signs(lines[start], "").is_none();
    let (mut wanted, mut was) = (Vec::new(), Vec::new());
    let body = &lines[start + if has_two { 2 } else { 1 }..];
    for line in body {
        match line.strip_prefix([expected, actual]) {
            Some(text) if line.starts_with(expected) => wanted.push(text.trim()),
            Some(text) => was.push(text.trim()),
            // The context of a change; a stack ends it.
            None if line.starts_with("at ") || line.starts_with('❯') => break,
            None => {}
        }
    }
    let text = |side: &[&str]| side.split_first().map(|(first, rest)| join(first, rest));
    let sides = Sides { expected: text(&wanted), actual: text(&was) };
    (sides != Sides::default()).then_some(sides)
}

/// In one sentence.
fn in_message(message: &str) -> Option<Sides> {
    let forms: [&Pattern; 5] = [&BUT_WAS, &PHPUNIT, &CHAI, &GOT_WANT, &WANT_GOT];
    let words = ["expected", "want", "asserting", "Expected", "Want"];
    let sentence = || forms.iter().find_map(|form| form.captures(message));
    if words.iter().any(|it| message.contains(it))
        && let Some(found) = sentence()
    {
        return Sides::both(&found["expected"], &found["actual"]);
    }
    let has_words =
        ["Expected:<", "is not equal to", "expected but was", "Expectation failed", "Assertion '"];
    if has_words.iter().any(|it| message.contains(it))
        && let Some(found) = OTHERS.iter().find_map(|form| form.captures(message))
    {
        return Sides::both(&found["expected"], &found["actual"]);
    }
    asserted(&[message])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(text: &str) -> (String, String) {
        let found = in_text(text).unwrap_or_default();
        (found.expected.unwrap_or_default(), found.actual.unwrap_or_default())
    }

    #[test]
    fn each_runners_comparison_has_its_two_sides() {
        for (text, expected, actual) in [
            (
                "    def test_a():\n>       assert f(1) == 2\nE       assert 1 == 2\nE        +  where 1 = f(1)",
                "2",
                "1",
            ),
            (
                "E       AssertionError: no\nE       assert 'a == b' == 'c'\nE         - c",
                "'c'",
                "'a == b'",
            ),
            (
                "t.py:7: in test_a\n    assert total(items, tax) == want\nE   assert 6 == 7\nE    +  where 6 = total([1, 2], 2)",
                "7",
                "6",
            ),
            ("AssertionError: 1 != 2 : the sum", "2", "1"),
            (
                "AssertionError: Lists differ: [1, 2] != [1, 3]\n\n- [1, 2]\n+ [1, 3]",
                "[1, 3]",
                "[1, 2]",
            ),
            ("E       AssertionError: Tuples differ: (1,) != (2,)", "(2,)", "(1,)"),
            ("assertion `left == right` failed: sum\n  left: 1\n right: 2", "2", "1"),
            ("    expect(received).toBe(expected)\n\n    Expected: 2\n    Received: 1", "2", "1"),
            ("    Expected substring: \"x\"\n    Received string:    \"y\"", "\"x\"", "\"y\""),
            (
                "    - Expected  - 1\n    + Received  + 1\n\n      Object {\n    -   \"a\": 2,\n    +   \"a\": 1,\n      }\n\n      at x",
                "\"a\": 2,",
                "\"a\": 1,",
            ),
            ("      + expected - actual\n\n      -1\n      +2\n", "2", "1"),
            ("expected 1 to equal 2", "2", "1"),
            ("AssertionError: expected 2 to be 3 // Object.is equality", "3", "2"),
            ("Expected values to be strictly equal:\n\n1 !== 2\n", "2", "1"),
            ("    a_test.go:5: Add(1, 2) = 4; want 3", "3", "4"),
            ("    a_test.go:5: got 4, want 3", "3", "4"),
            (
                "        \tError:      \tNot equal: \n        \t            \texpected: 2\n        \t            \tactual  : 1",
                "2",
                "1",
            ),
            ("org.opentest4j.AssertionFailedError: expected: <2> but was: <1>", "2", "1"),
            ("Failed asserting that 1 matches expected 2.", "2", "1"),
            ("       expected: 2\n            got: 1\n", "2", "1"),
            ("--- Expected\n+++ Actual\n@@ @@\n-'a'\n+'b'\n", "'a'", "'b'"),
            ("Expected: 2\n  Actual: 1", "2", "1"),
            ("with expansion:\n  1 == 2", "2", "1"),
            ("ERROR: CHECK( f(1) == 2 ) is NOT correct!\n  values: CHECK( 1 == 2 )", "2", "1"),
            ("Assert.AreEqual failed. Expected:<2>. Actual:<1>. ", "2", "1"),
            ("XCTAssertEqual failed: (\"1\") is not equal to (\"2\") - sum", "2", "1"),
            ("<2> expected but was <1>", "2", "1"),
            ("Expectation failed: (add(0, 1) → 1) == 2", "2", "1"),
            ("Assertion 'f(1) == 2' failed: f(1) == 1, 2 == 2", "2", "1"),
            ("#          got: '1'\n#     expected: '2'", "'2'", "'1'"),
            ("     left:  1\n     right: 2", "2", "1"),
            ("expected:<2> but was:<1>", "2", "1"),
        ] {
            assert_eq!(sides(text), (expected.to_owned(), actual.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_compares_nothing_has_no_sides() {
        for text in [
            "",
            "boom",
            "KeyError: 'left'",
            "expected token `;`",
            "error: expected one of `(`",
            "left the room",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
    }
}
