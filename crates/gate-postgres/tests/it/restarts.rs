//! First start, next start, and every way to die in between.

use std::fs;
use std::time::Duration;

use gate_postgres::{Server, Settings, Status};

use crate::help::{self, Holder, client, scratch, server_pid};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn what_was_written_is_there_after_a_restart() {
    let dir = scratch();
    let settings = Settings::new(dir.path().join("pg"));
    let server = Server::start(&settings).unwrap();
    client(&server.url())
        .batch_execute("create table kept (n int); insert into kept values (42)")
        .unwrap();
    server.stop().unwrap();

    let server = Server::start(&settings).unwrap();
    let n: i32 = client(&server.url()).query_one("select n from kept", &[]).unwrap().get(0);
    assert_eq!(n, 42);
    server.stop().unwrap();
}

#[test]
fn the_server_syncs_to_disk_and_listens_on_no_port() {
    let dir = scratch();
    let server = Server::start(&Settings::new(dir.path().join("pg"))).unwrap();
    let mut client = client(&server.url());
    for (name, wanted) in [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("listen_addresses", ""),
    ] {
        assert_eq!(help::setting(&mut client, name), wanted, "{name}");
    }
    assert_eq!(help::setting(&mut client, "data_checksums"), "on");
    let database: String = client.query_one("select current_database()::text", &[]).unwrap().get(0);
    assert_eq!(database, "donegate");
}

#[test]
fn a_stop_leaves_nothing_to_recover_even_with_a_session_open() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    let bin_dir = help::bin_dir(&data_dir);
    let _session = client(&server.url());
    server.stop().unwrap();
    assert_eq!(help::control_state(&data_dir, &bin_dir), "shut down");
    assert!(!data_dir.join("cluster/postmaster.pid").exists());
}

#[test]
fn a_server_that_is_killed_is_started_again() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    client(&server.url()).batch_execute("create table kept ()").unwrap();
    let first = server_pid(&data_dir);
    help::kill(first);
    let down = server.wait_for_change(&Status::Ready, PATIENCE);
    assert!(matches!(&down, Status::Down { reason } if reason.contains("signal: 9")), "{down:?}");
    assert_eq!(server.wait_for_change(&down, PATIENCE), Status::Ready);
    assert_eq!(server.restarts(), 1);
    assert_ne!(server_pid(&data_dir), first);
    client(&server.url()).execute("select from kept", &[]).unwrap();
    server.stop().unwrap();
}

#[test]
fn a_gate_that_was_killed_starts_again_on_the_same_data() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let gate = Holder::start(&data_dir);
    client(&gate.url).batch_execute("create table kept ()").unwrap();
    gate.kill();

    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    client(&server.url()).execute("select from kept", &[]).unwrap();
    server.stop().unwrap();
}

#[test]
fn a_server_stops_in_order_when_its_gate_is_killed() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let gate = Holder::start(&data_dir);
    let (server, bin_dir) = (server_pid(&data_dir), help::bin_dir(&data_dir));
    gate.kill();
    help::wait_until("the server ends", || help::has_ended(server));
    assert_eq!(help::control_state(&data_dir, &bin_dir), "shut down");
}

#[test]
fn gate_and_server_killed_together_leave_a_pid_file_that_is_no_obstacle() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let gate = Holder::start(&data_dir);
    client(&gate.url).batch_execute("create table kept ()").unwrap();
    let pid = server_pid(&data_dir);
    // The server first, or the death of the gate would let it end in order.
    help::kill(pid);
    gate.kill();
    assert!(
        data_dir.join("cluster/postmaster.pid").exists(),
        "nothing to test: the pid file is gone"
    );

    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    client(&server.url()).execute("select from kept", &[]).unwrap();
    server.stop().unwrap();
}

#[test]
fn a_pid_file_of_a_process_that_is_no_server_is_no_obstacle() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let settings = Settings::new(&data_dir);
    Server::start(&settings).unwrap().stop().unwrap();
    // Our own number: it lives, as any process may that got the number of a dead server.
    let stale = format!(
        "{}\n{}\n1700000000\n5432\n\n\n  1  1\nready\n",
        std::process::id(),
        data_dir.display()
    );
    fs::write(data_dir.join("cluster/postmaster.pid"), stale).unwrap();

    let server = Server::start(&settings).unwrap();
    client(&server.url()).execute("select 1", &[]).unwrap();
    server.stop().unwrap();
}

#[test]
fn a_cluster_that_was_made_by_half_is_made_again() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    fs::create_dir_all(data_dir.join("cluster.init/base")).unwrap();
    fs::write(data_dir.join("cluster.init/PG_VERSION"), "15").unwrap();
    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    client(&server.url()).execute("select 1", &[]).unwrap();
    assert!(!data_dir.join("cluster.init").exists());
}
