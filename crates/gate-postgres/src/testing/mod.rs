//! One cluster for a whole test run, and a database for each test.
//!
//! Everything here blocks, and may be called from inside an async runtime. Failures panic: they are failures of a test.

mod database;
mod shared;

pub use database::TestDatabase;
