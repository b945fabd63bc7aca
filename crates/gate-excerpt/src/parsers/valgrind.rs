//! Valgrind (memcheck, helgrind, drd): reports behind `==pid==`, which print the base names of files.

use std::ops::Range;

use gate_core::Severity;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static PREFIX: Pattern = Pattern::new(|| pattern(r"^==\d+== ?"));
static FRAME: Pattern =
    Pattern::new(|| pattern(r"^   (?:at|by) 0x[0-9A-F]+: (.+) \((?:in )?([^()]+?)(?::(\d+))?\)$"));
static HEAD: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?:Thread \d+[^:]*: ?)?(Conditional jump|Use of uninitialised|Invalid |Mismatched |Syscall param|Source and destination|",
        r"Argument |Illegal |Jump to the invalid|Process terminating|Possible data race|Possible data race|Conflicting |",
        r"Thread #\d+.*(?:lock order|unlocked|bug|error|exiting)|Uninitialised byte|Unaddressable byte|Fishy |realloc\(\) with size 0|",
        r"[\d,]+ (?:\([^)]*\) )?bytes in [\d,]+ blocks are|Overlapping|Stack overflow|Can't extend stack)",
    ))
});

/// Lines of one report.
const REPORT_LINES_MAX: usize = 80;
/// Sources of the C library and of valgrind itself, whose debug information is often there.
const RUNTIME: [&str; 4] = ["vg_replace_", "libc-start", "libc_start", "pthread_create.c"];

/// See the module.
#[derive(Debug)]
pub(crate) struct Valgrind;

impl LogParser for Valgrind {
    fn tool(&self) -> &'static str {
        "valgrind"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "valgrind"
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "== Memcheck, a memory",
            "== Helgrind, a thread",
            "== drd, a thread",
            "== Invalid ",
            "== Conditional jump or move",
            "== Use of uninitialised",
            "== Process terminating with",
            " are definitely lost in loss record ",
        ]
    }

    fn is_banner(&self, line: &str) -> bool {
        // With `-q` it does not introduce itself.
        PREFIX.is_match(line) && self.marks().iter().any(|it| line.contains(it))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next || !line.starts_with("==") {
                continue;
            }
            let Some(text) = text(line) else { continue };
            if HEAD.is_match(text) {
                let problem = report(cx, index, text);
                next = problem.cut.range.end;
                draft.problems.push(problem);
            }
        }
        // A program that ended by a signal did so because of what was reported before.
        draft.problems.sort_by_key(|it| it.message.contains(" are "));
        draft.taken = draft.problems.iter().map(|it| it.cut.range.clone()).collect();
        draft
    }
}

fn text(line: &str) -> Option<&str> {
    let prefix = PREFIX.find(line)?;
    Some(&line[prefix.end()..])
}

/// The lines of one report, with what stands behind their prefix.
fn lines<'a>(cx: &Context<'a>, range: Range<usize>) -> impl Iterator<Item = (usize, &'a str)> {
    // The program's own output stands between them.
    cx.log.slice(range).filter_map(|(at, line)| Some((at, text(line)?)))
}

fn frame(cx: &Context<'_>, text: &str) -> Option<Place> {
    let found = FRAME.captures(text)?;
    let line = number(&found, 3)?;
    let place = cx.paths.place(group(&found, 2), Some(line), None);
    let is_runtime = RUNTIME.iter().any(|it| group(&found, 2).contains(it));
    Some(Place { is_own: place.is_own && !is_runtime, ..place })
}

fn report(cx: &Context<'_>, index: usize, head: &str) -> Problem {
    let mut message = head.trim().to_owned();
    let mut keys = vec![index];
    let mut end = index + 1;
    let mut own: Option<Place> = None;
    // What a later stack of the same report shows.
    let mut about: Option<String> = None;
    let (mut is_first, mut has_frame) = (true, false);
    for (at, text) in lines(cx, index + 1..index + 1 + REPORT_LINES_MAX) {
        if text.trim().is_empty() {
            break;
        }
        end = at + 1;
        if !text.starts_with("   ") {
            // Helgrind says which locks were held before it shows the stack.
            if !has_frame {
                continue;
            }
            is_first = false;
            about = Some(text.trim().trim_end_matches(':').to_owned());
            keys.push(at);
            continue;
        }
        has_frame = true;
        let Some(place) = frame(cx, text).filter(|it| it.is_own) else { continue };
        if own.is_none() && is_first {
            keys.push(at);
            own = Some(place);
        } else if let Some(about) = about.take() {
            keys.push(at);
            let location = place.location;
            message =
                format!("{message}; {about} at {}:{}", location.file, location.line.unwrap_or(0));
        }
    }
    let is_note = message.contains("still reachable") || message.contains("indirectly lost");
    let severity = if is_note { Severity::Warning } else { Severity::Error };
    let problem = Problem::error(message, Cut::new(index..end, keys));
    Problem { severity, ..problem.at(own.map(|it| it.location)) }
}
