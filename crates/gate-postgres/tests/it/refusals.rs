//! What is refused, and what the message says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use gate_postgres::{PostgresError, Server, Settings};

use crate::help::{Holder, client, scratch};

#[test]
fn a_second_gate_on_one_data_directory_is_told_who_holds_it() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let first = Holder::start(&data_dir);
    let refused = Server::start(&Settings::new(&data_dir)).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, PostgresError::DataDirBusy { .. }), "{text}");
    assert!(text.contains(&format!("process {}", first.child.id())), "{text}");
    // The refusal did the first one no harm.
    client(&first.url).execute("select 1", &[]).unwrap();
    first.kill();
}

#[test]
fn a_directory_without_a_server_is_not_replaced_by_another() {
    let dir = scratch();
    let mut settings = Settings::new(dir.path().join("pg"));
    settings.bin_dir = Some(dir.path().join("bin"));
    let text = Server::start(&settings).unwrap_err().to_string();
    for wanted in ["apt-get install postgresql", "DATABASE_URL", "version 14 or newer", "/bin"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn a_cluster_of_another_version_is_left_alone() {
    let dir = scratch();
    let cluster = dir.path().join("pg/cluster");
    fs::create_dir_all(&cluster).unwrap();
    fs::write(cluster.join("PG_VERSION"), "9\n").unwrap();
    let mut settings = Settings::new(dir.path().join("pg"));
    settings.download = false;
    let text = Server::start(&settings).unwrap_err().to_string();
    assert!(text.contains("version 9, as the cluster has"), "{text}");
    assert_eq!(fs::read_to_string(cluster.join("PG_VERSION")).unwrap(), "9\n");
}

#[test]
fn a_version_file_without_a_version_is_named() {
    let dir = scratch();
    let cluster = dir.path().join("pg/cluster");
    fs::create_dir_all(&cluster).unwrap();
    fs::write(cluster.join("PG_VERSION"), "what").unwrap();
    let refused = Server::start(&Settings::new(dir.path().join("pg"))).unwrap_err();
    assert!(matches!(refused, PostgresError::BadVersionFile { .. }), "{refused}");
}

#[test]
fn a_server_that_cannot_start_shows_the_end_of_its_log() {
    let dir = scratch();
    let settings = Settings::new(dir.path().join("pg"));
    Server::start(&settings).unwrap().stop().unwrap();
    let conf = dir.path().join("pg/cluster/postgresql.conf");
    fs::write(&conf, "no_such_setting = 1\n").unwrap();
    let refused = Server::start(&settings).unwrap_err();
    assert!(matches!(refused, PostgresError::EndedAtStart { .. }), "{refused}");
    assert!(refused.to_string().contains("no_such_setting"), "{refused}");
}

#[test]
fn a_data_directory_with_a_long_path_gets_a_short_socket() {
    let dir = scratch();
    let data_dir = dir.path().join("a".repeat(60)).join("b".repeat(60));
    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    client(&server.url()).execute("select 1", &[]).unwrap();
    let socket_dir = server.socket_dir().to_path_buf();
    assert!(!socket_dir.starts_with(&data_dir), "{}", socket_dir.display());
    assert_eq!(mode(&socket_dir), 0o700);
    server.stop().unwrap();
    fs::remove_dir(&socket_dir).unwrap();
}

#[test]
fn cluster_and_socket_are_closed_to_others() {
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    assert_eq!(mode(&data_dir.join("cluster")), 0o700);
    assert_eq!(mode(server.socket_dir()), 0o700);
    for file in ["lock", "server.log"] {
        assert_eq!(mode(&data_dir.join(file)), 0o600, "{file}");
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
