//! The compiler's errors and warnings, and others that print like it: cargo, clippy, rustfmt, build scripts.

use std::ops::Range;

use gate_core::{Location, Severity};

use crate::draft::Problem;
use crate::parsers::{Context, panics};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

static HEADER: Pattern =
    Pattern::new(|| pattern(r"^(error|warning)(?:\[([A-Za-z0-9_:]+)\])?: (.+)$"));
static ARROW: Pattern = Pattern::new(|| pattern(r"^\s*--> (.+?):(\d+)(?::(\d+))?$"));
static LABEL: Pattern = Pattern::new(|| pattern(r"^\s*\|.*?\^+ (\S.*)$"));
static LINKER: Pattern = Pattern::new(|| {
    pattern(
        r"((?:undefined symbol|undefined reference|duplicate symbol|unable to find library|cannot find).*)$",
    )
});
static REFERENCED: Pattern =
    Pattern::new(|| pattern(r">>> (?:referenced|defined) (?:by|at) .*\((.+?):(\d+)\)$"));
static MANIFEST: Pattern = Pattern::new(|| pattern(r"^failed to parse manifest at `(.+)`$"));
/// ``required by package `a v0.1.0 (/w/a)` ``.
static ASKED_BY: Pattern =
    Pattern::new(|| pattern(r"package `\S+ v\S+ \((/[^)]*|[A-Za-z]:[^)]*)\)`"));
static TOML_PLACE: Pattern =
    Pattern::new(|| pattern(r"^\s*TOML parse error at line (\d+), column (\d+)$"));
static FORMAT_DIFF: Pattern =
    Pattern::new(|| pattern(r"^Diff in (.+?)(?::(\d+):| at line (\d+):)$"));

/// Headers that only sum up what was said before.
const SUMMARIES: [&str; 14] = [
    "could not compile ",
    "aborting due to ",
    "test failed, to rerun pass ",
    "doctest failed, to rerun pass ",
    "bench failed, to rerun pass ",
    "test run failed",
    "build failed",
    "could not document ",
    "recipe ",
    "process didn't exit successfully",
    "unused manifest key",
    "`cargo ",
    "1 target failed",
    "warnings emitted",
];

/// Codes of errors that make others appear: names and modules that are not there.
const BLOCKERS: [&str; 5] = ["E0432", "E0433", "E0463", "E0583", "E0761"];

/// What stops the parser of the language has no code, and hides everything else.
const SYNTAX: [&str; 6] = [
    "expected ",
    "unexpected ",
    "this file contains an unclosed delimiter",
    "mismatched closing delimiter",
    "unclosed delimiter",
    "unterminated ",
];

/// Dependencies that cannot be had.
const RESOLUTIONS: [&str; 4] = [
    "failed to select a version for ",
    "no matching package ",
    "no matching version ",
    "failed to get `",
];

/// Lines of one error.
const BLOCK_LINES_MAX: usize = 120;

/// All errors and warnings outside of test output: blockers first, then in time.
pub(super) fn read(cx: &Context<'_>, is_test_output: &[bool]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut next = 0;
    for (index, line) in cx.lines().filter(|it| !is_test_output[it.0]) {
        if index < next {
            continue;
        }
        let problem =
            header(cx, index, line, cx.log.len()).or_else(|| format_diff(cx, index, line));
        if let Some(problem) = problem {
            next = problem.cut.range.end;
            problems.push(problem);
        }
    }
    problems.sort_by_key(|it| !is_blocker(it));
    problems
}

/// The first error of a range.
pub(super) fn first(cx: &Context<'_>, range: Range<usize>) -> Option<Problem> {
    let end = range.end;
    let mut found = cx.log.slice(range).filter_map(|(at, line)| header(cx, at, line, end));
    found.find(|it| it.severity == Severity::Error)
}

