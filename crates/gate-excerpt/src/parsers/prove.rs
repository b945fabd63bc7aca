//! prove: Perl's tests, whose failures stand in diagnostics, with the summary of its harness.

use std::collections::{HashMap, HashSet};

use gate_core::Location;

use super::{Context, LogParser, lines};
use crate::command::Call;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static FILES: Pattern = Pattern::new(|| pattern(r"^Files=(\d+), Tests=(\d+), .*"));
/// `#   Failed test 'name'`, with `#   at t/a.t line 4.` below; short ones in one line.
static FAILED: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*#\s+Failed (\(TODO\) )?test (?:'(.*)')?(?: ?(?:at|in) (\S+)(?: at)? line (\d+)\.?| \((.+?) at line (\d+)\))?$",
    )
});
static AT: Pattern = Pattern::new(|| pattern(r"^\s*#\s+(?:at|in) (\S+)(?: at)? line (\d+)\.$"));
/// `t/a.t (Wstat: 512 (exited 2) Tests: 3 Failed: 2)`
static REPORT: Pattern = Pattern::new(|| {
    pattern(r"^(\S.*?) +\(Wstat: (\d+)(?: \(.*?\))? Tests: (\d+) Failed: (\d+)\)$")
});
static DETAIL: Pattern = Pattern::new(|| {
    pattern(
        r"^  (Parse errors: .*|Non-zero exit status: .*|Non-zero wait status: .*|Failed tests?: .*)$",
    )
});
static SKIPPED: Pattern = Pattern::new(|| pattern(r"^ok \d+.* # (?i:skip)\b"));
static LESS: Pattern = Pattern::new(|| pattern(r"^\s*\(less (\d+) skipped subtests?: \d+ okay\)$"));
static LIST: Pattern = Pattern::new(|| pattern(r"^((?:t/|xt/)?\S+\.t) \.+"));
/// `kaboom at t/b.t line 1.`, `no at lib/A.pm line 3, <STDIN> line 1.`
static DIED: Pattern = Pattern::new(|| {
    pattern(r"^(\S.*) at (\S+) line (\d+)(?:, (?:<.*> (?:line|chunk) \d+|near .*))?\.?$")
});

/// Below a file's line in the report.
const DETAIL_LINES_MAX: usize = 4;
/// Lines of one diagnostic.
const BODY_LINES_MAX: usize = 30;

/// See the module.
#[derive(Debug)]
pub(crate) struct Prove;

impl LogParser for Prove {
    fn tool(&self) -> &'static str {
        "prove"
    }

    fn is_called(&self, call: &Call) -> bool {
        matches!(call.program.as_str(), "prove" | "yath")
    }

    fn tells_figures(&self, call: &Call) -> bool {
        call.values(&["--formatter"]).next().is_none()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["Files=", "Test Summary Report"]
    }

    fn is_banner(&self, line: &str) -> bool {
        (line.starts_with("Files=") && FILES.is_match(line)) || line == "Test Summary Report"
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut skipped = 0;
        let mut report: Vec<(usize, String, u64)> = Vec::new();
        let mut failed = 0_u64;
        let mut details: Vec<(usize, &str)> = Vec::new();
        let mut runs: Vec<Counts> = Vec::new();
        let mut has_list = false;
        for (index, line) in cx.lines() {
            has_list |= LIST.is_match(line);
            if let Some(found) = FAILED.captures(line) {
                // A test that is to do may fail.
                draft.failures.extend(found.get(1).is_none().then(|| failure(cx, index, &found)));
            } else if SKIPPED.is_match(line) {
                skipped += 1;
            } else if let Some(found) = LESS.captures(line) {
                // Without `-v` only files that fail tell of what they skipped.
                skipped += lines::count(group(&found, 1));
            } else if let Some(found) = REPORT.captures(line) {
                let of_file = lines::count(group(&found, 4));
                failed = failed.saturating_add(of_file);
                report.push((index, group(&found, 1).to_owned(), of_file));
            } else if DETAIL.is_match(line) {
                details.push((index, line.trim()));
            } else if let Some(found) =
                FILES.captures(line).filter(|_| cx.log.line(index + 1).starts_with("Result: "))
            {
                let all = lines::count(group(&found, 2));
                let passed = Some(all.saturating_sub(failed).saturating_sub(skipped));
                runs.push(Counts { passed, failed, errors: 0, skipped });
                skipped = 0;
            }
        }
        // In verbose runs each line of a test stands in the log twice at most, once as a diagnostic.
        let mut seen = HashSet::new();
        draft.failures.retain(|it| seen.insert(lines::key(&it.name, it.location.as_ref())));
        add_broken_files(cx, &report, &details, &mut draft);
        lines::keep_own(cx, self, &mut runs);
        draft.unfinished = u32::from(has_list && runs.is_empty());
        runs.into_iter().for_each(|it| draft.add_counts(it));
        draft
    }
}

