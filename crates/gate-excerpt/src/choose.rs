//! Chooses the readers for a log, by the command's words first and by the tools' own lines second, and puts together
//! what they found.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use gate_core::Reading;

use crate::Input;
use crate::channels::{self, Channel};
use crate::classify::Class;
use crate::clean::Log;
use crate::combine::{Part, Source, combine};
use crate::command::{Call, calls};
use crate::draft::{Draft, Problem};
use crate::limits::{DIAGNOSTICS_MAX, FAILING_TESTS_MAX, NOTES_MAX};
use crate::mask::Noise;
use crate::parsers::{Context, LogParser};
use crate::paths::Paths;
use crate::select::{Cut, tail};
use crate::{prefix, rank};

/// All readers of a log.
#[derive(Clone, Copy)]
pub(crate) struct Readers<'p> {
    pub(crate) parsers: &'p [&'p dyn LogParser],
    pub(crate) marks: &'p Marks,
    pub(crate) channels: &'p [Channel],
    /// Reads what the others leave unexplained.
    pub(crate) fallback: &'p dyn LogParser,
}

/// Finds in one pass the lines that may be a tool's banner.
#[derive(Debug, Default)]
pub(crate) struct Marks(OnceLock<(AhoCorasick, Vec<usize>)>);

impl Marks {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The marks of all parsers, and for each the parser whose it is.
    fn of(&self, parsers: &[&dyn LogParser]) -> &(AhoCorasick, Vec<usize>) {
        self.0.get_or_init(|| {
            let all = || parsers.iter().enumerate();
            let owners = all().flat_map(|(at, it)| it.marks().iter().map(move |_| at)).collect();
            let marks = all().flat_map(|it| it.1.marks());
            let found = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(marks);
            (found.expect("marks are literals, and every test builds them"), owners)
        })
    }
}

/// Reads with these readers.
pub(crate) fn read(input: &Input<'_>, readers: &Readers<'_>) -> Reading {
    let mut log = Log::read(input.bytes);
    let calls = calls(input.command);
    let is_called = |it: &dyn LogParser| calls.iter().any(|call| it.is_called(call));
    let mut chosen: Vec<&dyn LogParser> =
        readers.parsers.iter().copied().filter(|it| is_called(*it)).collect();
    let is_named = !chosen.is_empty();
    let is_direct = chosen.iter().any(|it| !it.is_wrapper());
    // Nothing stands before the lines of a tool that is called directly, but what a CI adds.
    prefix::unwrap(&mut log, input.bytes, is_direct);
    let noise = input.baseline.map(|it| Noise::read(&Log::read(it))).unwrap_or_default();
    let mut run = Run {
        cx: Context {
            log: &log,
            input,
            paths: Paths::new(input.roots),
            calls: &calls,
            is_named,
            noise: &noise,
            taken: &[],
        },
        known: readers.parsers,
        taken: vec![false; log.len()],
        parts: Vec::new(),
        notes: Vec::new(),
    };
    run.documents(readers.channels, is_direct);
    // A script or a wrapper runs tools that its words do not name.
    if !is_direct {
        chosen.extend(by_banner(&log, readers).into_iter().filter(|it| !is_called(*it)));
    }
    run.parsers(&chosen, &is_called);
    if !input.is_green() && !run.is_explained() && is_direct {
        let mut others = by_banner(&log, readers);
        others.retain(|it| !is_called(*it));
        run.parsers(&others, &is_called);
    }
    run.matchers();
    if !input.is_green() && !run.is_explained() {
        run.parsers(&[readers.fallback], &|_| is_named);
    }
    run.finish()
}

/// What is known so far.
struct Run<'a> {
    cx: Context<'a>,
    known: &'a [&'a dyn LogParser],
    taken: Vec<bool>,
    parts: Vec<Part>,
    notes: Vec<Problem>,
}

