//! pip's conflicts: the requirement that cannot be met, in the file that asks for it.

use gate_core::Location;

use crate::parsers::Context;
use crate::pattern::{Pattern, group, number, pattern};

static CONFLICT: Pattern =
    Pattern::new(|| pattern(r"^ERROR: Cannot install (?:-r \S+ \(line \d+\)|(\S+))"));
static COLLECTING: Pattern = Pattern::new(|| {
    pattern(
        r"^(?:Collecting|Requirement already satisfied:) (\S+) .*\(from -r (\S+) \(line (\d+)\)\)",
    )
});

/// Where the first package of the conflict is asked for.
pub(super) fn requirement(cx: &Context<'_>, message: &str) -> Option<Location> {
    let found = CONFLICT.captures(message)?;
    let package = group(&found, 1).trim_end_matches(',');
    let mut asked = cx.lines().filter_map(|it| COLLECTING.captures(it.1));
    let found = asked.find(|it| group(it, 1) == package)?;
    Some(cx.paths.location(group(&found, 2), number(&found, 3)))
}
