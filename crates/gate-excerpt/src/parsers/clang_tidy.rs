//! clang-tidy and cppcheck, which print like a compiler and put the check's name behind the message.

use crate::table::{Row, Spec, Table};

/// Source, caret, and replacement; then what led there.
const BELOW: &[&str] = &[r"^ +\d* *\|", r"^\s+\S", r"^[^\s:][^:]*:\d+:\d+: note: "];

/// See the module.
pub(crate) static CLANG_TIDY: Table = Table::new(Spec {
    tool: "clang-tidy",
    programs: &["clang-tidy", "run-clang-tidy", "run-clang-tidy.py"],
    marks: &["]"],
    banner: Some(r"^[^\s:][^:]*:\d+:\d+: (?:warning|error): .* \[(?:clang-(?:analyzer|diagnostic)|bugprone|cert|cppcoreguidelines|google|hicpp|llvm|misc|modernize|performance|portability|readability)-[\w.,-]+\]$"),
    rows: &[Row::error(
        r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<severity>warning|error|fatal error): (?P<message>.+?)(?: \[(?P<code>[\w.,-]+)\])?$",
    )
    .with(BELOW)],
    ..Spec::NONE
});

/// See the module.
pub(crate) static CPPCHECK: Table = Table::new(Spec {
    tool: "cppcheck",
    programs: &["cppcheck"],
    marks: &["Checking "],
    banner: Some(r"^Checking \S.*\.(?:c|cc|cpp|cxx|h|hpp) ?\.\.\.$"),
    rows: &[
        // Of no file: a limit of its own, a header that it did not find.
        Row::warning(r"^nofile:0:0: (?P<severity>\w+): (?P<message>.+?)(?: \[(?P<code>\w+)\])?$"),
        Row::error(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<severity>error|warning|style|performance|portability|information): (?P<message>.+?)(?: \[(?P<code>\w+)\])?$",
        )
        .with(BELOW),
        // Before 2.0.
        Row::error(
            r"^\[(?P<file>[^\]:]+):(?P<line>\d+)\](?: -> \[[^\]]+\])*: \((?P<severity>\w+)(?:, inconclusive)?\) (?P<message>.+)$",
        ),
    ],
    ..Spec::NONE
});
