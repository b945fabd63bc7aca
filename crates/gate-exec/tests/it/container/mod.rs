//! The tier `container`, where this machine has an engine: what commands see, what they cannot do, what is left.
//!
//! `DONEGATE_TEST_CONTAINER_ENGINE` names an engine; `DONEGATE_TEST_REQUIRE_TIERS=container` makes its absence a failure.

mod leaves_nothing;
mod rooms;

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use gate_core::testing::command;
use gate_core::{IsolationTier, MemoryBound, NetworkAccess, Outcome, RunLimits};
use gate_exec::{SandboxError, open_tier};
use tokio_util::sync::CancellationToken;

use crate::engine::{TEST_IMAGE, engine};
use crate::fixture::{Gate, files, text};
pub(crate) use rooms::tier;
use rooms::{EXITED_0, Run, Wish, is_running, own_settings, wait_until};

#[tokio::test]
async fn a_command_finds_its_image_its_workspace_and_nothing_of_the_gate() {
    let tree: &[_] = &[("d/a", "1"), ("run", "#!/bin/sh\necho ran in $PWD\n")];
    let Some(mut run) = Run::open(Wish { tree, ..Wish::default() }).await else { return };
    assert_eq!(run.said("cat d/a; ./run").await, "1ran in /gate/workspace\n");
    let environment = run.said("env").await;
    let mut names: Vec<_> = environment.lines().filter_map(|it| it.split_once('=')).collect();
    names.retain(|(name, _)| *name != "DONEGATE_SANDBOX");
    names.sort_unstable();
    let wanted = [
        ("CI", "true"),
        ("HOME", "/gate/home"),
        ("LANG", "C.UTF-8"),
        ("OF_THE_IMAGE", "its-value"),
        ("PAGE", "100"),
        ("PATH", "/usr/bin:/bin"),
        ("PWD", "/gate/workspace"),
        ("TERM", "dumb"),
        ("TMPDIR", "/gate/tmp"),
        ("USER", "gate"),
    ];
    assert_eq!(names, wanted);
    run.said("touch $HOME/x $TMPDIR/x /tmp/x /var/tmp/x /run/x d/b; mkdir e; mv d e; cat e/d/a")
        .await;
    let ids =
        run.said("id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status").await;
    assert!(!ids.starts_with("0\n"), "{ids}");
    for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(ids.contains(line), "{ids}");
    }
    run.close().await;
}

#[tokio::test]
async fn what_the_tier_promises_is_told() {
    let Some(tier) = tier().await else { return };
    let told = tier.isolation(RunLimits::default());
    assert_eq!((told.tier, told.loopback), (IsolationTier::Container, true));
    assert_ne!(told.memory_bound, MemoryBound::None);
    assert!(told.known_gaps.iter().any(|it| it.contains("kernel")), "{:?}", told.known_gaps);
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    assert_ne!(run.sandbox.kernel_uid(), 0);
    // Seen from the host, while it runs.
    let seen = run.said("echo $$ > pid; cat /proc/self/uid_map").await;
    assert!(!seen.is_empty());
    run.close().await;
}

#[tokio::test]
async fn ends_are_told_apart() {
    let tree: &[_] = &[("data", "not a program")];
    let Some(mut run) = Run::open(Wish { tree, ..Wish::default() }).await else { return };
    assert_eq!(run.run(&["no-such-program"]).await.outcome, Outcome::NotFound);
    assert_eq!(run.sh("no-such-program").await.outcome, Outcome::Exited { code: 127 });
    let refused = run.run(&["./data"]).await.outcome;
    assert_eq!(refused, Outcome::NotExecutable { errno: 13 });
    assert_eq!(run.sh("exit 125").await.outcome, Outcome::Exited { code: 125 });
    assert_eq!(run.sh("kill -9 $$").await.outcome, Outcome::Killed { signal: 9 });
    assert_eq!(run.sh("kill -SEGV $$").await.outcome, Outcome::Killed { signal: 11 });
    assert_eq!(run.sh("kill -9 1; kill -9 -1; exit 3").await.outcome, Outcome::Exited { code: 3 });
    let ended = run.sh("echo out; echo err >&2; exit 7").await;
    assert_eq!(ended.outcome, Outcome::Exited { code: 7 });
    assert_eq!(
        (text(&ended.stdout.head), text(&ended.stderr.head)),
        ("out\n".into(), "err\n".into())
    );
    assert_eq!(run.run(&["printf", "\\377\\000\\r\\n"]).await.stdout.head, b"\xff\0\r\n");
    let busy = run.sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").await;
    assert!(busy.usage.cpu_ms > 10 && busy.usage.memory_peak_bytes > 300_000, "{:?}", busy.usage);
    run.close().await;
}

