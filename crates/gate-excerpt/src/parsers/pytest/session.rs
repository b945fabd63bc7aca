//! The parts of a pytest log: its sessions, its sections, and which summaries are its own.

use std::ops::Range;

use super::summary;
use crate::draft::{Counts, Draft, Problem};
use crate::nest::Nest;
use crate::parsers::Context;
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static TITLE: Pattern = Pattern::new(|| pattern(r"^={3,} (\S.*?) ={3,}$"));
static RESULT: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?:\S+::.+? |\[gw\d+\] \[ *\d+%\] )",
        r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.*\))?(?: +\[ *\d+%\]| \S+::.*)?\s*$",
    ))
});

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    Errors,
    Failures,
    /// What passed or was expected to fail printed, warnings, durations, coverage.
    Other,
    Summary,
}

/// The lines between two titles; the title belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) kind: SectionKind,
    pub(super) range: Range<usize>,
}

pub(super) fn is_start(line: &str) -> bool {
    line.starts_with('=') && title(line) == Some("test session starts")
}

/// Whether the list of the failures starts here.
pub(super) fn is_short_summary(line: &str) -> bool {
    line.starts_with('=') && title(line) == Some("short test summary info")
}

fn title(line: &str) -> Option<&str> {
    if !line.starts_with("===") {
        return None;
    }
    TITLE.captures(line).and_then(|it| it.get(1)).map(|it| it.as_str())
}

fn kind(title: &str) -> Option<SectionKind> {
    match title {
        "ERRORS" => Some(SectionKind::Errors),
        "FAILURES" => Some(SectionKind::Failures),
        "short test summary info" => Some(SectionKind::Summary),
        "PASSES"
        | "XFAILURES"
        | "XPASSES"
        | "warnings summary"
        | "tests coverage"
        | "warnings summary (final)"
        | "rerun test summary info" => Some(SectionKind::Other),
        _ if title.starts_with("slowest ") => Some(SectionKind::Other),
        _ => None,
    }
}

/// A line that only pytest's own structure has, or somebody who imitates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Start,
    Section(SectionKind),
    Final,
}

fn mark(line: &str) -> Option<Mark> {
    if is_start(line) {
        return Some(Mark::Start);
    }
    match title(line).and_then(kind) {
        Some(kind) => Some(Mark::Section(kind)),
        None => summary::is_final(line).then_some(Mark::Final),
    }
}

/// The titled sections of all sessions. Of each session, only the last short summary and the last figures are pytest's
/// own: a test that prints such lines prints them before.
pub(super) fn sections(cx: &Context<'_>) -> Vec<Section> {
    let marks: Vec<(usize, Mark)> =
        cx.lines().filter_map(|(index, line)| Some((index, mark(line)?))).collect();
    let mut sections: Vec<Section> = Vec::new();
    for session in by_session(&marks) {
        let last = |wanted: Mark| session.iter().rposition(|it| it.1 == wanted);
        let own = [last(Mark::Section(SectionKind::Summary)), last(Mark::Final)];
        let mut open: Option<Section> = None;
        for (position, (index, mark)) in session.iter().enumerate() {
            let kind = match mark {
                Mark::Section(SectionKind::Summary) | Mark::Final
                    if !own.contains(&Some(position)) =>
                {
                    continue;
                }
                Mark::Section(kind) => Some(*kind),
                Mark::Start | Mark::Final => None,
            };
            sections.extend(open.take().map(|it| it.end(*index)));
            open = kind.map(|kind| Section { kind, range: *index..*index });
        }
        let next = session.last().map_or(0, |it| it.0 + 1);
        let after = marks.partition_point(|it| it.0 < next);
        let end = marks.get(after).map_or(cx.log.len(), |it| it.0);
        sections.extend(open.map(|it| it.end(end)));
    }
    sections
}

impl Section {
    fn end(mut self, index: usize) -> Self {
        self.range.end = index;
        self
    }
}

/// Sessions start with their title; quiet ones end with their figures, unless more of the same session follows.
fn by_session(marks: &[(usize, Mark)]) -> Vec<&[(usize, Mark)]> {
    let mut sessions = Vec::new();
    let mut start = 0;
    for (position, (_, mark)) in marks.iter().enumerate() {
        let next = marks.get(position + 1).map(|it| it.1);
        let is_end = match (mark, next) {
            (_, Some(Mark::Start)) => true,
            (Mark::Final, Some(Mark::Section(SectionKind::Errors | SectionKind::Failures))) => true,
            (Mark::Start | Mark::Section(_) | Mark::Final, _) => false,
        };
        if is_end {
            sessions.push(&marks[start..=position]);
            start = position + 1;
        }
    }
    sessions.push(&marks[start..]);
    sessions
}

/// Adds up the summaries of the sessions that count, and notes those that never printed one.
pub(super) fn count(cx: &Context<'_>, sections: &[Section], is_one_run: bool, draft: &mut Draft) {
    let mut nest = Nest::default();
    let mut sections = sections.iter().peekable();
    for (index, line) in cx.lines() {
        while sections.next_if(|it| it.range.end <= index).is_some() {}
        let is_captured = sections
            .peek()
            .is_some_and(|it| it.range.contains(&index) && it.kind != SectionKind::Summary);
        if is_captured {
            continue;
        }
        if is_start(line) {
            nest.start(index, None);
        } else if let Some(counts) = summary::read(line) {
            nest.end(index, counts);
        }
    }
    let suites = nest.close();
    let (finished, mut lone) = (suites.finished, suites.lone);
    // Quiet runs print no title. Of one such run, the last summary is its own.
    if is_one_run || !finished.is_empty() {
        let keep = usize::from(finished.is_empty());
        lone.drain(..lone.len().saturating_sub(keep));
    }
    for suite in finished.iter().chain(&lone) {
        draft.add_counts(suite.counts);
    }
    for _ in &suites.unfinished {
        draft.unfinished += 1;
    }
    if !suites.unfinished.is_empty() {
        draft.add_counts(printed(cx));
    }
}

/// A run that is not green because there was nothing to run says so itself.
pub(super) fn say_nothing_ran(cx: &Context<'_>, draft: &mut Draft) {
    let has_none = draft.counts.is_some_and(|it| it == Counts::NONE);
    if !has_none || cx.input.is_green() || draft.has_error() {
        return;
    }
    let last = cx.lines().filter(|it| summary::is_final(it.1)).last();
    draft.problems.extend(last.map(|(index, line)| {
        let message = format!("no test was executed: {}", line.trim_matches(['=', ' ']));
        Problem::error(message, Cut::new(index.saturating_sub(3)..index + 1, vec![index]))
    }));
}

/// The results of single tests, as a verbose run prints them before it dies.
fn printed(cx: &Context<'_>) -> Counts {
    let mut counts = Counts::NONE;
    let mut passed = 0;
    for (_, line) in cx.lines() {
        let Some(found) = RESULT.captures(line) else { continue };
        match group(&found, 1) {
            "PASSED" => passed += 1,
            "FAILED" => counts.failed += 1,
            "ERROR" => counts.errors += 1,
            _ => counts.skipped += 1,
        }
    }
    Counts { passed: Some(passed), ..counts }
}
