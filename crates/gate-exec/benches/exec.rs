//! What a run costs beside its commands, with the floor of this machine measured in the same process.
//!
//! `cargo bench -p gate-exec --features testing`; with words behind `--`, only the parts of these
//! names: `commands`, `parallel`, `workspaces`, `kill`, `flood`, `git`.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "the floors are made of bare processes")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure says so by panicking")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gate_core::testing::command;
use gate_core::{
    CommandLine, GitSource, InlineFile, IsolationTier, NetworkAccess, RunLimits, TreePath,
    WorkspaceSource,
};
use gate_exec::{
    Ended, Job, LogPlace, PASSED_BY_DEFAULT, PrepareSettings, Preparer, Profile, Room, Sandbox,
    SandboxTier, SourceRef, Sources, TierSettings, Workspace, survey,
};
use tokio_util::sync::CancellationToken;

const TURNS: usize = 200;
const PARALLEL_RUNS: usize = 1_000;
const FLOOD_BYTES: u64 = 5_000_000_000;

#[tokio::main]
async fn main() {
    gate_exec::init::take_over_if_asked();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|it| it == part);
    let home = tempfile::tempdir().unwrap();
    let tiers = tiers(home.path()).await;
    if wants("commands") {
        commands(home.path(), &tiers).await;
    }
    if wants("parallel") {
        parallel(home.path(), &tiers).await;
    }
    if wants("kill") {
        kill(home.path(), &tiers).await;
    }
    if wants("flood") {
        flood(home.path(), &tiers).await;
    }
    if wants("workspaces") {
        workspaces(home.path(), &tiers).await;
    }
    if wants("git") {
        git(home.path()).await;
    }
}

type Tier = Arc<dyn SandboxTier>;

/// The tiers that this machine has; the others are told.
async fn tiers(home: &Path) -> Vec<Tier> {
    let settings = TierSettings {
        profile: Profile::from_environment(std::env::vars_os(), &PASSED_BY_DEFAULT),
        read_only_paths: Vec::new(),
        uid_base: 62_000,
        egress: None,
        data_dir: home.to_owned(),
        container_engine: None,
        engine_environment: Vec::new(),
    };
    let mut found = Vec::new();
    for it in survey(&settings).await {
        match it.result {
            Ok(tier) => found.push(tier),
            Err(error) => println!("not measured: tier {}: {error}", it.tier.as_str()),
        }
    }
    found
}

fn preparer(home: &Path) -> Preparer {
    let path: OsString = std::env::var_os("PATH").unwrap();
    Preparer::new(&PrepareSettings::new(home.join("cache"), home.join("work"), path)).unwrap()
}

async fn tree(preparer: &Preparer, files: usize) -> Workspace {
    let file = |index: usize| InlineFile {
        path: TreePath::parse(format!("d{}/f{index}", index % 100)).unwrap(),
        content: index.to_string().repeat(10).into_bytes(),
        executable: false,
    };
    let source = WorkspaceSource::Files((0..files).map(file).collect());
    let report = SourceRef { source: &source, archive: None };
    let sources =
        Sources { report, baseline: None, acceptance: None, protected: &[], watched: &[] };
    preparer.prepare(&sources, &CancellationToken::new()).await.unwrap()
}

/// One run of the gate's: its sandbox, and commands in it.
struct Run<'a> {
    home: &'a Path,
    tier: &'a Tier,
    workspace: &'a Workspace,
    output_bytes_max: u64,
    time_limit: Duration,
}

impl<'a> Run<'a> {
    fn new(home: &'a Path, tier: &'a Tier, workspace: &'a Workspace) -> Self {
        let time_limit = Duration::from_secs(60);
        Self { home, tier, workspace, output_bytes_max: 1024 * 1024, time_limit }
    }

    async fn open(&self) -> Box<dyn Sandbox> {
        let room = Room {
            base: self.workspace.base(),
            layer: None,
            keep: None,
            place: self.workspace.place(),
            limits: RunLimits::default(),
            network: NetworkAccess::None,
            variables: &BTreeMap::new(),
            image: None,
        };
        self.tier.open(&room, &CancellationToken::new()).await.unwrap()
    }

    async fn command(&self, sandbox: &mut Box<dyn Sandbox>, command: &CommandLine) -> Ended {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let stem = (COUNT.fetch_add(1, Ordering::Relaxed) % 64).to_string();
        let job = Job {
            command,
            time_limit: self.time_limit,
            output_bytes_max: self.output_bytes_max,
            limits: RunLimits::default(),
            logs: LogPlace { directory: self.home.to_owned(), stem },
        };
        sandbox.run(&job, &CancellationToken::new()).await.unwrap()
    }

