//! The way out over real sockets: what passes, what is refused and with which words, and that it ends.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use gate_exec::Egress as _;

use super::{EgressLimits, EgressProxy};
use crate::callback::Networks;

/// Whatever should happen happens well within it.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOPBACK: &str = "127.0.0.0/8";
const EVERYTHING: &str = "0.0.0.0/0, ::/0";

/// A sandbox's way out, until it is dropped.
struct WayOut {
    address: SocketAddr,
    serving: Box<dyn Send>,
}

impl WayOut {
    fn open(networks: &str, limits: EgressLimits) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = EgressProxy::new(Networks::parse(networks).unwrap(), limits);
        Self { address, serving: proxy.serve(listener).unwrap() }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What is answered to this request, until the proxy closes.
    async fn ask(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(&mut stream).await
    }

    /// An open tunnel.
    async fn tunnel(&self, target: &str) -> TcpStream {
        let mut stream = self.connect().await;
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = head_of(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream
    }
}

/// All that still comes; a reset is an end, too.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = async {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            bytes.extend_from_slice(&buffer[..count]);
        }
    };
    timeout(PATIENCE, read).await.expect("the proxy does not close");
    String::from_utf8(bytes).unwrap()
}

async fn head_of(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let byte = timeout(PATIENCE, stream.read_u8()).await.expect("an answer").unwrap();
        head.push(byte);
    }
    String::from_utf8(head).unwrap()
}

/// A server that sends back what it gets, and says when its client is gone.
async fn echo() -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (mut from, mut to) = stream.into_split();
        tokio::io::copy(&mut from, &mut to).await.ok();
    });
    (address, tasks)
}

/// A server that answers one request with `answer`, and tells what it got.
async fn http(answer: &'static str) -> (SocketAddr, JoinSet<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut got = head_of(&mut stream).await;
        if got.contains("content-length: 4") {
            let mut body = [0; 4];
            stream.read_exact(&mut body).await.unwrap();
            got.push_str(std::str::from_utf8(&body).unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        got
    });
    (address, tasks)
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_to_a_network_that_is_allowed() {
    let (server, _tasks) = echo().await;
    let out = WayOut::open(LOOPBACK, EgressLimits::default());
    let mut stream = out.tunnel(&server.to_string()).await;
    stream.write_all(b"hello").await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"hello");
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_whole_url_is_forwarded_to_the_host_it_names_and_to_no_other() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nkeep-alive: timeout=5\r\nx-a: b\r\nconnection: x-a\r\n\r\nyes";
    let (server, mut tasks) = http(answer).await;
    let out = WayOut::open(LOOPBACK, EgressLimits::default());
    let request = format!(
        "POST http://{server}/a?b=c HTTP/1.1\r\nHost: 169.254.169.254\r\nContent-Length: 4\r\n\
         Proxy-Authorization: Basic x\r\nX-Kept: 1\r\nX-Own: 2\r\nConnection: close, x-own\r\n\r\nbody"
    );
    let answer = out.ask(&request).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nyes"),
        "{answer}"
    );
    assert!(!answer.contains("keep-alive") && !answer.contains("x-a:"), "{answer}");
    let got = tasks.join_next().await.unwrap().unwrap();
    assert!(got.starts_with("POST /a?b=c HTTP/1.1\r\n") && got.ends_with("\r\n\r\nbody"), "{got}");
    assert!(got.contains(&format!("host: {server}\r\n")) && got.contains("x-kept: 1"), "{got}");
    for dropped in ["169.254", "proxy-authorization", "x-own", "connection"] {
        assert!(!got.contains(dropped), "{dropped}: {got}");
    }
}

#[tokio::test]
async fn loopback_is_refused_by_default_in_every_spelling_and_by_name() {
    let (server, mut tasks) = echo().await;
    let port = server.port();
    let out = WayOut::open("", EgressLimits::default());
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"] {
        for request in [
            format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n"),
            format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: example.com\r\n\r\n"),
        ] {
            let answer = out.ask(&request).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{request}: {answer}");
            assert!(answer.contains("is loopback") || answer.contains("is translated"), "{answer}");
            assert!(answer.contains("DONEGATE_SANDBOX_ALLOWED_NETWORKS"), "{answer}");
        }
    }
    assert!(tasks.try_join_next().is_none(), "nobody came to the server");
}

