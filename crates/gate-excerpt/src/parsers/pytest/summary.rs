//! pytest's last line, such as `1 failed, 2 passed in 0.12s`, with or without its rule.

use crate::draft::Counts;
use crate::pattern::{Pattern, group, pattern};

static RULED: Pattern = Pattern::new(|| {
    pattern(
        r"^=+ (\d+ [a-z]+(?: [a-z]+)*(?:, \d+ [a-z]+(?: [a-z]+)*)*|no tests (?:ran|collected).*?) in [\d.:]+s?(?: \([\d:, a-z]+\))? =+$",
    )
});
static BARE: Pattern = Pattern::new(|| {
    pattern(
        r"^(\d+ [a-z]+(?: [a-z]+)*(?:, \d+ [a-z]+(?: [a-z]+)*)*|no tests (?:ran|collected).*?) in [\d.:]+s(?: \([\d:, a-z]+\))?$",
    )
});
static FIGURE: Pattern = Pattern::new(|| pattern(r"(\d+) ([a-z]+(?: [a-z]+)*)"));

/// Whether the line is a final summary.
pub(super) fn is_final(line: &str) -> bool {
    read(line).is_some()
}

/// The figures of a final summary. What was only collected was not run.
pub(super) fn read(line: &str) -> Option<Counts> {
    // Most lines end otherwise.
    if !line.ends_with(['=', 's', ')']) || !line.contains(" in ") {
        return None;
    }
    let found = RULED.captures(line).or_else(|| BARE.captures(line))?;
    let text = group(&found, 1);
    let mut counts = Counts::NONE;
    let mut is_known = text.starts_with("no tests");
    for figure in FIGURE.captures_iter(text) {
        let count: u64 = group(&figure, 1).parse().unwrap_or(0);
        let add = |to: &mut u64| *to = to.saturating_add(count);
        match group(&figure, 2) {
            "passed" => counts.passed = Some(count),
            "failed" | "subtests failed" | "subtest failed" => add(&mut counts.failed),
            "error" | "errors" => add(&mut counts.errors),
            "skipped" | "xfailed" => add(&mut counts.skipped),
            // The mark allows it to fail, so its passing shows nothing.
            "xpassed" => add(&mut counts.skipped),
            "deselected" | "warning" | "warnings" | "rerun" | "reruns" => {}
            "subtests passed" | "subtest passed" => {}
            "test collected" | "tests collected" | "item collected" | "items collected" => {}
            _ => continue,
        }
        is_known = true;
    }
    is_known.then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(line: &str) -> Option<(u64, u64, u64, u64)> {
        read(line).map(|it| (it.passed.unwrap_or(0), it.failed, it.errors, it.skipped))
    }

    #[test]
    fn every_form_of_the_last_line_is_read() {
        for (line, expected) in [
            ("1 failed, 2 passed in 0.12s", (2, 1, 0, 0)),
            ("==== 1 failed, 59 passed, 60 warnings in 1.53s ====", (59, 1, 0, 0)),
            ("== 2 passed, 1 skipped, 1 xfailed, 1 xpassed in 61.20s (0:01:01) ==", (2, 0, 0, 3)),
            ("=== no tests ran in 0.03s ===", (0, 0, 0, 0)),
            ("no tests collected (3 deselected) in 0.03s", (0, 0, 0, 0)),
            ("1 test collected in 1.58s", (0, 0, 0, 0)),
            ("=== 1 deselected in 2.16s ===", (0, 0, 0, 0)),
            ("=== 1 passed, 2 errors in 1.53s ===", (1, 0, 2, 0)),
            ("1 failed, 3 passed, 2 subtests passed in 0.10s", (3, 1, 0, 0)),
        ] {
            assert_eq!(figures(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_summaries() {
        for line in ["3 files written in 0.2s", "= test session starts =", "5 passed", "E 1 in 2s"]
        {
            assert_eq!(figures(line), None, "{line}");
        }
    }
}