    async fn whole(&self, command: &CommandLine) -> Ended {
        let mut sandbox = self.open().await;
        let ended = self.command(&mut sandbox, command).await;
        sandbox.close().await.unwrap();
        ended
    }
}

async fn commands(home: &Path, tiers: &[Tier]) {
    let preparer = preparer(home);
    let nothing = command(&["/bin/true"]);
    let mut floor = Vec::new();
    let mut rows: Vec<[Vec<Duration>; 2]> = tiers.iter().map(|_| Default::default()).collect();
    for _ in 0..TURNS {
        // Turn by turn, so that a busy machine is as unkind to each.
        floor.push(timed(|| assert!(Command::new("/bin/true").status().unwrap().success())));
        for (tier, [whole, one]) in tiers.iter().zip(&mut rows) {
            let workspace = tree(&preparer, 10).await;
            let run = Run::new(home, tier, &workspace);
            let started = Instant::now();
            run.whole(&nothing).await;
            whole.push(started.elapsed());
            workspace.dispose().await.unwrap();
            let workspace = tree(&preparer, 10).await;
            let run = Run::new(home, tier, &workspace);
            let mut sandbox = run.open().await;
            let started = Instant::now();
            run.command(&mut sandbox, &nothing).await;
            one.push(started.elapsed());
            sandbox.close().await.unwrap();
            workspace.dispose().await.unwrap();
        }
    }
    println!("one `true`, {TURNS} turns                             min      p50      p95 (ms)");
    report("floor: posix_spawn and wait", floor);
    for (tier, [whole, one]) in tiers.iter().zip(rows) {
        let name = tier.tier().as_str();
        report(&format!("{name}: a run with one command"), whole);
        report(&format!("{name}: one command more"), one);
    }
}

async fn parallel(home: &Path, tiers: &[Tier]) {
    let lanes = std::thread::available_parallelism().unwrap().get();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                for _ in 0..PARALLEL_RUNS / lanes {
                    assert!(Command::new("/bin/true").status().unwrap().success());
                }
            });
        }
    });
    println!("{PARALLEL_RUNS} runs of one `true` on {lanes} cores                       (runs/s)");
    rate("floor: posix_spawn and wait", started.elapsed());
    for tier in tiers {
        let preparer = preparer(home);
        let nothing = command(&["/bin/true"]);
        let started = Instant::now();
        let lane = async |lane: usize| {
            for _ in 0..PARALLEL_RUNS / lanes / 2 {
                let workspace = tree(&preparer, 10).await;
                let logs = home.join(format!("lane{lane}"));
                fs::create_dir_all(&logs).unwrap();
                Run::new(&logs, tier, &workspace).whole(&nothing).await;
                workspace.dispose().await.unwrap();
            }
        };
        // Two for each core: while one waits for its process, another works.
        futures_join(lanes * 2, lane).await;
        rate(tier.tier().as_str(), started.elapsed());
    }
}

async fn futures_join<F: Future<Output = ()>>(lanes: usize, lane: impl Fn(usize) -> F) {
    let mut waiting: Vec<_> = (0..lanes).map(|it| Box::pin(lane(it))).collect();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|it| it.as_mut().poll(context).is_pending());
        if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

async fn kill(home: &Path, tiers: &[Tier]) {
    const LIMIT: Duration = Duration::from_millis(300);
    let cases = [
        ("sleep", "sleep 1000"),
        ("ignores signals", "trap '' TERM INT HUP; while :; do sleep 1; done"),
        ("200 sleepers", "for i in $(seq 200); do setsid sleep 1000 & done; wait"),
        ("fork bomb", "b() { b | b & }; b; sleep 1000"),
    ];
    println!("from the time limit until nothing is left              min      p50      p95 (ms)");
    let preparer = preparer(home);
    for tier in tiers {
        for (name, script) in cases {
            let mut over = Vec::new();
            for _ in 0..TURNS / 10 {
                let workspace = tree(&preparer, 10).await;
                let mut run = Run::new(home, tier, &workspace);
                run.time_limit = LIMIT;
                let mut sandbox = run.open().await;
                let started = Instant::now();
                run.command(&mut sandbox, &command(&["sh", "-c", script])).await;
                over.push(started.elapsed().saturating_sub(LIMIT));
                sandbox.close().await.unwrap();
                workspace.dispose().await.unwrap();
            }
            report(&format!("{}: {name}", tier.tier().as_str()), over);
        }
    }
}

