//! How much a line or an error looks like the cause of a failure. One place for all parsers.

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

use crate::pattern::{Pattern, ascii_words, pattern};

/// From the worst to the least; within a class the earliest line comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// A process died, or ran out of memory or time.
    Crash,
    /// Nothing behind it could run: syntax, imports, missing programs and files.
    Blocker,
    /// An error that says so where errors do.
    Error,
    /// An error that hides no other: something is not used.
    Minor,
    /// An error's word somewhere in the line, or a place without one.
    Weak,
    /// A tool that says that another one failed.
    Echo,
    /// It did not stop anything.
    Warning,
    /// What the gate itself says of its reading; never crowded out.
    Note,
}

const CRASH: &str = concat!(
    r"\bSegmentation fault\b|\b\d+ Killed\b|^Killed\b|out of memory|OutOfMemoryError|\bOOMKilled\b|core dumped",
    r"|has overflowed its stack|\b(?:Address|Thread|Memory|Leak)Sanitizer\b.*: |: runtime error: |\bDATA RACE\b",
    r"|all goroutines are asleep|\bBus error\b|Cannot allocate memory|\bMemoryError\b|: Aborted\b|stack smashing",
);
const BLOCKER: &str = concat!(
    r"\b(?:SyntaxError|IndentationError|TabError|ModuleNotFoundError|ImportError|ParseError|ParseException)\b",
    r"|(?i:cannot find module|cannot parse|could not parse|parse error|parsing error|syntax error|invalid-syntax)",
    r"|(?i:command not found|unrecognized arguments|missing script|no rule to make target|fatal error:)",
    r"|(?i:cannot open|could not resolve|cannot resolve|unable to resolve)|: Permission denied$",
    r"|: No such file or directory$|cannot load such file|ERR_MODULE_NOT_FOUND|\bConfiguration error\b",
);
const ERROR: &str = concat!(
    r"^\s*(?:\S{0,40} )?\[?(?i:error|fatal|fail|failed|failure|panic|critical|severe)\]?\b",
    r"|(?i:\b(?:error|fatal)\b\]?(?:\[\w+\])?(?: [A-Z]+\d+)?:)|\b[A-Z]\w*(?:Error|Exception)\b(?::|$)|^\s*[✖×✘✗] ",
    r"|\bCONFLICT\b|\bFAILED\b|^not ok\b|\bundefined reference\b|\bmultiple definition\b|^panic: ",
);
const MINOR: &str = concat!(
    r"(?i)\bimported and not used\b|\bdeclared (?:and|but) not used\b|\bimported but unused\b",
    r"|\bunused (?:import|variable|argument)\b|\bnever used\b|\bun-sorted\b|\bline too long\b",
);
const WEAK: &str = concat!(
    r"(?i)\b(?:errors?|fatal|failed|failure|fails|panicked|exception|undefined|unresolved|not found|cannot|can't",
    r"|could not|couldn't|denied|conflict|mismatch|invalid|unable to|refused|aborted|assert(?:ion)?|unexpected",
    r"|missing|expected|broken|timed out|does not|must be|would reformat|not allowed|unknown|illegal",
    r"|unbound|parameter not set|unterminated|bad)\b",
);
const ECHO: &str = concat!(
    r"^(?:g?make|mingw32-make|ninja)(?:\[\d+\])?: |^npm (?:ERR!|error)|^error Command failed|^ELIFECYCLE|\bError \d+$",
    r"|exit (?:status|code) \d+\b|^ninja: build stopped|^collect2: error|^compilation terminated",
    r"|^\s*(?:Found )?\d+ (?:errors?|problems?|failures?)\b|^cc1(?:plus)?: |^BUILD FAIL|^Build FAIL",
    r"|^Errors while running|^Error: Process completed|^\[ERROR\] (?:Re-run|To see|For more|\[Help|->)",
    r"|^error: could not compile|^\s*\d+ of \d+ |errors occurred!$|^\[ERROR\]\s*$",
);
const NOTHING: &str = concat!(
    r"(?i)\b(?:0|no|zero) (?:errors?|failures?|failed|warnings?|problems?|conflicts?)\b",
    r"|\b(?:errors?|failed|failures?|warnings?|exceptions?|fail)(?:\s*=\s*(?:0|none|no|ok|false|null)|:?\s+(?:0|none|null))\b",
    r"|\bgenerated \d+ warnings?\b",
    r"|\b(?:error|failure|fail)[-_](?:prone|free|handler|handling|log|rate|count)",
);
const WARNING: &str = concat!(
    r"(?i)^\s*(?:\S+\s)?\[?(?:warn(?:ing)?|note|info|hint|help|debug|trace|notice|deprecat\w+)\b\]?",
    r"|\b(?:warning|note|info|style|remark|help)(?:\[\w+\])?(?: [A-Z]+\d+)?: ",
);
/// Lines of `npm` that only say where it was.
const NPM_NOISE: &str = r"^npm (?:ERR!|error)(?:\s*$| (?:path|workspace|location|command|errno|syscall|A complete log|\s)| code (?:\d+|ELIFECYCLE)|.*(?:log of this run|_logs/))";

