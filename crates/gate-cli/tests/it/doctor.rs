//! `donegate doctor` on the machine of the test: whatever that is, the answer is whole and agrees with itself.

use serde_json::Value;

use crate::cli::donegate;

#[test]
fn the_doctor_says_of_every_tier_whether_it_works_or_why_not_and_what_to_do() {
    let ended = donegate().args(["doctor", "--json"]).run();
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let tiers = found["tiers"].as_array().unwrap();
    let words: Vec<_> = tiers.iter().map(|it| it["tier"].as_str().unwrap()).collect();
    assert_eq!(words, ["container", "namespace", "landlock", "process"]);
    for tier in tiers {
        let works = tier["detail"].is_object();
        assert_eq!(tier["reason"].is_null(), works, "{tier:#}");
        assert_eq!(tier["advice"].is_null(), works, "{tier:#}");
    }
    assert!(tiers[3]["detail"].is_object(), "this executable can start itself: {found:#}");
    let walled = tiers[..3].iter().any(|it| it["detail"].is_object());
    assert_eq!(found["well"], walled);
    assert_eq!(ended.status, i32::from(!walled));
    assert!(found["git"]["path"].is_string(), "the tests need it, too");

    let ended = donegate().args(["doctor"]).run();
    assert_eq!(ended.status, i32::from(!walled));
    for words in ["Isolation tiers", "process", "yes: loopback", "cgroups", "git"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn a_configuration_with_faults_is_refused_before_anything_is_tried() {
    let ended = donegate().env("DONEGATE_SANDBOX_TIER", "vm").args(["doctor"]).run();
    assert_eq!(ended.status, 64);
    assert!(ended.stderr.contains("DONEGATE_SANDBOX_TIER"), "{}", ended.stderr);
}
