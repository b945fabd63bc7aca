//! The reader from outside: real logs, forged ones, documents, and any bytes.

mod bounds;
mod cases;
mod documents;
mod fixtures;
mod forged;
mod forged_js;
mod forged_native;
mod hostile;
mod wrapped;
