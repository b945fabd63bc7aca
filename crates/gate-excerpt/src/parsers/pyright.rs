//! Pyright and basedpyright.

use crate::table::{Row, Spec, Table};

/// See the module.
pub(crate) static PYRIGHT: Table = Table::new(Spec {
    tool: "pyright",
    programs: &["pyright", "basedpyright", "pyright-python"],
    marks: &[" - error: ", " - warning: ", " - information: "],
    banner: Some(r"^ {2,}\S.*:\d+:\d+ - (?:error|warning|information): "),
    rows: &[Row::error(
        r"^ {2,}(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+) - (?P<severity>error|warning|information): (?P<message>.+?)(?: \((?P<code>report\w+)\))?$",
    )
    .with(&[r"^[ \u{a0}]{4,}(?P<message>[^\s/].*?)(?: \((?P<code>report\w+)\))?$"])],
    ..Spec::NONE
});
