//! Turns raw output into lines of text, and keeps for each line where it starts in the raw log.
//!
//! Removed: escape sequences, NUL and other control characters, the overwritten states of a progress line. Invalid
//! UTF-8 becomes U+FFFD. A very long line is kept in pieces, so that memory stays bounded.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::{memchr, memchr_iter, memrchr_iter};
use regex::bytes::Regex;

use crate::limits::{
    LINE_BYTES_MAX, LINES_MAX, OVERWRITTEN_MAX, PIECE_AFTER_BYTES, PIECE_BEFORE_BYTES, PIECE_BYTES,
    PIECES_MAX, READ_BYTES_MAX, READ_HEAD_BYTES,
};

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// Bytes that are looked at together.
const PLAIN_CHUNK_BYTES: usize = 4 * 1024;

static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i-u)\b(?:error|fatal|panic(?:ked)?|exception|failed|traceback)\b")
        .expect("the pattern is a literal, and every long line of the tests builds it")
});

/// A cleaned log. A line is known by its index.
#[derive(Debug)]
pub(crate) struct Log {
    text: String,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    /// In `text`.
    start: u32,
    end: u32,
    /// What a wrapper put before the line, in bytes that stand before `start`.
    prefix: u16,
    /// Of its first visible byte, in the raw log.
    raw: u64,
    /// Whether it is a part of a longer line, and so shows no structure.
    piece: bool,
}

