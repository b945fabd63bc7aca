//! behave: scenarios with the places of their steps, what went wrong below a step, and a list of what failed.

use std::collections::HashMap;
use std::ops::Range;

use super::{Context, LogParser, lines, python};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `1 scenario passed, 1 failed, 2 error, 0 skipped`
static SCENARIOS: Pattern = Pattern::new(|| pattern(r"^\d+ scenarios? passed, \d+ failed, .*$"));
static FIGURE: Pattern = Pattern::new(|| pattern(r"(\d+) (?:scenarios? )?([a-z_]+)"));
/// `  Scenario: add     # features/cart.feature:3`
static SCENARIO: Pattern =
    Pattern::new(|| pattern(r"^ +(?:Scenario|Scenario Outline|Example): .+? +# (\S+:\d+)$"));
static STEP: Pattern =
    Pattern::new(|| pattern(r"^ +((?:Given|When|Then|And|But|\*) .+?) +# (?:None|(\S+):(\d+))$"));
static ASSERTION: Pattern = Pattern::new(|| pattern(r"^ +(?i:assert(?:ion)? failed): ?(.*)$"));
/// `  features/cart.feature:3  add`, under the title of the list.
static LISTED: Pattern = Pattern::new(|| pattern(r"^  ((\S+\.feature):(\d+))  (.+)$"));

/// See the module.
#[derive(Debug)]
pub(crate) struct Behave;

impl LogParser for Behave {
    fn tool(&self) -> &'static str {
        "behave"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "behave"
    }

    fn tells_figures(&self, call: &Call) -> bool {
        !call.has_arg("--no-summary") && !call.has_arg("-q")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["scenarios passed, ", "scenario passed, "]
    }

    fn is_banner(&self, line: &str) -> bool {
        SCENARIOS.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Counts> = Vec::new();
        let mut blocks: HashMap<&str, Range<usize>> = HashMap::new();
        let mut open: Option<&str> = None;
        let mut in_list = false;
        for (index, line) in cx.lines() {
            if let Some(found) = SCENARIO.captures(line) {
                open = found.get(1).map(|it| it.as_str());
                blocks.extend(open.map(|it| (it, index..index + 1)));
            } else if matches!(line, "Failing scenarios:" | "Errored scenarios:") {
                (open, in_list) = (None, true);
            } else if let Some(found) = LISTED.captures(line).filter(|_| in_list) {
                let block = blocks.get(group(&found, 1)).cloned();
                draft.failures.push(failure(cx, index, &found, block));
            } else if SCENARIOS.is_match(line) {
                runs.push(counts(line));
                (open, in_list) = (None, false);
            } else if let Some(block) = open.and_then(|it| blocks.get_mut(it)) {
                block.end = index + 1;
            }
        }
        lines::keep_own(cx, self, &mut runs);
        draft.unfinished = u32::from(!blocks.is_empty() && runs.is_empty());
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

fn counts(line: &str) -> Counts {
    let mut counts = Counts { passed: Some(0), ..Counts::NONE };
    for figure in FIGURE.captures_iter(line) {
        let count = lines::count(group(&figure, 1));
        match group(&figure, 2) {
            "passed" => counts.passed = Some(count),
            "failed" => counts.failed += count,
            "skipped" | "untested" => counts.skipped += count,
            // Errors in hooks and steps, and steps that nobody defined.
            _ => counts.errors += count,
        }
    }
    counts
}

fn failure(
    cx: &Context<'_>,
    index: usize,
    listed: &regex::Captures<'_>,
    block: Option<Range<usize>>,
) -> Failure {
    let name = group(listed, 4).to_owned();
    let of_scenario = Some(cx.paths.location(group(listed, 2), number(listed, 3)));
    let block = block.unwrap_or(index..index + 1);
    let mut step = None;
    for (at, line) in cx.log.slice(block.clone()) {
        if let Some(found) = STEP.captures(line) {
            // What follows a step without a definition was not run.
            if found.get(2).is_some() || step.is_none() {
                step = Some((at, found));
            } else {
                break;
            }
        } else if let Some(found) = ASSERTION.captures(line) {
            let place = step.as_ref().filter(|it| it.1.get(2).is_some());
            let place = place.map(|it| cx.paths.location(group(&it.1, 2), number(&it.1, 3)));
            let keys = step.iter().map(|it| it.0).chain([at]).collect();
            let message = group(&found, 1).to_owned();
            let (location, cut) = (place.or(of_scenario), Cut::new(block, keys));
            return Failure { name, message, location, cut, ..Failure::default() };
        } else if line.trim_start().starts_with(python::HEADER)
            && let Some((chain, cut)) = python::traceback(cx, at, block.end, without_margin)
            && let Some(cause) = chain.cause()
        {
            let (message, location) = (cause.message, cause.location.or(of_scenario));
            return Failure { name, message, location, cut, ..Failure::default() };
        }
    }
    let undefined = cx.log.slice(block.clone()).find_map(|(at, line)| {
        let found = STEP.captures(line).filter(|it| it.get(2).is_none())?;
        Some((at, format!("no step is defined for `{}`", group(&found, 1))))
    });
    let (at, message) = undefined.unwrap_or((index, "the scenario failed".to_owned()));
    let cut = Cut::new(block, vec![at]);
    Failure { name, message, location: of_scenario, cut, ..Failure::default() }
}

/// Below a step.
fn without_margin(line: &str) -> &str {
    line.strip_prefix("      ").unwrap_or(line)
}
