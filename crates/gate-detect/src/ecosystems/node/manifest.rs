//! What `package.json` says.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What is read of it. Fields of another form than expected are as good as missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Manifest {
    scripts: Map<String, Value>,
    dependencies: Map<String, Value>,
    dev_dependencies: Map<String, Value>,
    optional_dependencies: Map<String, Value>,
    pub(super) workspaces: Option<Value>,
    package_manager: Option<Value>,
}

impl Manifest {
    pub(super) fn has_dependencies(&self) -> bool {
        let lists = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        lists.iter().any(|it| !it.is_empty())
    }

    pub(super) fn depends_on(&self, package: &str) -> bool {
        self.dependencies.contains_key(package) || self.dev_dependencies.contains_key(package)
    }

    pub(super) fn script(&self, name: &str) -> Option<&str> {
        self.scripts.get(name).and_then(Value::as_str).filter(|it| !it.trim().is_empty())
    }

    /// The script `test`, but not the one that `npm init` writes, which only fails.
    pub(super) fn test_script(&self) -> Option<&str> {
        self.script("test").filter(|it| !it.contains("no test specified"))
    }

    /// Such as `pnpm@9.1.0`, without the version's hash.
    pub(super) fn package_manager(&self) -> Option<(&str, &str)> {
        self.package_manager.as_ref()?.as_str()?.split_once('@')
    }
}
