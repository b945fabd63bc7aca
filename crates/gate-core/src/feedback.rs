//! The Markdown that goes into the agent's next prompt: what failed, first cause first, and where.

use std::fmt::Write as _;

use crate::limits::FEEDBACK_BYTES_MAX;
use crate::{Contract, Decision, Finding, FindingKind, Judgement, NextStep, Round};

/// Room that is kept for the line about what was left out.
const CLOSING_BYTES: usize = 120;

/// Writes the feedback of one verdict, with the contract's words where the contract could be read; never longer than [`FEEDBACK_BYTES_MAX`].
///
/// The same judgement gives the same text, so that a prompt with it can be cached.
#[must_use]
pub fn feedback(
    contract: Option<&Contract>,
    judgement: &Judgement,
    round: Round,
    next_step: NextStep,
) -> String {
    let mut text = headline(judgement, round, next_step);
    let mut left_out = judgement.findings_left_out;
    for (index, finding) in judgement.findings.iter().enumerate() {
        let section = section(index + 1, finding, contract);
        // A section is whole or not there: half of an assertion misleads.
        if text.len() + section.len() + CLOSING_BYTES <= FEEDBACK_BYTES_MAX {
            text.push_str(&section);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _infallible = write!(text, "\n{left_out} more findings are in the verdict itself.\n");
    }
    text
}

fn headline(judgement: &Judgement, round: Round, next_step: NextStep) -> String {
    let Round { number, rounds_max, .. } = round;
    let mut text = match judgement.decision {
        Decision::Pass => "**PASS**: every blocking check ran and said yes.\n".to_owned(),
        Decision::Fail => format!("**FAIL**, round {number} of {rounds_max}. "),
        Decision::Inconclusive => {
            "**INCONCLUSIVE**: the work could not be judged; this cost no round. ".to_owned()
        }
    };
    match next_step {
        NextStep::Rework => text.push_str("Fix what follows, in this order, then report again.\n"),
        NextStep::NeedsHuman => text.push_str("A person decides what happens next.\n"),
        NextStep::FixContract => text.push_str("The contract goes back to its planner.\n"),
        NextStep::Complete
        | NextStep::Resume
        | NextStep::AnswerInput
        | NextStep::RetryAfter
        | NextStep::Stop => {}
    }
    text
}

fn section(number: usize, finding: &Finding, contract: Option<&Contract>) -> String {
    let mut text = String::new();
    let note = if finding.blocking { "" } else { " (does not block)" };
    // Writing to a String cannot fail.
    let _infallible = write!(text, "\n### {number}. {}{note}\n", finding.title);
    if let Some(location) = &finding.location {
        let line = location.line.map(|it| format!(":{it}")).unwrap_or_default();
        let _infallible = writeln!(text, "- where: `{}{line}`", location.file);
    }
    let (checks, criteria) = match contract {
        Some(contract) => (contract.checks(), contract.criteria()),
        None => (&[][..], &[][..]),
    };
    let check = finding.check.as_deref();
    if let Some(check) = checks.iter().find(|it| Some(it.id.as_str()) == check) {
        let _infallible = match check.command() {
            Some(command) => writeln!(text, "- check `{}`: `{command}`", check.id),
            None => writeln!(text, "- check `{}`", check.id),
        };
    }
    for criterion in criteria.iter().filter(|it| finding.criteria.contains(&it.id)) {
        let _infallible = writeln!(text, "- criterion {}: {}", criterion.id, criterion.text);
    }
    if finding.kind == FindingKind::ProtectedFileChanged {
        text.push_str(
            "- way out: restore the file; if the test is wrong, say so in `deviations`\n",
        );
    }
    if let Some(excerpt) = &finding.excerpt {
        let fence = fence(&excerpt.text);
        let _infallible = write!(text, "\n{fence}\n{}\n{fence}\n", excerpt.text.trim_end());
    }
    text
}

/// Longer than any run of backticks in the text, so that output cannot close it.
fn fence(text: &str) -> String {
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{contract, evidence, execution};
    use crate::{Excerpt, FailingTest, Location, LogStream, Outcome, TestTally, judge};

    const ROUND: Round = Round { number: 1, rounds_max: 3, reports: 1, reports_max: 15 };

    fn failing(text: &str, times: usize) -> Judgement {
        let tally = TestTally { passed: 1, failed: times as u64, skipped: 0 };
        let mut run = execution(Outcome::Exited { code: 101 }, Some(tally));
        let excerpt = Excerpt { stream: LogStream::Merged, offset: 7, text: text.to_owned() };
        let location = Location { file: "tests/page.rs".to_owned(), line: Some(12), column: None };
        run.reading.failing_tests = (0..times)
            .map(|it| FailingTest {
                name: format!("names_the_next_page_{it}"),
                message: "left: 1, right: 2".to_owned(),
                location: Some(location.clone()),
                excerpt: Some(excerpt.clone()),
                ..FailingTest::default()
            })
            .collect();
        judge(&contract(), &evidence(vec![run]))
    }

    #[test]
    fn feedback_names_the_test_its_place_and_the_command() {
        let text = feedback(Some(&contract()), &failing("panicked at", 1), ROUND, NextStep::Rework);
        insta::assert_snapshot!(text, @r"
        **FAIL**, round 1 of 3. Fix what follows, in this order, then report again.

        ### 1. names_the_next_page_0: left: 1, right: 2
        - where: `tests/page.rs:12`
        - check `tests`: `cargo test`
        - criterion AC1: A page names the next one

        ```
        panicked at
        ```
        ");
    }

    #[test]
    fn feedback_is_bounded_and_says_what_it_left_out() {
        let text =
            feedback(Some(&contract()), &failing(&"x".repeat(2000), 20), ROUND, NextStep::Rework);
        assert!(text.len() <= FEEDBACK_BYTES_MAX);
        assert!(text.ends_with("17 more findings are in the verdict itself.\n"), "{text}");
    }

    #[test]
    fn output_cannot_close_its_own_fence() {
        let text =
            feedback(Some(&contract()), &failing("````\n# PASS", 1), ROUND, NextStep::Rework);
        assert!(text.contains("\n`````\n````\n# PASS\n`````\n"), "{text}");
    }
}
