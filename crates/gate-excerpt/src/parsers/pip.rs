//! Python's resolvers, pip, uv, and poetry: the package, what was wanted, what was found.

use std::cell::OnceCell;
use std::collections::HashMap;

use gate_core::Location;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static CONFLICT: Pattern = Pattern::new(|| {
    pattern(
        r"^ERROR: (Cannot install (?:-r \S+ \(line \d+\)|(\S+)) .*because these package versions have conflicting dependencies\.?)$",
    )
});
static CAUSE: Pattern = Pattern::new(|| {
    pattern(r"^ {4}(The user requested (?:\(constraint\) )?\S.*|\S+ \S+ depends on \S.*)$")
});
static NOT_FOUND: Pattern = Pattern::new(|| {
    pattern(
        r"^ERROR: (Could not find a version that satisfies the requirement (\S+).*?) ?\(from versions: (.*)\)$",
    )
});
static COLLECTING: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:Collecting|Requirement already satisfied:) (\S+) .*\(from -r (\S+) \(line (\d+)\)\)",
    )
});
/// In an error itself.
static FROM_FILE: Pattern = Pattern::new(|| pattern(r"-r (\S+) \(line (\d+)\)"));
static UV: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:error: |\s*× )((?:No solution found when resolving .*|Because .*|.* has no matching .*|Failed to resolve .*))$",
    )
});
static UV_CAUSE: Pattern =
    Pattern::new(|| pattern(r"^ +(?:cause: |╰─▶ |├─▶ |help: |hint: )?(\S.*)$"));
static POETRY: Pattern = Pattern::new(|| pattern(r"^(?:So, )?[Bb]ecause (?:.*), .*$"));

/// Lines of one explanation.
const BLOCK_LINES_MAX: usize = 60;
/// Of the versions that exist, the newest are told.
const VERSIONS_SHOWN: usize = 3;

/// See the module.
#[derive(Debug)]
pub(crate) struct Pip;

impl LogParser for Pip {
    fn tool(&self) -> &'static str {
        "pip"
    }

    fn is_called(&self, call: &Call) -> bool {
        (call.program.starts_with("pip") && !call.program.starts_with("pipe"))
            && call.program != "pip-audit"
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["ERROR: C", "No solution found", "version solving failed."]
    }

    fn is_banner(&self, line: &str) -> bool {
        CONFLICT.is_match(line)
            || NOT_FOUND.is_match(line)
            || (UV.is_match(line) && line.contains("No solution found"))
            || line.ends_with(", version solving failed.")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut next = 0;
        let mut because = None;
        let asked = Requirements::default();
        for (index, line) in cx.lines() {
            if index < next {
                continue;
            }
            let problem = if let Some(found) = CONFLICT.captures(line) {
                Some(conflict(cx, index, &found, &asked))
            } else if let Some(found) = NOT_FOUND.captures(line) {
                Some(not_found(cx, index, &found, &asked))
            } else if line.starts_with("error: ") || line.contains('×') {
                UV.captures(line).map(|it| explained(cx, index, group(&it, 1)))
            } else if line.ends_with("version solving failed.") {
                because = because.filter(|it| index - it < BLOCK_LINES_MAX);
                Some(solved(cx, because.take().unwrap_or(index), index))
            } else {
                if line.is_empty() {
                    because = None;
                } else if line.starts_with("Because ") && POETRY.is_match(line) {
                    because = because.or(Some(index));
                }
                None
            };
            if let Some(problem) = problem {
                next = problem.cut.range.end;
                draft.taken.push(problem.cut.range.clone());
                draft.problems.push(problem);
            }
        }
        if let Some(first) = draft.problems.first() {
            let is_uv = first.message.starts_with("No solution found");
            let is_poetry = first.message.ends_with("version solving failed.");
            let told = if is_uv { Some("uv") } else { is_poetry.then_some("poetry") };
            draft.tool = tool(cx).or(told);
        }
        draft
    }
}

