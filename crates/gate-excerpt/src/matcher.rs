//! A project's own patterns for tools that the gate does not know, in the form of GitHub's problem matchers.
//!
//! The patterns come from outside: each is compiled once, within limits, by an engine that is linear in its input.

use gate_core::Severity;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::draft::Draft;
use crate::limits::{
    MATCHER_COMPILED_BYTES_MAX, MATCHER_HITS_MAX, MATCHER_PATTERN_BYTES_MAX, MATCHER_STEPS_MAX,
};
use crate::parsers::Context;
use crate::select::Cut;
use crate::table::{Hit, severity};

/// A matcher as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatcherSpec {
    /// The tool's name.
    #[serde(alias = "owner")]
    pub name: String,
    /// Where no step has a group for it: `error` or `warning`.
    #[serde(default)]
    pub severity: Option<String>,
    /// One for each line of a problem, in order.
    pub pattern: Vec<MatcherStep>,
}

/// A line of a problem: a pattern, and which of its groups says what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatcherStep {
    /// Without look-around and back-references.
    pub regexp: String,
    /// The group with the path.
    #[serde(default)]
    pub file: Option<usize>,
    /// The group with the line.
    #[serde(default)]
    pub line: Option<usize>,
    /// The group with the column.
    #[serde(default)]
    pub column: Option<usize>,
    /// The group with the tool's code.
    #[serde(default)]
    pub code: Option<usize>,
    /// The group with the severity's word.
    #[serde(default)]
    pub severity: Option<usize>,
    /// The group with the message.
    #[serde(default)]
    pub message: Option<usize>,
    /// Whether the last step is tried on each line that follows.
    #[serde(default, rename = "loop")]
    pub is_loop: bool,
}

/// Why a matcher cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MatcherError {
    /// It has no name.
    #[error("a matcher has no `name`: name the tool whose output it reads")]
    NoName,
    /// It has no step, or too many.
    #[error("the matcher `{name}` has {steps} patterns; it needs 1 to {MATCHER_STEPS_MAX}")]
    Steps {
        /// The matcher's.
        name: String,
        /// How many.
        steps: usize,
    },
    /// A pattern is too long.
    #[error(
        "pattern {step} of the matcher `{name}` is longer than {MATCHER_PATTERN_BYTES_MAX} bytes"
    )]
    TooLong {
        /// The matcher's.
        name: String,
        /// Counted from 1.
        step: usize,
    },
    /// A pattern cannot be compiled.
    #[error(
        "pattern {step} of the matcher `{name}` is no regular expression that the gate can run (no look-around, no back-references, at most {MATCHER_COMPILED_BYTES_MAX} bytes compiled)"
    )]
    Pattern {
        /// The matcher's.
        name: String,
        /// Counted from 1.
        step: usize,
        /// What the engine says.
        #[source]
        source: Box<regex::Error>,
    },
    /// A group is named that the pattern does not have.
    #[error(
        "pattern {step} of the matcher `{name}` says that `{field}` is group {group}; it has the groups 1 to {groups}"
    )]
    Group {
        /// The matcher's.
        name: String,
        /// Counted from 1.
        step: usize,
        /// The field.
        field: &'static str,
        /// The group that is missing.
        group: usize,
        /// The last group that there is.
        groups: usize,
    },
    /// A step in the middle is a loop.
    #[error("pattern {step} of the matcher `{name}` is a loop; only the last one can be")]
    Loop {
        /// The matcher's.
        name: String,
        /// Counted from 1.
        step: usize,
    },
    /// No step has a message.
    #[error("no pattern of the matcher `{name}` has a group for `message`")]
    NoMessage {
        /// The matcher's.
        name: String,
    },
    /// The severity's word is neither.
    #[error("the matcher `{name}` has the severity `{severity}`; write `error` or `warning`")]
    Severity {
        /// The matcher's.
        name: String,
        /// As written.
        severity: String,
    },
}

/// A matcher that can be used.
#[derive(Debug, Clone)]
pub struct Matcher {
    name: String,
    severity: Severity,
    steps: Vec<(Regex, MatcherStep)>,
}

