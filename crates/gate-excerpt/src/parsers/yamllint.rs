//! Linters of configuration: yamllint, hadolint, actionlint.

use crate::table::{Row, Spec, Table};

/// See the module.
pub(crate) static YAMLLINT: Table = Table::new(Spec {
    tool: "yamllint",
    programs: &["yamllint"],
    marks: &["error ", "error] ", "warning ", "warning] "],
    needs: &[" ("],
    banner: Some(r"^(?: +\d+:\d+ +|\S.*\.ya?ml:\d+:\d+: \[)(?:error|warning)\]? +.+ \([\w-]+\)$"),
    head: Some(r"^(?P<file>\S.*)$"),
    rows: &[
        Row::error(
            r"^ +(?P<line>\d+):(?P<column>\d+) +(?P<severity>error|warning) +(?P<message>.+?)(?: +\((?P<code>[\w-]+)\))?$",
        ),
        Row::error(
            r"^(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+): \[(?P<severity>error|warning)\] (?P<message>.+?)(?: \((?P<code>[\w-]+)\))?$",
        ),
    ],
});

/// See the module.
pub(crate) static HADOLINT: Table = Table::new(Spec {
    tool: "hadolint",
    programs: &["hadolint"],
    marks: &[" DL", " SC"],
    banner: Some(r"^\S+:\d+ (?:DL\d{4}|SC\d{4}) "),
    rows: &[
        Row::error(
            r"^(?P<file>\S+?):(?P<line>\d+)(?::(?P<column>\d+))? (?P<code>(?:DL|SC)\d{4}) (?:(?P<severity>error|warning|info|style): )?(?P<message>.+)$",
        ),
        // What it cannot parse.
        Row::error(r"^(?P<file>\S+?):(?P<line>\d+):(?P<column>\d+) (?P<message>.+)$"),
    ],
    ..Spec::NONE
});

/// See the module.
pub(crate) static ACTIONLINT: Table = Table::new(Spec {
    tool: "actionlint",
    programs: &["actionlint"],
    marks: &[".yml:", ".yaml:"],
    banner: Some(r"^\.github/\S+\.ya?ml:\d+:\d+: .+ \[[a-z-]+\]$"),
    rows: &[Row::error(
        r"^(?P<file>\S+\.ya?ml):(?P<line>\d+):(?P<column>\d+): (?P<message>.+?)(?: \[(?P<code>[a-z-]+)\])?$",
    )
    .with(&[r"^ *\d* *\|"])],
    ..Spec::NONE
});
