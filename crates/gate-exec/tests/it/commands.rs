//! Ordinary and hostile commands: how each ends, and that nothing of it is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use gate_core::testing::{command, command_check, parts};
use gate_core::{CheckKind, Contract, Outcome, WorkspaceSource};
use gate_exec::testing::{FakeSandbox, Scripted};
use gate_exec::{ExecError, SandboxError, log_slice};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Gate, contract, files, has_program, processes_with, room, text, tier};

const EXITED_0: Outcome = Outcome::Exited { code: 0 };

async fn sh(script: &str) -> gate_exec::Ended {
    Gate::new().run(&["sh", "-c", script]).await
}

/// Runs it with a limit of one second, and wants to have it back within two more.
async fn limited(words: &[&str]) -> Outcome {
    let gate = Gate::new();
    let started = Instant::now();
    let ended = gate.run_bounded(words, Duration::from_secs(1), 1024 * 1024).await;
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    ended.outcome
}

const TIMED_OUT: Outcome = Outcome::TimedOut { limit_ms: 1000 };

#[tokio::test]
async fn an_exit_code_is_kept_and_streams_are_kept_apart_and_merged() {
    let ended = sh("echo out; echo err >&2; exit 7").await;
    assert_eq!(ended.outcome, Outcome::Exited { code: 7 });
    assert_eq!(text(&ended.stdout.head), "out\n");
    assert_eq!(text(&ended.stderr.head), "err\n");
    assert_eq!(ended.merged.total_bytes, 8);
    assert_eq!(ended.logs.each_ref().map(|it| it.size_bytes), [4, 4, 8]);
    assert_eq!(ended.stragglers_killed, 0);
}

#[tokio::test]
async fn usage_is_measured() {
    let ended = sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").await;
    assert!(ended.usage.cpu_ms > 10, "{:?}", ended.usage);
    assert!(ended.usage.duration_ms >= 10, "{:?}", ended.usage);
    assert!(ended.usage.memory_peak_bytes > 500_000, "{:?}", ended.usage);
}

#[tokio::test]
async fn a_command_over_its_time_is_ended() {
    assert_eq!(limited(&["sleep", "1000"]).await, TIMED_OUT);
}

#[tokio::test]
async fn a_command_that_ignores_signals_is_ended() {
    let deaf = "trap '' TERM INT HUP QUIT; while :; do sleep 0.1; done";
    assert_eq!(limited(&["sh", "-c", deaf]).await, TIMED_OUT);
}

#[tokio::test]
async fn a_command_that_stops_itself_is_ended() {
    assert_eq!(limited(&["sh", "-c", "kill -STOP 0"]).await, TIMED_OUT);
}

#[tokio::test]
async fn a_command_that_stops_its_init_is_ended_all_the_same() {
    let gate = Gate::new();
    let script = "sleep 1000 & setsid sleep 1000 & kill -STOP $PPID; sleep 1000";
    // Which also looks for what is left; an init that had to be killed has counted nothing.
    let ended = gate.run_bounded(&["sh", "-c", script], Duration::from_secs(1), 1024).await;
    assert_eq!(ended.outcome, TIMED_OUT);
}

#[tokio::test]
async fn a_command_that_kills_its_init_is_no_evidence_and_leaves_nothing() {
    let gate = Gate::new();
    let words =
        command(&["sh", "-c", "sleep 1000 & setsid sleep 1000 & kill -KILL $PPID; sleep 1000"]);
    let bounds = (Duration::from_secs(60), 1024);
    let error = gate.run_cancelled(&words, bounds, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, SandboxError::Failed { .. }), "{error:?}");
    assert_eq!(error.blame(), gate_core::Blame::Gate);
    assert!(processes_with(gate.home()).is_empty());
}

#[tokio::test]
async fn a_fork_bomb_is_ended() {
    // Bounded, so that a broken gate does not take the machine down: two hundred at once that renew themselves.
    let bomb = "ulimit -u 100000; f(){ while :; do (setsid sleep 0.05 &) ; done; }; for i in 1 2 3 4 5; do f & done; wait";
    assert_eq!(limited(&["bash", "-c", bomb]).await, TIMED_OUT);
}

