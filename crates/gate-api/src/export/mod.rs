//! A verdict in the formats that other tools read. Pure: the verdict's document in, text out.
//!
//! A verdict says which tests failed and not which passed, so a check that said yes is one row, and each failing test
//! of one that said no is another. What does not block never makes a row red; what is not the reporter's fault is an
//! error and not a failure, where a format knows the difference.

mod ctrf;
mod github;
mod junit;
mod sarif;
#[cfg(test)]
mod testing;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{BlameWord, ExecutionBody, FindingBody, VerdictBody};

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JUnit XML, as Jenkins, GitLab, and most others read it.
    Junit,
    /// CTRF JSON.
    Ctrf,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations as workflow commands of GitHub Actions.
    Github,
}

impl Format {
    /// What a document of it is called in HTTP.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Junit => "application/xml",
            Self::Ctrf => "application/json",
            Self::Sarif => "application/sarif+json",
            Self::Github => "text/plain; charset=utf-8",
        }
    }
}

/// Writes a verdict in this format.
#[must_use]
pub fn export(verdict: &VerdictBody, format: Format) -> String {
    match format {
        Format::Junit => junit::write(verdict),
        Format::Ctrf => ctrf::write(verdict),
        Format::Sarif => sarif::write(verdict),
        Format::Github => github::write(verdict),
    }
}

/// The findings, and what was executed, of one check.
struct Suite<'a> {
    /// The check; [`WHOLE_RUN`] for what concerns none.
    name: &'a str,
    execution: Option<&'a ExecutionBody>,
    findings: Vec<&'a FindingBody>,
}

/// The suite of findings without a check.
const WHOLE_RUN: &str = "run";

/// How red a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// The reporter's to mend.
    Failed,
    /// The contract's or the gate's.
    Error,
    /// It does not block.
    Recorded,
}

/// In the contract's order; then the checks that own no command, then the run.
fn suites(verdict: &VerdictBody) -> Vec<Suite<'_>> {
    let named = |name: &str| {
        let is_of = |it: &&FindingBody| it.check.as_deref().unwrap_or(WHOLE_RUN) == name;
        verdict.findings.iter().filter(is_of).collect::<Vec<_>>()
    };
    let mut suites: Vec<Suite<'_>> = Vec::new();
    for execution in &verdict.executions {
        let name = execution.check.as_str();
        suites.push(Suite { name, execution: Some(execution), findings: named(name) });
    }
    for finding in &verdict.findings {
        let name = finding.check.as_deref().unwrap_or(WHOLE_RUN);
        if !suites.iter().any(|it| it.name == name) {
            suites.push(Suite { name, execution: None, findings: named(name) });
        }
    }
    suites
}

fn status(finding: &FindingBody) -> Status {
    match (finding.blocking, finding.blame) {
        (false, _) => Status::Recorded,
        (true, BlameWord::Reporter) => Status::Failed,
        (true, BlameWord::Contract | BlameWord::Gate) => Status::Error,
    }
}

/// The test's name, or for want of one the finding's title.
fn name(finding: &FindingBody) -> String {
    let name = finding.test.as_ref().map_or(finding.title.as_str(), |it| it.name.as_str());
    let name = clean(name).replace(['\n', '\t'], " ");
    if name.trim().is_empty() { finding.kind.clone() } else { name }
}

/// The lines below the title: both sides of a comparison, then what shows it.
fn details(finding: &FindingBody) -> String {
    let test = finding.test.as_ref();
    let side = |name: &str, side: Option<&String>| side.map(|it| format!("{name}: {it}"));
    let expected = side("expected", test.and_then(|it| it.expected.as_ref()));
    let actual = side("actual", test.and_then(|it| it.actual.as_ref()));
    let excerpt = finding.excerpt.as_ref().map(|it| it.text.clone());
    let parts: Vec<String> = [expected, actual, excerpt].into_iter().flatten().collect();
    clean(&parts.join("\n"))
}

/// Without characters that no text has: controls other than tab and line end, and what XML 1.0 forbids.
fn clean(text: &str) -> String {
    let is_text = |it: char| match it {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        it => !it.is_control(),
    };
    let text = text.replace("\r\n", "\n");
    text.chars().map(|it| if is_text(it) { it } else { '\u{fffd}' }).collect()
}

/// From 1, as all the formats count.
fn line(finding: &FindingBody) -> Option<u32> {
    finding.location.as_ref()?.line.filter(|it| *it > 0)
}

/// The words of a command in one line.
fn command_line(execution: &ExecutionBody) -> String {
    clean(&execution.command.join(" ")).replace('\n', " ")
}

/// How it ended, as its JSON says it.
fn outcome(execution: &ExecutionBody) -> String {
    let outcome = serde_json::to_value(&execution.outcome).unwrap_or_default();
    let words =
        outcome.as_object().into_iter().flatten().map(|(name, value)| format!("{name} {value}"));
    words.collect::<Vec<_>>().join(", ")
}

/// The decision's word.
fn decision(verdict: &VerdictBody) -> &'static str {
    use crate::DecisionWord as Word;
    match verdict.decision {
        Word::Pass => "PASS",
        Word::Fail => "FAIL",
        Word::Inconclusive => "INCONCLUSIVE",
    }
}
