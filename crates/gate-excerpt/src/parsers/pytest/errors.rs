//! What stops pytest before or beside its tests: usage, conftest files, its own and its plugins' errors, coverage.

use super::block;
use super::session::Section;
use crate::draft::{Counts, Draft, Problem};
use crate::parsers::{Context, python};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static USAGE: Pattern = Pattern::new(|| {
    pattern(r"^(?:pytest|py\.test|__main__\.py|\S*/pytest\S*|python\S* -m pytest): error: (.+)$")
});
static INI_FILE: Pattern = Pattern::new(|| pattern(r"^\s+inifile: (\S.*)$"));
static CONFTEST: Pattern =
    Pattern::new(|| pattern(r"^ImportError while loading conftest '(.+)'\.$"));
static ERROR: Pattern = Pattern::new(|| pattern(r"^ERROR: (\S.*)$"));
static COVERAGE: Pattern = Pattern::new(|| {
    pattern(r"^(?:ERROR: |FAIL )((?:Coverage failure: |Required test coverage ).*)$")
});
static COVERAGE_ROW: Pattern =
    Pattern::new(|| pattern(r"^(\S+\.py) +\d+ +(\d+)(?: +\d+ +\d+)? +\d+%"));

const INTERNAL: &str = "INTERNALERROR> ";

pub(super) fn read(cx: &Context<'_>, sections: &[Section], draft: &mut Draft) {
    let mut sections = sections.iter().peekable();
    let mut has_internal = false;
    let mut has_coverage = false;
    for (index, line) in cx.lines() {
        while sections.next_if(|it| it.range.end <= index).is_some() {}
        if line.starts_with(INTERNAL.trim_end()) {
            if !has_internal && line[INTERNAL.len().min(line.len())..].starts_with(python::HEADER) {
                has_internal = true;
                draft.problems.extend(internal(cx, index));
            }
            continue;
        }
        let is_coverage = line.starts_with(['E', 'F']) && COVERAGE.is_match(line);
        if is_coverage {
            if !has_coverage {
                has_coverage = true;
                draft.problems.extend(coverage(cx, index, line));
            }
        } else if sections.peek().is_some_and(|it| it.range.contains(&index)) {
        } else if let Some(found) = USAGE.captures(line) {
            draft.counts.get_or_insert(Counts::NONE);
            draft.problems.push(usage(cx, index, group(&found, 1)));
        } else if let Some(found) = CONFTEST.captures(line) {
            draft.counts.get_or_insert(Counts::NONE);
            draft.problems.push(conftest(cx, index, group(&found, 1)));
        } else if let Some(found) = ERROR.captures(line) {
            let text = group(&found, 1);
            if !text.starts_with("usage: ") {
                draft.problems.push(Problem::error(text, Cut::new(index..index + 3, vec![index])));
            }
        }
    }
}

fn usage(cx: &Context<'_>, index: usize, message: &str) -> Problem {
    let below = index + 1..index + 4;
    let ini = cx.log.slice(below.clone()).find_map(|it| INI_FILE.captures(it.1));
    let file = ini.map(|it| group(&it, 1).to_owned()).filter(|it| it != "None");
    let location = file.map(|it| cx.paths.location(&it, None));
    Problem::error(message, Cut::new(index..below.end, vec![index])).at(location)
}

/// It has the short style's traceback, up to a blank line.
fn conftest(cx: &Context<'_>, index: usize, file: &str) -> Problem {
    let mut rest = cx.log.slice(index + 1..cx.log.len()).filter(|it| it.1.trim().is_empty());
    let end = rest.next().map_or(cx.log.len(), |it| it.0);
    let (cause, range) = block::read(cx, index..end);
    let of_file = || Some(cx.paths.location(file, None));
    match cause {
        Some(cause) => Problem::error(cause.message, Cut::new(range, cause.keys))
            .at(cause.location.or_else(of_file)),
        None => Problem::error(cx.log.line(index), Cut::new(range, vec![index])).at(of_file()),
    }
}

fn internal(cx: &Context<'_>, index: usize) -> Option<Problem> {
    let is_part = |it: &(usize, &str)| it.1.starts_with(INTERNAL.trim_end());
    let end =
        cx.log.slice(index..cx.log.len()).find(|it| !is_part(it)).map_or(cx.log.len(), |it| it.0);
    let (chain, cut) = python::traceback(cx, index, end, without_mark)?;
    let cause = chain.cause()?;
    Some(Problem::error(cause.message, cut).at(cause.location))
}

fn without_mark(line: &str) -> &str {
    let line = line.strip_prefix(INTERNAL.trim_end()).unwrap_or(line);
    line.strip_prefix(' ').unwrap_or(line)
}

/// Points at the file with the most lines that no test reached.
fn coverage(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let message = COVERAGE.captures(line).map(|it| group(&it, 1).to_owned())?;
    let near = index.saturating_sub(TABLE_LINES_MAX)..index + TABLE_LINES_MAX;
    let rows = cx.log.slice(near).filter_map(|(at, line)| {
        let found = COVERAGE_ROW.captures(line)?;
        let missed: u64 = group(&found, 2).parse().ok()?;
        Some((missed, at, cx.paths.location(group(&found, 1), None)))
    });
    let rows: Vec<_> = rows.filter(|it| it.0 > 0).collect();
    let worst = rows.iter().max_by_key(|it| (it.0, std::cmp::Reverse(it.1)));
    let mut keys: Vec<usize> = rows.iter().map(|it| it.1).take(TABLE_ROWS_SHOWN).collect();
    keys.extend(worst.map(|it| it.1));
    keys.push(index);
    let first = keys.iter().min().copied().unwrap_or(index);
    let last = keys.iter().max().copied().unwrap_or(index);
    let location = worst.map(|it| it.2.clone());
    Some(Problem::error(message, Cut::new(first..last + 1, keys)).at(location))
}

/// Between the message and its table.
const TABLE_LINES_MAX: usize = 300;
/// Files that are shown with their missed lines.
const TABLE_ROWS_SHOWN: usize = 8;
