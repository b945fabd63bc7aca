//! Images: asked for on this machine first, then fetched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader};
use std::path::Path;
use std::time::Duration;

use super::engine::{Engine, EngineError};
use crate::limits::{ENGINE_CALL_SECONDS, IMAGE_PULL_SECONDS};

/// Docker's own registry, which names without one mean.
const REGISTRY: &str = "docker.io";
/// What every command finds, unless its image or its contract says otherwise.
const USUAL: [(&str, &str); 4] = [
    ("CI", "true"),
    ("LANG", "C.UTF-8"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("TERM", "dumb"),
];
/// Directories that the kernel's file systems are mounted on.
const DIRECTORIES: [&str; 4] = ["dev", "proc", "sys", "tmp"];

/// An image that the engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// Its digest: a name may mean another one at any time.
    pub(super) id: String,
    /// What it sets in the environment.
    pub(super) variables: Vec<(String, String)>,
}

/// Why a contract's image cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("the image `{name}` could not be had")]
pub(super) struct NoImage {
    name: String,
    source: EngineError,
}

impl Image {
    /// The image of that name; it is fetched where it is not there.
    pub(super) fn have(
        engine: &Engine,
        name: &str,
        cancelled: &PipeReader,
    ) -> Result<Self, NoImage> {
        let full = full_name(name);
        match Self::find(engine, name) {
            Ok(image) => return Ok(image),
            Err(EngineError::Refused { .. }) => {}
            // An engine that does not answer says nothing about its images.
            Err(source) => return Err(NoImage { name: full, source }),
        }
        let words = ["pull".into(), "--quiet".into(), OsString::from(&full)];
        tracing::info!(image = full, "an image is fetched");
        engine
            .call(&words, Duration::from_secs(IMAGE_PULL_SECONDS), Some(cancelled))
            .and_then(|_| Self::find(engine, &full))
            .map_err(|source| NoImage { name: full, source })
    }

    /// One that holds nothing, so that what is run in it is the gate's own.
    pub(super) fn empty(engine: &Engine, name: &str, scratch: &Path) -> Result<Self, String> {
        if let Ok(image) = Self::find(engine, name) {
            return Ok(image);
        }
        let archive = scratch.join("image.tar");
        write_empty(&archive).map_err(|it| format!("writing an image: {it}"))?;
        let words = ["import".into(), archive.into_os_string(), name.into()];
        engine
            .call(&words, Duration::from_secs(ENGINE_CALL_SECONDS), None)
            .and_then(|_| Self::find(engine, name))
            .map_err(|it| it.to_string())
    }

    fn find(engine: &Engine, name: &str) -> Result<Self, EngineError> {
        let format = "{{.Id}} {{json .Config.Env}}";
        Ok(read(&engine.answer(&["image", "inspect", "--format", format, name])?))
    }

    /// The whole environment of a command: the usual, then the image, then the contract, then what the run needs.
    pub(super) fn environment(
        &self,
        of_contract: &BTreeMap<String, String>,
        own: Vec<(&str, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let mut all: BTreeMap<OsString, OsString> =
            USUAL.iter().map(|(name, value)| (name.into(), value.into())).collect();
        all.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        all.extend(of_contract.iter().map(|(name, value)| (name.into(), value.into())));
        all.extend(own.into_iter().map(|(name, value)| (name.into(), value)));
        all.into_iter().collect()
    }

    /// What would make the loader of the init take something of the image.
    pub(super) fn misleading(&self) -> impl Iterator<Item = &str> {
        let names = self.variables.iter().map(|(name, _)| name.as_str());
        names.filter(|it| it.starts_with("LD_") || it.starts_with("GLIBC_"))
    }
}

fn read(answer: &str) -> Image {
    let (id, variables) = answer.split_once(' ').unwrap_or((answer, "null"));
    let variables: Option<Vec<String>> = serde_json::from_str(variables).unwrap_or_default();
    let pair = |it: String| it.split_once('=').map(|(name, value)| (name.into(), value.into()));
    let variables = variables.unwrap_or_default().into_iter().filter_map(pair).collect();
    Image { id: id.to_owned(), variables }
}

/// The name with its registry, as Docker completes it; Podman asks a person, or does not know.
fn full_name(name: &str) -> String {
    match name.split_once('/') {
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" => name.to_owned(),
        Some(_) => format!("{REGISTRY}/{name}"),
        None => format!("{REGISTRY}/library/{name}"),
    }
}

fn write_empty(path: &Path) -> io::Result<()> {
    let mut archive = tar::Builder::new(File::create(path)?);
    for name in DIRECTORIES {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        archive.append_data(&mut header, format!("{name}/"), io::empty())?;
    }
    archive.into_inner()?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_completed_as_docker_does() {
        for (name, full) in [
            ("python:3.12-slim", "docker.io/library/python:3.12-slim"),
            ("acme/tests", "docker.io/acme/tests"),
            ("ghcr.io/acme/tests:1", "ghcr.io/acme/tests:1"),
            ("localhost:5000/tests", "localhost:5000/tests"),
            ("localhost/tests", "localhost/tests"),
        ] {
            assert_eq!(full_name(name), full);
        }
    }

    #[test]
    fn an_image_is_read_with_or_without_variables() {
        let image = read(r#"sha256:12 ["PATH=/opt/bin","A=b=c","odd"]"#);
        assert_eq!(image.id, "sha256:12");
        let pairs = [("PATH", "/opt/bin"), ("A", "b=c")];
        assert_eq!(image.variables, pairs.map(|(name, value)| (name.into(), value.into())));
        for answer in ["12 null", "12 []", "12"] {
            assert_eq!(read(answer), Image { id: "12".into(), variables: Vec::new() });
        }
    }

    #[test]
    fn the_image_wins_over_the_usual_the_contract_over_the_image_and_the_run_over_all() {
        let image =
            read(r#"1 ["PATH=/opt/bin","GOPATH=/go","PAGE=1","HOME=/root","LD_PRELOAD=/x.so"]"#);
        let contract = BTreeMap::from([("PAGE".to_owned(), "100".to_owned())]);
        let all = image.environment(&contract, vec![("HOME", "/gate/home".into())]);
        let all: Vec<_> = all
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        let wanted = [
            ("CI", "true"),
            ("GOPATH", "/go"),
            ("HOME", "/gate/home"),
            ("LANG", "C.UTF-8"),
            ("LD_PRELOAD", "/x.so"),
            ("PAGE", "100"),
            ("PATH", "/opt/bin"),
            ("TERM", "dumb"),
        ];
        assert_eq!(all, wanted);
        assert_eq!(image.misleading().collect::<Vec<_>>(), ["LD_PRELOAD"]);
    }

    #[test]
    fn an_empty_image_has_the_directories_that_are_mounted_on() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("image.tar");
        write_empty(&path).unwrap();
        let mut archive = tar::Archive::new(File::open(&path).unwrap());
        let names: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|it| it.unwrap().path().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["dev/", "proc/", "sys/", "tmp/"]);
    }
}
