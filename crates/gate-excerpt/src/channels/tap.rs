//! TAP 12 to 14: nesting by indentation, TODO and SKIP, plans, `Bail out!`, YAML blocks, and comments below a result.
//!
//! Used by bats, prove, ava, tape, `node --test`, and many harnesses written by hand.

use std::ops::Range;

use gate_core::Location;

use super::{Broken, Channel, Document, Found, Head};
use crate::clean::Log;
use crate::command::Call;
use crate::compare;
use crate::draft::{Counts, Failure, Problem};
use crate::limits::{BLOCK_LINES_MAX, FAILING_TESTS_MAX};
use crate::parsers::Context;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// See the module.
pub(super) const TAP: Channel = Channel {
    tool: "tap",
    // bats and prove have parsers of their own, for what stands around their TAP.
    programs: &["ava", "tape", "tap", "borp", "zora", "meson"],
    is,
    read,
};

/// Runners with other reporters of their own, how they are told to write it, and what the reporters that do are called.
const CAN_WRITE: [&str; 3] = ["mocha", "_mocha", "vitest"];
const CHOSEN_BY: [&str; 2] = ["-R", "--reporter"];
const REPORTERS: [&str; 2] = ["tap", "tap-flat"];

/// Programs that give a reading their own name.
const NAMES: [(&str, &str); 5] =
    [("bats", "bats"), ("prove", "prove"), ("ava", "ava"), ("tape", "tape"), ("pg_prove", "prove")];

/// Whether a runner is told to write it.
pub(super) fn is_chosen(call: &Call) -> bool {
    CAN_WRITE.contains(&call.program.as_str())
        && call.values(&CHOSEN_BY).any(|it| REPORTERS.contains(&it))
}

static PLAN: Pattern = Pattern::new(|| pattern(r"^(\s*)1\.\.(\d+)(?:\s+#\s*(.*))?\s*$"));
static DIRECTIVE: Pattern =
    Pattern::new(|| pattern(r"^(?:(.*?[^\\\s])?\s+|\s*)#\s*(?i:(todo|skip))\S*\s*(.*)$"));
static BAIL_OUT: Pattern = Pattern::new(|| pattern(r"^\s*Bail out!\s*(.*)$"));
static FIGURE: Pattern =
    Pattern::new(|| pattern(r"^# (tests|pass|fail|skip|skipped|todo|cancelled):? +(\d+)$"));
static BATS_PLACE: Pattern = Pattern::new(|| {
    pattern(r"^# \((?:in test file|from function .* in file) (.+?), line (\d+)[,)]")
});
static IN_FILE: Pattern = Pattern::new(|| pattern(r"in test file (.+?), line (\d+)\)"));
static PERL_PLACE: Pattern = Pattern::new(|| pattern(r"^#\s+at (\S.*) line (\d+)\.$"));
static FIELD: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*'?(message|error|at|location|expected|wanted|actual|found|got|file|fileName|line|lineNumber|severity)'?: ?(.*)$",
    )
});
static PLACE: Pattern = Pattern::new(|| pattern(r"([^\s:()'\x22][^\s:()'\x22]*):(\d+):\d+"));

/// One result.
#[derive(Debug)]
struct Point {
    index: usize,
    indent: usize,
    is_ok: bool,
    number: Option<u64>,
    name: String,
    directive: Directive,
    /// Of the subtests that stand above it.
    has_children: bool,
    has_failed_child: bool,
    details: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    None,
    Todo,
    Skip,
}

/// One stream.
#[derive(Debug, Default)]
struct Stream {
    points: Vec<Point>,
    plan: Option<(u64, String)>,
    bail_out: Option<(usize, String)>,
    figures: Vec<(String, u64)>,
    end: usize,
    /// Results that are nobody's subtest, and the number of the last of them.
    tops: u64,
    last_top: Option<u64>,
}

/// Whether it is the first result of a stream without a version and a plan above.
pub(super) fn is_first_result(line: &str) -> bool {
    line.starts_with("ok 1") || line.starts_with("not ok 1")
}

