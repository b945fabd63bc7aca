//! Cursors: where the next page starts, opaque to the client.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The key of the last item of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor<K>(pub K);

/// The text was not made by the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is taken from `next_cursor` of the page before, unchanged")]
pub struct CursorError;

impl<K: ToString> Cursor<K> {
    /// The cursor as a client sees it.
    #[must_use]
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.to_string())
    }
}

impl<K: FromStr> Cursor<K> {
    /// # Errors
    /// When the text is not a cursor that [`Cursor::encode`] made for such a key.
    pub fn decode(text: &str) -> Result<Self, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).or(Err(CursorError))?;
        let key = String::from_utf8(bytes).or(Err(CursorError))?;
        key.parse().map(Self).or(Err(CursorError))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_what_it_wrote() {
        assert_eq!(Cursor::<u64>::decode(&Cursor(17_u64).encode()), Ok(Cursor(17)));
    }

    #[test]
    fn a_cursor_of_somebody_elses_making_is_refused() {
        for text in ["", "17", "?", "bm90IGEgbnVtYmVy"] {
            assert_eq!(Cursor::<u64>::decode(text), Err(CursorError), "{text}");
        }
    }
}
