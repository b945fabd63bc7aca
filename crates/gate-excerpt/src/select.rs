//! Chooses the lines of an excerpt within its byte limit, and keeps the offset of the first.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use gate_core::limits::EXCERPT_BYTES_MAX;
use gate_core::{Excerpt, LogStream};

use crate::clean::Log;
use crate::limits::{EXCERPT_BYTES_SOFT, EXCERPT_LINE_BYTES_MAX, TAIL_LINES};
use crate::redact::redact;

/// Room for the marks that say how many lines are missing.
const MARKS_BYTES: usize = 160;

/// Lines to show: a range, and in it those that matter most.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    pub(crate) range: Range<usize>,
    /// In the order of the log. Never dropped for context; expected and actual values are among them.
    pub(crate) keys: Vec<usize>,
    /// In place of lines: what a machine-readable line says, and where it starts in the raw log.
    pub(crate) text: Option<(u64, String)>,
}

impl Cut {
    pub(crate) fn new(range: Range<usize>, keys: Vec<usize>) -> Self {
        Self { range, keys, text: None }
    }

    /// What a machine-readable line at this place of the raw log says.
    pub(crate) fn text(offset: u64, text: impl Into<String>) -> Self {
        Self { text: Some((offset, text.into())), ..Self::default() }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.range.is_empty() && self.text.is_none()
    }

    /// One line with what stands below it.
    pub(crate) fn line(index: usize) -> Self {
        Self::new(index..index + 1, vec![index])
    }
}

/// The excerpt of a cut; none where it has no text.
pub(crate) fn excerpt(log: &Log, stream: LogStream, cut: &Cut) -> Option<Excerpt> {
    if let Some((offset, text)) = &cut.text {
        return given(stream, *offset, text);
    }
    let range = trimmed(log, cut.range.clone())?;
    let shown = choose(log, &range, &cut.keys);
    let first = *shown.first()?;
    let mut text = String::new();
    let mut before = first;
    for &index in &shown {
        let gap = index - before;
        if gap > 1 {
            // Writing to a String cannot fail.
            let _infallible = writeln!(text, "[… {} lines left out]", gap - 1);
        }
        text.push_str(&shorten(log.line(index).trim_end(), EXCERPT_LINE_BYTES_MAX));
        text.push('\n');
        before = index;
    }
    let text = shorten(&redact(text.trim_end()), EXCERPT_BYTES_MAX);
    Some(Excerpt { stream, offset: log.raw_offset(first), text })
}

/// Of what a machine-readable line says: its start, and where it is too long its end.
fn given(stream: LogStream, offset: u64, text: &str) -> Option<Excerpt> {
    let mut shown = String::new();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if shown.len() + line.len().min(EXCERPT_LINE_BYTES_MAX) > EXCERPT_BYTES_SOFT && index > 0 {
            // Writing to a String cannot fail.
            let _infallible = writeln!(shown, "[… {} lines left out]", lines.len() - index);
            break;
        }
        shown.push_str(&shorten(line.trim_end(), EXCERPT_LINE_BYTES_MAX));
        shown.push('\n');
    }
    let text = shorten(&redact(shown.trim_matches('\n')), EXCERPT_BYTES_MAX);
    (!text.is_empty()).then_some(Excerpt { stream, offset, text })
}

/// The last lines that say something.
pub(crate) fn tail(log: &Log, stream: LogStream) -> Option<Excerpt> {
    let telling = |it: &(usize, &str)| !it.1.trim().is_empty();
    let mut lines = log.slice(0..log.len()).rev().filter(telling).take(TAIL_LINES);
    let last = lines.next()?.0;
    let first = lines.last().map_or(last, |it| it.0);
    let keys = (first..=last).rev().take(TAIL_LINES / 3).collect();
    excerpt(log, stream, &Cut::new(first..last + 1, keys))
}

