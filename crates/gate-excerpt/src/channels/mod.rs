//! Machine-readable output: the same reader serves a file that the command wrote and a document in its log.
//!
//! To add one: a file beside these, a line in [`CHANNELS`], two real documents as fixtures.

mod cargo;
mod go;
mod jest;
mod json;
mod junit;
mod lint;
mod mocha;
mod playwright;
mod sarif;
mod shown;
mod tap;

use std::cell::OnceCell;
use std::ops::Range;

use crate::Side;
use crate::clean::Log;
use crate::combine::Source;
use crate::draft::{Draft, Problem};
use crate::limits::{
    DOCUMENT_LOOKS_MAX, DOCUMENT_TRIES_MAX, DOCUMENTS_MAX, SIDE_BYTES_MAX, SIDES_MAX,
};
use crate::parsers::Context;
use crate::select::Cut;

/// All known kinds, in the order in which they look at a file.
pub(crate) static CHANNELS: &[Channel] = &[
    cargo::CARGO,
    go::GO,
    jest::JEST,
    jest::VITEST,
    mocha::MOCHA,
    playwright::PLAYWRIGHT,
    sarif::SARIF,
    lint::BIOME,
    lint::ESLINT,
    lint::HADOLINT,
    lint::MYPY,
    lint::PYLINT,
    lint::PYRIGHT,
    lint::RUFF,
    lint::SHELLCHECK,
    lint::STYLELINT,
    junit::JUNIT,
    tap::TAP,
];

/// What a reader that panics says.
const GAVE_UP: &str = "the gate's reader gave up on a machine-readable document";

/// What is said where the rest of a log is taken for text.
const TOO_MANY_BROKEN: &str =
    "so many machine-readable documents in the log break off that from here on it is read as text";

/// Bytes of a file that show what it is.
const HEAD_BYTES: usize = 64 * 1024;
/// The same, of what may be a document in a log, and its lines.
const HEAD_IN_LOG_BYTES: usize = 1024;
const HEAD_LINES: usize = 40;

/// One kind of document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    /// The tool's name in a reading; empty where only the document says it.
    pub(crate) tool: &'static str,
    /// Programs that can write such a document to their output.
    pub(crate) programs: &'static [&'static str],
    /// Whether it is such a document.
    pub(crate) is: fn(&Head<'_>) -> bool,
    /// Reads one; says what is wrong with it where it is broken or cut off.
    pub(crate) read: fn(&Document<'_>, &Context<'_>) -> Result<Found, Broken>,
}

/// The start of a document.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    /// A file's name; empty where it stands in a log.
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Head<'_> {
    pub(crate) fn has_all(&self, words: &[&str]) -> bool {
        words.iter().all(|it| self.text.contains(it))
    }

    /// Whether the first of these stands before everything else but blanks.
    pub(crate) fn starts(&self, with: &str) -> bool {
        self.text.trim_start().starts_with(with)
    }
}

/// A document's bytes, and where they come from.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) bytes: &'a [u8],
    /// The log that it stands in, and its first line there.
    pub(crate) lines: Option<(&'a Log, usize)>,
    place: Place<'a>,
}

#[derive(Debug)]
enum Place<'a> {
    File,
    /// From here on in the raw log.
    Raw(u64),
    /// From this byte on in lines that were put together.
    Joined(&'a Joined, usize),
}

/// The lines of a log without what wrappers put before them.
#[derive(Debug)]
struct Joined {
    bytes: Vec<u8>,
    /// Where each line starts in the bytes, and where in the raw log.
    lines: Vec<(usize, u64)>,
}

impl Joined {
    fn new(log: &Log) -> Self {
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        for (at, line) in log.slice(0..log.len()) {
            lines.push((bytes.len(), log.raw_offset(at)));
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        Self { bytes, lines }
    }
}

impl<'a> Document<'a> {
    /// A file beside the log.
    pub(crate) fn file(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self { bytes, lines: None, place: Place::File }
    }

