//! What the tests share: a gate's directories, a sandbox, small sources, and one helper for each question.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gate_core::testing::{command, command_check, parts};
use gate_core::{
    CommandLine, Contract, GitSource, InlineFile, IsolationTier, NetworkAccess, PathPattern,
    RunLimits, Sha256Digest, TreePath, WorkspaceSource,
};
use gate_exec::{
    Ended, ExecError, Job, LogPlace, PASSED_BY_DEFAULT, PrepareError, PrepareSettings, Preparer,
    Profile, Ran, RawExecution, Room, Run, SandboxError, SandboxTier, SourceError, SourceRef,
    Sources, Surveyed, TierSettings, Workspace, open_tier, run_commands, survey,
};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// The directories of one gate, which do not outlive the test.
pub(crate) struct Gate {
    home: tempfile::TempDir,
    pub(crate) preparer: Preparer,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut PrepareSettings)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let preparer = Preparer::new(&Self::settings(home.path(), change)).unwrap();
        Self { home, preparer }
    }

    /// Each preparation starts from the source again.
    pub(crate) fn without_tree_cache() -> Self {
        Self::with(|it| it.tree_cache_bytes_max = 0)
    }

    pub(crate) fn settings(
        home: &Path,
        change: impl FnOnce(&mut PrepareSettings),
    ) -> PrepareSettings {
        let (cache, work) = (home.join("cache"), home.join("work"));
        let mut settings = PrepareSettings::new(cache, work, path());
        change(&mut settings);
        settings
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn logs(&self) -> PathBuf {
        let logs = self.home().join("logs");
        fs::create_dir_all(&logs).unwrap();
        logs
    }

    pub(crate) async fn prepare(
        &self,
        source: &WorkspaceSource,
    ) -> Result<Workspace, PrepareError> {
        self.prepare_from(&sources(source)).await
    }

    pub(crate) async fn prepare_from(
        &self,
        sources: &Sources<'_>,
    ) -> Result<Workspace, PrepareError> {
        self.preparer.prepare(sources, &CancellationToken::new()).await
    }

    /// Prepares an archive with these bytes.
    pub(crate) async fn unpack(&self, bytes: &[u8]) -> Result<Workspace, PrepareError> {
        self.unpack_below(bytes, None).await
    }

    pub(crate) async fn unpack_below(
        &self,
        bytes: &[u8],
        subdirectory: Option<&str>,
    ) -> Result<Workspace, PrepareError> {
        let path = self.home().join("upload");
        fs::write(&path, bytes).unwrap();
        let source = archive(bytes, subdirectory);
        let report = SourceRef { source: &source, archive: Some(&path) };
        self.prepare_from(&Sources { report, ..sources(&source) }).await
    }

    /// An empty workspace, and one command in it.
    pub(crate) async fn run(&self, words: &[&str]) -> Ended {
        self.run_bounded(words, Duration::from_secs(60), 1024 * 1024).await
    }

    pub(crate) async fn run_bounded(
        &self,
        words: &[&str],
        time_limit: Duration,
        output_bytes_max: u64,
    ) -> Ended {
        let command = command(words);
        let bounds = (time_limit, output_bytes_max);
        let cancel = CancellationToken::new();
        let ended = self.run_cancelled(&command, bounds, &cancel).await.unwrap();
        assert!(processes_with(self.home()).is_empty(), "{:?}", processes_with(self.home()));
        ended
    }

    pub(crate) async fn run_cancelled(
        &self,
        command: &CommandLine,
        (time_limit, output_bytes_max): (Duration, u64),
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let workspace = self.prepare(&WorkspaceSource::Files(Vec::new())).await.unwrap();
        let variables = BTreeMap::new();
        let room = room(&workspace, &variables);
        let mut sandbox = tier().await.open(&room, cancel).await?;
        let job = Job {
            command,
            time_limit,
            output_bytes_max,
            limits: RunLimits::default(),
            logs: LogPlace { directory: self.logs(), stem: "0".to_owned() },
        };
        let ended = sandbox.run(&job, cancel).await;
        sandbox.close().await?;
        workspace.dispose().await.unwrap();
        ended
    }

    /// Runs commands in a workspace, as a contract would.
    pub(crate) async fn run_in(
        &self,
        workspace: &Workspace,
        commands: &[&[&str]],
    ) -> Vec<RawExecution> {
        self.run_contract(&contract(commands), workspace).await
    }

    pub(crate) async fn run_contract(
        &self,
        contract: &Contract,
        workspace: &Workspace,
    ) -> Vec<RawExecution> {
        let tier = tier().await;
        let cancel = CancellationToken::new();
        let ran = self.run_with((contract, workspace), tier.as_ref(), &cancel).await;
        ran.unwrap().executions
    }

    pub(crate) async fn run_with(
        &self,
        (contract, workspace): (&Contract, &Workspace),
        tier: &dyn SandboxTier,
        cancel: &CancellationToken,
    ) -> Result<Ran, ExecError> {
        let layers = self.preparer.layers();
        let logs_directory = &self.logs();
        let (runs, wanted) = (|_: &_| true, &[][..]);
        let run = Run { contract, runs, wanted, workspace, tier, layers, logs_directory };
        run_commands(&run, cancel).await
    }
}

