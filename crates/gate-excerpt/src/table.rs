//! Reads tools whose output is a table of problems: one engine, and for each tool a [`Spec`] in its own file.
//!
//! A row's pattern has the named groups `file`, `line`, `column`, `code`, `severity`, and `message`, each of them
//! optional. Linear in the log: each line is looked at once, and at most [`MORE_LINES_MAX`] times more as a part of
//! the row above it.

use std::sync::OnceLock;

use gate_core::Severity;
use memchr::memmem::Finder;
use regex::{Captures, Regex, RegexSet};

use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::many::Many;
use crate::parsers::{Context, LogParser};
use crate::pattern::{ascii_words, pattern};
use crate::select::Cut;

/// Lines below a row that can belong to it.
pub(crate) const MORE_LINES_MAX: usize = 40;

/// One tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) tool: &'static str,
    /// Programs whose call runs it: `eslint`, or with a subcommand `go vet`.
    pub(crate) programs: &'static [&'static str],
    /// Literals, one of which is in every banner line.
    pub(crate) marks: &'static [&'static str],
    /// Literals, one of which is in every banner line as well, if any: a look for them is faster than the pattern.
    pub(crate) needs: &'static [&'static str],
    /// A line that only this tool prints; none where it is known by its call alone.
    pub(crate) banner: Option<&'static str>,
    /// A file on a line of its own, with its rows below; its group is `file`.
    pub(crate) head: Option<&'static str>,
    pub(crate) rows: &'static [Row],
}

impl Spec {
    /// To be completed with what the tool has.
    pub(crate) const NONE: Self = Self {
        tool: "",
        programs: &[],
        marks: &[],
        needs: &[],
        banner: None,
        head: None,
        rows: &[],
    };
}

/// One form of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Its first line.
    pub(crate) pattern: &'static str,
    /// Where the line does not say it.
    pub(crate) severity: Severity,
    /// Lines below that belong to it. A group `message` is appended; the others fill what is missing.
    pub(crate) more: &'static [&'static str],
}

impl Row {
    /// An error in one line, if the line says nothing else.
    pub(crate) const fn error(pattern: &'static str) -> Self {
        Self { pattern, severity: Severity::Error, more: &[] }
    }

    /// A warning in one line, if the line says nothing else.
    pub(crate) const fn warning(pattern: &'static str) -> Self {
        Self { severity: Severity::Warning, ..Self::error(pattern) }
    }

    /// With the lines below it.
    pub(crate) const fn with(self, more: &'static [&'static str]) -> Self {
        Self { more, ..self }
    }
}

/// A tool's parser.
#[derive(Debug)]
pub(crate) struct Table {
    spec: Spec,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    banner: Option<Regex>,
    needs: Vec<Finder<'static>>,
    head: Option<Regex>,
    /// The rows, and the head behind them: whether a line is worth a closer look.
    any: RegexSet,
    rows: Vec<(Regex, Severity, Vec<Regex>)>,
}

impl Table {
    pub(crate) const fn new(spec: Spec) -> Self {
        Self { spec, compiled: OnceLock::new() }
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let Spec { banner, needs, head, rows, .. } = self.spec;
            let all = rows.iter().map(|it| it.pattern).chain(head);
            let row = |row: &Row| {
                let more = row.more.iter().map(|it| pattern(it)).collect();
                (pattern(row.pattern), row.severity, more)
            };
            Compiled {
                banner: banner.map(pattern),
                needs: needs.iter().map(Finder::new).collect(),
                head: head.map(pattern),
                any: RegexSet::new(all.map(ascii_words))
                    .expect("patterns are literals, and a test builds each"),
                rows: rows.iter().map(row).collect(),
            }
        })
    }

    /// The problems of the lines that are this tool's to read, in their order, and the lines that were left.
    pub(crate) fn problems(&self, cx: &Context<'_>) -> Draft {
        let compiled = self.compiled();
        let mut draft = Draft::default();
        let mut many = Many::new();
        let mut head = None;
        let mut next = 0;
        for (index, line) in cx.lines() {
            if index < next || !compiled.any.is_match(line) {
                continue;
            }
            if many.is_known(line, || compiled.is_row(line)) {
                many.skip(index, head);
            } else if let Some(problem) = compiled.row(cx, index, head) {
                next = problem.cut.range.end;
                draft.problems.push(problem);
                many.add(line);
            } else if let Some(found) = compiled.head.as_ref().and_then(|it| it.captures(line)) {
                head = found.name("file").map(|it| it.as_str());
            }
        }
        for (index, head) in many.take_last() {
            if let Some(problem) = (index >= next).then(|| compiled.row(cx, index, head)).flatten()
            {
                next = problem.cut.range.end;
                draft.problems.push(problem);
            }
        }
        (draft.taken, draft.left_out) = many.finish();
        draft
    }
}

impl Compiled {
    fn is_row(&self, line: &str) -> bool {
        self.rows.iter().any(|it| it.0.is_match(line))
    }

    /// The problem that starts with this line, of the file that stands above.
    fn row(&self, cx: &Context<'_>, index: usize, head: Option<&str>) -> Option<Problem> {
        let line = cx.log.line(index);
        let row = self.rows.iter().find_map(|row| Some((row, row.0.captures(line)?)));
        let ((_, severity, more), found) = row?;
        let mut hit = Hit::default();
        hit.take(&found);
        let end = hit.take_more(cx, index + 1, more);
        hit.file = hit.file.or(head);
        Some(hit.problem(cx, *severity, Cut::new(index..end, vec![index])))
    }
}

