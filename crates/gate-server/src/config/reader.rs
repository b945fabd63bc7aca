//! Reads variables one by one, and collects what is wrong with them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use gate_excerpt::{Matcher, MatcherFault, read_matchers};

use super::settings::{OF_THE_CLIENT, SETTINGS};
use crate::callback::Networks;

/// A file of matchers.
const MATCHERS_BYTES_MAX: u64 = 1024 * 1024;

/// Reads variables, and collects what is wrong with them.
pub(super) struct Reader {
    pub(super) variables: BTreeMap<OsString, OsString>,
    pub(super) faults: Vec<String>,
}

impl Reader {
    pub(super) fn refuse_unknown(&mut self) {
        let names = self.variables.keys().filter_map(|it| it.to_str());
        let ours =
            names.filter(|it| it.starts_with("DONEGATE_") && !it.starts_with("DONEGATE_TEST_"));
        let known =
            |name: &str| SETTINGS.iter().any(|it| it.name == name) || OF_THE_CLIENT.contains(&name);
        let unknown: Vec<String> = ours
            .filter(|it| !known(it))
            .map(|it| format!("{it}: there is no such setting; the README lists them"))
            .collect();
        self.faults.extend(unknown);
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?;
        match value.to_str() {
            Some("") => None,
            Some(text) => Some(text.to_owned()),
            None => {
                self.faults.push(format!("{name}: is not UTF-8"));
                None
            }
        }
    }

    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        match text.trim().parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.faults.push(format!("{name}: `{text}`: {error}"));
                None
            }
        }
    }

    pub(super) fn value<T: FromStr<Err: Display>>(&mut self, name: &str, default: T) -> T {
        self.parsed(name).unwrap_or(default)
    }

    pub(super) fn bounded(&mut self, name: &str, default: u32, least: u32, most: u32) -> u32 {
        let value = self.value(name, default);
        if !(least..=most).contains(&value) {
            self.faults.push(format!("{name}: {value} is not from {least} to {most}"));
        }
        value
    }

    pub(super) fn seconds(&mut self, name: &str, default: u32, least: u32, most: u32) -> Duration {
        Duration::from_secs(self.bounded(name, default, least, most).into())
    }

    /// A secret, or the file that holds it; its text never becomes part of a fault.
    pub(super) fn secret<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        let file = format!("{name}_FILE");
        let text = match (self.text(name), self.path(&file)) {
            (Some(_), Some(_)) => {
                self.faults.push(format!("{name}: is set, and {file} is set, too; set one"));
                None
            }
            (Some(text), None) => Some(text),
            (None, Some(path)) => match std::fs::read_to_string(&path) {
                Ok(text) => Some(text),
                Err(error) => {
                    self.faults.push(format!("{file}: cannot read {}: {error}", path.display()));
                    None
                }
            },
            (None, None) => None,
        };
        match text?.trim().parse() {
            Ok(secret) => Some(secret),
            Err(error) => {
                self.faults.push(format!("{name}: {error}"));
                None
            }
        }
    }

    /// A file of matchers; all that is wrong with it is a fault each.
    pub(super) fn matchers(&mut self, name: &str) -> Arc<[Matcher]> {
        let Some(path) = self.path(name) else { return Arc::default() };
        let path_shown = path.display();
        let bytes = std::fs::File::open(&path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MATCHERS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let bytes = match bytes {
            Ok(bytes) if bytes.len() as u64 > MATCHERS_BYTES_MAX => {
                self.faults.push(format!(
                    "{name}: {path_shown} is larger than {MATCHERS_BYTES_MAX} bytes"
                ));
                return Arc::default();
            }
            Ok(bytes) => bytes,
            Err(error) => {
                self.faults.push(format!("{name}: cannot read {path_shown}: {error}"));
                return Arc::default();
            }
        };
        match read_matchers(&bytes) {
            Ok(matchers) => matchers.into(),
            Err(faults) => {
                let told = faults.iter().map(|MatcherFault { pointer, detail }| {
                    let gap = if pointer.is_empty() { "" } else { ": " };
                    format!("{name}: {path_shown}: {pointer}{gap}{detail}")
                });
                self.faults.extend(told);
                Arc::default()
            }
        }
    }

    /// Networks as CIDRs; what is wrong with them is a fault, and none then.
    pub(super) fn networks(&mut self, name: &str, default: &str) -> Networks {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        Networks::parse(&text).unwrap_or_else(|error| {
            self.faults.push(format!("{name}: {error}"));
            Networks::default()
        })
    }

    /// Absolute paths, separated by colons; `None` where the variable is not set.
    pub(super) fn paths(&mut self, name: &str) -> Option<Vec<PathBuf>> {
        let text = self.text(name)?;
        let paths = text.split(':').filter(|it| !it.is_empty()).map(PathBuf::from);
        let (good, bad): (Vec<_>, Vec<_>) =
            paths.partition(|it| it.is_absolute() && it.as_path() != Path::new("/"));
        let faults = bad.iter().map(|it| {
            let path = it.display();
            format!("{name}: `{path}` is not the absolute path of a part of the file system")
        });
        self.faults.extend(faults);
        Some(good)
    }
}
