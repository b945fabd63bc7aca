//! Puts together what several readers say of the same run: the text of the log, and machine-readable documents.
//!
//! A document names tests better than text, and text shows them better. Its figures count where the log has none, or
//! where they are no better: a file may be left over from an earlier run, or written by a test. A runner that always
//! prints its figures must have printed them: a test can write a file and end the process, whose log is silent then.

use std::collections::{HashMap, VecDeque};

use crate::draft::{Counts, Draft, Failure, Problem};
use crate::select::Cut;

/// What one reader found.
#[derive(Debug)]
pub(crate) struct Part {
    /// Empty where it is not known.
    pub(crate) tool: &'static str,
    pub(crate) draft: Draft,
    pub(crate) source: Source,
}

/// Where a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Text {
        /// Whether the words of the command run the tool, and so that it ends with its figures.
        tells_figures: bool,
    },
    /// A machine-readable file.
    File,
    /// The same in the log; not its own tool's where a test may have printed it.
    Printed { is_own: bool },
}

/// All parts as one. Whether the words of the command name all that it runs, and each of it prints its figures: then
/// the files of other tools have none that count.
pub(crate) fn combine(parts: Vec<Part>, is_closed: bool) -> Draft {
    let (mut machine, mut text): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|it| !matches!(it.source, Source::Text { .. }));
    let mut distrusted: Vec<Problem> = distrust(&mut machine, &text).into_iter().collect();
    // Where a runner speaks for itself, what looks like another one's document is what its tests printed.
    if text.iter().any(|it| it.draft.counts.is_some()) {
        let is_stray = |it: &Part| {
            it.source == Source::Printed { is_own: false }
                && text.iter().all(|text| text.tool != it.tool)
        };
        machine.retain(|it| !is_stray(it) || it.draft.counts.is_none());
    }
    let mut all: Vec<Part> = Vec::new();
    for mut group in by_tool(machine) {
        let partner = partner(&group, &text);
        let is_foreign = partner.is_none() && is_closed && group.source == Source::File;
        if let Some(counts) = group.draft.counts.take_if(|_| is_foreign) {
            let told = figures(counts);
            let message = format!("{told} in a file of a tool that was not run do not count");
            distrusted.push(Problem::note(message, Cut::default()));
        }
        match partner {
            Some(at) => all.push(Part {
                draft: join(text.remove(at).draft, group.draft),
                ..group_of(group.tool, group.source)
            }),
            None => all.push(group),
        }
    }
    all.extend(text);
    let mut found = Draft::default();
    all.into_iter().for_each(|it| merge(&mut found, it));
    found.problems.extend(distrusted);
    found
}

/// Takes the figures from all files where a runner did not print its own; says so.
fn distrust(machine: &mut [Part], text: &[Part]) -> Option<Problem> {
    let has_printed = |it: &Part| it.source != Source::File && it.draft.counts.is_some();
    let told: Vec<&str> = machine.iter().filter(|it| has_printed(it)).map(|it| it.tool).collect();
    let is_silent = |it: &&Part| {
        it.source == Source::Text { tells_figures: true }
            && (it.draft.counts.is_none() || it.draft.unfinished > 0)
            && !told.contains(&it.tool)
    };
    let silent = text.iter().find(is_silent)?;
    let files = machine.iter_mut().filter(|it| it.source == Source::File);
    let taken = files.filter_map(|it| it.draft.counts.take()).reduce(Counts::plus)?;
    let message = format!(
        "{} in machine-readable files do not count: `{}` prints its own figures when it ends, and the log lacks them",
        figures(taken),
        silent.tool
    );
    Some(Problem::note(message, Cut::default()))
}

fn group_of(tool: &'static str, source: Source) -> Part {
    Part { tool, draft: Draft::default(), source }
}

/// The documents of one tool are one: a build writes a file for each class.
fn by_tool(parts: Vec<Part>) -> Vec<Part> {
    let mut groups: Vec<Part> = Vec::new();
    for part in parts {
        let Some(group) = groups.iter_mut().find(|it| it.tool == part.tool) else {
            groups.push(part);
            continue;
        };
        if let Some(counts) = part.draft.counts {
            group.draft.add_counts(counts);
        }
        group.draft.unfinished = group.draft.unfinished.saturating_add(part.draft.unfinished);
        group.draft.left_out = group.draft.left_out.saturating_add(part.draft.left_out);
        group.draft.failures.extend(part.draft.failures);
        group.draft.problems.extend(part.draft.problems);
    }
    groups
}

