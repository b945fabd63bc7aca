//! `file(line,column): error CODE: message [project]`, told again in a summary.

use std::collections::HashSet;
use std::ops::Range;

use gate_core::Severity;
use memchr::memmem;

use crate::draft::Problem;
use crate::parsers::{Context, lines};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// Paths have blanks; behind `1>` when projects are built side by side.
static PLACED: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:\d+>)?((?:[A-Za-z]:[\\/]|/|\.{1,2}[\\/])?[^\s:(][^:(]*)\((\d+)(?:,(\d+))?(?:,\d+,\d+|-\d+)?\) ?: (?:(?:fatal|Command line) )?(error|warning) ?([A-Z]+\d+)?: (.*?)(?: \[([^\[\]]+proj)(?:::[^\]]*)?\])?$",
    )
});
/// `main.obj : error LNK2019: …`, `MSBUILD : error MSB1009: …`, `/w/App.csproj : error NU1101: …`.
static BARE: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:\d+>)?(\S.*?) ?: (?:(?:fatal|Command line) )?(error|warning) ([A-Z]+\d+): (.*?)(?: \[([^\[\]]+proj)(?:::[^\]]*)?\])?$",
    )
});

pub(super) fn is_error(line: &str) -> bool {
    // tsc prints the same form, and a search without groups is many times faster.
    let is_other = memmem::find(line.as_bytes(), b"): error TS").is_some();
    !is_other
        && PLACED.is_match(line)
        && PLACED
            .captures(line)
            .is_some_and(|it| !group(&it, 5).is_empty() && !group(&it, 5).starts_with("TS"))
}

/// The errors and warnings, each once, and their lines.
pub(super) fn problems(cx: &Context<'_>) -> (Vec<Problem>, Vec<Range<usize>>) {
    let mut seen = HashSet::new();
    let mut problems = Vec::new();
    let mut taken = Vec::new();
    for (index, line) in cx.lines() {
        if !line.contains("error") && !line.contains("warning") {
            continue;
        }
        let Some(problem) = problem(cx, index, line) else { continue };
        taken.push(index..index + 1);
        if seen.insert(lines::key(&problem.message, problem.location.as_ref())) {
            problems.push(problem);
        }
    }
    (problems, taken)
}

fn problem(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let (place, kind, code, text) = match PLACED.captures(line) {
        Some(found) => {
            let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
            let texts = [4, 5, 6].map(|it| group(&found, it).to_owned());
            (Some(place.location), texts[0].clone(), texts[1].clone(), texts[2].clone())
        }
        None => {
            let found = BARE.captures(line)?;
            let file = group(&found, 1);
            // A project or an object is a file; `MSBUILD` and `CSC` are programs.
            let place = file.contains('.').then(|| cx.paths.location(file, None));
            let texts = [2, 3, 4].map(|it| group(&found, it).to_owned());
            (place, texts[0].clone(), texts[1].clone(), texts[2].clone())
        }
    };
    // tsc prints the same form.
    if code.starts_with("TS") {
        return None;
    }
    let severity = if kind == "error" { Severity::Error } else { Severity::Warning };
    let said = if code.is_empty() { text } else { format!("{kind} {code}: {text}") };
    let problem = Problem::error(said, Cut::line(index)).at(place);
    Some(Problem { severity, code: (!code.is_empty()).then_some(code), ..problem })
}
