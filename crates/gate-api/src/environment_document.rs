//! The parts of a contract document that say where its commands run: environment and limits.

use std::collections::BTreeMap;

use gate_core::limits::COMMAND_WORDS_MAX;
use gate_core::{CommandLine, Environment, RunLimits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::InvalidField;
use crate::isolation::{IsolationTierWord, NetworkAccessWord};

/// What the commands find around them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentDocument {
    /// Set for every command; 200 at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Run before the checks, in the same tree; a command that fails is the contract's fault, never the reporter's. 20 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20)]
    pub setup: Vec<SetupDocument>,
    /// What the commands may reach: by default the setup `full`, the checks `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkDocument>,
    /// The image that the commands run in, which asks for the tier `container`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255, example = "docker.io/library/python:3.12-slim")]
    pub image: Option<String>,
    /// The weakest tier that will do; where the gate has none as strong, the run is INCONCLUSIVE. Without it, any tier of the gate's will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationTierWord>,
    /// Whether the commands need 127.0.0.1, which the tier `landlock` does not have; no by default.
    #[serde(default)]
    pub loopback: bool,
}

/// A command that prepares: a list of words, or an object with a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SetupDocument {
    /// The words of the command, passed on as they are; 1,000 at most.
    #[schema(example = json!(["npm", "ci"]))]
    Words(Vec<String>),
    /// A script.
    Shell(ShellDocument),
}

/// A script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellDocument {
    /// For `bash -euo pipefail`.
    #[schema(max_length = 65536)]
    pub shell: String,
}

/// What the commands may reach. `full` is HTTP and HTTPS through the gate's proxy, which `http_proxy` and `https_proxy` name: public hosts, never the gate, its host, private networks, or cloud metadata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkDocument {
    /// The setup; `full` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<NetworkAccessWord>,
    /// The checks; `none` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<NetworkAccessWord>,
}

/// The bounds of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsDocument {
    /// For one command; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 14400)]
    pub command_seconds: Option<u32>,
    /// For all commands of a run together; 1,800 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 28800)]
    pub run_seconds: Option<u32>,
    /// CPU time of one command, all its processes together; 3,600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 921_600)]
    pub cpu_seconds: Option<u32>,
    /// Memory of all processes of a command together, in MiB; 2,048 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 16, maximum = 1_048_576)]
    pub memory_mb: Option<u32>,
    /// Processes and threads of a command at once; 256 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 8, maximum = 32768)]
    pub processes: Option<u32>,
    /// Files that one process may have open; 4,096 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 64, maximum = 1_048_576)]
    pub open_files: Option<u32>,
    /// What a run may write to its workspace, home, and temporary directory, in MiB, with 256 files for each; 4,096 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_048_576)]
    pub disk_mb: Option<u32>,
    /// What one command may print on both streams together; 16 MiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1024, maximum = 67_108_864)]
    pub output_bytes: Option<u64>,
}

impl EnvironmentDocument {
    /// Reads what stands at `/environment`; every fault is added to `faults`.
    pub(crate) fn read(self, faults: &mut Vec<InvalidField>) -> Environment {
        let defaults = Environment::default();
        let network = self.network.unwrap_or_default();
        Environment {
            variables: self.variables,
            setup: read_setup(self.setup, faults),
            setup_network: network.setup.map_or(defaults.setup_network, Into::into),
            checks_network: network.checks.map_or(defaults.checks_network, Into::into),
            isolation_min: self.isolation.map(Into::into),
            loopback: self.loopback,
            image: self.image,
        }
    }
}