impl Log {
    /// Reads any bytes; linear in their length.
    pub(crate) fn read(raw: &[u8]) -> Self {
        let mut log = Self { text: String::new(), lines: Vec::new() };
        for part in parts(raw) {
            log.text.reserve(part.len().min(READ_BYTES_MAX));
            log.add_part(raw, part);
        }
        log
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The line's text, without its end; empty beyond the last line.
    pub(crate) fn line(&self, index: usize) -> &str {
        #[cfg(test)]
        work::count();
        let Some(line) = self.lines.get(index) else { return "" };
        &self.text[line.start as usize..line.end as usize]
    }

    /// The lines of a range, with their indices.
    pub(crate) fn slice(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = (usize, &str)> {
        let end = range.end.min(self.len());
        (range.start.min(end)..end).map(|index| (index, self.line(index)))
    }

    /// Looks for all patterns in one pass over the text; tells each that is found in a line that is whole.
    pub(crate) fn each_found(&self, patterns: &AhoCorasick, mut tell: impl FnMut(usize, usize)) {
        let mut order: Vec<usize> = Vec::new();
        if !self.lines.is_sorted_by_key(|it| it.start) {
            // Mixed streams were put together again.
            order.extend(0..self.len());
            order.sort_by_key(|it| self.lines[*it].start);
        }
        let mut order = (0..self.len()).map(|it| order.get(it).copied().unwrap_or(it)).peekable();
        for found in patterns.find_overlapping_iter(&self.text) {
            let (start, end) = (found.start(), found.end());
            while order.next_if(|it| (self.lines[*it].end as usize) < end).is_some() {}
            let Some(index) = order.peek() else { break };
            // What stands between the lines, or in a prefix, is no line's.
            let line = self.lines[*index];
            if line.start as usize <= start && !line.piece {
                tell(found.pattern().as_usize(), *index);
            }
        }
        #[cfg(test)]
        (0..self.len()).for_each(|_| work::count());
    }

    /// Where the line starts in the raw log.
    pub(crate) fn raw_offset(&self, index: usize) -> u64 {
        self.lines.get(index).map_or(0, |it| it.raw)
    }

    pub(crate) fn is_piece(&self, index: usize) -> bool {
        self.lines.get(index).is_some_and(|it| it.piece)
    }

    /// What a wrapper put before the line: a task's name, a time.
    pub(crate) fn prefix(&self, index: usize) -> &str {
        let Some(line) = self.lines.get(index) else { return "" };
        let start = line.start as usize;
        &self.text[start - usize::from(line.prefix)..start]
    }

    /// Takes `bytes` more from the start of the line as its prefix.
    pub(crate) fn cut_prefix(&mut self, index: usize, bytes: usize, raw: &[u8]) {
        let Some(line) = self.lines.get_mut(index) else { return };
        let length = line.end.saturating_sub(line.start) as usize;
        let (Ok(more), true) = (u16::try_from(bytes), bytes <= length) else { return };
        let Some(prefix) = line.prefix.checked_add(more) else { return };
        line.start += u32::from(more);
        line.prefix = prefix;
        line.raw = raw_after(raw, line.raw, bytes);
    }

    /// Puts the lines into this order; a line may stand there once.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        self.lines = order.iter().filter_map(|it| self.lines.get(*it).copied()).collect();
    }

    fn add_part(&mut self, raw: &[u8], part: Range<usize>) {
        if self.add_plain(raw, part.clone()) {
            return;
        }
        let mut start = part.start;
        let ends = memchr_iter(b'\n', &raw[part.clone()]).map(|it| part.start + it);
        for end in ends {
            self.add_raw_line(raw, start..end);
            start = end + 1;
        }
        if start < part.end {
            self.add_raw_line(raw, start..part.end);
        }
    }

    /// Most logs have nothing to clean: they are taken as they are, in a fraction of the time.
    fn add_plain(&mut self, raw: &[u8], part: Range<usize>) -> bool {
        let bytes = &raw[part.clone()];
        let is_plain = |chunk: &[u8]| {
            chunk.iter().fold(0, |found, it| found | u8::from(is_control(*it) & (*it != b'\n')))
                == 0
        };
        if !bytes.chunks(PLAIN_CHUNK_BYTES).all(is_plain) {
            return false;
        }
        let Ok(text) = str::from_utf8(bytes) else { return false };
        let Ok(base) = u32::try_from(self.text.len()) else { return false };
        if u32::try_from(self.text.len() + text.len()).is_err() {
            return false;
        }
        let known = self.lines.len();
        let mut start = 0;
        let last = bytes.last().is_some_and(|it| *it != b'\n').then_some(bytes.len());
        for end in memchr_iter(b'\n', bytes).chain(last) {
            if end - start > LINE_BYTES_MAX {
                self.lines.truncate(known);
                return false;
            }
            let [from, to] = [start, end].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
            let raw = (part.start + start) as u64;
            self.lines.push(Line {
                start: base + from,
                end: base + to,
                prefix: 0,
                raw,
                piece: false,
            });
            start = end + 1;
        }
        self.text.push_str(text);
        true
    }

    fn add_raw_line(&mut self, raw: &[u8], mut line: Range<usize>) {
        while raw[line.clone()].last() == Some(&b'\r') {
            line.end -= 1;
        }
        if memchr(b'\r', &raw[line.clone()]).is_none() {
            return self.add_segment(raw, line);
        }
        // A terminal shows the last state only; an earlier one stays if it names an error.
        let mut start = line.start;
        let mut kept = 0;
        let mut shown = line.end..line.end;
        let ends = memchr_iter(b'\r', &raw[line.clone()]).map(|it| line.start + it);
        for end in ends.chain([line.end]) {
            let segment = &raw[start..end];
            let is_blank = segment.iter().all(u8::is_ascii_whitespace);
            if !is_blank {
                if kept < OVERWRITTEN_MAX && TELLING.is_match(&raw[shown.clone()]) {
                    kept += 1;
                    self.add_segment(raw, shown);
                }
                shown = start..end;
            }
            start = end + 1;
        }
        self.add_segment(raw, shown);
    }

    fn add_segment(&mut self, raw: &[u8], segment: Range<usize>) {
        if segment.len() <= LINE_BYTES_MAX {
            return self.add_line(raw, segment, false);
        }
        let head = segment.start + PIECE_BYTES;
        let tail = segment.end - PIECE_BYTES;
        self.add_line(raw, segment.start..head, false);
        let mut from = head;
        for _ in 0..PIECES_MAX {
            let Some(found) = TELLING.find_at(&raw[..tail], from) else { break };
            let start = from.max(found.start().saturating_sub(PIECE_BEFORE_BYTES));
            let end = tail.min(found.start() + PIECE_AFTER_BYTES);
            self.add_line(raw, start..end, true);
            from = end;
        }
        self.add_line(raw, tail..segment.end, true);
    }

    fn add_line(&mut self, raw: &[u8], mut line: Range<usize>, piece: bool) {
        if piece {
            // A piece starts with a whole character.
            while raw[line.clone()].first().is_some_and(|it| it & 0xc0 == 0x80) {
                line.start += 1;
            }
        }
        let Ok(start) = u32::try_from(self.text.len()) else { return };
        let bytes = &raw[line.clone()];
        let skipped = match str::from_utf8(bytes) {
            Ok(text) if !bytes.iter().any(|it| is_control(*it)) => {
                self.text.push_str(text);
                0
            }
            Ok(_) | Err(_) => clean_into(bytes, &mut self.text),
        };
        let Ok(end) = u32::try_from(self.text.len()) else { return };
        let raw = (line.start + skipped) as u64;
        self.lines.push(Line { start, end, prefix: 0, raw, piece });
    }
}

/// The parts of a log that are read: all of it, or its start and its end.
fn parts(raw: &[u8]) -> Vec<Range<usize>> {
    let (mut head, mut tail) = (raw.len(), raw.len());
    if raw.len() > READ_BYTES_MAX {
        head = READ_HEAD_BYTES;
        tail = raw.len() - (READ_BYTES_MAX - READ_HEAD_BYTES);
    }
    if let Some(end) = memchr_iter(b'\n', &raw[..head]).nth(LINES_MAX / 2) {
        let start = memrchr_iter(b'\n', raw).nth(LINES_MAX / 2).map_or(0, |it| it + 1);
        if start > end {
            head = end + 1;
            tail = tail.min(raw.len()).max(start);
        }
    }
    // The two meet where nothing is left out.
    vec![0..head.min(tail), tail..raw.len()]
}

/// Where the raw log goes on after so many visible bytes, escape sequences skipped.
fn raw_after(raw: &[u8], start: u64, visible: usize) -> u64 {
    let mut at = usize::try_from(start).unwrap_or(raw.len()).min(raw.len());
    let mut left = visible;
    while let Some(&byte) = raw.get(at) {
        if byte == ESCAPE {
            at += escape_length(&raw[at..]);
        } else if is_control(byte) && byte != b'\n' {
            at += 1;
        } else if left == 0 || byte == b'\n' {
            break;
        } else {
            left -= 1;
            at += 1;
        }
    }
    at as u64
}

const fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f
}

