//! The few environment variables that this crate reads, in one place.
//!
//! None of them is a setting of the gate; those come through [`crate::Settings`].

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a PostgreSQL program may see of our environment. The rest, with all its secrets, stays here.
const PASSED_ON: &[&str] = &["LD_LIBRARY_PATH", "PATH", "TZ"];

pub(crate) fn passed_on() -> Vec<(&'static str, OsString)> {
    PASSED_ON.iter().filter_map(|name| Some((*name, env::var_os(name)?))).collect()
}

/// The absolute directories of `PATH`.
pub(crate) fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|dir| dir.is_absolute()).collect()
}

/// `$XDG_DATA_HOME`, else `~/.local/share`.
pub(crate) fn user_data_home() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))
}

#[cfg(feature = "testing")]
pub(crate) fn database_url() -> Option<String> {
    env::var_os("DATABASE_URL")?.into_string().ok().filter(|url| !url.is_empty())
}