fn is(head: &Head<'_>) -> bool {
    let mut lines = head.text.lines();
    let first = lines.next().unwrap_or_default();
    let has_version = first.starts_with("TAP version 1");
    // In a log, node's own parser reads what its runner prints.
    let is_node = head.name.is_empty()
        && head.text.contains("# Subtest: ")
        && head.text.contains("duration_ms");
    let is_result = |it: &str| parts(it).is_some_and(|it| it.number.is_some());
    let has_plan = PLAN.is_match(first);
    let has_result = head.text.lines().any(is_result);
    let is_empty = has_plan && first.trim_start().starts_with("1..0");
    !is_node
        && (has_version
            || (has_plan && (has_result || is_empty))
            || (is_first_result(first) && is_result(first)))
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let written;
    let (log, start) = match document.lines {
        Some(lines) => lines,
        None => {
            written = Log::read(document.bytes);
            (&written, 0)
        }
    };
    let stream = Stream::read(log, start);
    if stream.points.is_empty() && stream.plan.is_none() && stream.bail_out.is_none() {
        return Err("it has neither a plan nor a result".to_owned().into());
    }
    let mut found = Found { length: document.length_to(stream.end), ..Found::default() };
    let called = cx.calls.iter().rev();
    let mut names = called.filter_map(|call| NAMES.iter().find(|it| it.0 == call.program));
    found.draft.tool = names.next().map(|it| it.1);
    let inner = Context { log, taken: &[], ..*cx };
    for point in stream.points.iter().filter(|it| it.is_failed() && !it.has_failed_child) {
        if found.draft.failures.len() < FAILING_TESTS_MAX {
            found.draft.failures.push(point.failure(document, &inner));
        }
    }
    let mut counts = stream.counts();
    if let Some((index, why)) = &stream.bail_out {
        counts.errors += 1;
        let text = log.line(*index).trim();
        let message =
            if why.is_empty() { "Bail out!".to_owned() } else { format!("Bail out! {why}") };
        found.draft.problems.push(Problem::error(message, at_line(document, log, *index, text)));
    }
    match stream.missing() {
        Some(message) => {
            found.draft.unfinished = 1;
            let cut = at_line(document, log, stream.end.saturating_sub(1), &message);
            found.draft.problems.push(Problem::error(message, cut));
        }
        None if stream.plan.is_none() => found.draft.unfinished = 1,
        None => {}
    }
    found.draft.counts = Some(counts);
    Ok(found)
}

fn at_line(document: &Document<'_>, log: &Log, index: usize, text: &str) -> Cut {
    match document.lines {
        Some(_) => Cut::text(log.raw_offset(index), text),
        None => Cut::default(),
    }
}

impl Stream {
    fn read(log: &Log, start: usize) -> Self {
        let mut stream = Self { end: start, ..Self::default() };
        // Results of subtests that wait for their parent's.
        let mut open: Vec<usize> = Vec::new();
        let mut in_details = false;
        for (index, line) in log.slice(start..log.len()) {
            let text = line.trim_start();
            if text.starts_with("ok") || text.starts_with("not ok") {
                if let Some(point) = point(index, line) {
                    if stream.is_over(&point) {
                        break;
                    }
                    stream.add(point, &mut open);
                    in_details = true;
                    continue;
                }
            } else if text.starts_with("1..")
                && let Some(found) = PLAN.captures(line)
            {
                // The plan of a subtest says nothing about the whole.
                if group(&found, 1).is_empty() {
                    if stream.plan.is_some() {
                        break;
                    }
                    let plan = group(&found, 2).parse().unwrap_or(u64::MAX);
                    stream.plan = Some((plan, group(&found, 3).to_owned()));
                }
                stream.end = index + 1;
                in_details = false;
                continue;
            } else if line.starts_with("TAP version ") {
                if !stream.points.is_empty() || stream.plan.is_some() {
                    break;
                }
                stream.end = index + 1;
                continue;
            } else if text.starts_with("Bail out!")
                && let Some(found) = BAIL_OUT.captures(line)
            {
                stream.bail_out.get_or_insert((index, group(&found, 1).to_owned()));
                stream.end = index + 1;
                break;
            } else if line.starts_with("# ")
                && let Some(found) = FIGURE.captures(line)
            {
                let count = group(&found, 2).parse().unwrap_or(0);
                stream.figures.push((group(&found, 1).to_owned(), count));
                stream.end = index + 1;
                in_details = false;
                continue;
            }
            // Comments and the YAML block below a result belong to it.
            let is_detail = in_details && (line.starts_with([' ', '#', '\t']) || line.is_empty());
            let last = stream.points.last_mut();
            if let Some(point) = last.filter(|_| is_detail)
                && !text.starts_with("# Subtest: ")
                && index - point.index < BLOCK_LINES_MAX
            {
                point.details.end = index + 1;
            } else {
                in_details = false;
            }
            if is_detail || line.starts_with('#') {
                stream.end = index + 1;
            }
        }
        stream
    }

