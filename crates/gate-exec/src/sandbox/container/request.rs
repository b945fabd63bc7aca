//! The words by which an engine is asked for one container, closed on all sides.
//!
//! No value of a variable is among them: others on the host can read them.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use gate_core::RunLimits;

use super::engine::LABEL;
use super::image::Image;
use super::program::{self, InitWords};
use super::running::SOCKET;
use crate::init;
use crate::limits::{
    CONTAINER_BASE, CONTAINER_DISK, CONTAINER_INIT, CONTAINER_LINE, CONTAINER_SHARED_MEMORY_BYTES,
    CONTAINER_SIDE_DISK_BYTES, CONTAINER_SIDE_DISKS, OWN_PROCESSES,
};
use crate::wire::ContainerWalls;

/// What laying out the workspace, becoming the user of commands, and ending them takes. No command has any of it.
const CAPABILITIES: [&str; 6] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"];

/// One container that is wanted.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) is_podman: bool,
    pub(super) name: &'a str,
    pub(super) image: &'a Image,
    pub(super) limits: RunLimits,
    pub(super) init: &'a InitWords,
    /// Where the init and its files are.
    pub(super) program: &'a Path,
    /// Where the init is waited for.
    pub(super) line: &'a Path,
    /// What the workspace begins as.
    pub(super) base: &'a Path,
}

impl Request<'_> {
    /// All of them, from the verb on.
    pub(super) fn words(&self) -> io::Result<Vec<OsString>> {
        let mut words = plain(&["run", "--detach", "--rm", "--pull", "never", "--name", self.name]);
        words.extend(plain(&["--label", &format!("{LABEL}=1"), "--log-driver", "none"]));
        words.extend(self.walls());
        words.extend(self.bounds());
        for name in self.image.misleading() {
            words.extend(plain(&["--env", &format!("{name}=")]));
        }
        words.extend(self.files()?);
        let InitWords { entrypoint, arguments } = self.init;
        words.extend(plain(&["--entrypoint", entrypoint, &self.image.id]));
        words.extend(arguments.iter().map(OsString::from));
        words.extend(plain(&[init::SUBCOMMAND, &format!("{CONTAINER_LINE}/{SOCKET}")]));
        Ok(words)
    }

    fn walls(&self) -> Vec<OsString> {
        let mut words = plain(&["--network", "none", "--hostname", "donegate", "--ipc", "private"]);
        words.extend(plain(&["--read-only", "--user", "0:0", "--workdir", "/"]));
        // Ours is the first process and the only one, whatever the engine is set to or the image asks for.
        words.extend(plain(&["--init=false", "--no-healthcheck", "--stop-timeout", "0"]));
        // Labels would keep the init from its line; they are a second wall where there are five others.
        words.extend(plain(&["--security-opt", "no-new-privileges"]));
        words.extend(plain(&["--security-opt", "label=disable", "--cap-drop", "all"]));
        words.extend(CAPABILITIES.iter().flat_map(|it| plain(&["--cap-add", it])));
        if self.is_podman {
            words.extend(plain(&["--read-only-tmpfs=false", "--image-volume", "ignore"]));
            words.extend(plain(&["--http-proxy=false", "--systemd=false"]));
        }
        words
    }

    fn bounds(&self) -> Vec<OsString> {
        let limits = self.limits;
        let (memory, processes) = (self.memory_bytes().to_string(), self.processes().to_string());
        let mut words = plain(&["--memory", &memory, "--memory-swap", &memory]);
        words.extend(plain(&["--pids-limit", &processes]));
        words.extend(plain(&["--shm-size", &CONTAINER_SHARED_MEMORY_BYTES.to_string()]));
        words.extend(self.disk(CONTAINER_DISK, "755", limits.disk_bytes()));
        for directory in CONTAINER_SIDE_DISKS {
            words.extend(self.disk(directory, "1777", CONTAINER_SIDE_DISK_BYTES));
        }
        words
    }

    /// What is written is in memory too; its own limits bound it, and the init watches the rest.
    fn memory_bytes(&self) -> u64 {
        let side = CONTAINER_SIDE_DISKS.len() as u64 * CONTAINER_SIDE_DISK_BYTES;
        let written = self.limits.disk_bytes() + side + CONTAINER_SHARED_MEMORY_BYTES;
        self.limits.memory_bytes() + written
    }

    fn processes(&self) -> u64 {
        u64::from(self.limits.processes) + OWN_PROCESSES
    }

    /// What the init makes sure of.
    pub(super) fn walls_of_init(&self, proxy: bool) -> ContainerWalls {
        ContainerWalls {
            proxy,
            engine_memory_bytes: self.memory_bytes(),
            engine_processes: self.processes(),
        }
    }

    /// Podman does not let the number of files be set.
    fn disk(&self, at: &str, mode: &str, bytes: u64) -> Vec<OsString> {
        let entries = if self.is_podman {
            String::new()
        } else {
            format!(",nr_inodes={}", self.limits.disk_entries())
        };
        let options = format!("rw,exec,nosuid,nodev,mode={mode},size={bytes}{entries}");
        plain(&["--tmpfs", &format!("{at}:{options}")])
    }

    fn files(&self) -> io::Result<Vec<OsString>> {
        let mut words = Vec::new();
        let own = [
            (self.program, CONTAINER_INIT),
            (self.line, CONTAINER_LINE),
            (self.base, CONTAINER_BASE),
        ];
        for (from, to) in own {
            words.extend(["--mount".into(), bind(from, to)?]);
        }
        for (from, to) in program::etc(self.program) {
            words.extend(["--mount".into(), bind(&from, &to)?]);
        }
        Ok(words)
    }
}

