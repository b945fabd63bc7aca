//! What a command finds in its environment. It is built from nothing; the tiers share it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where toolchains are that were installed for one user, and what else a build needs from its host.
///
/// Only tools that are read: `CARGO_HOME`, for one, is written by every build, so that one run could
/// leave something for the next. Each run has its own, under its own `HOME`.
pub const PASSED_BY_DEFAULT: [&str; 14] = [
    "RUSTUP_HOME",
    "RUSTUP_AUTO_INSTALL",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "NVM_DIR",
    "VOLTA_HOME",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "SDKMAN_DIR",
    "JAVA_HOME",
    "GOROOT",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "TZ",
];

/// Where a toolchain is when its variable is not set, below the home of the gate's user.
const USUAL_PLACES: [(&str, &str); 7] = [
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("RBENV_ROOT", ".rbenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("SDKMAN_DIR", ".sdkman"),
];

/// What every command finds, beside what its contract sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Where programs are looked up. Relative directories in it are passed over.
    pub path: OsString,
    /// Passed on as they are.
    pub passed: BTreeMap<OsString, OsString>,
}

impl Profile {
    /// What the gate's own environment offers: its `PATH`, the variables that are named, and
    /// toolchains at their usual places under its home.
    #[must_use]
    pub fn from_environment(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        pass_variables: &[&str],
    ) -> Self {
        let mut profile = Self::default();
        let mut home = None;
        for (name, value) in environment {
            match name.to_str() {
                Some("PATH") => profile.path = value,
                Some("HOME") => home = Some(PathBuf::from(value)),
                Some(word) if pass_variables.contains(&word) => {
                    profile.passed.insert(name, value);
                }
                Some(_) | None => {}
            }
        }
        for (name, place) in USUAL_PLACES {
            let place = home.as_deref().map(|it: &Path| it.join(place)).filter(|it| it.is_dir());
            if let Some(place) = place.filter(|_| pass_variables.contains(&name)) {
                profile.passed.entry(name.into()).or_insert(place.into());
            }
        }
        profile
    }

    /// Where the programs are that are looked up, and what they read: to be seen in every sandbox.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        let passed = self.passed.values().map(PathBuf::from);
        let all = std::env::split_paths(&self.path).chain(passed);
        all.filter(|it| it.is_absolute() && it.exists()).collect()
    }

    /// The whole environment of one command. What the gate sets wins over the contract, and the contract over the host.
    pub(super) fn variables(
        &self,
        of_contract: &BTreeMap<String, String>,
        own: &[(&str, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let mut all: BTreeMap<OsString, OsString> = BTreeMap::new();
        let fixed = [("LANG", "C.UTF-8"), ("TERM", "dumb"), ("CI", "true")];
        all.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        all.extend(self.passed.clone());
        all.extend(of_contract.iter().map(|(name, value)| (name.into(), value.into())));
        all.insert("PATH".into(), self.path.clone());
        all.extend(own.iter().map(|(name, value)| ((*name).into(), value.clone())));
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn only_what_is_named_is_taken_from_the_gate() {
        let environment = pairs(&[
            ("PATH", "/usr/bin"),
            ("DONEGATE_CALLBACK_SIGNING_KEY", "secret"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("JAVA_HOME", "/opt/java"),
        ]);
        let profile = Profile::from_environment(environment, &PASSED_BY_DEFAULT);
        assert_eq!(profile.path, "/usr/bin");
        assert_eq!(profile.passed, pairs(&[("JAVA_HOME", "/opt/java")]).into_iter().collect());
    }

    #[test]
    fn a_toolchain_at_its_usual_place_is_found_where_its_variable_is_not_set() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".rustup")).unwrap();
        let environment = vec![("HOME".into(), home.path().into())];
        let found = Profile::from_environment(environment.clone(), &PASSED_BY_DEFAULT);
        let wanted = BTreeMap::from([("RUSTUP_HOME".into(), home.path().join(".rustup").into())]);
        assert_eq!(found.passed, wanted);
        assert!(Profile::from_environment(environment, &["TZ"]).passed.is_empty());
    }
}