    /// From a line of the log to its end.
    fn from_line(cx: &Context<'a>, joined: &'a OnceCell<Joined>, index: usize) -> Self {
        let lines = Some((cx.log, index));
        if cx.log.prefix(index).is_empty() {
            let start = cx.log.raw_offset(index);
            let from = usize::try_from(start).unwrap_or(usize::MAX).min(cx.input.bytes.len());
            return Self { bytes: &cx.input.bytes[from..], lines, place: Place::Raw(start) };
        }
        let joined = joined.get_or_init(|| Joined::new(cx.log));
        let from = joined.lines.get(index).map_or(joined.bytes.len(), |it| it.0);
        Self { bytes: &joined.bytes[from..], lines, place: Place::Joined(joined, from) }
    }

    /// How many bytes there are up to this line of the log that it stands in.
    pub(crate) fn length_to(&self, line: usize) -> usize {
        let Some((log, _)) = self.lines.filter(|it| line < it.0.len()) else {
            return self.bytes.len();
        };
        match &self.place {
            Place::File => self.bytes.len(),
            Place::Raw(start) => {
                usize::try_from(log.raw_offset(line).saturating_sub(*start)).unwrap_or(usize::MAX)
            }
            Place::Joined(joined, from) => joined.lines[line].0 - from,
        }
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
            Place::Joined(Joined { lines, .. }, from) => {
                let position = position + from;
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

/// What is wrong with a document.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) why: String,
    /// Bytes after which it was given up; beyond its end, all.
    pub(crate) looked_bytes: usize,
}

/// After all of it was looked at.
impl From<String> for Broken {
    fn from(why: String) -> Self {
        Self { why, looked_bytes: usize::MAX }
    }
}

/// One document that was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) tool: &'static str,
    pub(crate) draft: Draft,
    pub(crate) source: Source,
}

/// What all documents say.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) drafts: Vec<Read>,
    /// Lines of the log that are a document's.
    pub(crate) taken: Vec<Range<usize>>,
    /// What could not be read.
    pub(crate) notes: Vec<Problem>,
}

/// Reads the files beside the log, and the documents in it.
pub(crate) fn read(channels: &[Channel], cx: &Context<'_>, is_direct: bool) -> Machine {
    let mut machine = Machine::default();
    for side in cx.input.sides.iter().take(SIDES_MAX) {
        read_side(channels, side, cx, &mut machine);
    }
    read_log(channels, cx, is_direct, &mut machine);
    machine
}

fn read_side(channels: &[Channel], side: &Side<'_>, cx: &Context<'_>, machine: &mut Machine) {
    let mut note = |why: &str| {
        let message = format!("`{}` is not read, the log is instead: {why}", side.name);
        machine.notes.push(Problem::note(message, Cut::default()));
    };
    if side.bytes.len() > SIDE_BYTES_MAX {
        return note(&format!("it is larger than {SIDE_BYTES_MAX} bytes"));
    }
    let document = Document::file(side.bytes);
    let head = String::from_utf8_lossy(&document.bytes[..document.bytes.len().min(HEAD_BYTES)]);
    if head.trim().is_empty() {
        return note("it is empty");
    }
    let head = Head { name: side.name, text: &head };
    let Some(channel) = channels.iter().find(|it| (it.is)(&head)) else {
        return note("the gate knows no such format");
    };
    match guarded(channel, &document, cx) {
        Ok(Found { draft, .. }) => {
            let tool = draft.tool.unwrap_or(channel.tool);
            machine.drafts.push(Read { tool, draft, source: Source::File });
        }
        Err(Broken { why, .. }) => note(&why),
    }
}

/// A reader that panics found nothing.
fn guarded(channel: &Channel, of: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let read = std::panic::AssertUnwindSafe(|| (channel.read)(of, cx));
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err(GAVE_UP.to_owned().into()))
}

