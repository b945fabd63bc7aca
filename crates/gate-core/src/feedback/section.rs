//! The findings, one section each: the first ones with their lines, more of them in brief.

use std::fmt::Write as _;

use super::markdown::{block, clean_line, code, shorten};
use super::{Told, WORDS_BYTES_MAX, line, named, shorten_pair};
use crate::limits::{EXCERPT_BYTES_MAX, FEEDBACK_BYTES_MAX, TITLE_BYTES_MAX};
use crate::{Finding, FindingKind, TestPhase};

/// One side of a comparison; what comes shortened already is shorter.
const COMPARED_BYTES_MAX: usize = 512;
/// Criteria that one finding names.
const CRITERIA_MAX: usize = 4;

// The first finding always has its room, beside the commands above it and the paths below it.
const _: () = assert!(
    EXCERPT_BYTES_MAX
        + TITLE_BYTES_MAX
        + 2 * COMPARED_BYTES_MAX
        + (CRITERIA_MAX + 2) * WORDS_BYTES_MAX
        + super::REPRODUCE_BYTES_MAX
        + super::FETCH_BYTES_MAX
        + 1024
        <= FEEDBACK_BYTES_MAX
);

/// As many findings as fit, the first cause first, and how many did not.
///
/// A section is whole or not there: half of an assertion misleads.
pub(super) fn sections(told: &Told<'_>, room: usize) -> (String, u32) {
    let findings = &told.judgement.findings;
    let brief: Vec<String> =
        findings.iter().enumerate().map(|(index, it)| brief(index + 1, it)).collect();
    // Half of the room for what failed, before any of it is shown in full.
    let mut used = 0;
    let mut shown = 0;
    while shown < brief.len() && (shown == 0 || used + brief[shown].len() <= room / 2) {
        used += brief[shown].len();
        shown += 1;
    }
    let mut sections: Vec<String> = Vec::new();
    for (finding, brief) in findings.iter().zip(&brief).take(shown) {
        let more = details(finding, told);
        let fits = used + more.len() <= room;
        used += if fits { more.len() } else { 0 };
        sections.push(if fits { format!("{brief}{more}") } else { brief.clone() });
    }
    for brief in &brief[shown..] {
        if used + brief.len() > room {
            break;
        }
        used += brief.len();
        sections.push(brief.clone());
    }
    let missing = u32::try_from(findings.len() - sections.len()).unwrap_or(u32::MAX);
    (sections.concat(), told.judgement.findings_left_out.saturating_add(missing))
}

/// What it is, where, and both sides of the comparison.
fn brief(number: usize, finding: &Finding) -> String {
    let note = if finding.blocking { "" } else { " (does not block)" };
    let title = shorten(&clean_line(&finding.title), TITLE_BYTES_MAX);
    let mut text = format!("\n### {number}. {title}{note}\n");
    if let Some(location) = &finding.location {
        let place = location.line.map(|it| format!(":{it}")).unwrap_or_default();
        let file = shorten(&location.file, WORDS_BYTES_MAX);
        add(&mut text, &format!("- where: {}", code(&format!("{file}{place}"))));
    }
    let Some(test) = &finding.test else { return text };
    match test.phase {
        TestPhase::Call => {}
        phase @ (TestPhase::Collection | TestPhase::Setup | TestPhase::Teardown) => {
            add(&mut text, &format!("- failed at: {}", phase.as_str()));
        }
    }
    let (expected, actual) = match (&test.expected, &test.actual) {
        (Some(expected), Some(actual)) => {
            let (expected, actual) = shorten_pair(expected, actual, COMPARED_BYTES_MAX);
            (Some(expected), Some(actual))
        }
        (expected, actual) => {
            let short =
                |it: &Option<String>| it.as_deref().map(|it| shorten(it, COMPARED_BYTES_MAX));
            (short(expected), short(actual))
        }
    };
    for (name, side) in [("expected", expected), ("actual", actual)] {
        if let Some(side) = side {
            add(&mut text, &format!("- {name}: {}", code(&side)));
        }
    }
    text
}

/// What rests on it, the way out, and the lines that show it.
fn details(finding: &Finding, told: &Told<'_>) -> String {
    let mut text = String::new();
    if let Some(check) = &finding.check {
        add(&mut text, &format!("- check: {}", named(check)));
    }
    let criteria = told.contract.map(crate::Contract::criteria).unwrap_or_default();
    for id in finding.criteria.iter().take(CRITERIA_MAX) {
        let words = criteria.iter().find(|it| it.id == *id).map(|it| it.text.as_str());
        add(&mut text, &format!("- criterion {}", line(&format!("{id}: {}", words.unwrap_or("")))));
    }
    if finding.criteria.len() > CRITERIA_MAX {
        let more = finding.criteria.len() - CRITERIA_MAX;
        add(&mut text, &format!("- and {more} more criteria"));
    }
    if finding.kind == FindingKind::ProtectedFileChanged {
        add(&mut text, "- way out: restore the file; if the test is wrong, say so in `deviations`");
    }
    if let Some(excerpt) = &finding.excerpt {
        // Writing to a String cannot fail.
        let _infallible = write!(text, "\n{}", block(&excerpt.text));
    }
    text
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
