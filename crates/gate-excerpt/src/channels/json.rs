//! Parses JSON that may stand among other lines, and forgives what is null or missing.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};

/// The first value, and how many bytes it takes.
pub(super) fn first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), String> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<T>();
    match values.next() {
        Some(Ok(value)) => {
            let length = values.byte_offset();
            Ok((value, length))
        }
        Some(Err(error)) if error.is_eof() => Err("it ends too early".to_owned()),
        Some(Err(error)) => Err(format!("it is no JSON of the expected form: {error}")),
        None => Err("it is empty".to_owned()),
    }
}

/// The lines that are such values, with their positions; other lines are passed over.
pub(super) fn lines<T: DeserializeOwned>(bytes: &[u8]) -> impl Iterator<Item = Line<T>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        while start < bytes.len() {
            let at = start;
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |it| at + it);
            start = end + 1;
            let line = bytes[at..end].trim_ascii();
            if line.first() == Some(&b'{')
                && let Ok(value) = serde_json::from_slice(line)
            {
                return Some(Line { at, end: start.min(bytes.len()), value });
            }
        }
        None
    })
}

/// One line.
#[derive(Debug)]
pub(super) struct Line<T> {
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) value: T,
}

/// For `#[serde(default, deserialize_with)]`: null is nothing.
pub(super) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Text, or a number as text.
#[derive(Debug, Clone, Default)]
pub(super) struct Word(pub(super) String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(match serde_json::Value::deserialize(from)? {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            _ => String::new(),
        }))
    }
}

/// Whole numbers; what is larger than any line, negative, or a fraction is none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figure(pub(super) Option<u32>);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        Ok(Self(number.and_then(|it| u32::try_from(it).ok())))
    }
}
