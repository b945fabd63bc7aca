//! The failing tests: their ids from the short summary, what happened from their blocks.

use std::collections::{HashMap, HashSet, VecDeque};

use gate_core::TestPhase;

use super::block::{self, Block};
use super::session::{Section, SectionKind};
use crate::draft::Failure;
use crate::parsers::Context;
use crate::parsers::python::Cause;
use crate::pattern::{Pattern, group, pattern};
use crate::select::Cut;

/// A log line of level ERROR has more than one blank.
static ENTRY: Pattern =
    Pattern::new(|| pattern(r"^(FAILED|ERROR|SUBFAILED|SUBFAIL)(?: |[\[(])(.*)$"));
/// The title of a subtest's block: its test, then its message and its values.
static SUBTEST: Pattern = Pattern::new(|| pattern(r"^([^\[ ]+(?:\[.*?\])?) [\[(].*[\])]$"));
static PROGRESS: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) (\S.*?)\s*|(\S+::.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?)$",
    )
});

/// A line of the short summary.
#[derive(Debug)]
struct Entry<'t> {
    index: usize,
    is_error: bool,
    id: &'t str,
    message: &'t str,
}

/// Blocks that wait for their test, in order.
type Waiting<'t> = HashMap<String, VecDeque<Block<'t>>>;

/// The failing tests, errors at set-up and collection among them.
pub(super) fn failures(cx: &Context<'_>, sections: &[Section]) -> Vec<Failure> {
    let of = |kind| sections.iter().filter(move |it| it.kind == kind).map(|it| it.range.clone());
    let mut failed = Waiting::new();
    let mut errors = Waiting::new();
    let mut one_liners = VecDeque::new();
    let mut order = Vec::new();
    for range in of(SectionKind::Errors) {
        for block in block::blocks(cx, range) {
            order.push((true, key_of_title(block.title)));
            errors.entry(key_of_title(block.title)).or_default().push_back(block);
        }
    }
    for range in of(SectionKind::Failures) {
        let blocks = block::blocks(cx, range.clone());
        if blocks.is_empty() {
            one_liners.extend(block::one_liners(cx, range));
        }
        for block in blocks {
            order.push((false, key_of_title(block.title)));
            failed.entry(key_of_title(block.title)).or_default().push_back(block);
        }
    }
    let entries: Vec<Entry<'_>> =
        of(SectionKind::Summary).flat_map(|it| cx.lines_in(it)).filter_map(entry).collect();
    if entries.is_empty() {
        return without_summary(cx, order, &mut failed, &mut errors);
    }
    let files = files_by_suffix(errors.keys());
    let mut seen = HashSet::new();
    let mut failures = Vec::new();
    for entry in &entries {
        let waiting = if entry.is_error { &mut errors } else { &mut failed };
        let mut key = key_of_id(entry.id);
        if entry.is_error && !waiting.contains_key(&key) {
            key = file_like(&key, &files).unwrap_or(key);
        }
        let block = waiting.get_mut(&key).and_then(VecDeque::pop_front);
        // What passed although it must not has no line of its own.
        let start = entry.message.trim_end_matches("...");
        let one_liner = one_liners
            .pop_front_if(|(_, cause)| !entry.is_error && cause.message.starts_with(start));
        // A test that fails and whose teardown errs too is one test.
        if seen.insert(entry.id) {
            failures.push(failure(cx, entry, block, one_liner));
        }
    }
    failures
}

/// The files that could not be collected, by each end of their paths; an end that two share leads nowhere.
fn files_by_suffix<'k>(keys: impl Iterator<Item = &'k String>) -> HashMap<String, Option<String>> {
    let mut files = HashMap::new();
    for key in keys.filter(|it| it.ends_with(".py")) {
        for end in path_ends(key) {
            files
                .entry(end.to_owned())
                .and_modify(|it| *it = None)
                .or_insert_with(|| Some(key.clone()));
        }
    }
    files
}

/// A title has the path from pytest's root directory, the short summary that from where it was started.
fn file_like(key: &str, files: &HashMap<String, Option<String>>) -> Option<String> {
    let key = key.trim_start_matches("../");
    let found = path_ends(key).find_map(|end| files.get(end))?.as_ref()?;
    (found.ends_with(key) || key.ends_with(found.as_str())).then(|| found.clone())
}

