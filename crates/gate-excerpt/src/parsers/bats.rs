//! Bats: TAP with the place and the failed command of each test below it, or its pretty form.

use std::ops::Range;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static PLAN: Pattern = Pattern::new(|| pattern(r"^1\.\.(\d+)$"));
static RESULT: Pattern =
    Pattern::new(|| pattern(r"^(not )?ok (\d+)(?: (.*?))?(?: # (?i:(skip|todo))\b ?(.*))?$"));
/// `# (in test file t.bats, line 12)`, also `from function …, in file …, line 3,` before it.
static PLACE: Pattern =
    Pattern::new(|| pattern(r"^#? +\(?.*\b(?:in|of) (?:test )?file (.+?), line (\d+)[,)]"));
static SUMMARY: Pattern = Pattern::new(|| {
    pattern(r"^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?(?:, (\d+) not run)?(?: in .*)?$")
});
static MARK: Pattern =
    Pattern::new(|| pattern(r"^(?: {3}.* ?\d+/\d+)? ([✗✓-]) (.+?)(?: \[\d+\])?$"));
static DURATION: Pattern = Pattern::new(|| pattern(r" in \d+(?:ms|sec)$"));

/// Lines of one test.
const BLOCK_LINES_MAX: usize = 60;

/// See the module.
#[derive(Debug)]
pub(crate) struct Bats;

impl LogParser for Bats {
    fn tool(&self) -> &'static str {
        "bats"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "bats"
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.chooses(&["--formatter", "-F"], &["tap", "tap13", "pretty"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &[".bats, line "]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with("# (in test file ") || line.starts_with("   (in test file "))
            && line.contains(".bats, line ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut plan: Option<u64> = None;
        let mut counts = Counts::NONE;
        let mut block: Option<(usize, String)> = None;
        let mut pretty = None;
        let mut seen = 0_u64;
        for (index, line) in cx.lines() {
            let result = RESULT.captures(line);
            let mark = MARK.captures(line);
            let summary = SUMMARY.captures(line);
            if result.is_some() || mark.is_some() || summary.is_some() {
                draft.failures.extend(block.take().map(|it| failure(cx, it.0..index, it.1)));
            }
            if let Some(found) = PLAN.captures(line) {
                plan = Some(plan.unwrap_or(0) + lines::count(group(&found, 1)));
            } else if let Some(found) = result.filter(|it| group(it, 2).parse() == Ok(seen + 1)) {
                seen += 1;
                let is_failed = found.get(1).is_some();
                if found.get(4).is_some() {
                    counts.skipped += 1;
                } else if is_failed {
                    counts.failed += 1;
                    block = Some((index, DURATION.replace(group(&found, 3), "").into_owned()));
                } else {
                    counts.passed = counts.passed.map(|it| it + 1);
                }
            } else if let Some(found) = mark.filter(|it| group(it, 1) == "✗") {
                block = Some((index, group(&found, 2).to_owned()));
            } else if let Some(found) = summary {
                pretty = Some([1, 2, 3, 4].map(|it| lines::count(group(&found, it))));
            }
        }
        let end = cx.log.len();
        draft.failures.extend(block.map(|it| failure(cx, it.0..end, it.1)));
        if let Some([all, failed, skipped, not_run]) = pretty {
            let passed =
                Some(all.saturating_sub(failed).saturating_sub(skipped).saturating_sub(not_run));
            draft.add_counts(Counts { passed, failed, errors: 0, skipped });
        } else if let Some(plan) = plan {
            draft.add_counts(counts);
            draft.unfinished = u32::from(seen < plan);
        }
        draft
    }
}

fn failure(cx: &Context<'_>, block: Range<usize>, name: String) -> Failure {
    let block = block.start..block.end.min(block.start + BLOCK_LINES_MAX);
    let found = cx
        .log
        .slice(block.start + 1..block.end)
        .find_map(|(at, line)| Some((at, PLACE.captures(line)?)));
    let below = cx.log.slice(block.start + 1..block.end);
    let body: Vec<(usize, &str)> =
        below.take_while(|it| it.1.starts_with('#') || it.1.starts_with("   ")).collect();
    let bare = |it: &str| it.trim_start_matches(['#', ' ']).to_owned();
    let text = body.iter().filter(|it| found.as_ref().is_none_or(|place| it.0 > place.0));
    let message: Vec<String> = text.map(|it| bare(it.1)).collect();
    let location = found.as_ref().map(|it| cx.paths.location(group(&it.1, 1), number(&it.1, 2)));
    let end = body.last().map_or(block.start, |it| it.0) + 1;
    let cut = Cut::new(block.start..end, (block.start..end).collect());
    let message = lines::joined(message.iter().map(String::as_str));
    Failure { name, message, location, cut, ..Failure::default() }
}
