//! git: conflicts, patches that do not apply, and its own errors.

use super::{Context, LogParser, lines};
use crate::classify::Class;
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static CONFLICT: Pattern =
    Pattern::new(|| pattern(r"^CONFLICT \(([^)]+)\): (?:Merge conflict in (.+)|(\S+) .*|(.*))$"));
static ERROR: Pattern = Pattern::new(|| pattern(r"^(?:error|fatal): (.+)$"));
/// `patch failed: src/a.c:3`, `a.txt: patch does not apply`.
static PATCH: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:patch failed: (.+):(\d+)|(.+): (?:patch does not apply|No such file or directory|already exists in (?:index|working directory)|does not (?:exist|match) (?:in )?index|needs merge|patch with only garbage.*))$",
    )
});
static CORRUPT: Pattern = Pattern::new(|| pattern(r"^corrupt patch at (?:(\S+?):|line )(\d+)$"));

/// Lines that name the files which git speaks of.
const FILES_MAX: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Git;

impl LogParser for Git {
    fn tool(&self) -> &'static str {
        "git"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "git"
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["CONFLICT (", "patch failed: ", ": patch does not apply"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("CONFLICT (")
            || line.starts_with("error: patch failed: ")
            || (line.starts_with("error: ") && line.ends_with(": patch does not apply"))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        for (index, line) in cx.lines() {
            if let Some(found) =
                line.starts_with("CONFLICT").then(|| CONFLICT.captures(line)).flatten()
            {
                let file = found.get(2).or_else(|| found.get(3));
                let location = file.map(|it| cx.paths.location(it.as_str(), None));
                draft.problems.push(Problem::error(line, Cut::line(index)).at(location));
            } else if line.starts_with("error: ") || line.starts_with("fatal: ") {
                draft.problems.extend(error(cx, index, line));
            }
        }
        // `a.txt: patch does not apply` follows the line that says where.
        draft.problems.dedup_by(|two, one| {
            let is_echo = two.message.ends_with("patch does not apply")
                && one.message.starts_with("patch failed");
            let file = |it: &Problem| it.location.as_ref().map(|it| it.file.clone());
            is_echo && file(two) == file(one)
        });
        // None of them hides another one.
        draft.problems.iter_mut().for_each(|it| it.class = Some(Class::Error));
        draft
    }
}

fn error(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = ERROR.captures(line)?;
    let text = group(&found, 1);
    if let Some(found) = PATCH.captures(text) {
        let file = found.get(1).or_else(|| found.get(3))?;
        let location = cx.paths.location(file.as_str(), number(&found, 2));
        return Some(Problem::error(text, Cut::line(index)).at(Some(location)));
    }
    if let Some(found) = CORRUPT.captures(text) {
        let file = found.get(1).map_or("", |it| it.as_str());
        let location = (!file.is_empty()).then(|| cx.paths.location(file, number(&found, 2)));
        return Some(Problem::error(text, Cut::line(index)).at(location));
    }
    // Another program's `error:` is not git's, unless git was called.
    if !cx.is_named {
        return None;
    }
    let below = cx.log.slice(index + 1..index + 1 + FILES_MAX);
    let files: Vec<(usize, &str)> = below.take_while(|it| it.1.starts_with('\t')).collect();
    let location = files.first().map(|it| cx.paths.location(it.1, None));
    let message = lines::joined([text].into_iter().chain(files.iter().map(|it| it.1)));
    let end = files.last().map_or(index, |it| it.0) + 1;
    Some(Problem::error(message, Cut::new(index..end, vec![index])).at(location))
}
