//! Takes away what wrappers put before each line, and puts the lines of each task together again.
//!
//! Task runners, containers, and CI write `web:test: `, `#12 3.4 `, or a time before the lines of the tools that they
//! run, and mix the lines of several. A parser gets the lines as its tool printed them, task after task; the log keeps
//! where each stands in the raw bytes, and [`Log::prefix`] what was before it.

use std::collections::HashMap;

use crate::clean::Log;
use crate::limits::{PREFIX_SAMPLE_LINES, STREAMS_MAX};
use crate::pattern::{Pattern, pattern};

/// Of the lines between the first and the last with a prefix, so many in a hundred must have one.
const SHARE_PERCENT: usize = 80;
/// Fewer lines with a prefix are no custom.
const LINES_MIN: usize = 3;
/// A wrapper in a wrapper in a CI.
const LAYERS_MAX: usize = 3;
/// On average a task prints more lines; what differs in every line is no task's name.
const LINES_PER_STREAM_MIN: usize = 2;

/// One custom.
struct Kind {
    pattern: Pattern,
    /// Whether the first group names a task, whose lines may be mixed with those of others.
    names_task: bool,
}

static KINDS: [Kind; 6] = [
    // GitHub's times, also behind the job and the step of `gh run view --log`; then its own marks.
    Kind {
        pattern: Pattern::new(|| {
            pattern(concat!(
                r"^(?:([^\t]{1,100})\t[^\t]{1,100}\t)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?",
                r"(?:##\[(?:error|warning|debug|command|section|notice)\])?"
            ))
        }),
        names_task: true,
    },
    // turbo: `web:test: `, `@acme/web:test: `; lerna: `@acme/web: `.
    Kind {
        pattern: Pattern::new(|| {
            pattern(concat!(
                r"^((?:@[\w.-]+/)?[\w.-]+[:#][A-Za-z][\w-]*(?::[A-Za-z][\w-]*)*: |@[\w.-]+/[\w.-]+: |",
                r"(?:@[\w.-]+/)?[\w.-]+[:#][A-Za-z][\w-]*(?::[A-Za-z][\w-]*)*:$)"
            ))
        }),
        names_task: true,
    },
    // pnpm -r: `packages/web test: `, `packages/web test$ jest`.
    Kind {
        pattern: Pattern::new(|| {
            pattern(r"^((?:\.|[\w@.-]+(?:/[\w@.-]+)+) [A-Za-z][\w:-]*)(?:: |:$|\$ )")
        }),
        names_task: true,
    },
    // Compose: `web-1  | `.
    Kind { pattern: Pattern::new(|| pattern(r"^([\w./@#-]{1,60}) +\|(?: |$)")), names_task: true },
    // BuildKit: `#12 3.456 `, `#12 [3/4] RUN …`.
    Kind { pattern: Pattern::new(|| pattern(r"^(#\d+)(?: \d+\.\d+)?(?: |$)")), names_task: true },
    // concurrently, nx, yarn: `[web] `, `[@acme/web]: `.
    Kind {
        pattern: Pattern::new(|| pattern(r"^(\[(?:[0-9]+|@?[A-Za-z][\w./@:#-]{0,60})\]):?(?: |$)")),
        names_task: true,
    },
];

/// Words in brackets that tell how much a line matters, and pytest's workers, whose results look alike.
fn is_own_form(name: &str) -> bool {
    let word = name.trim_matches(['[', ']']).to_ascii_lowercase();
    let levels = [
        "info", "error", "warn", "warning", "debug", "trace", "fatal", "notice", "severe", "ok",
        "fail", "failed", "pass", "passed", "run", "skip", "skipped", "fixed", "fixable",
    ];
    let is_worker =
        word.strip_prefix("gw").is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
    levels.contains(&word.as_str()) || is_worker
}

/// The lines as the inner tools printed them. Of a tool that is called directly only a CI's marks are taken away: what
/// looks like another wrapper's was printed by its tests.
pub(crate) fn unwrap(log: &mut Log, raw: &[u8], is_direct: bool) {
    let kinds = if is_direct { &KINDS[..1] } else { &KINDS[..] };
    for _ in 0..LAYERS_MAX {
        let Some(kind) = kinds.iter().find(|it| is_custom_in_sample(log, it)) else { return };
        if !strip(log, kind, raw) {
            return;
        }
    }
}

/// Looks at few lines, so that a log without prefixes costs nothing.
fn is_custom_in_sample(log: &Log, kind: &Kind) -> bool {
    let step = log.len().div_ceil(PREFIX_SAMPLE_LINES).max(1);
    let (mut all, mut prefixed) = (0, 0);
    for index in (0..log.len()).step_by(step) {
        let line = log.line(index);
        all += usize::from(!line.trim().is_empty());
        prefixed += usize::from(length(kind, line).is_some());
    }
    // What stands before the first and behind the last one does not count: that is seen later.
    prefixed >= LINES_MIN.min(all) && prefixed > 0 && prefixed * 100 >= all * SHARE_PERCENT / 2
}

fn length(kind: &Kind, line: &str) -> Option<usize> {
    let found = kind.pattern.captures(line)?;
    let name = found.get(1).map_or("", |it| it.as_str());
    (!is_own_form(name)).then(|| found.get(0).map_or(0, |it| it.end()))
}

