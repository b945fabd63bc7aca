//! The sanitizers of clang and gcc: address, leak, thread, memory, undefined behaviour; also under a fuzzer.

use std::ops::Range;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `==3025==ERROR: AddressSanitizer: heap-buffer-overflow on address …`
static HEAD: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?:==\d+==)?\s*(?:ERROR|WARNING|FATAL): ",
        r"((?:Address|HWAddress|Leak|Thread|Memory|Undefined(?:Behavior)?|DataFlow)Sanitizer|libFuzzer): (.*)$",
    ))
});
static UNDEFINED: Pattern =
    Pattern::new(|| pattern(r"^(\S.*?):(\d+)(?::(\d+))?: runtime error: (.*)$"));
/// `    #1 0x556da0b8c1df in dup /w/a.c:5:3`; thread reports have no address.
static FRAME: Pattern = Pattern::new(|| {
    pattern(
        r"^\s+#\d+ (?:0x[0-9a-f]+ (?:in )?)?(.*?) ?((?:[A-Za-z]:[\\/])?[^\s()]+\.\w+):(\d+)(?::(\d+))?(?: \(.*\))?$",
    )
});
static ADDRESS: Pattern = Pattern::new(|| {
    pattern(r" ?(?:on (?:unknown )?address|at pc|pc|bp|sp|\(pc) 0x[0-9a-f]+| \(pid=\d+\)")
});
/// What else it tells of the memory.
static OTHER_STACK: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*(?:(freed|previously allocated|allocated) by thread .*here:|(Direct|Indirect) leak of (\d+) byte.*|(Previous (?:atomic )?(?:write|read)) of size .*|Uninitialized value was (created|stored).*|Location is .*)$",
    )
});
/// What was done: `WRITE of size 6 at 0x…`, `  Write of size 4 at …`.
static ACCESS: Pattern = Pattern::new(|| {
    pattern(r"^\s*((?:READ|WRITE|Read|Write|Atomic read|Atomic write) of size \d+)")
});

/// Lines of one report.
const REPORT_LINES_MAX: usize = 300;
/// Leaks that are told one by one.
const LEAKS_MAX: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Sanitizers;

impl LogParser for Sanitizers {
    fn tool(&self) -> &'static str {
        "asan"
    }

    fn is_called(&self, _: &Call) -> bool {
        false
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Sanitizer: ", ": runtime error: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.contains("Sanitizer: ") && HEAD.is_match(line)) || line.contains(": runtime error: ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next || !line.contains(": ") {
                continue;
            }
            if line.contains("runtime error: ")
                && let Some(found) = UNDEFINED.captures(line)
            {
                let (place, end) = undefined_place(cx, index, &found);
                let message = format!("runtime error: {}", group(&found, 4));
                let cut = Cut::new(index..end, vec![index]);
                draft.tool = draft.tool.or(Some("ubsan"));
                draft.problems.push(Problem::error(message, cut).at(Some(place.location)));
                next = end;
            } else if line.contains("Sanitizer: ") || line.contains("libFuzzer: ") {
                let Some(found) = HEAD.captures(line) else { continue };
                draft.tool = draft.tool.or(Some(tool(group(&found, 1))));
                let end = report_end(cx, index);
                if group(&found, 1) == "LeakSanitizer" {
                    draft.problems.extend(leaks(cx, index..end));
                } else {
                    draft.problems.push(report(cx, index..end, &found));
                }
                next = end;
            }
        }
        draft.taken = draft.problems.iter().map(|it| it.cut.range.clone()).collect();
        draft
    }
}

fn tool(name: &str) -> &'static str {
    match name {
        "ThreadSanitizer" => "tsan",
        "MemorySanitizer" => "msan",
        "LeakSanitizer" => "lsan",
        "libFuzzer" => "libfuzzer",
        "HWAddressSanitizer" => "hwasan",
        name if name.starts_with("Undefined") => "ubsan",
        _ => "asan",
    }
}

