//! `bun test`.

use std::collections::HashSet;
use std::ops::Range;

use super::{Context, LogParser, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static RAN: Pattern =
    Pattern::new(|| pattern(r"^Ran (\d+) tests? across (\d+) files?\.(?: \[[\d.]+m?s\])?$"));
static FIGURE: Pattern =
    Pattern::new(|| pattern(r"^ +(\d+) (pass|fail|skip|todo|errors?|filtered out|.*)$"));
static RESULT: Pattern = Pattern::new(|| {
    pattern(r"^(?:\((pass|fail|skip|todo)\)|([✓✗»✎])) (\S.*?)(?: \[[\d.]+m?s\])?$")
});
static HEADING: Pattern = Pattern::new(|| pattern(r"^(\S+\.\w+):$"));
static THROWN: Pattern =
    Pattern::new(|| pattern(r"^(error|(?:[A-Z]\w*)?(?:Error|Exception)|[A-Z]\w+Error): (.*)$"));
static NO_TESTS: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:error: )?(?:No tests found!|0 test files matching .*|The following filters did not match any test files:)",
    )
});

const UNHANDLED: &str = "# Unhandled error between tests";
/// Lines of figures above the last line.
const FIGURES_MAX: usize = 12;
/// Lines of a comparison that go into the message.
const SIDES_MAX: usize = 6;

/// See the module.
#[derive(Debug)]
pub(crate) struct BunTest;

impl LogParser for BunTest {
    fn tool(&self) -> &'static str {
        "bun-test"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "bun" && call.subcommand() == "test"
    }

    fn marks(&self) -> &'static [&'static str] {
        &["bun test v", "Ran "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("bun test v") || RAN.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut seen = HashSet::new();
        let (mut start, mut file) = (0, String::new());
        let mut is_open = false;
        for (index, line) in cx.lines() {
            if let Some(found) = RESULT.captures(line) {
                is_open = true;
                let is_fail =
                    matches!((group(&found, 1), group(&found, 2)), ("fail", _) | (_, "✗"));
                let name = group(&found, 3);
                // The failures of a long run are listed again at its end.
                if is_fail && seen.insert(format!("{file} {name}")) {
                    draft.failures.push(failure(cx, start..index + 1, name, &file));
                }
                start = index + 1;
            } else if let Some(found) = HEADING.captures(line) {
                file = cx.paths.relative(group(&found, 1));
                start = index + 1;
                is_open = true;
            } else if line == UNHANDLED {
                draft.problems.push(unhandled(cx, index, &file));
            } else if RAN.is_match(line) {
                runs.push(counts(cx, index));
                is_open = false;
            } else if NO_TESTS.is_match(line) {
                runs.push(Counts::NONE);
                draft.problems.push(Problem::error(line, Cut::new(index..index + 3, vec![index])));
            }
        }
        if js::is_one_run(cx, self) {
            runs.drain(..runs.len().saturating_sub(1));
        }
        draft.unfinished = u32::from(is_open);
        runs.into_iter().for_each(|it| draft.add_counts(it));
        if cx.input.is_green() {
            draft.problems.clear();
        }
        draft
    }
}

/// The figures stand right above the last line.
fn counts(cx: &Context<'_>, ran_at: usize) -> Counts {
    let mut counts = Counts::NONE;
    let above = cx.log.slice(ran_at.saturating_sub(FIGURES_MAX)..ran_at).rev();
    for (_, line) in above {
        let Some(found) = FIGURE.captures(line) else { break };
        let count: u64 = group(&found, 1).parse().unwrap_or(0);
        match group(&found, 2) {
            "pass" => counts.passed = Some(count),
            "fail" => counts.failed = count,
            "skip" | "todo" => counts.skipped += count,
            "error" | "errors" => counts.errors = count,
            _ => {}
        }
    }
    counts
}

/// What it printed stands above its result, with the source first.
fn failure(cx: &Context<'_>, block: Range<usize>, name: &str, file: &str) -> Failure {
    let mut keys = vec![block.end - 1];
    let (message, own) = thrown(cx, block.clone(), &mut keys);
    let message = if message.is_empty() { "failed".to_owned() } else { message };
    let of_file = || (!file.is_empty()).then(|| cx.paths.location(file, None));
    let location = own.or_else(of_file);
    let cut = Cut::new(block, keys);
    Failure { name: name.to_owned(), message, location, cut, ..Failure::default() }
}

/// The last error of the lines, its sides, and the topmost own frame.
fn thrown(
    cx: &Context<'_>,
    range: Range<usize>,
    keys: &mut Vec<usize>,
) -> (String, Option<gate_core::Location>) {
    let is_thrown = |it: &(usize, &str)| THROWN.is_match(it.1);
    let Some((at, line)) = cx.log.slice(range.clone()).rev().find(is_thrown) else {
        return (String::new(), None);
    };
    let mut message = line.strip_prefix("error: ").unwrap_or(line).to_owned();
    keys.push(at);
    let sides = cx.log.slice(at + 1..range.end).filter(|it| js::is_side(it.1)).take(SIDES_MAX);
    for (side_at, side) in sides {
        message = format!("{message} {}", side.trim());
        keys.push(side_at);
    }
    let own = js::own_frame(cx, at..range.end);
    keys.extend(own.as_ref().map(|it| it.0));
    (message, own.map(|it| it.1.location))
}

/// Between two rules.
fn unhandled(cx: &Context<'_>, index: usize, file: &str) -> Problem {
    let is_rule = |it: &(usize, &str)| it.1.starts_with("-----");
    let rules = cx.log.slice(index + 1..cx.log.len()).filter(is_rule).nth(1);
    let end = rules.map_or(cx.log.len(), |it| it.0).min(index + 200);
    let mut keys = vec![index];
    let (message, own) = thrown(cx, index..end, &mut keys);
    let of_file = || (!file.is_empty()).then(|| cx.paths.location(file, None));
    Problem::error(message, Cut::new(index..end, keys)).at(own.or_else(of_file))
}
