//! A process that died of itself: an assertion of C, an exception of C++ that nobody caught, a signal that a shell saw.

use super::{Context, LogParser};
use crate::classify::Class;
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `a: src/a.c:2: half: Assertion 'n' failed.`, on macOS `Assertion failed: (n), function half, file a.c, line 2.`
static ASSERTION: Pattern = Pattern::new(|| {
    pattern(r"(?:^|\s)([^\s:]+\.\w+):(\d+): (?:.+: )?(Assertion [`'].*' failed\.)")
});
static ASSERTION_MAC: Pattern =
    Pattern::new(|| pattern(r"^(Assertion failed: \(.*\)), function .*, file (\S+), line (\d+)\."));
static TERMINATE: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:terminate called .*|libc\+\+abi: terminating.*|pure virtual method called|\*\*\* stack smashing detected \*\*\*.*|(?:free|malloc|realloc|munmap_chunk|corrupted)\S*\(\): .*|malloc\(\)\S*: .*|corrupted (?:size|double).*)$",
    )
});
/// `./run_tests.sh: line 4:  3054 Segmentation fault      ./a`
static SHELL: Pattern = Pattern::new(|| {
    pattern(
        r"^(\S+): line (\d+): +\d+ (Segmentation fault|Aborted|Killed|Bus error|Floating point exception|Illegal instruction|Trace/breakpoint trap|Terminated)\b(.*)$",
    )
});

/// Lines in which an exception says what it is.
const WHAT_LINES: usize = 3;

/// See the module.
#[derive(Debug)]
pub(crate) struct Process;

impl LogParser for Process {
    fn tool(&self) -> &'static str {
        "process"
    }

    fn is_called(&self, _: &Call) -> bool {
        false
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Assertion ", "terminat", " detected ***", "(): ", ": line ", "malloc(", "corrupted "]
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn is_banner(&self, line: &str) -> bool {
        ASSERTION.is_match(line)
            || ASSERTION_MAC.is_match(line)
            || TERMINATE.is_match(line)
            || SHELL.is_match(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let may = |it: &&str| self.marks().iter().any(|mark| it.contains(mark));
        for (index, line) in cx.lines().filter(|it| may(&it.1)) {
            let crash = |message: &str, cut: Cut| Problem {
                class: Some(Class::Crash),
                ..Problem::error(message, cut)
            };
            if let Some(found) = ASSERTION.captures(line) {
                let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
                let problem = crash(group(&found, 3), Cut::line(index));
                draft.problems.push(problem.at(Some(place.location)));
            } else if let Some(found) = ASSERTION_MAC.captures(line) {
                let place = cx.paths.place(group(&found, 2), number(&found, 3), None);
                let problem = crash(group(&found, 1), Cut::line(index));
                draft.problems.push(problem.at(Some(place.location)));
            } else if TERMINATE.is_match(line) {
                let mut below = cx.log.slice(index + 1..index + 1 + WHAT_LINES);
                let what = below.find(|it| it.1.trim_start().starts_with("what(): "));
                let end = what.map_or(index, |it| it.0) + 1;
                let said = what.map_or(String::new(), |it| format!(" {}", it.1.trim()));
                draft
                    .problems
                    .push(crash(&format!("{line}{said}"), Cut::new(index..end, vec![index])));
            } else if let Some(found) = SHELL.captures(line) {
                let location = cx.paths.location(group(&found, 1), number(&found, 2));
                let is_script = group(&found, 1).contains('.') || group(&found, 1).contains('/');
                let message = format!("{}{}", group(&found, 3), group(&found, 4));
                let problem = crash(&message, Cut::line(index));
                let is_shell =
                    group(&found, 1).ends_with("/bash") || group(&found, 1).ends_with("/sh");
                draft.problems.push(problem.at((is_script && !is_shell).then_some(location)));
            }
        }
        draft
    }
}