pub(crate) fn contract(commands: &[&[&str]]) -> Contract {
    let check = |(index, words): (usize, &&[&str])| command_check(&format!("check-{index}"), words);
    let mut parts = parts();
    parts.checks = commands.iter().enumerate().map(check).collect();
    parts.criteria[0].checks = parts.checks.iter().map(|it| it.id.clone()).collect();
    Contract::parse(parts).unwrap()
}

pub(crate) fn room<'a>(
    workspace: &'a Workspace,
    variables: &'a BTreeMap<String, String>,
) -> Room<'a> {
    Room {
        base: workspace.base(),
        layer: None,
        keep: None,
        place: workspace.place(),
        limits: RunLimits::default(),
        network: NetworkAccess::None,
        variables,
        image: None,
    }
}

/// The weakest tier, which every machine has.
pub(crate) async fn tier() -> Arc<dyn SandboxTier> {
    static PROCESS: tokio::sync::OnceCell<Arc<dyn SandboxTier>> =
        tokio::sync::OnceCell::const_new();
    let find = async || {
        let all = surveyed().await;
        let process = all.into_iter().find(|it| it.tier == IsolationTier::Process);
        process.unwrap().result.unwrap()
    };
    Arc::clone(PROCESS.get_or_init(find).await)
}

pub(crate) fn settings() -> TierSettings {
    TierSettings {
        profile: profile(),
        read_only_paths: Vec::new(),
        uid_base: 61_000,
        egress: None,
        data_dir: std::env::temp_dir(),
        container_engine: std::env::var_os("DONEGATE_TEST_CONTAINER_ENGINE").map(PathBuf::from),
        engine_environment: std::env::vars_os().collect(),
    }
}

pub(crate) async fn surveyed() -> Vec<Surveyed> {
    surveyed_with(&settings()).await
}

pub(crate) async fn surveyed_with(settings: &TierSettings) -> Vec<Surveyed> {
    survey(settings).await
}

/// Says so where it is not there, and fails where it must be.
pub(crate) fn has_program(name: &str) -> bool {
    let found = std::env::split_paths(&path()).any(|it| it.join(name).is_file());
    if !found {
        assert!(std::env::var_os("DONEGATE_TEST_REQUIRE_TOOLS").is_none(), "{name} is missing");
        println!("not run: there is no {name} here");
    }
    found
}

pub(crate) fn profile() -> Profile {
    Profile::from_environment(std::env::vars_os(), &PASSED_BY_DEFAULT)
}

/// The tiers that the executable builds by itself, strongest first: each, or why it is refused. Containers
/// need an engine and an image, and have tests of their own.
pub(crate) async fn own_tiers(
    settings: &TierSettings,
) -> Vec<(IsolationTier, Result<Arc<dyn SandboxTier>, String>)> {
    let mut found = Vec::new();
    for tier in [IsolationTier::Namespace, IsolationTier::Landlock, IsolationTier::Process] {
        found.push((tier, open_tier(tier, settings).await));
    }
    found
}

/// Those that this machine has. Says which it does not have, and fails where they must be.
pub(crate) async fn found_tiers() -> Vec<Arc<dyn SandboxTier>> {
    let required = std::env::var_os("DONEGATE_TEST_REQUIRE_TIERS").unwrap_or_default();
    let required = required.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for (tier, result) in own_tiers(&settings()).await {
        match result {
            Ok(tier) => found.push(tier),
            Err(error) => {
                let name = tier.as_str();
                println!("tier {name}: not run: {error}");
                let must_be = required.split(',').any(|it| it.trim() == name);
                assert!(!must_be, "tier {name} must be here: {error}");
            }
        }
    }
    found
}

/// Whether a missing tool is a failure.
pub(crate) fn tools_are_required() -> bool {
    std::env::var_os("DONEGATE_TEST_REQUIRE_TOOLS").is_some_and(|it| it == "1")
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

pub(crate) fn sources(source: &WorkspaceSource) -> Sources<'_> {
    let report = SourceRef { source, archive: None };
    Sources { report, baseline: None, acceptance: None, protected: &[], watched: &[] }
}

pub(crate) fn archive(bytes: &[u8], subdirectory: Option<&str>) -> WorkspaceSource {
    let sha256 = Sha256Digest::from_bytes(Sha256::digest(bytes).into());
    let subdirectory = subdirectory.map(|it| TreePath::parse(it).unwrap());
    WorkspaceSource::Archive { sha256, subdirectory }
}

