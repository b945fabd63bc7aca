//! `go test -json`, also with the build's output as Go 1.24 and later write it.
//!
//! The events are the text of `go test -v` with names. A panic outside of a test's own goroutine gives that test no
//! last event, so what started and has no end is what failed.

use std::collections::{BTreeMap, HashMap, HashSet};

use gate_core::TestPhase;
use serde::Deserialize;

use super::json::{self, or_default};
use super::{Broken, Channel, Document, Found, Head, shown};
use crate::compare;
use crate::draft::{Counts, Draft, Failure, Problem};
use crate::limits::{BLOCK_LINES_MAX, ENTRIES_MAX, FAILING_TESTS_MAX, SUBTEST_DEPTH_MAX};
use crate::parsers::Context;
use crate::pattern::{Pattern, group, number, pattern};

/// See the module.
pub(super) const GO: Channel =
    Channel { tool: "go-test", programs: &["go", "gotestsum"], is, read };

static BUILD: Pattern = Pattern::new(|| pattern(r"^(?:vet: )?(\S+\.go):(\d+):(\d+): (.*)$"));
static LOG_LINE: Pattern = Pattern::new(|| pattern(r"^\s*(\S+\.go):(\d+): ?(.*)$"));

/// Lines of one test's output that are kept; of more, the first ones and a panic.
const OUTPUT_LINES_MAX: usize = BLOCK_LINES_MAX;
/// Bytes of one such line.
const OUTPUT_LINE_BYTES_MAX: usize = 2_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default, deserialize_with = "or_default")]
    package: String,
    #[serde(default, deserialize_with = "or_default")]
    import_path: String,
    #[serde(default, deserialize_with = "or_default")]
    test: String,
    #[serde(default, deserialize_with = "or_default")]
    output: String,
    #[serde(default, deserialize_with = "or_default")]
    failed_build: String,
}

/// One test of one package.
#[derive(Debug, Default)]
struct Test {
    order: usize,
    at: usize,
    end: Option<&'static str>,
    output: Vec<String>,
}

/// All events.
#[derive(Debug, Default)]
struct Run {
    tests: HashMap<(String, String), Test>,
    packages: BTreeMap<String, Package>,
    builds: Vec<(usize, String, String)>,
}

#[derive(Debug, Default)]
struct Package {
    at: usize,
    end: Option<&'static str>,
    is_broken: bool,
    output: Vec<String>,
}

fn is(head: &Head<'_>) -> bool {
    let first = head.text.lines().next().unwrap_or_default();
    let is_event = first.starts_with("{\"Time\":")
        || first.starts_with("{\"Action\":")
        || first.starts_with("{\"ImportPath\":");
    is_event && first.contains("\"Action\":\"")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let mut found = Found::default();
    let mut run = Run::default();
    for line in json::lines::<Event>(document.bytes).take(ENTRIES_MAX) {
        found.length = line.end;
        run.event(line.at, line.value);
    }
    if found.length == 0 {
        return Err("no line of it is an event of `go test -json`".to_owned().into());
    }
    found.draft = run.finish(document, cx);
    Ok(found)
}

fn keep(output: &mut Vec<String>, text: &str) {
    let is_panic = text.starts_with("panic: ") || text.starts_with("fatal error: ");
    if output.len() < OUTPUT_LINES_MAX || is_panic && output.len() < 2 * OUTPUT_LINES_MAX {
        output.push(crate::select::shorten(text.trim_end_matches('\n'), OUTPUT_LINE_BYTES_MAX));
    }
}

