//! Rollup and Vite, with rolldown and esbuild below them.

use std::ops::Range;

use super::{Context, LogParser, js};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// Where the report of the failure starts; its message may stand behind it.
static START: Pattern = Pattern::new(|| pattern(r"^(?:error during build:|\[!\] (.+))$"));
/// Of rolldown: one of several errors.
static CODED: Pattern =
    Pattern::new(|| pattern(r"^(?:Error: )?\[([A-Z][A-Z_]+)\](?: Error:)? (.+)$"));
/// Lines that only introduce.
static INTRODUCTION: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:(?:Rollup)?Error: )?(?:Build failed with \d+ errors?:|\[?.*\]? ?Transform failed with \d+ errors?:)$",
    )
});
/// `a.ts:2:6: ERROR: message`, as esbuild tells a plug-in.
static ESBUILD: Pattern = Pattern::new(|| pattern(r"^(\S.*?):(\d+):(\d+): ERROR: (.+)$"));
static PLACE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:file: ([^:]\S*?):(\d+):(\d+)|\s*╭─\[ ?(.+?):(\d+):(\d+) ?\]|(\S+\.\w+) \((\d+):(\d+)\)|(?:file: )?(\S+\.\w+))(?: \(.*\))?:?$",
    )
});
/// In the message: `src/main.js (1:9): "x" is not exported by …`.
static IN_MESSAGE: Pattern = Pattern::new(|| {
    pattern(
        r#"^(?:\w*Error: )?(?:\[[\w:@/-]+\] )?(\S+\.\w+) \((\d+):(\d+)\): |(?: in | from )"?([^\s"]+\.\w+)"?(?:\.|$)"#,
    )
});

/// Lines of one report.
const BLOCK_LINES_MAX: usize = 200;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rollup;

impl LogParser for Rollup {
    fn tool(&self) -> &'static str {
        "rollup"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "rollup" || is_vite(call)
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["error during build:", "[!] "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line == "error during build:"
            || line.starts_with("[!] RollupError: ")
            || line.starts_with("[!] (plugin ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let has_vite =
            cx.calls.iter().any(is_vite) || cx.lines().any(|it| it.1.starts_with("vite v"));
        let mut draft = Draft { tool: has_vite.then_some("vite"), ..Draft::default() };
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next || !line.starts_with(['e', '[']) {
                continue;
            }
            let Some(found) = START.captures(line) else { continue };
            let behind = group(&found, 1);
            let first = if behind.is_empty() { index + 1 } else { index };
            let end = stack_start(cx, first);
            draft.problems.extend(problems(cx, first..end, behind));
            draft.taken.push(index..end);
            next = end;
        }
        draft
    }
}

fn is_vite(call: &Call) -> bool {
    call.program == "vite" && call.subcommand() != "dev"
}

/// Its own stack says nothing of the project.
fn stack_start(cx: &Context<'_>, first: usize) -> usize {
    let end = cx.log.len().min(first + BLOCK_LINES_MAX);
    let is_stack =
        |it: &(usize, &str)| js::frame(cx, it.1).is_some() || it.1.starts_with("    at ");
    let found = cx.log.slice(first + 1..end).find(is_stack);
    found.map_or(end, |it| it.0)
}

/// One for each coded error; without codes, one.
fn problems(cx: &Context<'_>, block: Range<usize>, behind: &str) -> Vec<Problem> {
    let coded = |it: &(usize, &str)| CODED.is_match(it.1);
    let starts: Vec<usize> = cx.log.slice(block.clone()).filter(coded).map(|it| it.0).collect();
    if starts.is_empty() {
        let first = if behind.is_empty() { cx.log.line(block.start).trim() } else { behind };
        return vec![problem(cx, block, first, None)];
    }
    let ends = starts.iter().skip(1).copied().chain([block.end]);
    let one = |(start, end): (&usize, usize)| {
        let line = cx.log.line(*start);
        let found = CODED.captures(line);
        let code = found.as_ref().map(|it| group(it, 1).to_owned());
        let message = found.and_then(|it| it.get(2)).map_or(line, |it| it.as_str());
        problem(cx, *start..end, message, code)
    };
    starts.iter().zip(ends).map(one).collect()
}

fn problem(cx: &Context<'_>, block: Range<usize>, first: &str, code: Option<String>) -> Problem {
    let mut message = first.to_owned();
    let mut keys = vec![block.start];
    let mut place = None;
    for (at, line) in cx.log.slice(block.clone()).filter(|it| !it.1.trim().is_empty()) {
        if let Some(found) = ESBUILD.captures(line) {
            // What introduces it says less.
            if INTRODUCTION.is_match(&message) {
                group(&found, 4).clone_into(&mut message);
            }
            place = place.or(Some(cx.paths.place(
                group(&found, 1),
                number(&found, 2),
                number(&found, 3),
            )));
            keys.push(at);
        } else if at > block.start
            && let Some(found) = PLACE.captures(line)
        {
            let at_group =
                [1, 4, 7, 10].into_iter().find(|it| found.get(*it).is_some()).unwrap_or(10);
            let (row, column) = (number(&found, at_group + 1), number(&found, at_group + 2));
            let row = if at_group == 10 { None } else { row };
            let here = cx.paths.place(group(&found, at_group), row, column);
            let is_better =
                place.as_ref().is_none_or(|it| it.location.line.is_none() && row.is_some());
            place = if is_better { Some(here) } else { place };
            keys.push(at);
        } else if INTRODUCTION.is_match(&message) {
            line.trim().clone_into(&mut message);
            keys.push(at);
        }
    }
    let told = IN_MESSAGE.captures(&message);
    let in_message = told.map(|it| match it.get(1) {
        Some(file) => cx.paths.place(file.as_str(), number(&it, 2), number(&it, 3)),
        None => cx.paths.place(group(&it, 4), None, None),
    });
    let location = place.or(in_message).map(|it| it.location);
    Problem { code, ..Problem::error(message, Cut::new(block, keys)).at(location) }
}