/// Whether there was something to take away.
fn strip(log: &mut Log, kind: &Kind, raw: &[u8]) -> bool {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let mut telling = Vec::with_capacity(log.len());
    for (index, line) in log.slice(0..log.len()) {
        telling.push(!line.trim().is_empty());
        let Some(captures) = kind.pattern.captures(line) else { continue };
        let name = captures.get(1).map_or("", |it| it.as_str());
        if !log.is_piece(index) && !is_own_form(name) {
            let name = name.trim_end_matches([':', ' ']).to_owned();
            found.push((index, captures.get(0).map_or(0, |it| it.end()), name));
        }
    }
    let (Some(first), Some(last)) = (found.first(), found.last()) else { return false };
    let range = first.0..last.0 + 1;
    let all = telling[range.clone()].iter().filter(|it| **it).count();
    if found.len() < LINES_MIN || found.len() * 100 < all * SHARE_PERCENT {
        return false;
    }
    let mut streams: HashMap<&str, usize> = HashMap::new();
    for (_, _, name) in &found {
        let next = streams.len();
        streams.entry(name).or_insert(next);
    }
    if found.len() < streams.len() * LINES_PER_STREAM_MIN {
        return false;
    }
    let is_mixed = kind.names_task && streams.len() > 1 && streams.len() <= STREAMS_MAX;
    if is_mixed {
        let order = order(log.len(), &found, &streams);
        for (index, bytes, _) in &found {
            log.cut_prefix(*index, *bytes, raw);
        }
        log.reorder(&order);
    } else {
        for (index, bytes, _) in &found {
            log.cut_prefix(*index, *bytes, raw);
        }
    }
    true
}

/// What is before the first task, each task's lines, what is after the last one. A line without a prefix belongs to
/// the line above it.
fn order(
    lines: usize,
    found: &[(usize, usize, String)],
    streams: &HashMap<&str, usize>,
) -> Vec<usize> {
    let first = found.first().map_or(lines, |it| it.0);
    let last = found.last().map_or(lines, |it| it.0);
    let mut of_stream: Vec<Vec<usize>> = vec![Vec::new(); streams.len()];
    let mut next = found.iter().peekable();
    let mut current = 0;
    for index in first..=last.min(lines.saturating_sub(1)) {
        if let Some((_, _, name)) = next.next_if(|it| it.0 == index) {
            current = streams.get(name.as_str()).copied().unwrap_or(0);
        }
        of_stream[current].push(index);
    }
    (0..first).chain(of_stream.into_iter().flatten()).chain(last + 1..lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(raw: &str) -> Vec<String> {
        let mut log = Log::read(raw.as_bytes());
        unwrap(&mut log, raw.as_bytes(), false);
        for index in 0..log.len() {
            let at = usize::try_from(log.raw_offset(index)).unwrap();
            assert!(raw[at..].starts_with(&log.line(index)[..log.line(index).len().min(3)]));
        }
        log.slice(0..log.len()).map(|it| it.1.to_owned()).collect()
    }

    #[test]
    fn mixed_tasks_are_put_together_again_and_lose_their_prefix() {
        let turbo = "• Running test\nweb:test: FAIL a\napi:test: ok 1\nweb:test:   at a.js:1\napi:test: ok 2\n\n Tasks: 1\n";
        assert_eq!(
            unwrapped(turbo),
            ["• Running test", "FAIL a", "  at a.js:1", "ok 1", "ok 2", "", " Tasks: 1"]
        );
        let pnpm = "packages/a test$ jest\npackages/b test$ tsc\npackages/a test: FAIL x\npackages/b test: b.ts(1,2): error\npackages/a test: Failed\n";
        assert_eq!(unwrapped(pnpm), ["jest", "FAIL x", "Failed", "tsc", "b.ts(1,2): error"]);
    }

    #[test]
    fn layers_are_taken_away_one_after_the_other() {
        let raw = "2026-11-30T20:01:02.1234567Z #7 [2/3] RUN make\n2026-11-30T20:01:03.1234567Z #7 0.312 a.c:1:2: error: x\n2026-11-30T20:01:03.1234567Z ##[error]#7 0.4 failed\n";
        assert_eq!(unwrapped(raw), ["[2/3] RUN make", "a.c:1:2: error: x", "failed"]);
    }

    #[test]
    fn what_tools_print_themselves_is_no_prefix() {
        for raw in [
            "a.c:1:2: error: x\na.c:2:2: error: y\nb.c:3:2: error: z\n",
            "[ERROR] a\n[INFO] b\n[ERROR] c\n[INFO] d\n",
            "[gw0] [ 10%] PASSED a.py::t\n[gw1] [ 20%] PASSED a.py::u\n[gw0] [ 30%] PASSED a.py::v\n",
            "[1/3] cc a.c\n[2/3] cc b.c\n[3/3] ld\n",
            "src/a.ts: error one\nsrc/b.ts: error two\nsrc/c.ts: error three\n",
        ] {
            assert_eq!(unwrapped(raw), raw.lines().collect::<Vec<_>>());
        }
    }
}
