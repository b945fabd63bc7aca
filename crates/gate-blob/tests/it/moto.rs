//! `moto_server`: an S3 server for tests, started on a free port and ended with the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

pub(crate) const BUCKET: &str = "gate";
const PROGRAM: &str = "moto_server";

/// A server with one empty bucket.
#[derive(Debug)]
pub(crate) struct Moto {
    server: Child,
    port: u16,
}

impl Moto {
    /// None, with the reason on standard error, where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "the server of a test, ended with it")]
        let started = Command::new(PROGRAM)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut server = match started {
            Ok(server) => server,
            Err(error) => {
                let why =
                    format!("{PROGRAM} could not be started ({error}); pip install 'moto[server]'");
                #[expect(clippy::disallowed_methods, reason = "a switch of tests, not of the gate")]
                let is_required =
                    std::env::var("DONEGATE_TEST_REQUIRE_TOOLS").is_ok_and(|it| it == "1");
                assert!(!is_required, "{why}");
                #[expect(
                    clippy::print_stderr,
                    reason = "for whoever reads the output of the tests"
                )]
                {
                    eprintln!("did not run because {why}");
                }
                return None;
            }
        };
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("http://127.0.0.1:")?;
            rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
        });
        // It must not block on a full pipe, nor end on a closed one.
        std::thread::spawn(move || lines.for_each(drop));
        let moto = Self { server, port: port.expect("moto_server says where it listens") };
        moto.ask("PUT", "");
        Some(moto)
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The keys of all objects.
    pub(crate) fn keys(&self) -> Vec<String> {
        between(&self.ask("GET", "?list-type=2"), "<Key>", "</Key>")
    }

    /// The keys of uploads that are neither complete nor aborted.
    pub(crate) fn uploads(&self) -> Vec<String> {
        between(&self.ask("GET", "?uploads"), "<Key>", "</Key>")
    }

    /// What S3 says of an object, among it how many parts it came in.
    pub(crate) fn head(&self, key: &str) -> String {
        self.ask("HEAD", &format!("/{key}"))
    }

    fn ask(&self, method: &str, rest: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!(
            "{method} /{BUCKET}{rest} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{method} {rest}: {answer}");
        answer
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn between(text: &str, before: &str, after: &str) -> Vec<String> {
    let parts = text.split(before).skip(1).filter_map(|it| it.split_once(after));
    parts.map(|(it, _)| it.to_owned()).collect()
}
