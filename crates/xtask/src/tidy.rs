//! Rules about the tree that neither the compiler nor a lint can hold.
//!
//! Each rule is a function from the tree to its faults, in words. The test at the end holds them all.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::AnyError;
use crate::tree::{self, SourceFile};

/// The allowed arrows. A crate may name only these crates of ours.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("gate-core", &[]),
    ("gate-api", &["gate-core"]),
    ("gate-blob", &["gate-core"]),
    ("gate-detect", &["gate-core"]),
    ("gate-excerpt", &["gate-core"]),
    ("gate-exec", &["gate-core"]),
    ("gate-store", &["gate-core"]),
    ("gate-postgres", &[]),
    (
        "gate-server",
        &["gate-api", "gate-blob", "gate-core", "gate-excerpt", "gate-exec", "gate-store"],
    ),
    (
        "gate-cli",
        &["gate-api", "gate-core", "gate-detect", "gate-excerpt", "gate-postgres", "gate-server"],
    ),
    (
        "gate-testkit",
        &[
            "gate-api",
            "gate-blob",
            "gate-core",
            "gate-exec",
            "gate-postgres",
            "gate-server",
            "gate-store",
        ],
    ),
    ("xtask", &[]),
];

const LINES_MAX: usize = 500;

/// Where an issue number is wanted: `TODO(#12)`.
const MARKERS: &[&str] = &["TODO", "FIXME", "XXX"];

/// Parts of paths that exist on a developer's machine only. Written in two halves, or this file would be at fault.
const MACHINE_PATHS: &[(&str, &str)] = &[
    ("/work", "/shared"),
    ("/work", "/main"),
    ("/work", "/wt"),
    ("/root/.car", "go/"),
    ("/root/.rust", "up/"),
];

/// Files that say where software comes from, and the only hosts that they may name.
const BUILD_FILES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    ".cargo/",
    ".ci/",
    ".github/",
    "docker-compose.yml",
];
const BUILD_HOSTS: &[&str] = &["github.com", "localhost", "127.0.0.1"];

/// All faults of the repository.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>, AnyError> {
    let files = tree::files(root)?;
    let packages = packages(root)?;
    let mut faults = arrow_faults(&packages);
    faults.extend(readme_faults(&packages, &files));
    faults.extend(migration_faults(&files));
    for file in &files {
        if is_ours(file) {
            faults.extend(length_fault(file));
            faults.extend(module_doc_fault(file));
            faults.extend(marker_faults(file));
        }
        faults.extend(machine_path_faults(file));
        faults.extend(host_faults(file));
    }
    Ok(faults)
}

/// Rust that we wrote, and not a fixture that a test reads.
fn is_ours(file: &SourceFile) -> bool {
    file.path.ends_with(".rs")
        && file.path.starts_with("crates/")
        && !file.path.contains("/fixtures/")
}

