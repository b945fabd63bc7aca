//! Reads a contract document into a [`Contract`]; lists *all* its faults.
//!
//! The only parser of that document: it is used when a contract is published,
//! when a run is started, and offline by `donegate contract check`.

use gate_core::check::{CommandCheck, FilesCheck, TestsCheck};
use gate_core::limits;
use gate_core::{
    Check, CheckKind, CommandLine, Contract, ContractParts, Criterion, PathPattern, TreePath,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::body::{self, BodyError, Format};
use crate::environment_document::{EnvironmentDocument, LimitsDocument};
use crate::{InvalidField, SourceBody};

/// What must be true, and the commands that show it. Written as YAML or JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractDocument {
    /// One line for people.
    #[schema(min_length = 1, max_length = 200, example = "Cursor pagination for the orders list")]
    pub title: String,
    /// What the reporter started from. Protected files are taken from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<SourceBody>,
    /// Files that the contract brings along, such as tests that its planner wrote: a commit, an archive, or files. Each is laid over the workspace before anything runs, and put back before each check, like protected files of the baseline; the reporter need not have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_files: Option<SourceBody>,
    /// Files that must exist, not empty, when the work is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 500)]
    pub deliverables: Vec<DeliverableDocument>,
    /// What must be true. Each criterion names the checks that show it.
    #[schema(min_items = 1, max_items = 200)]
    pub criteria: Vec<CriterionDocument>,
    /// What nobody asked for; for people and agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 200)]
    pub out_of_scope: Vec<String>,
    /// Globs of files that are laid over the workspace from the baseline before anything runs, and put back before each check where the environment's setup or an earlier check has changed or removed them; what the reporter did to them is recorded and never executed. Files that a command adds while it runs stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 500)]
    pub protected: Vec<String>,
    /// The questions that show whether the criteria are met.
    #[schema(min_items = 1, max_items = 100)]
    pub checks: Vec<CheckDocument>,
    /// What the commands find around them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentDocument>,
    /// The bounds of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsDocument>,
    /// FAILs before a person is called; 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub rounds_max: Option<u32>,
    /// Reports before a person is called, whatever their verdicts; 15 by default, and never less than the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub reports_max: Option<u32>,
    /// Where the verdict is posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackDocument>,
}

/// A file that must exist, not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliverableDocument {
    /// Relative to the root of the workspace.
    #[schema(min_length = 1, max_length = 4096)]
    pub path: String,
}

/// One thing that must be true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionDocument {
    /// Such as `AC1`; unique in the contract.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    pub id: String,
    /// A sentence for people.
    #[schema(min_length = 1, max_length = 2000)]
    pub text: String,
    /// The ids of the checks that show it.
    #[schema(min_items = 1, max_items = 100)]
    pub checks: Vec<String>,
}

/// One question. Which of the optional fields belong to it depends on its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckDocument {
    /// Such as `order-tests`; unique in the contract.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    pub id: String,
    /// What is asked.
    pub kind: CheckKindWord,
    /// Whether a no prevents a PASS; yes by default.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub blocking: bool,
    /// Whether it must say no on the untouched baseline: it is run there once, before anybody works, and a yes sends the contract back to its planner, because nobody would have to work for it. No by default.
    #[serde(default, skip_serializing_if = "is_no")]
    #[schema(default = false)]
    pub fails_on_baseline: bool,
    /// `command`, `tests`: the words of the command, passed on as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000, example = json!(["cargo", "test"]))]
    pub run: Option<Vec<String>>,
    /// `command`, `tests`: instead of `run`, a script for `bash -euo pipefail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65536)]
    pub shell: Option<String>,
    /// `command`: the exit status that means yes; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 255)]
    pub exit_code: Option<i32>,
    /// `tests`: how many tests must be executed; skipped ones do not count. 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub at_least: Option<u64>,
    /// `tests`: whether at least as many tests must be executed as on the untouched baseline, where they are counted once before anybody works. No by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_fewer_than_baseline: Option<bool>,
    /// `command`, `tests`: globs of files that the command writes for machines to read, such as JUnit XML, SARIF, or a runner's JSON. Of them only those that it wrote in this run are read; they say more exactly than its output which tests failed and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20, example = json!(["target/nextest/ci/junit.xml"]))]
    pub results: Option<Vec<String>>,
    /// `files`: what must be there, and not empty, in the workspace as it was handed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 500)]
    pub paths: Option<Vec<String>>,
}

/// The kinds of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKindWord {
    /// Does a command end as expected?
    Command,
    /// Do the tests pass, and did any run? Exit status 0 alone is not a yes.
    Tests,
    /// Are the files there, and not empty?
    Files,
}

