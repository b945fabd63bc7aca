//! `ESLint`: its forms `stylish`, `unix`, and `compact`, and the report of its own crash. oxlint and xo print alike.

use gate_core::Severity;

use super::{Context, LogParser, js};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;
use crate::table::{Row, Spec, Table};

static ROWS: Table = Table::new(Spec {
    tool: "eslint",
    programs: &["eslint", "eslint_d", "xo", "standard", "ts-standard"],
    banner: Some(
        r"^ +\d+:\d+ +error {2}Parsing error: |^ +\d+:\d+ +(?:error|warning) {2,}\S.* {2,}@?[\w-]+(?:/[\w-]+)*$|^\S.* \[(?:Error|Warning)/[\w@/-]+\]$|^\S.*: line \d+, col \d+, (?:Error|Warning) - |^Oops! Something went wrong! :\($",
    ),
    head: Some(r"^(?P<file>(?:/|[A-Za-z]:[\\/]|\./|\.\./)?[^\s✖×][^:]*\.\w+)$"),
    rows: &[
        Row::error(
            r"^ +(?P<line>\d+):(?P<column>\d+) +(?:(?P<severity>error|warning)|[✖×⚠]) +(?P<message>.+?)(?: {2,}(?P<code>@?[\w.-]+(?:/[\w.-]+)*))?$",
        ),
        Row::error(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<message>.+) \[(?P<severity>Error|Warning)(?:/(?P<code>[\w@/.-]+))?\]$",
        ),
        Row::error(
            r"^(?P<file>\S.*?): line (?P<line>\d+), col (?P<column>\d+), (?P<severity>Error|Warning) - (?P<message>.+?)(?: \((?P<code>[\w@/.-]+)\))?$",
        ),
        // `standard` and others.
        Row::error(
            r"^ {2}(?P<file>/\S.*?):(?P<line>\d+):(?P<column>\d+): (?P<message>.+?)(?: \((?P<code>[\w@/.-]+)\))?$",
        ),
    ],
    ..Spec::NONE
});
static OCCURRED: Pattern = Pattern::new(|| pattern(r"^Occurred while linting (.+?)(?::(\d+))?$"));

/// It fails because of warnings.
const TOO_MANY: &str = "ESLint found too many warnings (maximum: ";
/// What comes before its own error.
const OOPS: &str = "Oops! Something went wrong! :(";
/// Lines of it.
const CRASH_LINES_MAX: usize = 80;

/// See the module.
#[derive(Debug)]
pub(crate) struct Eslint;

impl LogParser for Eslint {
    fn tool(&self) -> &'static str {
        "eslint"
    }

    fn is_called(&self, call: &Call) -> bool {
        ROWS.is_called(call)
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["error  ", "warning  ", "[Error/", "[Warning/", ", Error - ", ", Warning - ", "Oops!"]
    }

    fn is_banner(&self, line: &str) -> bool {
        ROWS.is_banner(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = ROWS.read(cx);
        // A file that cannot be parsed hides what else is wrong in it.
        draft.problems.sort_by_key(|it| !it.message.starts_with("Parsing error"));
        let is_too_many = !cx.input.is_green() && cx.lines().any(|it| it.1.starts_with(TOO_MANY));
        if is_too_many && !draft.has_error() {
            draft.problems.iter_mut().for_each(|it| it.severity = Severity::Error);
        }
        let oops = cx.lines().find(|it| it.1 == OOPS);
        if let Some(problem) = oops.and_then(|it| crash(cx, it.0)) {
            draft.taken.push(problem.cut.range.clone());
            draft.problems.insert(0, problem);
        }
        draft
    }
}

/// `ESLint: 9.1.0`, then its error, which file it read, and its stack.
fn crash(cx: &Context<'_>, index: usize) -> Option<Problem> {
    let end = cx.log.len().min(index + CRASH_LINES_MAX);
    let telling = |it: &(usize, &str)| !it.1.trim().is_empty() && !it.1.starts_with("ESLint: ");
    let mut lines = cx.log.slice(index + 1..end).filter(telling);
    let (at, message) = lines.next()?;
    let mut keys = vec![index, at];
    let mut location = None;
    let mut message = message.to_owned();
    let mut last = at;
    for (at, line) in lines {
        if let Some(found) = OCCURRED.captures(line) {
            location = Some(cx.paths.location(group(&found, 1), number(&found, 2)));
            keys.push(at);
        } else if let Some(rule) = line.strip_prefix("Rule: ") {
            message = format!("{message} (rule {rule})");
            keys.push(at);
        } else if js::frame(cx, line).is_some() {
            break;
        }
        last = at;
    }
    let location = location.or_else(|| Some(js::own_frame(cx, at..end)?.1.location));
    Some(Problem::error(message, Cut::new(index..last + 1, keys)).at(location))
}
