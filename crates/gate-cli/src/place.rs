//! Where in the text a JSON pointer leads: the line and the column, for YAML and for JSON.
//!
//! JSON is read as the YAML that it nearly always is. A text that cannot be
//! read has no places; its faults are then shown without lines.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A place in a text, from line 1 and column 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// From 1.
    pub(crate) line: u64,
    /// From 1, in characters.
    pub(crate) column: u64,
}

/// All places of a text.
#[derive(Debug)]
pub(crate) struct Places(Option<Node>);

#[derive(Debug)]
struct Node {
    place: Place,
    inside: Inside,
}

#[derive(Debug)]
enum Inside {
    /// Names with the place of the name, not of its value: that is where people look.
    Map(Vec<(Spanned<String>, Node)>),
    List(Vec<Node>),
    Leaf,
}

impl Places {
    /// Reads them; none where the text cannot be read.
    pub(crate) fn of(text: &[u8]) -> Self {
        Self(std::str::from_utf8(text).ok().and_then(|it| serde_saphyr::from_str(it).ok()))
    }

    /// Where the pointer leads; for what is not there, the nearest that is.
    pub(crate) fn find(&self, pointer: &str) -> Option<Place> {
        let mut node = self.0.as_ref()?;
        let mut place = node.place;
        // A pointer to a parameter (`?name`) leads nowhere in the text.
        let Some(parts) = pointer.strip_prefix('/') else {
            return pointer.is_empty().then_some(place);
        };
        for part in parts.split('/') {
            let part = part.replace("~1", "/").replace("~0", "~");
            let next = match &node.inside {
                Inside::Map(entries) => {
                    let entry = entries.iter().find(|(name, _)| name.value == part);
                    entry.map(|(name, value)| (place_of(name), value))
                }
                Inside::List(items) => {
                    let item = part.parse::<usize>().ok().and_then(|it| items.get(it));
                    item.map(|it| (it.place, it))
                }
                Inside::Leaf => None,
            };
            let Some(next) = next else { break };
            (place, node) = next;
        }
        Some(place)
    }
}

fn place_of<T>(spanned: &Spanned<T>) -> Place {
    Place { line: spanned.referenced.line(), column: spanned.referenced.column() }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Inside>::deserialize(deserializer)?;
        Ok(Self { place: place_of(&spanned), inside: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Inside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InsideVisitor)
    }
}

struct InsideVisitor;

impl<'de> Visitor<'de> for InsideVisitor {
    type Value = Inside;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Inside, E> {
        Ok(Inside::Leaf)
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Inside, E> {
        Ok(Inside::Leaf)
    }

    fn visit_i64<E>(self, _value: i64) -> Result<Inside, E> {
        Ok(Inside::Leaf)
    }

    fn visit_u64<E>(self, _value: u64) -> Result<Inside, E> {
        Ok(Inside::Leaf)
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Inside, E> {
        Ok(Inside::Leaf)
    }

    fn visit_str<E>(self, _value: &str) -> Result<Inside, E> {
        Ok(Inside::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Inside, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Inside::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Inside, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Inside::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, pointer: &str) -> Option<(u64, u64)> {
        Places::of(text.as_bytes()).find(pointer).map(|it| (it.line, it.column))
    }

    const YAML: &str = "\
title: x
checks:
  - id: a
    run: [cargo, test]
  - { id: b, kind: files, 'a/b': 1 }
limits:
  run_seconds: 0
";

    #[test]
    fn a_pointer_leads_to_its_name_or_its_item() {
        for (pointer, place) in [
            ("/title", (1, 1)),
            ("/checks/0", (3, 5)),
            ("/checks/0/run", (4, 5)),
            ("/checks/0/run/1", (4, 18)),
            ("/checks/1/kind", (5, 14)),
            ("/checks/1/a~1b", (5, 27)),
            ("/limits/run_seconds", (7, 3)),
        ] {
            assert_eq!(find(YAML, pointer), Some(place), "{pointer}");
        }
    }

    #[test]
    fn what_is_missing_is_looked_for_where_it_belongs() {
        assert_eq!(find(YAML, "/criteria"), Some((1, 1)));
        assert_eq!(find(YAML, "/checks/0/kind"), Some((3, 5)));
        assert_eq!(find(YAML, "/checks/7/kind"), Some((2, 1)));
        assert_eq!(find(YAML, "?reason"), None);
    }

    #[test]
    fn json_has_places_too() {
        let json =
            "{\n  \"title\": null,\n\t\"checks\": [\n\t\t{\"id\": 1.5, \"blocking\": true}\n\t]\n}";
        assert_eq!(find(json, "/title"), Some((2, 3)));
        assert_eq!(find(json, "/checks/0/blocking"), Some((4, 15)));
    }

    #[test]
    fn what_cannot_be_read_has_no_places() {
        for text in ["a: [", "a: 1\na: 2\n", "\0"] {
            assert_eq!(find(text, "/a"), None, "{text}");
        }
    }
}
