//! A database for one test.
//!
//! Databases are made over the wire by the crate `postgres` and not by `psql`: a server of `DATABASE_URL` may want a
//! password, and a machine with a server need not have `psql`.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use url::Url;

use super::shared::Membership;
use crate::postmaster::{self, NAME};
use crate::{PostgresError, environment};

/// PostgreSQL cuts names off at 63 bytes; process id and counter come behind the hint.
const HINT_BYTES_MAX: usize = 32;

/// How many names are tried, when earlier tests have left theirs.
const NAMES_MAX: u32 = 1000;

/// How often, and after what pause, a lost server is looked for again.
const TRIES_MAX: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// What failed tests left is kept for a day, for whoever looks.
const DROP_OLD: &str = "select datname::text from pg_database where datname like 'test\\_%' \
     and (pg_stat_file('base/' || oid || '/PG_VERSION', true)).modification < now() - interval '1 day' \
     and not exists (select from pg_stat_activity a where a.datname = pg_database.datname)";

static MEMBERSHIP: Mutex<Option<Membership>> = Mutex::new(None);

/// A fresh, empty database. It is dropped with this value, but kept when the test panics.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    url: String,
    admin_url: String,
}

impl TestDatabase {
    /// Creates a database whose name begins with `test_` and the hint.
    ///
    /// # Panics
    ///
    /// If there is no server, with a message that says what to do.
    #[must_use]
    pub fn create(name_hint: &str) -> Self {
        let hint = name_hint.to_owned();
        // On a thread of its own: the client has a runtime, which must not start within another one.
        let created = thread::spawn(move || create(&hint)).join();
        match created {
            Ok(Ok(database)) => database,
            Ok(Err(error)) => panic!("no database for this test: {}", with_causes(&error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// For sqlx and libpq.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if thread::panicking() {
            tell(&format!("the database of this test is kept for a day: {}", self.url));
            return;
        }
        let (url, sql) =
            (self.admin_url.clone(), format!("drop database if exists {} with (force)", self.name));
        let dropped = thread::spawn(move || execute(&url, &sql)).join();
        if let Ok(Err(error)) = dropped {
            tell(&format!("the database {} was not dropped: {}", self.name, with_causes(&error)));
        }
    }
}

fn create(hint: &str) -> Result<TestDatabase, PostgresError> {
    if let Some(url) = environment::database_url() {
        let parsed = Url::parse(&url).map_err(|source| PostgresError::BadDatabaseUrl { source })?;
        return create_at(&url, hint, |name| {
            let mut url = parsed.clone();
            url.set_path(name);
            url.into()
        });
    }
    let mut tries_left = TRIES_MAX;
    loop {
        let created = join().and_then(|socket_dir| {
            create_at(&postmaster::url(&socket_dir, NAME), hint, |name| {
                postmaster::url(&socket_dir, name)
            })
        });
        match created {
            // A server that was killed a moment ago still looks alive. We leave it, and join whatever is there next.
            Err(error) if is_lost(&error) && tries_left > 0 => {
                *MEMBERSHIP.lock().unwrap_or_else(PoisonError::into_inner) = None;
                tries_left -= 1;
                thread::sleep(PAUSE);
            }
            created => return created,
        }
    }
}

/// The socket of the shared server, of which this process is a user from now on.
fn join() -> Result<std::path::PathBuf, PostgresError> {
    let mut membership = MEMBERSHIP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(member) = membership.as_ref().filter(|it| it.is_valid()) {
        return Ok(member.socket_dir.clone());
    }
    let member = Membership::join()?;
    let socket_dir = member.socket_dir.clone();
    let is_first = member.is_first;
    *membership = Some(member);
    drop(membership);
    if is_first {
        drop_old(&postmaster::url(&socket_dir, NAME))?;
    }
    Ok(socket_dir)
}

fn create_at(
    admin_url: &str,
    hint: &str,
    url: impl Fn(&str) -> String,
) -> Result<TestDatabase, PostgresError> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let hint: String = hint
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    let hint = &hint[..hint.len().min(HINT_BYTES_MAX)];
    let mut names_left = NAMES_MAX;
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{hint}_{}_{number}", std::process::id());
        match execute(admin_url, &format!("create database {name}")) {
            Ok(()) => {
                return Ok(TestDatabase { url: url(&name), name, admin_url: admin_url.to_owned() });
            }
            // Left by a test of an earlier process with our number, or a moment's collision over the template.
            Err(error) if is_passing(&error) && names_left > 0 => names_left -= 1,
            Err(error) => return Err(error),
        }
    }
}

fn is_passing(error: &PostgresError) -> bool {
    let PostgresError::TestServer { source, .. } = error else { return false };
    let passing =
        [SqlState::DUPLICATE_DATABASE, SqlState::OBJECT_IN_USE, SqlState::UNIQUE_VIOLATION];
    source.code().is_some_and(|code| passing.contains(code))
}

/// No answer at all, or the answer of a server that is starting or stopping.
fn is_lost(error: &PostgresError) -> bool {
    let PostgresError::TestServer { source, .. } = error else { return false };
    let passing =
        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    source.code().is_none_or(|code| passing.contains(code))
}

fn execute(url: &str, sql: &str) -> Result<(), PostgresError> {
    connect(url)?.batch_execute(sql).map_err(refused(sql))
}

fn drop_old(url: &str) -> Result<(), PostgresError> {
    let mut client = connect(url)?;
    for row in client.query(DROP_OLD, &[]).map_err(refused("list old databases"))? {
        let sql = format!("drop database if exists {}", row.get::<_, String>(0));
        client.batch_execute(&sql).map_err(refused(&sql))?;
    }
    Ok(())
}

fn connect(url: &str) -> Result<Client, PostgresError> {
    let config = Config::from_str(url).map_err(refused("read the URL"))?;
    config.connect(NoTls).map_err(refused("connect"))
}

fn refused(what: &str) -> impl FnOnce(postgres::Error) -> PostgresError {
    let what = what.to_owned();
    move |source| PostgresError::TestServer { what, source }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |it| it.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[expect(clippy::print_stderr, reason = "for whoever reads the output of a failed test")]
fn tell(text: &str) {
    eprintln!("{text}");
}
