//! The TypeScript compiler, plain and pretty; `vue-tsc` and others print alike.

use crate::table::{Row, Spec, Table};

/// Of the plain form: what elaborates, indented.
const ELABORATED: &[&str] = &[r"^ {2,}(?P<message>\S.*)$"];
/// Of the pretty form: marks, places of related lines, source, what elaborates, blank lines between them.
const PRETTY: &[&str] = &[
    r"^\s*~+\s*$",
    r"^ +\S.*:\d+:\d+(?: - .*)?$",
    r"^ *\d+ ",
    r"^ {2,4}(?P<message>[^\s~].*)$",
    r"^\s*$",
];

/// See the module.
pub(crate) static TSC: Table = Table::new(Spec {
    tool: "tsc",
    programs: &["tsc", "vue-tsc", "tspc", "ttsc", "svelte-check"],
    marks: &["error TS", "error\u{a0}TS"],
    banner: Some(r"^(?:\S.*\(\d+,\d+\): |\S.*:\d+:\d+ - )?error TS\d+: "),
    rows: &[
        Row::error(r"^(?P<file>\S.*?)\((?P<line>\d+),(?P<column>\d+)\): (?P<message>(?P<severity>error|warning) (?P<code>TS\d+): .+)$")
            .with(ELABORATED),
        Row::error(r"^(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+) - (?P<message>(?P<severity>error|warning|message) (?P<code>TS\d+): .+)$")
            .with(PRETTY),
        Row::error(r"^(?P<message>(?P<severity>error) (?P<code>TS\d+): .+)$").with(ELABORATED),
    ],
    ..Spec::NONE
});