#[tokio::test]
async fn a_command_that_will_not_end_is_ended_and_the_next_one_runs() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let second = Duration::from_secs(1);
    for script in [
        "trap '' TERM INT HUP; while :; do sleep 0.1; done",
        "kill -STOP 0",
        "setsid sleep 1000 & sleep 1000",
    ] {
        let started = Instant::now();
        let ended = run.run_for(&["sh", "-c", script], second).await;
        assert_eq!(ended.outcome, Outcome::TimedOut { limit_ms: 1000 }, "{script}");
        assert!(started.elapsed() < Duration::from_secs(3), "{script}: {:?}", started.elapsed());
        let left = run.said("cat /proc/[0-9]*/comm").await;
        assert!(!left.contains("sleep") && left.lines().count() <= 3, "{script}: {left}");
    }
    run.close().await;
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_open_is_ended_and_counted() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let started = Instant::now();
    let ended = run.sh("(setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo done").await;
    assert_eq!(ended.outcome, EXITED_0);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(text(&ended.stdout.head), "done\n");
    assert!(ended.stragglers_killed >= 1, "{}", ended.stragglers_killed);
    run.close().await;
}

#[tokio::test]
async fn a_flood_of_output_is_cut_off() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let ended = run.run(&["yes"]).await;
    assert_eq!(ended.outcome, Outcome::OutputLimitExceeded { limit_bytes: 1024 * 1024 });
    assert_eq!(ended.merged.total_bytes, 1024 * 1024);
    run.close().await;
}

#[tokio::test]
async fn a_fork_bomb_is_contained() {
    let limits = RunLimits { processes: 40, ..Wish::default().limits };
    let Some(mut run) = Run::open(Wish { limits, ..Wish::default() }).await else { return };
    let bomb = ["bash", "-c", "b() { b | b & }; b; sleep 1000"];
    let ended = run.run_for(&bomb, Duration::from_secs(2)).await;
    assert!(
        matches!(ended.outcome, Outcome::TimedOut { .. } | Outcome::Exited { .. }),
        "{ended:?}"
    );
    assert!(ended.process_limit_hit);
    assert_eq!(run.said("echo still here").await, "still here\n");
    run.close().await;
}

#[tokio::test]
async fn memory_and_disk_are_bounded_and_told() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let hog = ["bash", "-c", "x=$(head -c 600000000 /dev/zero | tr '\\0' x); echo ${#x}"];
    let ended = run.run(&hog).await;
    assert_eq!(ended.outcome, Outcome::OutOfMemory { limit_bytes: 256 << 20 });
    let ended = run.sh("dd if=/dev/zero of=big bs=1M count=100").await;
    assert_eq!(ended.outcome, Outcome::DiskLimitExceeded { limit_bytes: 64 << 20 });
    assert!(text(&ended.stderr.head).contains("No space left"), "{}", text(&ended.stderr.head));
    assert_eq!(run.said("rm big; echo room").await, "room\n");
    run.close().await;
}

