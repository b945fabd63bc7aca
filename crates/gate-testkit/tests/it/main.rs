//! Product stories: what a user of the gate is promised, over HTTP, against the real gate.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod acceptance_files;
mod callbacks;
mod cancel;
mod changes;
mod contracts;
mod crowd;
mod documents;
mod exports;
mod gate_faults;
mod help;
mod hostile;
mod idempotency;
mod isolation;
mod limits;
mod logs;
mod preflight;
mod results;
mod roles;
mod rules;
mod setup;
mod slow_clients;
mod sources;
mod sources_of_agents;
mod system;
mod tests_of_projects;
mod tiers;
mod waiting;
