//! The health check of a container: alive is 0, all else is 69.

use std::net::TcpListener;

use crate::cli::donegate;
use crate::stub::{Answer, Stub};

fn ask(listen: &str) -> crate::cli::Ended {
    donegate().args(["healthcheck"]).env("DONEGATE_LISTEN_ADDRESS", listen).run()
}

#[test]
fn a_gate_that_answers_is_alive_and_one_that_listens_everywhere_is_asked_on_loopback() {
    let stub = Stub::start(|_| Answer::html(200));
    let address = stub.url.trim_start_matches("http://");
    let ended = ask(&address.replace("127.0.0.1", "0.0.0.0"));
    assert_eq!((ended.status, ended.stdout.contains("alive")), (0, true), "{ended:?}");
    let ended = donegate().args(["healthcheck", "--listen", address, "--json"]).run();
    assert_eq!((ended.status, &ended.json()["alive"]), (0, &true.into()), "{ended:?}");
    assert_eq!(stub.lines(), ["GET /healthz", "GET /healthz"]);
}

#[test]
fn a_gate_that_is_not_there_or_fails_is_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ended = ask(&free.to_string());
    assert_eq!(ended.status, 69, "{ended:?}");
    let stub = Stub::start(|_| Answer::html(503));
    let ended = ask(stub.url.trim_start_matches("http://"));
    assert_eq!((ended.status, ended.stderr.contains("503")), (69, true), "{ended:?}");
}

#[test]
fn a_fault_of_the_configuration_is_said_and_not_taken_for_an_answer() {
    let ended = ask("everywhere");
    assert_eq!((ended.status, ended.stderr.contains("DONEGATE_LISTEN_ADDRESS")), (64, true));
}