/// Where the verdict is posted, signed as Standard Webhooks 1.0.0 says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallbackDocument {
    /// `https://` or `http://`. Its host must lie in a network that the operator allows.
    #[schema(
        min_length = 1,
        max_length = 2000,
        example = "https://orchestrator.example/hooks/gate"
    )]
    pub url: String,
}

/// A published contract version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContractBody {
    /// From 1.
    pub version: u32,
    /// The SHA-256 of `text`.
    pub digest: String,
    /// `application/json` or `application/yaml`.
    pub media_type: String,
    /// The document exactly as it was published.
    pub text: String,
    /// Why this version was published; none for the first.
    #[schema(required)]
    pub reason: Option<String>,
    /// When it was published.
    pub created_at: chrono::DateTime<chrono::Utc>,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_no(value: &bool) -> bool {
    !*value
}

/// Reads the document that these bytes hold.
///
/// # Errors
/// All its faults, whether of the syntax, the form, or the sense.
pub fn read(bytes: &[u8], format: Format) -> Result<Contract, BodyError> {
    let value = body::parse(bytes, format)?;
    let mut faults = body::form_faults::<ContractDocument>(&value);
    if faults.is_empty() {
        return body::typed::<ContractDocument>(value)?.try_into().map_err(BodyError::Form);
    }
    // What is left without the fields at fault may have faults of sense: they are listed in the same answer.
    let rest = serde_json::from_value::<ContractDocument>(body::without(value, &faults));
    if let Ok(Err(more)) = rest.map(Contract::try_from) {
        let new =
            |it: &InvalidField| !faults.iter().any(|known| it.pointer.starts_with(&known.pointer));
        let new: Vec<InvalidField> = more.into_iter().filter(new).collect();
        faults.extend(new);
        faults.truncate(body::FAULTS_MAX);
    }
    Err(BodyError::Form(faults))
}

impl TryFrom<ContractDocument> for Contract {
    type Error = Vec<InvalidField>;

    fn try_from(document: ContractDocument) -> Result<Self, Vec<InvalidField>> {
        let mut faults = Vec::new();
        let baseline = document.baseline.map(|it| it.read("/baseline", &mut faults));
        let acceptance =
            document.acceptance_files.map(|it| it.read("/acceptance_files", &mut faults));
        let deliverables = document.deliverables.into_iter().map(|it| it.path).collect();
        let rounds_max = document.rounds_max.unwrap_or(limits::ROUNDS_DEFAULT);
        let callback = document.callback.map(|it| read_callback(it, &mut faults));
        let parts = ContractParts {
            title: document.title,
            baseline: baseline.clone().flatten(),
            acceptance_files: acceptance.flatten(),
            deliverables: tree_paths(deliverables, "/deliverables", "/path", &mut faults),
            criteria: document.criteria.into_iter().map(Into::into).collect(),
            out_of_scope: document.out_of_scope,
            protected: patterns(document.protected, "/protected", &mut faults),
            checks: read_checks(document.checks, &mut faults),
            environment: document.environment.unwrap_or_default().read(&mut faults),
            limits: document.limits.unwrap_or_default().into(),
            rounds_max,
            reports_max: document.reports_max.unwrap_or(limits::REPORTS_DEFAULT.max(rounds_max)),
            callback_url: callback.flatten(),
        };
        match Self::parse(parts) {
            Ok(contract) if faults.is_empty() => Ok(contract),
            Ok(_) => Err(faults),
            Err(more) => {
                let refused_baseline = baseline == Some(None);
                let more = more.into_iter().filter(|it| {
                    // A baseline that was refused is named, so the fault would be a second one for one cause.
                    let wants_baseline =
                        it.pointer == "/protected" || it.pointer.ends_with("_baseline");
                    !(refused_baseline && wants_baseline)
                });
                faults.extend(more.map(|it| InvalidField::new(it.pointer, it.detail)));
                Err(faults)
            }
        }
    }
}

impl From<CriterionDocument> for Criterion {
    fn from(CriterionDocument { id, text, checks }: CriterionDocument) -> Self {
        Self { id, text, checks }
    }
}

fn read_callback(callback: CallbackDocument, faults: &mut Vec<InvalidField>) -> Option<String> {
    let mut fault = |detail: &str| faults.push(InvalidField::new("/callback/url", detail));
    match url::Url::parse(&callback.url) {
        Err(error) => fault(&format!("not a URL: {error}")),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            fault("a callback goes to an http:// or https:// URL");
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            fault(
                "a callback's URL must not carry a user or a password; the signature is the proof",
            );
        }
        Ok(_) => return Some(callback.url),
    }
    None
}

