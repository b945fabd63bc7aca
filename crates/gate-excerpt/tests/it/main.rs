//! The reader from outside: real logs, forged ones, and any bytes.

mod bounds;
mod cases;
mod fixtures;
mod forged;
mod forged_native;
