//! Karma, also as `ng test` runs it: a line for each failure, and the last figures of each browser.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Context, LogParser, coverage, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

/// `Chrome Headless 120.0.0.0 (Linux x86_64): Executed 3 of 3 (1 FAILED) (skipped 1) (0.1 secs / 0 secs)`.
static EXECUTED: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(\S.*? \(.+?\)): Executed (\d+) of (\d+)(?: \((\d+) FAILED\))?(?: \(skipped (\d+)\))?",
        r"(?: (SUCCESS|ERROR|DISCONNECTED))?(?: \(.*)?$"
    ))
});
/// `Chrome Headless 120.0.0.0 (Linux x86_64) Cart adds FAILED`.
static TITLE: Pattern = Pattern::new(|| {
    pattern(r"^(\S.* [\d.]+ \([^()]+\)) (?:(\S.*) FAILED|(ERROR|DISCONNECTED)\b.*)$")
});

/// Lines of one failure.
const DETAILS_LINES_MAX: usize = 60;
/// Lines of its message.
const MESSAGE_LINES_MAX: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Karma;

impl LogParser for Karma {
    fn tool(&self) -> &'static str {
        "karma"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "karma" || (call.program == "ng" && call.subcommand() == "test")
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &[": Executed "]
    }

    fn is_banner(&self, line: &str) -> bool {
        EXECUTED.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        // A browser's later figures stand for its earlier ones.
        let mut browsers: BTreeMap<&str, (Counts, bool)> = BTreeMap::new();
        let mut block: Option<(usize, Option<&str>)> = None;
        for (index, line) in cx.lines() {
            let executed = line.contains(": Executed ").then(|| EXECUTED.captures(line)).flatten();
            let title =
                line.contains("FAILED") || line.contains("ERROR") || line.contains("DISCONNECTED");
            let title =
                title.then(|| TITLE.captures(line)).flatten().filter(|_| executed.is_none());
            let is_part = line.starts_with([' ', '\t']) || line.is_empty();
            if !is_part && let Some((start, name)) = block.take() {
                tell(cx, start..index, name, &mut draft);
            }
            if let Some(found) = executed {
                let browser = found.get(1).map_or("", |it| it.as_str());
                browsers.insert(browser, counts(&found));
            } else if let Some(found) = title {
                block = Some((index, found.get(2).map(|it| it.as_str())));
            }
        }
        if let Some((start, name)) = block {
            tell(cx, start..cx.log.len(), name, &mut draft);
        }
        for (counts, is_whole) in browsers.into_values() {
            draft.add_counts(counts);
            draft.unfinished += u32::from(!is_whole);
        }
        coverage::add(cx, &mut draft);
        draft
    }
}

/// And whether all of its tests were executed or skipped.
fn counts(found: &regex::Captures<'_>) -> (Counts, bool) {
    let figure = |at| group(found, at).parse::<u64>().unwrap_or(0);
    let (executed, total, failed, skipped) = (figure(2), figure(3), figure(4), figure(5));
    let errors = u64::from(matches!(group(found, 6), "ERROR" | "DISCONNECTED"));
    let passed = Some(executed.saturating_sub(failed));
    (Counts { passed, failed, errors, skipped }, executed + skipped >= total)
}

/// A test that failed, or an error outside of all tests.
fn tell(cx: &Context<'_>, block: Range<usize>, name: Option<&str>, draft: &mut Draft) {
    let body = block.start + 1..block.end.min(block.start + DETAILS_LINES_MAX);
    let mut keys = vec![block.start];
    let mut message = String::new();
    for (at, line) in cx.log.slice(body.clone()).filter(|it| !it.1.trim().is_empty()) {
        if line.trim_start().starts_with("at ") || keys.len() > MESSAGE_LINES_MAX {
            break;
        }
        message = format!("{message} {}", line.trim()).trim_start().to_owned();
        keys.push(at);
    }
    let own = js::own_frame(cx, body);
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1.location);
    let cut = Cut::new(block, keys);
    match name {
        Some(name) => {
            let name = name.to_owned();
            draft.failures.push(Failure { name, message, location, cut, ..Failure::default() });
        }
        None => draft.problems.push(Problem::error(message, cut).at(location)),
    }
}
