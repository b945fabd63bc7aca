//! The documents that are committed say what the gate does.

use std::collections::BTreeSet;
use std::fs;

use gate_server::SETTINGS;
use serde_json::Value;

use crate::help::root;

/// Set to `1`, the test writes the file instead.
const UPDATE: &str = "DONEGATE_TEST_UPDATE";

#[test]
fn the_committed_openapi_document_is_that_of_this_gate() {
    let path = root().join("openapi/openapi.json");
    let document = document();
    if std::env::var_os(UPDATE).is_some_and(|it| it == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &document).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == document,
        "openapi/openapi.json is not what the gate serves; run `donegate openapi > openapi/openapi.json`"
    );
}

/// As `donegate openapi` prints it.
fn document() -> String {
    serde_json::to_string_pretty(&gate_server::openapi()).unwrap() + "\n"
}

#[test]
fn every_reference_of_the_openapi_document_resolves() {
    let document: Value = serde_json::from_str(&document()).unwrap();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 20, "{references:?}");
    let dangling: Vec<_> = references
        .iter()
        .filter(|it| it.strip_prefix('#').and_then(|it| document.pointer(it)).is_none())
        .collect();
    assert!(dangling.is_empty(), "{dangling:?}");
}

fn collect_references(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let (true, Some(reference)) = (name == "$ref", value.as_str()) {
                    into.insert(reference.to_owned());
                }
                collect_references(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|it| collect_references(it, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_setting_has_its_row_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap_or_default();
    let rows: Vec<&str> = readme.lines().filter(|it| it.starts_with('|')).collect();
    let has_row = |name: &str| rows.iter().any(|it| it.contains(&format!("`{name}`")));
    let missing: Vec<_> = SETTINGS.iter().map(|it| it.name).filter(|it| !has_row(it)).collect();
    assert!(missing.is_empty(), "no row in the table of README.md for {missing:?}");
}
