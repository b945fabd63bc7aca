//! Each project under `fixtures/` has its detection beside it, as text.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use gate_detect::{Component, Detection, Tree, detect, ecosystems};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn kinds() -> Vec<String> {
    let entries = std::fs::read_dir(root()).unwrap();
    let mut kinds: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    kinds.sort();
    kinds
}

fn detection(kind: &str) -> Detection {
    detect(&Tree::walk(&root().join(kind).join("project")).unwrap())
}

/// All that a detection says, one thing for each line.
fn shown(detection: &Detection) -> String {
    let mut text = String::new();
    for it in &detection.components {
        show(&mut text, it);
    }
    for it in &detection.unsure {
        writeln!(text, "unsure: {it}").unwrap();
    }
    text
}

fn show(text: &mut String, component: &Component) {
    let Component { ecosystem, directory, shown_by, .. } = component;
    writeln!(text, "{ecosystem} in `{directory}`, shown by {shown_by}").unwrap();
    for it in &component.setup {
        writeln!(text, "  setup: {it}").unwrap();
    }
    for it in &component.checks {
        writeln!(text, "  {} {:?}: {}", it.id, it.purpose, it.run).unwrap();
        for it in &it.results {
            writeln!(text, "    results: {}", it.as_str()).unwrap();
        }
    }
    for it in &component.protected {
        let doubt = it.doubt.map_or(String::new(), |it| format!(", unless: {it}"));
        writeln!(text, "  protect: {}{doubt}", it.pattern.as_str()).unwrap();
    }
    for (name, value) in &component.variables {
        writeln!(text, "  variable: {name}={value}").unwrap();
    }
    if let Some(why) = &component.checks_network {
        writeln!(text, "  network for checks: {why}").unwrap();
    }
    for it in &component.unsure {
        writeln!(text, "  unsure: {it}").unwrap();
    }
}

#[test]
fn each_project_is_detected_as_the_text_beside_it_says() {
    for kind in kinds() {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root().join(&kind));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!("detection", shown(&detection(&kind))));
    }
}

#[test]
fn each_ecosystem_has_a_project() {
    let found: BTreeSet<&str> =
        kinds().iter().flat_map(|it| detection(it).components).map(|it| it.ecosystem).collect();
    assert_eq!(found, ecosystems().collect());
}

#[test]
fn every_project_has_a_check_that_can_fail_and_ids_of_its_own() {
    for kind in kinds() {
        let detection = detection(&kind);
        assert!(detection.can_fail(), "{kind}");
        let ids: Vec<_> = detection.checks().map(|it| &it.id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{kind}: {ids:?}");
    }
}
