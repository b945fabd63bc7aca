//! Real repositories, real archives, real processes.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stdout, reason = "a test that cannot run says so")]

mod archives;
mod commands;
mod crash;
mod directories;
mod fixture;
mod git_sources;
mod leaks;
mod patches;
mod protected;
mod tree_cache;
