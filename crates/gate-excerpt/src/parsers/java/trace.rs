//! A stack trace of the Java machine: the root cause is the last `Caused by`, its place the first frame of the project.

use gate_core::Location;

use crate::parsers::{Context, lines};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `at java.base/java.nio.file.Files.newByteChannel(Files.java:380)`
static FRAME: Pattern = Pattern::new(|| {
    pattern(r"^\s*at (?:[\w.@/-]*/)?([\w.$<>\p{L}]+)\(([^():]+\.\w+):(\d+)\)(?: ~?\[.*\])?$")
});
/// Gradle's short form: `org.junit.AssertionError at FooTest.java:12`.
static SHORT: Pattern =
    Pattern::new(|| pattern(r"^\s*(?:Caused by: )?([\w.$]+) at (\w+\.\w+):(\d+)$"));
static THREAD: Pattern = Pattern::new(|| pattern(r#"^Exception in thread "[^"]*" "#));

/// Packages that no project has.
const LIBRARIES: [&str; 28] = [
    "java.",
    "javax.",
    "jakarta.",
    "jdk.",
    "sun.",
    "com.sun.",
    "org.junit.",
    "junit.",
    "org.testng.",
    "org.hamcrest.",
    "org.assertj.",
    "org.mockito.",
    "org.opentest4j.",
    "org.apache.maven.",
    "org.gradle.",
    "org.springframework.",
    "org.apache.",
    "com.google.common.",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "groovy.",
    "org.codehaus.",
    "net.bytebuddy.",
    "reactor.",
    "io.netty.",
    "org.hibernate.",
    "com.fasterxml.",
];
/// Lines of a trace.
const TRACE_LINES_MAX: usize = 2_000;
/// Lines of one exception's message.
const MESSAGE_LINES_MAX: usize = 12;

/// A trace, read.
#[derive(Debug, Clone, Default)]
pub(in crate::parsers) struct Trace {
    /// The root cause, or the last cause that the project's own code is part of.
    pub(in crate::parsers) message: String,
    pub(in crate::parsers) location: Option<Location>,
    pub(in crate::parsers) cut: Cut,
}

/// One exception of a chain.
#[derive(Debug)]
struct Cause {
    start: usize,
    message: String,
    own: Option<(usize, Location)>,
    depth: usize,
}

/// Whether the line is part of a trace, below its first line.
pub(in crate::parsers) fn is_part(line: &str) -> bool {
    let text = line.trim_start();
    let is_indented = text.len() < line.len();
    (is_indented
        && (text.starts_with("at ") || (text.starts_with("... ") && text.ends_with(" more"))))
        || text.starts_with("Caused by: ")
        || (is_indented && text.starts_with("Suppressed: "))
}

/// The trace whose first line is `start`; it does not go beyond `limit`.
pub(in crate::parsers) fn read(cx: &Context<'_>, start: usize, limit: usize) -> Trace {
    let limit = limit.min(start + TRACE_LINES_MAX);
    let first = THREAD.replace(cx.log.line(start), "").trim().to_owned();
    let mut chain = vec![Cause { start, message: first, own: short(cx, start), depth: 0 }];
    let mut end = start + 1;
    let mut in_message = true;
    let mut in_suppressed = false;
    for (at, line) in cx.log.slice(start + 1..limit) {
        let text = line.trim_start();
        let Some(last) = chain.last_mut() else { break };
        if is_part(line) {
            end = at + 1;
        }
        if let Some(message) = text.strip_prefix("Caused by: ") {
            in_message = true;
            in_suppressed = false;
            chain.push(Cause {
                start: at,
                message: message.to_owned(),
                own: short(cx, at),
                depth: 0,
            });
        } else if text.starts_with("Suppressed: ") {
            in_suppressed = true;
        } else if text.starts_with("at ") || text.starts_with("... ") {
            in_message = false;
            last.depth += 1;
            if last.own.is_none() && !in_suppressed {
                last.own = frame(cx, at, line);
            }
        } else if in_message && at < last.start + MESSAGE_LINES_MAX && !line.trim().is_empty() {
            // A message of several lines: expected and actual.
            last.message = lines::joined([last.message.as_str(), text]);
            end = at + 1;
        } else if !(in_message && line.trim().is_empty() && has_more(cx, at)) {
            break;
        }
    }
    finish(chain, start, end)
}

/// A blank line inside of a message: frames follow soon.
fn has_more(cx: &Context<'_>, at: usize) -> bool {
    let mut below = cx.log.slice(at + 1..at + MESSAGE_LINES_MAX);
    let blank = |it: &&(usize, &str)| !it.1.trim_start().starts_with('[');
    below.by_ref().take_while(|it| blank(&it)).any(|it| it.1.trim_start().starts_with("at "))
}

fn finish(chain: Vec<Cause>, start: usize, end: usize) -> Trace {
    // The last cause; one that is all a library's has its place in the one above it.
    let mut location = None;
    let mut keys = vec![start];
    for cause in &chain {
        keys.push(cause.start);
        if let Some((at, own)) = &cause.own {
            location = Some(own.clone());
            keys.push(*at);
        }
    }
    let message = chain.into_iter().last().map(|it| it.message).unwrap_or_default();
    keys.sort_unstable();
    keys.dedup();
    Trace { message, location, cut: Cut::new(start..end, keys) }
}

fn short(cx: &Context<'_>, at: usize) -> Option<(usize, Location)> {
    let found = SHORT.captures(cx.log.line(at))?;
    Some((at, cx.paths.location(group(&found, 2), number(&found, 3))))
}

/// A frame of the project: its file below the directories of its package.
fn frame(cx: &Context<'_>, at: usize, line: &str) -> Option<(usize, Location)> {
    let found = FRAME.captures(line)?;
    let name = group(&found, 1);
    if line.contains("java.base/") || LIBRARIES.iter().any(|it| name.starts_with(it)) {
        return None;
    }
    Some((at, cx.paths.location(&file(name, group(&found, 2)), number(&found, 3))))
}

/// `demo.Calc.find` in `Calc.java` is `demo/Calc.java`.
pub(in crate::parsers) fn file(qualified: &str, base: &str) -> String {
    let is_package = |it: &&str| it.chars().next().is_some_and(char::is_lowercase);
    let parts: Vec<&str> = qualified.split('.').collect();
    // The last part is a method, the one before it a class.
    let packages = &parts[..parts.len().saturating_sub(2)];
    let mut path: Vec<&str> = packages.iter().copied().take_while(|it| is_package(it)).collect();
    path.push(base);
    path.join("/")
}
