//! Files that commands write for machines to read: the gate gets what this run wrote, and nothing else.

use std::sync::Arc;

use gate_core::testing::{command_check, parts};
use gate_core::{CheckKind, Contract, PathPattern};
use gate_exec::{ResultFile, SandboxTier};
use tokio_util::sync::CancellationToken;

use crate::container;
use crate::engine::TEST_IMAGE;
use crate::fixture::{Gate, files, found_tiers};

#[tokio::test]
async fn what_a_command_wrote_is_read_and_what_was_there_before_is_not() {
    let script = "mkdir -p out/deep; echo new > out/deep/new.xml; ln -s /etc/passwd out/link.xml; \
        ln -s /etc out/directory; mkfifo out/pipe.xml; echo text > out/new.txt; \
        touch -d '1 hour' out/old.xml.ignored; head -c 20 /dev/zero > out/zeros.xml";
    for (tier, image) in tiers().await {
        let gate = Gate::new();
        let workspace = gate.prepare(&files(&[("out/old.xml", "forged")])).await.unwrap();
        let contract = contract(script, &["out/**/*.xml", "out/link.xml", "none/*"], image);
        let ran = gate.run_with((&contract, &workspace), &*tier, &CancellationToken::new()).await;
        let executions = ran.unwrap().executions;
        let found =
            |name: &str, bytes: &[u8]| ResultFile { name: name.into(), bytes: bytes.into() };
        let expected = [found("out/deep/new.xml", b"new\n"), found("out/zeros.xml", &[0; 20])];
        assert_eq!(executions[0].results, expected, "{}", tier.tier().as_str());
        // The next one wrote nothing.
        assert_eq!(executions[1].results, [], "{}", tier.tier().as_str());
        workspace.dispose().await.unwrap();
    }
}

async fn tiers() -> Vec<(Arc<dyn SandboxTier>, Option<&'static str>)> {
    let own = found_tiers().await.into_iter().map(|it| (it, None));
    own.chain(container::tier().await.map(|it| (it, Some(TEST_IMAGE)))).collect()
}

fn contract(script: &str, globs: &[&str], image: Option<&str>) -> Contract {
    let check = |id: &str, words: &[&str]| {
        let mut check = command_check(id, words);
        let CheckKind::Command(kind) = &mut check.kind else { panic!("{check:?}") };
        kind.results = globs.iter().map(|it| PathPattern::parse(*it).unwrap()).collect();
        check
    };
    let mut parts = parts();
    parts.checks = vec![check("writes", &["sh", "-c", script]), check("idle", &["true"])];
    parts.criteria[0].checks = vec!["writes".to_owned(), "idle".to_owned()];
    parts.environment.image = image.map(str::to_owned);
    Contract::parse(parts).unwrap()
}
