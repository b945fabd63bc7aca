//! The databases for tests, tested.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use gate_postgres::testing::TestDatabase;

use crate::help::{self, Holder, client, has_ended, scratch, server_pid, wait_until};

#[test]
fn two_test_databases_see_nothing_of_each_other() {
    let one = TestDatabase::create("pair");
    let two = TestDatabase::create("pair");
    assert_ne!(one.name(), two.name());
    client(one.url()).batch_execute("create table only_here ()").unwrap();
    let there = client(two.url())
        .query("select from pg_tables where tablename = 'only_here'", &[])
        .unwrap();
    assert!(there.is_empty());
}

#[test]
fn a_test_database_is_dropped_with_its_value_even_while_a_session_is_open() {
    let witness = TestDatabase::create("witness");
    let dropped = TestDatabase::create("dropped");
    let name = dropped.name().to_owned();
    let _session = client(dropped.url());
    drop(dropped);
    assert_eq!(databases_named(&witness, &name), 0);
}

#[test]
fn a_test_database_is_kept_when_its_test_fails() {
    let witness = TestDatabase::create("witness");
    let kept = TestDatabase::create("Kept: on/panic");
    let name = kept.name().to_owned();
    assert!(name.starts_with("test_kept__on_panic_"), "{name}");
    let failed = catch_unwind(AssertUnwindSafe(move || {
        let _kept = kept;
        panic!("this panic is a part of the test");
    }));
    assert!(failed.is_err());
    assert_eq!(databases_named(&witness, &name), 1);
    client(witness.url()).batch_execute(&format!("drop database {name}")).unwrap();
}

#[test]
fn many_threads_get_databases_at_once() {
    let databases: Vec<TestDatabase> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| TestDatabase::create("many"))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let names: std::collections::BTreeSet<_> = databases.iter().map(TestDatabase::name).collect();
    assert_eq!(names.len(), 8);
}

#[test]
fn the_shared_server_outlives_who_started_it_and_ends_after_its_last_user() {
    let target = scratch();
    let first = Holder::test_process(target.path());
    let second = Holder::test_process(target.path());
    let data_dir = data_dir(target.path());
    let server = server_pid(&data_dir);
    let mut session = client(&second.url);
    first.kill();
    session.batch_execute("create table still_there ()").unwrap();
    drop(session);
    second.kill();
    wait_until("the server ends", || has_ended(server));

    // The next test run finds everything as it needs it.
    let third = Holder::test_process(target.path());
    client(&third.url).execute("select 1", &[]).unwrap();
    third.kill();
    wait_until("the server ends", || !data_dir.join("cluster/postmaster.pid").exists());
}

#[test]
fn a_shared_server_that_was_killed_is_replaced_for_the_next_user() {
    let target = scratch();
    let first = Holder::test_process(target.path());
    let data_dir = data_dir(target.path());
    help::kill(server_pid(&data_dir));
    let second = Holder::test_process(target.path());
    client(&second.url).execute("select 1", &[]).unwrap();
    // The first one's watchdog must not end the second one's server.
    first.kill();
    let mut session = client(&second.url);
    session.execute("select 1", &[]).unwrap();
    second.kill();
    wait_until("the server ends", || !data_dir.join("cluster/postmaster.pid").exists());
}

#[test]
fn a_broken_shared_cluster_is_made_anew() {
    let target = scratch();
    let data_dir = data_dir(target.path());
    fs::create_dir_all(data_dir.join("cluster")).unwrap();
    fs::set_permissions(&data_dir, fs::Permissions::from_mode(0o711)).unwrap();
    fs::write(data_dir.join("cluster/PG_VERSION"), "9").unwrap();
    let run = Holder::test_process(target.path());
    client(&run.url).execute("select 1", &[]).unwrap();
    run.kill();
    wait_until("the server ends", || !data_dir.join("cluster/postmaster.pid").exists());
}

fn data_dir(target: &Path) -> std::path::PathBuf {
    target.join(format!("test-postgres-{}", rustix::process::geteuid().as_raw()))
}

fn databases_named(witness: &TestDatabase, name: &str) -> i64 {
    let row = client(witness.url())
        .query_one("select count(*) from pg_database where datname = $1", &[&name]);
    row.unwrap().get(0)
}
