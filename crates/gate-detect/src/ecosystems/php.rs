//! PHP: `PHPUnit` or Pest, installed by Composer.

use serde_json::Value;

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::detect::directory_of;
use crate::directory::Directory;

pub(crate) const PHP: Ecosystem = Ecosystem {
    name: "php",
    directory: |path| directory_of(path, &SIGNS),
    read,
    is_last_resort: false,
};

const SIGNS: [&str; 4] = ["composer.json", "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"];
const RESULTS: &str = ".donegate/phpunit.xml";

fn read(at: &Directory<'_>) -> Option<Component> {
    let shown_by = at.first_of(&SIGNS)?;
    let mut draft = Draft::new(at, "php", shown_by);
    let composer: Option<Value> =
        at.read("composer.json").and_then(|it| serde_json::from_str(&it).ok());
    let requires = |package: &str| {
        let lists = ["require", "require-dev"];
        composer.as_ref().is_some_and(|it| lists.iter().any(|list| it[list].get(package).is_some()))
    };
    let has_dependencies = composer.as_ref().is_some_and(|it| {
        let is_package = |name: &String| name.contains('/');
        let lists = ["require", "require-dev"].iter().filter_map(|list| it[list].as_object());
        lists.flat_map(|it| it.keys()).any(is_package) || it.get("autoload").is_some()
    });
    if has_dependencies {
        draft.setup(at.run_with(
            "--working-dir",
            &["composer", "install", "--no-interaction", "--no-progress", "--prefer-dist"],
        ));
        if !at.has("composer.lock") {
            draft.unsure(
                "there is no composer.lock: each run may get other versions of the packages",
            );
        }
    }
    let log = ["--log-junit", RESULTS];
    let has_config = at.first_of(&SIGNS[1..]).is_some();
    let (runner, why) = if requires("pestphp/pest") {
        ("vendor/bin/pest", "Composer requires Pest")
    } else if requires("phpunit/phpunit") {
        ("vendor/bin/phpunit", "Composer requires PHPUnit")
    } else if has_config {
        (
            "phpunit",
            "PHPUnit is configured, and Composer does not require it: it has to be on the PATH",
        )
    } else {
        ("", "")
    };
    if runner.is_empty() {
        draft.unsure("Composer requires neither PHPUnit nor Pest, and there is no phpunit.xml: there is nothing to run for PHP");
    } else {
        let tests: &[&str] = if has_config { &[] } else { &["tests"] };
        let run = at.run(&[&[runner, "--colors=never"], log.as_slice(), tests].concat());
        draft.check(CheckPurpose::Tests, run, &[RESULTS], why);
    }
    if requires("phpstan/phpstan")
        && at.has_any(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"])
    {
        let run = at.run(&["vendor/bin/phpstan", "analyse", "--no-progress", "--no-ansi"]);
        draft.check(CheckPurpose::Lint, run, &[], "Composer requires PHPStan");
    }
    draft.protect(&["tests/**", "test/**"]);
    draft.protect_also_if_missing(&SIGNS[1..]);
    draft.protect_unless("they say which packages are used", &["composer.json", "composer.lock"]);
    Some(draft.finish())
}
