//! Collects the candidates, finds the place of each, and puts the likeliest cause first.

use std::collections::HashMap;
use std::ops::Range;

use gate_core::{Location, Severity};

use super::below::{Below, is_arrow};
use super::places;
use super::prefix::Prefixes;
use crate::classify::{Class, class, may_crash};
use crate::draft::Problem;
use crate::limits::{CANDIDATES_MAX, DIAGNOSTICS_MAX, REPEATS_MAX, SEEN_LINES_MAX};
use crate::mask;
use crate::parsers::{Context, python};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// Between shellcheck's title and its finding.
const TITLE_LINES: usize = 8;

/// `In deploy.sh line 7:`, with the finding below.
static SHELLCHECK: Pattern = Pattern::new(|| pattern(r"^In (\S+) line (\d+):$"));
/// A file on a line of its own, with its findings beneath: `  2:14  error  …`.
static ROW: Pattern = Pattern::new(|| pattern(r"^\s+(\d+):(\d+)\s+(error|warning|✖|×)\s+(.+)$"));

/// The result.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    pub(super) tool: Option<&'static str>,
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug)]
struct Candidate {
    class: Class,
    index: usize,
    message: String,
    location: Option<Location>,
    cut: Cut,
    tool: Option<&'static str>,
}

#[derive(Debug)]
struct Search<'a> {
    cx: Context<'a>,
    prefixes: Prefixes,
    found: Vec<Candidate>,
    seen: HashMap<u64, u32>,
    /// The last line that was nothing but a path.
    heading: Option<&'a str>,
    /// The last place that stood alone as a title.
    title: Option<(usize, Place)>,
}

pub(super) fn read(cx: &Context<'_>) -> Ranked {
    let mut search = Search::new(cx, Prefixes::find(cx));
    search.lines(cx.log.slice(0..cx.log.len()).filter(|it| !cx.taken[it.0]));
    search.rank()
}

/// What is likeliest in a range; warnings are nothing.
pub(super) fn first(cx: &Context<'_>, range: Range<usize>) -> Option<Problem> {
    let mut search = Search::new(cx, Prefixes::NONE);
    search.lines(cx.log.slice(range));
    let first = search.rank().problems.into_iter().next()?;
    (first.severity == Severity::Error).then_some(first)
}

impl<'a> Search<'a> {
    fn new(cx: &Context<'a>, prefixes: Prefixes) -> Self {
        let (cx, found, seen) = (*cx, Vec::new(), HashMap::new());
        Self { cx, prefixes, found, seen, heading: None, title: None }
    }

