//! What `contract init` drafts is a yardstick: the real gate says PASS of the project that it was drafted from, and
//! FAIL of the same project with a fault in it. For each kind of project whose tools this machine has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cli::{Ended, donegate};
use crate::served::{Place, Served};

/// Set to `1` where public registries can be reached: then the kinds that install something are told, too.
const NETWORK: &str = "DONEGATE_TEST_NETWORK";

/// Set to `1` where every tool is there: then a kind that lacks one fails.
const REQUIRE_TOOLS: &str = "DONEGATE_TEST_REQUIRE_TOOLS";

/// One kind of project, by the name of its directory among the fixtures of `gate-detect`.
struct Kind {
    name: &'static str,
    /// Commands that work where its tools are there.
    tools: &'static [&'static [&'static str]],
    needs_network: bool,
    /// Tests that its draft runs; none where only the exit status counts.
    tests: Option<u64>,
}

const fn kind(name: &'static str, tools: &'static [&'static [&'static str]]) -> Kind {
    Kind { name, tools, needs_network: false, tests: Some(1) }
}

const fn installed(name: &'static str, tools: &'static [&'static [&'static str]]) -> Kind {
    Kind { needs_network: true, ..kind(name, tools) }
}

const KINDS: [Kind; 17] = [
    kind("cargo", &[&["cargo", "--version"]]),
    kind("pytest", &[&["pytest", "--version"]]),
    kind("unittest", &[&["python3", "--version"]]),
    kind("node-test", &[&["npm", "--version"], &["node", "--test", "--version"]]),
    kind("go", &[&["go", "version"]]),
    kind("monorepo", &[&["go", "version"], &["npm", "--version"]]),
    kind("cmake", &[&["cmake", "--version"], &["cc", "--version"], &["make", "--version"]]),
    kind("minitest", &[&["rake", "--version"], &["ruby", "-e", "require 'minitest'"]]),
    kind("rspec", &[&["rspec", "--version"]]),
    kind("phpunit", &[&["phpunit", "--version"]]),
    Kind { tests: None, ..kind("make", &[&["make", "--version"], &["cc", "--version"]]) },
    installed("pytest-pip", &[&["python3", "-m", "venv", "--help"]]),
    installed("npm-jest", &[&["npm", "--version"]]),
    installed("npm-vitest", &[&["npm", "--version"]]),
    installed("yarn-mocha", &[&["yarn", "--version"]]),
    // Not every network has a way to Maven's registry.
    installed("maven", &[&["mvn", "-q", "dependency:get", "-Dartifact=junit:junit:4.13.2"]]),
    installed("php", &[&["composer", "--version"]]),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_says_pass_of_its_project_and_fail_of_a_broken_one() {
    let place = Place::new();
    let mut gate = place.serve("gate", "all", &[]);
    gate.post("/v1/projects", &json!({ "slug": "shop" })).await;
    let mut told = 0;
    for kind in KINDS.iter().filter(|it| can_be_told(it)) {
        tell(&gate, &place.path(kind.name), kind);
        told += 1;
    }
    assert!(told > 0, "not even one kind of project could be judged");
    assert!(gate.terminate().success());
}

fn tell(gate: &Served, path: &Path, kind: &Kind) {
    let project = Project::of(path, kind.name);
    let good = project.commit("Count pages");
    let file = path.with_extension("yaml");
    let out = file.to_str().unwrap();
    let drafted = donegate().args(["contract", "init", path.to_str().unwrap(), "--out", out]).run();
    assert_eq!(drafted.status, 0, "{}: {drafted:?}", kind.name);
    let checked = donegate().args(["contract", "check", out]).run();
    assert_eq!(checked.status, 0, "{}: {checked:?}", kind.name);
    let published = at(gate, &["contract", "publish", out, "--project", "shop", "--quiet"]);
    let task = published.stdout.trim();
    let criteria = criteria(&file);

    project.lay("broken");
    let broken = project.commit("Break it");
    let submit = |commit: &str| {
        let url = format!("file://{}", path.display());
        let report = ["submit", "--task", task, "--git", &url, "--commit", commit];
        at(gate, &[&report[..], &["--met", &criteria, "--wait", "10m", "--json"]].concat())
    };
    let failed = submit(&broken);
    assert_eq!(failed.status, 1, "{}: {failed:?}", kind.name);
    let passed = submit(&good);
    assert_eq!(passed.status, 0, "{}: {passed:?}", kind.name);

    let Some(tests) = kind.tests else { return };
    let counted = |ended: &Ended, what: &str| {
        let json = ended.json();
        let executions = json["run"]["verdict"]["executions"].as_array().unwrap().clone();
        executions.iter().filter_map(|it| it["tests"][what].as_u64()).sum::<u64>()
    };
    assert_eq!(counted(&failed, "failed"), 1, "{}: {failed:?}", kind.name);
    assert!(counted(&passed, "passed") >= tests, "{}: {passed:?}", kind.name);
    assert_eq!(counted(&passed, "failed"), 0, "{}: {passed:?}", kind.name);
}

/// The executable as a client of this gate.
fn at(gate: &Served, words: &[&str]) -> Ended {
    donegate().env("DONEGATE_URL", gate.url()).env("DONEGATE_KEY", gate.key()).args(words).run()
}

/// All criteria of a contract, as an agent claims them.
fn criteria(contract: &Path) -> String {
    let text = std::fs::read_to_string(contract).unwrap();
    let contract: Value = serde_saphyr::from_str(&text).unwrap();
    let ids: Vec<_> = contract["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    ids.join(",")
}

/// A git repository of a fixture.
struct Project<'a> {
    path: &'a Path,
    fixture: PathBuf,
}

impl<'a> Project<'a> {
    fn of(path: &'a Path, kind: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gate-detect/tests/fixtures");
        let project = Self { path, fixture: fixtures.join(kind) };
        std::fs::create_dir(path).unwrap();
        project.lay("project");
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["remote", "add", "origin", &format!("file://{}", path.display())]);
        project
    }

    /// Copies what lies in a directory of the fixture over the project.
    fn lay(&self, name: &str) {
        let from = self.fixture.join(name);
        for entry in walkdir::WalkDir::new(&from).into_iter().map(Result::unwrap) {
            let to = self.path.join(entry.path().strip_prefix(&from).unwrap());
            if entry.file_type().is_dir() {
                std::fs::create_dir_all(to).unwrap();
            } else {
                std::fs::copy(entry.path(), to).unwrap();
            }
        }
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = command("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "coder-7");
            git.env(format!("GIT_{role}_EMAIL"), "coder-7@example.invalid");
        }
        let ended = git.arg("-C").arg(self.path).args(words).output().unwrap();
        assert!(ended.status.success(), "git {words:?}: {ended:?}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }
}

/// Says which kinds are not told, and why; fails where all tools are required.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn can_be_told(kind: &Kind) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|it| it == "1");
    if kind.needs_network && !is_set(NETWORK) {
        eprintln!("{} was not judged: it installs something, and {NETWORK} is not 1", kind.name);
        return false;
    }
    let Some(tool) = kind.tools.iter().find(|it| !works(it)) else { return true };
    let told = format!("`{}` does not work on this machine", tool.join(" "));
    let is_required = is_set(REQUIRE_TOOLS) && !kind.needs_network;
    assert!(!is_required, "{}: {told}, and {REQUIRE_TOOLS} is set", kind.name);
    eprintln!("{} was not judged: {told}", kind.name);
    false
}

fn works(tool: &[&str]) -> bool {
    let (program, arguments) = tool.split_first().unwrap();
    let mut tool = command(program);
    let ended = tool.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.is_ok_and(|it| it.success())
}

#[expect(clippy::disallowed_methods, reason = "the test plays the agent and looks for its tools")]
fn command(program: &str) -> Command {
    Command::new(program)
}
