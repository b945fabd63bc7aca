//! Reads a piece of text whose form is not known, such as what a document keeps of a failure: what it says, and where.

use std::ops::Range;

use gate_core::Location;

use super::{Context, fallback, js, panics, pytest, python};
use crate::pattern::{Pattern, group, number, pattern};

/// `at demo.CalcTest.adds(CalcTest.java:12)`.
static JAVA_FRAME: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*at (?:[\w.@/-]+/)?((?:[a-z_]\w*\.)*)[\w$]+\.[\w$<>]+\(([\w$]+\.(?:java|kt|scala|groovy)):(\d+)\)$",
    )
});
/// Packages of the language, its test runners, and what reflects.
const JAVA_LIBRARIES: [&str; 16] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "kotlin.",
    "scala.",
    "org.junit.",
    "junit.",
    "org.testng.",
    "org.hamcrest.",
    "org.assertj.",
    "org.opentest4j.",
    "org.mockito.",
    "org.apache.maven.",
    "org.gradle.",
    "com.sun.",
];

/// What the text says, where that is not simply its first line, and where.
pub(crate) fn text_place(cx: &Context<'_>) -> (Option<String>, Option<Location>) {
    let whole = 0..cx.log.len();
    if let Some(panic) = panics::first(cx, whole.clone()) {
        let location = panic.place.is_own.then_some(panic.place.location);
        return (Some(panic.message), location);
    }
    let has = |with: &str| cx.log.slice(whole.clone()).any(|it| it.1.contains(with));
    if has("File \"") || has("E   ") {
        let traceback = python_traceback(cx).or_else(|| pytest::cause(cx, whole.clone()));
        if let Some((message, location)) = traceback {
            return (Some(message), location);
        }
    }
    (None, place_in(cx, whole))
}

fn python_traceback(cx: &Context<'_>) -> Option<(String, Option<Location>)> {
    let start = cx.log.slice(0..cx.log.len()).find(|it| it.1.starts_with(python::HEADER))?.0;
    let cause = python::traceback(cx, start, cx.log.len(), |it| it)?.0.cause()?;
    Some((cause.message, cause.location))
}

/// The first place in the project's own files, in a stack or else anywhere.
pub(crate) fn place_in(cx: &Context<'_>, lines: Range<usize>) -> Option<Location> {
    let own = js::own_frame(cx, lines.clone()).map(|it| it.1.location);
    let java = || cx.log.slice(lines.clone()).find_map(|it| java_frame(cx, it.1));
    let any = || {
        let mut places = cx.log.slice(lines.clone()).filter_map(|it| fallback::exact(cx, it.1));
        places.find(|it| it.is_own).map(|it| it.location)
    };
    own.or_else(java).or_else(any)
}

/// Of a frame the package is known, and so the directory below the sources.
fn java_frame(cx: &Context<'_>, line: &str) -> Option<Location> {
    let found = line.trim_start().strip_prefix("at ").and_then(|_| JAVA_FRAME.captures(line))?;
    let package = group(&found, 1);
    let is_library = JAVA_LIBRARIES.iter().any(|it| package.starts_with(it));
    let file = format!("{}{}", package.replace('.', "/"), group(&found, 2));
    (!is_library).then(|| cx.paths.location(&file, number(&found, 3)))
}