/// Appends the visible text; returns how many bytes stand before it.
fn clean_into(bytes: &[u8], text: &mut String) -> usize {
    let mut visible = Vec::with_capacity(bytes.len());
    let mut first = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == ESCAPE {
            at += escape_length(&bytes[at..]);
        } else {
            if !is_control(byte) {
                first.get_or_insert(at);
                visible.push(byte);
            }
            at += 1;
        }
    }
    text.push_str(&String::from_utf8_lossy(&visible));
    first.unwrap_or(0)
}

/// The length of the escape sequence that the bytes start with; never beyond them.
fn escape_length(bytes: &[u8]) -> usize {
    let length = match bytes.get(1) {
        // CSI: parameters, then one final byte.
        Some(b'[') => {
            let body = &bytes[2..];
            let parameters = body.iter().take_while(|it| (0x20..0x40).contains(*it)).count();
            // A byte that cannot end it is text again.
            let has_end = body.get(parameters).is_some_and(|it| (0x40..0x7f).contains(it));
            2 + parameters + usize::from(has_end)
        }
        // OSC: up to BEL or ESC \; a torn one takes the introducer only.
        Some(b']') => {
            let end = bytes[2..].iter().position(|it| *it == BELL || *it == ESCAPE);
            match end {
                Some(end) if bytes[2 + end] == BELL => 3 + end,
                Some(end) if bytes.get(3 + end) == Some(&b'\\') => 4 + end,
                Some(_) | None => 2,
            }
        }
        // The choice of a character set, and the like.
        Some(0x20..=0x2f) => 3,
        Some(0x30..=0x7e) => 2,
        Some(_) | None => 1,
    };
    length.min(bytes.len())
}