impl From<LimitsDocument> for RunLimits {
    fn from(document: LimitsDocument) -> Self {
        let defaults = Self::default();
        let run_seconds = document.run_seconds.unwrap_or(defaults.run_seconds);
        // A run that is short by its contract's wish has short commands without saying so twice.
        let command_seconds = defaults.command_seconds.min(run_seconds);
        Self {
            command_seconds: document.command_seconds.unwrap_or(command_seconds),
            run_seconds,
            cpu_seconds: document.cpu_seconds.unwrap_or(defaults.cpu_seconds),
            memory_mb: document.memory_mb.unwrap_or(defaults.memory_mb),
            processes: document.processes.unwrap_or(defaults.processes),
            open_files: document.open_files.unwrap_or(defaults.open_files),
            disk_mb: document.disk_mb.unwrap_or(defaults.disk_mb),
            output_bytes: document.output_bytes.unwrap_or(defaults.output_bytes),
        }
    }
}

fn read_setup(setup: Vec<SetupDocument>, faults: &mut Vec<InvalidField>) -> Vec<CommandLine> {
    let mut read = Vec::with_capacity(setup.len());
    for (index, command) in setup.into_iter().enumerate() {
        let at = format!("/environment/setup/{index}");
        let (pointer, command) = match command {
            SetupDocument::Words(words) if words.len() > COMMAND_WORDS_MAX => {
                let detail = format!(
                    "{} words are more than {COMMAND_WORDS_MAX}; put the command into a script",
                    words.len()
                );
                faults.push(InvalidField::new(at, detail));
                continue;
            }
            SetupDocument::Words(words) => (at, CommandLine::parse(words)),
            SetupDocument::Shell(ShellDocument { shell }) => {
                (format!("{at}/shell"), CommandLine::parse_shell(shell))
            }
        };
        match command {
            Ok(command) => read.push(command),
            Err(error) => faults.push(InvalidField::new(pointer, error.to_string())),
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use gate_core::{IsolationTier, NetworkAccess, limits};
    use serde_json::Value;

    use super::*;
    use crate::body::{self, BodyError, Format};
    use crate::contract_document;

    const CHECKS: &str = "
title: Cursor pagination
criteria:
  - { id: AC1, text: A page names the next one, checks: [tests] }
checks:
  - { id: tests, kind: tests, run: [cargo, test] }
";

    fn faults(more: &str) -> Vec<String> {
        let text = format!("{CHECKS}{more}");
        match contract_document::read(text.as_bytes(), Format::Yaml).unwrap_err() {
            BodyError::Form(faults) => faults.into_iter().map(|it| it.pointer).collect(),
            BodyError::Syntax(error) => panic!("{error}"),
        }
    }

    #[test]
    fn an_environment_is_read_whole() {
        let text = format!(
            "{CHECKS}
environment:
  variables: {{ ORDERS_PAGE_MAX: '100' }}
  setup: [[npm, ci], {{ shell: npm run build }}]
  network: {{ setup: none, checks: full }}
  image: python:3.12-slim
  isolation: container
  loopback: true
limits: {{ cpu_seconds: 7, memory_mb: 64, processes: 9, open_files: 65, disk_mb: 2 }}
"
        );
        let contract = contract_document::read(text.as_bytes(), Format::Yaml).unwrap();
        let environment = contract.environment();
        assert_eq!(environment.setup[0].to_words(), ["npm", "ci"]);
        assert_eq!(environment.setup[1], CommandLine::Shell("npm run build".into()));
        assert_eq!(environment.setup_network, NetworkAccess::None);
        assert_eq!(environment.checks_network, NetworkAccess::Full);
        assert_eq!(environment.isolation_min, Some(IsolationTier::Container));
        assert!(environment.loopback);
        assert_eq!(environment.image.as_deref(), Some("python:3.12-slim"));
        let expected = RunLimits {
            cpu_seconds: 7,
            memory_mb: 64,
            processes: 9,
            open_files: 65,
            disk_mb: 2,
            ..RunLimits::default()
        };
        assert_eq!(contract.limits(), expected);
    }

    #[test]
    fn without_a_word_the_setup_has_the_network_and_the_checks_have_none() {
        for text in ["", "environment: {}", "environment: { network: {} }"] {
            let text = format!("{CHECKS}{text}");
            let contract = contract_document::read(text.as_bytes(), Format::Yaml).unwrap();
            assert_eq!(*contract.environment(), Environment::default());
            assert_eq!(contract.environment().setup_network, NetworkAccess::Full);
            assert_eq!(contract.environment().checks_network, NetworkAccess::None);
        }
    }

    #[test]
    fn every_fault_of_an_environment_has_its_place() {
        for (fault, pointer) in [
            ("{ setup: [[npm, ci], []] }", "/environment/setup/1"),
            ("{ setup: [{ shell: ' ' }] }", "/environment/setup/0/shell"),
            ("{ setup: [[npm, 1]] }", "/environment/setup/0/1"),
            ("{ setup: [{ script: x, shell: make }] }", "/environment/setup/0/script"),
            ("{ network: { checks: loopback } }", "/environment/network/checks"),
            ("{ network: { build: full } }", "/environment/network/build"),
            ("{ isolation: vm }", "/environment/isolation"),
            ("{ loopback: perhaps }", "/environment/loopback"),
            ("{ image: '' }", "/environment/image"),
            ("{ image: '--privileged' }", "/environment/image"),
            ("{ image: 'python 3' }", "/environment/image"),
            ("{ image: python, isolation: namespace }", "/environment/image"),
            ("{ isolation: container }", "/environment/isolation"),
        ] {
            assert_eq!(faults(&format!("environment: {fault}\n")), [pointer], "{fault}");
        }
        let commands = "[make],".repeat(limits::SETUP_COMMANDS_MAX + 1);
        let setup = format!("environment: {{ setup: [{commands}] }}\n");
        assert_eq!(faults(&setup), ["/environment/setup"]);
        let words = "x,".repeat(COMMAND_WORDS_MAX + 1);
        let setup = format!("environment: {{ setup: [[{words}]] }}\n");
        assert_eq!(faults(&setup), ["/environment/setup/0"]);
    }

    #[test]
    fn a_limit_beyond_its_bounds_is_named() {
        for (name, value) in [
            ("command_seconds", 0),
            ("cpu_seconds", 921_601),
            ("memory_mb", 15),
            ("processes", 7),
            ("open_files", 63),
            ("disk_mb", 0),
            ("output_bytes", 1023),
        ] {
            let pointers = faults(&format!("limits: {{ {name}: {value} }}\n"));
            assert_eq!(pointers, [format!("/limits/{name}")]);
        }
    }

    #[test]
    fn the_schema_publishes_the_bounds_of_the_core() {
        let schema = body::schema::<LimitsDocument>();
        let bounds = |name: &str| {
            let pointer = format!("/components/schemas/LimitsDocument/properties/{name}");
            let field = schema.pointer(&pointer).unwrap();
            let bound = |it: &str| field.get(it).and_then(Value::as_u64).unwrap();
            (bound("minimum"), bound("maximum"))
        };
        for (name, min, max) in [
            ("command_seconds", 1, limits::COMMAND_SECONDS_MAX),
            ("run_seconds", 1, limits::RUN_SECONDS_MAX),
            ("cpu_seconds", 1, limits::CPU_SECONDS_MAX),
            ("memory_mb", limits::MEMORY_MB_MIN, limits::MEMORY_MB_MAX),
            ("processes", limits::PROCESSES_MIN, limits::PROCESSES_MAX),
            ("open_files", limits::OPEN_FILES_MIN, limits::OPEN_FILES_MAX),
            ("disk_mb", 1, limits::DISK_MB_MAX),
        ] {
            assert_eq!(bounds(name), (min.into(), max.into()), "{name}");
        }
        assert_eq!(bounds("output_bytes"), (1024, limits::OUTPUT_BYTES_MAX));
        let schema = body::schema::<EnvironmentDocument>();
        let setup = "/components/schemas/EnvironmentDocument/properties/setup/maxItems";
        let items_max = schema.pointer(setup).and_then(Value::as_u64);
        assert_eq!(items_max, Some(limits::SETUP_COMMANDS_MAX as u64));
    }
}
