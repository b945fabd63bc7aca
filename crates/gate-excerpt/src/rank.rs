//! Puts what all parsers found in the order in which it should be fixed, and says each thing once.
//!
//! A crash comes before what could not be parsed or loaded, that before other errors, all of them before what a
//! wrapper says of another tool, and warnings last; within a class what the parser put first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use gate_core::{Location, Severity, TestPhase};

use crate::classify::Class;
use crate::draft::{Failure, Problem};
use crate::limits::ALSO_AT_MAX;

/// What makes two problems one: the code, the message but for numbers that stand alone, what it was called.
type Key = (u64, u64, bool, Option<Class>);

/// Ranked, each once.
pub(crate) fn problems(problems: Vec<Problem>) -> Vec<Problem> {
    let mut once: Vec<Problem> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    for problem in problems {
        match known.entry(key(&problem)) {
            Entry::Occupied(at) => merge(&mut once[*at.get()], problem),
            Entry::Vacant(at) => {
                at.insert(once.len());
                once.push(problem);
            }
        }
    }
    // What it looks like is costly to tell, so it is asked once for each.
    once.sort_by_cached_key(|it| (it.severity, it.class()));
    once
}

fn key(problem: &Problem) -> Key {
    let code = problem.code.as_deref().map_or(0, exact);
    let message = said(problem.message.trim());
    (code, message, problem.severity == Severity::Error, problem.class)
}

/// `row 17` and `row 18` are said of one thing, `nope1` and `nope2` of two.
fn said(message: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let is_word = |it: char| it.is_alphanumeric() || "_./-".contains(it);
    for word in message.split_inclusive(|it| !is_word(it)) {
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        match word.char_indices().next_back() {
            Some((end, _)) if is_number(word) || is_number(&word[..end]) => {
                hasher.write_u8(b'#');
                hasher.write(
                    word[end..].trim_start_matches(|it: char| it.is_ascii_digit()).as_bytes(),
                );
            }
            Some(_) | None => hasher.write(word.as_bytes()),
        }
    }
    hasher.finish()
}

fn exact(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn merge(first: &mut Problem, again: Problem) {
    // The same place said twice is one time.
    let is_known = |it: &Location| {
        first.location.as_ref() == Some(it) || first.also_at.iter().any(|known| known == it)
    };
    let Some(location) = again.location else { return };
    if is_known(&location) {
        return;
    }
    if first.location.is_none() {
        first.location = Some(location);
        return;
    }
    first.times = first.times.saturating_add(again.times);
    if first.also_at.len() < ALSO_AT_MAX {
        first.also_at.push(location);
    }
}

/// A file that cannot be loaded hides its tests, so it comes first; the others stay in the runner's order.
pub(crate) fn failures(mut failures: Vec<Failure>) -> Vec<Failure> {
    failures.sort_by_key(|it| it.phase != TestPhase::Collection);
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Cut;

    fn at(message: &str, file: &str, line: u32) -> Problem {
        let location = Location { file: file.to_owned(), line: Some(line), column: None };
        Problem::error(message, Cut::default()).at(Some(location))
    }

    #[test]
    fn the_cause_comes_before_what_follows_from_it() {
        let found = vec![
            Problem::warning("deprecated", Cut::default()),
            at("mismatched types", "a.rs", 1),
            at("unused variable: `x`", "a.rs", 2),
            at("SyntaxError: invalid syntax", "b.py", 3),
            at("Segmentation fault (core dumped)", "c", 4),
        ];
        let ranked = problems(found);
        let messages: Vec<&str> = ranked.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "Segmentation fault (core dumped)",
                "SyntaxError: invalid syntax",
                "mismatched types",
                "unused variable: `x`",
                "deprecated"
            ]
        );
    }

    #[test]
    fn the_same_error_in_many_places_takes_one_slot_and_names_them() {
        let many = (1..=25).map(|it| at(&format!("no page {it}"), &format!("page{it}.ts"), 3));
        let ranked = problems(
            many.chain([at("other", "x.ts", 1), at("no page 1", "page1.ts", 3)]).collect(),
        );
        assert_eq!(ranked.len(), 2);
        assert_eq!((ranked[0].times, ranked[0].also_at.len()), (25, ALSO_AT_MAX));
        assert_eq!(ranked[1].message, "other");
    }

    #[test]
    fn errors_about_different_names_are_different_errors() {
        let names = (1..=5).map(|it| at(&format!("cannot find `nope{it}`"), "a.rs", it));
        assert_eq!(problems(names.collect()).len(), 5);
        let files = (1..=5).map(|it| at(&format!("no file src/f{it}.c"), "a.rs", it));
        assert_eq!(problems(files.collect()).len(), 5);
        let rows = (1..=5).map(|it| at(&format!("row {it}: bad"), "a.csv", it));
        assert_eq!(problems(rows.collect()).len(), 1);
    }
}
