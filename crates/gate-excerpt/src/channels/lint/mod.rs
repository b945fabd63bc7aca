//! The JSON of linters and type checkers: lists of problems with their places.

mod biome;
mod eslint;
mod flat;
mod pyright;
mod stylelint;

use gate_core::Severity;

pub(super) use biome::BIOME;
pub(super) use eslint::ESLINT;
pub(super) use flat::{HADOLINT, MYPY, PYLINT, RUFF, SHELLCHECK};
pub(super) use pyright::PYRIGHT;
pub(super) use stylelint::STYLELINT;

use super::Document;
use crate::draft::Problem;
use crate::limits::MESSAGE_BYTES_MAX;
use crate::parsers::Context;
use crate::select::shorten;

/// One problem, as a linter tells it.
#[derive(Debug, Default)]
struct Told {
    file: String,
    line: Option<u32>,
    column: Option<u32>,
    code: Option<String>,
    message: String,
}

impl Told {
    fn problem(
        self,
        severity: Severity,
        document: &Document<'_>,
        at: usize,
        cx: &Context<'_>,
    ) -> Problem {
        let Self { file, line, column, code, message } = self;
        let place = (!file.is_empty()).then(|| cx.paths.place(&file, line, column).location);
        let code = code.filter(|it| !it.is_empty());
        let shown = place.as_ref().map(|it| {
            let line = it.line.map(|it| format!(":{it}")).unwrap_or_default();
            let column = it.column.map(|it| format!(":{it}")).unwrap_or_default();
            format!("{}{line}{column}", it.file)
        });
        let short = shorten(&message, MESSAGE_BYTES_MAX);
        let shown: Vec<String> = shown.into_iter().chain(code.clone()).chain([short]).collect();
        let cut = document.cut(at, shown.join(" "));
        Problem { severity, code, ..Problem::error(message, cut).at(place) }
    }
}

/// A linter that fails with nothing but warnings fails because of them.
fn settle(problems: &mut [Problem], cx: &Context<'_>) {
    let has_error = problems.iter().any(|it| it.severity == Severity::Error);
    if !has_error && !cx.input.is_green() {
        problems.iter_mut().for_each(|it| it.severity = Severity::Error);
    }
}