/// Cut between characters, with a mark.
pub(crate) fn shorten(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

fn trimmed(log: &Log, range: Range<usize>) -> Option<Range<usize>> {
    let telling = |it: &(usize, &str)| !it.1.trim().is_empty();
    let first = log.slice(range.clone()).find(telling)?.0;
    let last = log.slice(range).rev().find(telling)?.0;
    Some(first..last + 1)
}

fn cost(log: &Log, index: usize) -> usize {
    log.line(index).len().min(EXCERPT_LINE_BYTES_MAX) + 1
}

fn choose(log: &Log, range: &Range<usize>, keys: &[usize]) -> BTreeSet<usize> {
    let room = EXCERPT_BYTES_MAX - MARKS_BYTES;
    // A range that is much larger than any excerpt is not even summed up.
    if range.len() <= EXCERPT_BYTES_SOFT {
        let all: usize = range.clone().map(|it| cost(log, it)).sum();
        if all <= EXCERPT_BYTES_SOFT {
            return range.clone().collect();
        }
    }
    let mut keys: Vec<usize> = keys.iter().copied().filter(|it| range.contains(it)).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        keys.push(range.start);
    }
    let mut shown = BTreeSet::new();
    let mut used = 0;
    // Where the keys themselves are too many, their start and their end stay.
    let is_too_much = keys.iter().map(|it| cost(log, *it)).sum::<usize>() > room;
    let head_room = if is_too_much { room * 2 / 3 } else { room };
    let mut take = |used: &mut usize, index: usize, room: usize| {
        let cost = cost(log, index);
        let fits = *used + cost <= room && shown.insert(index);
        *used += if fits { cost } else { 0 };
        fits
    };
    let taken = keys.iter().take_while(|it| take(&mut used, **it, head_room)).count();
    for &index in keys[taken..].iter().rev() {
        if !take(&mut used, index, room) {
            break;
        }
    }
    for index in around(range, &keys) {
        if used >= EXCERPT_BYTES_SOFT || !take(&mut used, index, EXCERPT_BYTES_SOFT) {
            break;
        }
    }
    shown
}

/// The other lines of the range, those nearest to a key first.
fn around(range: &Range<usize>, keys: &[usize]) -> impl Iterator<Item = usize> {
    let is_key: BTreeSet<usize> = keys.iter().copied().collect();
    let (range, keys) = (range.clone(), keys.to_vec());
    // No excerpt has more lines than bytes.
    (1..EXCERPT_BYTES_SOFT).flat_map(move |distance| {
        let near: BTreeSet<usize> = keys
            .iter()
            .flat_map(|key| [key.checked_sub(distance), key.checked_add(distance)])
            .flatten()
            .filter(|it| range.contains(it) && !is_key.contains(it))
            .collect();
        near.into_iter()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(raw: &str, cut: &Cut) -> Excerpt {
        excerpt(&Log::read(raw.as_bytes()), LogStream::Merged, cut).unwrap()
    }

    #[test]
    fn a_small_range_is_shown_whole_with_its_offset() {
        let shown = show("noise\n\n  left: 1\n right: 2\n\n", &Cut::new(1..5, vec![2]));
        assert_eq!((shown.offset, shown.text.as_str()), (7, "  left: 1\n right: 2"));
    }

    #[test]
    fn key_lines_stay_and_gaps_are_marked() {
        let raw: String = (0..200).map(|it| format!("line {it} with some words in it\n")).collect();
        let shown = show(&raw, &Cut::new(0..200, vec![3, 180]));
        assert!(shown.text.len() <= EXCERPT_BYTES_SOFT + MARKS_BYTES, "{}", shown.text.len());
        assert!(shown.text.contains("line 3 ") && shown.text.contains("line 180 "));
        assert!(shown.text.contains("lines left out]"), "{}", shown.text);
    }

    #[test]
    fn no_excerpt_is_larger_than_its_bound() {
        let raw = format!("{}\n", "é".repeat(3000)).repeat(50);
        let shown = show(&raw, &Cut::new(0..50, (0..50).collect()));
        assert!(shown.text.len() <= EXCERPT_BYTES_MAX, "{}", shown.text.len());
        assert!(shown.text.starts_with('é') && shown.text.ends_with('…'));
    }

    #[test]
    fn the_tail_skips_blank_lines_and_a_silent_log_has_none() {
        let log = Log::read(b"a\n\nb\n\n\n");
        assert_eq!(tail(&log, LogStream::Merged).unwrap().text, "a\n\nb");
        assert_eq!(tail(&Log::read(b"\n \n"), LogStream::Merged), None);
    }
}
