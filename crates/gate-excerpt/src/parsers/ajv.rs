//! `ajv`: data files that do not fit their schema, with the JSON pointer of each fault.

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static FILE: Pattern = Pattern::new(|| pattern(r"^(\S.*\.\w+) (valid|invalid)$"));
static SCHEMA: Pattern =
    Pattern::new(|| pattern(r"^(?:schema|migrated schema) (\S.*) is invalid$"));
/// In the forms `js`, `json`, and `line`: keys with or without quotes.
static FIELD: Pattern = Pattern::new(|| {
    pattern(concat!(
        r#""?\b(instancePath|dataPath|message|additionalProperty|missingProperty)"?: "#,
        r#"(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)"#
    ))
});
/// In the form `text`: `data/id must be integer, data/tags/1 must be string`.
static TEXT: Pattern = Pattern::new(|| pattern(r"^(/\S*|\.\S*|\[\S*)? ((?:must|should) .*)$"));

/// Faults of one run.
const FAULTS_MAX: usize = 500;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ajv;

impl LogParser for Ajv {
    fn tool(&self) -> &'static str {
        "ajv"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "ajv"
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["instancePath: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        // Other tools' lines end so too: it is known by its call, or by its first field.
        line.trim_start().starts_with("instancePath: '")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut file: Option<(usize, &str)> = None;
        let mut fault = Fault::default();
        for (index, line) in cx.lines() {
            if draft.problems.len() >= FAULTS_MAX {
                break;
            }
            let invalid = FILE.captures(line).map(|it| (group(&it, 2) == "invalid", it.get(1)));
            if let Some((is_invalid, Some(name))) = invalid {
                file = is_invalid.then(|| (index, name.as_str()));
            } else if let Some(found) = SCHEMA.captures(line) {
                let name = found.get(1).map_or("", |it| it.as_str());
                file = Some((index, name));
                let below = cx.log.line(index + 1).trim_start_matches("error: ");
                let problem = Problem::error(below, Cut::new(index..index + 2, vec![index]));
                draft.problems.push(problem.at(Some(cx.paths.location(name, None))));
            }
            let Some((of_file, name)) = file else { continue };
            for found in FIELD.captures_iter(line) {
                let value =
                    (2..5).map(|it| group(&found, it)).find(|it| !it.is_empty()).unwrap_or("");
                if fault.take(index, group(&found, 1), value) {
                    let done = std::mem::take(&mut fault);
                    draft.problems.push(done.problem(cx, of_file, name, index));
                }
            }
            let is_text = line.starts_with("data");
            for part in line.split(", data").filter(|_| is_text) {
                if let Some(found) = TEXT.captures(part.strip_prefix("data").unwrap_or(part)) {
                    let mut fault = Fault { start: Some(index), ..Fault::default() };
                    group(&found, 1).clone_into(&mut fault.pointer);
                    group(&found, 2).clone_into(&mut fault.message);
                    draft.problems.push(fault.problem(cx, of_file, name, index));
                }
            }
        }
        draft
    }
}

/// One object of the list.
#[derive(Debug, Default)]
struct Fault {
    start: Option<usize>,
    pointer: String,
    detail: String,
    message: String,
}

impl Fault {
    /// Gives whether it is complete: the message comes last.
    fn take(&mut self, index: usize, field: &str, value: &str) -> bool {
        match field {
            "message" => {
                value.clone_into(&mut self.message);
                self.start.is_some()
            }
            "instancePath" | "dataPath" => {
                *self = Self { start: Some(index), pointer: value.to_owned(), ..Self::default() };
                false
            }
            _ => {
                value.clone_into(&mut self.detail);
                false
            }
        }
    }

    fn problem(self, cx: &Context<'_>, of_file: usize, file: &str, end: usize) -> Problem {
        let Self { start, pointer, detail, message } = self;
        let pointer = if pointer.is_empty() { "/".to_owned() } else { pointer };
        let mut message = format!("{pointer} {message}");
        if !detail.is_empty() && !message.contains(&detail) {
            message = format!("{message} ({detail})");
        }
        let start = start.unwrap_or(end);
        // The file's own line is shown where it is near.
        let first = if start - of_file <= 2 { of_file } else { start };
        let cut = Cut::new(first..end + 1, vec![first, start, end]);
        Problem::error(message, cut).at(Some(cx.paths.location(file, None)))
    }
}
