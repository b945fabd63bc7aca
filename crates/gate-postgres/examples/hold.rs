//! Starts the server of a data directory, says so, and holds it until it is killed or its standard input ends.
//!
//! The tests kill it. `cargo run -p gate-postgres --example hold -- <data directory>` is also a way to get a server by hand.

use std::io::{self, Read, Write};

use gate_postgres::{Server, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data_dir = std::env::args_os().nth(1).ok_or("usage: hold <data directory>")?;
    let server = Server::start(&Settings::new(data_dir))?;
    writeln!(io::stdout(), "{}", server.url())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(server.stop()?)
}
