//! What must be true, and the commands that show it. A [`Contract`] that exists is a valid one.

use std::collections::{BTreeMap, HashSet};

use crate::{
    Check, CheckKind, CommandLine, IsolationTier, NetworkAccess, PathPattern, TreePath,
    WorkspaceSource,
};
use crate::{limits, pointer};

/// A contract whose parts fit together. Made only by [`Contract::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract(ContractParts);

/// The parts of a contract, each already well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractParts {
    /// One line for people.
    pub title: String,
    /// What the reporter started from.
    pub baseline: Option<WorkspaceSource>,
    /// Files that the contract brings along, laid over the workspace like protected ones.
    pub acceptance_files: Option<WorkspaceSource>,
    /// Files that must exist when the work is done.
    pub deliverables: Vec<TreePath>,
    /// What must be true.
    pub criteria: Vec<Criterion>,
    /// What nobody asked for.
    pub out_of_scope: Vec<String>,
    /// What is laid over the workspace from the baseline, before each check.
    pub protected: Vec<PathPattern>,
    /// The questions that show it.
    pub checks: Vec<Check>,
    /// What the commands find around them.
    pub environment: Environment,
    /// The bounds of a run.
    pub limits: RunLimits,
    /// FAILs before a person is called.
    pub rounds_max: u32,
    /// Reports before a person is called, whatever they say.
    pub reports_max: u32,
    /// Where the verdict is posted.
    pub callback_url: Option<String>,
}

/// One thing that must be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// Such as `AC1`.
    pub id: String,
    /// A sentence for people.
    pub text: String,
    /// The ids of the checks that show it.
    pub checks: Vec<String>,
}

/// What the commands find around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Set for every command.
    pub variables: BTreeMap<String, String>,
    /// Run before the checks, in the same tree; their faults are not the reporter's.
    pub setup: Vec<CommandLine>,
    /// What the setup may reach.
    pub setup_network: NetworkAccess,
    /// What the checks may reach.
    pub checks_network: NetworkAccess,
    /// The weakest tier that the contract takes, where it says so.
    pub isolation_min: Option<IsolationTier>,
    /// Whether the checks need 127.0.0.1.
    pub loopback: bool,
    /// The image of the tier `container`.
    pub image: Option<String>,
}

/// The bounds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// For one acceptance command.
    pub command_seconds: u32,
    /// For all of them together.
    pub run_seconds: u32,
    /// CPU time of one command, all its processes together.
    pub cpu_seconds: u32,
    /// Memory of all processes of a command together.
    pub memory_mb: u32,
    /// Processes and threads of a command at once.
    pub processes: u32,
    /// Files that one process may have open.
    pub open_files: u32,
    /// What the run may write.
    pub disk_mb: u32,
    /// What one command may print.
    pub output_bytes: u64,
}

/// What is wrong with a contract, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractFault {
    /// A JSON pointer into the document.
    pub pointer: String,
    /// What, and what to write instead.
    pub detail: String,
}

/// Names that a contract may not set: they would change who judges, or what runs.
const RESERVED_VARIABLES: [&str; 6] =
    ["PATH", "HOME", "TMPDIR", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV"];

impl Default for Environment {
    fn default() -> Self {
        Self {
            variables: BTreeMap::new(),
            setup: Vec::new(),
            setup_network: NetworkAccess::Full,
            checks_network: NetworkAccess::None,
            isolation_min: None,
            loopback: false,
            image: None,
        }
    }
}

impl RunLimits {
    /// What the run may write, in bytes.
    #[must_use]
    pub const fn disk_bytes(&self) -> u64 {
        self.disk_mb as u64 * 1024 * 1024
    }

    /// Files and directories that the run may make.
    #[must_use]
    pub const fn disk_entries(&self) -> u64 {
        self.disk_mb as u64 * limits::DISK_ENTRIES_PER_MB as u64
    }

    /// Memory of a command, in bytes.
    #[must_use]
    pub const fn memory_bytes(&self) -> u64 {
        self.memory_mb as u64 * 1024 * 1024
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            command_seconds: limits::COMMAND_SECONDS_DEFAULT,
            run_seconds: limits::RUN_SECONDS_DEFAULT,
            cpu_seconds: limits::CPU_SECONDS_DEFAULT,
            memory_mb: limits::MEMORY_MB_DEFAULT,
            processes: limits::PROCESSES_DEFAULT,
            open_files: limits::OPEN_FILES_DEFAULT,
            disk_mb: limits::DISK_MB_DEFAULT,
            output_bytes: limits::OUTPUT_BYTES_DEFAULT,
        }
    }
}

