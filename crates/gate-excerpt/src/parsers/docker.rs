//! `docker build`, plain and `BuildKit`: the step that failed. What it ran says why; this says where.

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `ERROR: failed to solve: …`, `#12 ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2`.
static SOLVE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:ERROR: (?:failed to (?:build: failed to )?solve|failed to build): |error: failed to solve: |failed to solve: )(.*)$",
    )
});
static PARSE: Pattern = Pattern::new(|| pattern(r"parse error (?:on )?line (\d+)"));
/// `Dockerfile:7`, above the source that is shown.
static PLACE: Pattern = Pattern::new(|| pattern(r"^(\S*(?:Dockerfile|Containerfile)\S*):(\d+)$"));
static CLASSIC: Pattern = Pattern::new(|| {
    pattern(
        r"^((?:The command '.*' returned a non-zero code: \d+)|(?:(?:COPY|ADD) failed: .*)|(?:(?:Error response from daemon: )?(?:dockerfile parse error|Dockerfile parse error).*)|(?:pull access denied .*)|(?:manifest for .* not found.*))$",
    )
});
static STEP: Pattern = Pattern::new(|| pattern(r"^Step (\d+)/\d+ : (.*)$"));
static DAEMON: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:ERROR: |docker: |error during connect: )(.*(?:Cannot connect|permission denied while|failed to dial|daemon).*)$",
    )
});

/// See the module.
#[derive(Debug)]
pub(crate) struct Docker;

impl LogParser for Docker {
    fn tool(&self) -> &'static str {
        "docker"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(
            call.program.as_str(),
            "docker" | "docker-compose" | "podman" | "buildah" | "nerdctl" | "buildctl"
        )
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &["failed to solve: ", "Step "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("ERROR: failed to solve: ")
            || line.starts_with("ERROR: failed to build: failed to solve: ")
            || (line.starts_with("Step ") && STEP.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let (mut place, mut step) = (None, None);
        for (index, line) in cx.lines() {
            if let Some(found) = PLACE.captures(line) {
                place = Some((index, cx.paths.location(group(&found, 1), number(&found, 2))));
            } else if let Some(found) = STEP.captures(line) {
                step = Some((index, group(&found, 2).to_owned()));
            } else if let Some(found) = SOLVE.captures(line) {
                let text = group(&found, 1);
                let parsed =
                    PARSE.captures(text).map(|it| cx.paths.location("Dockerfile", number(&it, 1)));
                let start = place.as_ref().map_or(index, |it| it.0);
                let location = place.take().map(|it| it.1).or(parsed);
                let cut = Cut::new(start..index + 1, vec![start, index]);
                draft.problems.push(Problem::error(text, cut).at(location));
            } else if let Some(found) = CLASSIC.captures(line) {
                let of = step.take();
                let location = of.is_some().then(|| cx.paths.location("Dockerfile", None));
                let start = of.as_ref().map_or(index, |it| it.0);
                let said = of.map_or(String::new(), |it| format!(" (in: {})", it.1));
                let message = format!("{}{said}", group(&found, 1));
                let cut = Cut::new(start..index + 1, vec![start, index]);
                draft.problems.push(Problem::error(message, cut).at(location));
            } else if let Some(found) = DAEMON.captures(line) {
                draft.problems.push(Problem::error(group(&found, 1), Cut::line(index)));
            }
        }
        draft
    }
}
