//! The OpenAPI document that is committed is the one that this build prints, and it hangs together.

use std::path::Path;

use serde_json::Value;

use crate::cli::donegate;

fn printed() -> Value {
    let ended = donegate().args(["openapi"]).run();
    assert_eq!(ended.status, 0, "{ended:?}");
    ended.json()
}

#[test]
fn the_committed_document_is_the_one_of_this_build() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/openapi.json");
    let committed: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(
        committed == printed(),
        "the API has changed: run `cargo run -- openapi >openapi/openapi.json` and commit it"
    );
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let document = printed();
    let (mut found, mut open) = (0, vec![&document]);
    while let Some(value) = open.pop() {
        if let Some(Value::String(reference)) = value.get("$ref") {
            let pointer = reference.strip_prefix('#').unwrap_or("not in this document");
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
            found += 1;
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    assert!(found > 100, "only {found} references");
}