async fn flood(home: &Path, tiers: &[Tier]) {
    println!(
        "{} MB of output against a limit of 64 MiB      (MB that this process grew by)",
        FLOOD_BYTES / 1_000_000
    );
    let preparer = preparer(home);
    let script = format!("head -c {FLOOD_BYTES} /dev/zero");
    for tier in tiers {
        let workspace = tree(&preparer, 10).await;
        let mut run = Run::new(home, tier, &workspace);
        run.output_bytes_max = 64 * 1024 * 1024;
        let before = peak_bytes();
        let ended = run.whole(&command(&["sh", "-c", &script])).await;
        let grown = peak_bytes().saturating_sub(before) / 1_000_000;
        println!("  {:<50} {grown:>6}   {:?}", tier.tier().as_str(), ended.outcome);
        workspace.dispose().await.unwrap();
    }
}

async fn workspaces(home: &Path, tiers: &[Tier]) {
    for files in [100, 10_000, 100_000] {
        let preparer = preparer(home);
        let started = Instant::now();
        let first = tree(&preparer, files).await;
        let cold = started.elapsed();
        let mut floor = Vec::new();
        let copy = home.join("copy");
        for _ in 0..3 {
            floor.push(timed(|| {
                let from = first.base();
                assert!(
                    Command::new("cp").arg("-a").arg(from).arg(&copy).status().unwrap().success()
                );
            }));
            fs::remove_dir_all(&copy).unwrap();
        }
        println!(
            "a tree of {files} files                                  min      p50      p95 (ms)"
        );
        report("floor: cp -a", floor);
        report("made for the first time", vec![cold]);
        let key = WorkspaceKey::of(&preparer, files).await;
        for tier in tiers {
            let (mut prepared, mut ran) = (Vec::new(), Vec::new());
            let turns = if tier.tier() == IsolationTier::Namespace { TURNS / 4 } else { 3 };
            for _ in 0..turns {
                let started = Instant::now();
                let workspace = key.prepare(&preparer).await;
                prepared.push(started.elapsed());
                let started = Instant::now();
                Run::new(home, tier, &workspace).whole(&command(&["/bin/true"])).await;
                workspace.dispose().await.unwrap();
                ran.push(started.elapsed());
            }
            let name = tier.tier().as_str();
            report(&format!("{name}: prepared out of the cache"), prepared);
            report(&format!("{name}: a run with one command, and disposal"), ran);
        }
        first.dispose().await.unwrap();
    }
}

/// A source that is named by a digest, as an archive or a commit is, so that naming it costs nothing.
struct WorkspaceKey(WorkspaceSource);

impl WorkspaceKey {
    async fn of(_: &Preparer, files: usize) -> Self {
        let file = |index: usize| InlineFile {
            path: TreePath::parse(format!("d{}/f{index}", index % 100)).unwrap(),
            content: index.to_string().repeat(10).into_bytes(),
            executable: false,
        };
        Self(WorkspaceSource::Files((0..files).map(file).collect()))
    }

    async fn prepare(&self, preparer: &Preparer) -> Workspace {
        let report = SourceRef { source: &self.0, archive: None };
        let sources =
            Sources { report, baseline: None, acceptance: None, protected: &[], watched: &[] };
        preparer.prepare(&sources, &CancellationToken::new()).await.unwrap()
    }
}

async fn git(home: &Path) {
    const FILES: usize = 60;
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
    let key = WorkspaceKey(WorkspaceSource::Git(source));
    let (mut fresh, mut cold, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS / 10 {
        let clone = home.join(format!("clone{turn}"));
        fresh.push(timed(|| {
            git(&["clone", "--quiet", "--depth=1", &url, clone.to_str().unwrap()]);
        }));
        let preparer = preparer(&home.join(format!("gate{turn}")));
        for place in [&mut cold, &mut warm] {
            let started = Instant::now();
            let workspace = key.prepare(&preparer).await;
            place.push(started.elapsed());
            workspace.dispose().await.unwrap();
        }
    }
    println!("a commit of {FILES} files                                min      p50      p95 (ms)");
    report("floor: git clone --depth=1", fresh);
    report("prepared, mirror made and fetched", cold);
    report("prepared once more", warm);
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!("  {what:<50} {:>8.2} {:>8.2} {:>8.2}", at(0), at(50), at(95));
}

fn rate(what: &str, time: Duration) {
    let runs = u32::try_from(PARALLEL_RUNS).unwrap();
    println!("  {what:<50} {:>8.0}", f64::from(runs) / time.as_secs_f64());
}

/// The largest that this process has been in memory.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
