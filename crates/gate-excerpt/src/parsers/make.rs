//! make and ninja: their own errors. That a command of theirs failed is told by the command.

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `make[2]: *** No rule to make target 'x', needed by 'y'.  Stop.`
static MAKE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:\S*[/\\])?(?:g|mingw32-|n|bsd|b)?make(?:\.exe)?(?:\[\d+\])?: (?:\*\*\* )?(No rule to make target .*|No targets .*|.* is up to date\?|Circular .*|.*: (?:Command not found|No such file or directory|Permission denied))$",
    )
});
/// `Makefile:3: *** missing separator.  Stop.`
static FILE: Pattern = Pattern::new(|| {
    pattern(r"^((?:[A-Za-z]:[\\/])?[^\s:]+):(\d+): (?:\*\*\* )(.+?)(?:  Stop\.)?$")
});
static NINJA: Pattern = Pattern::new(|| pattern(r"^ninja: (?:error|fatal): (.*)$"));
/// What starts as one of these.
static MAY: Pattern =
    Pattern::new(|| pattern(r"^(?:\S*make\S*: |ninja: |(?:[A-Za-z]:[\\/])?[^\s:]+:\d+: )"));
/// `ninja: error: build.ninja:3: …`
static PLACE: Pattern = Pattern::new(|| pattern(r"^([^\s:]+):(\d+): (.*)$"));

/// See the module.
#[derive(Debug)]
pub(crate) struct Make;

impl LogParser for Make {
    fn tool(&self) -> &'static str {
        "make"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(
            call.program.as_str(),
            "make" | "gmake" | "mingw32-make" | "bmake" | "ninja" | "ninja-build" | "samu"
        )
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &[": *** ", "ninja: error: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.contains("make") && line.contains(": *** ") && MAKE.is_match(line))
            || line.starts_with("ninja: error: ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let is_ninja = |it: &Call| matches!(it.program.as_str(), "ninja" | "ninja-build" | "samu");
        if cx.calls.iter().any(is_ninja) {
            draft.tool = Some("ninja");
        }
        for (index, line) in cx.lines().filter(|it| MAY.is_match(it.1)) {
            let cut = Cut::line(index);
            if let Some(found) = MAKE.captures(line) {
                // Which makefile it is is not said.
                let location = cx.paths.location("Makefile", None);
                let message = group(&found, 1).trim_end_matches("  Stop.");
                draft.problems.push(Problem::error(message, cut).at(Some(location)));
            } else if let Some(found) = FILE.captures(line) {
                let location = cx.paths.location(group(&found, 1), number(&found, 2));
                draft.problems.push(Problem::error(group(&found, 3), cut).at(Some(location)));
            } else if let Some(found) = NINJA.captures(line) {
                draft.tool = Some("ninja");
                let text = group(&found, 1);
                let place = PLACE.captures(text);
                let location =
                    place.as_ref().map(|it| cx.paths.location(group(it, 1), number(it, 2)));
                let message = place.as_ref().map_or(text, |it| group(it, 3));
                draft.problems.push(Problem::error(message, cut).at(location));
            }
        }
        draft
    }
}
