//! Java and its kin with Maven: `mvn test`, whose surefire writes JUnit XML for each class.

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::detect::directory_of;
use crate::directory::Directory;

pub(crate) const MAVEN: Ecosystem = Ecosystem {
    name: "maven",
    directory: |path| directory_of(path, &["pom.xml"]),
    read,
    is_last_resort: false,
};

fn read(at: &Directory<'_>) -> Option<Component> {
    at.read("pom.xml")?;
    let mut draft = Draft::new(at, "maven", "pom.xml");
    let wrapper = at.join("mvnw");
    let wrapper = format!("./{wrapper}");
    let has_wrapper = at.has("mvnw");
    let maven = |goal: &str| {
        let program = if has_wrapper { wrapper.as_str() } else { "mvn" };
        at.run_with("-f", &[program, "--batch-mode", "--no-transfer-progress", goal])
    };
    let has_tests = at.has_any(&["src/test/**", "*/src/test/**", "*/*/src/test/**"]);
    if has_tests {
        let results = ["**/target/surefire-reports/TEST-*.xml"];
        draft.check(
            CheckPurpose::Tests,
            maven("test"),
            &results,
            "surefire writes JUnit XML for each class",
        );
    } else {
        draft.check(
            CheckPurpose::Build,
            maven("compile"),
            &[],
            "no test was found: this only compiles",
        );
        draft.unsure(
            "there is nothing below src/test: a check of kind `tests` would find none and fail",
        );
    }
    draft.needs_network_for_checks(
        "Maven fetches plugins when it needs them, the runner of the tests last; no command fetches all of them before",
    );
    draft.unsure("behind the gate's proxy Maven has to be told of it (-Dhttps.proxyHost): it does not read https_proxy");
    draft.protect(&["**/src/test/**", "mvnw"]);
    draft.protect_also_if_missing(&[".mvn/**"]);
    draft.protect_unless(
        "it says which tests are run, and which libraries are used",
        &["**/pom.xml"],
    );
    Some(draft.finish())
}
