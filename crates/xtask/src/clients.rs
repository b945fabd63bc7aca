//! Does the committed OpenAPI document serve those who read it with a program, and does the gate keep to it?
//!
//! Generators and checkers of other people run here, as far as they are on PATH; those that are not
//! are named at the end, and are a failure where `DONEGATE_TEST_REQUIRE_TOOLS` is 1. To have them all:
//!
//! ```text
//! pip install openapi-spec-validator openapi-python-client ruff schemathesis
//! npm install openapi-typescript typescript@5.9 @hey-api/openapi-ts @redocly/cli    # then node_modules/.bin on PATH
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "the checks are commands, and this is the chore that runs them"
)]

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::AnyError;

const DOCUMENT: &str = "openapi/openapi.json";

/// Without quoting; `OUT` is a directory that is emptied before.
const READERS: &[&str] = &[
    "openapi-spec-validator openapi/openapi.json",
    "redocly lint --config openapi/redocly.yaml openapi/openapi.json",
    "openapi-python-client generate --path openapi/openapi.json --output-path OUT/python --fail-on-warning",
    "openapi-typescript openapi/openapi.json --output OUT/openapi.d.ts",
    "openapi-ts --input ./openapi/openapi.json --output OUT/typescript",
    "tsc --noEmit --strict --target es2022 --module nodenext --lib es2022,dom,dom.iterable OUT/openapi.d.ts",
    "tsc --noEmit --strict --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom,dom.iterable OUT/typescript/index.ts",
];

/// `ADDRESS` is a gate that was started for it, with nothing in it.
const PROBER: &str = "schemathesis --config-file ../../openapi/schemathesis.toml run ADDRESS/openapi.json --url ADDRESS";

pub(crate) fn run(root: &Path) -> Result<(), AnyError> {
    let out = root.join("target/clients");
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let mut missing = Vec::new();
    for line in READERS {
        let line = line.replace("OUT", "target/clients");
        if is_on_path(&line) { step(root, &line, None)? } else { missing.push(line) }
    }
    if is_on_path(PROBER) {
        let gate = RunningGate::start(root, &out)?;
        // There, because it leaves its own notes where it runs.
        step(&out, &PROBER.replace("ADDRESS", &gate.address), Some(&gate.key))?;
    } else {
        missing.push(PROBER.to_owned());
    }
    for line in &missing {
        println!("== not run, for it is not on PATH: {line}");
    }
    if !missing.is_empty() && env::var_os("DONEGATE_TEST_REQUIRE_TOOLS").is_some_and(|it| it == "1")
    {
        return Err(format!("{} checks of {DOCUMENT} did not run", missing.len()).into());
    }
    Ok(())
}

/// A gate of this tree on a free port, with its own database; it ends when this is dropped.
struct RunningGate {
    process: Child,
    address: String,
    key: String,
}

impl RunningGate {
    fn start(root: &Path, out: &Path) -> Result<Self, AnyError> {
        step(root, "cargo build --locked --package gate-cli", None)?;
        let donegate = root.join("target/debug/donegate");
        let generated = Command::new(&donegate).args(["keys", "generate", "--quiet"]).output()?;
        let key = String::from_utf8(generated.stdout)?.trim().to_owned();
        let mut process = Command::new(&donegate)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            // Another user runs the private cluster when this one is root, and has to get there.
            .arg(env::temp_dir().join(format!("donegate-clients-{}", std::process::id())))
            .env_remove("DATABASE_URL")
            .env("DONEGATE_ADMIN_KEY", &key)
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(out.join("gate.log"))?)
            .spawn()?;
        let stdout = process.stdout.take().ok_or("the gate has no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.split_whitespace().find(|it| it.starts_with("http://"));
        let address = address.ok_or("the gate did not start: see target/clients/gate.log")?;
        let address = address.trim_end_matches(';').to_owned();
        Ok(Self { process, address, key })
    }
}

impl Drop for RunningGate {
    fn drop(&mut self) {
        // With SIGTERM, so that it takes its database down with it.
        let id = self.process.id().to_string();
        let asked = Command::new("kill").arg(&id).status();
        if let Err(error) = asked.and_then(|_| self.process.wait()) {
            eprintln!("could not stop the gate {id}: {error}");
        }
        let data = env::temp_dir().join(format!("donegate-clients-{}", std::process::id()));
        if let Err(error) = std::fs::remove_dir_all(&data) {
            eprintln!("could not remove {}: {error}", data.display());
        }
    }
}

fn is_on_path(line: &str) -> bool {
    let program = line.split_whitespace().next().unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn step(dir: &Path, line: &str, key: Option<&str>) -> Result<(), AnyError> {
    println!("== {line}");
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().ok_or("a step without a command")?);
    command.args(words).current_dir(dir).env("SQLX_OFFLINE", "true");
    // Cargo tells this chore about its own package; a cargo that it starts would build half the tree again for it.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" {
            command.env_remove(name);
        }
    }
    if let Some(key) = key {
        // As a variable: the arguments of a process are seen by others.
        command.env("DONEGATE_KEY", key);
    }
    let status = command.status().map_err(|error| format!("{line}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("failed ({status}): {line}").into()) }
}
