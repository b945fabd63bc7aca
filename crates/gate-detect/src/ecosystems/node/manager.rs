//! Which program installs packages and runs scripts, and with which words.

use gate_core::CommandLine;

use super::manifest::Manifest;
use crate::directory::Directory;

/// Lock files of all managers.
pub(super) const LOCKS: [&str; 6] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
];

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manager {
    kind: Kind,
    pub(super) has_lock: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Npm,
    Pnpm,
    /// Version 1, whose words differ from those of its successors.
    YarnClassic,
    Yarn,
    Bun,
}

impl Manager {
    /// The lock file says it, else `packageManager`, else it is npm.
    pub(super) fn of(at: &Directory<'_>, manifest: &Manifest) -> Self {
        let lock = at.first_of(&LOCKS);
        let kind = match (lock, manifest.package_manager()) {
            (Some("pnpm-lock.yaml"), _) => Kind::Pnpm,
            (Some("yarn.lock"), named) => yarn(at, named),
            (Some("bun.lock" | "bun.lockb"), _) => Kind::Bun,
            (Some(_), _) => Kind::Npm,
            (None, Some(("pnpm", _))) => Kind::Pnpm,
            (None, named @ Some(("yarn", _))) => yarn(at, named),
            (None, Some(("bun", _))) => Kind::Bun,
            (None, _) => Kind::Npm,
        };
        Self { kind, has_lock: lock.is_some() }
    }

    /// Installs exactly what the lock file names, where there is one.
    pub(super) fn install(&self, at: &Directory<'_>) -> CommandLine {
        let command: &[&str] = match (self.kind, self.has_lock) {
            (Kind::Npm, true) => &["npm", "ci", "--no-audit", "--no-fund"],
            (Kind::Npm, false) => &["npm", "install", "--no-audit", "--no-fund"],
            (Kind::Pnpm, true) => &["pnpm", "install", "--frozen-lockfile"],
            (Kind::Pnpm, false) => &["pnpm", "install", "--no-frozen-lockfile"],
            (Kind::YarnClassic, true) => {
                &["yarn", "install", "--frozen-lockfile", "--non-interactive"]
            }
            (Kind::YarnClassic, false) => &["yarn", "install", "--non-interactive"],
            (Kind::Yarn, true) => &["yarn", "install", "--immutable"],
            (Kind::Yarn, false) => &["yarn", "install", "--no-immutable"],
            (Kind::Bun, true) => &["bun", "install", "--frozen-lockfile"],
            (Kind::Bun, false) => &["bun", "install"],
        };
        at.run_with(self.option(), command)
    }

    /// Runs a script of package.json.
    pub(super) fn script(&self, at: &Directory<'_>, name: &str) -> CommandLine {
        at.run_with(self.option(), &[self.program(), "run", name])
    }

    /// Runs the script `test` with more arguments for the last command in it.
    pub(super) fn test(&self, at: &Directory<'_>, more: &[&str]) -> CommandLine {
        let script: &[&str] = match self.kind {
            // `bun test` is bun's own runner.
            Kind::Bun => &["bun", "run", "test"],
            // npm takes options for its own unless they stand behind this.
            Kind::Npm if !more.is_empty() => &["npm", "test", "--"],
            Kind::Npm | Kind::Pnpm | Kind::YarnClassic | Kind::Yarn => &[self.program(), "test"],
        };
        at.run_with(self.option(), &[script, more].concat())
    }

    /// Runs a program of the dependencies.
    pub(super) fn execute(&self, at: &Directory<'_>, command: &[&str]) -> CommandLine {
        match self.kind {
            // npx has no option for a directory that the program would start in.
            Kind::Npm => at.run(&[&["npx", "--no"], command].concat()),
            Kind::Pnpm => at.run_with(self.option(), &[&["pnpm", "exec"], command].concat()),
            Kind::YarnClassic | Kind::Yarn => {
                at.run_with(self.option(), &[&["yarn", "run"], command].concat())
            }
            Kind::Bun => {
                at.run_with(self.option(), &[&["bun", "x", "--no-install"], command].concat())
            }
        }
    }

    const fn program(self) -> &'static str {
        match self.kind {
            Kind::Npm => "npm",
            Kind::Pnpm => "pnpm",
            Kind::YarnClassic | Kind::Yarn => "yarn",
            Kind::Bun => "bun",
        }
    }

    /// For the directory of the package.
    const fn option(self) -> &'static str {
        match self.kind {
            Kind::Npm => "--prefix",
            Kind::Pnpm => "--dir",
            Kind::YarnClassic | Kind::Yarn | Kind::Bun => "--cwd",
        }
    }
}

/// Told by the lock file's form, without one by `packageManager`'s version.
fn yarn(at: &Directory<'_>, named: Option<(&str, &str)>) -> Kind {
    let is_classic = match at.read("yarn.lock") {
        Some(lock) => lock.contains("# yarn lockfile v1"),
        None => named.is_some_and(|(_, version)| version.starts_with("1.")),
    };
    if is_classic { Kind::YarnClassic } else { Kind::Yarn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn install(files: &[(&str, &str)]) -> String {
        let tree = Tree::of(files.iter().copied());
        let at = Directory::new(&tree, "");
        let manifest = serde_json::from_str(&at.read("package.json").unwrap()).unwrap();
        Manager::of(&at, &manifest).install(&at).to_string()
    }

    #[test]
    fn the_lock_file_says_how_packages_are_installed() {
        for (lock, text, command) in [
            ("package-lock.json", "", "npm ci --no-audit --no-fund"),
            ("pnpm-lock.yaml", "", "pnpm install --frozen-lockfile"),
            (
                "yarn.lock",
                "# yarn lockfile v1\n",
                "yarn install --frozen-lockfile --non-interactive",
            ),
            ("yarn.lock", "__metadata:\n  version: 8\n", "yarn install --immutable"),
            ("bun.lock", "", "bun install --frozen-lockfile"),
            ("README.md", "", "npm install --no-audit --no-fund"),
        ] {
            assert_eq!(install(&[("package.json", "{}"), (lock, text)]), command);
        }
    }

    #[test]
    fn without_a_lock_file_the_manifest_names_the_manager() {
        for (named, command) in [
            ("pnpm@9.1.0", "pnpm install --no-frozen-lockfile"),
            ("yarn@1.22.22", "yarn install --non-interactive"),
            ("yarn@4.5.0", "yarn install --no-immutable"),
            ("bun@1.2.0", "bun install"),
        ] {
            let manifest = format!(r#"{{ "packageManager": "{named}" }}"#);
            assert_eq!(install(&[("package.json", &manifest)]), command);
        }
    }
}
