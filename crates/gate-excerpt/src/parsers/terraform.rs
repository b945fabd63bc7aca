//! Terraform and `OpenTofu`: errors in boxes, with the place below the title.

use gate_core::Severity;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static HEAD: Pattern = Pattern::new(|| pattern(r"^(?:[│|] )?(Error|Warning): (.+)$"));
static PLACE: Pattern = Pattern::new(|| pattern(r"^(?:[│|] )? *on (.+?) line (\d+)(?:,.*|:.*)?$"));

/// Lines of one error.
const BODY_LINES_MAX: usize = 40;

/// See the module.
#[derive(Debug)]
pub(crate) struct Terraform;

impl LogParser for Terraform {
    fn tool(&self) -> &'static str {
        "terraform"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "terraform" | "tofu" | "terragrunt")
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &["│ Error: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line.starts_with("│ Error: ")
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        for (index, line) in cx.lines() {
            let Some(found) = HEAD.captures(line) else { continue };
            let is_boxed = line.starts_with('│');
            if !is_boxed && !cx.is_named {
                continue;
            }
            let below = cx.log.slice(index + 1..index + 1 + BODY_LINES_MAX);
            let is_part = |it: &str| match is_boxed {
                true => it.starts_with('│'),
                false => !HEAD.is_match(it) && !it.starts_with("Terraform "),
            };
            let body: Vec<(usize, &str)> = below.take_while(|it| is_part(it.1)).collect();
            let place = body.iter().find_map(|it| Some((it.0, PLACE.captures(it.1)?)));
            let location =
                place.as_ref().map(|it| cx.paths.location(group(&it.1, 1), number(&it.1, 2)));
            // Below the source that it shows stands what is wrong with it.
            let from = place.as_ref().map_or(index, |it| it.0);
            let bare = |it: &str| it.trim_start_matches(['│', '|']).to_owned();
            let mut rest = body.iter().filter(|it| it.0 > from).map(|it| bare(it.1));
            let mut said = Vec::new();
            let is_source =
                |it: &str| it.trim().split_once(':').is_some_and(|it| it.0.parse::<u32>().is_ok());
            for text in rest.by_ref() {
                if text.trim().is_empty() && !said.is_empty() {
                    break;
                }
                if !text.trim().is_empty() && !is_source(&text) {
                    said.push(text);
                }
            }
            let message = lines::joined(
                [group(&found, 2)].into_iter().chain(said.iter().map(String::as_str)),
            );
            let end = body.last().map_or(index, |it| it.0) + 1;
            let mut keys: Vec<usize> = vec![index];
            keys.extend(place.as_ref().map(|it| it.0));
            let is_error = group(&found, 1) == "Error";
            let severity = if is_error { Severity::Error } else { Severity::Warning };
            let problem = Problem::error(message, Cut::new(index..end, keys)).at(location);
            draft.problems.push(Problem { severity, ..problem });
        }
        draft
    }
}
