//! Ruby: `RSpec`, minitest and test-unit by Rake, Rails, or the test files themselves.

use regex::Regex;

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::directory::{Directory, name, owner, parent};

pub(crate) const RUBY: Ecosystem =
    Ecosystem { name: "ruby", directory, read, is_last_resort: false };

const TEST_FILES: [&str; 2] = ["test/**/*_test.rb", "test/**/test_*.rb"];

/// Requires each file of `test/`, as a Rakefile would.
const ALL_TESTS: &str =
    "Dir.glob('test/**/{test_*,*_test}.rb').sort.each { |it| require File.expand_path(it) }";

fn directory(path: &str) -> Option<&str> {
    let name = name(path);
    match name {
        "Gemfile" | "Rakefile" | ".rspec" => Some(parent(path)),
        _ if name.ends_with(".gemspec") => Some(parent(path)),
        _ if name.ends_with("_spec.rb") => Some(owner(path, &["spec"])),
        _ if name.ends_with("_test.rb") => Some(owner(path, &["test"])),
        _ => None,
    }
}

fn read(at: &Directory<'_>) -> Option<Component> {
    let gemspec = at.matching("*.gemspec").next();
    let tests = TEST_FILES.iter().find_map(|it| at.matching(it).next());
    let shown_by = at
        .first_of(&["Gemfile", "Rakefile", ".rspec"])
        .or(gemspec)
        .or_else(|| at.matching("spec/**/*_spec.rb").next())
        .or(tests)?;
    let mut draft = Draft::new(at, "ruby", shown_by);
    let has_bundle = at.has("Gemfile");
    let ruby = |words: &[&str]| {
        let bundle: &[&str] = if has_bundle { &["bundle", "exec"] } else { &[] };
        at.run(&[bundle, words].concat())
    };
    if has_bundle {
        draft.setup(at.run(&["bundle", "install", "--quiet"]));
        draft.variable("BUNDLE_PATH", "vendor/bundle");
        if at.has("Gemfile.lock") {
            draft.variable("BUNDLE_FROZEN", "true");
        } else {
            draft.unsure("there is no Gemfile.lock: each run may get other versions of the gems");
        }
    }
    if at.has_any(&["spec/**/*_spec.rb"]) {
        draft.check(CheckPurpose::Tests, ruby(&["rspec"]), &[], "spec/ has specs");
    }
    if tests.is_some() {
        let (run, why) = if at.has("bin/rails") {
            (ruby(&["rails", "test"]), "the tests of a Rails application")
        } else if has_test_task(at) {
            (ruby(&["rake", "test"]), "the Rakefile has a task `test`")
        } else {
            (
                ruby(&["ruby", "-Itest", "-Ilib", "-e", ALL_TESTS]),
                "the Rakefile has no task for the files in test/",
            )
        };
        draft.check(CheckPurpose::Tests, run, &[], why);
    }
    if !draft.has_tests() {
        draft.unsure("neither spec/ nor test/ has a test: there is nothing to run for Ruby");
    }
    if has_bundle && at.first_of(&[".rubocop.yml"]).is_some() && names_gem(at, "rubocop") {
        draft.check(CheckPurpose::Lint, ruby(&["rubocop"]), &[], "the project configures RuboCop");
    }
    draft.protect(&["spec/**", "test/**"]);
    draft.protect_also_if_missing(&[".rspec"]);
    draft.protect_unless("it says how the tests are run, and has other tasks", &["Rakefile"]);
    draft.protect_unless("they say which gems are used", &["Gemfile", "Gemfile.lock"]);
    Some(draft.finish())
}

fn has_test_task(at: &Directory<'_>) -> bool {
    let task = Regex::new(r#"TestTask\.(new|create)|task\s*\(?\s*:?["']?test\b"#)
        .expect("it is a regular expression");
    at.read("Rakefile").is_some_and(|it| task.is_match(&it))
}

fn names_gem(at: &Directory<'_>, gem: &str) -> bool {
    let quoted = [format!("'{gem}"), format!("\"{gem}")];
    at.read("Gemfile").is_some_and(|it| quoted.iter().any(|gem| it.contains(gem.as_str())))
}
