//! Reads JSON in which every name has one meaning: a repeated name is refused, not overwritten.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value without repeated names.
pub(crate) struct StrictValue(pub(crate) Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strict).map(Self)
    }
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(de::Error::custom(format_args!("the name `{name}` is given twice")));
            }
            let value = entries.next_value_seed(Strict)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        serde_json::from_str::<StrictValue>(text).map(|it| it.0).map_err(|it| it.to_string())
    }

    #[test]
    fn a_repeated_name_is_refused_with_its_place() {
        let error = read("{\"a\": [{\"run\": 1, \"run\": 2}]}").unwrap_err();
        assert!(error.starts_with("the name `run` is given twice at line 1"), "{error}");
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,0.5,"x"]}"#;
        assert_eq!(read(text).unwrap().to_string(), text);
    }

    #[test]
    fn what_is_no_json_is_refused_and_does_not_overflow_the_stack() {
        for text in ["NaN", "1e400", "\"\\ud800\"", &"[".repeat(100_000), "{\"a\":1,}", ""] {
            assert!(read(text).is_err(), "{text:.20}");
        }
    }
}
