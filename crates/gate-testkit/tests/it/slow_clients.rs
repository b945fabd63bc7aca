//! Clients that never finish what they say: ended by a deadline, while all others are served.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gate_testkit::{TestGate, samples};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The gate's own deadline is 10 seconds; a loaded machine may add to it.
const DEADLINE: Duration = Duration::from_secs(30);
const HALF_OPEN: usize = 50;

async fn say(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// All that the gate says until it closes the connection.
async fn hear(mut stream: TcpStream) -> String {
    let mut heard = Vec::new();
    // A reset is a way to close a connection, too.
    timeout(DEADLINE, stream.read_to_end(&mut heard)).await.expect("it was never closed").ok();
    String::from_utf8(heard).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_requests_are_closed_and_hold_nobody_up() {
    let gate = TestGate::start("half_open").await;
    let project = gate.project("shop").await;
    let (address, key) = (gate.address(), gate.admin_key());
    let head = "POST /v1/projects/shop/tasks HTTP/1.1\r\nHost: gate\r\n";
    let body = format!(
        "{head}Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{{\"tit"
    );
    let mut streams = Vec::new();
    for _ in 0..HALF_OPEN {
        streams.push(say(address, head).await);
    }
    let half_body = say(address, &body).await;
    let started = Instant::now();
    let verdict = project.judge_once(&samples::shell("true"), &samples::tiny()).await;
    assert_eq!(verdict["decision"], "PASS");
    assert!(started.elapsed() < Duration::from_secs(8), "others were held up");
    let heard = hear(half_body).await;
    assert!(heard.starts_with("HTTP/1.1 408 "), "{heard}");
    assert!(
        heard.contains("application/problem+json") && heard.contains("request_timeout"),
        "{heard}"
    );
    for stream in streams {
        let heard = hear(stream).await;
        assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 408 "), "{heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_body_is_refused_before_it_is_sent() {
    let gate = TestGate::start("huge_body").await;
    let _project = gate.project("shop").await;
    let archive = format!("PUT /v1/workspaces/{}?project=shop", "0".repeat(64));
    let task = "POST /v1/projects/shop/tasks";
    for (line, media_type, length, begun) in [
        (task, "application/json", 100_u64 << 20, "\r\n{"),
        (task, "application/json", 100_u64 << 20, "Expect: 100-continue\r\n\r\n"),
        (archive.as_str(), "application/octet-stream", 1 << 40, "\r\n{"),
    ] {
        let key = gate.admin_key();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: gate\r\nAuthorization: Bearer {key}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n{begun}"
        );
        let mut stream = say(gate.address(), &head).await;
        let mut heard = vec![0; 4096];
        let read = timeout(Duration::from_secs(8), stream.read(&mut heard)).await;
        let count = read.expect("it waits for the body").unwrap();
        let heard = String::from_utf8_lossy(&heard[..count]).into_owned();
        assert!(heard.starts_with("HTTP/1.1 413 "), "{heard}");
        assert!(heard.contains("payload_too_large"), "{heard}");
    }
}
