//! What a Python project says of its dependencies and of its tools, wherever it says it.

use toml::{Table, Value};

use crate::directory::Directory;

/// Requirements files by name, those for development among them.
const REQUIREMENTS: [&str; 8] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
];
/// Names that extras and groups with what the tests need go by, the most telling first.
const TEST_GROUPS: [&str; 5] = ["test", "tests", "testing", "dev", "develop"];

/// What is known of the project.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pyproject: Table,
    /// Requirements files that are there.
    pub(super) requirements: Vec<&'static str>,
    /// Everything that names dependencies, in lower case.
    texts: Vec<String>,
}

impl Manifest {
    pub(super) fn of(at: &Directory<'_>) -> Self {
        let pyproject = at.read("pyproject.toml").and_then(|it| toml::from_str(&it).ok());
        let requirements: Vec<_> = REQUIREMENTS.into_iter().filter(|it| at.has(it)).collect();
        let named = ["setup.py", "setup.cfg", "Pipfile", "tox.ini"];
        let texts = requirements.iter().chain(&named).filter_map(|it| at.read(it));
        let mut texts: Vec<String> = texts.map(|it| it.to_lowercase()).collect();
        let pyproject: Table = pyproject.unwrap_or_default();
        let tools = pyproject.get("tool").and_then(Value::as_table);
        let tools = ["poetry", "pdm", "uv", "hatch"].into_iter().filter_map(|it| tools?.get(it));
        let tables =
            ["project", "dependency-groups"].into_iter().filter_map(|it| pyproject.get(it));
        texts.extend(tables.chain(tools).map(|it| text_of(it).to_lowercase()));
        Self { pyproject, requirements, texts }
    }

    /// Whether a package of this name is among the dependencies: the word stands alone, `pytest-cov` is another.
    pub(super) fn names(&self, package: &str) -> bool {
        let is_part = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
        self.texts.iter().any(|text| {
            text.match_indices(package).any(|(at, _)| {
                let before = text[..at].bytes().next_back();
                let after = text.as_bytes().get(at + package.len());
                !before.is_some_and(is_part) && !after.is_some_and(|it| is_part(*it))
            })
        })
    }

    /// Whether the project has settings for the tool.
    pub(super) fn configures(&self, at: &Directory<'_>, tool: &str) -> bool {
        let in_pyproject = self.pyproject.get("tool").is_some_and(|it| it.get(tool).is_some());
        let has_section = |file: &str, section: &str| {
            at.read(file).is_some_and(|it| it.lines().any(|line| line.trim() == section))
        };
        in_pyproject
            || match tool {
                "pytest" => {
                    has_section("setup.cfg", "[tool:pytest]") || has_section("tox.ini", "[pytest]")
                }
                "ruff" => at.first_of(&["ruff.toml", ".ruff.toml"]).is_some(),
                "mypy" => {
                    at.first_of(&["mypy.ini", ".mypy.ini"]).is_some()
                        || has_section("setup.cfg", "[mypy]")
                }
                _ => false,
            }
    }

    /// Whether the project itself has to be installed before it can be imported, or brings dependencies.
    pub(super) fn is_installable(&self, at: &Directory<'_>) -> bool {
        let project = self.pyproject.get("project");
        let depends = project.and_then(|it| it.get("dependencies")).and_then(Value::as_array);
        let is_src = at.has_any(&["src/*.py", "src/*/*.py"]);
        self.pyproject.contains_key("build-system")
            || depends.is_some_and(|it| !it.is_empty())
            || (project.is_some() && (is_src || self.extra().is_some()))
            || at.has("setup.py")
    }

    /// The extra with what the tests need.
    pub(super) fn extra(&self) -> Option<&str> {
        let extras = self.pyproject.get("project")?.get("optional-dependencies")?.as_table()?;
        TEST_GROUPS.into_iter().find(|it| extras.contains_key(*it))
    }

    /// The dependency group with what the tests need.
    pub(super) fn group(&self) -> Option<&str> {
        let groups = self.pyproject.get("dependency-groups")?.as_table()?;
        TEST_GROUPS.into_iter().find(|it| groups.contains_key(*it))
    }
}

/// All names and texts of a table, in lines.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Table(table) => {
            let lines = table.iter().map(|(name, value)| format!("{name}\n{}", text_of(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn a_package_is_named_by_its_whole_name() {
        let names = |text: &str| {
            let tree = Tree::of([("requirements.txt", text)]);
            Manifest::of(&Directory::new(&tree, "")).names("pytest")
        };
        assert!(names("pytest>=7\n"));
        assert!(names("a\npytest[x]==1"));
        assert!(!names("pytest-cov\n"));
        assert!(!names("my_pytest\n"));
    }

    #[test]
    fn dependencies_are_found_wherever_they_stand() {
        for text in [
            "[project]\nname = 'x'\noptional-dependencies = { test = ['pytest'] }",
            "[dependency-groups]\ndev = ['pytest>=8']",
            "[tool.poetry.group.dev.dependencies]\npytest = '^8'",
        ] {
            let tree = Tree::of([("pyproject.toml", text)]);
            assert!(Manifest::of(&Directory::new(&tree, "")).names("pytest"), "{text}");
        }
    }
}
