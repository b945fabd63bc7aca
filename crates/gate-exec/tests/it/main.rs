//! Real repositories, real archives, real processes.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stdout, reason = "a test that cannot run says so")]

mod alone;
mod archives;
mod commands;
mod container;
mod crash;
mod directories;
mod docker_like;
mod engine;
mod first;
mod fixture;
mod git_mirrors;
mod git_sources;
mod hostile;
mod leaks;
mod made_archive;
mod patches;
mod protected;
mod refused;
mod restored;
mod results;
mod secrets;
mod setup;
mod tiers;
mod tree_cache;