/// A check that is refused stays in the list as a harmless one, so that the ids after it keep their places.
fn read_checks(checks: Vec<CheckDocument>, faults: &mut Vec<InvalidField>) -> Vec<Check> {
    let read = checks.into_iter().enumerate().map(|(index, check)| {
        let at = format!("/checks/{index}");
        let (id, blocking) = (check.id.clone(), check.blocking);
        let fails_on_baseline = check.fails_on_baseline;
        let kind = read_kind(check, &at, faults);
        let kind = kind.unwrap_or(CheckKind::Files(FilesCheck { paths: vec![] }));
        Check { blocking, fails_on_baseline, ..Check::new(id, kind) }
    });
    read.collect()
}

fn read_kind(check: CheckDocument, at: &str, faults: &mut Vec<InvalidField>) -> Option<CheckKind> {
    refuse_strangers(&check, at, faults);
    match check.kind {
        CheckKindWord::Command => {
            let exit_code = check.exit_code.unwrap_or(0);
            let results = read_results(check.results, at, faults);
            let run = read_command(check.run, check.shell, at, faults)?;
            Some(CheckKind::Command(CommandCheck { run, exit_code, results }))
        }
        CheckKindWord::Tests => {
            let at_least = check.at_least.unwrap_or(1);
            let not_fewer_than_baseline = check.not_fewer_than_baseline.unwrap_or(false);
            let results = read_results(check.results, at, faults);
            let run = read_command(check.run, check.shell, at, faults)?;
            let tests =
                TestsCheck { at_least, not_fewer_than_baseline, results, ..TestsCheck::new(run) };
            Some(CheckKind::Tests(tests))
        }
        CheckKindWord::Files => {
            let paths = check.paths.unwrap_or_default();
            if paths.is_empty() {
                let detail = "a `files` check names at least one path";
                faults.push(InvalidField::new(format!("{at}/paths"), detail));
                return None;
            }
            let paths = tree_paths(paths, &format!("{at}/paths"), "", faults);
            Some(CheckKind::Files(FilesCheck { paths }))
        }
    }
}

/// A field of another kind is a question that nobody would ask: refused, not ignored.
fn refuse_strangers(check: &CheckDocument, at: &str, faults: &mut Vec<InvalidField>) {
    let (word, own): (_, &[&str]) = match check.kind {
        CheckKindWord::Command => ("command", &["run", "shell", "exit_code", "results"]),
        CheckKindWord::Tests => {
            ("tests", &["run", "shell", "at_least", "not_fewer_than_baseline", "results"])
        }
        CheckKindWord::Files => ("files", &["paths"]),
    };
    let given = [
        ("run", check.run.is_some()),
        ("shell", check.shell.is_some()),
        ("exit_code", check.exit_code.is_some()),
        ("at_least", check.at_least.is_some()),
        ("not_fewer_than_baseline", check.not_fewer_than_baseline.is_some()),
        ("results", check.results.is_some()),
        ("paths", check.paths.is_some()),
    ];
    for (field, _) in given.into_iter().filter(|(it, given)| *given && !own.contains(it)) {
        let detail =
            format!("a check of kind `{word}` has no `{field}`; it has {}", own.join(", "));
        faults.push(InvalidField::new(format!("{at}/{field}"), detail));
    }
}

fn read_command(
    run: Option<Vec<String>>,
    shell: Option<String>,
    at: &str,
    faults: &mut Vec<InvalidField>,
) -> Option<CommandLine> {
    let (field, read) = match (run, shell) {
        (Some(words), None) => ("run", CommandLine::parse(words)),
        (None, Some(script)) => ("shell", CommandLine::parse_shell(script)),
        (Some(_), Some(_)) => {
            let detail = "give `run` or `shell`, not both";
            faults.push(InvalidField::new(format!("{at}/shell"), detail));
            return None;
        }
        (None, None) => {
            let detail = "the command is missing: a list of words, or `shell` with a script";
            faults.push(InvalidField::new(format!("{at}/run"), detail));
            return None;
        }
    };
    read.map_err(|it| faults.push(InvalidField::new(format!("{at}/{field}"), it.to_string()))).ok()
}

fn tree_paths(
    paths: Vec<String>,
    at: &str,
    below: &str,
    faults: &mut Vec<InvalidField>,
) -> Vec<TreePath> {
    let mut read = Vec::with_capacity(paths.len());
    for (index, path) in paths.into_iter().enumerate() {
        match TreePath::parse(path) {
            Ok(path) => read.push(path),
            Err(error) => {
                faults.push(InvalidField::new(format!("{at}/{index}{below}"), error.to_string()));
            }
        }
    }
    read
}

