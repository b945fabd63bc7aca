//! `donegate serve` as a child process, and what a test asks of it over HTTP.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gate_server::ApiKeySecret;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The directories and the keys of one gate, whose processes come and go.
pub(crate) struct Place {
    directory: TempDir,
    admin_key: ApiKeySecret,
}

/// One process of it.
pub(crate) struct Served {
    child: Child,
    url: String,
    key: String,
    log: PathBuf,
    // While it is open, the process may print.
    _stdout: BufReader<ChildStdout>,
}

impl Place {
    pub(crate) fn new() -> Self {
        // Not below TMPDIR, which may be closed to the user who runs the database.
        let builder = &mut tempfile::Builder::new();
        let directory = builder.prefix("donegate-it-").tempdir_in("/tmp").unwrap();
        let open = std::fs::Permissions::from_mode(0o711);
        std::fs::set_permissions(directory.path(), open).unwrap();
        Self { directory, admin_key: ApiKeySecret::generate() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a process with a data directory of this name, and waits until it serves.
    pub(crate) fn serve(&self, name: &str, role: &str, settings: &[(&str, &str)]) -> Served {
        self.try_serve(name, role, settings).unwrap_or_else(|it| panic!("it did not start: {it}"))
    }

    /// The same, or what it said before it ended.
    #[expect(clippy::disallowed_methods, reason = "the test is about the executable as a process")]
    pub(crate) fn try_serve(
        &self,
        name: &str,
        role: &str,
        settings: &[(&str, &str)],
    ) -> Result<Served, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_donegate"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("DONEGATE_") || name == "DATABASE_URL" {
                command.env_remove(name);
            }
        }
        let log = self.path(&format!("{name}.log"));
        let stderr = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        command
            .args(["serve", "--role", role, "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(self.path(name))
            .env("DONEGATE_ADMIN_KEY", self.admin_key.expose())
            // The tests meet their commands at paths of the host.
            .env("DONEGATE_SANDBOX_TIER", "process")
            // An engine takes seconds at each start.
            .env("DONEGATE_SANDBOX_CONTAINER_ENGINE", "no-engine")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|it| it.starts_with("http://"));
        let Some(url) = url.map(|it| it.trim_end_matches(';').to_owned()) else {
            assert!(!child.wait().unwrap().success());
            return Err(std::fs::read_to_string(&log).unwrap());
        };
        let key = self.admin_key.expose().to_owned();
        Ok(Served { child, url, key, log, _stdout: stdout })
    }
}

impl Served {
    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and the wait for its end.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        run("kill", &["-TERM", &self.child.id().to_string()]);
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it does not stop");
            thread::sleep(LOOK_EVERY);
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The admin's key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(reqwest::Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        self.send(reqwest::Method::POST, path, Some(body)).await
    }

    async fn send(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Value {
        // An error means that a provider was installed before, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let request = client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key);
        let request = body.into_iter().fold(request, reqwest::RequestBuilder::json);
        let response = request.send().await.unwrap();
        let (status, body) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// A task of the project `shop` whose check is this script; its id.
    pub(crate) async fn task(&self, script: &str, callback_url: Option<&str>) -> String {
        let mut contract = json!({
            "title": "A sample",
            "criteria": [{ "id": "AC1", "text": "It works", "checks": ["c"] }],
            "checks": [{ "id": "c", "kind": "command", "shell": script }],
        });
        if let Some(url) = callback_url {
            contract["callback"] = json!({ "url": url });
        }
        let task = self.post("/v1/projects/shop/tasks", &contract).await;
        task["id"].as_str().unwrap().to_owned()
    }

    /// Reports that a task is done; the path of the run.
    pub(crate) async fn report(&self, task: &str) -> String {
        let report = json!({
            "status": "success", "criteria": [{ "id": "AC1", "status": "met" }],
            "workspace": { "files": [{ "path": "README.md", "content": "A sample." }] },
            "not_verified": [], "deviations": [],
        });
        let accepted = self.post(&format!("/v1/tasks/{task}/reports"), &report).await;
        format!("/v1/runs/{}", accepted["run"]["id"].as_str().unwrap())
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the log of a gate whose test failed, for who reads the test's output"
)]
impl Drop for Served {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Gently, so that a private cluster is stopped as well.
            let _status = self.terminate();
        }
        if thread::panicking() {
            println!("{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// A script that writes its process id, and ends when the file `go` is there.
pub(crate) fn held(directory: &Path) -> String {
    std::fs::create_dir_all(directory).unwrap();
    let directory = directory.display();
    format!(
        "echo $$ > {directory}/pid.new\nmv {directory}/pid.new {directory}/pid\n\
         until test -e {directory}/go; do sleep 0.02; done"
    )
}

/// The process id of such a script, once it runs. The next one that runs is another.
pub(crate) async fn entered(directory: &Path) -> PathBuf {
    let path = directory.join("pid");
    wait_until(|| path.exists()).await;
    let pid = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    Path::new("/proc").join(pid.trim())
}

pub(crate) async fn wait_until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it never was so");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A directory that commands may read which are walled in, whoever they are. Not below /tmp, where also a build may lie: they
/// have one of their own.
pub(crate) fn readable() -> TempDir {
    let places = [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt", option_env!("HOME").unwrap_or("/")];
    let is_seen = |it: &&str| !it.starts_with("/tmp") && !it.starts_with("/var/tmp");
    let directory = places.into_iter().filter(is_seen).find_map(|it| tempfile::tempdir_in(it).ok());
    let directory = directory.expect("a directory that is not below /tmp can be written");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).unwrap();
    directory
}

/// Processes of this machine, also those in namespaces of their own, that have this text among their words.
pub(crate) fn processes_with(text: &str) -> Vec<PathBuf> {
    let has_it = |process: &PathBuf| {
        let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(text)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|it| it.path());
    all.filter(has_it).collect()
}

#[expect(clippy::disallowed_methods, reason = "the test plays the operator")]
fn run(program: &str, arguments: &[&str]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success());
}