impl Run<'_> {
    fn documents(&mut self, channels: &[Channel], is_direct: bool) {
        let cx = Context { taken: &self.taken.clone(), ..self.cx };
        let machine = channels::read(channels, &cx, is_direct);
        mark(&mut self.taken, &machine.taken);
        self.notes.extend(machine.notes);
        let part = |it: channels::Read| Part { tool: it.tool, draft: it.draft, source: it.source };
        self.parts.extend(machine.drafts.into_iter().map(part));
    }

    /// Inner tools first: what a wrapper says of them explains less.
    fn parsers(&mut self, chosen: &[&dyn LogParser], is_called: &dyn Fn(&dyn LogParser) -> bool) {
        let mut chosen = chosen.to_vec();
        chosen.sort_by_key(|it| it.is_wrapper());
        let captured = captured(&chosen, &Context { taken: &self.taken, ..self.cx });
        for (index, parser) in chosen.iter().enumerate() {
            let mut mask = self.taken.clone();
            let others = captured.iter().enumerate().filter(|it| it.0 != index);
            others.for_each(|(_, ranges)| mark(&mut mask, ranges));
            let is_named = is_called(*parser);
            let draft = guarded(*parser, &Context { taken: &mask, is_named, ..self.cx });
            mark(&mut self.taken, &draft.taken);
            let tells_figures = self.tells_figures(*parser);
            self.parts.push(Part {
                tool: parser.tool(),
                draft,
                source: Source::Text { tells_figures },
            });
        }
    }

    /// Whether a call runs nothing but a runner that prints its figures, or no program to speak of.
    fn is_own(&self, call: &Call) -> bool {
        let tells =
            |it: &&dyn LogParser| !it.is_wrapper() && it.is_called(call) && it.tells_figures(call);
        call.is_idle() || self.known.iter().any(tells)
    }

    /// Whether the command's words run it themselves, each time so that it prints its figures.
    fn tells_figures(&self, parser: &dyn LogParser) -> bool {
        let mut called = self.cx.calls.iter().filter(|it| parser.is_called(it)).peekable();
        !parser.is_wrapper() && called.peek().is_some() && called.all(|it| parser.tells_figures(it))
    }

    fn matchers(&mut self) {
        for matcher in self.cx.input.matchers {
            let draft = matcher.read(&Context { taken: &self.taken, ..self.cx });
            mark(&mut self.taken, &draft.taken);
            let source = Source::Text { tells_figures: false };
            self.parts.push(Part { tool: "", draft, source });
        }
    }

    /// Whether somebody said more than that another one failed.
    fn is_explained(&self) -> bool {
        self.parts.iter().any(|it| it.draft.has_cause())
    }

    fn finish(self) -> Reading {
        let (log, stream) = (self.cx.log, self.cx.input.stream);
        let is_closed = self.cx.calls.iter().all(|call| self.is_own(call));
        let found = combine(self.parts, is_closed);
        let Draft { tool, counts, unfinished, failures, mut problems, left_out, .. } = found;
        problems.extend(self.notes);
        if left_out > 0 {
            let message = format!("{left_out} more lines look like errors told here; not listed");
            problems.push(Problem::note(message, Cut::default()));
        }
        let failing = rank::failures(failures).into_iter().take(FAILING_TESTS_MAX).enumerate();
        let (notes, problems): (Vec<_>, Vec<_>) =
            rank::problems(problems).into_iter().partition(|it| it.class == Some(Class::Note));
        let notes = notes.into_iter().take(NOTES_MAX);
        let problems = problems.into_iter().take(DIAGNOSTICS_MAX - notes.len()).chain(notes);
        Reading {
            tool,
            tally: counts.and_then(|it| it.tally()),
            counts,
            unfinished_suites: unfinished,
            failing_tests: failing.map(|(index, it)| it.finish(log, stream, index)).collect(),
            diagnostics: problems.map(|it| it.finish(log, stream)).collect(),
            tail: tail(log, stream),
        }
    }
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

/// The parsers whose tools show themselves in the log, in their own order.
fn by_banner<'p>(log: &Log, readers: &Readers<'p>) -> Vec<&'p dyn LogParser> {
    let parsers = readers.parsers;
    let (marks, owners) = readers.marks.of(parsers);
    let unmarked: Vec<usize> =
        (0..parsers.len()).filter(|it| parsers[*it].marks().is_empty()).collect();
    let mut is_seen = vec![false; parsers.len()];
    // A line can have several of a parser's marks, and is asked about once.
    let mut asked = vec![usize::MAX; parsers.len()];
    let mut ask = |at: usize, index: usize| {
        if !is_seen[at] && asked[at] != index {
            asked[at] = index;
            is_seen[at] = parsers[at].is_banner(log.line(index));
        }
    };
    log.each_found(marks, |pattern, index| ask(owners[pattern], index));
    if !unmarked.is_empty() {
        let whole = log.slice(0..log.len()).filter(|it| !log.is_piece(it.0) && !it.1.is_empty());
        whole.for_each(|(index, _)| unmarked.iter().for_each(|at| ask(*at, index)));
    }
    (0..parsers.len()).filter(|it| is_seen[*it]).map(|it| parsers[it]).collect()
}

/// A parser that panics found nothing; the next one reads its lines, and the reading says so.
fn guarded(parser: &dyn LogParser, cx: &Context<'_>) -> Draft {
    catch_unwind(AssertUnwindSafe(|| parser.read(cx))).unwrap_or_else(|_| {
        let message = format!("the gate's reader for `{}` gave up on this log", parser.tool());
        let note = Problem::note(message, Cut::default());
        Draft { problems: vec![note], ..Draft::default() }
    })
}

#[cfg(test)]
mod tests {
    use gate_core::LogStream;

    use super::*;
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
            ..Input::default()
        };
        let readers = Readers {
            parsers: &[&Broken],
            marks: &Marks::new(),
            channels: &[],
            fallback: &Fallback,
        };
        let reading = read(&input, &readers);
        let messages: Vec<_> = reading.diagnostics.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            messages,
            ["error: the disk is on fire", "the gate's reader for `broken` gave up on this log"]
        );
        assert_eq!((reading.tally, reading.counts), (None, None));
    }
}
