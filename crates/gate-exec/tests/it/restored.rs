//! Protected files between commands: each command starts with the baseline's, whatever another one has done.

use std::sync::Arc;

use gate_core::testing::{command, command_check, parts};
use gate_core::{Contract, ContractParts, Outcome, SetupUse, WorkspaceSource};
use gate_exec::{SandboxTier, SourceRef, Sources, Workspace};
use tokio_util::sync::CancellationToken;

use crate::container;
use crate::engine::TEST_IMAGE;
use crate::fixture::{Gate, Repository, found_tiers, patterns, text};

/// What each does to protected files, and one file that is not.
const SPOILERS: [&str; 4] = [
    "printf evil > tests/run; rm tests/data tests/link; printf evil > tests/link; \
        printf evil > pytest.ini; chmod 0 pytest.ini; printf 1 >> own",
    "rm -r tests/deep tests/data; printf evil > tests/deep; mkdir -p tests/data/a/b; \
        printf evil > tests/data/a/b/c; chmod 500 tests/data/a; rm pytest.ini; ln -s own pytest.ini; \
        chmod 600 tests/run; chmod 555 tests; printf 2 >> own",
    "chmod 755 tests; rm -r tests; mkdir fake; printf evil > fake/run; ln -s fake tests; \
        rm pytest.ini; mknod pytest.ini p; printf 3 >> own",
    // What takes their place is older than every command.
    "rm -r tests; mv other tests; rm pytest.ini; mv evil.ini pytest.ini; printf 4 >> own",
];

/// Prints all of them, then does as it likes.
const LOOK: &str = "cat tests/run tests/data tests/deep/a pytest.ini; readlink tests/link; \
    find tests/run pytest.ini -printf '%m\\n'; cat own; \
    test ! -h tests && test ! -h pytest.ini && printf more >> tests/data && rm tests/deep/a";

fn seen(own: &str) -> String {
    format!("#!run data deep inirun\n755\n644\n{own}")
}

/// The report's own tests are evil, as are the places that it has ready for later.
async fn prepare(gate: &Gate) -> Workspace {
    let good = Repository::new();
    good.write("tests/run", "#!run ").write("tests/data", "data ").write("tests/deep/a", "deep ");
    good.write("pytest.ini", "ini").link("tests/link", "run");
    let baseline = good.at(&good.commit());
    let evil = Repository::new();
    evil.write("own", "0").write("tests/run", "evil").write("evil.ini", "evil");
    evil.write("other/run", "evil").write("other/data", "evil").write("other/deep/a", "evil");
    let report = evil.at(&evil.commit());
    let protected = patterns(&["tests/**", "pytest.ini"]);
    let reference = |source| SourceRef { source, archive: None };
    let (report, baseline): (&WorkspaceSource, &WorkspaceSource) = (&report, &baseline);
    let sources = Sources {
        acceptance: None,
        report: reference(report),
        baseline: Some(reference(baseline)),
        protected: &protected,
        watched: &[],
    };
    gate.prepare_from(&sources).await.unwrap()
}

async fn tiers() -> Vec<(Arc<dyn SandboxTier>, Option<&'static str>)> {
    let own = found_tiers().await.into_iter().map(|it| (it, None));
    own.chain(container::tier().await.map(|it| (it, Some(TEST_IMAGE)))).collect()
}

fn contract(scripts: &[&str], change: impl FnOnce(&mut ContractParts)) -> Contract {
    let mut parts = parts();
    let check = |(index, script): (usize, &&str)| {
        command_check(&format!("check-{index}"), &["sh", "-c", script])
    };
    parts.checks = scripts.iter().enumerate().map(check).collect();
    parts.criteria[0].checks = parts.checks.iter().map(|it| it.id.clone()).collect();
    change(&mut parts);
    Contract::parse(parts).unwrap()
}

#[tokio::test]
async fn whatever_one_check_does_to_protected_files_the_next_one_finds_the_baselines() {
    let scripts: Vec<&str> = SPOILERS.iter().flat_map(|it| [*it, LOOK]).collect();
    for (tier, image) in tiers().await {
        let gate = Gate::new();
        let workspace = prepare(&gate).await;
        let contract = contract(&scripts, |it| it.environment.image = image.map(str::to_owned));
        let ran = gate.run_with((&contract, &workspace), &*tier, &CancellationToken::new()).await;
        let executions = ran.unwrap().executions;
        for (index, execution) in executions.iter().enumerate() {
            let name = format!("{} {index}", tier.tier().as_str());
            let said = text(&execution.merged.head);
            assert_eq!(execution.outcome, Outcome::Exited { code: 0 }, "{name}: {said}");
            let own = &"01234"[..2 + index / 2];
            let expected = if index % 2 == 0 { String::new() } else { seen(own) };
            assert_eq!(said, expected, "{name}");
        }
        workspace.dispose().await.unwrap();
    }
}

#[tokio::test]
async fn whatever_setup_does_to_protected_files_the_first_check_finds_the_baselines() {
    for (tier, image) in tiers().await {
        let gate = Gate::new();
        for (index, spoiler) in SPOILERS.into_iter().enumerate() {
            let contract = contract(&[LOOK, LOOK], |it| {
                it.environment.image = image.map(str::to_owned);
                it.environment.setup = vec![command(&["sh", "-c", spoiler])];
            });
            for expected in [SetupUse::Run, SetupUse::Cached] {
                let workspace = prepare(&gate).await;
                let cancel = CancellationToken::new();
                let ran = gate.run_with((&contract, &workspace), &*tier, &cancel).await.unwrap();
                let name = format!("{} {spoiler}", tier.tier().as_str());
                if tier.keeps_layers() {
                    assert_eq!(ran.isolation.setup, expected, "{name}");
                }
                for execution in &ran.executions {
                    let said = text(&execution.merged.head);
                    assert_eq!(execution.outcome, Outcome::Exited { code: 0 }, "{name}: {said}");
                    let own = format!("0{}", index + 1);
                    assert_eq!(said, seen(&own), "{name}");
                }
                workspace.dispose().await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_check_that_leaves_no_room_for_protected_files_keeps_the_next_from_running() {
    for (tier, image) in tiers().await {
        let scripts = ["rm tests/run; dd if=/dev/zero of=fill bs=1M count=64", "touch ran"];
        let contract = contract(&scripts, |it| {
            it.environment.image = image.map(str::to_owned);
            it.limits.disk_mb = 16;
        });
        let gate = Gate::new();
        let workspace = prepare(&gate).await;
        let ran = gate.run_with((&contract, &workspace), &*tier, &CancellationToken::new()).await;
        let outcome = ran.unwrap().executions[1].outcome;
        // Where the disk is the host's, there is room left for the gate.
        if matches!(tier.tier().as_str(), "namespace" | "container") {
            let full = Outcome::DiskLimitExceeded { limit_bytes: 16 * 1024 * 1024 };
            assert_eq!(outcome, full, "{}", tier.tier().as_str());
        }
        workspace.dispose().await.unwrap();
    }
}