#[derive(Debug)]
struct Package {
    name: String,
    /// The crate's directory, below the root.
    dir: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    is_dev: bool,
    features: Vec<String>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo knows the manifests better than we could read them"
)]
fn packages(root: &Path) -> Result<Vec<Package>, AnyError> {
    let args = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let output = Command::new("cargo").args(args).current_dir(root).output()?;
    if !output.status.success() {
        return Err(
            format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    packages.iter().map(|it| package(root, it)).collect()
}

fn package(root: &Path, value: &Value) -> Result<Package, AnyError> {
    let text = |value: &Value| {
        value.as_str().map(str::to_owned).ok_or("cargo metadata has another form than we know")
    };
    let manifest = text(&value["manifest_path"])?;
    let dir = Path::new(&manifest).parent().and_then(|it| it.strip_prefix(root).ok());
    let mut dependencies = Vec::new();
    for it in value["dependencies"].as_array().into_iter().flatten() {
        let features =
            it["features"].as_array().into_iter().flatten().map(text).collect::<Result<_, _>>()?;
        dependencies.push(Dependency {
            name: text(&it["name"])?,
            is_dev: it["kind"] == "dev",
            features,
        });
    }
    let dir = dir.ok_or("a package stands outside of the root")?.to_string_lossy().into_owned();
    Ok(Package { name: text(&value["name"])?, dir, dependencies })
}

fn arrow_faults(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for package in packages {
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(name, _)| *name == package.name)
        else {
            faults.push(format!("{}: has no line in MAY_DEPEND_ON ({})", package.name, file!()));
            continue;
        };
        for it in &package.dependencies {
            let is_ours = packages.iter().any(|other| other.name == it.name);
            let for_tests = it.is_dev
                && (it.name == "gate-postgres" || it.features.iter().any(|it| it == "testing"));
            if is_ours && !for_tests && !allowed.contains(&it.name.as_str()) {
                faults.push(format!("{}: must not depend on {}", package.name, it.name));
            }
        }
    }
    faults
}

fn readme_faults(packages: &[Package], files: &[SourceFile]) -> Vec<String> {
    let has_readme =
        |it: &&Package| files.iter().any(|file| file.path == format!("{}/README.md", it.dir));
    packages
        .iter()
        .filter(|it| !has_readme(it))
        .map(|it| format!("{}: has no README.md", it.name))
        .collect()
}

/// `0001_what.sql`, `0002_what.sql`, …
fn migration_faults(files: &[SourceFile]) -> Vec<String> {
    let names = files.iter().filter_map(|file| file.path.strip_prefix("migrations/"));
    let in_sequence =
        |(index, name): &(usize, &str)| name.starts_with(&format!("{:04}_", index + 1));
    names
        .filter(|name| name.ends_with(".sql"))
        .enumerate()
        .filter(|it| !in_sequence(it))
        .map(|(index, name)| format!("migrations/{name}: the next number is {:04}", index + 1))
        .collect()
}

fn length_fault(file: &SourceFile) -> Option<String> {
    let lines = file.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    (lines > LINES_MAX)
        .then(|| format!("{}: {lines} lines, at most {LINES_MAX} before the tests", file.path))
}

fn module_doc_fault(file: &SourceFile) -> Option<String> {
    let documented =
        file.text.lines().find(|line| !line.is_empty()).is_some_and(|line| line.starts_with("//!"));
    (!documented).then(|| format!("{}: does not begin with a module doc (//!)", file.path))
}

fn marker_faults(file: &SourceFile) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let bad = lines.filter(|(_, line)| has_bare_marker(line));
    bad.map(|(index, _)| {
        format!("{}:{}: a marker without an issue number, as in (#12)", file.path, index + 1)
    })
    .collect()
}