impl Run {
    fn event(&mut self, at: usize, event: Event) {
        let Event { action, package, import_path, test, output, failed_build } = event;
        let end = match action.as_str() {
            "pass" => Some("pass"),
            "fail" => Some("fail"),
            "skip" => Some("skip"),
            _ => None,
        };
        if action == "build-output" {
            self.builds.push((at, import_path, output.trim_end().to_owned()));
            return;
        }
        if package.is_empty() {
            return;
        }
        if test.is_empty() {
            let of = self.packages.entry(package).or_insert(Package { at, ..Package::default() });
            of.end = end.or(of.end);
            of.is_broken |= !failed_build.is_empty()
                || output.contains("[build failed]")
                || output.contains("[setup failed]");
            keep(&mut of.output, &output);
            return;
        }
        self.packages.entry(package.clone()).or_insert(Package { at, ..Package::default() });
        let order = self.tests.len();
        let new = || Test { order, at, ..Test::default() };
        let of = self.tests.entry((package, test)).or_insert_with(new);
        of.end = end.or(of.end);
        if action == "output" {
            keep(&mut of.output, &output);
        }
    }

    fn finish(self, document: &Document<'_>, cx: &Context<'_>) -> Draft {
        let mut draft = Draft::default();
        let module = module(self.packages.keys().map(String::as_str));
        self.builds(document, cx, &mut draft);
        let mut parents = HashSet::new();
        for (package, test) in self.tests.keys() {
            let above = test.match_indices('/').take(SUBTEST_DEPTH_MAX).map(|(at, _)| &test[..at]);
            parents.extend(above.map(|it| (package.as_str(), it)));
        }
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by_key(|it| it.1.order);
        tests.retain(|it| !parents.contains(&(it.0.0.as_str(), it.0.1.as_str())));
        let count = |end: &str| tests.iter().filter(|it| it.1.end == Some(end)).count() as u64;
        let mut counts = Counts {
            passed: Some(count("pass")),
            failed: count("fail"),
            errors: self.packages.values().filter(|it| it.is_broken).count() as u64,
            skipped: count("skip"),
        };
        for ((package, name), test) in tests {
            let of = self.packages.get(package);
            // Its package ended, and it did not: it was running when the binary died.
            let is_dead = test.end.is_none();
            if is_dead {
                draft.unfinished += u32::from(of.is_none_or(|it| it.end.is_none()));
                counts.failed += 1;
            }
            let is_failed = is_dead || test.end == Some("fail");
            if is_failed && draft.failures.len() < FAILING_TESTS_MAX {
                let directory = directory(package, &module);
                let above = of.filter(|_| is_dead).map_or(&[][..], |it| &it.output);
                draft.failures.push(failure(name, &directory, (test, above), document, cx));
            }
        }
        for (name, package) in &self.packages {
            draft.unfinished += u32::from(package.end.is_none());
            let told = || draft.failures.is_empty() && draft.problems.is_empty();
            if package.end == Some("fail") && told() {
                draft.problems.push(broken(name, package, document, cx));
            }
        }
        draft.counts = Some(counts);
        draft
    }

    fn builds(&self, document: &Document<'_>, cx: &Context<'_>, draft: &mut Draft) {
        for (at, package, line) in &self.builds {
            let Some(found) = BUILD.captures(line) else { continue };
            let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
            let cut = document.cut(*at, format!("# {package}\n{line}"));
            draft.problems.push(Problem::error(group(&found, 4), cut).at(Some(place.location)));
        }
    }
}

/// A package that failed and says neither which test nor which line: a panic in `init`, `os.Exit`.
fn broken(name: &str, package: &Package, document: &Document<'_>, cx: &Context<'_>) -> Problem {
    let text = package.output.join("\n");
    let shown = shown::read(&text, cx);
    let telling = |it: &&String| {
        !it.trim().is_empty() && !it.starts_with("FAIL") && !it.starts_with("exit status")
    };
    let message = match package.output.iter().find(telling) {
        Some(line) => line.trim().to_owned(),
        None => format!("the package {name} failed without a failing test"),
    };
    Problem::error(message, document.cut(package.at, text)).at(shown.location)
}

