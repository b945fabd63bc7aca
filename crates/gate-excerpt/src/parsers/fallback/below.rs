//! What stands below an error: the rest of its message, its place, the lines that show it.

use super::places;
use super::prefix::Prefixes;
use crate::classify::Class;
use crate::parsers::{Context, js};
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};

/// `--> a.rs:3:1`, as compilers point.
static ARROW: Pattern = Pattern::new(|| pattern(r"^\s*(?:-->|╭─\[|┌─) ?(.+?):(\d+)(?::(\d+))?"));
/// An indented place and nothing else.
static PLACE_ONLY: Pattern = Pattern::new(|| pattern(r"^\s+(\S+\.\w+):(\d+)(?::(\d+))?:?$"));

/// Whether the line points to a place.
pub(super) fn is_arrow(line: &str) -> bool {
    line.trim_start().starts_with(['-', '╭', '┌']) && ARROW.is_match(line)
}

/// Lines that are shown with an error.
const BLOCK_LINES: usize = 12;
/// Lines of a dump in which the project's own frame is looked for.
const DUMP_LINES: usize = 60;
/// Times that a message ends with a colon and goes on in the next line.
const CONTINUED_MAX: usize = 3;

/// An error's line and what is below it.
#[derive(Debug)]
pub(super) struct Below<'a> {
    pub(super) cx: Context<'a>,
    pub(super) prefixes: Prefixes,
    pub(super) index: usize,
    /// The line with its prefix.
    pub(super) whole: &'a str,
}

impl<'a> Below<'a> {
    /// Lines below that have the error's own prefix, without it.
    fn lines(&self, count: usize) -> impl Iterator<Item = (usize, &'a str)> {
        let (prefix, _) = self.prefixes.split(self.whole);
        let prefixes = self.prefixes;
        let lines = self.cx.log.slice(self.index + 1..self.index + 1 + count);
        lines.filter_map(move |(at, line)| {
            let (other, text) = prefixes.split(line);
            (other == prefix).then_some((at, text))
        })
    }

    /// Indented lines, source excerpts, and stacks belong to what stands above them.
    pub(super) fn block_end(&self) -> usize {
        let is_part = |text: &str| {
            text.starts_with([' ', '\t', '|', '>', '^', '~'])
                || text.starts_with(|it: char| it.is_ascii_digit())
        };
        let block =
            self.lines(BLOCK_LINES).take_while(|it| is_part(it.1) && !it.1.trim().is_empty());
        block.last().map_or(self.index, |it| it.0) + 1
    }

    /// The message with the lines that its colon announces, and the end of its block.
    pub(super) fn continued(&self, message: &str) -> (String, usize) {
        let mut message = message.to_owned();
        let mut end = self.block_end();
        let mut rest = self.lines(BLOCK_LINES).filter(|it| !it.1.trim().is_empty());
        for _ in 0..CONTINUED_MAX {
            if !message.ends_with(':') {
                break;
            }
            let Some((at, text)) = rest.next() else { break };
            message = format!("{message} {}", text.trim());
            end = end.max(at + 1);
        }
        (message, end)
    }

    /// A pointer, the topmost own frame of a stack, a place on its own, or one in the announced lines.
    pub(super) fn place(&self, end: usize, class: Class) -> Option<Place> {
        let paths = self.cx.paths;
        let count = (end - self.index).max(3);
        let stands = |text: &str| {
            let found = ARROW.captures(text).or_else(|| PLACE_ONLY.captures(text))?;
            let file = group(&found, 1).trim_end_matches(']');
            Some(paths.place(file, number(&found, 2), number(&found, 3)))
        };
        let mut near = self
            .lines(count)
            .filter_map(|(_, text)| stands(text).or_else(|| js::frame(&self.cx, text)));
        let announced = || {
            let mut lines = self.lines(end - self.index);
            lines.find_map(|(at, text)| (at < end).then(|| places::exact(&self.cx, text)).flatten())
        };
        near.find(|it| it.is_own)
            .or_else(|| announced().map(|it| it.place).filter(|it| it.is_own))
            .or_else(|| self.dump(class))
    }

    /// Go's goroutines and the sanitizers' stacks, the deepest frame first.
    fn dump(&self, class: Class) -> Option<Place> {
        let text = self.prefixes.split(self.whole).1;
        let has_dump = class == Class::Crash
            || text.starts_with("panic: ")
            || text.starts_with("fatal error: ");
        if !has_dump {
            return None;
        }
        let frames = self.lines(DUMP_LINES).filter(|it| it.1.starts_with([' ', '\t']));
        let mut places = frames.filter_map(|(_, line)| places::exact(&self.cx, line.trim()));
        places.find(|it| it.place.is_own).map(|it| it.place)
    }
}