/// All of them, looked for in one pass.
static ALL: LazyLock<RegexSet> = LazyLock::new(|| {
    let all = [NOTHING, NPM_NOISE, WARNING, CRASH, ECHO, BLOCKER, MINOR, ERROR, WEAK];
    let all = all.iter().map(|it| ascii_words(&format!("(?:{it})")));
    RegexSetBuilder::new(all)
        .dfa_size_limit(DFA_BYTES_MAX)
        .build()
        .expect("the patterns are literals, and every test builds them")
});
/// In the order of [`ALL`].
const IS_NOTHING: usize = 0;
const IS_NPM_NOISE: usize = 1;
const IS_WARNING: usize = 2;
const IS_CRASH: usize = 3;
const IS_ECHO: usize = 4;
const IS_BLOCKER: usize = 5;
const IS_MINOR: usize = 6;
const IS_ERROR: usize = 7;
const IS_WEAK: usize = 8;
/// What the search may remember of the text that it has seen; with less it forgets and learns again.
const DFA_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The class of a line; none where it says nothing. `leads` is whether it starts with a place.
pub(crate) fn class(line: &str, leads: bool) -> Option<Class> {
    if !ALL.is_match(line) {
        return leads.then_some(Class::Error);
    }
    let found = ALL.matches(line);
    let is = |it: usize| found.matched(it);
    if is(IS_NOTHING) || is(IS_NPM_NOISE) {
        return None;
    }
    if is(IS_CRASH) && !is(IS_WARNING) {
        return Some(Class::Crash);
    }
    if is(IS_ECHO) {
        // Its own faults are the exception.
        return Some(if is(IS_BLOCKER) { Class::Blocker } else { Class::Echo });
    }
    if is(IS_WARNING) {
        let is_notable = leads || line.contains("arning");
        return is_notable.then_some(Class::Warning);
    }
    if is(IS_BLOCKER) {
        return Some(Class::Blocker);
    }
    if leads && is(IS_MINOR) {
        return Some(Class::Minor);
    }
    if leads || is(IS_ERROR) {
        return Some(Class::Error);
    }
    is(IS_WEAK).then_some(Class::Weak)
}

static CRASHES: Pattern = Pattern::new(|| pattern(CRASH));

/// Whether a line looks like a crash at all: a faster look than [`class`].
pub(crate) fn may_crash(line: &str) -> bool {
    CRASHES.is_match(line)
}

/// Codes of errors that make others appear: syntax, names, and modules that are not there.
static BLOCKER_CODE: Pattern = Pattern::new(|| {
    pattern(concat!(
        // rustc, TypeScript, flake8 and ruff, pylint, C#.
        r"^(?:E0432|E0433|E0463|E0583|E0761|TS1\d\d\d|TS2305|TS2307|TS2614|TS2724|TS5\d\d\d|TS6053|TS18003",
        r"|E9\d\d|F821|no-undef|import/no-unresolved|import/named|E0602|invalid-syntax|parse|E0001|E0401|syntax-error|import-error|CS1002|CS1513|CS0246|MSB\d+",
        r"|SC107\d|SC1088|SC1089|parse-error|syntax)$",
    ))
});

/// Of an error that a tool called one.
pub(crate) fn of_error(message: &str, code: Option<&str>) -> Class {
    let found = ALL.matches(message);
    if found.matched(IS_CRASH) {
        Class::Crash
    } else if code.is_some_and(|it| BLOCKER_CODE.is_match(it)) || found.matched(IS_BLOCKER) {
        Class::Blocker
    } else if found.matched(IS_MINOR) {
        Class::Minor
    } else {
        Class::Error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_nothing_is_not_an_error() {
        for line in [
            "0 errors, 0 warnings",
            "poll 3 errors=0 failed=0",
            "row 7 error=none",
            "no error",
            "# fail 0",
        ] {
            assert_eq!(class(line, false), None, "{line}");
        }
    }

    #[test]
    fn lines_are_classed_by_what_they_say() {
        for (line, expected) in [
            ("/bin/bash: line 1: 14243 Killed    python load.py", Class::Crash),
            ("/bin/bash: line 1: x: command not found", Class::Blocker),
            ("error: checksum of model.bin does not match", Class::Error),
            ("row 300: FAILED checksum mismatch", Class::Error),
            ("src/a.rs: missing SPDX header", Class::Weak),
            ("bash: line 1: NOPE: unbound variable", Class::Weak),
            ("x.sh: 5: PORT: parameter not set", Class::Weak),
            ("sed: -e expression #1, char 3: unterminated `s' command", Class::Weak),
            ("make: *** [Makefile:3: check] Error 3", Class::Echo),
            ("a.c:2:3: warning: unused variable", Class::Warning),
        ] {
            assert_eq!(class(line, false), Some(expected), "{line}");
        }
        assert_eq!(class("all is well", false), None);
    }
}