fn is_blocker(problem: &Problem) -> bool {
    match &problem.code {
        Some(code) => BLOCKERS.contains(&code.as_str()),
        None => SYNTAX.iter().any(|it| problem.message.starts_with(it)),
    }
}

fn header(cx: &Context<'_>, index: usize, line: &str, end: usize) -> Option<Problem> {
    if !line.starts_with("error") && !line.starts_with("warning") {
        return None;
    }
    let found = HEADER.captures(line)?;
    let text = group(&found, 3);
    let is_summary = SUMMARIES.iter().any(|it| text.starts_with(it))
        || text.ends_with("targets failed:")
        || text.ends_with("warnings emitted")
        || text.ends_with("warning emitted")
        || (text.starts_with('`') && text.contains(" generated "));
    if is_summary {
        return None;
    }
    let severity = if group(&found, 1) == "error" { Severity::Error } else { Severity::Warning };
    let code = found.get(2).map(|it| it.as_str().to_owned());
    let block = Block::read(cx, index, text, end);
    let cut = Cut::new(index..block.end, block.keys);
    Some(Problem { severity, code, ..Problem::error(block.message, cut).at(block.location) })
}

/// The lines below a header.
#[derive(Debug)]
struct Block {
    end: usize,
    message: String,
    location: Option<Location>,
    keys: Vec<usize>,
}

impl Block {
    fn read(cx: &Context<'_>, index: usize, header: &str, end: usize) -> Self {
        let end = end.min(index + BLOCK_LINES_MAX);
        let mut block =
            Self { end: index + 1, message: header.to_owned(), location: None, keys: vec![index] };
        if header.starts_with("failed to run custom build command") {
            block.read_build_script(cx, end);
        } else if RESOLUTIONS.iter().any(|it| header.starts_with(it)) {
            block.read_resolution(cx, end);
        } else if let Some(found) = MANIFEST.captures(header) {
            block.read_manifest(cx, group(&found, 1), end);
        } else {
            block.read_spans(cx, end);
        }
        block
    }

    /// Up to a blank line or the next thing at the margin.
    fn read_spans(&mut self, cx: &Context<'_>, end: usize) {
        let is_linker = self.message.starts_with("linking with ");
        let mut has_label = false;
        for (at, line) in cx.log.slice(self.end..end) {
            let is_part = line.starts_with([' ', '.'])
                || line.starts_with(|it: char| it.is_ascii_digit())
                || line.starts_with("note: ")
                || line.starts_with("help: ")
                || line.starts_with("Caused by:");
            // The linker's own output, and causes, stand behind blank lines.
            let is_gap = line.trim().is_empty()
                && (is_linker || cx.log.line(at + 1).starts_with("Caused by:"));
            if !is_part && !is_gap {
                break;
            }
            self.end = at + 1;
            if let Some(found) = ARROW.captures(line).filter(|_| self.location.is_none()) {
                self.keys.push(at);
                let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
                self.location = Some(place.location);
            } else if let Some(found) = LABEL.captures(line).filter(|_| !has_label && !is_linker) {
                has_label = true;
                self.keys.extend([at - 1, at]);
                self.message = format!("{}: {}", self.message, group(&found, 1));
            } else if is_linker {
                self.read_linker(cx, at, line);
            }
        }
    }

    fn read_linker(&mut self, cx: &Context<'_>, at: usize, line: &str) {
        if let Some(found) = LINKER.captures(line).filter(|_| !self.message.contains("; ")) {
            self.keys.push(at);
            self.message = format!("{}; {}", self.message, group(&found, 1));
        } else if let Some(found) = REFERENCED.captures(line).filter(|_| self.location.is_none()) {
            self.keys.push(at);
            self.location = Some(cx.paths.location(group(&found, 1), number(&found, 2)));
        }
    }

