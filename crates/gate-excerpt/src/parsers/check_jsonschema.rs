//! JSON Schema in Python: check-jsonschema, and `jsonschema` with its plain and its pretty output.

use crate::table::{Row, Spec, Table};

/// See the module.
pub(crate) static CHECK_JSONSCHEMA: Table = Table::new(Spec {
    tool: "check-jsonschema",
    programs: &["check-jsonschema"],
    marks: &["::$", ": $"],
    banner: Some(r"^ *\S.*\.(?:json|ya?ml|toml)(?:::|: )\$[.\[:]"),
    rows: &[
        Row::error(r"^ +(?P<file>\S.*?)::(?P<message>\$.*)$").with(&[r"^ {4,}(?P<message>\S.*)$"]),
        Row::error(r"^(?P<file>\S+\.(?:json|ya?ml|toml)): (?P<message>\$.*)$"),
        Row::error(r"^ +(?P<file>\S.*?): (?P<message>Failed to parse .*)$"),
    ],
    ..Spec::NONE
});

/// See the module.
pub(crate) static JSONSCHEMA: Table = Table::new(Spec {
    tool: "jsonschema",
    programs: &["jsonschema"],
    marks: &["===["],
    banner: Some(r"^===\[\w+\]===\(.*\)===$"),
    rows: &[
        Row::error(r"^===\[(?P<code>\w+)\]===\((?P<file>.+)\)===$")
            .with(&[r"^$", r"^(?P<message>[^\s=].*)$"]),
        Row::error(
            r"^(?:.+: )(?P<message>.+ (?:is not of type|is a required property|is not one of|does not match|is not valid under|is less than|is greater than|is too (?:long|short)|has non-unique|is not a|were unexpected|was unexpected).*)$",
        ),
    ],
    ..Spec::NONE
});
