//! Reads a commit's tree out of a mirror, over the pipes of one `git cat-file --batch`.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use gate_core::limits::PATH_BYTES_MAX;
use gate_core::{GitSource, TreePath};

use super::super::error::{EntryFault, SourceError};
use super::super::place::{has_git_part, plain_path};
use super::super::writer::TreeWriter;
use crate::limits::GIT_TREE_BYTES_MAX;
use crate::spawn;
use crate::stop::KillOnDrop;

/// Objects that are asked for before the first answer is read. All their names fit into a pipe, so that
/// neither side can wait for the other.
const WINDOW: usize = 256;
const NAME_BYTES_MAX: usize = 64 + 1;
const PIPE_BYTES_MIN: usize = 64 * 1024;
const _: () = assert!(WINDOW * NAME_BYTES_MAX < PIPE_BYTES_MIN);

/// What a mirror does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Mirror,
    Commit,
    /// Something that the commit names, or that git needs to read it.
    Part,
}

impl Missing {
    /// What an error says that the mirror does not have.
    pub(super) fn of(error: &SourceError) -> Option<Self> {
        let SourceError::System { source, .. } = error else { return None };
        source.get_ref().and_then(|it| it.downcast_ref::<Self>()).copied()
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mirror lacks objects")
    }
}

impl std::error::Error for Missing {}

impl From<Missing> for SourceError {
    fn from(missing: Missing) -> Self {
        Self::system("reading the mirror")(io::Error::other(missing))
    }
}

/// Writes the tree of a commit.
pub(super) fn write(
    mirror: &Path,
    variables: &[(OsString, OsString)],
    source: &GitSource,
    writer: &mut TreeWriter<'_>,
) -> Result<(), SourceError> {
    let mut objects = Objects::open(mirror, variables)?;
    let mut tree = objects.tree_of(source.commit())?;
    if let Some(directory) = source.subdirectory() {
        tree = objects.descend(tree, directory)?;
    }
    objects.write(tree, writer)
}

/// Writes a tree by its own id.
pub(in super::super) fn write_tree(
    repository: &Path,
    variables: &[(OsString, OsString)],
    tree: &str,
    writer: &mut TreeWriter<'_>,
) -> Result<(), SourceError> {
    Objects::open(repository, variables)?.write(tree.to_owned(), writer)
}

struct Entry {
    mode: String,
    name: Vec<u8>,
    id: String,
}

impl Entry {
    /// A name that git itself would never have put there is an attack.
    fn path(&self, prefix: &str) -> Result<String, SourceError> {
        let whole = [prefix.as_bytes(), &self.name].concat();
        let fault = |it| SourceError::entry(&whole, it);
        if self.name.contains(&b'/') || matches!(self.name.as_slice(), b"" | b".") {
            return Err(fault(EntryFault::Name));
        }
        let path = plain_path(&whole).map_err(fault)?;
        if has_git_part(&path) { Err(fault(EntryFault::Git)) } else { Ok(path) }
    }
}

/// A `git cat-file --batch` at work.
struct Objects {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _git: KillOnDrop,
}

struct Header {
    kind: String,
    size_bytes: u64,
}

impl Objects {
    fn open(mirror: &Path, variables: &[(OsString, OsString)]) -> Result<Self, SourceError> {
        let failed = SourceError::system("starting git");
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let mut command = spawn::piped(&spawn::program_on("git".as_ref(), path), variables);
        command.arg("--git-dir").arg(mirror).args(["cat-file", "--batch"]);
        command.current_dir(mirror).stderr(std::process::Stdio::null());
        let mut git = command.spawn().map(KillOnDrop).map_err(failed)?;
        let pipes = git.0.stdin.take().zip(git.0.stdout.take());
        let lost = || SourceError::system("starting git")(io::Error::other("a pipe is missing"));
        let (questions, answers) = pipes.ok_or_else(lost)?;
        let answers = BufReader::with_capacity(PIPE_BYTES_MIN, answers);
        Ok(Self { questions, answers, _git: git })
    }

    /// Writes all that is below a tree.
    fn write(&mut self, tree: String, writer: &mut TreeWriter<'_>) -> Result<(), SourceError> {
        let mut waiting = vec![(String::new(), tree)];
        while let Some((prefix, tree)) = waiting.pop() {
            let mut blobs = Vec::new();
            for entry in self.tree(&tree)? {
                let path = entry.path(&prefix)?;
                match entry.mode.as_str() {
                    "40000" => waiting.push((format!("{path}/"), entry.id)),
                    "160000" => return Err(SourceError::Submodule { path }),
                    "120000" | "100644" | "100755" | "100664" => blobs.push((path, entry)),
                    _ => {
                        return Err(SourceError::entry(
                            path,
                            EntryFault::Kind("unknown git object"),
                        ));
                    }
                }
            }
            for window in blobs.chunks(WINDOW) {
                self.ask(window.iter().map(|(_, entry)| entry.id.as_str()))?;
                for (path, entry) in window {
                    self.write_blob(path, &entry.mode, writer)?;
                }
            }
        }
        // A submodule is an entry of its own here, and a list of them may be out of date.
        writer.expect_no_submodules();
        Ok(())
    }