/// Counts lines that are looked at: work that does not depend on the machine.
#[cfg(test)]
pub(crate) mod work {
    use std::cell::Cell;

    thread_local! {
        static LINES: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        LINES.with(|it| it.set(it.get() + 1));
    }

    /// How many lines `of` looks at.
    pub(crate) fn lines(of: impl FnOnce()) -> u64 {
        let before = LINES.with(Cell::get);
        of();
        LINES.with(Cell::get) - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(raw: &[u8]) -> Vec<(String, u64)> {
        let log = Log::read(raw);
        (0..log.len()).map(|it| (log.line(it).to_owned(), log.raw_offset(it))).collect()
    }

    fn texts(raw: &[u8]) -> Vec<String> {
        lines(raw).into_iter().map(|it| it.0).collect()
    }

    #[test]
    fn colours_links_and_character_sets_leave_the_text_and_its_offset() {
        let raw =
            b"ok\n\x1b[1m\x1b[31merror\x1b(B\x1b[m: \x1b]8;;http://x\x07here\x1b]8;;\x1b\\!\n";
        assert_eq!(lines(raw), [("ok".to_owned(), 0), ("error: here!".to_owned(), 12)]);
    }

    #[test]
    fn a_progress_line_shows_its_last_state_and_every_error() {
        assert_eq!(texts(b"\r 1%\r 2%\r 3%\r\nend\r\n"), [" 3%", "end"]);
        assert_eq!(texts(b"a\rerror: lost\rb"), ["error: lost", "b"]);
    }

    #[test]
    fn nul_and_invalid_utf8_are_shown_and_not_feared() {
        assert_eq!(texts(b"a\0b\xff\xfec\n\n"), ["ab\u{fffd}\u{fffd}c", ""]);
    }

    #[test]
    fn torn_escape_sequences_do_not_swallow_what_follows() {
        assert_eq!(texts(b"\x1b]0;title\nnext\n\x1b[31"), ["0;title", "next", ""]);
        assert_eq!(texts(b"\x1b[31\xc3\xa9t\xc3\xa9"), ["\u{e9}t\u{e9}"]);
    }

    #[test]
    fn a_long_line_keeps_its_ends_and_its_errors() {
        let mut raw = vec![b'x'; 300_000];
        raw.extend_from_slice(b" ERROR in a.js 12:7 ");
        raw.extend(vec![b'y'; 300_000]);
        let log = Log::read(&raw);
        assert_eq!(log.len(), 3);
        assert!(log.line(1).contains("ERROR in a.js 12:7"));
        assert_eq!(log.raw_offset(1), 300_001 - PIECE_BEFORE_BYTES as u64);
        assert!(!log.is_piece(0) && log.is_piece(1) && log.is_piece(2));
    }

    #[test]
    fn a_log_of_nothing_but_line_ends_stays_bounded() {
        let log = Log::read(&vec![b'\n'; 2 * LINES_MAX]);
        assert!(log.len() <= LINES_MAX + 2, "{}", log.len());
    }

    #[test]
    fn of_a_huge_log_the_start_and_the_end_are_read() {
        let mut raw = b"first\n".to_vec();
        raw.extend(b"0123456789abcdef0123456789abcde\n".repeat(READ_BYTES_MAX / 32));
        raw.extend_from_slice(b"last\n");
        let log = Log::read(&raw);
        assert_eq!((log.line(0), log.line(log.len() - 1)), ("first", "last"));
        assert_eq!(log.raw_offset(log.len() - 1), raw.len() as u64 - 5);
        assert!(log.text.len() <= READ_BYTES_MAX);
    }
}
