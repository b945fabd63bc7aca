//! What a run costs beside its command, with the floor of this machine measured in the same process.
//!
//! `cargo run --release -p gate-exec --features testing --example overhead`
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "the floors are made of bare processes")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure says so by panicking")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gate_core::{CommandLine, GitSource, IsolationTier, NetworkAccess, RunLimits, WorkspaceSource};
use gate_exec::{
    Job, LogPlace, PASSED_BY_DEFAULT, PrepareSettings, Preparer, Profile, Room, SourceRef, Sources,
    open,
};
use tokio_util::sync::CancellationToken;

const TURNS: usize = 200;
const FILES: usize = 60;

#[tokio::main]
async fn main() {
    gate_exec::init::take_over_if_asked();
    let home = tempfile::tempdir().unwrap();
    commands(home.path()).await;
    git(home.path()).await;
}

async fn commands(home: &Path) {
    let cancel = CancellationToken::new();
    let profile = Profile::from_environment(std::env::vars_os(), &PASSED_BY_DEFAULT);
    let tier = open(IsolationTier::Process, profile).await.unwrap();
    let command = CommandLine::parse(vec!["true".to_owned()]).unwrap();
    let variables = BTreeMap::new();
    let room = Room {
        place: home,
        limits: RunLimits::default(),
        network: NetworkAccess::None,
        variables: &variables,
        image: None,
    };
    fs::create_dir(home.join("workspace")).unwrap();
    let mut sandbox = tier.open(&room, &cancel).await.unwrap();
    let job = Job {
        command: &command,
        time_limit: Duration::from_secs(60),
        output_bytes_max: 1024,
        logs: LogPlace { directory: home.to_owned(), stem: "0".to_owned() },
    };
    let (mut floor, mut pipes, mut gate) = (Vec::new(), Vec::new(), Vec::new());
    // Turn by turn, so that a busy machine is as unkind to each.
    for _ in 0..TURNS {
        floor.push(timed(|| assert!(Command::new("true").status().unwrap().success())));
        pipes.push(timed(|| drop(Command::new("true").output().unwrap())));
        let started = Instant::now();
        sandbox.run(&job, &cancel).await.unwrap();
        gate.push(started.elapsed());
    }
    println!("one `true`, {TURNS} turns                      min      p50      p95 (ms)");
    report("floor: posix_spawn and wait", floor);
    report("floor: the same with two pipes", pipes);
    report("tier process: init, pipes, three logs", gate);
}

async fn git(home: &Path) {
    let repository = home.join("repository");
    for index in 0..FILES {
        let path = repository.join(format!("d{}/f{index}", index % 6));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{index}\n").repeat(700)).unwrap();
    }
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=b", "-c", "user.email=b@b", "-C"];
        let git = Command::new("git").args(identity).arg(&repository).args(words).output().unwrap();
        assert!(git.status.success(), "{words:?}");
        String::from_utf8(git.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=x"]);
    let url = format!("file://{}", repository.display());
    let source = GitSource::parse(url.clone(), git(&["rev-parse", "HEAD"]), None).unwrap();
    let source = WorkspaceSource::Git(source);
    let report_source = SourceRef { source: &source, archive: None };
    let sources = Sources { report: report_source, baseline: None, protected: &[], watched: &[] };
    let path: OsString = std::env::var_os("PATH").unwrap();
    let cancel = CancellationToken::new();
    let (mut fresh, mut cold, mut warm, mut disposed) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS / 10 {
        let clone = home.join(format!("clone{turn}"));
        fresh.push(timed(|| {
            git(&["clone", "--quiet", "--depth=1", &url, clone.to_str().unwrap()]);
        }));
        let settings = PrepareSettings::new(
            home.join(format!("cache{turn}")),
            home.join("work"),
            path.clone(),
        );
        let preparer = Preparer::new(&settings).unwrap();
        for place in [&mut cold, &mut warm] {
            let started = Instant::now();
            let workspace = preparer.prepare(&sources, &cancel).await.unwrap();
            place.push(started.elapsed());
            let started = Instant::now();
            workspace.dispose().await.unwrap();
            disposed.push(started.elapsed());
        }
    }
    println!(
        "a tree of {FILES} files, {} turns              min      p50      p95 (ms)",
        TURNS / 10
    );
    report("floor: git clone --depth=1", fresh);
    report("prepared, mirror made and fetched", cold);
    report("prepared from the mirror", warm);
    report("disposed of", disposed);
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!("  {what:<40} {:>8.2} {:>8.2} {:>8.2}", at(0), at(50), at(95));
}