    /// The panic or the last error of the script, which cargo prints indented.
    fn read_build_script(&mut self, cx: &Context<'_>, end: usize) {
        let start = self.end;
        for (at, line) in cx.log.slice(start..end) {
            let is_part =
                line.is_empty() || line.starts_with(' ') || line.starts_with("Caused by:");
            if !is_part {
                break;
            }
            self.end = at + 1;
        }
        if let Some(panic) = panics::first(cx, start..self.end) {
            self.message = format!("the build script panicked: {}", panic.message);
            self.keys.extend(panic.lines);
            self.location = Some(panic.place.location);
        } else {
            let errors = cx.log.slice(start..self.end).filter(|it| it.1.contains("error"));
            if let Some((at, line)) = { errors }.next_back() {
                self.message = format!("{}: {}", self.message, line.trim());
                self.keys.push(at);
            }
        }
    }

    /// What was found in place of what was wanted, and whose manifest asks for it.
    fn read_resolution(&mut self, cx: &Context<'_>, end: usize) {
        for (at, line) in cx.log.slice(self.end..end) {
            if line.is_empty() && cx.log.line(at + 1).is_empty() {
                break;
            }
            let is_other = line.starts_with("error") || line.starts_with("warning");
            if is_other {
                break;
            }
            self.end = at + 1;
            if let Some(found) = ASKED_BY.captures(line).filter(|_| self.location.is_none()) {
                let manifest = format!("{}/Cargo.toml", group(&found, 1));
                self.location = Some(cx.paths.location(&manifest, None));
                self.keys.push(at);
            } else if line.starts_with("candidate versions found")
                || line.starts_with("versions that meet")
            {
                self.message = format!("{}; {line}", self.message);
                self.keys.push(at);
            }
        }
    }

    fn read_manifest(&mut self, cx: &Context<'_>, manifest: &str, end: usize) {
        self.location = Some(cx.paths.location(manifest, None));
        self.message = "failed to parse the manifest".to_owned();
        for (at, line) in cx.log.slice(self.end..end) {
            if let Some(found) = TOML_PLACE.captures(line) {
                let place = cx.paths.place(manifest, number(&found, 1), number(&found, 2));
                self.location = Some(place.location);
            } else if line.starts_with("  ") && !line.contains('|') {
                self.message = format!("{}: {}", self.message, line.trim());
            } else if !line.is_empty() && !line.starts_with("Caused by:") && !line.starts_with(' ')
            {
                break;
            }
            self.keys.push(at);
            self.end = at + 1;
        }
    }
}

/// Whether a hunk of `rustfmt --check` starts here.
pub(super) fn is_format_diff(line: &str) -> bool {
    line.starts_with("Diff in ") && FORMAT_DIFF.is_match(line)
}

/// One hunk of `rustfmt --check`.
fn format_diff(cx: &Context<'_>, index: usize, line: &str) -> Option<Problem> {
    let found = line.strip_prefix("Diff in ").and_then(|_| FORMAT_DIFF.captures(line))?;
    let first = number(&found, 2).or(number(&found, 3));
    let mut end = index + 1;
    let (mut context, mut change, mut wanted) = (0, None, None);
    for (at, line) in cx.log.slice(index + 1..cx.log.len()).take(BLOCK_LINES_MAX) {
        if !line.starts_with([' ', '+', '-']) {
            break;
        }
        end = at + 1;
        if line.starts_with(' ') {
            context += u32::from(change.is_none());
        } else {
            change.get_or_insert(at);
        }
        if let Some(text) = line.strip_prefix('+') {
            wanted = wanted.or(Some(text.trim()));
        }
    }
    let message = match wanted {
        Some(text) => format!("not formatted; expected `{text}`"),
        None => "not formatted".to_owned(),
    };
    let line = first.map(|it| it.saturating_add(context));
    let location = cx.paths.location(group(&found, 1), line);
    let keys = (index..end.min(index + 8)).collect();
    Some(Problem::error(message, Cut::new(index..end, keys)).at(Some(location)))
}
