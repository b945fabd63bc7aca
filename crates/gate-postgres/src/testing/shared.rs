//! The cluster that all test processes of one target directory share.
//!
//! It outlives the process that started it, and ends some seconds after its last user (see `watchdog.sh`). Nothing
//! in it is worth anything: what does not start is made anew.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Access, CWD, FileType, Mode, OFlags, access, mknodat};

use crate::account::Account;
use crate::binaries::{Binaries, cluster_major};
use crate::layout::{Layout, fingerprint, first_closed};
use crate::postmaster::{self, Durability};
use crate::recover::end_leftovers;
use crate::spawn::{self, Lifetime};
use crate::supervise::READY_SECONDS_MAX;
use crate::{PostgresError, Settings, init, lock, log};

/// How long the server waits for another user after its last one.
const GRACE_SECONDS: u64 = 5;

/// Another test process may be making the cluster.
const LOCK_LIMIT: Duration = Duration::from_secs(240);

const POLL: Duration = Duration::from_millis(10);

/// Many test processes, each with some pools.
const CONNECTIONS_MAX: u16 = 300;

/// While this lives, the server does.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) socket_dir: PathBuf,
    /// This process is the one that started the server.
    pub(super) is_first: bool,
    fifo: File,
    fifo_path: PathBuf,
}

