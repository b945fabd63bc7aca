//! Pairs the starts and the summaries of suites, so that a summary printed by a test does not count.
//!
//! A suite that starts while another one runs was started by a test, or the other one died. Which of the two is known
//! when the other one's summary comes, or does not.

use crate::draft::Counts;

/// A suite with its own summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finished {
    /// The line where it started.
    pub(crate) start: usize,
    /// The line of its summary.
    pub(crate) end: usize,
    pub(crate) counts: Counts,
    expects: Option<u64>,
}

#[derive(Debug)]
struct Open {
    start: usize,
    expects: Option<u64>,
    inner: Vec<Finished>,
}

/// The suites of a log, fed in the order of its lines.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    open: Vec<Open>,
    finished: Vec<Finished>,
    lone: Vec<Finished>,
}

/// What the pairing found.
#[derive(Debug, Default)]
pub(crate) struct Suites {
    pub(crate) finished: Vec<Finished>,
    /// Summaries without a start, outside of every suite.
    pub(crate) lone: Vec<Finished>,
    /// Lines where suites started that never printed their summary.
    pub(crate) unfinished: Vec<usize>,
}

/// A test that starts suites in suites in suites is not followed further down.
const DEPTH_MAX: usize = 1000;

impl Nest {
    /// A suite says that it starts, and how many tests it has.
    pub(crate) fn start(&mut self, line: usize, expects: Option<u64>) {
        if self.open.len() < DEPTH_MAX {
            self.open.push(Open { start: line, expects, inner: Vec::new() });
        }
    }

    /// A summary.
    pub(crate) fn end(&mut self, line: usize, counts: Counts) {
        let total = counts.total();
        let fits = |expects: Option<u64>| expects.is_none_or(|it| it == total);
        let Some(depth) = self.open.iter().rposition(|it| fits(it.expects)) else {
            if !self.open.is_empty() {
                return;
            }
            // The runner's own summary is the last one; what fitted before was printed by a test.
            match self.finished.last_mut() {
                Some(last) if fits(last.expects) => *last = Finished { end: line, counts, ..*last },
                Some(_) | None => {
                    self.lone.push(Finished { start: line, end: line, counts, expects: None });
                }
            }
            return;
        };
        // What started later and is still open was started by a test of this suite.
        self.open.truncate(depth + 1);
        let Some(Open { start, expects, .. }) = self.open.pop() else { return };
        let finished = Finished { start, end: line, counts, expects };
        match self.open.last_mut() {
            Some(outer) => outer.inner.push(finished),
            None => self.finished.push(finished),
        }
    }

    /// At the end of the log.
    pub(crate) fn close(self) -> Suites {
        let Self { open, mut finished, lone } = self;
        let unfinished = open.iter().map(|it| it.start).collect();
        finished.extend(open.into_iter().flat_map(|it| it.inner));
        Suites { finished, lone, unfinished }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(passed: u64) -> Counts {
        Counts { passed: Some(passed), ..Counts::NONE }
    }

    fn totals(nest: Nest) -> (Vec<u64>, usize) {
        let suites = nest.close();
        (suites.finished.iter().map(|it| it.counts.total()).collect(), suites.unfinished.len())
    }

    #[test]
    fn suites_after_each_other_add_up() {
        let mut nest = Nest::default();
        nest.start(0, Some(2));
        nest.end(1, passed(2));
        nest.start(2, Some(0));
        nest.end(3, passed(0));
        assert_eq!(totals(nest), (vec![2, 0], 0));
    }

    #[test]
    fn a_suite_inside_of_a_test_does_not_count() {
        let mut nest = Nest::default();
        nest.start(0, Some(1));
        nest.start(1, Some(99));
        nest.end(2, passed(99));
        nest.end(3, passed(1));
        assert_eq!(totals(nest), (vec![1], 0));
    }

    #[test]
    fn a_suite_that_died_is_unfinished_and_the_next_one_counts() {
        let mut nest = Nest::default();
        nest.start(0, Some(3));
        nest.start(1, Some(0));
        nest.end(2, passed(0));
        assert_eq!(totals(nest), (vec![0], 1));
    }

    #[test]
    fn the_last_of_two_summaries_counts() {
        let mut nest = Nest::default();
        nest.start(0, Some(2));
        nest.end(1, passed(2));
        let own = Counts { passed: Some(0), failed: 2, ..Counts::NONE };
        nest.end(2, own);
        assert_eq!(nest.close().finished[0].counts, own);
    }

    #[test]
    fn a_summary_that_does_not_fit_is_not_the_suites() {
        let mut nest = Nest::default();
        nest.start(0, Some(2));
        nest.end(1, passed(5));
        assert_eq!(totals(nest), (vec![], 1));
    }
}