fn read_log(channels: &[Channel], cx: &Context<'_>, is_direct: bool, machine: &mut Machine) {
    let is_called = |it: &Channel| {
        cx.calls.iter().any(|call| {
            it.programs.contains(&call.program.as_str())
                || (it.tool == tap::TAP.tool && tap::is_chosen(call))
        })
    };
    let (called, others): (Vec<&Channel>, Vec<&Channel>) =
        channels.iter().partition(|it| is_called(it));
    // What a test of a known tool prints in another tool's form is no document.
    let others = if is_direct { Vec::new() } else { others };
    let channels: Vec<(&Channel, bool)> = called
        .into_iter()
        .map(|it| (it, true))
        .chain(others.into_iter().map(|it| (it, false)))
        .collect();
    if channels.is_empty() {
        return;
    }
    let joined = OnceCell::new();
    let (mut next, mut tries) = (0, 0);
    // What looks like many documents that break off is not looked at again and again.
    let mut room = cx.input.bytes.len().saturating_mul(DOCUMENT_LOOKS_MAX);
    for (index, line) in cx.lines() {
        if index < next || !may_start(line) || tries >= DOCUMENT_TRIES_MAX {
            continue;
        }
        tries += 1;
        let Some((document, (channel, is_own))) = at_line(&channels, (cx, &joined), index) else {
            continue;
        };
        let Found { draft, length } = match guarded(channel, &document, cx) {
            Ok(found) => found,
            // What only looks like a document is text.
            Err(Broken { why, looked_bytes }) => {
                if why == GAVE_UP {
                    machine.notes.push(Problem::note(why, Cut::line(index)));
                }
                let looked = looked_bytes.min(document.bytes.len());
                let Some(left) = room.checked_sub(looked) else {
                    machine.notes.push(Problem::note(TOO_MANY_BROKEN, Cut::line(index)));
                    break;
                };
                room = left;
                continue;
            }
        };
        let last = document.raw_offset(length.saturating_sub(1)).unwrap_or(0);
        let end = (index + 1..cx.log.len()).find(|it| cx.log.raw_offset(*it) > last);
        next = end.unwrap_or(cx.log.len());
        // TAP is for people too, and its harness may have a parser for what stands in and around it.
        if is_own || channel.tool != tap::TAP.tool {
            machine.taken.push(index..next);
        }
        // A file that the command printed as well counts once.
        let text = document.bytes[..length.min(document.bytes.len())].trim_ascii();
        if cx.input.sides.iter().any(|it| Document::file(it.bytes).bytes.trim_ascii() == text) {
            continue;
        }
        let (tool, source) = (draft.tool.unwrap_or(channel.tool), Source::Printed { is_own });
        machine.drafts.push(Read { tool, draft, source });
        if machine.drafts.len() >= DOCUMENTS_MAX {
            break;
        }
    }
}

/// Whether a document may start with this line.
fn may_start(line: &str) -> bool {
    let bytes = line.trim_start().as_bytes();
    match bytes {
        [b'{' | b'[' | b'<', ..] | [b'T', b'A', b'P', ..] | [b'1', b'.', b'.', ..] => true,
        _ => tap::is_first_result(line),
    }
}

fn at_line<'a, 'c>(
    channels: &[(&'c Channel, bool)],
    (cx, joined): (&Context<'a>, &'a OnceCell<Joined>),
    index: usize,
) -> Option<(Document<'a>, (&'c Channel, bool))> {
    let mut text = String::new();
    for (_, line) in cx.log.slice(index..cx.log.len()).take(HEAD_LINES) {
        let room = HEAD_IN_LOG_BYTES.saturating_sub(text.len());
        text.push_str(&crate::select::shorten(line, room));
        text.push('\n');
        if text.len() >= HEAD_IN_LOG_BYTES {
            break;
        }
    }
    let head = Head { name: "", text: &text };
    let channel = channels.iter().find(|it| (it.0.is)(&head))?;
    Some((Document::from_line(cx, joined, index), *channel))
}
