//! The JavaScript package managers' own faults: npm, yarn, and pnpm that cannot resolve, install, or find a script.
//!
//! That a script failed is left to whoever reads what the script printed.

use std::ops::Range;

use super::{Context, LogParser};
use crate::command::Call;
use crate::draft::{Counts, Draft, Problem};
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

static NPM: Pattern = Pattern::new(|| pattern(r"^npm (?:ERR!|error)(?: (.*))?$"));
static CODE: Pattern = Pattern::new(|| pattern(r"^code (E[A-Z0-9_]+)$"));
/// Of yarn 1; its `error Command failed` only repeats.
static YARN: Pattern = Pattern::new(|| {
    pattern(concat!(
        r#"^error (Couldn't find .*|Command "\S*" not found.*|Your lockfile needs to be updated.*|An unexpected error "#,
        r#"occurred: .*|Package ".*" refers to .*|Found incompatible module.*|\S+: The engine .*|Received malformed .*)$"#
    ))
});
/// Of yarn 2 and later; the codes are those of errors.
static BERRY: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^➤ (YN00(?:01|09|16|18|20|27|28|35|41|46|50|56|59|63|66|71|73|78|80|81|82|83|87|90)): (?:[│┌└·] )*(\S.*)$",
        r"|^(?:Usage|Internal) Error: (.+)$"
    ))
});
/// `ERR_PNPM_…`, before version 11 with the message behind it.
static PNPM: Pattern =
    Pattern::new(|| pattern(r"^(?:Error: | |\[)?(ERR_PNPM_[A-Z0-9_]+)\]?(?: +(\S.*))?$"));
/// The last cause of pnpm 11's tree, or a line that goes on.
static BRANCH: Pattern = Pattern::new(|| pattern(r"^  (×|├─▶|╰─▶|│|  ) ?(.*)$"));