impl Contract {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// All faults at once, each with a pointer into the document.
    pub fn parse(parts: ContractParts) -> Result<Self, Vec<ContractFault>> {
        let mut faults = Faults::default();
        faults.checks(&parts);
        faults.criteria(&parts);
        faults.fixed("/baseline", parts.baseline.as_ref());
        faults.fixed("/acceptance_files", parts.acceptance_files.as_ref());
        faults.protected(&parts);
        faults.variables(&parts);
        faults.environment(&parts.environment);
        faults.limits(&parts);
        if faults.0.is_empty() { Ok(Self(parts)) } else { Err(faults.0) }
    }

    /// One line for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// What the reporter started from.
    #[must_use]
    pub fn baseline(&self) -> Option<&WorkspaceSource> {
        self.0.baseline.as_ref()
    }

    /// Files that the contract brings along, laid over the workspace like protected ones.
    #[must_use]
    pub fn acceptance_files(&self) -> Option<&WorkspaceSource> {
        self.0.acceptance_files.as_ref()
    }

    /// Files that must exist when the work is done.
    #[must_use]
    pub fn deliverables(&self) -> &[TreePath] {
        &self.0.deliverables
    }

    /// What must be true.
    #[must_use]
    pub fn criteria(&self) -> &[Criterion] {
        &self.0.criteria
    }

    /// What is laid over the workspace from the baseline, before each check.
    #[must_use]
    pub fn protected(&self) -> &[PathPattern] {
        &self.0.protected
    }