impl LogParser for Table {
    fn tool(&self) -> &'static str {
        self.spec.tool
    }

    fn is_called(&self, call: &Call) -> bool {
        self.spec.programs.iter().any(|it| match it.split_once(' ') {
            Some((program, subcommand)) => {
                call.program == program && call.subcommand() == subcommand
            }
            None => call.program == *it,
        })
    }

    fn tells_figures(&self, _: &Call) -> bool {
        false
    }

    fn marks(&self) -> &'static [&'static str] {
        self.spec.marks
    }

    fn is_banner(&self, line: &str) -> bool {
        let Compiled { banner, needs, .. } = self.compiled();
        let has = |it: &Finder<'_>| it.find(line.as_bytes()).is_some();
        (needs.is_empty() || needs.iter().any(has))
            && banner.as_ref().is_some_and(|it| it.is_match(line))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = self.problems(cx);
        // A linter that fails with nothing but warnings fails because of them.
        if !draft.has_error() && !cx.input.is_green() && cx.is_named {
            draft.problems.iter_mut().for_each(|it| it.severity = Severity::Error);
        }
        draft.taken.extend(draft.problems.iter().map(|it| it.cut.range.clone()));
        draft
    }
}

/// What the lines of one problem say.
#[derive(Debug, Default)]
pub(crate) struct Hit<'t> {
    pub(crate) file: Option<&'t str>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    pub(crate) code: Option<&'t str>,
    pub(crate) severity: Option<Severity>,
    pub(crate) message: String,
}

impl<'t> Hit<'t> {
    fn take(&mut self, found: &Captures<'t>) {
        let text = |name: &str| {
            let it = found.name(name)?.as_str().trim();
            (!it.is_empty()).then_some(it)
        };
        self.file = self.file.or_else(|| text("file"));
        self.line = self.line.or_else(|| text("line")?.parse().ok());
        self.column = self.column.or_else(|| text("column")?.parse().ok());
        self.code = self.code.or_else(|| text("code"));
        self.severity = self.severity.or_else(|| text("severity").map(severity));
        self.say(text("message").unwrap_or_default());
    }

    pub(crate) fn say(&mut self, text: &str) {
        if !text.is_empty() && !self.message.is_empty() {
            self.message.push(' ');
        }
        self.message.push_str(text);
    }

    /// Gives the end of the lines that belong to it.
    fn take_more(&mut self, cx: &Context<'t>, start: usize, more: &[Regex]) -> usize {
        let mut end = start;
        if more.is_empty() {
            return end;
        }
        for (at, line) in cx.log.slice(start..start + MORE_LINES_MAX) {
            let Some(found) = more.iter().find_map(|it| it.captures(line)) else { break };
            self.take(&found);
            end = at + 1;
        }
        end
    }

    pub(crate) fn problem(self, cx: &Context<'_>, default: Severity, cut: Cut) -> Problem {
        let Self { file, line, column, code, severity, message } = self;
        let location = file.map(|it| cx.paths.place(it, line, column).location);
        Problem {
            severity: severity.unwrap_or(default),
            code: code.map(str::to_owned),
            ..Problem::error(message, cut).at(location)
        }
    }
}

/// Of the word that a tool prints; what is no warning's word is an error's.
pub(crate) fn severity(word: &str) -> Severity {
    let word = word.trim_end_matches(':').to_ascii_lowercase();
    let is_warning = matches!(
        word.as_str(),
        "warning"
            | "warn"
            | "w"
            | "info"
            | "information"
            | "note"
            | "notice"
            | "hint"
            | "i"
            | "n"
            | "style"
            | "remark"
            | "performance"
            | "portability"
            | "refactor"
            | "convention"
            | "⚠"
            | "!"
            | "ℹ"
            | "debug"
            | "suggestion"
            | "minor"
            | "verbose"
    );
    if is_warning { Severity::Warning } else { Severity::Error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::testing::draft_of;

    static TOOL: Table = Table::new(Spec {
        tool: "tool",
        programs: &["tool", "other check"],
        head: Some(r"^(?P<file>\S+\.x)$"),
        rows: &[
            Row::error(r"^(?P<file>\S+\.x):(?P<line>\d+): (?P<severity>\w+): (?P<message>.+)$")
                .with(&[r"^  \|", r"^  = (?P<message>.+)$", r"^  code (?P<code>\w+)$"]),
            Row::warning(r"^  (?P<line>\d+):(?P<column>\d+)  (?P<message>.+)$"),
        ],
        ..Spec::NONE
    });

    #[test]
    fn a_row_takes_its_file_from_the_head_above_and_the_rest_from_the_lines_below() {
        let log = "a.x\n  3:7  odd\n\nb.x:9: error: bad:\n  | let\n  = very bad\n  code K1\nend\n";
        let draft = draft_of(&TOOL, &Input { bytes: log.as_bytes(), ..Input::default() });
        let told = |it: &Problem| {
            let place = it.location.clone().unwrap();
            (place.file, place.line, it.severity, it.message.clone(), it.cut.range.clone())
        };
        let told: Vec<_> = draft.problems.iter().map(told).collect();
        assert_eq!(
            told,
            [
                ("a.x".to_owned(), Some(3), Severity::Warning, "odd".to_owned(), 1..2),
                ("b.x".to_owned(), Some(9), Severity::Error, "bad: very bad".to_owned(), 3..7),
            ]
        );
        assert_eq!(draft.problems[1].code.as_deref(), Some("K1"));
    }

    #[test]
    fn a_tool_is_known_by_its_program_and_its_subcommand() {
        let call = |program: &str, word: &str| Call {
            program: program.to_owned(),
            args: vec!["-v".to_owned(), word.to_owned()],
        };
        assert!(TOOL.is_called(&call("tool", "x")) && TOOL.is_called(&call("other", "check")));
        assert!(!TOOL.is_called(&call("other", "run")));
    }
}
