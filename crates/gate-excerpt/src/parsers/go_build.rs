//! `go build`, `go vet`, `go run`: the compiler's and vet's errors, those of modules, and a program that panics.

use super::{Context, LogParser, go_test, lines};
use crate::classify::Class;
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static ERROR: Pattern =
    Pattern::new(|| pattern(r"^(?:vet: )?(\S+\.go|\S*go\.mod):(\d+):(?:(\d+):)? (.*)$"));
/// `go: updates to go.mod needed`, `main.go` of a package that is not there.
static MODULE: Pattern = Pattern::new(|| pattern(r"^go: (?:errors parsing go\.mod: ?)?(.*)$"));
/// What only tells what is done.
static PROGRESS: Pattern = Pattern::new(|| {
    pattern(
        r"^go: (?:downloading|finding|found|added|upgraded|downgraded|extracting|creating|to add) ",
    )
});
static MISSING: Pattern = Pattern::new(|| {
    pattern(
        r"^(no required module provides package .*|(?:package )?\S+ is not in (?:GOROOT|std).*|no Go files in .*|no packages .*|pattern .*: .*)$",
    )
});

/// Lines below an error that belong to it: `have (…)`, `want (…)`.
const BELOW_LINES: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct GoBuild;

impl LogParser for GoBuild {
    fn tool(&self) -> &'static str {
        "go"
    }

    fn is_called(&self, call: &Call) -> bool {
        let verbs = ["build", "vet", "run", "install", "generate", "list", "mod", "get"];
        call.program == "go" && verbs.contains(&call.subcommand())
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &[".go:"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.contains(".go:") && ERROR.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let called =
            |verb: &str| cx.calls.iter().any(|it| self.is_called(it) && it.subcommand() == verb);
        let mut has_dump = false;
        for (index, line) in cx.lines() {
            if let Some(found) = ERROR.captures(line) {
                let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
                let below = cx.log.slice(index + 1..index + 1 + BELOW_LINES);
                let body: Vec<(usize, &str)> =
                    below.take_while(|it| it.1.starts_with('\t')).collect();
                let texts = body.iter().map(|it| it.1);
                let message = lines::joined([group(&found, 4)].into_iter().chain(texts));
                let end = body.last().map_or(index, |it| it.0) + 1;
                let cut = Cut::new(index..end, (index..end).collect());
                draft.problems.push(Problem::error(message, cut).at(Some(place.location)));
            } else if !has_dump
                && (line.starts_with("panic: ") || line.starts_with("fatal error: "))
            {
                has_dump = true;
                let (message, location, cut) = go_test::stack(cx, index);
                let class = Some(Class::Crash);
                draft.taken.push(cut.range.clone());
                draft.problems.push(Problem { class, ..Problem::error(message, cut).at(location) });
            } else if cx.is_named && !PROGRESS.is_match(line) {
                let said = MODULE.captures(line).map(|it| group(&it, 1).to_owned());
                let said =
                    said.or_else(|| MISSING.captures(line).map(|it| group(&it, 1).to_owned()));
                let problem = said.filter(|it| !it.is_empty());
                draft.problems.extend(
                    problem.map(|it| Problem::error(it, Cut::new(index..index + 3, vec![index]))),
                );
            }
        }
        draft.tool = match () {
            () if called("vet") => Some("go-vet"),
            () if called("run") => Some("go-run"),
            () => None,
        };
        draft
    }
}