#[tokio::test]
async fn metadata_is_refused_even_when_all_networks_are_allowed() {
    let out = WayOut::open(EVERYTHING, EgressLimits::default());
    for host in ["169.254.169.254", "2852039166", "[fe80::1]", "[fd00:ec2::254]", "0.0.0.0"] {
        let answer = out.ask(&format!("CONNECT {host}:80 HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        assert!(answer.contains("is never reached from a sandbox"), "{answer}");
    }
}

#[tokio::test]
async fn a_tunnel_to_the_public_leads_to_no_other_service_than_the_web() {
    let out = WayOut::open("", EgressLimits::default());
    for port in [22, 25, 53] {
        let answer = out.ask(&format!("CONNECT 1.1.1.1:{port} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.contains("80 and 443"), "{answer}");
    }
}

#[tokio::test]
async fn a_name_is_not_told_where_it_leads() {
    let out = WayOut::open("", EgressLimits::default());
    let answer = out.ask("CONNECT localhost:80 HTTP/1.1\r\n\r\n").await;
    assert!(answer.contains("localhost leads to an address that is loopback"), "{answer}");
    assert!(!answer.contains("127.0.0.1") && !answer.contains("::1"), "{answer}");
}

#[tokio::test]
async fn what_is_no_request_for_a_proxy_is_refused_with_what_to_do() {
    let out = WayOut::open(LOOPBACK, EgressLimits::default());
    for (request, words) in [
        (
            "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
            "with a whole URL",
        ),
        (
            "GET https://127.0.0.1/ HTTP/1.1\r\nConnection: close\r\n\r\n",
            "open a tunnel with CONNECT",
        ),
        ("GET ftp://127.0.0.1/ HTTP/1.1\r\nConnection: close\r\n\r\n", "only http:// URLs"),
        ("GET http://me:word@127.0.0.1/ HTTP/1.1\r\nConnection: close\r\n\r\n", "user name"),
        ("CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n", "names no port"),
    ] {
        let answer = out.ask(request).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request}: {answer}");
        assert!(answer.contains(words), "{request}: {answer}");
    }
}

#[tokio::test]
async fn who_is_not_there_is_a_bad_gateway() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let out = WayOut::open(LOOPBACK, EgressLimits::default());
    let answer = out.ask(&format!("CONNECT {free} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let (server, _tasks) = http("no HTTP at all\r\n\r\n").await;
    let request = format!("GET http://{server}/ HTTP/1.1\r\nConnection: close\r\n\r\n");
    let answer = out.ask(&request).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn who_sends_its_headers_too_slowly_or_without_end_is_cut_off() {
    let limits = EgressLimits { header: Duration::from_millis(200), ..EgressLimits::default() };
    let out = WayOut::open("", limits);
    let mut slow = out.connect().await;
    slow.write_all(b"GET http://example.com/ HTTP/1.1\r\nx-a: ").await.unwrap();
    assert!(!rest(&mut slow).await.contains("200 OK"));
    let endless = "a".repeat(64 * 1024);
    let answer =
        out.ask(&format!("GET http://127.0.0.1/ HTTP/1.1\r\nx-a: {endless}\r\n\r\n")).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_tunnel_in_which_nothing_moves_and_one_that_lasts_too_long_are_cut() {
    let idle = EgressLimits { idle: Duration::from_millis(200), ..EgressLimits::default() };
    let total = EgressLimits { total: Duration::from_millis(400), ..EgressLimits::default() };
    for limits in [idle, total] {
        let (server, mut tasks) = echo().await;
        let out = WayOut::open(LOOPBACK, limits);
        let mut stream = out.tunnel(&server.to_string()).await;
        assert_eq!(rest(&mut stream).await, "");
        timeout(PATIENCE, tasks.join_next()).await.expect("the server's end is closed, too");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_waited_for_within_bounds() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limits = EgressLimits { idle: Duration::from_millis(300), ..EgressLimits::default() };
    let out = WayOut::open(LOOPBACK, limits);
    let target = silent.local_addr().unwrap();
    let answer = out.ask(&format!("GET http://{target}/ HTTP/1.1\r\n\r\n")).await;
    assert!(!answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_their_turn() {
    let limits = EgressLimits { connections_max: 1, ..EgressLimits::default() };
    let (server, _tasks) = echo().await;
    let out = WayOut::open(LOOPBACK, limits);
    let first = out.tunnel(&server.to_string()).await;
    let mut second = out.connect().await;
    second.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut byte = [0; 1];
    let waits = timeout(Duration::from_millis(200), second.read(&mut byte)).await;
    assert!(waits.is_err(), "it is not served beside the first one");
    drop(first);
    assert!(rest(&mut second).await.starts_with("HTTP/1.1 400 "));
}

#[tokio::test]
async fn when_the_way_out_is_closed_every_connection_ends_at_once() {
    let (server, mut tasks) = echo().await;
    let out = WayOut::open(LOOPBACK, EgressLimits::default());
    let mut tunnel = out.tunnel(&server.to_string()).await;
    let mut idle = out.connect().await;
    let address = out.address;
    drop(out.serving);
    assert_eq!(rest(&mut tunnel).await, "");
    assert_eq!(rest(&mut idle).await, "");
    timeout(PATIENCE, tasks.join_next()).await.expect("the server's end is closed, too");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}
