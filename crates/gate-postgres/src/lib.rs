//! A private PostgreSQL cluster: found, initialised, started, watched, stopped.
//!
//! Knows nothing of what is stored in it, and no other crate of ours. The API is synchronous; a caller in an async
//! runtime starts and stops the server from a blocking thread.

mod account;
mod binaries;
#[cfg(feature = "download")]
mod download;
mod environment;
mod error;
mod init;
mod layout;
mod lock;
mod log;
mod postmaster;
mod recover;
mod server;
mod settings;
mod spawn;
mod supervise;
#[cfg(feature = "testing")]
pub mod testing;

pub use binaries::Binaries;
pub use error::PostgresError;
pub use server::Server;
pub use settings::{Settings, default_data_dir};
pub use supervise::Status;