#[tokio::test]
async fn nothing_of_the_host_can_be_reached() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let secret = run.gate.home().join("secret");
    fs::write(&secret, "a secret of the gate").unwrap();
    let secret = secret.display();
    for denied in [
        &format!("cat {secret}") as &str,
        "cat /etc/shadow",
        "cat /proc/1/environ",
        "ls /proc/1/fd",
        "ls /proc/1/root/",
        "touch /usr/x",
        "touch /x",
        "touch /donegate/line/x",
        "touch /donegate/base/workspace/x",
        "touch /donegate/init/x",
        "touch /of-the-image/x",
        "touch /sys/x",
        "mount -t tmpfs x /tmp",
        "cat /donegate/line/socket",
        "test -e /donegate/line/socket",
        "test -e /run/secrets",
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
        "bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'",
        "bash -c 'exec 3<>/dev/tcp/1.1.1.1/53'",
        "bash -c 'exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3'",
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128'",
        "echo 0 > /proc/sys/kernel/panic",
        "echo -1000 > /proc/1/oom_score_adj",
        "echo max > /sys/fs/cgroup/pids/pids.max || echo max > /sys/fs/cgroup/pids.max",
    ] {
        let ended = run.sh(denied).await;
        assert_ne!(ended.outcome, EXITED_0, "{denied}: {}", text(&ended.merged.head));
    }
    assert_eq!(run.said("ls /sys/class/net").await, "lo\n");
    assert_eq!(
        run.said("ls /donegate/line /gate").await,
        "/donegate/line:\n\n/gate:\nhome\ntmp\nworkspace\n"
    );
    let etc = run.said("cat /etc/hosts /etc/resolv.conf /etc/hostname").await;
    assert_eq!(etc.trim_end(), "127.0.0.1 localhost donegate\n::1 localhost\ndonegate");
    let gate_words = run.said("cat /proc/mounts /proc/1/cmdline").await;
    assert!(!gate_words.contains("CALLBACK"), "{gate_words}");
    run.close().await;
}

#[tokio::test]
async fn the_only_way_out_is_the_gates_own_and_it_can_be_closed() {
    let wish = Wish { network: NetworkAccess::Full, ..Wish::default() };
    let Some(mut run) = Run::open(wish).await else { return };
    let ask = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; cat <&3'";
    assert_eq!(run.said(ask).await, "the way out\n");
    assert_eq!(run.said("echo $https_proxy").await, "http://127.0.0.1:3128\n");
    assert_ne!(run.sh("bash -c 'exec 3<>/dev/tcp/1.1.1.1/53'").await.outcome, EXITED_0);
    run.said("echo kept > x").await;
    run.sandbox = run.sandbox.with_network(NetworkAccess::None).await.unwrap();
    assert_eq!(run.said("cat x").await, "kept\n");
    let closed = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128"];
    let give_up = Instant::now() + Duration::from_secs(10);
    while run.run(&closed).await.outcome == EXITED_0 {
        assert!(Instant::now() < give_up, "the proxy still answers");
    }
    let Run { gate: _gate, workspace, sandbox, .. } = run;
    let reopened = sandbox.with_network(NetworkAccess::Full).await.unwrap_err();
    assert!(gate_core::Chain(&reopened).to_string().contains("way out"), "{reopened}");
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn one_run_leaves_nothing_to_the_next() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let place = run.workspace.root().parent().unwrap().to_owned();
    run.said("echo x > x; echo x > $HOME/x; echo x > /tmp/x; echo x > /dev/shm/x").await;
    run.close().await;
    assert!(!place.exists());
    let mut next = Run::open(Wish::default()).await.unwrap();
    let left = next.said("find . $HOME /tmp /dev/shm -name x").await;
    assert_eq!(left, "");
    next.close().await;
}

