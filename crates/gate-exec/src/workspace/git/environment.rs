//! What git finds in its environment. It is built from nothing, and reads no configuration but ours.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use gate_core::Sha256Digest;
use sha2::{Digest, Sha256};

use super::super::PrepareSettings;

/// Git's whole environment. Writes the configuration file that it names.
pub(super) fn variables(settings: &PrepareSettings) -> io::Result<Vec<(OsString, OsString)>> {
    let config = place(settings, &configuration(settings)?)?;
    let mut all = settings.git_variables.clone();
    let mut unless_given = |name: &str, value: OsString| {
        all.entry(name.into()).or_insert(value);
    };
    unless_given("HOME", settings.cache_dir.clone().into());
    unless_given("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20".into());
    let fixed: [(&str, OsString); 11] = [
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CONFIG_GLOBAL", config.into()),
        // Schemes that run programs, such as `ext::`, are not among them.
        ("GIT_ALLOW_PROTOCOL", "https:http:ssh:file".into()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
        ("GIT_ASKPASS", "false".into()),
        ("SSH_ASKPASS", "false".into()),
        ("GIT_NO_REPLACE_OBJECTS", "1".into()),
        ("GIT_NO_LAZY_FETCH", "1".into()),
        ("GIT_OPTIONAL_LOCKS", "0".into()),
        ("LC_ALL", "C".into()),
        ("LANGUAGE", "C".into()),
    ];
    all.extend(fixed.map(|(name, value)| (name.into(), value)));
    Ok(all.into_iter().collect())
}

/// Named by its content and given its name when it is whole: other processes may be reading theirs.
fn place(settings: &PrepareSettings, text: &str) -> io::Result<PathBuf> {
    let name = Sha256Digest::from_bytes(Sha256::digest(text).into()).to_hex();
    let path = settings.cache_dir.join(format!("gitconfig-{}", &name[..16]));
    let unfinished = path.with_extension(std::process::id().to_string());
    fs::write(&unfinished, text)?;
    fs::rename(&unfinished, &path)?;
    Ok(path)
}

/// In a file and not on the command line, because what serves a `file://` repository has to read it too.
fn configuration(settings: &PrepareSettings) -> io::Result<String> {
    let mut text = String::from(
        "[safe]\n\tdirectory = *\n\
         [core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\
         [transfer]\n\tunpackLimit = 1\n\
         [gc]\n\tauto = 0\n\
         [maintenance]\n\tauto = false\n\
         [fetch]\n\trecurseSubmodules = false\n\twriteCommitGraph = false\n\
         [http]\n\tlowSpeedLimit = 1000\n\tlowSpeedTime = 60\n",
    );
    if let Some(path) = &settings.git_config {
        let path = path
            .to_str()
            .ok_or_else(|| io::Error::other("the path of the git configuration is not UTF-8"))?;
        let path = path.replace('\\', r"\\").replace('"', "\\\"");
        text.push_str("[include]\n\tpath = \"");
        text.push_str(&path);
        text.push_str("\"\n");
    }
    Ok(text)
}
