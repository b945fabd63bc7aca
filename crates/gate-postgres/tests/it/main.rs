//! A real server: what it survives, what it refuses, and what it leaves behind.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod help;
mod refusals;
mod restarts;
mod roots;
mod test_databases;
