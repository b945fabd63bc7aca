//! Ruby: errors that end a program, and the frames of its stacks, which rspec and minitest print too.

use std::ops::Range;

use super::{Context, LogParser, lines};
use crate::classify::Class;
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `a.rb:3:in 'f': message (NameError)`
static ERROR: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:ruby: |.*/bin/ruby: )?((?:[A-Za-z]:[\\/])?(?:<internal:[^>]*>|[^\s:<][^:]*)):(\d+):in [`'][^']*': (.*)$",
    )
});
static SYNTAX: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:ruby: |.*/bin/ruby: )?((?:[A-Za-z]:[\\/])?[^\s:][^:]*):(\d+): (syntax errors?\b.*|--> .*|.*\(SyntaxError\))$",
    )
});
static FROM: Pattern =
    Pattern::new(|| pattern(r"^\s+(?:\d+: )?from ([^\s:][^:]*):(\d+)(?::in .*)?$"));
static STACK: Pattern = Pattern::new(|| pattern(r"^(\S[^:]*):(\d+)(?::in .*)?$"));
/// What Prism points at in the source that it shows.
static POINTED: Pattern = Pattern::new(|| pattern(r"^\s*\|\s*\^+~*\s*(\S.*)$"));

const ABORTED: &str = "rake aborted!";
/// Lines of one error.
const ERROR_LINES_MAX: usize = 100;
/// Lines of its message.
const MESSAGE_LINES_MAX: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ruby;

impl LogParser for Ruby {
    fn tool(&self) -> &'static str {
        "ruby"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "ruby" | "rake" | "irb" | "rails")
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &[":in ", "syntax error", "rake aborted!"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.contains(":in ") && line.contains("': ") && ERROR.is_match(line))
            || (line.contains("syntax error") && line.contains(".rb:") && SYNTAX.is_match(line))
            || line == ABORTED
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut next = 0;
        // Where the exceptions of one chain begin: the last that is printed is the cause of the others.
        let mut chain = 0;
        for (index, line) in cx.lines() {
            if index < next || !(line.contains(':') || line == ABORTED) {
                continue;
            }
            let problem = syntax(cx, index, line)
                .or_else(|| uncaught(cx, index, line))
                .or_else(|| aborted(cx, index, line));
            if let Some(problem) = problem {
                chain = if next == index && next > 0 { chain } else { draft.problems.len() };
                next = problem.cut.range.end;
                draft.taken.push(problem.cut.range.clone());
                draft.problems.insert(chain, problem);
            }
        }
        // Whatever a cause says, it comes before what it led to.
        draft.problems.iter_mut().for_each(|it| it.class = Some(Class::Error));
        draft
    }
}

/// A printed path; gems and the interpreter's own files are not the project's.
pub(super) fn place(cx: &Context<'_>, path: &str, line: Option<u32>) -> Place {
    let place = cx.paths.place(path, line, None);
    let is_library =
        ["/gems/", "/ruby/", "vendor/bundle", "<internal:", "/rubygems", ".rbenv", ".rvm"]
            .iter()
            .any(|it| place.location.file.contains(it));
    Place { is_own: place.is_own && !is_library, ..place }
}

fn uncaught(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = ERROR.captures(line)?;
    let below = cx.log.slice(index + 1..index + 1 + ERROR_LINES_MAX);
    let mut message = group(&found, 3).to_owned();
    let mut own = Some(place(cx, group(&found, 1), number(&found, 2))).filter(|it| it.is_own);
    let mut end = index + 1;
    let mut keys = vec![index];
    let mut in_message = true;
    for (at, text) in below {
        if let Some(found) = FROM.captures(text) {
            in_message = false;
            end = at + 1;
            if own.is_none() {
                own = Some(place(cx, group(&found, 1), number(&found, 2))).filter(|it| it.is_own);
                keys.push(at);
            }
        } else if !in_message || at > index + MESSAGE_LINES_MAX || ERROR.is_match(text) {
            break;
        } else if has_from(cx, at) {
            // A message of several lines, with the source that it speaks of.
            end = at + 1;
            if !text.trim().is_empty() && !text.contains("^^") {
                message = lines::joined([message.as_str(), text]);
            }
        } else {
            break;
        }
    }
    let cut = Cut::new(index..end, keys);
    Some(Problem::error(message, cut).at(own.map(|it| it.location)))
}

fn has_from(cx: &Context<'_>, at: usize) -> bool {
    let below = cx.log.slice(at + 1..at + 1 + MESSAGE_LINES_MAX);
    below.take_while(|it| !ERROR.is_match(it.1)).any(|it| it.1.starts_with("\tfrom "))
}

/// rake tells an exception in its own way: the message, then frames.
fn aborted(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    if line != ABORTED {
        return None;
    }
    let below = cx.log.slice(index + 1..index + 1 + ERROR_LINES_MAX);
    let body: Vec<(usize, &str)> = below.take_while(|it| !it.1.starts_with("Tasks: ")).collect();
    let frame = |line: &str| {
        let found = STACK.captures(line)?;
        Some(place(cx, group(&found, 1), number(&found, 2)))
    };
    let text =
        body.iter().map(|it| it.1).take_while(|it| frame(it).is_none()).take(MESSAGE_LINES_MAX);
    let message = lines::joined(text);
    let end = body.last().map_or(index, |it| it.0) + 1;
    let own = lines::first_own(cx, index + 1..end, frame);
    let mut keys = vec![index, index + 1];
    keys.extend(own.as_ref().map(|it| it.0));
    Some(Problem::error(message, Cut::new(index..end, keys)).at(own.map(|it| it.1.location)))
}

fn syntax(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = SYNTAX.captures(line)?;
    let own = place(cx, group(&found, 1), number(&found, 2));
    let mut message = group(&found, 3).to_owned();
    let below = cx.log.slice(index + 1..index + 1 + MESSAGE_LINES_MAX);
    let is_source = |it: &str| it.starts_with([' ', '>', '|']) || it.contains('^');
    let body: Vec<(usize, &str)> = below
        .take_while(|(at, text)| {
            is_source(text) || cx.log.line(at + 1).trim_start().starts_with('^')
        })
        .collect();
    for (_, text) in &body {
        if let Some(pointed) = POINTED.captures(text) {
            message = lines::joined([message.as_str(), group(&pointed, 1)]);
        }
    }
    let range: Range<usize> = index..body.last().map_or(index, |it| it.0) + 1;
    Some(Problem::error(message, Cut::new(range, vec![index])).at(Some(own.location)))
}
