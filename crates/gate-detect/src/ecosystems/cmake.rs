//! C, C++, and their kin with `CMake`: configure, build, and ctest, each a check, in one tree.

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft, words};
use crate::detect::directory_of;
use crate::directory::Directory;

pub(crate) const CMAKE: Ecosystem = Ecosystem {
    name: "cmake",
    directory: |path| directory_of(path, &["CMakeLists.txt"]),
    read,
    is_last_resort: false,
};

const TEST_COMMANDS: [&str; 6] = [
    "enable_testing",
    "include(ctest",
    "add_test",
    "gtest_discover_tests",
    "catch_discover_tests",
    "doctest_discover_tests",
];
const RESULTS: &str = "ctest.xml";

fn read(at: &Directory<'_>) -> Option<Component> {
    let root = at.read("CMakeLists.txt")?.to_ascii_lowercase();
    // One that is only included by another is nothing of its own.
    if !root.contains("project") {
        return None;
    }
    let mut draft = Draft::new(at, "cmake", "CMakeLists.txt");
    let lists = ["CMakeLists.txt", "**/CMakeLists.txt", "**/*.cmake"];
    let has = |wanted: &[&str]| {
        at.any_text(&lists, |text| {
            let text = text.to_ascii_lowercase().replace(' ', "");
            wanted.iter().any(|it| text.contains(it))
        })
    };
    // What the project keeps in `build` must not be written over.
    let name = if at.has_any(&["build/**"]) { "build-donegate" } else { "build" };
    let build = at.join(name);
    let configure = ["cmake", "-S", at.path_or_dot(), "-B", &build];
    draft.check(
        CheckPurpose::Configure,
        words(configure),
        &[],
        "writes the build files that the next check uses",
    );
    draft.check(
        CheckPurpose::Build,
        words(["cmake", "--build", &build]),
        &[],
        "the tests need what it builds",
    );
    if has(&TEST_COMMANDS) {
        // Relative to the directory of the tests.
        let run = ["ctest", "--test-dir", &build, "--output-on-failure", "--output-junit", RESULTS];
        let results = format!("{name}/{RESULTS}");
        draft.check(
            CheckPurpose::Tests,
            words(run),
            &[&results],
            "the project adds tests; ctest 3.21 or newer writes JUnit XML",
        );
    } else {
        draft.unsure("no CMakeLists.txt adds a test: there is nothing for ctest");
    }
    if has(&["fetchcontent_declare", "externalproject_add", "cpmaddpackage"]) {
        draft.needs_network_for_checks("CMake fetches sources when it configures");
    }
    draft.protect(&["test/**", "tests/**"]);
    draft.protect_also_if_missing(&["**/CTestCustom.cmake"]);
    draft.protect_unless(
        "they say which tests there are, and how the code is built",
        &["**/CMakeLists.txt"],
    );
    Some(draft.finish())
}
