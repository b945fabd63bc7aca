//! The test binaries of a log: `running N tests` to `test result: …`.

use std::ops::Range;

use crate::draft::Counts;
use crate::nest::{Nest, Suites};
use crate::parsers::Context;
use crate::pattern::{Pattern, group, pattern};

static START: Pattern = Pattern::new(|| pattern(r"^running (\d+) tests?(?: \(.*\))?$"));
static RESULT: Pattern = Pattern::new(|| {
    pattern(
        r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored(?:; (\d+) measured)?; \d+ filtered out",
    )
});

pub(super) fn is_start(line: &str) -> bool {
    line.starts_with("running ") && START.is_match(line)
}

fn is_result(line: &str) -> bool {
    line.starts_with("test result: ")
}

pub(super) fn read(cx: &Context<'_>) -> Suites {
    let mut nest = Nest::default();
    for (index, line) in cx.lines() {
        if line.starts_with("running ") {
            if let Some(found) = START.captures(line) {
                nest.start(index, group(&found, 1).parse().ok());
            }
        } else if is_result(line)
            && let Some(counts) = result(line)
        {
            nest.end(index, counts);
        }
    }
    nest.close()
}

/// From the start of a binary that died to the start of the next one, or to the end.
pub(super) fn unfinished_ranges(cx: &Context<'_>, suites: &Suites) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = suites.finished.iter().map(|it| it.start).collect();
    starts.extend(&suites.unfinished);
    starts.sort_unstable();
    let end = |start: usize| {
        let next = starts.partition_point(|it| *it <= start);
        starts.get(next).copied().unwrap_or(cx.log.len())
    };
    suites.unfinished.iter().map(|start| *start..end(*start)).collect()
}

fn result(line: &str) -> Option<Counts> {
    let found = RESULT.captures(line)?;
    let figure = |index| group(&found, index).parse::<u64>().ok();
    // Benches that were measured were executed.
    let passed = figure(1)?.saturating_add(figure(4).unwrap_or(0));
    Some(Counts { passed: Some(passed), failed: figure(2)?, errors: 0, skipped: figure(3)? })
}
