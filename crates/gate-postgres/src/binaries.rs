//! Finds the server's executables on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{PostgresError, Settings, environment, spawn};

/// The oldest server that the gate's SQL and this crate's arguments work with.
pub(crate) const MAJOR_MIN: u32 = 14;

/// Where Debian and its children install: a directory for each major version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// A directory with `initdb` and `postgres` of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// Where they are.
    pub dir: PathBuf,
    /// Their major version.
    pub major: u32,
}

impl Binaries {
    /// What [`crate::Server::start`] would use for a new cluster, without fetching anything.
    ///
    /// # Errors
    /// When there is no server that is new enough.
    pub fn of_machine(settings: &Settings) -> Result<Self, PostgresError> {
        Self::find(settings, None)
    }

    /// The server in `dir`, or `None` where there is no whole one.
    pub(crate) fn in_dir(dir: &Path) -> Option<Self> {
        // Through links, for a server finds its libraries and its siblings beside its real file.
        let program = fs::canonicalize(dir.join("postgres")).ok()?;
        let dir = program.parent()?.to_path_buf();
        if !dir.join("initdb").is_file() {
            return None;
        }
        let output = spawn::output(&program, &["--version"]).ok()?;
        Some(Self { dir, major: major_of(&output)? })
    }

    /// The first suitable server: of the cluster's version if there is a cluster, else of any that is new enough.
    pub(crate) fn find(
        settings: &Settings,
        cluster_major: Option<u32>,
    ) -> Result<Self, PostgresError> {
        // A directory that was named is not silently replaced by another.
        let dirs = settings.bin_dir.clone().map_or_else(machine_dirs, |dir| vec![dir]);
        let found: Vec<Self> = dirs.iter().filter_map(|dir| Self::in_dir(dir)).collect();
        choose(&found, cluster_major).ok_or_else(|| PostgresError::NoBinaries {
            wanted: cluster_major.map_or(format!("{MAJOR_MIN} or newer"), |major| {
                format!("{major}, as the cluster has")
            }),
            looked_at: describe(&dirs, &found),
        })
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// The major version that a cluster was made with, or `None` where there is no cluster.
pub(crate) fn cluster_major(cluster: &Path) -> Result<Option<u32>, PostgresError> {
    let path = cluster.join("PG_VERSION");
    match fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse() {
            Ok(major) => Ok(Some(major)),
            Err(_) => Err(PostgresError::BadVersionFile { path, text }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PostgresError::io("read", &path)(error)),
    }
}

fn choose(found: &[Binaries], cluster_major: Option<u32>) -> Option<Binaries> {
    let fits = |major| cluster_major.map_or(major >= MAJOR_MIN, |wanted| major == wanted);
    found.iter().find(|it| fits(it.major)).cloned()
}

fn machine_dirs() -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    if let Ok(output) = spawn::output(Path::new("pg_config"), &["--bindir"]) {
        dirs.push(PathBuf::from(output.trim()));
    }
    dirs.extend(environment::search_path());
    let mut majors: Vec<u32> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    majors.sort_unstable_by(|a, b| b.cmp(a));
    dirs.extend(majors.iter().map(|major| Path::new(DEBIAN).join(major.to_string()).join("bin")));
    dirs
}

/// `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`, also `17beta1`.
fn major_of(version: &str) -> Option<u32> {
    let number = version.split_once("(PostgreSQL) ")?.1;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn describe(dirs: &[PathBuf], found: &[Binaries]) -> String {
    let searched = dirs.iter().map(|dir| dir.display().to_string());
    let unfit = found.iter().map(|it| format!("version {} in {}", it.major, it.dir.display()));
    let all: Vec<String> = searched.chain(unfit).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(major: u32) -> Binaries {
        Binaries { dir: PathBuf::from(format!("/opt/{major}/bin")), major }
    }

    #[test]
    fn the_major_version_is_read_from_what_the_server_prints() {
        assert_eq!(major_of("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n"), Some(15));
        assert_eq!(major_of("postgres (PostgreSQL) 18beta2"), Some(18));
        assert_eq!(major_of("pg 15"), None);
    }

    #[test]
    fn the_first_server_that_is_new_enough_is_taken() {
        assert_eq!(choose(&[server(13), server(15), server(17)], None), Some(server(15)));
        assert_eq!(choose(&[server(13)], None), None);
    }

    #[test]
    fn an_existing_cluster_gets_the_server_of_its_version() {
        assert_eq!(choose(&[server(15), server(17)], Some(17)), Some(server(17)));
        assert_eq!(choose(&[server(15)], Some(16)), None);
    }
}
