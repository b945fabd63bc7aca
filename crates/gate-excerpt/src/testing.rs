//! Helps the tests inside of this crate: one parser on one log.

use crate::Input;
use crate::clean::Log;
use crate::command::calls;
use crate::draft::Draft;
use crate::mask::Noise;
use crate::parsers::{Context, LogParser};
use crate::paths::Paths;

/// What the parser finds when it is named by the command and alone.
pub(crate) fn draft_of(parser: &dyn LogParser, input: &Input<'_>) -> Draft {
    let log = Log::read(input.bytes);
    parser.read(&Context {
        log: &log,
        input,
        paths: Paths::new(input.roots),
        calls: &calls(input.command),
        is_named: true,
        noise: &Noise::default(),
        taken: &vec![false; log.len()],
    })
}
