//! Linters of prose and links: markdownlint (cli and cli2), linkinator, lychee.

use crate::table::{Row, Spec, Table};

/// See the module.
pub(crate) static MARKDOWNLINT: Table = Table::new(Spec {
    tool: "markdownlint",
    programs: &["markdownlint", "markdownlint-cli2", "mdl"],
    marks: &[" MD"],
    banner: Some(r"^\S.*:\d+(?::\d+)?:? (?:(?:error|warning) )?MD\d{3}[/ :]"),
    rows: &[Row::error(
        r"^(?P<file>\S.*?):(?P<line>\d+)(?::(?P<column>\d+))?:? (?:(?P<severity>error|warning) )?(?P<code>MD\d{3}[\w/-]*):? (?P<message>.+)$",
    )],
    ..Spec::NONE
});

/// As text: the page, its broken links below; as CSV: a row for each link.
pub(crate) static LINKINATOR: Table = Table::new(Spec {
    tool: "linkinator",
    programs: &["linkinator"],
    marks: &["BROKEN", "ERROR: Detected "],
    banner: Some(r"^\S*,\d+,BROKEN,|^ERROR: Detected \d+ broken links?"),
    head: Some(r"^(?P<file>[^\s\[✖×🏊]\S*)$"),
    rows: &[
        Row::error(r"^(?P<message>[^,]+,(?P<code>\d+),BROKEN),(?P<file>[^,]*),.*$"),
        Row::error(r"^ +(?P<message>\[(?P<code>[045]\d*)\] \S.*)$"),
    ],
    ..Spec::NONE
});

/// The input is named above its links.
pub(crate) static LYCHEE: Table = Table::new(Spec {
    tool: "lychee",
    programs: &["lychee"],
    marks: &["Errors in ", "Issues found in "],
    banner: Some(r"^(?:#+ )?Errors in \S|^Issues found in \d+ inputs?\."),
    head: Some(r"^(?:(?:#+ )?Errors in |\[)(?P<file>[^\s\]]+)(?:\]:)?$"),
    rows: &[Row::error(r"^(?:[✗*×] )?(?P<message>\[(?P<code>[45]\d\d|ERROR|TIMEOUT|ERR)\] \S.*)$")],
    ..Spec::NONE
});