    /// Whether the result is that of another stream: the plan is fulfilled, or the numbers start anew.
    fn is_over(&self, next: &Point) -> bool {
        let starts_anew =
            next.indent == 0 && next.number == Some(1) && self.last_top.is_some_and(|it| it >= 1);
        starts_anew && self.plan.as_ref().is_none_or(|it| self.tops >= it.0)
    }

    fn add(&mut self, mut point: Point, open: &mut Vec<usize>) {
        self.end = point.index + 1;
        if point.indent == 0 {
            self.tops += 1;
            self.last_top = point.number;
        }
        while let Some(&child) = open.last() {
            if self.points[child].indent <= point.indent {
                break;
            }
            open.pop();
            point.has_children = true;
            let child = &self.points[child];
            point.has_failed_child |= child.is_failed() || child.has_failed_child;
        }
        open.push(self.points.len());
        self.points.push(point);
    }

    /// The runner's own figures where it prints them; else the results that have no subtests.
    fn counts(&self) -> Counts {
        let mut counts = Counts::NONE;
        let figure = |name: &str| self.figures.iter().find(|it| it.0 == name).map(|it| it.1);
        let leaves = || self.points.iter().filter(|it| !it.has_children);
        let count = |of: &dyn Fn(&Point) -> bool| leaves().filter(|it| of(it)).count() as u64;
        let is_run = |it: &Point| it.directive == Directive::None;
        let (passed, failed) = (count(&|it| is_run(it) && it.is_ok), count(&Point::is_failed));
        counts.skipped = count(&|it| !is_run(it));
        counts.passed = Some(figure("pass").map_or(passed, |it| it.min(passed)));
        counts.failed = figure("fail").map_or(failed, |it| it.max(failed));
        counts
    }

    /// Whether there are other results than were planned, in words.
    fn missing(&self) -> Option<String> {
        let (planned, why) = self.plan.as_ref()?;
        let ran = self.tops;
        let is_short = self.bail_out.is_none() && ran != *planned;
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        is_short.then(|| format!("the plan is {planned} tests{why}, and {ran} have a result"))
    }
}

fn point(index: usize, line: &str) -> Option<Point> {
    let Parts { indent, is_ok, number, rest } = parts(line)?;
    // Words that only start like a result.
    let is_word =
        number.is_none() && !rest.is_empty() && !line.contains(" - ") && !rest.starts_with('#');
    if is_word {
        return None;
    }
    let directive = if rest.contains('#') { DIRECTIVE.captures(rest) } else { None };
    let (name, directive) = match directive {
        Some(found) if group(&found, 2).eq_ignore_ascii_case("todo") => {
            (group(&found, 1), Directive::Todo)
        }
        Some(found) => (group(&found, 1), Directive::Skip),
        None => (rest, Directive::None),
    };
    Some(Point {
        index,
        indent,
        is_ok,
        number: number.and_then(|it| it.parse().ok()),
        name: name.trim().replace("\\#", "#").replace("\\\\", "\\"),
        directive,
        has_children: false,
        has_failed_child: false,
        details: index + 1..index + 1,
    })
}

/// The parts of a result's line.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'t> {
    indent: usize,
    is_ok: bool,
    number: Option<&'t str>,
    /// The name with its directive.
    rest: &'t str,
}

/// `not ok 3 - adds # TODO`, without the brace of a subtest that stands below.
fn parts(line: &str) -> Option<Parts<'_>> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let (is_ok, text) = match text.strip_prefix("not ok") {
        Some(text) => (false, text),
        None => (true, text.strip_prefix("ok")?),
    };
    let text = text.trim_end();
    let text = text.strip_suffix('{').map_or(text, str::trim_end);
    let rest = text.trim_start();
    if rest.len() == text.len() && !text.is_empty() {
        return None;
    }
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, named) = rest.split_at(end);
    let is_number = end > 0 && (named.is_empty() || named.starts_with(char::is_whitespace));
    let (number, rest) = if is_number { (Some(digits), named.trim_start()) } else { (None, rest) };
    let rest = rest.strip_prefix('-').map_or(rest, str::trim_start);
    Some(Parts { indent, is_ok, number, rest })
}

impl Point {
    /// What is to do may fail.
    fn is_failed(&self) -> bool {
        !self.is_ok && self.directive == Directive::None
    }