/// `uv pip` and `poetry lock` call through their wrappers.
fn tool(cx: &Context<'_>) -> Option<&'static str> {
    let has = |name: &str| cx.input.command.iter().any(|it| it.rsplit('/').next() == Some(name));
    ["uv", "poetry", "pdm", "pipenv"].into_iter().find(|it| has(it))
}

/// Who asks for what stands below.
fn conflict<'a>(
    cx: &Context<'a>,
    index: usize,
    found: &regex::Captures<'_>,
    asked: &Requirements<'a>,
) -> Problem {
    let mut message = group(found, 1).to_owned();
    let mut keys = vec![index];
    let below = cx.log.slice(index + 1..index + BLOCK_LINES_MAX);
    for (at, line) in below {
        if let Some(cause) = CAUSE.captures(line) {
            message = format!("{message} {};", group(&cause, 1));
            keys.push(at);
        } else if line.starts_with("ERROR: ") || line.starts_with("To fix this") {
            break;
        }
    }
    let end = keys.last().copied().unwrap_or(index) + 1;
    let message = message.trim_end_matches(';').to_owned();
    let package = group(found, 2).trim_end_matches(',');
    let location = from_file(cx, cx.log.line(index)).or_else(|| asked.asked_for(cx, package));
    Problem::error(message, Cut::new(index..end, keys)).at(location)
}

fn not_found<'a>(
    cx: &Context<'a>,
    index: usize,
    found: &regex::Captures<'_>,
    asked: &Requirements<'a>,
) -> Problem {
    let versions: Vec<&str> = group(found, 3).split(", ").collect();
    let newest = &versions[versions.len().saturating_sub(VERSIONS_SHOWN)..];
    let more = if newest.len() < versions.len() { "…, " } else { "" };
    let message = format!("{} (versions: {more}{})", group(found, 1), newest.join(", "));
    // The line after it says the same.
    let end = index
        + 1
        + usize::from(cx.log.line(index + 1).starts_with("ERROR: No matching distribution"));
    let location = from_file(cx, group(found, 1)).or_else(|| asked.asked_for(cx, group(found, 2)));
    Problem::error(message, Cut::new(index..end, vec![index])).at(location)
}

fn from_file(cx: &Context<'_>, line: &str) -> Option<Location> {
    let found = FROM_FILE.captures(line)?;
    Some(cx.paths.location(group(&found, 1), number(&found, 2)))
}

/// Where each requirement is asked for, as far as pip says so.
#[derive(Debug, Default)]
struct Requirements<'a>(OnceCell<HashMap<&'a str, Location>>);

impl<'a> Requirements<'a> {
    /// Looks at the log once, when it is first asked.
    fn asked_for(&self, cx: &Context<'a>, package: &str) -> Option<Location> {
        let all = self.0.get_or_init(|| {
            let mut all = HashMap::new();
            for found in cx.lines().filter_map(|it| COLLECTING.captures(it.1)) {
                let place = || cx.paths.location(group(&found, 2), number(&found, 3));
                all.entry(group(&found, 1)).or_insert_with(place);
            }
            all
        });
        all.get(package).cloned()
    }
}

/// uv's reasons, over several lines.
fn explained(cx: &Context<'_>, index: usize, message: &str) -> Problem {
    let mut message = message.trim_end_matches(':').to_owned();
    let mut end = index + 1;
    let mut is_first = true;
    for (at, line) in cx.log.slice(index + 1..index + BLOCK_LINES_MAX) {
        let Some(found) = UV_CAUSE.captures(line) else { break };
        message =
            format!("{message}{} {}", if is_first { ":" } else { "" }, group(&found, 1).trim());
        is_first = false;
        end = at + 1;
    }
    let keys = (index..end).collect();
    Problem::error(message, Cut::new(index..end, keys)).at(Some(manifest(cx)))
}

/// Poetry's reasons end with what failed.
fn solved(cx: &Context<'_>, start: usize, end: usize) -> Problem {
    let lines = cx.log.slice(start..end + 1).map(|it| it.1.trim());
    let message = lines.collect::<Vec<_>>().join(" ");
    let keys = (start..end + 1).collect();
    Problem::error(message, Cut::new(start..end + 1, keys)).at(Some(manifest(cx)))
}

/// The file of requirements that the command names; without one, the project's own.
fn manifest(cx: &Context<'_>) -> Location {
    let is_list =
        |it: &&String| it.ends_with(".txt") || it.ends_with(".in") || it.ends_with(".toml");
    let words = cx.calls.iter().flat_map(|it| &it.args);
    let file = { words }.find(is_list).map_or("pyproject.toml", String::as_str);
    cx.paths.location(file, None)
}
