//! Small trees that came with the document itself.

use gate_core::InlineFile;

use super::error::{EntryFault, SourceError};
use super::place::{has_git_part, plain_path};
use super::writer::TreeWriter;

/// Writes the files of an inline tree.
pub(super) fn write(files: &[InlineFile], writer: &mut TreeWriter<'_>) -> Result<(), SourceError> {
    for file in files {
        let name = file.path.as_str();
        let path = plain_path(name.as_bytes()).map_err(|it| SourceError::entry(name, it))?;
        if has_git_part(&path) {
            return Err(SourceError::entry(name, EntryFault::Git));
        }
        let size_bytes = file.content.len() as u64;
        writer.file(&path, file.executable, size_bytes, &mut file.content.as_slice())?;
    }
    Ok(())
}
