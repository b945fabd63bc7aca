//! One failure's block: its tracebacks in any style, up to what the test printed.

use std::ops::Range;

use crate::parsers::Context;
use crate::parsers::python::{self, Cause, Chain, Link};
use crate::pattern::{Pattern, group, number, pattern};

static TITLE: Pattern = Pattern::new(|| pattern(r"^_+ (\S.*?) _+$"));
static CAPTURED: Pattern = Pattern::new(|| pattern(r"^-{3,} \S.* -{3,}$"));
/// `tests/test_a.py:5: `, `a.py:5: in f`, `a.py:5: KeyError`, also with a drive letter.
static PLACE: Pattern =
    Pattern::new(|| pattern(r"^((?:[A-Za-z]:)?[^\s:>][^:>]*):(\d+):(?: (?:in .*|[\w.]+)?)?$"));
static FIXTURE: Pattern = Pattern::new(|| pattern(r"^file (.+), line (\d+)$"));
static ONE_LINE: Pattern =
    Pattern::new(|| pattern(r"^((?:[A-Za-z]:)?[^\s:>][^:>]*\.\w+):(\d+): (.+)$"));

/// What must fail and did not has no error: its reason stands after this.
const PASSED_STRICT: &str = "[XPASS(strict)]";

/// A titled block.
#[derive(Debug)]
pub(super) struct Block<'t> {
    pub(super) title: &'t str,
    pub(super) range: Range<usize>,
}

/// The blocks of a section.
pub(super) fn blocks<'a>(cx: &Context<'a>, section: Range<usize>) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    let mut is_captured = false;
    for (index, line) in cx.lines_in(section.start + 1..section.end) {
        let title = if line.starts_with('_') { title(line) } else { None };
        // What a test printed may look like a title; pytest's own has a blank line or a rule of its own around it.
        if let Some(title) = title.filter(|it| !is_captured || !it.contains("  ")) {
            blocks.push(Block { title, range: index..index + 1 });
            is_captured = false;
        } else if let Some(block) = blocks.last_mut() {
            block.range.end = index + 1;
            is_captured |= line.starts_with("---") && CAPTURED.is_match(line);
        }
    }
    blocks
}

fn title(line: &str) -> Option<&str> {
    // The rule between two frames.
    if line.starts_with("_ _ ") {
        return None;
    }
    TITLE.captures(line).and_then(|it| it.get(1)).map(|it| it.as_str())
}

/// The failures of `--tb=line`, in order: the line, its place, and its message.
pub(super) fn one_liners(cx: &Context<'_>, section: Range<usize>) -> Vec<(usize, Cause)> {
    let lines = cx.lines_in(section.start + 1..section.end);
    let found = lines.filter_map(|(index, line)| Some((index, ONE_LINE.captures(line)?)));
    let cause = |(index, found): (usize, regex::Captures<'_>)| {
        let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
        let message = group(&found, 3).to_owned();
        // The line that raised may be a library's: then the test's file says more.
        let location = place.is_own.then_some(place.location);
        (index, Cause { message, location, keys: vec![index] })
    };
    found.map(cause).collect()
}

/// The first cause that the lines tell, and the lines up to what the test printed.
pub(super) fn read(cx: &Context<'_>, range: Range<usize>) -> (Option<Cause>, Range<usize>) {
    let mut reader = Reader::default();
    let mut end = range.end;
    for (index, line) in cx.log.slice(range.clone()) {
        if line.starts_with("---") && CAPTURED.is_match(line) {
            end = index;
            break;
        }
        reader.line(cx, index, line);
    }
    (reader.finish().cause(), range.start..end)
}

#[derive(Debug, Default)]
struct Reader {
    chain: Chain,
    link: Link,
    /// The line that raised, marked with `>`.
    marked: Option<usize>,
    has_native_frames: bool,
}

impl Reader {
    fn line(&mut self, cx: &Context<'_>, index: usize, line: &str) {
        let line = if line.starts_with("  ") { python::without_margin(line) } else { line };
        if let Some(text) = error_text(line) {
            self.link.keys.extend(self.marked.take());
            self.link.keys.push(index);
            if let Some((place, _)) = python::frame(cx, text) {
                // A syntax error's own place.
                self.link.places.push((index, place));
                self.link.message.clear();
            } else if python::is_exception(text.trim_start()) && self.is_syntax_error() {
                self.link.message = vec![text.to_owned()];
            } else {
                self.link.message.push(text.to_owned());
            }
        } else if line.starts_with('>') {
            self.marked = Some(index);
        } else if python::is_chain_link(line) {
            self.push_link();
        } else if let Some((place, _)) = python::frame(cx, line) {
            self.has_native_frames = true;
            self.link.places.push((index, place));
        } else if let Some(found) = PLACE.captures(line).or_else(|| FIXTURE.captures(line)) {
            let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
            self.link.places.push((index, place));
        } else if self.link.message.is_empty() && self.is_told(line) {
            self.link.keys.push(index);
            self.link.message.push(line.to_owned());
        }
    }

    fn is_told(&self, line: &str) -> bool {
        let is_native =
            self.has_native_frames && python::is_exception(line) && !line.starts_with("Traceback");
        is_native || line.starts_with(PASSED_STRICT)
    }

    /// Between a syntax error's place and its name stands the source.
    fn is_syntax_error(&self) -> bool {
        self.link.keys.first().is_some_and(|first| self.link.places.iter().any(|it| it.0 >= *first))
    }

    fn push_link(&mut self) {
        self.marked = None;
        self.chain.links.push(std::mem::take(&mut self.link));
    }

    fn finish(mut self) -> Chain {
        if !self.link.is_empty() {
            self.push_link();
        }
        self.chain
    }
}

/// The text of a line that starts with pytest's `E`.
fn error_text(line: &str) -> Option<&str> {
    match line.strip_prefix('E') {
        Some("") => Some(""),
        Some(text) if text.starts_with("  ") => Some(text),
        Some(_) | None => None,
    }
}