/// In a header of the library, the own frame of the trace that may follow.
fn undefined_place(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> (Place, usize) {
    let place = cx.paths.place(group(found, 1), number(found, 2), number(found, 3));
    let frames = cx.log.slice(index + 1..index + 1 + REPORT_LINES_MAX);
    let end = frames.take_while(|it| it.1.trim_start().starts_with('#')).last();
    let end = end.map_or(index, |it| it.0) + 1;
    let own = own_frame(cx, index + 1..end);
    match own {
        Some((_, own)) if !place.is_own => (own, end),
        _ => (place, end),
    }
}

fn report_end(cx: &Context<'_>, index: usize) -> usize {
    let below = cx.log.slice(index + 1..index + 1 + REPORT_LINES_MAX);
    let mut end = index + 1;
    for (at, line) in below {
        if HEAD.is_match(line) {
            break;
        }
        end = at + 1;
        let is_end = line.starts_with("SUMMARY: ")
            || line.contains("==ABORTING")
            || line == "==================";
        if is_end {
            break;
        }
    }
    end
}

fn frame(cx: &Context<'_>, line: &str) -> Option<Place> {
    let found = line.trim_start().starts_with('#').then(|| FRAME.captures(line)).flatten()?;
    let place = cx.paths.place(group(&found, 2), number(&found, 3), number(&found, 4));
    let is_runtime = ["libsanitizer", "compiler-rt", "sysdeps/", "libc_start", "FuzzerMain"]
        .iter()
        .any(|it| group(&found, 2).contains(it));
    Some(Place { is_own: place.is_own && !is_runtime, ..place })
}

fn own_frame(cx: &Context<'_>, range: Range<usize>) -> Option<(usize, Place)> {
    lines::first_own(cx, range, |line| frame(cx, line))
}

/// What happened, where, and where the memory came from.
fn report(cx: &Context<'_>, range: Range<usize>, head: &regex::Captures<'_>) -> Problem {
    let kind = ADDRESS.replace_all(group(head, 2), "");
    let mut message = format!("{}: {}", group(head, 1), kind.trim());
    let mut keys = vec![range.start];
    let others: Vec<usize> = cx
        .log
        .slice(range.clone())
        .filter(|it| OTHER_STACK.is_match(it.1))
        .map(|it| it.0)
        .collect();
    let first_end = others.first().copied().unwrap_or(range.end);
    let access = cx
        .log
        .slice(range.start..first_end)
        .find_map(|(at, line)| Some((at, ACCESS.captures(line)?[1].to_owned())));
    if let Some((at, access)) = access {
        message = format!("{message}; {access}");
        keys.push(at);
    }
    let own = own_frame(cx, range.start..first_end);
    keys.extend(own.as_ref().map(|it| it.0));
    let mut end = keys.iter().max().copied().unwrap_or(range.start) + 1;
    for (nth, at) in others.iter().enumerate() {
        let until = others.get(nth + 1).copied().unwrap_or(range.end);
        let Some((frame_at, place)) = own_frame(cx, *at..until) else { continue };
        let Some(found) = OTHER_STACK.captures(cx.log.line(*at)) else { continue };
        let what = [1, 2, 4, 5].iter().find_map(|it| found.get(*it)).map(|it| it.as_str());
        if let Some(what) = what {
            let Place { location, .. } = place;
            message =
                format!("{message}; {what} at {}:{}", location.file, location.line.unwrap_or(0));
            keys.extend([*at, frame_at]);
            end = frame_at + 1;
        }
    }
    Problem::error(message, Cut::new(range.start..end, keys)).at(own.map(|it| it.1.location))
}

/// Each leak has its own stack.
fn leaks(cx: &Context<'_>, range: Range<usize>) -> Vec<Problem> {
    let starts: Vec<usize> = cx
        .log
        .slice(range.clone())
        .filter(|it| it.1.contains(" leak of ") && OTHER_STACK.is_match(it.1))
        .map(|it| it.0)
        .collect();
    let one = |(nth, at): (usize, &usize)| {
        let until = starts.get(nth + 1).copied().unwrap_or(range.end);
        let own = own_frame(cx, *at..until);
        let end = own.as_ref().map_or(*at, |it| it.0) + 1;
        let mut keys = vec![*at];
        keys.extend(own.as_ref().map(|it| it.0));
        let text = cx.log.line(*at).trim().trim_end_matches(':');
        let message = format!("LeakSanitizer: {text}");
        Problem::error(message, Cut::new(*at..end, keys)).at(own.map(|it| it.1.location))
    };
    let mut problems: Vec<Problem> = starts.iter().enumerate().take(LEAKS_MAX).map(one).collect();
    // What the project itself allocated says more than what a library did.
    problems.sort_by_key(|it| it.location.is_none());
    if problems.is_empty() {
        problems.push(Problem::error(cx.log.line(range.start).trim(), Cut::line(range.start)));
    }
    problems
}
