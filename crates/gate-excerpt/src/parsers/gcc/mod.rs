//! Compilers of C and C++: gcc and clang, under all their names.
//!
//! What the linker prints is not theirs; see `ld.rs`.

mod context;
mod directories;

use gate_core::Severity;

use super::{Context, LogParser};
use crate::classify::Class;
use crate::command::Call;
use crate::draft::{Draft, Problem};
use crate::many::Many;
use crate::pattern::{Pattern, group, number, pattern};
use crate::select::Cut;
use directories::Directories;

static DIAGNOSTIC: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^((?:[A-Za-z]:[\\/])?[^:\s][^:]*):(\d+):(?:(\d+):)? ",
        r"(fatal error|error|internal compiler error|sorry, unimplemented|warning|note): (.*)$",
    ))
});
/// What each diagnostic has.
static MAY: Pattern =
    Pattern::new(|| pattern(r"(?-u): (?:[\w,]+ )*?(?:error|unimplemented|warning|note): "));
/// The driver speaks, without a place.
static DRIVER: Pattern = Pattern::new(|| {
    pattern(concat!(
        r"^(?:\S*[/\\])?(?:[\w.]+-)*(?:gcc|g\+\+|cc|c\+\+|cc1|cc1plus|clang|clang\+\+|cpp)(?:-\d+)?(?:\.exe)?: ",
        r"(fatal error|error|internal compiler error): (.*)$",
    ))
});
static CODE: Pattern = Pattern::new(|| pattern(r" \[([^\[\]\s]+)\]$"));
/// A command that make or a script shows before it runs it.
static COMMAND: Pattern = Pattern::new(|| {
    pattern(r"^\s*(?:\S*/)?(?:[\w.]+-)*(gcc|g\+\+|clang\+\+|clang|cc|c\+\+)(?:-\d+)? .*-")
});

/// Ends of file names that only these compilers read.
const SUFFIXES: [&str; 21] = [
    "c", "cc", "cpp", "cxx", "c++", "C", "h", "hh", "hpp", "hxx", "h++", "H", "inl", "ipp", "tcc",
    "tpp", "m", "mm", "S", "cu", "cuh",
];

/// See the module.
#[derive(Debug)]
pub(crate) struct Gcc;

impl LogParser for Gcc {
    fn tool(&self) -> &'static str {
        "gcc"
    }

    fn is_called(&self, call: &Call) -> bool {
        called(call).is_some()
    }

    fn is_wrapper(&self) -> bool {
        true
    }

    fn marks(&self) -> &'static [&'static str] {
        &["error: ", "warning: "]
    }

    fn is_banner(&self, line: &str) -> bool {
        if !line.contains("error: ") && !line.contains("warning: ") {
            return false;
        }
        // A search without groups is many times faster.
        DRIVER.is_match(line)
            || (DIAGNOSTIC.is_match(line)
                && DIAGNOSTIC.captures(line).is_some_and(|it| is_c_file(group(&it, 1))))
    }

    fn read(&self, cx: &Context<'_>) -> Draft {
        let mut directories = Directories::default();
        let mut draft = Draft::default();
        let mut many = Many::new();
        let mut seen_command = None;
        let mut next = 0;
        for (index, line) in cx.lines() {
            directories.line(cx, line);
            if seen_command.is_none() && line.contains(" -") {
                seen_command = COMMAND.captures(line).map(|it| program(group(&it, 1)));
            }
            if index < next || !MAY.is_match(line) {
                continue;
            }
            if many.is_known(line, || DIAGNOSTIC.is_match(line)) {
                many.skip(index, directories.clone());
            } else if let Some(one) = located(cx, &directories, index, line) {
                next = one.cut.range.end;
                draft.problems.push(one);
                many.add(line);
            } else if let Some(one) = driver(index, line) {
                draft.problems.push(one);
            }
        }
        let last = many.take_last().into_iter();
        let last = last.filter_map(|(at, it)| located(cx, &it, at, cx.log.line(at)));
        draft.problems.extend(last);
        draft.tool = cx.calls.iter().find_map(called).or(seen_command);
        (draft.taken, draft.left_out) = many.finish();
        draft.taken.extend(draft.problems.iter().map(|it| it.cut.range.clone()));
        draft
    }
}

fn called(call: &Call) -> Option<&'static str> {
    let name = call.program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let name = name.trim_end_matches('-');
    let is_other = call.program.starts_with("clang-")
        && !call.program[6..].starts_with(|it: char| it.is_ascii_digit());
    let last = if name.ends_with("++") { name } else { name.rsplit('-').next().unwrap_or(name) };
    match last.rsplit('-').next().unwrap_or(last) {
        _ if is_other => None,
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" => {
            Some(program(last.rsplit('-').next().unwrap_or(last)))
        }
        _ => None,
    }
}

fn program(name: &str) -> &'static str {
    match name {
        "g++" | "c++" => "g++",
        "clang" | "clang++" => "clang",
        _ => "gcc",
    }
}

fn is_c_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, suffix)) => SUFFIXES.contains(&suffix),
        // Headers of the standard library have none.
        None => path.contains("/include/"),
    }
}

fn located(
    cx: &Context<'_>,
    directories: &Directories,
    index: usize,
    line: &str,
) -> Option<Problem> {
    let found = DIAGNOSTIC.captures(line)?;
    let (path, kind, text) = (group(&found, 1), group(&found, 4), group(&found, 5));
    if kind == "note" || (!cx.is_named && !is_c_file(path)) {
        return None;
    }
    let is_error = kind.ends_with("error") || kind == "sorry, unimplemented";
    let place =
        cx.paths.place(&directories.resolve(cx, path), number(&found, 2), number(&found, 3));
    let end = context::end(cx, index);
    let mut cut = Cut::new(index..end, vec![index]);
    let mut message = text.to_owned();
    let code = CODE.captures(text).map(|it| group(&it, 1).to_owned());
    if let Some(code) = &code {
        message.truncate(message.len() - code.len() - 3);
    }
    if kind == "internal compiler error" {
        message = format!("{kind}: {message}");
    }
    let mut location = place.location;
    if !place.is_own {
        // The project's own line is where a header was included, or a template was used.
        let own = context::own_place(cx, directories, index);
        if let Some((at, own)) = own {
            message = format!("{message} (in {}:{})", location.file, location.line.unwrap_or(0));
            location = own.location;
            cut.range.start = cut.range.start.min(at);
            cut.range.end = cut.range.end.max(at + 1);
            cut.keys.push(at);
            cut.keys.sort_unstable();
        }
    }
    let severity = if is_error { Severity::Error } else { Severity::Warning };
    // Nothing behind a file that is not there was read.
    let class = (kind == "fatal error").then_some(Class::Blocker);
    Some(Problem { severity, code, class, ..Problem::error(message, cut).at(Some(location)) })
}

fn driver(index: usize, line: &str) -> Option<Problem> {
    let found = DRIVER.captures(line)?;
    let text = group(&found, 2);
    // It says that another program failed, which spoke for itself.
    if text.starts_with("linker command failed") || text.starts_with("ld returned") {
        return None;
    }
    let class = Some(Class::Blocker);
    Some(Problem { class, ..Problem::error(line.trim(), Cut::line(index)) })
}