    fn failure(&self, document: &Document<'_>, cx: &Context<'_>) -> Failure {
        let log = cx.log;
        let details = Details::read(log, self.details.clone(), cx);
        let lines: Vec<&str> = log.slice(self.index..self.details.end).map(|it| it.1).collect();
        let text = lines.join("\n");
        let sides = compare::in_text(&lines[1..].join("\n")).unwrap_or_default();
        let name = match self.number {
            Some(number) if self.name.is_empty() => format!("test {number}"),
            Some(_) | None => self.name.clone(),
        };
        let message = if details.message.is_empty() { name.clone() } else { details.message };
        Failure {
            message,
            expected: details.expected.or(sides.expected),
            actual: details.actual.or(sides.actual),
            location: details.location,
            cut: at_line(document, log, self.index, &text),
            name,
            ..Failure::default()
        }
    }
}

/// What stands below a failed result.
#[derive(Debug, Default)]
struct Details {
    message: String,
    expected: Option<String>,
    actual: Option<String>,
    location: Option<Location>,
}

impl Details {
    fn read(log: &Log, range: Range<usize>, cx: &Context<'_>) -> Self {
        let mut details = Self::default();
        let mut comments: Vec<&str> = Vec::new();
        let (mut file, mut line_number) = (None, None);
        // A field whose text stands in the lines below, and how far it is indented.
        let mut below: Option<(String, usize)> = None;
        for (_, line) in log.slice(range.clone()) {
            let text = line.trim();
            let indent = line.len() - line.trim_start().len();
            if let Some(comment) = text.strip_prefix('#') {
                details.comment(text, cx);
                comments.push(comment.trim());
            } else if let Some((field, at)) =
                below.clone().filter(|it| indent > it.1 || text.is_empty())
            {
                details.more(&field, text, cx);
                below = Some((field, at));
            } else if let Some(found) = FIELD.captures(line) {
                let (field, value) = (group(&found, 1), group(&found, 2).trim());
                below = None;
                match field {
                    _ if value.starts_with(['|', '>']) || value.is_empty() => {
                        below = Some((field.to_owned(), indent));
                    }
                    "file" | "fileName" => file = Some(bare(value)),
                    "line" | "lineNumber" => line_number = value.parse().ok(),
                    _ => details.more(field, &bare(value), cx),
                }
            }
        }
        if let Some(file) = file.filter(|_| details.location.is_none()) {
            details.location = Some(cx.paths.location(&file, line_number));
        }
        let inner = Context { log, ..*cx };
        if details.location.as_ref().is_none_or(|it| !cx.paths.place(&it.file, None, None).is_own) {
            let body = range.start..range.end;
            let stack = crate::parsers::place_in(&inner, body);
            details.location = stack.or(details.location);
        }
        if details.message.trim().is_empty() {
            let told = |it: &&&str| {
                !it.is_empty() && !it.starts_with("(in test file") && !it.starts_with("at ")
            };
            details.message =
                comments.iter().find(told).map(|it| (*it).to_owned()).unwrap_or_default();
        }
        details.message = details.message.trim().to_owned();
        details
    }

    /// bats and Perl say in comments where it was.
    fn comment(&mut self, text: &str, cx: &Context<'_>) {
        let found = BATS_PLACE
            .captures(text)
            .or_else(|| IN_FILE.captures(text))
            .or_else(|| PERL_PLACE.captures(text));
        if let Some(found) = found {
            self.location.get_or_insert(cx.paths.location(group(&found, 1), number(&found, 2)));
        }
    }

    fn more(&mut self, field: &str, text: &str, cx: &Context<'_>) {
        let add = |to: &mut Option<String>| {
            let to = to.get_or_insert_default();
            if !to.is_empty() && !text.is_empty() {
                to.push('\n');
            }
            to.push_str(text);
        };
        match field {
            "expected" | "wanted" => add(&mut self.expected),
            "actual" | "found" | "got" => add(&mut self.actual),
            "message" | "error" => {
                self.message.push(' ');
                self.message.push_str(text);
            }
            "at" | "location" => {
                let place = PLACE
                    .captures(text)
                    .map(|it| cx.paths.place(group(&it, 1), number(&it, 2), None));
                if let Some(place) = place.filter(|it| it.is_own) {
                    self.location.get_or_insert(place.location);
                }
            }
            _ => {}
        }
    }
}

/// Without YAML's quotes.
fn bare(value: &str) -> String {
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    quoted('\'').or_else(|| quoted('"')).unwrap_or(value).to_owned()
}
