//! This very executable, made ready to run in any image: with its loader and the libraries that it needs.
//!
//! An image may have no libraries at all, or those of another system. The loader is started by its
//! own name and told where to look, so that nothing of the image takes part.

use std::ffi::{CStr, c_int, c_void};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::limits::CONTAINER_INIT;

const EXECUTABLE: &str = "donegate";

/// What engines would make of the host's own, with its names and its neighbours.
const FILES: [(&str, &str); 2] =
    [("hosts", "127.0.0.1 localhost donegate\n::1 localhost\n"), ("resolv.conf", "")];

/// How a container starts this executable: at once, or by its loader.
#[derive(Debug, Clone)]
pub(super) struct InitWords {
    pub(super) entrypoint: String,
    pub(super) arguments: Vec<String>,
}

/// Copies the executable and what it needs to `directory`, and tells how a container starts it.
pub(super) fn lay_in(directory: &Path) -> io::Result<InitWords> {
    // In the container others than its owner run it, too; on the host nobody gets past the directories above.
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    let to = directory.join(EXECUTABLE);
    // The file may have been replaced meanwhile: then only a copy is still the one that runs.
    let is_same = |path: &Path| -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let (own, there) = (fs::metadata("/proc/self/exe")?, fs::metadata(path)?);
        Ok((own.dev(), own.ino()) == (there.dev(), there.ino()))
    };
    let name = fs::read_link("/proc/self/exe")?;
    let is_for_all = fs::metadata("/proc/self/exe")?.permissions().mode() & 0o555 == 0o555;
    if !is_for_all || fs::hard_link(&name, &to).is_err() || !is_same(&to)? {
        fs::remove_file(&to).ok();
        fs::copy("/proc/self/exe", &to)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
    }
    let mut loader = None;
    for library in libraries() {
        let name = library.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
        let copy = directory.join(&name);
        fs::copy(&library, &copy)?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        if name.starts_with("ld-") {
            loader = Some(name);
        }
    }
    let inside = |name: &str| format!("{CONTAINER_INIT}/{name}");
    let executable = inside(EXECUTABLE);
    for (name, text) in FILES {
        let file = directory.join(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
    }
    Ok(match loader {
        Some(loader) => InitWords {
            entrypoint: inside(&loader),
            arguments: vec!["--library-path".to_owned(), CONTAINER_INIT.to_owned(), executable],
        },
        None => InitWords { entrypoint: executable, arguments: Vec::new() },
    })
}

/// The shared libraries of this process, the loader among them, by the names that they were asked for.
#[expect(unsafe_code, reason = "std does not tell what was loaded")]
fn libraries() -> Vec<PathBuf> {
    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives a valid entry, whose name is a text or null, and `found` is what is given below.
        let (name, found) = unsafe { ((*info).dlpi_name, &mut *found.cast::<Vec<PathBuf>>()) };
        if !name.is_null() {
            // SAFETY: it is not null, and ends with a zero byte.
            let name = unsafe { CStr::from_ptr(name) };
            found.push(PathBuf::from(name.to_string_lossy().into_owned()));
        }
        0
    }
    let mut found: Vec<PathBuf> = Vec::new();
    // SAFETY: the callback matches, unwinds never, and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    // The executable itself has no name there, and what the kernel lays in has no path.
    found.retain(|it| it.is_absolute() && it.exists());
    found
}

/// Each file of `/etc` that a container gets from here, and where it is.
pub(super) fn etc(directory: &Path) -> [(PathBuf, String); 2] {
    FILES.map(|(name, _)| (directory.join(name), format!("/etc/{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_laid_in_with_its_loader_which_may_be_executed() {
        let home = tempfile::tempdir().unwrap();
        let InitWords { entrypoint, arguments } = lay_in(home.path()).unwrap();
        let words = std::iter::once(&entrypoint).chain(&arguments);
        assert_eq!(words.clone().next_back().unwrap(), "/donegate/init/donegate");
        for name in words.filter_map(|it| it.strip_prefix("/donegate/init/")) {
            let mode = fs::metadata(home.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o100, 0o100, "{name}");
        }
    }

    /// Without anything of the host's: the loader is asked what it finds.
    #[test]
    fn nothing_is_missing_where_only_what_was_laid_in_is_looked_at() {
        let home = tempfile::tempdir().unwrap();
        let words = lay_in(home.path()).unwrap();
        let at = |word: &str| home.path().join(word.strip_prefix("/donegate/init/").unwrap());
        let [.., executable] = &words.arguments[..] else {
            println!("not run: this executable needs no loader");
            return;
        };
        let asked = crate::spawn::plain(at(&words.entrypoint))
            .args([Path::new("--inhibit-cache"), Path::new("--library-path"), home.path()])
            .arg("--list")
            .arg(at(executable))
            .env_clear()
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&asked.stdout);
        for line in said.lines().filter(|it| it.contains("=>")) {
            assert!(line.contains(home.path().to_str().unwrap()), "{line}");
        }
        assert!(said.contains("libc.so") || said.contains("musl"), "{said}");
    }
}
