//! Go modules and workspaces: `go test -v`, because without `-v` it prints no figures.

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft};
use crate::directory::{Directory, name, parent};

pub(crate) const GO: Ecosystem = Ecosystem { name: "go", directory, read, is_last_resort: false };

fn directory(path: &str) -> Option<&str> {
    matches!(name(path), "go.mod" | "go.work").then(|| parent(path))
}

fn read(at: &Directory<'_>) -> Option<Component> {
    let shown_by = at.first_of(&["go.work", "go.mod"])?;
    let modules =
        if shown_by == "go.work" { used_modules(&at.read("go.work")?) } else { Vec::new() };
    let mut draft = Draft::new(at, "go", shown_by);
    let packages: Vec<String> = if modules.is_empty() {
        draft.covers_only_itself();
        vec!["./...".to_owned()]
    } else {
        modules.iter().map(|it| format!("{it}/...")).collect()
    };
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let go = |words: &[&str]| at.run(&[&["go"], words, packages.as_slice()].concat());
    if at.has_any(&["**/go.sum"]) && !at.has("vendor/modules.txt") {
        draft.setup(at.run(&["go", "mod", "download"]));
    }
    if at.has_any(&["**/*_test.go"]) {
        draft.check(
            CheckPurpose::Tests,
            go(&["test", "-v"]),
            &[],
            "`go test` prints its figures only with -v",
        );
    } else {
        draft.check(
            CheckPurpose::Build,
            go(&["build"]),
            &[],
            "no test was found: this only compiles",
        );
        draft
            .unsure("there is no file *_test.go: a check of kind `tests` would find none and fail");
    }
    draft.check(CheckPurpose::Lint, go(&["vet"]), &[], "part of Go itself");
    draft.protect(&["**/*_test.go", "**/testdata/**"]);
    Some(draft.finish())
}

/// The directories that `use` names, as packages are named: `./web`.
fn used_modules(text: &str) -> Vec<String> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let named = match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => {
                in_block = true;
                continue;
            }
            Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim(),
            _ if in_block && line == ")" => {
                in_block = false;
                continue;
            }
            _ if in_block => line,
            _ => continue,
        };
        let named = named.trim_matches('"').trim_end_matches('/');
        if !named.is_empty() {
            let is_relative = named == "." || named.starts_with("./");
            found.push(if is_relative { named.to_owned() } else { format!("./{named}") });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_names_its_modules_in_lines_and_in_blocks() {
        let text = "go 1.22\nuse ./a // first\nuse (\n  .\n  b/\n)\nreplace x => ./c\n";
        assert_eq!(used_modules(text), ["./a", ".", "./b"]);
    }
}
