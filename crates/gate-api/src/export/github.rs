//! Annotations: the workflow commands that GitHub Actions reads from the output of a step.
//!
//! `::error file=F,line=L,title=T::M`. A line end in a value would begin a command of its own: values are escaped, so
//! that no output can do so. GitHub shows ten errors and ten warnings of a step; of more, the last says how many.

use super::{Status, WHOLE_RUN, clean, decision, details, line, status};
use crate::{FindingBody, VerdictBody};

/// Of one step and level.
const ANNOTATIONS_MAX: usize = 10;
/// GitHub cuts a longer title.
const TITLE_CHARACTERS_MAX: usize = 255;
/// A message; GitHub takes up to 64 KiB.
const MESSAGE_BYTES_MAX: usize = 4096;

pub(super) fn write(verdict: &VerdictBody) -> String {
    let of = |blocks: bool| {
        let is_of = move |it: &&FindingBody| (status(it) != Status::Recorded) == blocks;
        verdict.findings.iter().filter(is_of).collect::<Vec<_>>()
    };
    let (errors, warnings) = (of(true), of(false));
    let left_out = verdict.findings_left_out as usize;
    // Blocking findings come first, so what a verdict leaves out is of the level of its last one.
    let (errors_left, warnings_left) =
        if warnings.is_empty() { (left_out, 0) } else { (0, left_out) };
    let mut lines = level("error", &errors, errors_left);
    lines.extend(level("warning", &warnings, warnings_left));
    let told = format!("round {} of {}, run {}", verdict.round, verdict.rounds_max, verdict.run_id);
    lines.push(command("notice", &[("title", decision(verdict).to_owned())], &told));
    lines.push(String::new());
    lines.join("\n")
}

fn level(level: &str, findings: &[&FindingBody], left_out: usize) -> Vec<String> {
    let all = findings.len() + left_out;
    let shown = if all > ANNOTATIONS_MAX { ANNOTATIONS_MAX - 1 } else { findings.len() };
    let mut lines: Vec<String> =
        findings.iter().take(shown).map(|it| annotation(level, it)).collect();
    if all > shown {
        let more = format!("{} more findings are in the verdict", all - lines.len());
        lines.push(command(level, &[("title", "donegate".to_owned())], &more));
    }
    lines
}

fn annotation(level: &str, finding: &FindingBody) -> String {
    let mut properties = Vec::new();
    if let Some(location) = &finding.location {
        properties.push(("file", location.file.clone()));
        if let Some(line) = line(finding) {
            properties.push(("line", line.to_string()));
            let column = location.column.filter(|it| *it > 0);
            properties.extend(column.map(|it| ("col", it.to_string())));
        }
    }
    let check = finding.check.as_deref().unwrap_or(WHOLE_RUN);
    properties.push(("title", format!("{check}: {}", finding.kind.replace('_', " "))));
    let details = details(finding);
    let gap = if details.is_empty() { "" } else { "\n" };
    command(level, &properties, &format!("{}{gap}{details}", finding.title))
}

fn command(level: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<String> =
        properties.iter().map(|(name, value)| format!("{name}={}", property(value))).collect();
    let end = message.floor_char_boundary(MESSAGE_BYTES_MAX);
    format!("::{level} {}::{}", properties.join(","), data(&message[..end]))
}

fn data(text: &str) -> String {
    clean(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    let short: String = text.chars().take(TITLE_CHARACTERS_MAX).collect();
    data(&short).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{hostile, passed, verdict};

    #[test]
    fn a_finding_is_an_annotation_of_its_line() {
        insta::assert_snapshot!(write(&verdict()), @r##"
        ::error file=tests/test cursor.py,line=42,col=5,title=order-tests%3A test failed::test_page > names the next: assert None == 'o_101'%0Aexpected: 'o_101'%0Aactual: None%0AE	assert
        ::error file=docs/a.md,title=guide%3A file missing::`docs/a.md` does not exist
        ::warning title=run%3A slow::it was slow
        ::notice title=FAIL::round 1 of 3, run 01990000-0000-7000-8000-000000000002
        "##);
        insta::assert_snapshot!(write(&passed()), @"::notice title=PASS::round 1 of 3, run 01990000-0000-7000-8000-000000000002");
    }

    #[test]
    fn no_output_can_begin_a_command_of_its_own() {
        let text = write(&hostile());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines.iter().all(|it| it.starts_with("::error ") || it.starts_with("::notice ")),
            "{text}"
        );
        assert!(
            lines[0].contains("%0A%3A%3Astop-commands") || lines[0].contains("%0A::stop-commands"),
            "{text}"
        );
        assert!(!text.contains('\x1b') && !text.contains('\r'), "{text}");
        assert!(lines[0].starts_with("::error file=a%2Cb%3A%0Ac.py,line=1,title="), "{text}");
    }

    #[test]
    fn more_than_github_shows_are_counted() {
        let mut many = verdict();
        many.findings = vec![many.findings[0].clone(); 14];
        many.findings_left_out = 3;
        let text = write(&many);
        assert_eq!(text.matches("::error ").count(), ANNOTATIONS_MAX);
        assert!(
            text.contains("::error title=donegate::8 more findings are in the verdict\n"),
            "{text}"
        );
    }
}
