//! Java, Kotlin, and their kin with Gradle: `gradle test`, which prints no figures and writes JUnit XML.

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::detect::directory_of;
use crate::directory::Directory;

pub(crate) const GRADLE: Ecosystem = Ecosystem {
    name: "gradle",
    directory: |path| directory_of(path, &SIGNS),
    read,
    is_last_resort: false,
};

const SIGNS: [&str; 4] =
    ["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"];

fn read(at: &Directory<'_>) -> Option<Component> {
    let shown_by = at.first_of(&SIGNS)?;
    let mut draft = Draft::new(at, "gradle", shown_by);
    let wrapper = format!("./{}", at.join("gradlew"));
    let has_wrapper = at.has("gradlew");
    let gradle = |task: &str| {
        let program = if has_wrapper { wrapper.as_str() } else { "gradle" };
        at.run_with("-p", &[program, "--no-daemon", "--console=plain", task])
    };
    if at.has_any(&["src/test/**", "*/src/test/**", "*/*/src/test/**", "**/src/*Test/**"]) {
        let results = ["**/build/test-results/**/*.xml"];
        draft.check(
            CheckPurpose::Tests,
            gradle("test"),
            &results,
            "Gradle prints no figures: they are read from its JUnit XML",
        );
    } else {
        draft.check(
            CheckPurpose::Build,
            gradle("assemble"),
            &[],
            "no test was found: this only compiles",
        );
        draft.unsure(
            "there is nothing below src/test: a check of kind `tests` would find none and fail",
        );
    }
    if !has_wrapper {
        draft.unsure(
            "there is no wrapper (gradlew): the gate's own Gradle is used, whatever its version",
        );
    }
    draft.needs_network_for_checks("Gradle fetches plugins and libraries when it needs them; no task fetches all of them before");
    draft.unsure("behind the gate's proxy Gradle has to be told of it (-Dhttps.proxyHost): it does not read https_proxy");
    draft.protect(&["**/src/test/**", "gradlew", "gradle/wrapper/**"]);
    draft.protect_unless(
        "they say which tests are run, and which libraries are used",
        &["**/build.gradle", "**/build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
    );
    Some(draft.finish())
}
