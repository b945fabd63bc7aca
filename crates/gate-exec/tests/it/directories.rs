//! Shared directories: copied as they are, from where the operator allows and nowhere else.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use gate_core::{Blame, Chain, SharedPath, WorkspaceSource};
use gate_exec::{PrepareError, SourceError, Workspace};

use crate::fixture::{Gate, files};

/// A volume, and a gate that takes directories from it.
struct Shared {
    volume: tempfile::TempDir,
    gate: Gate,
}

impl Shared {
    fn new() -> Self {
        let volume = tempfile::tempdir().unwrap();
        let root = volume.path().join("agents");
        fs::create_dir(&root).unwrap();
        let gate = Gate::with(|it| it.directory_roots = vec!["/nowhere".into(), root]);
        Self { volume, gate }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.volume.path().join("agents").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    async fn prepare(&self, path: &str) -> Result<Workspace, PrepareError> {
        self.gate.prepare(&directory(&self.path(path))).await
    }

    /// So much that a writer has its turn while it is copied. What lies deeper is copied later.
    fn with_much_to_copy(&self) {
        self.write("run/hot", "").write("run/d/much", "");
        let much = File::options().write(true).open(self.path("run/d/much")).unwrap();
        much.set_len(64 * 1024 * 1024).unwrap();
    }

    async fn refused(&self, path: &str) -> SourceError {
        let error = self.prepare(path).await.unwrap_err();
        assert_eq!(error.blame(), Blame::Reporter, "{error:?}");
        let PrepareError::Source { source, .. } = error else { panic!("{error:?}") };
        source
    }
}

fn directory(path: &Path) -> WorkspaceSource {
    WorkspaceSource::Directory(SharedPath::parse(path.to_str().unwrap()).unwrap())
}

#[tokio::test]
async fn a_directory_is_copied_without_its_repository_and_never_run_in_place() {
    let shared = Shared::new();
    shared.write("run/a", "1").write("run/d/script", "#!/bin/sh\n").write("run/.git/HEAD", "x");
    shared.write("run/d/.git", "gitdir: /elsewhere");
    fs::set_permissions(shared.path("run/d/script"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("../a", shared.path("run/d/link")).unwrap();
    let workspace = shared.prepare("run").await.unwrap();
    let at = |path: &str| workspace.base().join("workspace").join(path);
    assert_eq!(fs::read(at("d/link")).unwrap(), b"1");
    assert_eq!(fs::metadata(at("d/script")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!at(".git").exists() && !at("d/.git").exists());
    shared.gate.run_in(&workspace, &[&["sh", "-c", "echo 2 > a; rm -r d"]]).await;
    assert_eq!(fs::read(shared.path("run/a")).unwrap(), b"1");
    assert!(shared.path("run/d/script").exists());
}

#[tokio::test]
async fn a_directory_is_read_anew_each_time_and_its_tree_is_stored_once() {
    let shared = Shared::new();
    shared.write("run/a", "1");
    let first = shared.prepare("run").await.unwrap();
    let again = shared.prepare("run").await.unwrap();
    let inline = shared.gate.prepare(&files(&[("a", "1")])).await.unwrap();
    assert_eq!((first.base(), first.base()), (again.base(), inline.base()));
    shared.write("run/a", "2");
    let other = shared.prepare("run").await.unwrap();
    assert_ne!(first.tree(), other.tree());
}

#[tokio::test]
async fn only_what_is_below_an_allowed_root_is_taken() {
    let shared = Shared::new();
    shared.write("run/a", "1").write("../agents-of-others/a", "secret").write("../plain", "x");
    for path in ["../agents-of-others", "..", "../plain"] {
        let path = fs::canonicalize(shared.path("")).unwrap().join(path);
        let path = fs::canonicalize(path).unwrap();
        let error = shared.gate.prepare(&directory(&path)).await.unwrap_err();
        assert_eq!(error.blame(), Blame::Reporter);
        let told = Chain(&error).to_string();
        assert!(told.contains("DONEGATE_WORKSPACE_DIRECTORY_ROOTS"), "{told}");
    }
    let error = shared.refused("none").await;
    assert!(matches!(error, SourceError::NoDirectory { .. }), "{error:?}");
    let error = shared.refused("run/a").await;
    assert!(matches!(error, SourceError::NoDirectory { .. }), "{error:?}");
    let off = Gate::new().prepare(&directory(&shared.path("run"))).await.unwrap_err();
    assert!(Chain(&off).to_string().contains("DONEGATE_WORKSPACE_DIRECTORY_ROOTS"), "{off:?}");
    assert_eq!(off.blame(), Blame::Reporter);
}

#[tokio::test]
async fn no_link_leads_out_of_the_root() {
    let shared = Shared::new();
    shared.write("run/a", "1").write("../outside/secret", "secret");
    let outside = shared.volume.path().join("outside");
    symlink(&outside, shared.path("link")).unwrap();
    symlink("run", shared.path("inside")).unwrap();
    for path in ["link", "link/deeper", "inside"] {
        let error = shared.refused(path).await;
        assert!(matches!(error, SourceError::NoDirectory { .. }), "{path}: {error:?}");
    }
    let targets = ["/etc", "../../outside/secret", "..", outside.to_str().unwrap()];
    for target in targets {
        symlink(target, shared.path("run/link")).unwrap();
        let error = shared.refused("run").await;
        let told = error.to_string();
        assert!(told.contains("`link`") && told.contains("outside"), "{target}: {told}");
        fs::remove_file(shared.path("run/link")).unwrap();
    }
    shared.prepare("run").await.unwrap();
}

#[tokio::test]
async fn what_is_no_file_is_refused_by_its_name() {
    let shared = Shared::new();
    shared.write("run/a", "1");
    let pipe = shared.path("run/a-pipe");
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let told = shared.refused("run").await.to_string();
    assert!(told.contains("`a-pipe`") && told.contains("named pipe"), "{told}");
    fs::remove_file(pipe).unwrap();
    let listener = UnixListener::bind(shared.path("run/a-socket")).unwrap();
    let told = shared.refused("run").await.to_string();
    assert!(told.contains("`a-socket`") && told.contains("socket"), "{told}");
    drop(listener);
    fs::remove_file(shared.path("run/a-socket")).unwrap();
    let odd = std::ffi::OsStr::new("odd");
    let odd = [odd.as_encoded_bytes(), b"\xff"].concat();
    let odd = std::os::unix::ffi::OsStringExt::from_vec(odd);
    fs::write(shared.path("run").join::<std::ffi::OsString>(odd), "").unwrap();
    let told = shared.refused("run").await.to_string();
    assert!(told.contains("not UTF-8"), "{told}");
}

#[tokio::test]
async fn what_git_did_not_fetch_is_refused() {
    let shared = Shared::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    shared.write("lfs/big", pointer);
    let error = shared.refused("lfs").await;
    assert!(matches!(&error, SourceError::LfsPointer { path } if path == "big"), "{error:?}");
    shared.write("sub/.gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = x\n");
    fs::create_dir(shared.path("sub/lib")).unwrap();
    let error = shared.refused("sub").await;
    assert!(matches!(&error, SourceError::Submodule { path } if path == "lib"), "{error:?}");
    shared.write("sub/lib/a", "1");
    shared.prepare("sub").await.unwrap();
}

#[tokio::test]
async fn what_the_gate_may_not_read_is_named() {
    if rustix::process::getuid().is_root() {
        println!("not run: root may read everything");
        return;
    }
    let shared = Shared::new();
    shared.write("run/private", "1");
    fs::set_permissions(shared.path("run/private"), fs::Permissions::from_mode(0o000)).unwrap();
    let told = shared.refused("run").await.to_string();
    assert!(told.contains("`private`") && told.contains("may not read"), "{told}");
}

/// Writes to a file of the directory for as long as it is told to. When this returns, it has begun.
fn keep_writing(
    path: PathBuf,
    go_on: impl Fn() -> bool + Send + 'static,
) -> std::thread::JoinHandle<()> {
    let mut file = File::options().append(true).open(path).unwrap();
    let (begin, begun) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        while go_on() {
            file.write_all(b"x").unwrap();
            begin.send(()).ok();
        }
    });
    begun.recv().unwrap();
    thread
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_keeps_changing_is_the_reporters_fault() {
    let shared = Shared::new();
    shared.with_much_to_copy();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let is_on = move || stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
    let writer = keep_writing(shared.path("run/hot"), is_on);
    let error = shared.refused("run").await;
    drop(stop);
    writer.join().unwrap();
    let told = error.to_string();
    assert!(told.contains("kept changing while it was copied: hot"), "{told}");
    shared.prepare("run").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_comes_to_rest_is_copied_again() {
    let shared = Shared::new();
    shared.with_much_to_copy();
    let work = shared.gate.home().join("work");
    let own = fs::read_dir(work).unwrap().flatten().map(|it| it.path()).find(|it| it.is_dir());
    // The second attempt has a place of its own.
    let second = own.unwrap().join("1");
    let writer = keep_writing(shared.path("run/hot"), move || !second.exists());
    let workspace = shared.prepare("run").await.unwrap();
    writer.join().unwrap();
    let copied = fs::read(workspace.base().join("workspace/hot")).unwrap();
    assert_eq!(copied, fs::read(shared.path("run/hot")).unwrap());
}
