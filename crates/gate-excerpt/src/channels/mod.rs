//! Machine-readable output: the same reader serves a file that the command wrote and a document in its log.
//!
//! To add one: a file beside these, a line in [`CHANNELS`], two real documents as fixtures.

use std::borrow::Cow;
use std::ops::Range;

use crate::Side;
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::limits::{DOCUMENTS_MAX, SIDE_BYTES_MAX, SIDES_MAX};
use crate::parsers::Context;
use crate::select::Cut;

/// All known kinds, in the order in which they look at a file.
pub(crate) static CHANNELS: &[&dyn Channel] = &[];

/// Bytes of a file that show what it is.
const HEAD_BYTES: usize = 4 * 1024;

/// One kind of document.
pub(crate) trait Channel: Sync {
    /// The tool's name in a reading; empty where only the document says it.
    fn tool(&self) -> &'static str;

    /// Whether the call runs a tool that can write such a document to its output.
    fn is_called(&self, call: &Call) -> bool;

    /// Literals, one of which is in the first line of a document in a log.
    fn marks(&self) -> &'static [&'static str];

    /// Whether a document starts with this line of a log.
    fn is_start(&self, line: &str) -> bool;

    /// Whether a file is such a document, by its name and its start.
    fn is_file(&self, name: &str, head: &str) -> bool;

    /// Reads one document; says what is wrong with it where it is broken or cut off.
    fn read(&self, document: &Document<'_>, cx: &Context<'_>) -> Result<Found, String>;
}

/// A document's bytes, and where they come from.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    File,
    /// From here on in the raw log.
    Raw(u64),
    /// Lines that were put together: where each starts in the document, and where in the raw log.
    Lines(Vec<(usize, u64)>),
}

impl<'a> Document<'a> {
    /// A file beside the log.
    pub(crate) fn file(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self { bytes: Cow::Borrowed(bytes), place: Place::File }
    }

    /// From a line of the log to its end.
    fn from_line(cx: &Context<'a>, index: usize) -> Self {
        let has_prefix = !cx.log.prefix(index).is_empty();
        if !has_prefix {
            let start = cx.log.raw_offset(index);
            let from = usize::try_from(start).unwrap_or(usize::MAX).min(cx.input.bytes.len());
            return Self {
                bytes: Cow::Borrowed(&cx.input.bytes[from..]),
                place: Place::Raw(start),
            };
        }
        let mut bytes = Vec::new();
        let mut lines = Vec::new();
        for (at, line) in cx.log.slice(index..cx.log.len()) {
            lines.push((bytes.len(), cx.log.raw_offset(at)));
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        Self { bytes: Cow::Owned(bytes), place: Place::Lines(lines) }
    }

    /// What stands at this position, in words; a file has no place in the log.
    pub(crate) fn cut(&self, position: usize, text: impl Into<String>) -> Cut {
        match self.raw_offset(position) {
            Some(offset) => Cut::text(offset, text),
            None => Cut::default(),
        }
    }

    fn raw_offset(&self, position: usize) -> Option<u64> {
        match &self.place {
            Place::File => None,
            Place::Raw(start) => Some(start + position as u64),
            Place::Lines(lines) => {
                let next = lines.partition_point(|it| it.0 <= position);
                let (start, raw) = lines.get(next.checked_sub(1)?)?;
                Some(raw + (position - start) as u64)
            }
        }
    }
}

/// What one document says.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) draft: Draft,
    /// Bytes that it takes.
    pub(crate) length: usize,
}

/// What all documents say.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// Each with its tool and its name.
    pub(crate) drafts: Vec<(&'static str, Option<String>, Draft)>,
    /// Lines of the log that are a document's.
    pub(crate) taken: Vec<Range<usize>>,
    /// What could not be read.
    pub(crate) notes: Vec<Problem>,
}

/// Reads the files beside the log, and the documents in it.
pub(crate) fn read(channels: &[&dyn Channel], cx: &Context<'_>, is_any_named: bool) -> Machine {
    let mut machine = Machine::default();
    for side in cx.input.sides.iter().take(SIDES_MAX) {
        read_side(channels, side, cx, &mut machine);
    }
    // What a test of a known tool prints in another tool's form is no document.
    let called = |it: &&&dyn Channel| cx.calls.iter().any(|call| it.is_called(call));
    let channels: Vec<&dyn Channel> =
        channels.iter().filter(|it| !is_any_named || called(it)).copied().collect();
    if !channels.is_empty() {
        read_log(&channels, cx, &mut machine);
    }
    machine
}

fn read_side(channels: &[&dyn Channel], side: &Side<'_>, cx: &Context<'_>, machine: &mut Machine) {
    let mut note = |why: &str| {
        let message = format!("`{}` is not read, the log is instead: {why}", side.name);
        machine.notes.push(Problem::warning(message, Cut::default()));
    };
    if side.bytes.len() > SIDE_BYTES_MAX {
        return note(&format!("it is larger than {SIDE_BYTES_MAX} bytes"));
    }
    let document = Document::file(side.bytes);
    let head = String::from_utf8_lossy(&document.bytes[..document.bytes.len().min(HEAD_BYTES)]);
    if head.trim().is_empty() {
        return note("it is empty");
    }
    let Some(channel) = channels.iter().find(|it| it.is_file(side.name, &head)) else {
        return note("the gate knows no such format");
    };
    match guarded(*channel, &document, cx) {
        Ok(found) => {
            let tool = found.draft.tool.unwrap_or(channel.tool());
            machine.drafts.push((tool, Some(side.name.to_owned()), found.draft));
        }
        Err(why) => note(&why),
    }
}

/// A reader that panics found nothing.
fn guarded(channel: &dyn Channel, of: &Document<'_>, cx: &Context<'_>) -> Result<Found, String> {
    let read = std::panic::AssertUnwindSafe(|| channel.read(of, cx));
    std::panic::catch_unwind(read)
        .unwrap_or_else(|_| Err("the gate's reader gave up on this log".to_owned()))
}

fn read_log(channels: &[&dyn Channel], cx: &Context<'_>, machine: &mut Machine) {
    let mut next = 0;
    let mut documents = 0;
    for (index, line) in cx.lines() {
        if index < next || line.is_empty() || documents >= DOCUMENTS_MAX {
            continue;
        }
        let starts = |it: &&&dyn Channel| {
            it.marks().iter().any(|mark| line.contains(mark)) && it.is_start(line)
        };
        let Some(channel) = channels.iter().find(starts) else { continue };
        documents += 1;
        let document = Document::from_line(cx, index);
        let Ok(found) = guarded(*channel, &document, cx) else { continue };
        let last = document.raw_offset(found.length.saturating_sub(1)).unwrap_or(0);
        let end = (index + 1..cx.log.len()).find(|it| cx.log.raw_offset(*it) > last);
        next = end.unwrap_or(cx.log.len());
        machine.taken.push(index..next);
        let tool = found.draft.tool.unwrap_or(channel.tool());
        machine.drafts.push((tool, None, found.draft));
    }
}