fn read_results(
    globs: Option<Vec<String>>,
    at: &str,
    faults: &mut Vec<InvalidField>,
) -> Vec<PathPattern> {
    patterns(globs.unwrap_or_default(), &format!("{at}/results"), faults)
}

fn patterns(globs: Vec<String>, at: &str, faults: &mut Vec<InvalidField>) -> Vec<PathPattern> {
    let mut read = Vec::with_capacity(globs.len());
    for (index, glob) in globs.into_iter().enumerate() {
        let syntax = globset::GlobBuilder::new(&glob).literal_separator(true).build();
        let fault = match (PathPattern::parse(glob), syntax) {
            (Ok(pattern), Ok(_)) => {
                read.push(pattern);
                continue;
            }
            (Err(error), _) => error.to_string(),
            (Ok(_), Err(error)) => format!("not a glob: {error}"),
        };
        faults.push(InvalidField::new(format!("{at}/{index}"), fault));
    }
    read
}

#[cfg(test)]
mod tests {
    use gate_core::RunLimits;

    use super::*;

    const MINIMAL: &str = "
title: Cursor pagination
criteria:
  - { id: AC1, text: A page names the next one, checks: [tests] }
checks:
  - { id: tests, kind: tests, run: [cargo, test] }
";

    fn faults(text: &str) -> Vec<(String, String)> {
        match read(text.as_bytes(), Format::Yaml).unwrap_err() {
            BodyError::Form(faults) => {
                faults.into_iter().map(|it| (it.pointer, it.detail)).collect()
            }
            BodyError::Syntax(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_small_contract_gets_the_documented_defaults() {
        let contract = read(MINIMAL.as_bytes(), Format::Yaml).unwrap();
        assert_eq!((contract.rounds_max(), contract.reports_max()), (3, 15));
        assert_eq!(contract.limits(), RunLimits::default());
        assert!(contract.checks()[0].blocking);
    }

    #[test]
    fn json_and_yaml_say_the_same() {
        let value = body::parse(MINIMAL.as_bytes(), Format::Yaml).unwrap();
        let json = read(value.to_string().as_bytes(), Format::Json).unwrap();
        assert_eq!(json, read(MINIMAL.as_bytes(), Format::Yaml).unwrap());
    }

    #[test]
    fn every_kind_of_check_has_its_form() {
        for (word, form) in [
            ("command", "run: [make]"),
            ("tests", "shell: cargo test | tee log"),
            ("files", "paths: [src]"),
        ] {
            let text = format!("{MINIMAL}  - {{ id: x, kind: {word}, {form} }}\n");
            let contract = read(text.as_bytes(), Format::Yaml).unwrap();
            assert_eq!(contract.checks()[1].kind_word(), word);
        }
    }

    #[test]
    fn a_field_of_another_kind_is_refused_not_ignored() {
        let text = format!("{MINIMAL}  - {{ id: x, kind: files, paths: [a], at_least: 3 }}\n");
        assert_eq!(faults(&text)[0].0, "/checks/1/at_least");
    }

    #[test]
    fn all_faults_of_a_contract_are_listed_at_once() {
        let found = faults(
            "
title: x
baseline: { git: { url: 'ext::sh', commit: main } }
protected: ['../x', 'a/[']
criteria:
  - { id: AC1, text: t, checks: [nothing] }
checks:
  - { id: a, kind: command, shell: 'npm test || true' }
  - { id: b, kind: tests }
  - { id: c, kind: files, paths: [/etc] }
callback: { url: 'ftp://x' }
",
        );
        let pointers: Vec<_> = found.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/baseline/git/url",
                "/callback/url",
                "/protected/0",
                "/protected/1",
                "/checks/0/shell",
                "/checks/1/run",
                "/checks/2/paths/0",
                "/criteria/0/checks/0"
            ]
        );
    }

    #[test]
    fn faults_of_form_do_not_hide_faults_of_sense() {
        let text = format!("{MINIMAL}  - {{ id: x, kind: command, shell: 'a || true' }}\nfoo: 1\n");
        let pointers: Vec<_> = faults(&text).into_iter().map(|it| it.0).collect();
        assert_eq!(pointers, ["/foo", "/checks/1/shell"]);
    }

    #[test]
    fn what_this_version_does_not_judge_is_refused() {
        let text = format!("{MINIMAL}  - {{ id: x, kind: coverage, run: [x] }}\nscope: {{}}\n");
        let pointers: Vec<_> = faults(&text).into_iter().map(|it| it.0).collect();
        assert!(pointers.contains(&"/scope".to_owned()), "{pointers:?}");
        assert!(pointers.contains(&"/checks/1/kind".to_owned()), "{pointers:?}");
    }
}
