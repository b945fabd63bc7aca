//! Finds the place that a line names, in the forms that compilers, linters, shells, and interpreters use.

use crate::parsers::Context;
use crate::paths::Place;
use crate::pattern::{Pattern, group, number, pattern};

/// `path:3:7`, `path:3`, `path:[3,7]`; also behind `-->`, `in`, brackets, and quotes.
static COLON: Pattern = Pattern::new(|| {
    pattern(
        r#"((?:[A-Za-z]:[\\/])?[^\s:()"'`\[\]<>=,;|]*[^\s:()"'`\[\]<>=,;|.]\.[A-Za-z][\w+]{0,11}|[\w./-]*(?:Makefile|Dockerfile)):\[?(\d+)(?:[:,](\d+))?"#,
    )
});
/// `path(3,7)`; those of `MSBuild` have blanks.
static PAREN: Pattern = Pattern::new(|| {
    pattern(r"^\s*((?:[A-Za-z]:\\[^:(]*|[^\s:()]+)\.\w+)\((\d+)(?:,(\d+)[^)]*)?\)\s*:")
});
/// `./run.sh: line 4: `; of dash, `./run.sh: 4: `.
static SHELL: Pattern = Pattern::new(|| pattern(r"^(\S+): (?:line )?(\d+): "));
/// What a shell puts before what it could not do.
static SHELL_NAME: Pattern = Pattern::new(|| {
    pattern(r"^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:(?:line )?\d+: )?(?:-c: )?([^\s:]+): (.+)$")
});
/// `in a.php on line 3`, `at a.pl line 3`.
static WORDS: Pattern = Pattern::new(|| pattern(r"\b(?i:in|at) (\S+\.\w+),? (?:on )?line (\d+)"));
/// `./src/app.js 12:7`.
static BLANK: Pattern = Pattern::new(|| pattern(r"(?:^|\s)(\S+\.[A-Za-z]\w{0,9}) (\d+):(\d+)\b"));
/// A bare path; domains, versions, and abbreviations are not.
static BARE: Pattern = Pattern::new(|| {
    pattern(
        r#"(?:^|[\s("'`=])((?:[\w.@~+-]*[/\\])*[\w@~+-][\w.@~+-]*\.[A-Za-z][A-Za-z0-9]{0,5})(?:[\s)"'`:,;.]|$)"#,
    )
});

/// Behind a message: `(1:10)`.
static POSITION: Pattern = Pattern::new(|| pattern(r"\((\d+):(\d+)\)$"));

/// Ends of words that are no file's.
const NO_FILES: [&str; 9] = ["com", "org", "net", "io", "dev", "js.org", "g", "e", "log"];

/// A place, and where in the line its text ends.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    /// Whether the line starts with it.
    pub(super) leads: bool,
    pub(super) end: usize,
}

/// Whether the line may start with a place: its first word has a number behind it, or a drive before it. A cheap look
/// that rules most lines out.
pub(super) fn may_lead(line: &str) -> bool {
    let text = line.trim_start();
    let end = memchr::memchr3(b' ', b'\t', b'(', text.as_bytes()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let starts_digit = |it: &str| it.trim_start().starts_with(|it: char| it.is_ascii_digit());
    word.contains(':') || rest.starts_with('(') || starts_digit(rest) || !word.is_ascii()
}

/// The first place with a line number.
pub(super) fn exact(cx: &Context<'_>, line: &str) -> Option<Found> {
    if !line.bytes().any(|it| it.is_ascii_digit()) {
        return None;
    }
    let forms: [&Pattern; 5] = [&SHELL, &PAREN, &WORDS, &COLON, &BLANK];
    // A search without groups is many times faster, and most lines have no place.
    forms.iter().filter(|form| form.is_match(line)).find_map(|form| {
        let found = form.captures_iter(line).find(|it| is_path(group(it, 1)))?;
        let whole = found.get(0)?;
        let place = cx.paths.place(group(&found, 1), number(&found, 2), number(&found, 3));
        let leads = found.get(1)?.start() == line.len() - line.trim_start().len();
        Some(Found { place, leads, end: whole.end() })
    })
}

/// A file that the line names without a line number.
pub(super) fn bare(cx: &Context<'_>, line: &str) -> Option<Found> {
    if let Some(found) = line.contains("sh: ").then(|| SHELL_NAME.captures(line)).flatten() {
        let path = found.get(1)?;
        let place = cx.paths.place(path.as_str(), None, None);
        let is_file = path.as_str().contains(['/', '.']);
        return is_file.then_some(Found { place, leads: false, end: path.end() });
    }
    if !BARE.is_match(line) {
        return None;
    }
    let mut found = BARE.captures_iter(line).filter_map(|it| it.get(1));
    let path = found.find(|it| is_path(it.as_str()) && !line[..it.start()].ends_with("://"))?;
    let position = POSITION.captures(line);
    let (row, column) = position.map_or((None, None), |it| (number(&it, 1), number(&it, 2)));
    let place = cx.paths.place(path.as_str(), row, column);
    Some(Found { place, leads: path.start() == 0, end: path.end() })
}

fn is_path(text: &str) -> bool {
    let Some((stem, ending)) = text.rsplit_once('.') else { return text.ends_with("file") };
    let is_address = text.contains("//") || text.starts_with("www.");
    let has_name = stem.bytes().any(|it| it.is_ascii_alphanumeric()) || !stem.is_ascii();
    let is_number = stem.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    has_name && !is_address && !is_number && !NO_FILES.contains(&ending) && !stem.ends_with('.')
}