pub(crate) fn files(files: &[(&str, &str)]) -> WorkspaceSource {
    let file = |(path, text): &(&str, &str)| InlineFile {
        path: TreePath::parse(*path).unwrap(),
        content: text.as_bytes().to_vec(),
        executable: text.starts_with("#!"),
    };
    WorkspaceSource::Files(files.iter().map(file).collect())
}

pub(crate) fn patterns(patterns: &[&str]) -> Vec<PathPattern> {
    patterns.iter().map(|it| PathPattern::parse(*it).unwrap()).collect()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The processes that have this directory as theirs, or in their words or environment.
pub(crate) fn processes_with(directory: &Path) -> Vec<String> {
    let wanted = directory.to_str().unwrap();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own || !name.bytes().all(|it| it.is_ascii_digit()) {
            continue;
        }
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let words = text(&read("cmdline"));
        let named = words.contains(wanted) || text(&read("environ")).contains(wanted);
        if named || cwd.starts_with(directory) {
            found.push(format!("{name}: {}", words.replace('\0', " ")));
        }
    }
    found
}

/// What is mounted below the directory of all temporary ones: of others, too, but for a process that is alone.
pub(crate) fn temporary_mounts() -> Vec<String> {
    let wanted = std::env::temp_dir().to_str().unwrap().to_owned();
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    mounts.lines().filter(|it| it.contains(&wanted)).map(str::to_owned).collect()
}

/// What was wrong with the sources that could not be prepared.
pub(crate) fn source_error(result: Result<Workspace, PrepareError>) -> SourceError {
    let error = result.unwrap_err();
    let PrepareError::Source { source, .. } = error else { panic!("{error:?}") };
    source
}

/// The repositories that a gate keeps.
pub(crate) fn mirrors(gate: &Gate) -> Vec<PathBuf> {
    let entries = fs::read_dir(gate.home().join("cache/git")).unwrap();
    entries
        .map(|it| it.unwrap().path())
        .filter(|it| it.extension().is_some_and(|it| it == "git"))
        .collect()
}

/// The living processes with this in their environment, of those that this user may look into.
pub(crate) fn marked(mark: &str) -> Vec<String> {
    living(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|it| *it == 0).any(|it| it == mark.as_bytes())
    })
}

/// The living processes of this user.
pub(crate) fn processes_of(uid: u32) -> Vec<String> {
    living(|process| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let users = status.lines().find_map(|it| it.strip_prefix("Uid:")).unwrap_or_default();
        users.split_ascii_whitespace().any(|it| it == uid.to_string())
    })
}

/// Pid and words of each process of which this is so, but for zombies.
fn living(is_so: impl Fn(&Path) -> bool) -> Vec<String> {
    let is_pid = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    let all = fs::read_dir("/proc").unwrap().flatten().map(|it| it.path());
    let named = all.filter(|it| it.file_name().and_then(|it| it.to_str()).is_some_and(is_pid));
    named
        .filter(|it| is_so(it))
        .filter_map(|it| {
            let stat = fs::read_to_string(it.join("stat")).ok()?;
            let is_zombie = stat.rsplit_once(") ")?.1.starts_with('Z');
            let words = text(&fs::read(it.join("cmdline")).ok()?).replace('\0', " ");
            (!is_zombie).then(|| format!("{} {words}", it.display()))
        })
        .collect()
}

/// A git repository to fetch from.
pub(crate) struct Repository {
    pub(crate) home: tempfile::TempDir,
    format: &'static str,
}

impl Repository {
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    pub(crate) fn with_format(format: &'static str) -> Self {
        let it = Self { home: tempfile::tempdir().unwrap(), format };
        it.git(&[
            "init",
            "--quiet",
            "--initial-branch=main",
            &format!("--object-format={}", it.format),
        ]);
        it
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &content).unwrap();
        let mode = if content.as_ref().starts_with(b"#!") { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> &Self {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        symlink(target, self.path(path)).unwrap();
        self
    }

    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, b"")
    }

    pub(crate) fn git_with(&self, arguments: &[&str], input: &[u8]) -> String {
        use std::io::Write as _;
        use std::process::{Command, Stdio};
        #[expect(
            clippy::disallowed_methods,
            reason = "a test makes the repository that is fetched"
        )]
        let mut child = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"])
            .args(["-c", "protocol.file.allow=always", "-c", "core.protectNTFS=false"])
            .args(arguments)
            .current_dir(self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.home.path().display())
    }

    pub(crate) fn at(&self, commit: &str) -> WorkspaceSource {
        self.below(commit, None)
    }

    pub(crate) fn below(&self, commit: &str, subdirectory: Option<&str>) -> WorkspaceSource {
        let subdirectory = subdirectory.map(|it| TreePath::parse(it).unwrap());
        let source = GitSource::parse(self.url(), commit.to_owned(), subdirectory);
        WorkspaceSource::Git(source.unwrap())
    }
}
