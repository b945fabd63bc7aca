//! Parses JSON that may stand among other lines, and forgives what is null or missing.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::Broken;
use crate::limits::DOCUMENT_VALUES_MAX;

/// The first value, and how many bytes it takes.
pub(super) fn first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), Broken> {
    VALUES_LEFT.set(DOCUMENT_VALUES_MAX);
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<T>();
    match values.next() {
        Some(Ok(value)) => {
            let length = values.byte_offset();
            Ok((value, length))
        }
        Some(Err(error)) if error.is_eof() => Err("it ends too early".to_owned().into()),
        Some(Err(error)) => {
            let why = format!("it is no JSON of the expected form: {error}");
            Err(Broken { why, looked_bytes: offset(bytes, error.line(), error.column()) })
        }
        None => Err("it is empty".to_owned().into()),
    }
}

/// Of a line and a column that are counted from 1.
fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let above = line.checked_sub(2).and_then(|it| memchr::memchr_iter(b'\n', bytes).nth(it));
    above.map_or(0, |it| it + 1) + column
}

/// The lines that are such values, with their positions; other lines are passed over.
pub(super) fn lines<T: DeserializeOwned>(bytes: &[u8]) -> impl Iterator<Item = Line<T>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        while start < bytes.len() {
            let at = start;
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |it| at + it);
            start = end + 1;
            VALUES_LEFT.set(DOCUMENT_VALUES_MAX);
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

/// For `#[serde(default, deserialize_with)]`: null is nothing. All lists of a document together have at most
/// [`DOCUMENT_VALUES_MAX`] values: an empty one takes two bytes in the document, and a hundred times more here.
pub(super) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<List<T>>::deserialize(from)?.map_or_else(Vec::new, |it| it.0))
}

/// A list with values that are counted.
#[derive(Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

thread_local! {
    /// Of the document that is read. Only a reader per type could hand it down.
    static VALUES_LEFT: Cell<usize> = const { Cell::new(DOCUMENT_VALUES_MAX) };
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Values<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = from.next_element()? {
                    let left = VALUES_LEFT.get().checked_sub(1).ok_or_else(|| {
                        de::Error::custom(format!("more than {DOCUMENT_VALUES_MAX} values"))
                    })?;
                    VALUES_LEFT.set(left);
                    values.push(value);
                }
                Ok(values)
            }
        }

        from.deserialize_seq(Values(PhantomData)).map(Self)
    }
}

/// Text, or a number as text; what is neither is passed over.
#[derive(Debug, Clone, Default)]
pub(super) struct Word(pub(super) String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Simple).map(Self)
    }
}

/// Whole numbers; what is larger than any line, negative, or a fraction is none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figure(pub(super) Option<u32>);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(from.deserialize_any(Simple)?.parse().ok()))
    }
}

/// Takes one value as text, and keeps nothing of a list or an object, however large.
struct Simple;

impl<'de> Visitor<'de> for Simple {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_unit<E: de::Error>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<String, A::Error> {
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<String, A::Error> {
        while from.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_says_how_far_it_was_looked_at() {
        let broken = first::<List<Figure>>(b"[1,\n2,\n3 x, 4]").unwrap_err();
        assert_eq!(broken.looked_bytes, "[1,\n2,\n3 x".len());
    }

    #[test]
    fn what_is_neither_text_nor_a_number_is_passed_over() {
        let figures: Vec<Option<u32>> = first::<List<Figure>>(
            br#"[7, "8", 1.5, -1, null, true, [1, [2]], {"a": {"b": 1}}, 4294967296]"#,
        )
        .map(|it| it.0.0.iter().map(|it| it.0).collect())
        .unwrap();
        let mut expected = vec![Some(7), Some(8)];
        expected.resize(9, None);
        assert_eq!(figures, expected);
        let (word, length): (Word, usize) = first(b"1.5 and more").unwrap();
        assert_eq!((word.0.as_str(), length), ("1.5", 3));
    }

    #[test]
    fn the_values_of_all_lists_together_are_bounded() {
        let half = "0,".repeat(DOCUMENT_VALUES_MAX / 2);
        let whole = format!("[[{half}0],[{half}0]]");
        let broken = first::<List<List<Figure>>>(whole.as_bytes()).unwrap_err();
        assert!(broken.why.contains("values"), "{broken:?}");
        let (read, _) = first::<List<Figure>>(format!("[{half}0]").as_bytes()).unwrap();
        assert_eq!(read.0.len(), DOCUMENT_VALUES_MAX / 2 + 1);
    }
}
