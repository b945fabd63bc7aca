//! Linkers: what is not defined, what is defined twice, what cannot be found. GNU ld, gold, lld, mold, Apple's ld.

use std::ops::Range;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `/usr/bin/ld: /w/b.c:2: multiple definition of …`; the program's name is left out where the place is known.
static SAYS: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?:(?:\S*[/\\])?(?:[\w.]+-)*(?:ld|ld\.\w+|ld64\.lld|lld|mold|gold)(?:\.exe)?: )?",
        r"(?:(?:\S+\.o(?:bj)?|\S+\.a\(\S+\)):)?(?:(\S[^:]*?):(\d+): |\S[^:]*:\([^)]*\): |\S+: )?(?:error: |fatal error: )?",
        r"((?:undefined reference to|multiple definition of|undefined symbol:|duplicate symbol:?|cannot find|unable to find library|",
        r"library not found for|relocation |can't find|cannot open output file|undefined hidden symbol:|file not recognized|",
        r"cannot open|unresolved external|final link failed|file in wrong format).*)$",
    ))
});
static PROGRAM: Pattern = Pattern::new(|| {
    pattern(r"^(?:\S*[/\\])?(?:[\w.]+-)*(?:ld|ld\.\w+|ld64\.lld|lld|mold|gold)(?:\.exe)?: ")
});
/// lld tells below where a symbol is used.
static REFERENCED: Pattern = Pattern::new(|| {
    pattern(r"^>>> (?:referenced|defined) (?:by|at|in) (?:\S+ \()?([^\s():]+\.\w+):(\d+)")
});
/// Apple's linker: the symbol on a line of its own.
static APPLE: Pattern = Pattern::new(|| pattern(r#"^  "(.+)", referenced from:$"#));

/// Lines below an error in which lld names its place.
const BELOW_LINES: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ld;

impl LogParser for Ld {
    fn tool(&self) -> &'static str {
        "ld"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "ld" | "ld.lld" | "lld" | "mold" | "ld.gold" | "ld.bfd")
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "undefined reference to ",
            "multiple definition of ",
            "Undefined symbols for architecture ",
            "ld: ",
            "ld.",
        ]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.contains("undefined reference to ")
            || line.contains("multiple definition of ")
            || line.starts_with("Undefined symbols for architecture ")
            || ((line.contains("ld: ") || line.contains("ld."))
                && PROGRAM.is_match(line)
                && SAYS.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut last: Option<Range<usize>> = None;
        for (index, line) in cx.lines() {
            if let Some(found) = APPLE.captures(line) {
                let message = format!("undefined symbol: {}", group(&found, 1));
                draft
                    .problems
                    .push(Problem::error(message, Cut::new(index..index + 2, vec![index])));
                continue;
            }
            if !is_candidate(line) {
                continue;
            }
            let Some(found) = SAYS.captures(line) else { continue };
            let text = group(&found, 3);
            if text.starts_with("cannot open") && !PROGRAM.is_match(line) {
                continue;
            }
            let own = (found.get(1).is_some())
                .then(|| cx.paths.place(group(&found, 1), number(&found, 2), None));
            let (below, end) = referenced(cx, index);
            let start = last.filter(|it| it.end == index).map_or(index, |_| index);
            let place = own.or(below);
            let cut = Cut::new(start..end, vec![index]);
            draft.problems.push(Problem::error(text, cut).at(place.map(|it| it.location)));
            last = Some(start..end);
        }
        // One missing symbol is used in many places, and fails once.
        draft.problems.dedup_by(|two, one| two.message == one.message);
        draft.taken = draft.problems.iter().map(|it| it.cut.range.clone()).collect();
        draft
    }
}

fn is_candidate(line: &str) -> bool {
    line.contains("undefined ")
        || line.contains("multiple definition")
        || line.contains("duplicate symbol")
        || (line.contains(": ") && PROGRAM.is_match(line))
}

/// What lld prints below: the place, and the end of its lines.
fn referenced(cx: &Context<'_>, index: usize) -> (Option<Place>, usize) {
    let mut place = None;
    let mut end = index + 1;
    let below = cx.log.slice(index + 1..index + 1 + BELOW_LINES);
    for (at, line) in below.take_while(|it| it.1.starts_with(">>> ")) {
        end = at + 1;
        if place.is_none()
            && let Some(found) = REFERENCED.captures(line)
        {
            place = Some(cx.paths.place(group(&found, 1), number(&found, 2), None));
        }
    }
    (place, end)
}
