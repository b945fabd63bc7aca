//! A test process that can be killed: makes a test database, prints its URL, and holds it until standard input ends.

use std::io::{self, Read, Write};

use gate_postgres::testing::TestDatabase;

fn main() -> io::Result<()> {
    let database = TestDatabase::create("example");
    writeln!(io::stdout(), "{}", database.url())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
