//! stylelint: its default form, `unix`, and `compact`.

use crate::table::{Row, Spec, Table};

/// See the module.
pub(crate) static STYLELINT: Table = Table::new(Spec {
    tool: "stylelint",
    programs: &["stylelint"],
    marks: &["✖", "×", "⚠", "[error]", "[warning]", ", col "],
    banner: Some(
        r"^ +\d+:\d+ +[✖×⚠] +\S|^\S.*:\d+:\d+: .+ \([\w@/-]+\) \[(?:error|warning)\]$|^\S.*: line \d+, col \d+, (?:error|warning) - .+ \([\w@/-]+\)$",
    ),
    head: Some(r"^(?P<file>[^\s✖×⚠].*\.\w+)$"),
    rows: &[
        Row::error(
            r"^ +(?P<line>\d+):(?P<column>\d+) +(?P<severity>[✖×⚠ℹ]) +(?P<message>.+?)(?: {2,}(?P<code>[\w@/-]+))?$",
        ),
        // What has no place: a configuration that is wrong.
        Row::error(r"^ +(?P<severity>[✖×]) +(?P<message>.+?)(?: {2,}(?P<code>[\w@/-]+))?$"),
        Row::error(
            r"^(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+): (?P<message>.+?) (?:\((?P<code>[\w@/-]+)\) )?\[(?P<severity>error|warning)\]$",
        ),
        Row::error(
            r"^(?P<file>\S.*?): line (?P<line>\d+), col (?P<column>\d+), (?P<severity>error|warning) - (?P<message>.+?)(?: \((?P<code>[\w@/-]+)\))?$",
        ),
        Row::error(r"^Error: (?P<message>.+)$"),
        Row::error(r"^ConfigurationError: (?P<message>.+)$"),
    ],
    ..Spec::NONE
});
