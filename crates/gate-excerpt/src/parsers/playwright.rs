//! Playwright's test runner: its list, line, and dot reporters end alike.

use std::collections::HashMap;
use std::ops::Range;

use super::{Context, LogParser, js};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static RUNNING: Pattern = Pattern::new(|| pattern(r"^Running \d+ tests? using \d+ workers?"));
static FIGURE: Pattern = Pattern::new(|| {
    pattern(
        r"^  (\d+) (passed|failed|flaky|skipped|did not run|interrupted|errors? (?:was|were) not a part of any test.*)(?: \([\d.]+m?[smh]\))?$",
    )
});
static BLOCK: Pattern = Pattern::new(|| pattern(r"^  (\d+)\) (\S.*? › .*?)(?: ─+)?\s*$"));
static LISTED: Pattern = Pattern::new(|| pattern(r"^    (\S.*? › .*?)(?: ─+)?\s*$"));
/// `[chromium] › a.spec.ts:3:3 › Cart › adds`.
static TITLE: Pattern =
    Pattern::new(|| pattern(r"^(?:(\[[^\]]+\]) › )?(\S+?):(\d+)(?::\d+)? › (.+)$"));

/// Lines of a comparison that go into the message.
const SIDES_MAX: usize = 6;
/// Lines of one failure.
const DETAILS_LINES_MAX: usize = 200;

/// See the module.
#[derive(Debug)]
pub(crate) struct Playwright;

/// What one run says at its end.
#[derive(Debug, Default)]
struct Run<'t> {
    counts: Option<Counts>,
    /// The titles of the tests that failed in all their attempts.
    listed: Vec<(usize, &'t str)>,
    blocks: HashMap<&'t str, Range<usize>>,
    order: Vec<&'t str>,
}

impl LogParser for Playwright {
    fn tool(&self) -> &'static str {
        "playwright"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "playwright" && call.subcommand() == "test"
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.chooses(&["--reporter"], &["list", "line", "dot", "html", "github"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Running "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("Running ") && RUNNING.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut runs: Vec<Run<'_>> = Vec::new();
        let mut run = Run::default();
        let mut last_block: Option<(usize, &str)> = None;
        let mut is_failed_list = false;
        let mut last_line = 0;
        for (index, line) in cx.lines() {
            let is_start = line.starts_with("Running ") && RUNNING.is_match(line);
            let figure = FIGURE.captures(line);
            let block = BLOCK.captures(line).and_then(|it| it.get(2)).map(|it| it.as_str());
            if (is_start || figure.is_some() || block.is_some())
                && let Some((start, title)) = last_block.take()
            {
                run.block(start..index, title);
            }
            if is_start {
                runs.push(std::mem::take(&mut run));
            } else if let Some(found) = figure {
                // What stands apart from the end was printed by a test.
                if index > last_line + 1 {
                    run.counts = None;
                    run.listed.clear();
                }
                last_line = index;
                is_failed_list = matches!(group(&found, 2), "failed" | "interrupted");
                add(run.counts.get_or_insert(Counts::NONE), &found);
            } else if let Some(title) = block {
                last_block = Some((index, title));
            } else if let Some(found) = LISTED.captures(line).filter(|_| index == last_line + 1) {
                last_line = index;
                if !is_failed_list {
                    continue;
                }
                run.listed.push((index, found.get(1).map_or("", |it| it.as_str())));
            } else if line == "Error: No tests found" {
                run.counts = Some(Counts::NONE);
                draft.problems.push(Problem::error(line, Cut::new(index..index + 3, vec![index])));
            } else if line.starts_with("Error: ") || line.starts_with("SyntaxError: ") {
                draft.problems.extend(load_error(cx, index, line));
            }
        }
        if let Some((start, title)) = last_block {
            run.block(start..cx.log.len(), title);
        }
        runs.push(run);
        let has_begun = runs.len() > 1;
        for (index, run) in runs.into_iter().enumerate() {
            match run.counts {
                Some(counts) => draft.add_counts(counts),
                None if has_begun && index > 0 => draft.unfinished += 1,
                None => {}
            }
            draft.failures.extend(run.failures(cx));
        }
        draft
    }
}

impl<'t> Run<'t> {
    fn block(&mut self, range: Range<usize>, title: &'t str) {
        if !self.blocks.contains_key(title) {
            self.order.push(title);
            self.blocks.insert(title, range);
        }
    }

    /// Those that the end lists; where it was never reached, those that were told.
    fn failures(self, cx: &Context<'_>) -> Vec<Failure> {
        let Self { counts, listed, blocks, order } = self;
        let names = match counts {
            Some(_) => listed,
            None => order.into_iter().map(|it| (blocks[it].start, it)).collect(),
        };
        let told = |(at, title): (usize, &str)| {
            failure(cx, title, blocks.get(title).cloned().unwrap_or(at..at + 1))
        };
        names.into_iter().map(told).collect()
    }
}

fn add(counts: &mut Counts, found: &regex::Captures<'_>) {
    let count: u64 = group(found, 1).parse().unwrap_or(0);
    match group(found, 2) {
        // What failed first and passed later passed.
        "passed" | "flaky" => counts.passed = Some(counts.passed.unwrap_or(0) + count),
        "failed" | "interrupted" => counts.failed += count,
        "skipped" | "did not run" => counts.skipped += count,
        _ => counts.errors += count,
    }
}

fn failure(cx: &Context<'_>, title: &str, block: Range<usize>) -> Failure {
    let found = TITLE.captures(title);
    let path = found.as_ref().map_or(title, |it| it.get(4).map_or(title, |it| it.as_str()));
    let of_test = found.as_ref().map(|it| cx.paths.location(group(it, 2), number(it, 3)));
    let body = block.start + 1..block.end.min(block.start + DETAILS_LINES_MAX);
    let mut keys = vec![block.start];
    let mut message = String::new();
    let mut sides = 0;
    for (at, line) in cx.log.slice(body.clone()).filter(|it| !it.1.trim().is_empty()) {
        if js::frame(cx, line).is_some() || line.trim_start().starts_with("Error Context: ") {
            break;
        }
        let is_side = js::is_side(line) && sides < SIDES_MAX;
        if message.is_empty() || is_side {
            sides += usize::from(is_side);
            message = format!("{message} {}", line.trim()).trim_start().to_owned();
            keys.push(at);
        }
    }
    let own = js::own_frame(cx, body);
    keys.extend(own.as_ref().map(|it| it.0));
    Failure {
        name: path.replace(" › ", " > "),
        message,
        location: own.map(|it| it.1.location).or(of_test),
        cut: Cut::new(block, keys),
        ..Failure::default()
    }
}

/// A file that could not be loaded: no test of it is among the figures.
fn load_error(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let end = index + 30;
    let own = js::own_frame(cx, index..end)?;
    let keys = vec![index, own.0];
    Some(Problem::error(line, Cut::new(index..own.0 + 1, keys)).at(Some(own.1.location)))
}
