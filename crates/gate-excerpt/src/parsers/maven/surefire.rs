//! The tests of surefire and failsafe, of all their versions.

use std::collections::HashSet;

use super::split;
use crate::draft::{Counts, Draft, Failure};
use crate::parsers::java::trace;
use crate::parsers::{Context, lines};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// Of one class with `Time elapsed`, of all without.
static TALLY: Pattern = Pattern::new(|| {
    pattern(
        r"^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?(, Time elapsed: .*?(?: in (\S+))?)?$",
    )
});
/// `addsTwo(demo.CalcTest)  Time elapsed: 0.15 s  <<< FAILURE!`; since 3.0 `demo.CalcTest.addsTwo -- Time elapsed: …`.
static FAILED: Pattern = Pattern::new(|| {
    pattern(
        r"^(\S.*?)(?:\(([\w.$]+)\))?\s+(?:-- )?Time elapsed: [\d.,]+ \w+\s+<<< (?:FAILURE|ERROR)!\s*$",
    )
});
/// `  CalcTest.addsTwo:10->helper:33 sum expected:<5> but was:<-1>`
static LISTED: Pattern = Pattern::new(|| {
    pattern(r"^  ([\w$]+)(?:>[\w$]+)?\.([\w$]+)(\S*?)?:(\d+)(?:->[\w$.<>]+:(\d+))* ?(?:» )?(.*)$")
});

/// The tests of one plugin's run in one module.
#[derive(Debug, Default)]
struct Section {
    total: Option<Counts>,
    running: Vec<String>,
}

/// Fed line by line.
#[derive(Debug, Default)]
pub(super) struct Surefire {
    sections: Vec<Section>,
    failures: Vec<Failure>,
    listed: Vec<Failure>,
    flaky: HashSet<String>,
    /// The class whose tally was printed last.
    class: String,
    list: List,
    nothing: bool,
    crashed: bool,
}

#[derive(Debug, Default, PartialEq)]
enum List {
    #[default]
    None,
    Failed,
    Flaky,
}

impl Surefire {
    pub(super) fn line(&mut self, cx: &Context<'_>, index: usize, line: &str) {
        let (level, text) = split(line);
        if text == " T E S T S" {
            self.sections.push(Section::default());
        } else if text == "No tests to run." || text == "Tests are skipped." {
            self.nothing = true;
        } else if let Some(class) = text.strip_prefix("Running ") {
            if let Some(section) = self.sections.last_mut() {
                section.running.push(class.to_owned());
            }
        } else if text.starts_with("Tests run: ") {
            self.tally(text);
        } else if text.contains("<<< ")
            && let Some(found) = FAILED.captures(text)
        {
            let failure = self.failure(cx, index, &found);
            self.failures.push(failure);
        } else if level == "ERROR"
            && (text.contains("forked VM terminated") || text.starts_with("Crashed tests:"))
        {
            self.crashed = true;
        } else {
            self.listed(cx, index, level, text);
        }
    }

    fn tally(&mut self, text: &str) {
        let Some(found) = TALLY.captures(text) else { return };
        let figure = |it: usize| lines::count(group(&found, it));
        self.list = List::None;
        if found.get(5).is_some() {
            self.class = group(&found, 6).to_owned();
            let Some(section) = self.sections.last_mut() else { return };
            match section.running.iter().position(|it| *it == self.class) {
                Some(at) => drop(section.running.remove(at)),
                // Old versions do not name the class.
                None => self.class = section.running.pop().unwrap_or_default(),
            }
            return;
        }
        let (run, failed, errors, skipped) = (figure(1), figure(2), figure(3), figure(4));
        let passed = run.saturating_sub(failed).saturating_sub(errors).saturating_sub(skipped);
        let counts = Counts { passed: Some(passed), failed, errors, skipped };
        // With `-q` no heading is printed.
        if self.sections.is_empty() {
            self.sections.push(Section::default());
        }
        // What is printed last in a section is surefire's own, after all that tests printed.
        if let Some(section) = self.sections.last_mut() {
            section.total = Some(counts);
        }
    }

    fn failure(&self, cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Failure {
        let method = group(found, 1);
        let name = match found.get(2) {
            Some(class) => format!("{}.{method}", class.as_str()),
            None if method.contains('.') || self.class.is_empty() => method.to_owned(),
            None => format!("{}.{method}", self.class),
        };
        let trace = trace::read(cx, index + 1, cx.log.len());
        let mut cut = trace.cut;
        cut.range.start = index;
        cut.keys.insert(0, index);
        Failure {
            name,
            message: trace.message,
            location: trace.location,
            cut,
            ..Failure::default()
        }
    }

    /// The list at the end, for what was not told before.
    fn listed(&mut self, cx: &Context<'_>, index: usize, level: &str, text: &str) {
        match text.trim_end() {
            "Failures:" | "Errors:" | "Failed tests:" | "Tests in error:" => {
                self.list = List::Failed;
            }
            "Flakes:" => self.list = List::Flaky,
            _ if level.is_empty() => {}
            name if self.list == List::Flaky && !name.starts_with(' ') && !name.is_empty() => {
                self.flaky.insert(name.to_owned());
            }
            _ if self.list == List::Failed => {
                let Some(found) = LISTED.captures(text) else { return };
                let file = format!("{}.java", group(&found, 1).split('$').next().unwrap_or(""));
                self.listed.push(Failure {
                    name: format!("{}.{}{}", group(&found, 1), group(&found, 2), group(&found, 3)),
                    message: group(&found, 6).to_owned(),
                    location: Some(cx.paths.location(&file, number(&found, 4))),
                    cut: Cut::line(index),
                    ..Failure::default()
                });
            }
            _ => {}
        }
    }

    pub(super) fn finish(self, draft: &mut Draft) {
        let Self { sections, mut failures, listed, flaky, nothing, crashed, .. } = self;
        for section in &sections {
            match section.total {
                Some(counts) => draft.add_counts(counts),
                None => draft.unfinished += 1,
            }
            let died = crashed && section.total.is_some() && !section.running.is_empty();
            draft.unfinished += u32::from(died);
        }
        if sections.is_empty() && nothing {
            draft.add_counts(Counts::NONE);
        }
        if failures.is_empty() {
            failures = listed;
        }
        // A test that passed at last did not fail, and one that was run again failed once.
        let mut seen = HashSet::new();
        failures.retain(|it| !flaky.contains(&it.name) && seen.insert(it.name.clone()));
        // A class that could not be initialised fails all later tests in another way.
        failures.sort_by_key(|it| it.message.contains("Could not initialize class"));
        draft.failures = failures;
    }
}