/// The text of the same tool; for a document that names no tool, the one that speaks of tests.
fn partner(group: &Part, text: &[Part]) -> Option<usize> {
    let has_tests = |it: &Draft| it.counts.is_some() || !it.failures.is_empty();
    let same = text.iter().position(|it| it.tool == group.tool && !it.tool.is_empty());
    let mut tested = text.iter().enumerate().filter(|it| has_tests(&it.1.draft)).map(|it| it.0);
    let lone = tested.next().filter(|_| tested.next().is_none());
    same.or_else(|| lone.filter(|_| group.tool.is_empty() && has_tests(&group.draft)))
}

fn join(text: Draft, machine: Draft) -> Draft {
    let mut joined = Draft { tool: text.tool.or(machine.tool), ..Draft::default() };
    joined.unfinished = text.unfinished.max(machine.unfinished);
    joined.left_out = text.left_out.saturating_add(machine.left_out);
    let (counts, is_believed) = counts(text.counts, machine.counts);
    joined.counts = counts;
    joined.problems = problems(text.problems, machine.problems);
    if is_believed {
        joined.failures = failures(text.failures, machine.failures);
    } else {
        joined.failures = text.failures;
        let told = |it: Option<Counts>| it.map(figures).unwrap_or_default();
        let message = format!(
            "a machine-readable document says {}, the log says {}: the log is believed",
            told(machine.counts),
            told(text.counts)
        );
        joined.problems.push(Problem::note(message, Cut::default()));
    }
    joined
}

fn figures(counts: Counts) -> String {
    let passed = counts.passed.map(|it| format!("{it} passed, ")).unwrap_or_default();
    format!("{passed}{} failed", counts.failed.saturating_add(counts.errors))
}

/// The figures, and whether the document is believed: never to make a run look better than its log.
fn counts(text: Option<Counts>, machine: Option<Counts>) -> (Option<Counts>, bool) {
    let (Some(log), Some(file)) = (text, machine) else { return (text.or(machine), true) };
    let bad = |it: Counts| it.failed.saturating_add(it.errors);
    let is_better = bad(file) < bad(log) || log.passed.is_some_and(|it| file.passed > Some(it));
    // Where both know as many failures, the runner's own summary is as it counts.
    let is_worse = bad(file) > bad(log) || log.passed.is_none();
    if is_worse && !is_better && file.passed.is_some() {
        (Some(file), true)
    } else {
        (Some(log), !is_better)
    }
}

/// A document's problems stand for the text's at the same places.
fn problems(text: Vec<Problem>, machine: Vec<Problem>) -> Vec<Problem> {
    let place = |it: &Problem| it.location.as_ref().map(|it| (it.file.clone(), it.line));
    let known: std::collections::HashSet<_> = machine.iter().filter_map(place).collect();
    let mut all = machine;
    all.extend(text.into_iter().filter(|it| place(it).is_none_or(|it| !known.contains(&it))));
    all
}

fn failures(text: Vec<Failure>, machine: Vec<Failure>) -> Vec<Failure> {
    if machine.is_empty() {
        return text;
    }
    let mut waiting: HashMap<String, VecDeque<Failure>> = HashMap::new();
    let (in_text, in_machine) = (text.len(), machine.len());
    for failure in text {
        waiting.entry(short(&failure.name)).or_default().push_back(failure);
    }
    let mut all: Vec<Failure> = Vec::with_capacity(in_machine);
    for failure in machine {
        let shown = waiting.get_mut(&short(&failure.name)).and_then(VecDeque::pop_front);
        all.push(match shown {
            Some(shown) => complete(failure, shown),
            None => failure,
        });
    }
    // Files that could not be loaded have no test in most formats.
    if in_text > in_machine {
        let mut left: Vec<Failure> = waiting.into_values().flatten().collect();
        left.sort_by_key(|it| it.cut.range.start);
        all.extend(left);
    }
    all
}

