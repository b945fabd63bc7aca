//! Minitest (also as Rails prints it) and test-unit: their failures and summaries.

use std::ops::Range;

use super::{Context, LogParser, lines, ruby};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static SUMMARY: Pattern = Pattern::new(|| {
    pattern(
        r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (?:(\d+) skips|(\d+) pendings, (\d+) omissions, \d+ notifications)$",
    )
});
/// `  1) Failure:`; Rails prints no number.
static NUMBERED: Pattern = Pattern::new(|| pattern(r"^(?:\s+\d+\) )?(Failure|Error|Skipped):$"));
/// `SlugTest#test_space [test_slug.rb:9]:`
static NAME: Pattern = Pattern::new(|| pattern(r"^(\S+#.+?)(?: \[(\S.*):(\d+)\])?:$"));
/// test-unit: `Failure: test_space(SlugTest)`, `Error: test_nil(SlugTest): NoMethodError: …`.
static TEST_UNIT: Pattern =
    Pattern::new(|| pattern(r"^(Failure|Error): (.+?)\((\S+)\)(?::? ?(.*))?$"));
static FRAME: Pattern = Pattern::new(|| pattern(r"^\s*(\S[^:]*\.\w+):(\d+)(?::in .*)?$"));

static SOURCE: Pattern = Pattern::new(|| pattern(r"^\s*(?:=> )?\s*\d+: "));

/// Lines of one failure.
const BLOCK_LINES_MAX: usize = 200;
/// Lines of its message.
const MESSAGE_LINES_MAX: usize = 20;
/// Of those, what test-unit says.
const UNIT_LINES_MAX: usize = 6;

/// See the module.
#[derive(Debug)]
pub(crate) struct Minitest;

impl LogParser for Minitest {
    fn tool(&self) -> &'static str {
        "minitest"
    }

    fn is_called(&self, call: &Call) -> bool {
        let is_test = |it: &String| {
            it == "test"
                || it.starts_with("test:")
                || it.contains("test/")
                || it.ends_with("_test.rb")
        };
        matches!(call.program.as_str(), "rails" | "rake" | "m") && call.args.iter().any(is_test)
    }

    fn tells_figures(&self, call: &Call) -> bool {
        // A task of rake's may be anything.
        call.program != "rake"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" assertions, "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.contains(" assertions, ") && SUMMARY.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut block: Option<usize> = None;
        let mut starts = 0;
        for (index, line) in cx.lines() {
            let summary = SUMMARY.captures(line);
            starts +=
                usize::from(line.starts_with("Run options: ") || line.starts_with("Loaded suite "));
            let is_head = NUMBERED.is_match(line) || TEST_UNIT.is_match(line);
            let is_end = summary.is_some()
                || is_head
                || line.starts_with("======")
                || line.starts_with("Finished in ");
            if is_end {
                draft.failures.extend(block.take().and_then(|it| failure(cx, it..index)));
            }
            if is_head {
                block = Some(index);
            }
            runs.extend(summary.map(|it| counts(&it)));
        }
        let end = cx.log.len();
        draft.failures.extend(block.and_then(|it| failure(cx, it..end)));
        lines::keep_own(cx, self, &mut runs);
        lines::keep_started(starts, &mut runs);
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

fn counts(found: &regex::Captures<'_>) -> Counts {
    let [all, failed, errors] = [1, 2, 3].map(|it| lines::count(group(found, it)));
    let skipped = [4, 5, 6].iter().map(|it| lines::count(group(found, *it))).sum();
    let passed = Some(all.saturating_sub(failed).saturating_sub(errors).saturating_sub(skipped));
    Counts { passed, failed, errors, skipped }
}

fn frame(cx: &Context<'_>, line: &str) -> Option<Place> {
    let found = FRAME.captures(line)?;
    Some(ruby::place(cx, group(&found, 1), number(&found, 2)))
}

fn failure(cx: &Context<'_>, block: Range<usize>) -> Option<Failure> {
    let block = block.start..block.end.min(block.start + BLOCK_LINES_MAX);
    let head = cx.log.line(block.start);
    if head.contains("Skipped:") {
        return None;
    }
    let (name, first, body, stated) = match TEST_UNIT.captures(head) {
        Some(found) => {
            let name = format!("{}({})", group(&found, 2).trim(), group(&found, 3));
            (name, group(&found, 4).to_owned(), block.start + 1, None)
        }
        None => {
            let named =
                cx.log.slice(block.start + 1..block.end).find(|it| !it.1.trim().is_empty())?;
            let found = NAME.captures(named.1)?;
            let place = found.get(2).map(|it| ruby::place(cx, it.as_str(), number(&found, 3)));
            (group(&found, 1).to_owned(), String::new(), named.0 + 1, place)
        }
    };
    let is_blank = |it: &str| it.trim().is_empty();
    let is_unit = TEST_UNIT.is_match(head);
    let texts = cx.log.slice(body..block.end).take(MESSAGE_LINES_MAX);
    let text: Vec<(usize, &str)> = if is_unit {
        // test-unit shows frames and source first where it compares.
        let is_shown = |it: &str| frame(cx, it).is_some() || SOURCE.is_match(it);
        texts
            .filter(|it| !is_shown(it.1))
            .take_while(|it| it.1 != "diff:")
            .take(UNIT_LINES_MAX)
            .collect()
    } else {
        // An exception's message ends where its source or its frames are shown.
        let is_end =
            |it: &str| is_blank(it) || it.starts_with("bin/rails test ") || frame(cx, it).is_some();
        texts.take_while(|it| !is_end(it.1)).collect()
    };
    let message = lines::joined([first.as_str()].into_iter().chain(text.iter().map(|it| it.1)));
    let own = lines::first_own(cx, body..block.end, |line| frame(cx, line));
    let mut keys = vec![block.start, body.saturating_sub(1)];
    keys.extend(text.iter().map(|it| it.0));
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1).or(stated).map(|it| it.location);
    Some(Failure { name, message, location, cut: Cut::new(block, keys), ..Failure::default() })
}
