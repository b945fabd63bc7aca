//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::AnyError;

/// Directories that hold nothing of ours.
const SKIPPED: &[&str] = &[".git", "node_modules", "target"];

#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Below the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// All files that are text, in order.
pub(crate) fn files(root: &Path) -> Result<Vec<SourceFile>, AnyError> {
    let mut paths = Vec::new();
    collect(root, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(root)?.to_string_lossy().into_owned();
        if let Ok(text) = String::from_utf8(fs::read(&path)?) {
            files.push(SourceFile { path: relative, text });
        }
    }
    Ok(files)
}

fn collect(dir: &Path, paths: &mut Vec<PathBuf>) -> Result<(), AnyError> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !skipped {
            collect(&entry.path(), paths)?;
        } else if kind.is_file() && !skipped {
            paths.push(entry.path());
        }
    }
    Ok(())
}
