//! The elements of an XML manifest, as flat as its readers need them: name, attributes, and the text directly inside.

use quick_xml::Reader;
use quick_xml::events::Event;

/// Elements of one document; more are left out.
const ELEMENTS_MAX: usize = 20_000;

/// One element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    /// Without its prefix.
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }
}

/// All elements in the order of their starts; those before the fault where the document is broken.
pub(crate) fn elements(text: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(text);
    let mut found: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    while found.len() < ELEMENTS_MAX {
        let event = match reader.read_event() {
            Ok(Event::Eof) | Err(_) => break,
            Ok(event) => event,
        };
        match event {
            Event::Start(start) => {
                open.push(found.len());
                found.push(element(&start));
            }
            Event::Empty(start) => found.push(element(&start)),
            Event::End(_) => drop(open.pop()),
            Event::Text(text) => {
                if let Some(at) = open.last()
                    && let Ok(text) = text.decode()
                {
                    found[*at].text.push_str(text.trim());
                }
            }
            _ => {}
        }
    }
    found
}

fn element(start: &quick_xml::events::BytesStart<'_>) -> Element {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let attributes = start.attributes().flatten();
    Element {
        name: text(start.local_name().as_ref()),
        attributes: attributes
            .map(|it| (text(it.key.local_name().as_ref()), text(&it.value)))
            .collect(),
        text: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_elements_and_prefixes_are_left_out() {
        let text = r#"<?xml version="1.0"?><m:project a="1"><!-- <x/> --><m:module> web </m:module><y/></m:project>"#;
        let found = elements(text);
        let names: Vec<_> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["project", "module", "y"]);
        assert_eq!(found[0].attribute("a"), Some("1"));
        assert_eq!(found[1].text, "web");
    }

    #[test]
    fn a_broken_document_has_the_elements_before_its_fault() {
        assert_eq!(elements("<a><b></c>").len(), 2);
        assert_eq!(elements("no xml").len(), 0);
    }
}