/// Of turbo and nx: a task or a project that is not there.
static TASK: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^ *(?:`->|╰─▶)? *[x×] (Could not find (?:task|turbo\.json|package).*)$",
        r"|^ *(?:NX|Lerna \(powered by Nx\)) +((?:Cannot|Could not|Unable to|Failed to) .*)$"
    ))
});

const NO_TEST: &str = "Error: no test specified";
/// Codes that only say that a script failed.
const ECHOES: [&str; 3] =
    ["ELIFECYCLE", "ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL", "ERR_PNPM_RECURSIVE_FAIL"];
/// Lines of one error.
const BLOCK_LINES_MAX: usize = 200;
/// Telling lines of npm's own message.
const MESSAGE_LINES_MAX: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Npm;

impl LogParser for Npm {
    fn tool(&self) -> &'static str {
        "npm"
    }

    fn is_called(&self, call: &Call) -> bool {
        let programs =
            ["npm", "yarn", "pnpm", "turbo", "nx", "lerna", "npm-run-all", "run-s", "run-p"];
        programs.contains(&call.program.as_str())
    }

    /// What a script printed says more than that it failed.
    fn is_wrapper(&self) -> bool {
        true
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        &[NO_TEST, "npm ", "error ", "➤", "ERR_PNPM_", "Could not find ", " NX "]
    }

    fn is_banner(&self, line: &str) -> bool {
        line == NO_TEST
            || (line.starts_with("npm ") && NPM.is_match(line))
            || (line.starts_with("error ") && YARN.is_match(line))
            || (line.starts_with('➤') && BERRY.is_match(line))
            || (line.contains("ERR_PNPM_") && PNPM.is_match(line))
            || (!line.starts_with("error ") && TASK.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next {
                continue;
            }
            let found = if line == NO_TEST {
                draft.add_counts(Counts::NONE);
                Some(Told::new("npm", None, line.to_owned(), index..index + 1))
            } else if line.starts_with("npm ") && NPM.is_match(line) {
                let (told, end) = npm(cx, index);
                next = end;
                told
            } else {
                other(cx, index, line)
            };
            let Some(told) = found else { continue };
            next = next.max(told.lines.end);
            draft.tool.get_or_insert(told.tool);
            draft.problems.push(told.problem(cx));
        }
        draft.taken.extend(draft.problems.iter().map(|it| it.cut.range.clone()));
        draft
    }
}

/// One fault.
#[derive(Debug)]
struct Told {
    tool: &'static str,
    code: Option<String>,
    message: String,
    lines: Range<usize>,
    keys: Vec<usize>,
    file: &'static str,
}

impl Told {
    fn new(tool: &'static str, code: Option<String>, message: String, lines: Range<usize>) -> Self {
        let keys = vec![lines.start];
        Self { tool, code, message, lines, keys, file: "package.json" }
    }

    fn problem(self, cx: &Context<'_>) -> Problem {
        let Self { code, message, lines, keys, file, .. } = self;
        let location = Some(cx.paths.location(file, None));
        Problem { code, ..Problem::error(message, Cut::new(lines, keys)).at(location) }
    }
}

/// The block of `npm error` lines, and where it ends; none where a script failed.
fn npm(cx: &Context<'_>, start: usize) -> (Option<Told>, usize) {
    let mut told = Told::new("npm", None, String::new(), start..start + 1);
    let mut parts: Vec<&str> = Vec::new();
    let mut is_echo = false;
    let mut wants_next = false;
    let lines = cx.log.slice(start..cx.log.len()).take(BLOCK_LINES_MAX);
    let mut end = start;
    for (at, line) in lines {
        let Some(found) = NPM.captures(line) else { break };
        end = at + 1;
        let text = found.get(1).map_or("", |it| it.as_str()).trim();
        // Older versions put the kind of a line before its text.
        let text = ["notarget ", "404 ", "JSON.parse ", "peer dep "]
            .iter()
            .find_map(|it| text.strip_prefix(it))
            .unwrap_or(text)
            .trim();
        if let Some(code) = CODE.captures(text) {
            is_echo |= ECHOES.contains(&group(&code, 1));
            told.code.get_or_insert(group(&code, 1).to_owned());
        } else if text.starts_with("code ")
            || text.starts_with("Lifecycle script ")
            || text == "Test failed.  See above for more details."
        {
            is_echo = true;
        } else if is_telling(text, &parts, wants_next) {
            told.keys.push(at);
            parts.push(text);
        }
        wants_next = text == "Could not resolve dependency:";
    }
    if is_echo || parts.is_empty() {
        return (None, end);
    }
    if parts.iter().any(|it| it.contains("package-lock.json")) {
        told.file = "package-lock.json";
    }
    told.message = parts.join("; ");
    told.lines = start..end;
    (Some(told), end)
}

/// The first line, and those that name packages and versions.
fn is_telling(text: &str, parts: &[&str], wants_next: bool) -> bool {
    let starts = [
        "While resolving: ",
        "Found: ",
        "Missing: ",
        "Invalid: ",
        "Conflicting peer dependency: ",
        "No matching version",
        "Required: ",
        "Actual: ",
    ];
    let is_noise = text.is_empty()
        || text.starts_with("A complete log of this run")
        || text.starts_with("path ")
        || text.starts_with("command ")
        || text.starts_with("errno ")
        || text.starts_with("syscall ");
    let is_named = wants_next || starts.iter().any(|it| text.starts_with(it));
    !is_noise && (parts.is_empty() || (is_named && parts.len() < MESSAGE_LINES_MAX))
}

fn other(cx: &Context<'_>, index: usize, line: &str) -> Option<Told> {
    if line.starts_with("error ")
        && let Some(found) = YARN.captures(line)
    {
        let mut told = Told::new("yarn", None, group(&found, 1).to_owned(), index..index + 1);
        told.file = if line.contains("lockfile") { "yarn.lock" } else { "package.json" };
        return Some(told);
    }
    if (line.starts_with('➤') || line.contains(" Error: "))
        && let Some(found) = BERRY.captures(line)
    {
        let message = format!("{}{}", group(&found, 2), group(&found, 3));
        let code = found.get(1).map(|it| it.as_str().to_owned());
        return Some(Told::new("yarn", code, message, index..index + 1));
    }
    if let Some(found) = TASK.captures(line) {
        let is_turbo = found.get(1).is_some();
        let message = format!("{}{}", group(&found, 1), group(&found, 2));
        let mut told =
            Told::new(if is_turbo { "turbo" } else { "nx" }, None, message, index..index + 1);
        told.file = if is_turbo { "turbo.json" } else { "package.json" };
        return Some(told);
    }
    if !line.contains("ERR_PNPM_") {
        return None;
    }
    let found = PNPM.captures(line)?;
    let code = group(&found, 1);
    if ECHOES.contains(&code) {
        return None;
    }
    let (message, end) = match found.get(2) {
        Some(message) => (message.as_str().to_owned(), index + 1),
        None => tree(cx, index),
    };
    let mut told = Told::new("pnpm", Some(code.to_owned()), message, index..end);
    if code.contains("LOCKFILE") {
        told.file = "pnpm-lock.yaml";
    }
    Some(told)
}

/// The causes below: the last one says it.
fn tree(cx: &Context<'_>, index: usize) -> (String, usize) {
    let mut message = String::new();
    let mut end = index + 1;
    for (at, line) in cx.log.slice(index + 1..index + BLOCK_LINES_MAX) {
        let Some(found) = BRANCH.captures(line).filter(|_| !line.starts_with("  help:")) else {
            if line.is_empty() && at == index + 1 {
                continue;
            }
            break;
        };
        end = at + 1;
        match group(&found, 1) {
            "│" | "  " => message = format!("{message} {}", group(&found, 2).trim()),
            _ => group(&found, 2).clone_into(&mut message),
        }
    }
    (message, end)
}
