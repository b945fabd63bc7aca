//! Chooses the parsers for a log, by the command's words first and by the tools' own lines second, and puts together
//! what they found.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gate_core::{Reading, Severity};

use crate::Input;
use crate::clean::Log;
use crate::command::calls;
use crate::draft::{Counts, Draft, Problem};
use crate::limits::{DIAGNOSTICS_MAX, FAILING_TESTS_MAX};
use crate::parsers::{Context, LogParser};
use crate::paths::Paths;
use crate::select::{Cut, tail};

/// Reads with these parsers; what they leave unexplained is read with the last one.
pub(crate) fn read(
    input: &Input<'_>,
    parsers: &[&dyn LogParser],
    fallback: &dyn LogParser,
) -> (Reading, Option<Counts>) {
    let log = Log::read(input.bytes);
    let calls = calls(input.command);
    let named: Vec<&dyn LogParser> = parsers
        .iter()
        .copied()
        .filter(|parser| calls.iter().any(|call| parser.is_called(call)))
        .collect();
    let is_named = !named.is_empty();
    let chosen = if is_named { named } else { by_banner(&log, parsers) };

    let context = Context {
        log: &log,
        input,
        paths: Paths::new(input.roots),
        calls: &calls,
        is_named,
        taken: &vec![false; log.len()],
    };
    let mut taken = vec![false; log.len()];
    let mut found = Draft::default();
    let captured = captured(&chosen, &context);
    for (index, parser) in chosen.iter().enumerate() {
        let mut mask = taken.clone();
        let others = captured.iter().enumerate().filter(|it| it.0 != index);
        others.for_each(|(_, ranges)| mark(&mut mask, ranges));
        let draft = guarded(*parser, &Context { taken: &mask, ..context });
        mark(&mut taken, &draft.taken);
        merge(&mut found, draft, parser.tool());
    }
    if !input.is_green() && !found.has_error() {
        let draft = guarded(fallback, &Context { taken: &taken, ..context });
        merge(&mut found, draft, fallback.tool());
    }
    finish(found, &log, input)
}

/// For each parser, what its tool's tests printed. One tool alone needs no mask.
fn captured(chosen: &[&dyn LogParser], cx: &Context<'_>) -> Vec<Vec<Range<usize>>> {
    if chosen.len() < 2 {
        return Vec::new();
    }
    let ranges = |parser: &&dyn LogParser| {
        catch_unwind(AssertUnwindSafe(|| parser.captured(cx))).unwrap_or_default()
    };
    chosen.iter().map(ranges).collect()
}

fn mark(lines: &mut [bool], ranges: &[Range<usize>]) {
    for range in ranges {
        let end = range.end.min(lines.len());
        lines[range.start.min(end)..end].fill(true);
    }
}

/// The parsers whose tools show themselves in the log.
fn by_banner<'p>(log: &Log, parsers: &[&'p dyn LogParser]) -> Vec<&'p dyn LogParser> {
    let mut left: Vec<(usize, &dyn LogParser)> = parsers.iter().copied().enumerate().collect();
    let mut seen = Vec::new();
    for (index, line) in log.slice(0..log.len()) {
        if left.is_empty() {
            break;
        }
        if !log.is_piece(index) {
            seen.extend(left.extract_if(.., |(_, parser)| parser.is_banner(line)));
        }
    }
    seen.sort_by_key(|it| it.0);
    seen.into_iter().map(|it| it.1).collect()
}

/// A parser that panics found nothing; the next one reads its lines, and the reading says so.
fn guarded(parser: &dyn LogParser, cx: &Context<'_>) -> Draft {
    catch_unwind(AssertUnwindSafe(|| parser.read(cx))).unwrap_or_else(|_| {
        let message = format!("the gate's reader for `{}` gave up on this log", parser.tool());
        let note =
            Problem { severity: Severity::Warning, ..Problem::error(message, Cut::default()) };
        Draft { problems: vec![note], ..Draft::default() }
    })
}

fn merge(found: &mut Draft, draft: Draft, tool: &'static str) {
    let is_telling = draft.counts.is_some() || draft.unfinished > 0 || draft.has_error();
    let name = draft.tool.or((!tool.is_empty()).then_some(tool));
    // The first tool that says something gives its name, one that says why it failed before all.
    if found.tool.is_none() || (is_telling && !found.has_error() && draft.has_error()) {
        found.tool = name.or(found.tool);
    }
    if let Some(counts) = draft.counts {
        found.add_counts(counts);
    }
    found.unfinished = found.unfinished.saturating_add(draft.unfinished);
    found.failures.extend(draft.failures);
    found.problems.extend(draft.problems);
}

fn finish(found: Draft, log: &Log, input: &Input<'_>) -> (Reading, Option<Counts>) {
    let Draft { tool, counts, unfinished, failures, mut problems, .. } = found;
    problems.sort_by_key(|it| it.severity);
    let stream = input.stream;
    let failing = failures.into_iter().take(FAILING_TESTS_MAX).enumerate();
    let reading = Reading {
        tool,
        tally: counts.and_then(|it| it.tally()),
        unfinished_suites: unfinished,
        failing_tests: failing.map(|(index, it)| it.finish(log, stream, index)).collect(),
        diagnostics: problems
            .into_iter()
            .take(DIAGNOSTICS_MAX)
            .map(|it| it.finish(log, stream))
            .collect(),
        tail: tail(log, stream),
    };
    (reading, counts)
}

#[cfg(test)]
mod tests {
    use gate_core::LogStream;

    use super::*;
    use crate::command::Call;
    use crate::parsers::Fallback;

    struct Broken;

    impl LogParser for Broken {
        fn tool(&self) -> &'static str {
            "broken"
        }

        fn is_called(&self, _: &Call) -> bool {
            true
        }

        fn is_banner(&self, _: &str) -> bool {
            true
        }

        fn read(&self, cx: &Context<'_>) -> Draft {
            panic!("cannot read {} lines", cx.log.len())
        }
    }

    #[test]
    fn a_parser_that_panics_fails_open_to_the_fallback_and_says_so() {
        let words = ["x".to_owned()];
        let input = Input {
            bytes: b"error: the disk is on fire\n",
            command: &words,
            exit_code: Some(1),
            signal: None,
            timed_out: false,
            stream: LogStream::Merged,
            roots: &[],
        };
        let (reading, counts) = read(&input, &[&Broken], &Fallback);
        let messages: Vec<_> = reading.diagnostics.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            messages,
            ["error: the disk is on fire", "the gate's reader for `broken` gave up on this log"]
        );
        assert_eq!((reading.tally, counts), (None, None));
    }
}