    fn ask<'i>(&mut self, ids: impl Iterator<Item = &'i str>) -> Result<(), SourceError> {
        let text: String = ids.flat_map(|it| [it, "\n"]).collect();
        match self.questions.write_all(text.as_bytes()) {
            // Git gave up, as below.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Missing::Part.into()),
            written => written.map_err(of_git),
        }
    }

    /// `None` where the mirror does not have the object.
    fn header(&mut self) -> Result<Option<Header>, SourceError> {
        let mut line = String::new();
        let mut bounded = (&mut self.answers).take(200);
        bounded.read_line(&mut line).map_err(of_git)?;
        // Git gave up: the mirror is no repository any more, or an object in it is damaged.
        if line.is_empty() {
            return Err(Missing::Part.into());
        }
        let mut words = line.trim_end().split(' ').skip(1);
        match (words.next(), words.next().map(str::parse)) {
            (Some("missing"), None) => Ok(None),
            (Some(kind), Some(Ok(size_bytes))) => {
                Ok(Some(Header { kind: kind.to_owned(), size_bytes }))
            }
            _ => Err(of_git(io::Error::other(format!("git answered {line:?}")))),
        }
    }

    /// The body of a small object, and the newline behind it.
    fn body(&mut self, size_bytes: u64, limit: u64) -> Result<Vec<u8>, SourceError> {
        if size_bytes > limit {
            return Err(SourceError::TooLarge { limit, unit: "bytes in one git object" });
        }
        let mut body = Vec::new();
        (&mut self.answers).take(size_bytes).read_to_end(&mut body).map_err(of_git)?;
        self.newline()?;
        Ok(body)
    }

    fn newline(&mut self) -> Result<(), SourceError> {
        let mut newline = [0];
        self.answers.read_exact(&mut newline).map_err(of_git)?;
        if newline == *b"\n" {
            Ok(())
        } else {
            Err(of_git(io::Error::other("git's answer is longer than it said")))
        }
    }

    /// The id of a commit's tree.
    fn tree_of(&mut self, commit: &str) -> Result<String, SourceError> {
        self.ask(std::iter::once(commit))?;
        let header = self.header()?.ok_or(Missing::Commit)?;
        if header.kind != "commit" {
            return Err(SourceError::NotACommit { id: commit.to_owned(), kind: header.kind });
        }
        let body = self.body(header.size_bytes, GIT_TREE_BYTES_MAX)?;
        let line = body.split(|it| *it == b'\n').next().unwrap_or_default();
        let id = std::str::from_utf8(line).ok().and_then(|it| it.strip_prefix("tree "));
        let id = id.filter(|it| it.len() == commit.len());
        let damaged = || of_git(io::Error::other("the commit names no tree"));
        id.map(str::to_owned).ok_or_else(damaged)
    }

    fn tree(&mut self, id: &str) -> Result<Vec<Entry>, SourceError> {
        self.ask(std::iter::once(id))?;
        let header = self.header()?.ok_or(Missing::Part)?;
        let body = self.body(header.size_bytes, GIT_TREE_BYTES_MAX)?;
        entries(&body, id.len() / 2).ok_or_else(|| of_git(io::Error::other("a tree is damaged")))
    }

    fn descend(&mut self, root: String, directory: &TreePath) -> Result<String, SourceError> {
        let mut at = root;
        for part in directory.as_str().split('/') {
            let mut entries = self.tree(&at)?.into_iter();
            let found = entries.find(|it| it.name == part.as_bytes());
            let path = || directory.as_str().to_owned();
            at = match found {
                Some(it) if it.mode == "40000" => it.id,
                Some(it) if it.mode == "160000" => {
                    return Err(SourceError::Submodule { path: path() });
                }
                Some(_) | None => return Err(SourceError::NoSubdirectory { path: path() }),
            };
        }
        Ok(at)
    }

    fn write_blob(
        &mut self,
        path: &str,
        mode: &str,
        writer: &mut TreeWriter<'_>,
    ) -> Result<(), SourceError> {
        let Header { size_bytes, .. } = self.header()?.ok_or(Missing::Part)?;
        if mode == "120000" {
            let target = self.body(size_bytes, PATH_BYTES_MAX as u64)?;
            return writer.link(path, &target);
        }
        let executable = mode == "100755";
        writer.file(path, executable, size_bytes, &mut GitBody(&mut self.answers))?;
        self.newline()
    }
}

/// Git's pipe, whose end is git's fault and not the file's.
struct GitBody<'a>(&'a mut BufReader<ChildStdout>);

impl Read for GitBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Ok(0) if !buffer.is_empty() => {
                Err(io::Error::other(of_git(io::ErrorKind::UnexpectedEof.into())))
            }
            other => other,
        }
    }
}

fn of_git(error: io::Error) -> SourceError {
    SourceError::system("reading the mirror")(error)
}

/// `<mode> <name>NUL<id>`, again and again.
fn entries(mut body: &[u8], id_bytes: usize) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !body.is_empty() {
        let space = body.iter().position(|it| *it == b' ')?;
        let end = body.iter().position(|it| *it == 0)?;
        let name = body.get(space + 1..end)?.to_vec();
        let mode = std::str::from_utf8(&body[..space]).ok()?.to_owned();
        let id = body.get(end + 1..end + 1 + id_bytes)?;
        let id = id.iter().map(|it| format!("{it:02x}")).collect();
        entries.push(Entry { mode, name, id });
        body = &body[end + 1 + id_bytes..];
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_tree_is_no_tree() {
        let whole = [b"100644 a\0".as_slice(), &[7; 20]].concat();
        assert_eq!(entries(&whole, 20).unwrap()[0].id, "07".repeat(20));
        for end in 1..whole.len() {
            assert!(entries(&whole[..end], 20).is_none(), "{end}");
        }
    }

    #[test]
    fn names_that_git_would_not_store_are_refused() {
        let path = |name: &[u8]| {
            Entry { mode: String::new(), name: name.to_vec(), id: String::new() }.path("d/")
        };
        for name in [b"..".as_slice(), b".", b"", b"a/b", b".git", b".GiT", b"a\xff"] {
            assert!(path(name).is_err(), "{name:?}");
        }
        assert_eq!(path(b".gitignore").unwrap(), "d/.gitignore");
    }
}
