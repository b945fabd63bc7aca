//! Biome: a rule above, what it says and the source below.

use crate::table::{Row, Spec, Table};

/// See the module.
pub(crate) static BIOME: Table = Table::new(Spec {
    tool: "biome",
    programs: &["biome", "rome"],
    marks: &["━━━"],
    banner: Some(r"^\S.* (?:lint/\w+/\w+|format|organizeImports|assist\S*|parse) .*━{3,}$"),
    rows: &[Row::error(
        r"^(?P<file>[^\s:][^:]*?)(?::(?P<line>\d+):(?P<column>\d+))? (?P<code>lint/\S+|format|parse|organizeImports|assist\S*|suppressions\S*|plugin|internalError\S*|lint|ci|check|files/\S+|config\w*)(?: +[A-Z]+)* +━+$",
    )
    .with(&[r"^$", r"^  (?P<severity>[×✖!⚠]) (?P<message>\S.*)$", r"^  "])],
    ..Spec::NONE
});