/// A comment that begins with a marker. Markers in strings are the business of those who look for them.
fn has_bare_marker(line: &str) -> bool {
    let Some((_, comment)) = line.split_once("//") else { return false };
    let comment = comment.trim_start_matches(['/', '!', ' ']);
    let rest = MARKERS.iter().find_map(|marker| comment.strip_prefix(marker));
    rest.is_some_and(|rest| {
        let number =
            rest.strip_prefix("(#").and_then(|rest| rest.split_once(')')).map(|(number, _)| number);
        let is_word = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        is_word
            && !number
                .is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn machine_path_faults(file: &SourceFile) -> Vec<String> {
    let parts = MACHINE_PATHS.iter().map(|(a, b)| format!("{a}{b}"));
    parts
        .filter(|part| file.text.contains(part.as_str()))
        .map(|part| format!("{}: names {part}, which is a path of one machine", file.path))
        .collect()
}

fn host_faults(file: &SourceFile) -> Vec<String> {
    let says_where_from = BUILD_FILES.iter().any(|it| match it.strip_suffix('/') {
        Some(_) => file.path.starts_with(it),
        None => file.path == *it || file.path.ends_with(&format!("/{it}")),
    });
    if !says_where_from {
        return Vec::new();
    }
    let hosts =
        ["http://", "https://"].iter().flat_map(|scheme| file.text.split(scheme).skip(1)).map(host);
    // A name without a dot is a service of a compose file, or a variable.
    let known = |it: &str| !it.contains('.') || BUILD_HOSTS.contains(&it);
    hosts.filter(|it| !known(it)).map(|it| format!("{}: names the host {it}", file.path)).collect()
}

/// The host at the beginning of what follows `http://`.
fn host(rest: &str) -> &str {
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')))
        .unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn package(name: &str, dependencies: Vec<Dependency>) -> Package {
        Package { name: name.to_owned(), dir: format!("crates/{name}"), dependencies }
    }

    fn dependency(name: &str) -> Dependency {
        Dependency { name: name.to_owned(), is_dev: false, features: Vec::new() }
    }

    #[test]
    fn the_tree_is_tidy() {
        let faults = faults(tree::root()).unwrap();
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }

    #[test]
    fn arrows_point_inward() {
        let wrong = package("gate-core", vec![dependency("gate-store"), dependency("uuid")]);
        let faults = arrow_faults(&[wrong, package("gate-store", vec![dependency("gate-core")])]);
        assert_eq!(faults, ["gate-core: must not depend on gate-store"]);
    }

    #[test]
    fn a_new_crate_needs_a_line_in_the_table() {
        assert_eq!(arrow_faults(&[package("gate-new", Vec::new())]).len(), 1);
    }

    #[test]
    fn tests_may_use_the_test_server_and_testing_features() {
        let server = Dependency { is_dev: true, ..dependency("gate-postgres") };
        let helpers = Dependency {
            is_dev: true,
            features: vec!["testing".to_owned()],
            ..dependency("gate-exec")
        };
        let other = Dependency { is_dev: true, ..dependency("gate-api") };
        let all = [
            package("gate-store", vec![server, helpers, other]),
            package("gate-postgres", Vec::new()),
            package("gate-exec", Vec::new()),
            package("gate-api", Vec::new()),
        ];
        assert_eq!(arrow_faults(&all), ["gate-store: must not depend on gate-api"]);
    }

    #[test]
    fn each_crate_has_a_readme() {
        let packages = [package("gate-core", Vec::new()), package("gate-api", Vec::new())];
        let files = [file("crates/gate-api/README.md", "# gate-api")];
        assert_eq!(readme_faults(&packages, &files), ["gate-core: has no README.md"]);
    }

    #[test]
    fn migrations_are_numbered_without_a_gap() {
        let files = ["migrations/0001_a.sql", "migrations/0003_b.sql"].map(|path| file(path, ""));
        assert_eq!(migration_faults(&files), ["migrations/0003_b.sql: the next number is 0002"]);
        let twice = ["migrations/0001_a.sql", "migrations/0001_b.sql"].map(|path| file(path, ""));
        assert_eq!(migration_faults(&twice).len(), 1);
    }

    #[test]
    fn only_the_lines_before_the_tests_count() {
        let long = "x\n".repeat(LINES_MAX + 1);
        assert!(length_fault(&file("crates/a/src/b.rs", &long)).is_some());
        let tests = format!("//! A.\n#[cfg(test)]\n{long}");
        assert_eq!(length_fault(&file("crates/a/src/b.rs", &tests)), None);
    }

    #[test]
    fn a_file_begins_with_its_module_doc() {
        assert_eq!(module_doc_fault(&file("a.rs", "\n//! What it answers.\n")), None);
        assert!(module_doc_fault(&file("a.rs", "use std::fs;\n//! Late.\n")).is_some());
        assert!(module_doc_fault(&file("a.rs", "")).is_some());
    }

    #[test]
    fn a_marker_names_its_issue() {
        let line = |text: &str| has_bare_marker(&text.replace("MARK", MARKERS[0]));
        assert!(line("let a = 1; // MARK: later"));
        assert!(line("/// MARK(me): later"));
        assert!(!line("// MARK(#12): later"));
        assert!(!line("// finds MARK comments of reporters"));
        assert!(!line("const WORDS: &str = \"MARK\";"));
        assert!(!line("// MARKERS are listed above"));
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let text = MACHINE_PATHS[0].0.to_owned() + MACHINE_PATHS[0].1;
        assert_eq!(machine_path_faults(&file("README.md", &text)).len(), 1);
        assert!(machine_path_faults(&file("README.md", "in /workspace")).is_empty());
    }

    #[test]
    fn build_files_name_only_known_hosts() {
        let text = "source = \"registry+https://github.com/x\"\nindex = \"http://mirror.example:8080/simple\"";
        assert_eq!(
            host_faults(&file("Cargo.lock", text)),
            ["Cargo.lock: names the host mirror.example"]
        );
        assert_eq!(host_faults(&file(".ci/run", text)).len(), 1);
        assert!(host_faults(&file("README.md", text)).is_empty());
    }
}
