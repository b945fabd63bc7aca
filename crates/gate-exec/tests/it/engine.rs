//! A container engine, asked by the tests themselves, and an image made of this machine's own programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

use crate::fixture::text;

/// Made of files of this machine, so that no registry is needed.
pub(crate) const TEST_IMAGE: &str = "donegate-test:5";

/// As far as this machine has them.
const PROGRAMS: [&str; 48] = [
    "bash", "cat", "chmod", "chown", "chroot", "cp", "date", "dd", "env", "expr", "find", "git",
    "grep", "head", "hostname", "id", "kill", "ln", "ls", "mkdir", "mknod", "mount", "mv", "nice",
    "printf", "python3", "readlink", "rm", "rmdir", "seq", "setsid", "sh", "sleep", "sort", "stty",
    "su", "sudo", "tail", "test", "touch", "tr", "true", "tty", "umount", "unshare", "wc", "which",
    "yes",
];
/// Of Python's own library, what no test of ours imports.
const LEFT_OUT: [&str; 6] =
    ["__pycache__", "dist-packages", "site-packages", "test", "idlelib", "lib2to3"];

/// Whether the image has a program.
pub(crate) fn has_tool(name: &str) -> bool {
    PROGRAMS.contains(&name) && program(name).is_some()
}

fn program(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin", "/usr/sbin"]
        .iter()
        .map(|it| Path::new(it).join(name))
        .find(|it| it.is_file())
}

/// What it prints, or what it complains of.
pub(crate) fn engine(words: &[&str]) -> Result<String, String> {
    let named = std::env::var_os("DONEGATE_TEST_CONTAINER_ENGINE");
    let mut tried = String::new();
    for program in named.map_or_else(|| vec!["podman".into(), "docker".into()], |it| vec![it]) {
        #[expect(clippy::disallowed_methods, reason = "the tests ask the engine themselves")]
        let output = Command::new(&program).args(words).stdin(Stdio::null()).output();
        match output {
            Ok(it) if it.status.success() => return Ok(text(&it.stdout)),
            Ok(it) => tried.push_str(&text(&it.stderr)),
            Err(error) => tried.push_str(&error.to_string()),
        }
    }
    Err(tried)
}

/// The containers of this process.
pub(crate) fn of_this_process() -> Vec<String> {
    of_process(std::process::id())
}

/// The containers of a process.
pub(crate) fn of_process(pid: u32) -> Vec<String> {
    let filter = "label=donegate.sandbox";
    let all = engine(&["ps", "--all", "--filter", filter, "--format", "{{.Names}}"]).unwrap();
    let is_its = |it: &&str| it.split('-').nth(2) == Some(&pid.to_string());
    all.lines().filter(is_its).map(str::to_owned).collect()
}

/// Makes the image, if the engine does not have it.
pub(crate) fn have_test_image() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if engine(&["image", "inspect", TEST_IMAGE]).is_ok() {
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let archive = home.path().join("image.tar");
        write_image(&archive);
        let changes = [
            "ENV PATH=/usr/bin:/bin",
            "ENV OF_THE_IMAGE=its-value",
            "ENV HOME=/root",
            "VOLUME /of-the-image",
            "USER 7",
        ];
        let mut words = vec!["import"];
        words.extend(changes.iter().flat_map(|it| ["--change", it]));
        words.extend([archive.to_str().unwrap(), TEST_IMAGE]);
        engine(&words).unwrap();
    });
}

fn write_image(path: &Path) {
    let mut archive = tar::Builder::new(fs::File::create(path).unwrap());
    for name in ["dev", "etc", "of-the-image", "proc", "run", "sys", "tmp", "usr/bin", "var/tmp"] {
        archive.append_dir(name, "/usr").unwrap();
    }
    let mut libraries = BTreeSet::new();
    for name in PROGRAMS {
        let Some(program) = program(name).map(|it| fs::canonicalize(it).unwrap()) else { continue };
        archive.append_path_with_name(&program, format!("usr/bin/{name}")).unwrap();
        libraries.extend(libraries_of(&program));
    }
    if let Some(library) = python_library() {
        append_tree(&mut archive, &library, &mut libraries);
    }
    let passwd = b"root:x:0:0::/root:/bin/sh\n";
    let mut header = tar::Header::new_gnu();
    header.set_size(passwd.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, "etc/passwd", &passwd[..]).unwrap();
    for library in libraries {
        let inside = library.strip_prefix("/").unwrap();
        archive.append_path_with_name(fs::canonicalize(&library).unwrap(), inside).unwrap();
    }
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    archive.append_link(&mut link, "bin", "usr/bin").unwrap();
    archive.into_inner().unwrap();
}

fn libraries_of(program: &Path) -> Vec<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests make an image of this machine's programs"
    )]
    let said = Command::new("ldd").arg(program).output().unwrap();
    let said = text(&said.stdout);
    let words = said.split_ascii_whitespace().filter(|it| it.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// Where Python has its modules, which are found from where it itself is.
fn python_library() -> Option<PathBuf> {
    let python = program("python3")?;
    #[expect(clippy::disallowed_methods, reason = "Python is asked where its library is")]
    let said = Command::new(python)
        .args(["-c", "import os; print(os.path.dirname(os.__file__))"])
        .output();
    Some(PathBuf::from(text(&said.ok()?.stdout).trim()))
}

fn append_tree(
    archive: &mut tar::Builder<fs::File>,
    directory: &Path,
    libraries: &mut BTreeSet<PathBuf>,
) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if LEFT_OUT.iter().any(|it| entry.file_name() == *it) {
            continue;
        }
        if path.is_dir() {
            append_tree(archive, &path, libraries);
        } else if path.is_file() {
            let inside = path.strip_prefix("/").unwrap().to_owned();
            archive.append_path_with_name(fs::canonicalize(&path).unwrap(), inside).unwrap();
            if path.extension().is_some_and(|it| it == "so") {
                libraries.extend(libraries_of(&path));
            }
        }
    }
}