    fn lines(&mut self, lines: impl Iterator<Item = (usize, &'a str)>) {
        let mut next = 0;
        for (index, line) in lines {
            if index >= next && !line.is_empty() {
                next = self.line(index, line);
            }
        }
    }

    /// Gives the next line to look at.
    fn line(&mut self, index: usize, whole: &'a str) -> usize {
        let (_, line) = self.prefixes.split(whole);
        let is_traceback = python::is_start(line) || self.is_bare_syntax_error(index, line);
        if is_traceback && let Some(end) = self.traceback(index) {
            return end;
        }
        if line.starts_with(' ')
            && let Some(found) = ROW.captures(line)
            && let Some(file) = self.heading
        {
            let is_error = group(&found, 3) != "warning";
            let class = if is_error { Class::Error } else { Class::Warning };
            let place = self.cx.paths.place(file.trim(), number(&found, 1), number(&found, 2));
            self.push(class, index..index + 1, group(&found, 4).to_owned(), Some(place));
            return index + 1;
        }
        let has_extension = |it: &str| it.contains('.') && !it.contains(' ');
        if has_extension(line) && !line.ends_with(['.', ':']) && line.len() < 200 {
            self.heading = Some(line);
        }
        let masked = mask::hash(line.trim());
        let is_known = self.seen.get(&masked).is_some_and(|it| *it > REPEATS_MAX);
        if is_known || self.cx.noise.has(line) {
            return index + 1;
        }
        // Of what is too much, a crash is still told.
        let is_full = self.found.len() >= CANDIDATES_MAX;
        if is_full && !may_crash(line) {
            return index + 1;
        }
        // Few lines start with a place, and of the others most are nothing.
        let may_lead = places::may_lead(line);
        let exact = may_lead.then(|| places::exact(&self.cx, line)).flatten();
        let leads = exact.as_ref().is_some_and(|it| it.leads);
        let Some(class) = self.class(index, line, leads) else { return index + 1 };
        if (is_full && class != Class::Crash) || self.repeats(masked) {
            return index + 1;
        }
        let exact = exact.or_else(|| (!may_lead).then(|| places::exact(&self.cx, line)).flatten());
        let below = Below { cx: self.cx, prefixes: self.prefixes, index, whole };
        let message = match &exact {
            Some(found) if found.leads => line[found.end..].trim_start_matches([':', ' ', ']']),
            Some(_) | None => line.trim(),
        };
        let message = if self.cx.log.is_piece(index) { from_word(message) } else { message };
        if message.is_empty() {
            // A place and nothing else: what is wrong there follows.
            let place = exact.map(|it| it.place);
            self.push(Class::Weak, index..below.block_end(), line.trim().to_owned(), place);
            return index + 1;
        }
        let (message, end) = below.continued(message);
        let place = exact.map(|it| it.place).filter(|it| it.is_own || leads);
        let place = place
            .or_else(|| below.place(end, class))
            .or_else(|| self.title.take_if(|it| index - it.0 <= TITLE_LINES).map(|it| it.1))
            .or_else(|| manifest(&self.cx, line))
            .or_else(|| places::bare(&self.cx, line).map(|it| it.place));
        self.push(class, index..end, message, place);
        index + 1
    }

    fn class(&mut self, index: usize, line: &str, leads: bool) -> Option<Class> {
        if let Some(found) = line.strip_prefix("In ").and_then(|_| SHELLCHECK.captures(line)) {
            let place = self.cx.paths.place(group(&found, 1), number(&found, 2), None);
            self.title = Some((index, place));
            return None;
        }
        let found = class(line, leads);
        // A title that the next line gives a place.
        let is_title = || is_arrow(self.cx.log.line(index + 1));
        if matches!(found, None | Some(Class::Weak)) && is_title() {
            return Some(Class::Error);
        }
        found.or_else(|| {
            if !line.contains('/') || !line.contains(": ") {
                return None;
            }
            let bare = places::bare(&self.cx, line).filter(|it| it.leads)?;
            let rest = line[bare.end..].strip_prefix(": ")?;
            let is_fine = matches!(rest.trim(), "ok" | "OK" | "passed" | "done");
            (!is_fine).then_some(Class::Weak)
        })
    }

    fn push(&mut self, class: Class, lines: Range<usize>, message: String, place: Option<Place>) {
        let index = lines.start;
        let location = place.map(|it| it.location);
        let cut = Cut::new(lines, vec![index]);
        self.found.push(Candidate { class, index, message, location, cut, tool: None });
    }

    /// The interpreter prints no header for an error in the file that it was started with.
    fn is_bare_syntax_error(&self, index: usize, line: &str) -> bool {
        let is_error = |it: &str| {
            ["SyntaxError: ", "IndentationError: ", "TabError: "]
                .iter()
                .any(|name| it.starts_with(name))
        };
        line.starts_with("  File \"")
            && self
                .cx
                .log
                .slice(index + 1..index + 5)
                .any(|it| is_error(self.prefixes.split(it.1).1))
    }

    fn traceback(&mut self, index: usize) -> Option<usize> {
        let (chain, cut) = python::traceback(&self.cx, index, self.cx.log.len(), |it| it)?;
        let cause = chain.cause()?;
        let class = match class(&cause.message, false) {
            Some(class @ (Class::Crash | Class::Blocker)) => class,
            Some(_) | None => Class::Error,
        };
        let end = cut.range.end;
        let (message, location) = (cause.message, cause.location);
        self.found.push(Candidate { class, index, message, location, cut, tool: Some("python") });
        Some(end)
    }

    /// A line that comes again and again is noise, whatever its numbers.
    fn repeats(&mut self, masked: u64) -> bool {
        if self.seen.len() >= SEEN_LINES_MAX && !self.seen.contains_key(&masked) {
            return false;
        }
        let times = self.seen.entry(masked).or_insert(0);
        *times += 1;
        *times > REPEATS_MAX
    }

    fn rank(self) -> Ranked {
        let mut found = self.found;
        found.sort_by_key(|it| (it.class, it.index));
        let tool = found.first().and_then(|it| it.tool.or_else(|| tool_of(it)));
        let problems = found.into_iter().take(DIAGNOSTICS_MAX).map(problem).collect();
        Ranked { tool, problems }
    }
}

fn problem(candidate: Candidate) -> Problem {
    let Candidate { class, message, location, cut, .. } = candidate;
    let severity = if class == Class::Warning { Severity::Warning } else { Severity::Error };
    Problem { severity, class: Some(class), ..Problem::error(message, cut).at(location) }
}

/// A process that a shell saw die, and git's own words.
fn tool_of(candidate: &Candidate) -> Option<&'static str> {
    if candidate.message.contains("Segmentation fault") {
        Some("process")
    } else if candidate.message.starts_with("CONFLICT (") {
        Some("git")
    } else {
        None
    }
}

/// Package managers and make speak of their own file without its name.
fn manifest(cx: &Context<'_>, line: &str) -> Option<Place> {
    let is_npm = line.starts_with("npm error ") || line.starts_with("npm ERR! ");
    let file = if is_npm || line == "Error: no test specified" {
        "package.json"
    } else if line.contains(": *** No rule to make target") {
        "Makefile"
    } else {
        return None;
    };
    Some(cx.paths.place(file, None, None))
}

/// Of a piece of a long line: from the word that it was kept for.
fn from_word(piece: &str) -> &str {
    let words = ["error", "fatal", "panic", "exception", "failed", "traceback"];
    let lower = piece.to_ascii_lowercase();
    let start = words.iter().filter_map(|it| lower.find(it)).min().unwrap_or(0);
    &piece[start..]
}