#[tokio::test]
async fn a_daemon_is_killed_and_counted_when_its_command_is_done() {
    let started = Instant::now();
    let ended = sh("setsid sh -c 'exec <&- >&- 2>&-; exec sleep 777' & exit 0").await;
    assert_eq!((ended.outcome, ended.stragglers_killed), (EXITED_0, 1));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_does_not_hold_the_call() {
    let started = Instant::now();
    let ended = sh("(setsid sleep 778 &) ; sleep 779 & echo done").await;
    assert_eq!((ended.outcome, ended.stragglers_killed), (EXITED_0, 2));
    assert_eq!(text(&ended.stdout.head), "done\n");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_child_that_ended_itself_is_no_straggler() {
    let ended = sh("(setsid true &); (true &); true & sleep 0.1; wait").await;
    assert_eq!((ended.outcome, ended.stragglers_killed), (EXITED_0, 0));
}

#[tokio::test]
async fn a_flood_hits_the_output_limit_and_what_came_before_is_kept() {
    let gate = Gate::new();
    let ended = gate.run_bounded(&["yes"], Duration::from_secs(60), 1_000_000).await;
    assert_eq!(ended.outcome, Outcome::OutputLimitExceeded { limit_bytes: 1_000_000 });
    assert_eq!(ended.stdout.total_bytes, 1_000_000);
    assert_eq!(ended.stdout.head.len() + ended.stdout.tail.len(), 128 * 1024);
    assert_eq!(ended.logs[2].size_bytes, 1_000_000);
}

#[tokio::test]
async fn output_up_to_the_limit_is_kept_whole() {
    let gate = Gate::new();
    let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2";
    let ended = gate.run_bounded(&["sh", "-c", script], Duration::from_secs(60), 500_000).await;
    assert_eq!(ended.outcome, EXITED_0);
    assert_eq!(ended.merged.total_bytes, 500_000);
    let log = fs::File::open(&ended.logs[1].path).unwrap();
    assert_eq!(log_slice(log, 199_990, 100).unwrap(), [0; 10]);
}

#[tokio::test]
async fn a_signal_of_its_own_is_told_with_its_number() {
    for (script, signal) in [
        ("kill -SEGV $$", 11),
        ("kill -KILL $$", 9),
        ("ulimit -c unlimited 2>/dev/null; kill -ABRT $$", 6),
    ] {
        assert_eq!(sh(script).await.outcome, Outcome::Killed { signal }, "{script}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_from_a_shell_that_says_so() {
    let gate = Gate::new();
    assert_eq!(gate.run(&["no-such-program"]).await.outcome, Outcome::NotFound);
    assert_eq!(gate.run(&["./no-such-program"]).await.outcome, Outcome::NotFound);
    assert_eq!(sh("no-such-program").await.outcome, Outcome::Exited { code: 127 });
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_told_with_its_error() {
    let gate = Gate::new();
    let source = files(&[("plain", "echo"), ("strange", "#!/no/such/interpreter\n")]);
    let workspace = gate.prepare(&source).await.unwrap();
    let garbage = "printf '\\001\\002\\003' > garbage; chmod +x garbage";
    let words: [&[&str]; 4] =
        [&["sh", "-c", garbage], &["./plain"], &["./strange"], &["./garbage"]];
    let ran = gate.run_in(&workspace, &words).await;
    let outcomes: Vec<_> = ran.iter().map(|it| it.outcome).collect();
    let errno = |errno| Outcome::NotExecutable { errno };
    let wanted = [EXITED_0, errno(libc::EACCES), errno(libc::ENOENT), errno(libc::ENOEXEC)];
    assert_eq!(outcomes, wanted);
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn a_program_that_is_still_being_written_is_waited_for() {
    let gate = Gate::new();
    let workspace =
        gate.prepare(&files(&[("still-written", "#!/bin/sh\nexit 3\n")])).await.unwrap();
    let (variables, cancel) = (BTreeMap::new(), CancellationToken::new());
    let mut sandbox = tier().await.open(&room(&workspace, &variables), &cancel).await.unwrap();
    let path = sandbox.root().join("still-written");
    let writer = fs::File::options().append(true).open(&path).unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    let release = std::thread::spawn(move || {
        // Until the command's process is there and has tried; should the run end without it, that is
        // no reason to wait for ever.
        while is_done.try_recv().is_err() && !waits_to_execute() {
            std::thread::yield_now();
        }
        drop(writer);
    });
    let words = command(&["./still-written"]);
    let job = gate_exec::Job {
        command: &words,
        time_limit: Duration::from_secs(60),
        output_bytes_max: 1024,
        limits: gate_core::RunLimits::default(),
        logs: gate_exec::LogPlace { directory: gate.logs(), stem: "0".to_owned() },
    };
    let ended = sandbox.run(&job, &cancel).await.unwrap();
    done.send(()).ok();
    release.join().unwrap();
    assert_eq!(ended.outcome, Outcome::Exited { code: 3 });
    sandbox.close().await.unwrap();
    workspace.dispose().await.unwrap();
}

/// Whether an init of ours has a child that sleeps and is not yet its command's program.
fn waits_to_execute() -> bool {
    let own = std::process::id().to_string();
    let is_init = |pid: &str| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text(&words).starts_with("donegate\0sandbox-init")
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut names = processes.filter_map(|it| it.file_name().into_string().ok());
    names.any(|pid| {
        let Some((state, parent)) = state_and_parent(&pid) else { return false };
        let grandparent = state_and_parent(&parent).map(|it| it.1);
        state == "S" && grandparent.as_ref() == Some(&own) && is_init(&pid) && is_init(&parent)
    })
}

fn state_and_parent(pid: &str) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().map(str::to_owned);
    Some((fields.next()?, fields.next()?))
}

#[tokio::test]
async fn standard_input_is_at_its_end() {
    let ended = sh("cat; read x; echo \"read said $?\"").await;
    assert_eq!(text(&ended.stdout.head), "read said 1\n");
}

#[tokio::test]
async fn there_is_no_terminal() {
    let ended = sh("test -t 0 -o -t 1; echo $?; (echo x > /dev/tty) 2>/dev/null; echo $?").await;
    let said = text(&ended.stdout.head);
    assert!(said.starts_with("1\n") && !said.ends_with("\n0\n"), "{said}");
}

#[tokio::test]
async fn no_descriptor_of_the_gate_is_inherited() {
    let _held = fs::File::open("/").unwrap();
    let ended = sh("for fd in /proc/$$/fd/*; do echo ${fd##*/}; done").await;
    let mut fds: Vec<_> = text(&ended.stdout.head).lines().map(str::to_owned).collect();
    // A shell opens the directory, or a copy of its own descriptors from 10 on.
    fds.retain(|it| it.parse::<u32>().is_ok_and(|it| it < 3));
    assert_eq!(fds, ["0", "1", "2"]);
    let ended = Gate::new().run(&["ls", "-l", "/proc/self/fd"]).await;
    let lines = text(&ended.stdout.head);
    let links: Vec<_> = lines.lines().filter(|it| it.contains("->")).collect();
    assert_eq!(links.len(), 4, "{lines}");
    assert!(links[0].ends_with("0 -> /dev/null"), "{lines}");
    assert!(links[3].contains("3 -> /proc/"), "the directory that `ls` reads: {lines}");
}

#[tokio::test]
async fn the_environment_is_built_from_nothing() {
    let gate = Gate::new();
    let ended = gate.run(&["env"]).await;
    let said = text(&ended.stdout.head);
    let mut names: Vec<_> =
        said.lines().filter_map(|it| it.split_once('=')).map(|it| it.0).collect();
    names.retain(|it| !gate_exec::PASSED_BY_DEFAULT.contains(it));
    names.sort_unstable();
    assert_eq!(names, ["CI", "DONEGATE_SANDBOX", "HOME", "LANG", "PATH", "TERM", "TMPDIR"]);
    let home = gate.home().to_str().unwrap();
    assert_eq!(said.lines().filter(|it| it.contains(home)).count(), 2, "{said}");
}

#[tokio::test]
async fn the_contracts_variables_are_set_and_home_is_there() {
    let gate = Gate::new();
    let workspace = gate.prepare(&files(&[])).await.unwrap();
    let mut parts = parts();
    let script = "test -d \"$HOME\" && test -d \"$TMPDIR\" && test \"$PAGE\" = 100 && pwd";
    parts.checks = vec![command_check("tests", &["sh", "-c", script])];
    parts.environment.variables = BTreeMap::from([("PAGE".to_owned(), "100".to_owned())]);
    let contract = Contract::parse(parts).unwrap();
    let ran = gate.run_contract(&contract, &workspace).await;
    assert_eq!(ran[0].outcome, EXITED_0);
    let place = fs::canonicalize(workspace.place()).unwrap();
    let said = text(&ran[0].merged_bytes().unwrap());
    assert!(Path::new(said.trim_end()).starts_with(place), "{said}");
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn bytes_are_kept_exactly() {
    let gate = Gate::new();
    let ended = gate.run(&["printf", "\\377\\376\\033[31m\\000\\r\\n"]).await;
    let bytes = b"\xff\xfe\x1b[31m\0\r\n";
    assert_eq!(ended.stdout.head, bytes);
    for log in [&ended.logs[0], &ended.logs[2]] {
        let file = fs::File::open(&log.path).unwrap();
        assert_eq!(log_slice(file, 0, 100).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_link_to_elsewhere_that_a_command_makes_is_not_followed_afterwards() {
    let gate = Gate::new();
    let kept = gate.home().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "x").unwrap();
    let script =
        format!("ln -s {0} link; ln -s {0}/file file; mkdir d; ln -s {0} d/link", kept.display());
    assert_eq!(gate.run(&["sh", "-c", &script]).await.outcome, EXITED_0);
    assert_eq!(fs::read(kept.join("file")).unwrap(), b"x");
}

#[tokio::test]
async fn whatever_a_command_leaves_in_its_directory_is_disposed_of() {
    let hostile = r#"
        mkdir -p a/b/c; touch a/b/c/x "new
line"; chmod 000 a/b a
        i=0; while [ $i -lt 600 ]; do mkdir dddddddddd; cd dddddddddd || exit 1; i=$((i+1)); done
        cd "$HOME"; touch ../workspace/-rf; rmdir ../tmp; chmod 500 .
    "#;
    let gate = Gate::new();
    let workspace = gate.prepare(&files(&[])).await.unwrap();
    let place = workspace.place().to_owned();
    let itself = "rmdir \"$PWD\"; rm -rf -- ../workspace; exit 4";
    let ran = gate.run_in(&workspace, &[&["sh", "-c", hostile], &["sh", "-c", itself]]).await;
    assert_eq!(ran[1].outcome, Outcome::Exited { code: 4 });
    workspace.dispose().await.unwrap();
    assert!(!place.exists());
}

#[tokio::test]
async fn a_cancelled_command_is_gone_at_once() {
    let gate = Gate::new();
    let cancel = CancellationToken::new();
    let mark = gate.home().join("started");
    let script = format!("trap '' TERM; setsid sleep 1000 & touch {}; sleep 1000", mark.display());
    let words = command(&["sh", "-c", &script]);
    let run = gate.run_cancelled(&words, (Duration::from_secs(60), 1024), &cancel);
    let cancel_when_started = async {
        while !mark.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        Instant::now()
    };
    let (ended, cancelled_at) = tokio::join!(run, cancel_when_started);
    assert!(matches!(ended, Err(SandboxError::Cancelled)), "{ended:?}");
    assert!(cancelled_at.elapsed() < Duration::from_secs(1), "{:?}", cancelled_at.elapsed());
    assert!(processes_with(gate.home()).is_empty());
}

#[tokio::test]
async fn commands_run_in_the_contracts_order_and_a_failure_does_not_stop_them() {
    let gate = Gate::new();
    let workspace = gate.prepare(&files(&[])).await.unwrap();
    let words: [&[&str]; 3] = [&["sh", "-c", "echo 1 > x; exit 1"], &["cat", "x"], &["true"]];
    let ran = gate.run_in(&workspace, &words).await;
    let seen: Vec<_> = ran.iter().map(|it| (it.check.as_str(), it.outcome)).collect();
    let failed = Outcome::Exited { code: 1 };
    assert_eq!(seen, [("check-0", failed), ("check-1", EXITED_0), ("check-2", EXITED_0)]);
    assert_eq!(ran[1].merged_bytes().unwrap(), b"1\n");
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn what_comes_after_the_end_of_the_runs_time_does_not_run() {
    let gate = Gate::new();
    let workspace = gate.prepare(&files(&[])).await.unwrap();
    let mut parts = parts();
    parts.checks = vec![command_check("tests", &["sleep", "30"]), command_check("late", &["true"])];
    parts.limits.command_seconds = 1;
    parts.limits.run_seconds = 1;
    let contract = Contract::parse(parts).unwrap();
    let ran = gate.run_contract(&contract, &workspace).await;
    assert!(
        matches!(ran[0].outcome, Outcome::TimedOut { limit_ms: 900..=1000 }),
        "{:?}",
        ran[0].outcome
    );
    assert_eq!(ran[1].outcome, Outcome::NotRun);
    assert_eq!(ran[1].merged_bytes().unwrap(), b"");
    workspace.dispose().await.unwrap();
}

#[tokio::test]
async fn a_fake_sandbox_plays_its_script() {
    let gate = Gate::new();
    let workspace = gate.prepare(&WorkspaceSource::Files(Vec::new())).await.unwrap();
    let contract = contract(&[&["a"], &["b"], &["c"]]);
    assert!(matches!(contract.checks()[0].kind, CheckKind::Command(_)));
    let script =
        [Scripted::exited(1).stdout("said").stderr("!"), Scripted::ended(Outcome::NotFound)];
    let sandbox = FakeSandbox::new(script);
    let cancel = CancellationToken::new();
    let ran = gate.run_with((&contract, &workspace), &sandbox, &cancel).await.unwrap();
    let ran = ran.executions;
    let outcomes: Vec<_> = ran.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Exited { code: 1 }, Outcome::NotFound, EXITED_0]);
    assert_eq!(ran[0].merged_bytes().unwrap(), b"said!");
    assert_eq!(sandbox.seen(), ["a", "b", "c"]);
    sandbox.then(Scripted::sandbox_failed("set-up"));
    let failed = gate.run_with((&contract, &workspace), &sandbox, &cancel).await;
    assert!(matches!(failed, Err(ExecError::Sandbox { .. })), "{failed:?}");
    cancel.cancel();
    let cancelled = gate.run_with((&contract, &workspace), &sandbox, &cancel).await;
    assert!(matches!(cancelled, Err(ExecError::Cancelled)), "{cancelled:?}");
    workspace.dispose().await.unwrap();
}

/// A worker runs both on whatever thread is free.
#[test]
fn preparing_and_running_may_move_between_threads() {
    fn may_move<T: Send>(_: &T) {}
    let gate = Gate::new();
    let source = files(&[]);
    let sources = crate::fixture::sources(&source);
    let cancel = CancellationToken::new();
    may_move(&gate.preparer.prepare(&sources, &cancel));
    let contract = contract(&[&["true"]]);
    let fake = FakeSandbox::default();
    let run = async |workspace: gate_exec::Workspace| {
        let running = gate.run_with((&contract, &workspace), &fake, &cancel);
        may_move(&running);
        running.await.unwrap().executions.len()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ran = runtime.block_on(async { run(gate.prepare(&source).await.unwrap()).await });
    assert_eq!(ran, 1);
}

/// A toolchain that was installed for the gate's user works, although the run has another home.
#[tokio::test]
async fn a_real_cargo_test_runs() {
    if !has_program("cargo") {
        return;
    }
    let manifest =
        "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let code = "#[test]\nfn one_and_one() { assert_eq!(1 + 1, 3); }\n";
    let gate = Gate::new();
    let source = files(&[("Cargo.toml", manifest), ("src/lib.rs", code)]);
    let workspace = gate.prepare(&source).await.unwrap();
    let ran = gate.run_in(&workspace, &[&["cargo", "test", "--offline"]]).await;
    let said = text(&ran[0].merged_bytes().unwrap());
    assert_eq!(ran[0].outcome, Outcome::Exited { code: 101 }, "{said}");
    assert!(said.contains("test result: FAILED. 0 passed; 1 failed"), "{said}");
    assert!(ran[0].usage.memory_peak_bytes > 10_000_000, "{:?}", ran[0].usage);
    workspace.dispose().await.unwrap();
}