fn failure(
    name: &str,
    directory: &str,
    (test, above): (&Test, &[String]),
    document: &Document<'_>,
    cx: &Context<'_>,
) -> Failure {
    let is_noise = |it: &&String| {
        let text = it.trim_start();
        text.is_empty() || text.starts_with("=== ") || text.starts_with("--- ")
    };
    let lines: Vec<&str> =
        test.output.iter().chain(above).filter(|it| !is_noise(it)).map(String::as_str).collect();
    let text = lines.join("\n");
    let panic = lines.iter().position(|it| {
        it.starts_with("panic: ") || it.starts_with("fatal error: ") || *it == "WARNING: DATA RACE"
    });
    let mut failure = Failure {
        name: name.to_owned(),
        phase: TestPhase::Call,
        cut: document.cut(test.at, text.clone()),
        ..Failure::default()
    };
    let logged = || lines.iter().enumerate().find_map(|it| Some((it.0, LOG_LINE.captures(it.1)?)));
    if let Some(at) = panic {
        failure.message = lines[at].trim_end_matches(" [recovered]").to_owned();
        failure.location = shown::read(&lines[at..].join("\n"), cx).location;
    } else if let Some((at, found)) = logged() {
        let rest = lines[at + 1..].iter().take_while(|it| !LOG_LINE.is_match(it)).take(4);
        let rest: Vec<&str> = rest.map(|it| it.trim()).collect();
        failure.message = format!("{} {}", group(&found, 3), rest.join(" ")).trim().to_owned();
        let file = group(&found, 1);
        let file = if file.contains('/') { file.to_owned() } else { format!("{directory}{file}") };
        failure.location = Some(cx.paths.location(&file, number(&found, 2)));
    } else {
        failure.message = match lines.first() {
            Some(line) => line.trim().to_owned(),
            None => "it started and has no result".to_owned(),
        };
    }
    let sides = compare::in_text(&text).unwrap_or_default();
    (failure.expected, failure.actual) = (sides.expected, sides.actual);
    failure
}

/// The import path of the module, as far as the packages show it.
fn module<'a>(packages: impl Iterator<Item = &'a str>) -> String {
    let packages: Vec<&str> = packages.collect();
    let first = packages.first().copied().unwrap_or_default();
    let known = if first.split('/').next().is_some_and(|it| {
        matches!(it, "github.com" | "gitlab.com" | "bitbucket.org" | "codeberg.org")
    }) {
        3
    } else if first.split('/').next().is_some_and(|it| it.contains('.')) {
        2
    } else {
        1
    };
    let parts: Vec<&str> = first.split('/').take(known).collect();
    let mut module = parts.join("/");
    // `…/v2` is a part of the module's own path.
    let is_version = |it: &str| it.strip_prefix('v').is_some_and(|it| it.parse::<u32>().is_ok());
    if let Some(next) = first.split('/').nth(known).filter(|it| is_version(it)) {
        module = format!("{module}/{next}");
    }
    // A name without a host may have any length: what all packages share is the best guess.
    if known == 1 && packages.len() > 1 {
        let shared = |it: &str| {
            packages.iter().all(|package| *package == it || package.starts_with(&format!("{it}/")))
        };
        let ends = first.match_indices('/').map(|(at, _)| at).chain([first.len()]);
        // The longest that they share.
        let shared = ends.map(|at| &first[..at]).filter(|it| shared(it));
        module = shared.max_by_key(|it| it.len()).unwrap_or(&module).to_owned();
    }
    module
}

/// Of a package, below the module, with its slash.
fn directory(package: &str, module: &str) -> String {
    let package = package.trim_end_matches("_test");
    match package.strip_prefix(module).map(|it| it.trim_start_matches('/')) {
        Some("") | None => String::new(),
        Some(rest) => format!("{rest}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_stands_in_its_directory_below_the_module() {
        for (packages, package, below) in [
            (&["example.com/demo/a"][..], "example.com/demo/a", "a/"),
            (&["github.com/o/r/v2/x/y"], "github.com/o/r/v2/x/y", "x/y/"),
            (&["demo/a", "demo/b"], "demo/b", "b/"),
            (&["demo"], "demo", ""),
        ] {
            assert_eq!(directory(package, &module(packages.iter().copied())), below);
        }
    }
}