/// A file that died or broke its plan without a failed test of its own stands for one: beside the failing tests of
/// other files, a problem would be passed over.
fn add_broken_files(
    cx: &Context<'_>,
    report: &[(usize, String, u64)],
    details: &[(usize, &str)],
    draft: &mut Draft,
) {
    let deaths = deaths(cx);
    let mut details = details.iter().peekable();
    for (row, (index, file, failed)) in report.iter().enumerate() {
        let next = report.get(row + 1).map_or(usize::MAX, |it| it.0);
        while details.next_if(|it| it.0 <= *index).is_some() {}
        let own: Vec<&(usize, &str)> = details
            .clone()
            .take_while(|it| it.0 <= *index + DETAIL_LINES_MAX && it.0 < next)
            .collect();
        let is_broken = own.iter().any(|it| it.1.starts_with("Parse errors"));
        if !is_broken && *failed > 0 {
            continue;
        }
        let said = lines::joined(own.iter().map(|it| it.1));
        let end = own.last().map_or(*index, |it| it.0) + 1;
        let report = Cut::new(*index..end, (*index..end).collect());
        draft.taken.push(report.range.clone());
        let name = file.clone();
        if let Some(death) = deaths.get(file.as_str()) {
            let message = format!("{}; {said}", death.message);
            let location = Some(death.location.clone());
            let cut = Cut::line(death.index);
            draft.failures.push(Failure { name, message, location, cut, ..Failure::default() });
            continue;
        }
        let location = Some(cx.paths.location(file, None));
        if *failed == 0 {
            let (message, cut) = (said, report);
            draft.failures.push(Failure { name, message, location, cut, ..Failure::default() });
        } else {
            draft.problems.push(Problem::error(format!("{file}: {said}"), report).at(location));
        }
    }
}

/// What Perl said when it gave up on a file.
struct Death {
    index: usize,
    message: String,
    location: Location,
}

/// The first of each test file: its lines name the file. One that names only a module stands before the file's own
/// line in the list, where each file's output is shown after that of the file before.
fn deaths<'a>(cx: &Context<'a>) -> HashMap<&'a str, Death> {
    let is_parallel = |it: &Call| it.args.iter().any(|it| it.starts_with("-j") || it == "--jobs");
    let mut is_ordered = !cx.calls.iter().any(is_parallel);
    let mut deaths: HashMap<&str, Death> = HashMap::new();
    let mut open: Option<(usize, &str)> = None;
    let mut cause: Option<(usize, &str)> = None;
    for (index, line) in cx.lines() {
        // With `-v` the list's line comes first.
        is_ordered &= !line.starts_with("ok ") && !line.starts_with("not ok ");
        if let Some(found) = LIST.captures(line) {
            let file = found.get(1).map_or("", |it| it.as_str());
            let death = open.take().filter(|_| is_ordered).and_then(|it| death(cx, it));
            death.map(|it| deaths.entry(file).or_insert(it));
            continue;
        }
        let Some(found) = DIED.captures(line).filter(|_| !line.starts_with('#')) else {
            cause = None;
            continue;
        };
        let is_echo = line.starts_with("BEGIN failed--") || line.starts_with("Compilation failed ");
        cause = cause.filter(|_| is_echo).or(Some((index, line)));
        open = open.or(cause);
        let file = found.get(2).map_or("", |it| it.as_str());
        cause.and_then(|it| death(cx, it)).map(|it| deaths.entry(file).or_insert(it));
    }
    deaths
}

fn death(cx: &Context<'_>, (index, line): (usize, &str)) -> Option<Death> {
    let found = DIED.captures(line)?;
    let location = cx.paths.location(group(&found, 2), number(&found, 3));
    Some(Death { index, message: line.trim_end_matches('.').to_owned(), location })
}

fn failure(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Failure {
    let below = cx.log.slice(index + 1..index + 1 + BODY_LINES_MAX);
    // The next failure, and a blank line, end it.
    let is_end = |it: &str| {
        FAILED.is_match(it)
            || !it.trim_start().starts_with('#')
            || it.trim_start().starts_with("# Looks like")
    };
    let body: Vec<(usize, &str)> = below.take_while(|it| !is_end(it.1)).collect();
    let place = body.first().and_then(|it| AT.captures(it.1));
    let location = match (&place, found.get(3), found.get(5)) {
        (Some(at), _, _) => Some(cx.paths.location(group(at, 1), number(at, 2))),
        (None, Some(file), _) => Some(cx.paths.location(file.as_str(), number(found, 4))),
        (None, None, Some(file)) => Some(cx.paths.location(file.as_str(), number(found, 6))),
        (None, None, None) => None,
    };
    let name = match (found.get(2), &location) {
        (Some(name), _) => name.as_str().to_owned(),
        (None, Some(place)) => format!("{}:{}", place.file, place.line.unwrap_or(0)),
        (None, None) => "a test without a name".to_owned(),
    };
    let first = cx.log.line(index).trim_start_matches(['#', ' ']).to_owned();
    let rest = body
        .iter()
        .skip(usize::from(place.is_some()))
        .map(|it| it.1.trim_start_matches(['#', ' ']));
    let message = lines::joined([first.as_str()].into_iter().chain(rest));
    let end = body.last().map_or(index, |it| it.0) + 1;
    let cut = Cut::new(index..end, (index..end).collect());
    Failure { name, message, location, cut, ..Failure::default() }
}
