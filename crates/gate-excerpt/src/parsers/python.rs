//! Reads Python tracebacks: chains of exceptions, their frames, and where the first cause was raised. Shared by the
//! runners of Python tests and the generic reader.

use gate_core::Location;

use super::Context;
use crate::limits::BLOCK_LINES_MAX;
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static FRAME: Pattern = Pattern::new(|| pattern(r#"^\s*File "(.+?)", line (\d+)(?:,? in (.*))?$"#));
static EXCEPTION: Pattern =
    Pattern::new(|| pattern(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z_]\w*(?:: .*|:)?$"));

/// The line that starts a traceback.
pub(crate) const HEADER: &str = "Traceback (most recent call last):";
/// That of an exception group, whose lines have a margin.
const GROUP_HEADER: &str = "  + Exception Group Traceback (most recent call last):";

/// Whether a traceback starts here.
pub(crate) fn is_start(line: &str) -> bool {
    line.starts_with(HEADER) || line.starts_with(GROUP_HEADER)
}

/// Without the margin of an exception group.
pub(crate) fn without_margin(line: &str) -> &str {
    let text = line.trim_start();
    text.strip_prefix("| ").or_else(|| text.strip_prefix("+ ")).unwrap_or(line)
}

/// One exception of a chain, the first cause first.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) places: Vec<(usize, Place)>,
    /// What it says, line by line.
    pub(crate) message: Vec<String>,
    /// The lines that show it.
    pub(crate) keys: Vec<usize>,
}

impl Link {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.message.is_empty()
    }

    /// The deepest frame in the project's own files.
    pub(crate) fn own_place(&self) -> Option<&(usize, Place)> {
        self.places.iter().rfind(|it| it.1.is_own)
    }
}

/// Exceptions that led to each other.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) links: Vec<Link>,
}

/// What a chain comes down to.
#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) message: String,
    pub(crate) location: Option<Location>,
    pub(crate) keys: Vec<usize>,
}

impl Chain {
    /// The first exception that touches the project's own files; without one, the first.
    pub(crate) fn cause(&self) -> Option<Cause> {
        let links = || self.links.iter().filter(|it| !it.message.is_empty());
        let link = links().find(|it| it.own_place().is_some()).or_else(|| links().next())?;
        let own = link.own_place();
        let mut keys = link.keys.clone();
        keys.extend(own.map(|it| it.0));
        // What the others say is shown too: the last one is what the caller saw.
        keys.extend(self.links.iter().flat_map(|it| it.keys.iter().copied()));
        let message = message(&link.message);
        Some(Cause { message, location: own.map(|it| it.1.location.clone()), keys })
    }
}

/// Whether the line joins two exceptions of a chain.
pub(crate) fn is_chain_link(line: &str) -> bool {
    line.starts_with("During handling of the above exception, another exception occurred")
        || line.starts_with("The above exception was the direct cause of the following exception")
}

/// A printed frame: file and line.
pub(crate) fn frame(cx: &Context<'_>, line: &str) -> Option<(Place, String)> {
    if !line.contains("File \"") {
        return None;
    }
    let found = FRAME.captures(line)?;
    let place = cx.paths.place(group(&found, 1), number(&found, 2), None);
    Some((place, group(&found, 3).to_owned()))
}

/// Whether the line says which exception it was, as the interpreter prints it.
pub(crate) fn is_exception(line: &str) -> bool {
    line.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') && EXCEPTION.is_match(line)
}

/// Reads from a traceback's first line; gives the chain and the lines that it takes.
///
/// `strip` takes away what a runner puts before each line.
pub(crate) fn traceback(
    cx: &Context<'_>,
    start: usize,
    end: usize,
    strip: fn(&str) -> &str,
) -> Option<(Chain, Cut)> {
    let mut chain = Chain::default();
    let mut link = Link::default();
    let mut last = start;
    // A traceback that is deeper than this is read in its first part only.
    let lines = cx.log.slice(start..end.min(start + BLOCK_LINES_MAX));
    let is_group = strip(cx.log.line(start)).starts_with(GROUP_HEADER);
    for (at, line) in lines {
        let line = if is_group { without_margin(strip(line)) } else { strip(line) };
        if let Some((place, _)) = frame(cx, line) {
            link.places.push((at, place));
        } else if link.message.is_empty() && is_exception(line) && !link.places.is_empty() {
            link.message.push(line.to_owned());
            link.keys.push(at);
            chain.links.push(std::mem::take(&mut link));
        } else if line.starts_with(HEADER)
            || line.starts_with("Exception Group Traceback")
            || is_chain_link(line)
            || line.trim().is_empty()
        {
            if link.is_empty() && chain.links.is_empty() && at > start && line.trim().is_empty() {
                break;
            }
        } else if !line.starts_with([' ', '\t']) && link.places.is_empty() {
            // After an exception, something else.
            break;
        }
        if !line.trim().is_empty() {
            last = at;
        }
    }
    let keys = chain.cause()?.keys;
    Some((chain, Cut::new(start..last + 1, keys)))
}

/// In one line; what only explains where a value comes from is left out.
fn message(lines: &[String]) -> String {
    let telling = |it: &&String| !it.trim_start().starts_with('+') || !it.contains(" where ");
    let words: Vec<&str> = lines.iter().filter(telling).map(|it| it.trim()).collect();
    words.join(" ")
}
