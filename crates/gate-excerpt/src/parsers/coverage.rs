//! Coverage below its threshold: of istanbul (jest, c8, nyc, vitest), coverage.py, simplecov, tarpaulin, diff-cover,
//! `JaCoCo`. Points at the file with the most that no test reached.

use std::ops::Range;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static THRESHOLD: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?:(Jest|ERROR|\[ERROR\]|FAIL|Error|error):? ?)?(?:",
        r#"("[^"]+" (?:coverage threshold|uncovered count) for .* not met.*"#,
        r"|Coverage data for \S+ was not found.*",
        r#"|Coverage for \w+ \([\d.]+%\) does not meet (?:global |per-file |"[^"]+" )?threshold \([\d.]+%\)(?: for (\S.*))?"#,
        r#"|Uncovered \w+ \(\d+\) exceeds? .*threshold.*"#,
        r"|Coverage failure: total of .*|Required test coverage of .* not reached.*",
        r#"|"?Coverage is below the failure threshold .*|Failure\. Coverage is below .*"#,
        r"|(?:Line|Branch|Method) coverage \(.*?\) is below the expected minimum coverage .*",
        r"|Rule violated for \w+ .*: .* ratio is .*, but expected minimum is .*)",
        r")$"
    ))
});
/// Of coverage.py and of istanbul; the file, what it lacks.
static PYTHON_ROW: Pattern = Pattern::new(|| {
    pattern(r"^(\S+\.pyw?) +\d+ +(\d+)(?: +\d+ +\d+)? +\d+(?:\.\d+)?%(?: +(\S.*))?$")
});
static ISTANBUL_ROW: Pattern = Pattern::new(|| {
    pattern(r"^( *)(\S.*?) +\| +([\d.]+) \| +([\d.]+) \| +([\d.]+) \| +([\d.]+) \| ?(.*?) *$")
});
/// The file that a threshold is for.
static FOR_FILE: Pattern =
    Pattern::new(|| pattern(r#""(?:\./)?([^"*]+\.\w+)"|threshold \([\d.]+%\) for (\S.*)$"#));

/// Between a message and its table.
const TABLE_LINES_MAX: usize = 300;
/// Files that are shown with their missed lines.
const TABLE_ROWS_SHOWN: usize = 8;
/// Thresholds that are told one by one.
const THRESHOLDS_MAX: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Coverage;

impl LogParser for Coverage {
    fn tool(&self) -> &'static str {
        "coverage"
    }

    fn is_called(&self, call: &Call) -> bool {
        call.program == "coverage" || call.program == "diff-cover"
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &["overage", "ncovered", "ratio is"]
    }

    fn is_banner(&self, line: &str) -> bool {
        is_threshold(line)
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        add(cx, &mut draft);
        draft
    }
}

/// Adds what a runner's log says of its thresholds, and takes those lines.
pub(crate) fn add(cx: &Context<'_>, draft: &mut Draft) {
    if cx.input.is_green() {
        return;
    }
    let missed: Vec<usize> = cx.lines().filter(|it| is_threshold(it.1)).map(|it| it.0).collect();
    let Some((first, last)) = missed.first().zip(missed.last()) else { return };
    draft.taken.extend(missed.iter().map(|it| *it..it + 1));
    let near = first.saturating_sub(TABLE_LINES_MAX)..last + TABLE_LINES_MAX;
    let rows = rows(cx, near);
    // What one file lacks is one cause, however many thresholds it misses.
    let mut problems: Vec<Problem> = Vec::new();
    for index in missed.iter().take(THRESHOLDS_MAX) {
        let problem = problem(cx, &rows, &missed, *index);
        match problems.iter_mut().find(|it| it.location == problem.location) {
            Some(known) => known.message = format!("{}; {}", known.message, problem.message),
            None => problems.push(problem),
        }
    }
    draft.problems.extend(problems);
}

fn is_threshold(line: &str) -> bool {
    let may = line.contains("overage") || line.contains("ncovered") || line.contains("ratio is");
    may && THRESHOLD.is_match(line)
}

/// A file of the table: how much it lacks, where, and its name.
#[derive(Debug)]
struct File {
    missed: u64,
    index: usize,
    name: String,
}

fn problem(cx: &Context<'_>, rows: &[File], missed: &[usize], index: usize) -> Problem {
    let line = cx.log.line(index);
    let message =
        THRESHOLD.captures(line).map_or(line.trim(), |it| it.get(2).map_or("", |it| it.as_str()));
    let for_file = FOR_FILE.captures(line);
    let for_file = for_file.map(|it| format!("{}{}", group(&it, 1), group(&it, 2)));
    let is_wanted = |it: &&File| for_file.as_ref().is_none_or(|file| file.ends_with(&it.name));
    let worst =
        rows.iter().filter(is_wanted).max_by_key(|it| (it.missed, std::cmp::Reverse(it.index)));
    let mut keys: Vec<usize> = rows.iter().map(|it| it.index).take(TABLE_ROWS_SHOWN).collect();
    keys.extend(worst.map(|it| it.index));
    keys.extend(missed.iter().take(TABLE_ROWS_SHOWN));
    keys.push(index);
    let first = keys.iter().min().copied().unwrap_or(index);
    let last = keys.iter().max().copied().unwrap_or(index);
    let file = for_file.or_else(|| worst.map(|it| it.name.clone()));
    let location = file.map(|it| cx.paths.location(&it, None));
    Problem::error(message, Cut::new(first..last + 1, keys)).at(location)
}

/// The files that lack something. Of istanbul's table, a folder's row stands above its files, less indented.
fn rows(cx: &Context<'_>, near: Range<usize>) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    let mut folder = String::new();
    for (index, line) in cx.log.slice(near) {
        if let Some(found) = PYTHON_ROW.captures(line) {
            let missed = group(&found, 2).parse().unwrap_or(0);
            files.push(File { missed, index, name: group(&found, 1).to_owned() });
        } else if let Some(found) =
            line.contains('|').then(|| ISTANBUL_ROW.captures(line)).flatten()
        {
            let name = group(&found, 2);
            let is_file = name.contains('.') && !name.ends_with('/') && !name.starts_with("...");
            if is_file {
                let is_below = group(&found, 1).len() > 1 && !folder.is_empty();
                let name = if is_below { format!("{folder}/{name}") } else { name.to_owned() };
                files.push(File { missed: lacking(&found), index, name });
            } else if name != "All files" {
                name.clone_into(&mut folder);
            }
        }
    }
    files.retain(|it| it.missed > 0);
    files
}

/// By lines that are named first, by shares then.
fn lacking(found: &regex::Captures<'_>) -> u64 {
    let lines = group(found, 7).split(',').map(|it| {
        let mut ends =
            it.trim_start_matches("...").split('-').map(|it| it.trim().parse::<u64>().unwrap_or(0));
        let first = ends.next().unwrap_or(0);
        let last = ends.next().unwrap_or(first);
        u64::from(first > 0) + last.saturating_sub(first)
    });
    let share = |at| {
        100 - group(found, at)
            .split('.')
            .next()
            .unwrap_or("")
            .parse::<u64>()
            .unwrap_or(100)
            .min(100)
    };
    lines.sum::<u64>() * 1_000 + share(3) + share(4) + share(5) + share(6)
}
