//! `ShellCheck`'s own form, with the finding below the source; its others are one line each.

use gate_core::Severity;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static TITLE: Pattern = Pattern::new(|| pattern(r"^In (.+) line (\d+):$"));
/// Older versions say no severity.
static FINDING: Pattern = Pattern::new(|| {
    pattern(r"^( *)(?:\^-*\^?|`?-*\^?)(?:--)? ?(SC\d+)(?: \((error|warning|info|style)\))?: (.+)$")
});
/// The form of gcc.
static GCC: Pattern =
    Pattern::new(|| pattern(r"^(\S.*?):(\d+):(\d+): (error|warning|note): (.+) \[(SC\d+)\]$"));

/// See the module.
#[derive(Debug)]
pub(crate) struct Shellcheck;

impl LogParser for Shellcheck {
    fn tool(&self) -> &'static str {
        "shellcheck"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "shellcheck"
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["SC"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.contains("SC") && (FINDING.is_match(line) || GCC.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut problems = Vec::new();
        let mut title = None;
        for (index, line) in cx.lines() {
            if line.starts_with("In ")
                && let Some(found) = TITLE.captures(line)
            {
                let file = found.get(1).map_or("", |it| it.as_str());
                title = Some((index, file, number(&found, 2)));
            } else if !line.contains("SC") {
            } else if let Some(found) = FINDING.captures(line) {
                let Some((start, file, row)) = title else { continue };
                let column = u32::try_from(group(&found, 1).chars().count() + 1).ok();
                let place = cx.paths.place(file, row, column);
                let cut = Cut::new(start..index + 1, vec![start, start + 1, index]);
                let problem = Problem {
                    severity: severity(group(&found, 3)),
                    code: Some(group(&found, 2).to_owned()),
                    ..Problem::error(group(&found, 4), cut).at(Some(place.location))
                };
                problems.push(problem);
            } else if let Some(found) = GCC.captures(line) {
                let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
                let problem = Problem::error(group(&found, 5), Cut::line(index));
                problems.push(Problem {
                    severity: severity(group(&found, 4)),
                    code: Some(group(&found, 6).to_owned()),
                    ..problem.at(Some(place.location))
                });
            }
        }
        // Where it could not read on, it stopped: what it says before may be wrong.
        problems.sort_by_key(|it| !is_syntax(it));
        let taken = problems.iter().map(|it: &Problem| it.cut.range.clone()).collect();
        // It fails because of any finding.
        if !cx.input.is_green() && problems.iter().all(|it| it.severity == Severity::Warning) {
            problems.iter_mut().for_each(|it| it.severity = Severity::Error);
        }
        Draft { problems, taken, ..Draft::default() }
    }
}

fn severity(word: &str) -> Severity {
    if matches!(word, "error" | "") { Severity::Error } else { Severity::Warning }
}

/// `SC1…` are the parser's.
fn is_syntax(problem: &Problem) -> bool {
    problem.severity == Severity::Error
        && problem.code.as_ref().is_some_and(|it| it.len() == 6 && it.starts_with("SC1"))
}