#[tokio::test]
async fn a_contract_with_an_image_is_run_in_it_and_prepared_in_it() {
    let Some(tier) = tier().await else { return };
    let gate = Gate::new();
    let workspace = gate.prepare(&files(&[("a", "1")])).await.unwrap();
    let mut parts = gate_core::testing::parts();
    parts.environment.image = Some(TEST_IMAGE.to_owned());
    parts.environment.setup = vec![command(&["sh", "-c", "cat a > prepared; echo $https_proxy"])];
    parts.environment.setup_network = NetworkAccess::Full;
    let read = "cat prepared; bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128' || exit 7";
    parts.checks = vec![gate_core::testing::command_check("tests", &["sh", "-c", read])];
    let contract = gate_core::Contract::parse(parts).unwrap();
    let cancel = CancellationToken::new();
    let ran = gate.run_with((&contract, &workspace), tier.as_ref(), &cancel).await.unwrap();
    let [execution] = &ran.executions[..] else { panic!("{ran:?}") };
    assert_eq!(execution.outcome, Outcome::Exited { code: 7 });
    assert_eq!(text(&execution.stdout.head), "1");
    assert_eq!(ran.isolation.tier, IsolationTier::Container);
    assert_eq!(ran.isolation.setup, gate_core::SetupUse::Run);
    assert_eq!(ran.root.to_str(), Some("/gate/workspace"));
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn a_sandbox_that_nobody_waits_for_takes_its_container_with_it() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let words = ["sh", "-c", "trap '' TERM; sleep 1618033"];
    let running = run.run(&words);
    let started = async {
        while !is_running(&["sleep", "1618033"]) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = running => panic!("{ended:?}"),
        () = started => {}
    }
    drop(run);
    wait_until("the command is gone", || !is_running(&["sleep", "1618033"]));
}

#[tokio::test]
async fn an_image_that_is_not_there_is_named() {
    let Some(tier) = tier().await else { return };
    let wish = Wish { image: "localhost:1/no/such-image:7", ..Wish::default() };
    let failed = Run::try_open(tier.as_ref(), wish, &CancellationToken::new()).await;
    let error = gate_core::Chain(&failed.err().unwrap()).to_string();
    for words in ["container", "getting the image", "localhost:1/no/such-image:7"] {
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_cancelled_command_is_gone_at_once() {
    let Some(mut run) = Run::open(Wish::default()).await else { return };
    let cancel = CancellationToken::new();
    let later = cancel.clone();
    let cancelling = tokio::task::spawn_blocking(move || {
        wait_until("the command runs", || is_running(&["sleep", "2718281"]));
        later.cancel();
        Instant::now()
    });
    let words = ["sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 2718281"];
    let ended = run.try_run(&words, Duration::from_secs(60), &cancel).await;
    assert!(matches!(ended, Err(SandboxError::Cancelled)), "{ended:?}");
    let since = cancelling.await.unwrap().elapsed();
    assert!(since < Duration::from_secs(2), "{since:?}");
    run.close().await;
    let tier = tier().await.unwrap();
    let refused = Run::try_open(tier.as_ref(), Wish::default(), &cancel).await;
    assert!(matches!(refused.err(), Some(SandboxError::Cancelled)));
}

#[tokio::test]
async fn what_dead_gates_left_is_swept_and_nothing_else() {
    if tier().await.is_none() {
        return;
    }
    let namespace =
        text(fs::read_link("/proc/self/ns/pid").unwrap().as_os_str().as_encoded_bytes());
    let namespace: String = namespace.chars().filter(char::is_ascii_digit).collect();
    let dead = format!("donegate-{namespace}-4000000000-1-0");
    let elsewhere = "donegate-1-4000000000-1-0".to_owned();
    for name in [&dead, &elsewhere] {
        engine(&["rm", "--force", "--volumes", name]).ok();
        let words = ["create", "--name", name, "--label", "donegate.sandbox=1", TEST_IMAGE, "true"];
        assert!(engine(&words).is_ok(), "{words:?}");
    }
    open_tier(IsolationTier::Container, &own_settings()).await.unwrap();
    let left = engine(&["ps", "--all", "--format", "{{.Names}}"]).unwrap();
    assert!(!left.contains(&dead) && left.contains(&elsewhere), "{left}");
    engine(&["rm", "--force", "--volumes", &elsewhere]).unwrap();
}