impl Matcher {
    /// Compiles a matcher.
    ///
    /// # Errors
    ///
    /// Says which part of it cannot be used, and why.
    pub fn new(spec: MatcherSpec) -> Result<Self, MatcherError> {
        let MatcherSpec { name, severity, pattern } = spec;
        if name.trim().is_empty() {
            return Err(MatcherError::NoName);
        }
        let severity = match severity.as_deref() {
            None | Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            Some(other) => {
                return Err(MatcherError::Severity { name, severity: other.to_owned() });
            }
        };
        if pattern.is_empty() || pattern.len() > MATCHER_STEPS_MAX {
            return Err(MatcherError::Steps { name, steps: pattern.len() });
        }
        if pattern.iter().all(|it| it.message.is_none()) {
            return Err(MatcherError::NoMessage { name });
        }
        let last = pattern.len();
        let mut steps = Vec::with_capacity(last);
        for (index, step) in pattern.into_iter().enumerate() {
            let regex = compile(&name, index + 1, &step)?;
            if step.is_loop && index + 1 < last {
                return Err(MatcherError::Loop { name, step: index + 1 });
            }
            steps.push((regex, step));
        }
        Ok(Self { name, severity, steps })
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The problems of the lines that nobody has read yet.
    pub(crate) fn read(&self, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let mut next = 0;
        for (index, line) in cx.lines() {
            if draft.problems.len() >= MATCHER_HITS_MAX {
                break;
            }
            if index >= next && self.steps[0].0.is_match(line) {
                next = self.problem(cx, index, &mut draft);
            }
        }
        draft.taken = draft.problems.iter().map(|it| it.cut.range.clone()).collect();
        draft
    }

    /// The problems whose first line it is; gives the first line behind them.
    fn problem(&self, cx: &Context<'_>, index: usize, draft: &mut Draft) -> usize {
        let mut hit = Hit::default();
        for (offset, (regex, step)) in self.steps.iter().enumerate() {
            let at = index + offset;
            let Some(found) = regex.captures(cx.log.line(at)) else { return index + 1 };
            if step.is_loop {
                return self.repeated(cx, index..at, &hit, draft);
            }
            step.fill(&mut hit, &found);
        }
        let end = index + self.steps.len();
        draft.problems.push(hit.problem(cx, self.severity, Cut::new(index..end, vec![index])));
        end
    }

    /// Of `head..`, each line that the last step matches is a problem.
    fn repeated(
        &self,
        cx: &Context<'_>,
        head: std::ops::Range<usize>,
        above: &Hit<'_>,
        draft: &mut Draft,
    ) -> usize {
        let Some((regex, step)) = self.steps.last() else { return head.end };
        for (at, line) in cx.log.slice(head.end..cx.log.len()) {
            let found = regex.captures(line).filter(|_| draft.problems.len() < MATCHER_HITS_MAX);
            let Some(found) = found else { return at.max(head.end + 1) };
            let mut hit = Hit {
                file: above.file,
                line: above.line,
                column: above.column,
                code: above.code,
                severity: above.severity,
                message: above.message.clone(),
            };
            step.fill(&mut hit, &found);
            draft.problems.push(hit.problem(cx, self.severity, Cut::line(at)));
        }
        cx.log.len()
    }
}

impl MatcherStep {
    fn fields(&self) -> [(&'static str, Option<usize>); 6] {
        [
            ("file", self.file),
            ("line", self.line),
            ("column", self.column),
            ("code", self.code),
            ("severity", self.severity),
            ("message", self.message),
        ]
    }

    fn fill<'t>(&self, hit: &mut Hit<'t>, found: &regex::Captures<'t>) {
        let text = |group: Option<usize>| {
            let it = found.get(group?)?.as_str().trim();
            (!it.is_empty()).then_some(it)
        };
        hit.file = text(self.file).or(hit.file);
        hit.line = text(self.line).and_then(|it| it.parse().ok()).or(hit.line);
        hit.column = text(self.column).and_then(|it| it.parse().ok()).or(hit.column);
        hit.code = text(self.code).or(hit.code);
        hit.severity = text(self.severity).map(severity).or(hit.severity);
        hit.say(text(self.message).unwrap_or_default());
    }
}

fn compile(name: &str, step: usize, of: &MatcherStep) -> Result<Regex, MatcherError> {
    let name = name.to_owned();
    if of.regexp.len() > MATCHER_PATTERN_BYTES_MAX {
        return Err(MatcherError::TooLong { name, step });
    }
    let regex = RegexBuilder::new(&of.regexp)
        .size_limit(MATCHER_COMPILED_BYTES_MAX)
        .dfa_size_limit(MATCHER_COMPILED_BYTES_MAX)
        .build();
    let regex = match regex {
        Ok(regex) => regex,
        Err(source) => {
            return Err(MatcherError::Pattern { name, step, source: Box::new(source) });
        }
    };
    let groups = regex.captures_len() - 1;
    for (field, group) in of.fields() {
        if let Some(group) = group.filter(|it| *it > groups) {
            return Err(MatcherError::Group { name, step, field, group, groups });
        }
    }
    Ok(regex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, read};

    fn matcher(json: &str) -> Result<Matcher, MatcherError> {
        Matcher::new(serde_json::from_str(json).unwrap())
    }

    fn diagnostics(matcher: Matcher, log: &str) -> Vec<String> {
        let reading = read(&Input {
            bytes: log.as_bytes(),
            exit_code: Some(1),
            matchers: &[matcher],
            ..Input::default()
        });
        let place = |it: &gate_core::Location| format!("{}:{}", it.file, it.line.unwrap_or(0));
        let told = |it: &gate_core::Diagnostic| {
            let place = it.location.as_ref().map(place).unwrap_or_default();
            let code = it.code.clone().unwrap_or_default();
            format!("{:?} {place} {code} {}", it.severity, it.message)
        };
        reading.diagnostics.iter().map(told).collect()
    }

    #[test]
    fn a_projects_own_matcher_finds_what_no_parser_knows() {
        let matcher = matcher(
            r#"{ "owner": "hdl", "pattern": [{ "regexp": "^%(Error|Warning)-(\\w+): (\\S+):(\\d+): (.+)$",
                 "severity": 1, "code": 2, "file": 3, "line": 4, "message": 5 }] }"#,
        );
        assert_eq!(
            diagnostics(
                matcher.unwrap(),
                "%Warning-WIDTH: a.v:3: wide\n%Error-PIN: b.v:7: no such pin\n"
            ),
            ["Error b.v:7 PIN no such pin", "Warning a.v:3 WIDTH wide"]
        );
    }

    #[test]
    fn a_loop_reads_the_rows_below_a_file() {
        let matcher = matcher(
            r#"{ "name": "x", "pattern": [{ "regexp": "^(\\S+\\.q)$", "file": 1 },
                 { "regexp": "^ +(\\d+): (.+)$", "line": 1, "message": 2, "loop": true }] }"#,
        );
        assert_eq!(
            diagnostics(matcher.unwrap(), "a.q\n  1: one\n  2: two\n\nb.q\n  3: three\n"),
            ["Error a.q:1  one", "Error a.q:2  two", "Error b.q:3  three"]
        );
    }

    #[test]
    fn a_matcher_that_cannot_be_used_says_why() {
        for (json, says) in [
            (r#"{ "name": " ", "pattern": [] }"#, "has no `name`"),
            (r#"{ "name": "x", "pattern": [] }"#, "has 0 patterns"),
            (
                r#"{ "name": "x", "pattern": [{ "regexp": "(?=a)", "message": 0 }] }"#,
                "no look-around",
            ),
            (
                r#"{ "name": "x", "pattern": [{ "regexp": "(a)", "message": 2 }] }"#,
                "`message` is group 2; it has the groups 1 to 1",
            ),
            (
                r#"{ "name": "x", "pattern": [{ "regexp": "a", "file": 0 }] }"#,
                "has a group for `message`",
            ),
            (r#"{ "name": "x", "severity": "bad", "pattern": [] }"#, "write `error` or `warning`"),
            (
                r#"{ "name": "x", "pattern": [{ "regexp": "(\\w{1000}){1000}", "message": 0 }] }"#,
                "bytes compiled",
            ),
            (
                r#"{ "name": "x", "pattern": [{ "regexp": "a", "message": 0, "loop": true }, { "regexp": "b" }] }"#,
                "only the last one can be",
            ),
        ] {
            let error = matcher(json).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let long = format!(
            r#"{{ "name": "x", "pattern": [{{ "regexp": "{}", "message": 0 }}] }}"#,
            "a".repeat(2000)
        );
        assert!(matcher(&long).unwrap_err().to_string().contains("is longer than"));
    }
}