fn plain(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Engines read this as fields between commas.
fn bind(from: &Path, to: &str) -> io::Result<OsString> {
    let Some(from) = from.to_str().filter(|it| !it.contains([',', '"', '\n'])) else {
        let error = format!(
            "an engine cannot be given the path {}: a comma, a quote, or no UTF-8; choose another data directory",
            from.display()
        );
        return Err(io::Error::other(error));
    };
    Ok(format!("type=bind,source={from},target={to},readonly").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(is_podman: bool, base: &str) -> io::Result<String> {
        let variables = [("LD_PRELOAD", "/x.so"), ("TOKEN", "secret")];
        let image = Image {
            id: "sha256:12".to_owned(),
            variables: variables.map(|(name, value)| (name.into(), value.into())).into(),
        };
        let init = InitWords { entrypoint: "/donegate/init/donegate".into(), arguments: vec![] };
        let request = Request {
            is_podman,
            name: "donegate-1",
            image: &image,
            limits: RunLimits::default(),
            init: &init,
            program: Path::new("/data/program"),
            line: Path::new("/data/line"),
            base: Path::new(base),
        };
        let words = request.words()?;
        Ok(words.iter().map(|it| it.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_container_is_closed_on_all_sides_in_both_engines() {
        for is_podman in [true, false] {
            let words = words(is_podman, "/data/base").unwrap();
            for wanted in [
                "--network none ",
                "--read-only ",
                "--cap-drop all ",
                "--security-opt no-new-privileges ",
                "--pids-limit 259 ",
                "--env LD_PRELOAD= ",
                "type=bind,source=/data/base,target=/donegate/base,readonly ",
                "sha256:12 sandbox-init /donegate/line/socket",
            ] {
                assert!(words.contains(wanted), "{wanted}: {words}");
            }
            assert_eq!(words.contains("nr_inodes"), !is_podman);
            assert_eq!(words.contains("--http-proxy=false"), is_podman);
        }
    }

    #[test]
    fn no_value_of_a_variable_is_among_the_words() {
        let words = words(false, "/data/base").unwrap();
        assert!(!words.contains("secret") && !words.contains("x.so"), "{words}");
    }

    #[test]
    fn a_path_that_an_engine_would_misread_is_refused() {
        let error = words(true, "/data,target=/etc").unwrap_err().to_string();
        assert!(error.contains("/data,target=/etc"), "{error}");
    }
}
