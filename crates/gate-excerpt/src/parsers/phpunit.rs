//! `PHPUnit`, also under paratest, artisan, and composer: its numbered failures and its summary.

use std::ops::Range;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static VERSION: Pattern =
    Pattern::new(|| pattern(r"^(?:PHPUnit|ParaTest v?)[ v]?(\d+)\.\d+\S* (?:by Sebastian|upon)"));
static OK: Pattern = Pattern::new(|| pattern(r"^OK \((\d+) tests?, \d+ assertions?\)$"));
static TOTALS: Pattern =
    Pattern::new(|| pattern(r"^Tests: (\d+), Assertions: \d+((?:, [\w ]+: \d+)*)\.$"));
static FIGURE: Pattern = Pattern::new(|| pattern(r", ([\w ]+): (\d+)"));
static KIND: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:There (?:was|were) \d+ (?:PHPUnit )?(?:test runner )?(error|failure|warning|skipped test|incomplete test|risky test|notice|deprecation)s?:?|\d+ tests? triggered \d+ .*:)$",
    )
});
static TITLE: Pattern = Pattern::new(|| pattern(r"^(\d+)\) (.+)$"));
/// `CartTest::testEven with data set "three" (3)`: the arguments are no part of the name.
static DATA: Pattern =
    Pattern::new(|| pattern(r#"^(\S+ with data set (?:"(?:[^"\\]|\\.)*"|#\d+)).*$"#));
static FRAME: Pattern = Pattern::new(|| pattern(r"^((?:/|[A-Za-z]:\\|phar://)\S.*?\.\w+):(\d+)$"));

/// Lines of one failure.
const BLOCK_LINES_MAX: usize = 300;

/// See the module.
#[derive(Debug)]
pub(crate) struct Phpunit;

impl LogParser for Phpunit {
    fn tool(&self) -> &'static str {
        "phpunit"
    }

    fn is_called(&self, call: &Call) -> bool {
        let is_php = call.program.starts_with("php") && call.args.iter().any(|it| is_phpunit(it));
        is_phpunit(&call.program) || is_php
    }

    fn tells_figures(&self, call: &Call) -> bool {
        let silent = ["--no-output", "--no-results", "--teamcity", "--debug"];
        !silent.iter().any(|it| call.has_arg(it)) && call.values(&["--printer"]).next().is_none()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["PHPUnit "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("PHPUnit ") && VERSION.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut starts = 0_usize;
        let mut is_old = false;
        let mut runs: Vec<Counts> = Vec::new();
        let mut kind = "";
        let mut block: Option<(usize, bool)> = None;
        let mut has_warnings = false;
        for (index, line) in cx.lines() {
            if let Some(found) = VERSION.captures(line) {
                starts += 1;
                is_old = group(&found, 1).parse::<u32>().is_ok_and(|it| it < 10);
            }
            let counts = counts(line, is_old && has_warnings);
            has_warnings |= line == "WARNINGS!";
            let kind_now = KIND.captures(line).map(|it| it.get(1).map_or("", |it| it.as_str()));
            let is_title = TITLE.is_match(line) && is_before(cx, index);
            if counts.is_some() || kind_now.is_some() || is_title || is_heading(line) {
                close(cx, &mut draft, block.take(), index);
            }
            runs.extend(counts);
            kind = kind_now.unwrap_or(kind);
            if is_title {
                block = Some((index, matches!(kind, "error" | "failure")));
            }
        }
        close(cx, &mut draft, block, cx.log.len());
        // `--list-tests` and the like start without a run.
        let is_cut_off = starts > runs.len() && (runs.is_empty() || !cx.input.is_green());
        lines::keep_own(cx, self, &mut runs);
        lines::keep_started(starts, &mut runs);
        draft.unfinished = u32::from(is_cut_off);
        if draft.failures.is_empty() {
            draft.failures = testdox(cx);
        }
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

fn is_phpunit(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    matches!(name, "phpunit" | "phpunit.phar" | "paratest" | "simple-phpunit")
}

/// A title stands below a blank line.
fn is_before(cx: &Context<'_>, index: usize) -> bool {
    index == 0 || cx.log.line(index - 1).trim().is_empty()
}

fn is_heading(line: &str) -> bool {
    matches!(line, "--" | "ERRORS!" | "FAILURES!" | "WARNINGS!") || line.starts_with("OK, but ")
}

fn counts(line: &str, counts_warnings: bool) -> Option<Counts> {
    if line == "No tests executed!" {
        return Some(Counts::NONE);
    }
    if let Some(found) = OK.captures(line) {
        return Some(Counts { passed: Some(lines::count(group(&found, 1))), ..Counts::NONE });
    }
    let found = TOTALS.captures(line)?;
    let mut counts = Counts::NONE;
    for figure in FIGURE.captures_iter(group(&found, 2)) {
        let count = lines::count(group(&figure, 2));
        match group(&figure, 1).trim() {
            "Errors" => counts.errors += count,
            "Failures" => counts.failed += count,
            // A risky test asserted nothing, or did what it should not.
            "Skipped" | "Incomplete" | "Risky" => counts.skipped += count,
            "Warnings" if counts_warnings => counts.errors += count,
            _ => {}
        }
    }
    let other = counts.failed + counts.errors + counts.skipped;
    counts.passed = Some(lines::count(group(&found, 1)).saturating_sub(other));
    Some(counts)
}

fn close(cx: &Context<'_>, draft: &mut Draft, block: Option<(usize, bool)>, end: usize) {
    if let Some((start, true)) = block {
        draft.failures.push(failure(cx, start..end.min(start + BLOCK_LINES_MAX)));
    }
}

fn frame(cx: &Context<'_>, line: &str) -> Option<Place> {
    let found = FRAME.captures(line.trim())?;
    let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
    let is_vendor = place.location.file.contains("vendor/");
    Some(Place { is_own: place.is_own && !is_vendor, ..place })
}

/// The message, a blank line, the frames from the deepest on.
fn failure(cx: &Context<'_>, block: Range<usize>) -> Failure {
    let title = TITLE
        .captures(cx.log.line(block.start))
        .map_or(String::new(), |it| group(&it, 2).to_owned());
    let name = DATA.captures(&title).map_or(title.clone(), |it| group(&it, 1).to_owned());
    let body = block.start + 1..block.end;
    let own = lines::first_own(cx, body.clone(), |line| frame(cx, line));
    let frames = cx.log.slice(body.clone()).find(|it| frame(cx, it.1).is_some());
    let frames_at = frames.map_or(block.end, |it| it.0);
    let text: Vec<(usize, &str)> =
        cx.log.slice(body.start..frames_at).filter(|it| !it.1.trim().is_empty()).collect();
    let message = lines::joined(text.iter().map(|it| it.1));
    let mut keys = vec![block.start];
    keys.extend(text.iter().map(|it| it.0));
    keys.extend(own.as_ref().map(|it| it.0));
    let location = own.map(|it| it.1.location);
    Failure { name, message, location, cut: Cut::new(block, keys), ..Failure::default() }
}

/// ` ✘ First`, its message behind `├` and `┊`, its frames behind `╵`.
fn testdox(cx: &Context<'_>) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut is_open = false;
    for (index, line) in cx.lines() {
        let text = line.trim_start();
        if let Some(name) = line.strip_prefix(" ✘ ") {
            let name = name.to_owned();
            failures.push(Failure { name, cut: Cut::line(index), ..Failure::default() });
            is_open = true;
        } else if is_open && let Some(last) = failures.last_mut() {
            let said = text.strip_prefix("├ ").or_else(|| text.strip_prefix("┊ "));
            if let Some(said) = said {
                last.message = lines::joined([last.message.as_str(), said]);
            } else if let Some(path) = text.strip_prefix("╵ ") {
                let own = frame(cx, path).filter(|it| it.is_own && last.location.is_none());
                last.location = own.map(|it| it.location).or(last.location.take());
            }
            is_open = text.starts_with(['┐', '├', '┊', '│', '╵']);
            if is_open {
                last.cut.range.end = index + 1;
                last.cut.keys.push(index);
            }
        }
    }
    failures
}
