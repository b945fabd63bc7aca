//! pytest, in all its styles of tracebacks, quiet or verbose, alone or with xdist.

mod block;
mod crash;
mod errors;
mod names;
mod session;
mod summary;

use std::ops::Range;

use self::session::{Section, SectionKind};
use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::Draft;

/// What a failure's block says, and where, in any of its styles.
pub(super) fn cause(
    cx: &Context<'_>,
    range: Range<usize>,
) -> Option<(String, Option<gate_core::Location>)> {
    block::read(cx, range).0.map(|it| (it.message, it.location))
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pytest;

impl LogParser for Pytest {
    fn tool(&self) -> &'static str {
        "pytest"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "pytest" | "py.test")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        let quiet = call.args.iter().map(|it| match it.strip_prefix('-') {
            Some("-quiet") => 1,
            Some(flags) if !flags.starts_with('-') && flags.starts_with('q') => {
                flags.bytes().filter(|it| *it == b'q').count()
            }
            Some(_) | None => 0,
        });
        let has_terminal =
            call.values(&["-p"]).all(|it| it != "no:terminal" && it != "no:terminalreporter");
        quiet.sum::<usize>() < 2 && has_terminal
    }

    fn marks(&self) -> &'static [&'static str] {
        &["test session starts", " in ", "short test summary info", "usage: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        session::is_start(line)
            || summary::is_final(line)
            || session::is_short_summary(line)
            || line.starts_with("ERROR: usage: pytest ")
            || (line.starts_with("ERROR: usage: ") && line.contains("[file_or_dir]"))
    }

    fn captured(&self, cx: &Context<'_>) -> Vec<Range<usize>> {
        let is_traceback =
            |it: &Section| matches!(it.kind, SectionKind::Errors | SectionKind::Failures);
        session::sections(cx).into_iter().filter(is_traceback).map(|it| it.range).collect()
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let is_one_run =
            cx.is_named && cx.calls.iter().filter(|it| self.is_called(it)).count() == 1;
        let sections = session::sections(cx);
        session::count(cx, &sections, is_one_run, &mut draft);
        draft.failures = names::failures(cx, &sections);
        errors::read(cx, &sections, &mut draft);
        if draft.counts.is_none() || draft.unfinished > 0 {
            crash::read(cx, &mut draft);
        }
        session::say_nothing_ran(cx, &mut draft);
        draft.taken.extend(sections.into_iter().map(|it| it.range));
        draft
    }
}
