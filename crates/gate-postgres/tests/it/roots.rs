//! PostgreSQL refuses root; we do not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};

use gate_postgres::{PostgresError, Server, Settings};

use crate::help::{client, is_root, scratch, server_pid};

#[test]
fn roots_server_runs_as_another_user_who_owns_only_cluster_and_socket() {
    if !is_root() {
        return println!("not run: this test is about root, and we are not root");
    }
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let server = Server::start(&Settings::new(&data_dir)).unwrap();
    let owner = fs::metadata(data_dir.join("cluster")).unwrap().uid();
    assert_ne!(owner, 0);
    assert_eq!(fs::metadata(format!("/proc/{}", server_pid(&data_dir))).unwrap().uid(), owner);
    assert_eq!(fs::metadata(server.socket_dir()).unwrap().uid(), owner);
    assert_eq!(fs::metadata(&data_dir).unwrap().uid(), 0);
    client(&server.url()).execute("select 1", &[]).unwrap();
}

#[test]
fn root_can_name_the_user_by_numbers() {
    if !is_root() {
        return println!("not run: this test is about root, and we are not root");
    }
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let mut settings = Settings::new(&data_dir);
    settings.run_as = Some("nobody".to_owned());
    let server = Server::start(&settings).unwrap();
    assert_eq!(fs::metadata(data_dir.join("cluster")).unwrap().uid(), 65534);
    server.stop().unwrap();
    settings.run_as = Some("0:0".to_owned());
    assert!(matches!(Server::start(&settings), Err(PostgresError::RunAsRoot { .. })));
    settings.run_as = Some("no-such-user".to_owned());
    assert!(matches!(Server::start(&settings), Err(PostgresError::UnknownUser { .. })));
}

#[test]
fn a_closed_directory_on_the_way_is_named() {
    if !is_root() {
        return println!("not run: this test is about root, and we are not root");
    }
    let dir = scratch();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let refused = Server::start(&Settings::new(closed.join("pg"))).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, PostgresError::NotReachable { .. }), "{text}");
    assert!(text.contains("closed;") && text.contains("/var/lib/donegate"), "{text}");
}

#[test]
fn a_data_directory_of_someone_else_is_refused_and_left_alone() {
    if !is_root() {
        return println!("not run: only root can make a directory of someone else");
    }
    let dir = scratch();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(65534), None).unwrap();
    let refused = Server::start(&Settings::new(&theirs)).unwrap_err();
    assert!(matches!(refused, PostgresError::ForeignDirectory { owner: 65534, .. }), "{refused}");
    let link = dir.path().join("link");
    symlink("/etc", &link).unwrap();
    lchown(&link, Some(65534), None).unwrap();
    let refused = Server::start(&Settings::new(&link)).unwrap_err();
    assert!(matches!(refused, PostgresError::ForeignDirectory { owner: 65534, .. }), "{refused}");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

#[test]
fn without_root_the_server_runs_as_ourselves_or_not_at_all() {
    if is_root() {
        return println!("not run: this test is about ordinary users, and we are root");
    }
    let dir = scratch();
    let data_dir = dir.path().join("pg");
    let mut settings = Settings::new(&data_dir);
    settings.run_as = Some("root".to_owned());
    assert!(matches!(Server::start(&settings), Err(PostgresError::RunAsNeedsRoot { .. })));
    settings.run_as = None;
    let _server = Server::start(&settings).unwrap();
    assert_eq!(fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
}
