//! A session that died: which test was running.

use crate::draft::{Draft, Failure};
use crate::parsers::{Context, python};
use crate::paths::Place;
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static FATAL: Pattern =
    Pattern::new(|| pattern(r"(?:Fatal Python error: (.+)|Windows fatal exception: (.+))$"));
static STARTED: Pattern = Pattern::new(|| pattern(r"^(\S+\.py::\S.*)$"));
static WORKER_RESULT: Pattern =
    Pattern::new(|| pattern(r"^\[gw\d+\] \[ *\d+%\] [A-Z]+ (\S.*?)\s*$"));
static RESULT: Pattern = Pattern::new(|| {
    pattern(r" (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)(?: \(.*\))?(?: +\[ *\d+%\])?\s*$")
});
static PROGRESS: Pattern = Pattern::new(|| pattern(r"^(\S+\.py) [.FEsxXR]*$"));

/// Tests that may be running at once, each in its worker.
const RUNNING_MAX: usize = 256;
/// Frames of a dump that are looked at.
const DUMP_LINES_MAX: usize = 200;

#[derive(Debug, Default)]
struct Last<'t> {
    running: Vec<(usize, &'t str)>,
    file: Option<(usize, &'t str)>,
    fatal: Option<(usize, String)>,
}

pub(super) fn read(cx: &Context<'_>, draft: &mut Draft) {
    let Last { running, file, fatal } = look(cx);
    if let Some((index, why)) = fatal {
        draft.failures.extend(fatal_error(cx, index, &why, running.last().map(|it| it.1)));
    } else if !running.is_empty() {
        draft.failures.extend(running.into_iter().map(|(index, id)| Failure {
            name: id.to_owned(),
            message: "it started and has no result".to_owned(),
            location: Some(cx.paths.location(file_of(id), None)),
            cut: Cut::new(index..cx.log.len().min(index + 12), vec![index]),
            ..Failure::default()
        }));
    } else if let Some((index, file)) = file.filter(|_| !cx.input.is_green()) {
        draft.failures.push(Failure {
            name: file.to_owned(),
            message: "its tests had started when the run ended".to_owned(),
            location: Some(cx.paths.location(file, None)),
            cut: Cut::line(index),
            ..Failure::default()
        });
    }
}

fn look<'a>(cx: &Context<'a>) -> Last<'a> {
    let mut last = Last::default();
    for (index, line) in cx.lines() {
        if let Some(found) = WORKER_RESULT.captures(line) {
            let id = found.get(1).map_or("", |it| it.as_str());
            last.running.retain(|it| it.1 != id);
        } else if STARTED.is_match(line) {
            let id = id_of(line);
            // One process runs one test at a time; workers' results come on lines of their own.
            let is_result = RESULT.is_match(line);
            let is_worker =
                line.trim_end() == id && line.ends_with(' ') && last.has_workers(cx, index);
            if !is_worker {
                last.running.clear();
            }
            if !is_result && last.running.len() < RUNNING_MAX {
                last.running.push((index, id));
            }
        } else if last.running.len() == 1 && is_late_result(line) {
            // What the test printed stands between its name and its result.
            last.running.clear();
        } else if let Some(found) = PROGRESS.captures(line) {
            last.file = found.get(1).map(|it| (index, it.as_str()));
        }
        if last.fatal.is_none() && line.contains("atal ") {
            let why = FATAL.captures(line);
            last.fatal = why.map(|it| (index, format!("{}{}", group(&it, 1), group(&it, 2))));
        }
    }
    last
}

impl Last<'_> {
    /// xdist names the next test before the worker's last result is there.
    fn has_workers(&self, cx: &Context<'_>, index: usize) -> bool {
        let mut before = cx.log.slice(index.saturating_sub(3)..index);
        before.any(|it| it.1.starts_with("[gw") || it.1.starts_with("scheduling tests via"))
            || !self.running.is_empty()
    }
}

fn is_late_result(line: &str) -> bool {
    let words = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];
    words.iter().any(|it| line.starts_with(it)) && line.len() < 100 && !line.contains("::")
}

/// An id ends with its brackets, or at a blank.
fn id_of(line: &str) -> &str {
    let blank = line.find(' ').unwrap_or(line.len());
    match line.find('[') {
        Some(open) if open < blank => {
            let end = line[open..].find("] ").map(|it| open + it + 1);
            end.map_or(line.trim_end(), |it| &line[..it])
        }
        Some(_) | None => &line[..blank],
    }
}

fn file_of(id: &str) -> &str {
    id.split("::").next().unwrap_or(id)
}

/// The interpreter's dump starts with the deepest frame.
fn fatal_error(
    cx: &Context<'_>,
    index: usize,
    why: &str,
    running: Option<&str>,
) -> Option<Failure> {
    let mut deepest: Option<Place> = None;
    let mut keys = vec![index];
    let mut test = None;
    for (at, line) in cx.log.slice(index + 1..cx.log.len()).take(DUMP_LINES_MAX) {
        let Some((place, function)) = python::frame(cx, line).filter(|it| it.0.is_own) else {
            continue;
        };
        keys.push(at);
        if test.is_none() && function.starts_with("test") {
            test = Some(format!("{}::{function}", place.location.file));
        }
        deepest.get_or_insert(place);
    }
    let name = running.map(str::to_owned).or(test)?;
    let location = deepest.map(|it| it.location);
    let end = keys.last().copied().unwrap_or(index) + 1;
    let message = format!("Fatal Python error: {why}");
    Some(Failure { name, message, location, cut: Cut::new(index..end, keys), ..Failure::default() })
}