impl Membership {
    /// Joins the running server, or starts it.
    pub(super) fn join() -> Result<Self, PostgresError> {
        let account = Account::resolve(None)?;
        let layout = Layout::prepare(&base_dir(&account), &account)?;
        let _lock = wait_for_lock(&layout)?;
        if let Some(member) = attach(&layout)? {
            return Ok(member);
        }
        match start(&layout, &account) {
            Ok(member) => Ok(member),
            // Without fsync a crash of the machine may have broken the cluster; there is nothing in it to be saved.
            Err(
                PostgresError::EndedAtStart { .. }
                | PostgresError::NotReady { .. }
                | PostgresError::NoBinaries { .. },
            ) => {
                end_leftovers(&layout.cluster(), &layout.socket_dir)?;
                let cluster = layout.cluster();
                if cluster.exists() {
                    fs::remove_dir_all(&cluster).map_err(PostgresError::io("remove", &cluster))?;
                }
                start(&layout, &account)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the watchdog still knows of us.
    pub(super) fn is_valid(&self) -> bool {
        is_same(&self.fifo, &self.fifo_path)
    }
}

/// In the target directory of the test that runs, a directory for each user; where that cannot be made, or the
/// server's user cannot go there, in the directory for temporary files.
fn base_dir(account: &Account) -> PathBuf {
    let uid = rustix::process::geteuid().as_raw();
    let exe = env::current_exe().unwrap_or_default();
    // Cargo marks its target directories with this file.
    let target =
        exe.ancestors().skip(1).find(|dir| dir.join("CACHEDIR.TAG").is_file()).unwrap_or(&exe);
    let usable = |dir: &Path| {
        let writable = dir.is_dir() && access(dir, Access::WRITE_OK).is_ok();
        writable && (!account.switch || first_closed(dir, account).is_none())
    };
    if usable(target) {
        return target.join(format!("test-postgres-{uid}"));
    }
    // `TMPDIR` may be closed to the server's user as well.
    let temporary =
        Some(env::temp_dir()).filter(|dir| usable(dir)).unwrap_or_else(|| PathBuf::from("/tmp"));
    temporary.join(format!(
        "donegate-test-{uid}-{:016x}",
        fingerprint(target.as_os_str().as_encoded_bytes())
    ))
}

fn wait_for_lock(layout: &Layout) -> Result<File, PostgresError> {
    let path = layout.lock();
    let file = lock::open(&path)?;
    let deadline = Instant::now() + LOCK_LIMIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(POLL),
            Err(error) => return Err(PostgresError::io("lock", &path)(error.into())),
        }
    }
}

/// Becomes a user of the server that runs, if one does.
fn attach(layout: &Layout) -> Result<Option<Membership>, PostgresError> {
    let name = fs::read_to_string(current(layout)).unwrap_or_default();
    if name.is_empty() {
        return Ok(None);
    }
    let fifo_path = layout.data_dir.join(&name);
    // Fails without a reader: then the watchdog is gone, and nobody would end the server.
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(&fifo_path);
    let Ok(mut fifo) = opened else { return Ok(None) };
    fifo.write_all(b"+").map_err(PostgresError::io("join the users of", &fifo_path))?;
    let pid = fs::read_to_string(layout.cluster().join("postmaster.pid")).unwrap_or_default();
    let pid = pid.lines().next().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
    let alive = crate::recover::server_processes(&layout.cluster())
        .iter()
        .any(|it| it.as_raw_nonzero().get() == pid);
    if !alive || !postmaster::is_ready(&layout.cluster(), pid) || !is_same(&fifo, &fifo_path) {
        return Ok(None);
    }
    Ok(Some(Membership { socket_dir: layout.socket_dir.clone(), is_first: false, fifo, fifo_path }))
}

fn current(layout: &Layout) -> PathBuf {
    layout.data_dir.join("current")
}

fn is_same(file: &File, path: &Path) -> bool {
    let key = |it: fs::Metadata| (it.dev(), it.ino());
    let (ours, named) = (file.metadata().map(key), fs::metadata(path).map(key));
    matches!((ours, named), (Ok(ours), Ok(named)) if ours == named)
}

/// Starts watchdog and server, in this order, so that no server is ever without one.
fn start(layout: &Layout, account: &Account) -> Result<Membership, PostgresError> {
    let cluster = layout.cluster();
    end_leftovers(&cluster, &layout.socket_dir)?;
    let settings = Settings::new(&layout.data_dir);
    let major = cluster_major(&cluster)?;
    let binaries = find(&settings, layout, major)?;
    if major.is_none() {
        init::make_cluster(layout, &binaries, account, Durability::None)?;
    }
    let (fifo, fifo_path) = start_watchdog(layout, account)?;
    let log_path = layout.log();
    let log = File::create(&log_path).map_err(PostgresError::io("create", &log_path))?;
    let args = postmaster::arguments(layout, CONNECTIONS_MAX, Durability::None);
    let program = binaries.program("postgres");
    let spawned =
        spawn::server(&program, &args, (account, &cluster), Stdio::from(log), Lifetime::Detached);
    let mut server = spawned.map_err(PostgresError::io("start", &program))?;
    wait_until_ready(&mut server, layout)?;
    Ok(Membership { socket_dir: layout.socket_dir.clone(), is_first: true, fifo, fifo_path })
}

#[cfg(feature = "download")]
fn find(
    settings: &Settings,
    layout: &Layout,
    major: Option<u32>,
) -> Result<Binaries, PostgresError> {
    match Binaries::find(settings, major) {
        // A cluster that no server here can read is made anew, which costs less than its server.
        Err(PostgresError::NoBinaries { .. }) if major.is_none() => {
            crate::download::fetch(&layout.data_dir, major)
        }
        found => found,
    }
}

#[cfg(not(feature = "download"))]
fn find(
    settings: &Settings,
    _layout: &Layout,
    major: Option<u32>,
) -> Result<Binaries, PostgresError> {
    Binaries::find(settings, major)
}

fn start_watchdog(layout: &Layout, account: &Account) -> Result<(File, PathBuf), PostgresError> {
    remove_old_fifos(&layout.data_dir);
    let nonce = Instant::now();
    let name = format!(
        "users-{}-{:016x}",
        std::process::id(),
        fingerprint(format!("{nonce:?}").as_bytes())
    );
    let path = layout.data_dir.join(&name);
    let made = mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
    made.map_err(io::Error::from).map_err(PostgresError::io("create", &path))?;
    // For both directions, or it would wait here for the watchdog.
    let opened = OpenOptions::new().read(true).write(true).open(&path);
    let both = opened.map_err(PostgresError::io("open", &path))?;
    fs::write(current(layout), &name).map_err(PostgresError::io("write", &layout.data_dir))?;
    let grace = GRACE_SECONDS.to_string();
    let cluster = layout.cluster();
    let args =
        [layout.data_dir.as_os_str(), OsStr::new(&name), cluster.as_os_str(), OsStr::new(&grace)];
    let script = include_str!("watchdog.sh");
    let watchdog = spawn::detached_script(script, &args, account);
    watchdog.map_err(PostgresError::io("start the watchdog of", &cluster))?;
    Ok((both, path))
}

/// Of watchdogs that were killed. One that lives holds its FIFO open, and does not need its name.
fn remove_old_fifos(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("users-") {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn wait_until_ready(server: &mut Child, layout: &Layout) -> Result<(), PostgresError> {
    let pid = i32::try_from(server.id()).unwrap_or(i32::MAX);
    let deadline = Instant::now() + Duration::from_secs(READY_SECONDS_MAX);
    while !postmaster::is_ready(&layout.cluster(), pid) {
        let log = || log::tail(&layout.log());
        if let Some(status) =
            server.try_wait().map_err(PostgresError::io("wait for", &layout.cluster()))?
        {
            return Err(PostgresError::EndedAtStart { ended: status.to_string(), log: log() });
        }
        if Instant::now() > deadline {
            return Err(PostgresError::NotReady { limit_seconds: READY_SECONDS_MAX, log: log() });
        }
        thread::sleep(POLL);
    }
    Ok(())
}