/// What a name ends with, whatever joins its parts.
fn short(name: &str) -> String {
    let brackets = name.find(['[', '(']).unwrap_or(name.len());
    let (path, parameters) = name.split_at(brackets);
    let after = |it: &str| path.rfind(it).map_or(0, |at| at + it.len());
    let start = ["::", " > ", " › ", "#", ".", " "].iter().map(|it| after(it)).max().unwrap_or(0);
    format!("{}{parameters}", &path[start.min(path.len())..])
}

/// The name as the runner prints it, the lines and the place from the text, the rest from the document.
fn complete(document: Failure, text: Failure) -> Failure {
    let is_cut = text.name.ends_with("...") || text.name.ends_with('…');
    let has_line = |it: &Failure| it.location.as_ref().is_some_and(|it| it.line.is_some());
    let location = if has_line(&text) || !has_line(&document) {
        text.location.or(document.location)
    } else {
        document.location
    };
    Failure {
        name: if is_cut { document.name } else { text.name },
        phase: document.phase.min(text.phase),
        message: if text.message.len() > document.message.len() || document.message.is_empty() {
            text.message
        } else {
            document.message
        },
        expected: document.expected.or(text.expected),
        actual: document.actual.or(text.actual),
        location,
        cut: if text.cut.is_empty() { document.cut } else { text.cut },
    }
}

/// The first tool that says something gives its name, one that says why it failed before all.
fn merge(found: &mut Draft, part: Part) {
    let Part { tool, draft, .. } = part;
    let is_telling = draft.counts.is_some() || draft.unfinished > 0 || draft.has_error();
    let name = draft.tool.or((!tool.is_empty()).then_some(tool));
    let explains = draft.has_cause();
    if found.tool.is_none() || (is_telling && !found.has_cause() && explains) {
        found.tool = name.or(found.tool);
    }
    if let Some(counts) = draft.counts {
        found.add_counts(counts);
    }
    found.unfinished = found.unfinished.saturating_add(draft.unfinished);
    found.left_out = found.left_out.saturating_add(draft.left_out);
    found.failures.extend(draft.failures);
    found.problems.extend(draft.problems);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(tool: &'static str, source: Source, passed: u64, failed: &[&str]) -> Part {
        let failure = |it: &&str| Failure { name: (*it).to_owned(), ..Failure::default() };
        let counts = Counts { passed: Some(passed), failed: failed.len() as u64, ..Counts::NONE };
        let failures = failed.iter().map(failure).collect();
        let draft = Draft { counts: Some(counts), failures, ..Draft::default() };
        Part { tool, draft, source }
    }

    const FILE: Source = Source::File;
    const TEXT: Source = Source::Text { tells_figures: true };

    fn told(parts: Vec<Part>) -> (Option<u64>, u64, Vec<String>) {
        let all = combine(parts, false);
        let counts = all.counts.unwrap();
        (counts.passed, counts.failed, all.failures.into_iter().map(|it| it.name).collect())
    }

    #[test]
    fn a_document_and_the_text_of_one_run_count_once() {
        let parts =
            vec![part("", FILE, 3, &["a.test_b"]), part("pytest", TEXT, 3, &["a.py::test_b"])];
        assert_eq!(told(parts), (Some(3), 1, vec!["a.py::test_b".to_owned()]));
    }

    #[test]
    fn a_document_that_looks_better_than_its_log_is_not_believed() {
        let parts = vec![part("jest", FILE, 9, &[]), part("jest", TEXT, 1, &["x"])];
        assert_eq!(told(parts), (Some(1), 1, vec!["x".to_owned()]));
    }

    #[test]
    fn a_document_that_a_test_may_have_printed_does_not_count() {
        let printed = Source::Printed { is_own: false };
        let parts = vec![part("tap", printed, 9, &[]), part("jest", TEXT, 1, &[])];
        assert_eq!(told(parts), (Some(1), 0, vec![]));
    }

    #[test]
    fn the_documents_of_two_tools_add_up() {
        let parts = vec![part("jest", FILE, 1, &["a"]), part("go-test", FILE, 2, &["b"])];
        assert_eq!(told(parts), (Some(3), 2, vec!["a".to_owned(), "b".to_owned()]));
    }
}
