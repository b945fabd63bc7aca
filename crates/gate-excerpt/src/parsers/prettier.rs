//! Prettier's `--check`: what it cannot parse, then what it would change.

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static WOULD: Pattern = Pattern::new(|| pattern(r"^\[warn\] (\S.*\.\w+|\S*/?\.\w+)$"));
static BROKEN: Pattern =
    Pattern::new(|| pattern(r"^\[error\] (\S.*?): (\w*Error: .*?)(?: \((\d+):(\d+)\))?$"));
static OTHER: Pattern = Pattern::new(|| pattern(r"^\[error\] ([A-Z].*)$"));

/// See the module.
#[derive(Debug)]
pub(crate) struct Prettier;

impl LogParser for Prettier {
    fn tool(&self) -> &'static str {
        "prettier"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "prettier"
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Checking formatting...", "[error] ", "Code style issues"]
    }

    fn is_banner(&self, line: &str) -> bool {
        line == "Checking formatting..."
            || BROKEN.is_match(line)
            || (line.starts_with("[warn] Code style issues") && line.ends_with('.'))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        if cx.input.is_green() {
            return Draft::default();
        }
        let (mut broken, mut unformatted) = (Vec::new(), Vec::new());
        for (index, line) in cx.lines() {
            if !line.starts_with('[') {
            } else if let Some(found) = BROKEN.captures(line) {
                let is_part =
                    |it: &(usize, &str)| it.1.starts_with("[error] ") && !BROKEN.is_match(it.1);
                let below = cx.log.slice(index + 1..cx.log.len()).take_while(is_part).take(12);
                let end = below.last().map_or(index, |it| it.0) + 1;
                let place = cx.paths.place(group(&found, 1), number(&found, 3), number(&found, 4));
                let problem = Problem::error(group(&found, 2), Cut::new(index..end, vec![index]));
                broken.push(problem.at(Some(place.location)));
            } else if let Some(found) = WOULD.captures(line) {
                let file = cx.paths.location(group(&found, 1), None);
                let message = format!("not formatted: {}", file.file);
                unformatted.push(Problem::error(message, Cut::line(index)).at(Some(file)));
            } else if let Some(found) = OTHER.captures(line) {
                broken.push(Problem::error(group(&found, 1), Cut::line(index)));
            }
        }
        broken.append(&mut unformatted);
        let taken = broken.iter().map(|it| it.cut.range.clone()).collect();
        Draft { problems: broken, taken, ..Draft::default() }
    }
}
