//! Tools and isolation tiers that not every machine has.

use std::process::{Command, Stdio};

/// Set to `1` where every tool is there: then a test that lacks one fails.
const REQUIRE_TOOLS: &str = "DONEGATE_TEST_REQUIRE_TOOLS";
/// The tiers that must be there.
const REQUIRE_TIERS: &str = "DONEGATE_TEST_REQUIRE_TIERS";

/// Whether the command works. Where it does not, the test says so and ends, or fails if all tools are required.
///
/// # Panics
/// When the tool is missing and `DONEGATE_TEST_REQUIRE_TOOLS=1`.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
#[must_use]
pub fn has_tool(words: &[&str]) -> bool {
    let [program, arguments @ ..] = words else { panic!("a tool has a name") };
    let mut command = command(program);
    let ended = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if ended.is_ok_and(|it| it.success()) {
        return true;
    }
    let told = format!("`{}` does not work on this machine", words.join(" "));
    let required = std::env::var_os(REQUIRE_TOOLS).is_some_and(|it| it == "1");
    assert!(!required, "{told}, and {REQUIRE_TOOLS} is set");
    eprintln!("this test did not run: {told}");
    false
}

/// Says that a test did not run for want of a tier, or fails if the tier is required.
///
/// # Panics
/// When `DONEGATE_TEST_REQUIRE_TIERS`, names separated by commas, has this one.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
pub fn lacks_tier(tier: &str, why: &str) {
    let required = std::env::var_os(REQUIRE_TIERS).unwrap_or_default();
    let is_required = required.to_string_lossy().split(',').any(|it| it.trim() == tier);
    assert!(
        !is_required,
        "{REQUIRE_TIERS} names `{tier}`, and this machine does not have it: {why}"
    );
    eprintln!("this test did not run: this machine does not have the tier `{tier}`: {why}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test plays the agent here, which is not the gate"
)]
pub(crate) fn command(program: &str) -> Command {
    Command::new(program)
}
