//! Finds secrets: one pass over the bytes for the literals with which they begin, then a look at each place.
//!
//! Linear: a run of bytes that was looked at and is no secret is not looked at again by the same rule.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::class::Class;
use super::key_block::{self, BEGIN, END};
use super::named;
use super::places::PLACES;
use super::tokens::TOKENS;

/// What a literal stands for.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Token(usize),
    Name { is_sure: bool },
    Place(usize),
    Begin,
    End,
}

struct Rules {
    marks: AhoCorasick,
    owners: Vec<Rule>,
}

/// A secret, and what it goes on with where the text ends in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) range: Range<usize>,
    pub(super) class: Class,
}

/// All secrets of a text, in order, apart from each other.
pub(super) fn all(text: &[u8]) -> Vec<Range<usize>> {
    beginning_in(text, 0..text.len(), 0).into_iter().map(|it| it.range).collect()
}

/// The secrets whose literals begin in a part of a text, and not before `from`.
pub(super) fn beginning_in(text: &[u8], part: Range<usize>, from: usize) -> Vec<Secret> {
    let rules = rules();
    let mut secrets: Vec<Secret> = Vec::new();
    let mut masked_until = from;
    // For each token, how far its last run went that was none.
    let mut none_until = [0; TOKENS.len()];
    let searched = &text[..text.len().min(part.end.saturating_add(MARK_BYTES_MAX))];
    let from_part = aho_corasick::Input::new(searched).range(part.start..searched.len());
    for hit in rules.marks.find_overlapping_iter(from_part) {
        if hit.start() >= part.end || hit.start() < masked_until {
            continue;
        }
        let mark = hit.start()..hit.end();
        let found = match rules.owners[hit.pattern().as_usize()] {
            Rule::Token(index) if none_until[index] > mark.start => None,
            Rule::Token(index) => match TOKENS[index].find(text, mark.start) {
                Ok(found) => Some(found),
                Err(end) => {
                    none_until[index] = end;
                    None
                }
            },
            Rule::Name { is_sure } => named::find(text, mark, is_sure),
            Rule::Place(index) => PLACES[index].1(text, mark),
            Rule::Begin => key_block::after_begin(text, mark.start).map(|it| (it, Class::Hex)),
            Rule::End => key_block::before_end(text, mark.start).map(|it| (it, Class::Hex)),
        };
        let Some((range, class)) = found.filter(|it| it.0.end > masked_until) else { continue };
        let range = range.start.max(masked_until.min(range.end))..range.end;
        masked_until = range.end;
        secrets.push(Secret { range, class });
    }
    secrets
}

/// The longest literal.
pub(super) const MARK_BYTES_MAX: usize = 32;

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| {
        let mut marks: Vec<&str> = Vec::new();
        let mut owners = Vec::new();
        let mut add = |mark: &'static str, rule: Rule| {
            marks.push(mark);
            owners.push(rule);
        };
        TOKENS.iter().enumerate().for_each(|(index, it)| add(it.prefix, Rule::Token(index)));
        named::SURE.iter().for_each(|it| add(it, Rule::Name { is_sure: true }));
        named::MAYBE.iter().for_each(|it| add(it, Rule::Name { is_sure: false }));
        PLACES.iter().enumerate().for_each(|(index, it)| add(it.0, Rule::Place(index)));
        add(BEGIN, Rule::Begin);
        add(END, Rule::End);
        debug_assert!(marks.iter().all(|it| it.len() <= MARK_BYTES_MAX));
        let found = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(true)
            .build(&marks)
            .expect("marks are literals, and every test builds them");
        Rules { marks: found, owners }
    })
}
