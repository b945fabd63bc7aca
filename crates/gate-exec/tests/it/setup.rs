//! Setup commands: before the checks, in the same tree, under their own network, and never the reporter's fault.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use gate_core::testing::{command, command_check, parts};
use gate_core::{Blame, Contract, IsolationTier, NetworkAccess, Outcome, SetupUse};
use gate_exec::{Egress, ExecError, SandboxTier, Surveyed};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, files, settings, surveyed_with};

/// Answers everybody with the same words, as long as it lives.
#[derive(Debug)]
struct Greeter;

struct Greeting(Option<std::thread::JoinHandle<()>>, std::io::PipeWriter);

impl Egress for Greeter {
    fn serve(&self, listener: TcpListener) -> std::io::Result<Box<dyn Send>> {
        let (stop, stopper) = std::io::pipe()?;
        let serve = move || {
            loop {
                let mut both = [
                    rustix::event::PollFd::new(&listener, rustix::event::PollFlags::IN),
                    rustix::event::PollFd::from_borrowed_fd(
                        stop.as_fd(),
                        rustix::event::PollFlags::IN,
                    ),
                ];
                rustix::event::poll(&mut both, None).unwrap();
                if !both[1].revents().is_empty() {
                    return;
                }
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                // A request of its size comes in one piece, and an answer needs none of it.
                let _asked = stream.read(&mut request);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").ok();
            }
        };
        Ok(Box::new(Greeting(Some(std::thread::spawn(serve)), stopper)))
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        // The end of the pipe ends the thread.
        self.1 = std::io::pipe().unwrap().1;
        self.0.take().unwrap().join().unwrap();
    }
}

async fn tiers() -> Vec<Arc<dyn SandboxTier>> {
    let mut settings = settings();
    settings.egress = Some(Arc::new(Greeter));
    // A container needs an image, and is tested with one elsewhere.
    let own = |it: &Surveyed| it.tier != IsolationTier::Container;
    let all = surveyed_with(&settings).await.into_iter().filter(own);
    all.filter_map(|it| it.result.ok()).collect()
}

fn contract(setup: &[&[&str]], check: &[&str]) -> Contract {
    let mut parts = parts();
    parts.checks = vec![command_check("check", check)];
    parts.criteria[0].checks = vec!["check".to_owned()];
    parts.environment.setup = setup.iter().map(|it| command(it)).collect();
    Contract::parse(parts).unwrap()
}

#[tokio::test]
async fn what_setup_makes_is_there_for_the_checks_and_is_made_once_where_layers_are_kept() {
    let gate = Gate::new();
    let cancel = CancellationToken::new();
    let make =
        "mkdir env && echo made > env/it && rm gone && echo changed > kept && echo h > $HOME/it";
    let check = "cat env/it kept $HOME/it; test ! -e gone && echo again >> env/it && rm kept";
    let contract = contract(&[&["sh", "-c", make]], &["sh", "-ec", check]);
    for tier in tiers().await {
        if tier.tier() == IsolationTier::Container {
            continue;
        }
        for expected in [SetupUse::Run, SetupUse::Cached, SetupUse::Cached] {
            let workspace = gate.prepare(&files(&[("gone", "1"), ("kept", "1")])).await.unwrap();
            let ran = gate.run_with((&contract, &workspace), tier.as_ref(), &cancel).await.unwrap();
            let expected = if tier.keeps_layers() { expected } else { SetupUse::Run };
            assert_eq!(ran.isolation.setup, expected, "{tier:?}");
            let check = &ran.executions[0];
            let said = String::from_utf8(check.merged_bytes().unwrap()).unwrap();
            assert_eq!(
                (check.outcome, said.as_str()),
                (Outcome::Exited { code: 0 }, "made\nchanged\nh\n"),
                "{tier:?}"
            );
            workspace.dispose().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_setup_command_that_fails_blames_the_contract_and_shows_its_last_words() {
    let gate = Gate::new();
    let cancel = CancellationToken::new();
    let cases: [(&[&str], &str); 3] = [
        (&["sh", "-c", "echo no such package >&2; exit 7"], "exited with 7"),
        (&["no-such-program"], "there is no such program"),
        (&["sh", "-c", "kill -9 $$"], "signal 9"),
    ];
    for tier in tiers().await {
        for (setup, why) in cases {
            let contract = contract(&[setup], &["true"]);
            let workspace = gate.prepare(&files(&[])).await.unwrap();
            let error = gate.run_with((&contract, &workspace), tier.as_ref(), &cancel).await;
            let error = error.unwrap_err();
            assert_eq!(error.blame(), Blame::Contract);
            assert!(error.to_string().contains(why), "{error}");
            let ExecError::SetUpFailed(failure) = error else { panic!("{error:?}") };
            assert_eq!(
                failure.tail.contains("no such package"),
                setup[0] == "sh" && why.contains('7')
            );
            workspace.dispose().await.unwrap();
        }
    }
}

#[tokio::test]
async fn setup_may_go_out_by_the_proxy_and_the_checks_may_not() {
    let gate = Gate::new();
    let cancel = CancellationToken::new();
    let ask = "import os,urllib.request as r; print(r.urlopen('http://example.invalid/').read().decode())";
    let refused = format!("if python3 -c \"{ask}\" 2>&1 | grep -q hello; then exit 9; fi");
    if !crate::fixture::has_program("python3") {
        return;
    }
    for tier in tiers().await {
        if tier.tier() < IsolationTier::Landlock {
            continue;
        }
        let contract = contract(&[&["python3", "-c", ask]], &["bash", "-c", &refused]);
        let workspace = gate.prepare(&files(&[])).await.unwrap();
        let ran = gate.run_with((&contract, &workspace), tier.as_ref(), &cancel).await.unwrap();
        assert_eq!(ran.executions[0].outcome, Outcome::Exited { code: 0 }, "{tier:?}");
        workspace.dispose().await.unwrap();
        let mut parts = parts();
        parts.checks = vec![command_check("check", &["python3", "-c", ask])];
        parts.criteria[0].checks = vec!["check".to_owned()];
        parts.environment.checks_network = NetworkAccess::Full;
        let contract = Contract::parse(parts).unwrap();
        let workspace = gate.prepare(&files(&[])).await.unwrap();
        let ran = gate.run_with((&contract, &workspace), tier.as_ref(), &cancel).await.unwrap();
        assert_eq!(ran.executions[0].merged_bytes().unwrap(), b"hello\n", "{tier:?}");
        workspace.dispose().await.unwrap();
    }
}
