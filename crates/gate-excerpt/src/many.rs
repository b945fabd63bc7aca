//! Bounds how many lines of a kind are read closely.
//!
//! A tool that finds fifty thousand errors is heard in its first lines, in each line that looks like no other, and in
//! its last ones; the rest is counted. So an error costs its reader little, and none can hide behind a crowd.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use crate::limits::{CLOSE_FIRST_MAX, CLOSE_LAST_MAX, CLOSE_SHAPES_MAX};
use crate::mask;

/// The problems of one reader; `S` is what it has to know of a line in order to read it later.
#[derive(Debug)]
pub(crate) struct Many<S> {
    read: usize,
    shapes: HashSet<u64>,
    last: VecDeque<(usize, S)>,
    /// Lines that were not read closely; those of `last` among them.
    taken: Vec<Range<usize>>,
    left_out: u64,
}

impl<S> Many<S> {
    pub(crate) fn new() -> Self {
        let (shapes, last, taken) = (HashSet::new(), VecDeque::new(), Vec::new());
        Self { read: 0, shapes, last, taken, left_out: 0 }
    }

    /// Whether it is one of a crowd: enough were read, and one like it was a problem. Where those that were read have
    /// too many shapes already, `is_problem` says whether the line is one.
    pub(crate) fn is_known(&self, line: &str, is_problem: impl FnOnce() -> bool) -> bool {
        if self.read < CLOSE_FIRST_MAX {
            return false;
        }
        let is_full = self.shapes.len() >= CLOSE_FIRST_MAX + CLOSE_SHAPES_MAX;
        self.shapes.contains(&mask::hash(line)) || (is_full && is_problem())
    }

    /// A line was read closely, and was a problem.
    pub(crate) fn add(&mut self, line: &str) {
        self.read += 1;
        self.shapes.insert(mask::hash(line));
    }

    /// A line was not; it is one of the last so far.
    pub(crate) fn skip(&mut self, index: usize, state: S) {
        if self.last.len() >= CLOSE_LAST_MAX {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back((index, state));
        match self.taken.last_mut() {
            Some(range) if range.end == index => range.end = index + 1,
            Some(_) | None => self.taken.push(index..index + 1),
        }
    }

    /// The last ones, to be read now.
    pub(crate) fn take_last(&mut self) -> VecDeque<(usize, S)> {
        std::mem::take(&mut self.last)
    }

    /// The lines that were not read when they were met, and how many of them nobody read.
    pub(crate) fn finish(self) -> (Vec<Range<usize>>, u64) {
        (self.taken, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_the_new_and_the_last_are_read_and_the_others_counted() {
        let mut many = Many::new();
        let mut read = Vec::new();
        for index in 0..10_000 {
            let line = match index {
                5_000 => "fatal error: no such file".to_owned(),
                it => format!("error: no field {it}"),
            };
            if many.is_known(&line, || true) {
                many.skip(index, ());
            } else {
                many.add(&line);
                read.push(index);
            }
        }
        assert_eq!((read.len(), read.last()), (CLOSE_FIRST_MAX + 1, Some(&5_000)));
        let last = many.take_last();
        assert_eq!((last.len(), last.back()), (CLOSE_LAST_MAX, Some(&(9_999, ()))));
        let (taken, left_out) = many.finish();
        assert_eq!(taken, [CLOSE_FIRST_MAX..5_000, 5_001..10_000]);
        assert_eq!(read.len() + last.len() + usize::try_from(left_out).unwrap(), 10_000);
    }

    #[test]
    fn a_crowd_of_shapes_is_bounded_too() {
        let mut many = Many::<()>::new();
        let letters =
            |it: usize| "abcdefghijklmnop".chars().cycle().skip(it % 16).take(it).collect();
        let lines: Vec<String> = (1..4_000).map(letters).collect();
        let known = lines.iter().filter(|it| {
            let is_known = many.is_known(it, || true);
            if !is_known {
                many.add(it);
            }
            is_known
        });
        assert_eq!(known.count(), 3_999 - CLOSE_FIRST_MAX - CLOSE_SHAPES_MAX);
    }
}