/// The path, and what follows each of its first separators.
fn path_ends(path: &str) -> impl Iterator<Item = &str> {
    let after = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path).chain(after.take(PATH_DEPTH_MAX))
}

/// Directories of a path that are looked at.
const PATH_DEPTH_MAX: usize = 30;

fn entry<'t>((index, line): (usize, &'t str)) -> Option<Entry<'t>> {
    if !line.starts_with(['F', 'E', 'S']) {
        return None;
    }
    let found = ENTRY.captures(line)?;
    let status = found.get(1)?.as_str();
    let rest = line[status.len()..].trim_start();
    let rest = if status.starts_with("SUB") { without_description(rest) } else { rest };
    let (id, message) = split_id(rest);
    Some(Entry { index, is_error: status == "ERROR", id, message })
}

/// Of a subtest, its message and its values stand before the id: `[num] (i=1) a.py::test_a`.
fn without_description(text: &str) -> &str {
    let mut text = text;
    for (open, close) in [('[', "] "), ('(', ") ")] {
        let inner = text.strip_prefix(open);
        if let Some((_, rest)) = inner.and_then(|it| it.split_once(close)) {
            text = rest.trim_start();
        }
    }
    text
}

/// An id may hold ` - ` in its brackets.
fn split_id(text: &str) -> (&str, &str) {
    let whole = |id: &str| !id.contains('[') || id.ends_with(']');
    let ends = text.match_indices(" - ").map(|(at, _)| (&text[..at], &text[at + 3..]));
    let mut ends = ends.take(100);
    let first = ends.clone().next();
    ends.find(|it| whole(it.0)).or(first).unwrap_or((text.trim_end(), ""))
}

/// `tests/a.py::TestA::test_b[x::y]` has the title `TestA.test_b[x::y]`; a file that was collected, its path.
fn key_of_id(id: &str) -> String {
    let Some((_, path)) = id.split_once("::") else { return id.to_owned() };
    let parameters = path.find('[').unwrap_or(path.len());
    format!("{}{}", path[..parameters].replace("::", "."), &path[parameters..])
}

fn key_of_title(title: &str) -> String {
    let prefixes = ["ERROR collecting ", "ERROR at setup of ", "ERROR at teardown of "];
    let title = prefixes.iter().find_map(|it| title.strip_prefix(it)).unwrap_or(title);
    SUBTEST.captures(title).map_or(title, |it| it.get(1).map_or(title, |it| it.as_str())).to_owned()
}

fn failure(
    cx: &Context<'_>,
    entry: &Entry<'_>,
    block: Option<Block<'_>>,
    one_liner: Option<(usize, Cause)>,
) -> Failure {
    let title = block.as_ref().map_or("", |it| it.title);
    let phase = phase(title, entry.is_error, entry.id);
    let (cause, range) = match (block, one_liner) {
        (Some(block), _) => block::read(cx, block.range),
        (None, Some((index, cause))) => (Some(cause), index.saturating_sub(1)..index + 1),
        (None, None) => (None, entry.index..entry.index + 1),
    };
    let file = entry.id.split("::").next().unwrap_or(entry.id);
    let of_file = || Some(cx.paths.location(file, None));
    let name = entry.id.to_owned();
    match cause {
        Some(Cause { message, location, keys }) => Failure {
            name,
            phase,
            message,
            location: location.or_else(of_file),
            cut: Cut::new(range, keys),
            ..Failure::default()
        },
        None => {
            let keys = vec![range.start];
            let cut = Cut::new(range, keys);
            let message = entry.message.to_owned();
            Failure { name, phase, message, location: of_file(), cut, ..Failure::default() }
        }
    }
}

/// From the title of its block; without one, an error is that of a file or of a fixture.
fn phase(title: &str, is_error: bool, id: &str) -> TestPhase {
    if title.starts_with("ERROR at teardown of ") {
        TestPhase::Teardown
    } else if title.starts_with("ERROR collecting ") || (is_error && !id.contains("::")) {
        TestPhase::Collection
    } else if is_error {
        TestPhase::Setup
    } else {
        TestPhase::Call
    }
}

