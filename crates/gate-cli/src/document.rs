//! Documents that people and agents write: read from a file or from standard input, within a bound.
//!
//! What they mean is left to `gate-api`; here they get their name, their
//! format, and the lines of their faults.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use gate_api::InvalidField;
use gate_api::body::{BodyError, Format};
use gate_core::limits::BODY_BYTES_MAX;

use crate::arguments::FormatWord;
use crate::error::CliError;
use crate::place::{Place, Places};

/// A document as it was written.
#[derive(Debug)]
pub(crate) struct Document {
    /// The file's name, for messages.
    pub(crate) name: String,
    /// How it is written.
    pub(crate) format: Format,
    /// Its bytes, unchanged.
    pub(crate) bytes: Vec<u8>,
}

/// One fault of a document, with its line where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// As the gate names it; empty for the document as a whole.
    pub(crate) pointer: String,
    /// What is wrong, and what to write instead.
    pub(crate) detail: String,
    /// Where the pointer leads.
    pub(crate) place: Option<Place>,
}

impl Document {
    /// Reads the file; `-` is standard input.
    pub(crate) fn read(path: &Path, format: Option<FormatWord>) -> Result<Self, CliError> {
        let bytes = read_bytes(path, BODY_BYTES_MAX as u64)?;
        let name = name_of(path);
        let format = match format.map_or_else(|| format_of(path, &bytes), Some) {
            Some(FormatWord::Json) => Format::Json,
            Some(FormatWord::Yaml) => Format::Yaml,
            None => return Err(CliError::Format { name }),
        };
        Ok(Self { name, format, bytes })
    }

    /// The faults that reading it found, each with its line.
    pub(crate) fn faults(&self, error: BodyError) -> Vec<Fault> {
        match error {
            BodyError::Syntax(detail) => {
                vec![Fault { pointer: String::new(), detail, place: None }]
            }
            BodyError::Form(fields) => self.located(fields),
        }
    }

    /// The faults that the gate found, each with its line.
    pub(crate) fn located(&self, fields: Vec<InvalidField>) -> Vec<Fault> {
        let places = Places::of(&self.bytes);
        let located = fields.into_iter().map(|InvalidField { pointer, detail }| {
            let place = places.find(&pointer);
            Fault { pointer, detail, place }
        });
        located.collect()
    }
}

impl From<InvalidField> for Fault {
    fn from(InvalidField { pointer, detail }: InvalidField) -> Self {
        Self { pointer, detail, place: None }
    }
}

/// Reads a file, or standard input for `-`, and refuses one that is larger than any should be.
pub(crate) fn read_bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = if is_stdin(path) {
        io::stdin().lock().take(bytes_max + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|it| it.take(bytes_max + 1).read_to_end(&mut bytes))
    };
    match read {
        Err(source) => Err(CliError::Read { name: name_of(path), source }),
        Ok(length) if length as u64 > bytes_max => {
            Err(CliError::TooLarge { name: name_of(path), bytes_max })
        }
        Ok(_) => Ok(bytes),
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name_of(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Told by the extension; on standard input a document that starts with a brace is JSON.
fn format_of(path: &Path, bytes: &[u8]) -> Option<FormatWord> {
    if is_stdin(path) {
        let starts_with_brace = bytes.trim_ascii_start().starts_with(b"{");
        return Some(if starts_with_brace { FormatWord::Json } else { FormatWord::Yaml });
    }
    let extension = path.extension()?.to_str()?;
    match extension.to_ascii_lowercase().as_str() {
        "json" => Some(FormatWord::Json),
        "yaml" | "yml" => Some(FormatWord::Yaml),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_told_by_the_extension_or_by_the_first_letter() {
        for (path, bytes, format) in [
            ("a.json", "", Some(FormatWord::Json)),
            ("a.YML", "", Some(FormatWord::Yaml)),
            ("a.txt", "{", None),
            ("a", "{", None),
            ("-", "\n {", Some(FormatWord::Json)),
            ("-", "title: x", Some(FormatWord::Yaml)),
        ] {
            assert_eq!(format_of(Path::new(path), bytes.as_bytes()), format, "{path}");
        }
    }
}
