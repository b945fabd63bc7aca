//! Why a goal failed: compile errors, dependencies that cannot be had, faults of the POM, a JVM that died.

use std::collections::HashSet;

use super::split;
use crate::draft::Problem;
use crate::parsers::{Context, lines};
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;

/// `/w/src/main/java/demo/A.java:[5,16] cannot find symbol`
static COMPILE: Pattern = Pattern::new(|| {
    pattern(
        r"^\s*((?:file://)?(?:[A-Za-z]:[\\/])?[^:\[\]]+\.\w+):(?:\[(\d+)(?:,(\d+))?\]|(\d+):(?:(\d+):)?) ?(?:error: )?(.*)$",
    )
});
static GOAL: Pattern = Pattern::new(|| {
    pattern(
        r"^Failed to execute goal (?:on project (\S+?)|(\S+)(?: \([^)]*\))? on project (\S+?)): (.*?)(?: -> \[Help \d+\])?$",
    )
});
/// `Non-parseable POM /w/pom.xml: … @ line 3, column 5`
static POM: Pattern = Pattern::new(|| {
    pattern(
        r"^((?:Non-parseable|Non-readable|Malformed|Non-resolvable|'|Unresolveable|Child module|.* must be ).*?)(?: @ (?:(\S+?), )?(?:\S+, )?line (\d+), column (\d+))?(?: -> \[Help \d+\])?$",
    )
});
static POM_FILE: Pattern = Pattern::new(|| pattern(r"(?:^|[\s(@])(\S*pom\.xml)\b"));
/// What Maven says of itself.
static OTHER: Pattern = Pattern::new(|| {
    pattern(
        r"^((?:Unknown lifecycle phase|The goal you specified|No goals have been specified|No plugin found for prefix|Could not find the selected project|Unable to parse command line|The JAVA_HOME|Unrecognized option|Error executing Maven|The project .* has \d+ error|Plugin \S+ or one of its dependencies could not be resolved).*?)(?: -> \[Help \d+\])?$",
    )
});

/// Lines of one message.
const MESSAGE_LINES_MAX: usize = 12;

/// What failed, compile errors first. `has_failures` is whether tests failed, which a goal only repeats.
pub(super) fn problems(cx: &Context<'_>, has_failures: bool) -> Vec<Problem> {
    let mut seen = HashSet::new();
    let mut compile = Vec::new();
    let mut others = Vec::new();
    let mut goals = Vec::new();
    for (index, line) in
        cx.lines().filter(|it| it.1.contains("[ERROR]") || it.1.starts_with("[FATAL]"))
    {
        let text = split(line).1;
        // Faults of a POM have two levels.
        let text = split(text).1;
        if let Some(found) = COMPILE.captures(text) {
            let is_new = seen.insert(text.trim().to_owned());
            compile.extend(is_new.then(|| compiled(cx, index, &found)));
        } else if let Some(found) = GOAL.captures(text) {
            goals.push(goal(cx, index, &found));
        } else if let Some(found) = POM.captures(text) {
            others.extend(seen.insert(group(&found, 1).to_owned()).then(|| pom(cx, index, &found)));
        } else if let Some(found) = OTHER.captures(text) {
            others.push(Problem::error(group(&found, 1), Cut::line(index)));
        }
    }
    let is_echo = |it: &Problem| {
        it.message.starts_with("There are test failures")
            || it.message.starts_with("There was a failure")
            || it.message.starts_with("Compilation failure")
    };
    let is_told = has_failures || !compile.is_empty();
    goals.retain(|it| !(is_told && is_echo(it)));
    // The goal's own words say more of a dependency than the POM's.
    compile.into_iter().chain(others).chain(goals).collect()
}

fn compiled(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let row = number(found, 2).or_else(|| number(found, 4));
    let column = number(found, 3).or_else(|| number(found, 5));
    let place = cx.paths.place(group(found, 1), row, column);
    // `symbol:` and `location:` stand below.
    let below = cx.log.slice(index + 1..index + 5);
    let is_detail =
        |it: &&(usize, &str)| split(it.1).1.starts_with("  ") && !COMPILE.is_match(split(it.1).1);
    let body: Vec<(usize, &str)> = below.take_while(|it| is_detail(&it)).collect();
    let texts = body.iter().map(|it| split(it.1).1);
    let message = lines::joined([group(found, 6)].into_iter().chain(texts));
    let end = body.last().map_or(index, |it| it.0) + 1;
    Problem::error(message, Cut::new(index..end, (index..end).collect())).at(Some(place.location))
}

fn goal(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let first = group(found, 4);
    let below = cx.log.slice(index + 1..index + 1 + MESSAGE_LINES_MAX);
    let is_more = |it: &(usize, &str)| {
        let (level, text) = split(it.1);
        let is_end = text.trim().is_empty()
            || text.starts_with("-> [Help")
            || text.starts_with("To see the");
        level == "ERROR" && !is_end
    };
    let is_whole = cx.log.line(index).ends_with(']');
    let body: Vec<(usize, &str)> =
        if is_whole { Vec::new() } else { below.take_while(is_more).collect() };
    let texts = body.iter().map(|it| split(it.1).1);
    let message = lines::joined([first].into_iter().chain(texts));
    // A dependency is asked for in the POM of its module, whose path is not printed.
    let is_pom =
        message.contains("resolve") || message.contains("artifact") || message.contains("enforcer");
    let location = is_pom.then(|| cx.paths.location("pom.xml", None));
    let end = body.last().map_or(index, |it| it.0) + 1;
    Problem::error(message, Cut::new(index..end, vec![index])).at(location)
}

fn pom(cx: &Context<'_>, index: usize, found: &regex::Captures<'_>) -> Problem {
    let text = group(found, 1);
    let file = found.get(2).map(|it| it.as_str()).filter(|it| it.ends_with("pom.xml"));
    let named = POM_FILE.captures(text).map(|it| group(&it, 1).to_owned());
    let file = file.map(str::to_owned).or(named).unwrap_or_else(|| "pom.xml".to_owned());
    let place = cx.paths.place(&file, number(found, 3), number(found, 4));
    Problem::error(text, Cut::line(index)).at(Some(place.location))
}