    /// The questions that show it.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.0.checks
    }

    /// What the commands find around them.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// The bounds of a run.
    #[must_use]
    pub fn limits(&self) -> RunLimits {
        self.0.limits
    }

    /// FAILs before a person is called.
    #[must_use]
    pub fn rounds_max(&self) -> u32 {
        self.0.rounds_max
    }

    /// Reports before a person is called.
    #[must_use]
    pub fn reports_max(&self) -> u32 {
        self.0.reports_max
    }

    /// Where the verdict is posted.
    #[must_use]
    pub fn callback_url(&self) -> Option<&str> {
        self.0.callback_url.as_deref()
    }

    /// The paths whose state is part of the evidence.
    #[must_use]
    pub fn watched_paths(&self) -> Vec<TreePath> {
        let of_checks = self.checks().iter().flat_map(Check::paths);
        let mut paths: Vec<_> = self.deliverables().iter().chain(of_checks).cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

/// Collects faults; each method owns one part of the document.
#[derive(Default)]
struct Faults(Vec<ContractFault>);

impl Faults {
    fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(ContractFault { pointer: pointer.into(), detail: detail.into() });
    }

    fn checks(&mut self, parts: &ContractParts) {
        self.unique("/checks", parts.checks.iter().map(|it| it.id.as_str()));
        if !parts.checks.iter().any(|it| it.blocking) {
            self.add("/checks", "no check blocks, so nothing could fail; add a blocking check");
        }
        if parts.baseline.is_some() {
            return;
        }
        for (index, check) in parts.checks.iter().enumerate() {
            let counts = matches!(&check.kind, CheckKind::Tests(it) if it.not_fewer_than_baseline);
            let asks = [
                ("fails_on_baseline", check.fails_on_baseline),
                ("not_fewer_than_baseline", counts),
            ];
            for (field, _) in asks.into_iter().filter(|(_, asked)| *asked) {
                let detail = "there is no baseline to run it on; name one, or remove this";
                self.add(format!("/checks/{index}/{field}"), detail);
            }
        }
    }

    fn criteria(&mut self, parts: &ContractParts) {
        self.unique("/criteria", parts.criteria.iter().map(|it| it.id.as_str()));
        if parts.criteria.is_empty() {
            self.add("/criteria", "no criterion; say at least one thing that must be true");
        }
        let known: HashSet<&str> = parts.checks.iter().map(|it| it.id.as_str()).collect();
        for (index, criterion) in parts.criteria.iter().enumerate() {
            if criterion.checks.is_empty() {
                let detail =
                    format!("criterion `{}` has no check; name one that shows it", criterion.id);
                self.add(format!("/criteria/{index}/checks"), detail);
            }
            for (place, check) in criterion.checks.iter().enumerate() {
                if !known.contains(check.as_str()) {
                    let detail = format!("there is no check `{check}` in this contract");
                    self.add(format!("/criteria/{index}/checks/{place}"), detail);
                }
            }
        }
    }

    fn unique<'a>(&mut self, list: &str, ids: impl Iterator<Item = &'a str>) {
        let mut seen = HashSet::new();
        for (index, id) in ids.enumerate() {
            if !seen.insert(id) {
                self.add(format!("{list}/{index}/id"), format!("the id `{id}` is used twice"));
            }
        }
    }

    /// What can change after the contract was published is no yardstick.
    fn fixed(&mut self, at: &str, source: Option<&WorkspaceSource>) {
        match source {
            Some(WorkspaceSource::Directory(_)) => self.add(
                format!("{at}/directory"),
                "a directory can change after the contract is published; name a commit, an archive, or files",
            ),
            Some(WorkspaceSource::Patch { .. }) => self.add(
                format!("{at}/patch"),
                "a patch is applied to a baseline and is no tree by itself; name a commit, an archive, or files",
            ),
            Some(
                WorkspaceSource::Git(_)
                | WorkspaceSource::Archive { .. }
                | WorkspaceSource::Files(_),
            )
            | None => {}
        }
    }

    fn protected(&mut self, parts: &ContractParts) {
        if !parts.protected.is_empty() && parts.baseline.is_none() {
            self.add(
                "/protected",
                "protected files are laid over from the baseline; name a baseline",
            );
        }
    }

    fn variables(&mut self, parts: &ContractParts) {
        let variables = &parts.environment.variables;
        let count = variables.len();
        if count > limits::VARIABLES_MAX {
            let detail = format!("{count} variables are more than {}", limits::VARIABLES_MAX);
            self.add("/environment/variables", detail);
        }
        for name in variables.keys() {
            let pointer = format!("/environment/variables/{}", pointer::escape(name));
            let word = |it: char| it.is_ascii_alphanumeric() || it == '_';
            if name.is_empty() || !name.chars().all(word) || name.starts_with(char::is_numeric) {
                self.add(pointer, "a variable's name has letters, digits, and `_` only");
            } else if RESERVED_VARIABLES.contains(&name.as_str()) || name.starts_with("DONEGATE_") {
                self.add(pointer, format!("`{name}` is set by the gate; remove it"));
            }
        }
    }

    fn environment(&mut self, environment: &Environment) {
        let count = environment.setup.len();
        if count > limits::SETUP_COMMANDS_MAX {
            let detail = format!(
                "{count} commands are more than {}; put them into a script",
                limits::SETUP_COMMANDS_MAX
            );
            self.add("/environment/setup", detail);
        }
        let Some(image) = &environment.image else {
            if environment.isolation_min == Some(IsolationTier::Container) {
                let detail = "the tier `container` runs an image; name one in `image`";
                self.add("/environment/isolation", detail);
            }
            return;
        };
        let word = |it: char| it.is_ascii_alphanumeric() || "._-/:@".contains(it);
        if image.len() > limits::IMAGE_NAME_BYTES_MAX {
            let detail = format!("longer than {} bytes", limits::IMAGE_NAME_BYTES_MAX);
            self.add("/environment/image", detail);
        } else if !image.starts_with(|it: char| it.is_ascii_alphanumeric())
            || !image.chars().all(word)
        {
            self.add(
                "/environment/image",
                "not the name of an image; write it as `registry/name:tag` or `name@sha256:…`",
            );
        }
        if let Some(tier) = environment.isolation_min
            && tier < IsolationTier::Container
        {
            let detail = format!(
                "an image is run in the tier `container`, and isolation says that `{}` will do; \
                 remove one of the two",
                tier.as_str()
            );
            self.add("/environment/image", detail);
        }
    }

    fn limits(&mut self, parts: &ContractParts) {
        if parts.limits.command_seconds > parts.limits.run_seconds {
            let detail = format!(
                "one command may take {} s, but the whole run only {} s; raise run_seconds or lower command_seconds",
                parts.limits.command_seconds, parts.limits.run_seconds
            );
            self.add("/limits/command_seconds", detail);
        }
        if parts.rounds_max > parts.reports_max {
            let detail = format!(
                "{} rounds cannot be used up within {} reports; raise reports_max",
                parts.rounds_max, parts.reports_max
            );
            self.add("/rounds_max", detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedPath;
    use crate::testing::parts;

    fn pointers(parts: ContractParts) -> Vec<String> {
        let faults = Contract::parse(parts).unwrap_err();
        faults.into_iter().map(|it| it.pointer).collect()
    }

    #[test]
    fn a_contract_whose_parts_fit_is_taken() {
        assert!(Contract::parse(parts()).is_ok());
    }

    #[test]
    fn a_contract_that_nothing_could_fail_is_refused() {
        let mut parts = parts();
        parts.checks[0].blocking = false;
        assert_eq!(pointers(parts), ["/checks"]);
    }

    #[test]
    fn an_image_needs_a_name_and_the_tier_that_runs_images() {
        let with = |image: &str, isolation_min| {
            let mut parts = parts();
            parts.environment.image = Some(image.to_owned());
            parts.environment.isolation_min = isolation_min;
            Contract::parse(parts)
        };
        assert!(with("ghcr.io/acme/ci:3.12@sha256:00", Some(IsolationTier::Container)).is_ok());
        assert!(with("python", None).is_ok());
        for image in ["", "-v", "a b", "a\n", "ä", &"a".repeat(256)] {
            assert!(with(image, None).is_err(), "{image}");
        }
        assert!(with("python", Some(IsolationTier::Namespace)).is_err());
        let mut parts = parts();
        parts.environment.isolation_min = Some(IsolationTier::Container);
        assert_eq!(pointers(parts), ["/environment/isolation"]);
    }

    #[test]
    fn a_baseline_that_may_change_is_refused() {
        let mut parts = parts();
        let path = SharedPath::parse("/shared/run-7").unwrap();
        parts.baseline = Some(WorkspaceSource::Directory(path));
        assert_eq!(pointers(parts), ["/baseline/directory"]);
    }

    #[test]
    fn a_patch_is_no_baseline() {
        let mut parts = parts();
        parts.baseline = Some(WorkspaceSource::Patch { diff: "--- a/x".to_owned() });
        assert_eq!(pointers(parts), ["/baseline/patch"]);
    }

    #[test]
    fn all_faults_are_listed_at_once() {
        let mut parts = parts();
        parts.criteria[0].checks = vec!["nothing".into()];
        parts.criteria.push(parts.criteria[0].clone());
        parts.criteria[1].checks.clear();
        parts.protected = vec![PathPattern::parse("tests/**").unwrap()];
        parts.environment.variables.insert("PATH".into(), "/evil".into());
        parts.limits.command_seconds = 9_999;
        parts.rounds_max = 99;
        assert_eq!(
            pointers(parts),
            [
                "/criteria/1/id",
                "/criteria/0/checks/0",
                "/criteria/1/checks",
                "/protected",
                "/environment/variables/PATH",
                "/limits/command_seconds",
                "/rounds_max"
            ]
        );
    }
}