/// A run that was told to print no short summary, or that died before it.
fn without_summary<'a>(
    cx: &Context<'a>,
    order: Vec<(bool, String)>,
    failed: &mut Waiting<'a>,
    errors: &mut Waiting<'a>,
) -> Vec<Failure> {
    if order.is_empty() {
        return from_progress(cx);
    }
    let mut failures = Vec::new();
    let mut seen = HashSet::new();
    for (is_error, key) in order {
        let waiting = if is_error { &mut *errors } else { &mut *failed };
        let Some(block) = waiting.get_mut(&key).and_then(VecDeque::pop_front) else { continue };
        // A test whose subtests failed, or whose teardown errs too, is one test.
        if !seen.insert(key.clone()) {
            continue;
        }
        let phase = phase(block.title, is_error, &key);
        let (cause, range) = block::read(cx, block.range);
        let cause = cause.unwrap_or(Cause { message: String::new(), location: None, keys: vec![] });
        let file = cause.location.as_ref().map(|it| it.file.as_str());
        let name = match file {
            Some(file) if !key.contains('/') => format!("{file}::{}", key.replace('.', "::")),
            Some(_) | None => key,
        };
        let cut = Cut::new(range, cause.keys);
        let Cause { message, location, .. } = cause;
        failures.push(Failure { name, phase, message, location, cut, ..Failure::default() });
    }
    failures
}

fn from_progress(cx: &Context<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (index, line) in cx.lines() {
        let Some(found) = PROGRESS.captures(line) else { continue };
        let name = format!("{}{}", group(&found, 1), group(&found, 2));
        let file = name.split("::").next().unwrap_or_default().to_owned();
        let location = Some(cx.paths.location(&file, None));
        failures.push(Failure {
            name,
            message: String::new(),
            location,
            cut: Cut::line(index),
            ..Failure::default()
        });
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_ends_where_its_brackets_do() {
        for (line, id, message) in [
            ("a.py::test_x - assert 1 == 2", "a.py::test_x", "assert 1 == 2"),
            ("a.py::test_x[a - b] - assert - no", "a.py::test_x[a - b]", "assert - no"),
            ("a.py::test_x[a [b] :: c-d]", "a.py::test_x[a [b] :: c-d]", ""),
            ("tests/test_a.py", "tests/test_a.py", ""),
        ] {
            assert_eq!(split_id(line), (id, message));
        }
    }

    #[test]
    fn a_subtest_is_known_by_its_test() {
        for (line, id) in [
            ("SUBFAILED[num] (i=1) a.py::test_x - assert 0", "a.py::test_x"),
            ("SUBFAILED[a message] a.py::test_x[p q] - assert 0", "a.py::test_x[p q]"),
            ("SUBFAILED(i='1') a.py::TestA::test_x - no", "a.py::TestA::test_x"),
            ("SUBFAIL a.py::test_x - assert 0", "a.py::test_x"),
        ] {
            assert_eq!(entry((0, line)).map(|it| it.id), Some(id), "{line}");
        }
        assert_eq!(key_of_title("test_x [num] (i=1)"), "test_x");
        assert_eq!(key_of_title("test_x[a (b) c]"), "test_x[a (b) c]");
    }

    #[test]
    fn a_file_is_known_by_the_end_of_its_path() {
        let keys = ["pkg/tests/test_c.py", "t/test_d.py", "a/x/test_e.py", "b/x/test_e.py"];
        let keys = keys.map(str::to_owned);
        let files = files_by_suffix(keys.iter());
        for (id, file) in [
            ("tests/test_c.py", Some("pkg/tests/test_c.py")),
            ("sub/t/test_d.py", Some("t/test_d.py")),
            ("../t/test_d.py", Some("t/test_d.py")),
            ("u/test_d.py", None),
            ("x/test_e.py", None),
            ("c_test_d.py", None),
        ] {
            assert_eq!(file_like(id, &files).as_deref(), file, "{id}");
        }
    }

    #[test]
    fn a_title_belongs_to_its_id() {
        assert_eq!(key_of_id("t/a.py::TestA::test_b[x::y.z]"), "TestA.test_b[x::y.z]");
        assert_eq!(key_of_title("ERROR at setup of TestA.test_b"), "TestA.test_b");
        assert_eq!(key_of_title("ERROR collecting t/a.py"), key_of_id("t/a.py"));
    }
}
