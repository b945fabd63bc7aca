//! esbuild, and what bundles with it.

use crate::table::{Row, Spec, Table};

/// The place, the source, notes.
const BELOW: &[&str] =
    &[r"^$", r"^ {4}(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+):$", r"^ {2,}\S"];

/// See the module.
pub(crate) static ESBUILD: Table = Table::new(Spec {
    tool: "esbuild",
    programs: &["esbuild", "tsup"],
    marks: &["[ERROR] ", "[WARNING] "],
    banner: Some(r"^(?:✘|X) \[ERROR\] |^(?:▲|⚠) \[WARNING\] "),
    rows: &[
        Row::error(r"^(?:✘|X) \[ERROR\] (?P<message>.+?)(?: \[(?P<code>[\w-]+)\])?$").with(BELOW),
        Row::warning(r"^(?:▲|⚠) \[WARNING\] (?P<message>.+?)(?: \[(?P<code>[\w-]+)\])?$")
            .with(BELOW),
    ],
    ..Spec::NONE
});
