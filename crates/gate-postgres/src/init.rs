//! Makes a cluster, whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tracing::info;

use crate::PostgresError;
use crate::account::Account;
use crate::binaries::Binaries;
use crate::layout::{Layout, private_dir};
use crate::postmaster::{Durability, NAME};
use crate::recover::end_processes;
use crate::spawn::run_tool;

/// A slow disk needs some seconds; a minute and more means that something is wrong.
const TOOL_LIMIT: Duration = Duration::from_secs(180);

/// What the tools read and print; files, for a pipe that nobody reads would stop them.
const INPUT: &str = "init.in";
const OUTPUT: &str = "init.log";

/// Runs `initdb` and creates the database in a directory aside, then gives it its name.
pub(crate) fn make_cluster(
    layout: &Layout,
    binaries: &Binaries,
    account: &Account,
    durability: Durability,
) -> Result<(), PostgresError> {
    let unfinished = layout.unfinished_cluster();
    if unfinished.exists() {
        end_processes(&unfinished)?;
        fs::remove_dir_all(&unfinished).map_err(PostgresError::io("remove", &unfinished))?;
    }
    private_dir(&unfinished, account)?;
    info!(path = %layout.cluster().display(), "a PostgreSQL cluster is made (version {})", binaries.major);
    let path = unfinished.display().to_string();
    let mut args = vec!["-D", &path, "-U", NAME, "-E", "UTF8", "--locale=C", "--data-checksums"];
    args.extend(["--auth-local=trust", "--auth-host=reject", "--no-instructions"]);
    match durability {
        Durability::Full => {}
        #[cfg(feature = "testing")]
        Durability::None => args.push("--no-sync"),
    }
    let run = |program, args: &[&str], input: &str| {
        run(layout, &binaries.program(program), (program, args), account, input)
    };
    run("initdb", &args, "")?;
    let single = ["--single", "-D", &path, "-c", "exit_on_error=on", "postgres"];
    run("postgres", &single, &format!("create database {NAME}\n"))?;
    for name in [INPUT, OUTPUT] {
        let path = layout.data_dir.join(name);
        fs::remove_file(&path).map_err(PostgresError::io("remove", &path))?;
    }
    let cluster = layout.cluster();
    fs::rename(&unfinished, &cluster).map_err(PostgresError::io("give its name to", &cluster))?;
    let synced = File::open(&layout.data_dir).and_then(|dir| dir.sync_all());
    synced.map_err(PostgresError::io("sync", &layout.data_dir))
}

fn run(
    layout: &Layout,
    path: &Path,
    (program, args): (&'static str, &[&str]),
    account: &Account,
    input: &str,
) -> Result<(), PostgresError> {
    let scratch = |name: &str| {
        let path = layout.data_dir.join(name);
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).read(true).write(true).mode(0o600);
        options.open(&path).map_err(PostgresError::io("create", &path))
    };
    let mut stdin = scratch(INPUT)?;
    let written = stdin.write_all(input.as_bytes()).and_then(|()| stdin.rewind());
    written.map_err(PostgresError::io("write", &layout.data_dir))?;
    let mut printed = scratch(OUTPUT)?;
    let cwd = layout.unfinished_cluster();
    let io = (Stdio::from(stdin), &mut printed);
    let ended = run_tool((path, args), account, &cwd, io, TOOL_LIMIT);
    let (status, output) = ended.map_err(PostgresError::io("run", path))?;
    if !status.success() {
        return Err(PostgresError::ToolFailed { program, ended: status.to_string(), output });
    }
    Ok(())
}
