//! JUnit XML in the dialects of nextest, pytest, surefire, and the many others; the root may be one suite.
//!
//! The cases are counted one by one: the totals that the attributes claim are often wrong.

mod case;
mod dialect;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use self::case::Case;
use self::dialect::Dialect;
use super::{Broken, Channel, Document, Found, Head};
use crate::draft::{Counts, Failure};
use crate::limits::{ENTRIES_MAX, FAILING_TESTS_MAX};
use crate::parsers::Context;

/// See the module.
pub(super) const JUNIT: Channel = Channel { tool: "", programs: PROGRAMS, is, read };

/// Those whose reporters can write it to the output.
const PROGRAMS: &[&str] =
    &["cat", "vitest", "mocha", "bats", "node", "playwright", "rspec", "bun", "deno", "ctest"];

/// Bytes of one failure's text that are kept.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// What is known of a file so far.
struct Cases<'a> {
    document: &'a Document<'a>,
    cx: &'a Context<'a>,
    counts: Counts,
    dialect: Dialect,
    failures: Vec<Failure>,
    /// The one that is open, and where it starts.
    case: Option<(Case, usize)>,
    in_failure: bool,
    cases: usize,
    depth: usize,
}

fn is(head: &Head<'_>) -> bool {
    let start = head.text.trim_start();
    let is_xml = ["<?xml", "<testsuite", "<!--"].iter().any(|it| start.starts_with(it));
    is_xml && head.text.contains("<testsuite")
}

fn read(document: &Document<'_>, cx: &Context<'_>) -> Result<Found, Broken> {
    let mut reader = Reader::from_reader(document.bytes);
    reader.config_mut().check_end_names = true;
    let mut cases = Cases {
        document,
        cx,
        counts: Counts::NONE,
        dialect: Dialect::default(),
        failures: Vec::new(),
        case: None,
        in_failure: false,
        cases: 0,
        depth: 0,
    };
    loop {
        let at = position(&reader);
        let event = reader.read_event().map_err(|it| broken(&it.to_string()));
        let is_over = event.and_then(|it| cases.event(&it, at));
        let is_over = is_over.map_err(|why| Broken { why, looked_bytes: position(&reader) })?;
        if cases.cases > ENTRIES_MAX {
            let why = format!("it has more than {ENTRIES_MAX} tests");
            return Err(Broken { why, looked_bytes: at });
        }
        if is_over {
            break;
        }
    }
    let mut found = Found { length: position(&reader), ..Found::default() };
    found.draft.counts = Some(cases.counts);
    found.draft.failures = cases.failures;
    found.draft.tool = Some(cases.dialect.tool).filter(|it| !it.is_empty());
    Ok(found)
}

impl Cases<'_> {
    /// Whether the root is closed.
    fn event(&mut self, event: &Event<'_>, at: usize) -> Result<bool, String> {
        match event {
            Event::Eof if self.depth > 0 => return Err(broken("it ends too early")),
            Event::Eof => return Ok(true),
            Event::Start(tag) => {
                self.depth += 1;
                self.start(tag, at);
            }
            Event::Empty(tag) => {
                self.empty(tag);
                return Ok(self.depth == 0);
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                self.end(tag.local_name().as_ref());
                return Ok(self.depth == 0);
            }
            Event::Text(text) => self.text(&text.decode().unwrap_or_default()),
            Event::CData(text) => self.text(&text.decode().unwrap_or_default()),
            Event::GeneralRef(name) if self.in_failure => self.text(&entity(name)),
            _ => {}
        }
        Ok(false)
    }

    fn start(&mut self, tag: &BytesStart<'_>, at: usize) {
        match tag.local_name().as_ref() {
            b"testcase" => self.case = Some((Case::read(tag), at)),
            b"testsuite" | b"testsuites" => self.dialect.open(tag),
            _ => self.in_failure = self.case.as_mut().is_some_and(|it| it.0.child(tag)),
        }
    }

    fn empty(&mut self, tag: &BytesStart<'_>) {
        match tag.local_name().as_ref() {
            b"testcase" => {
                self.cases += 1;
                Case::read(tag).count(&mut self.dialect, &mut self.counts);
            }
            b"testsuite" | b"testsuites" => {
                self.dialect.open(tag);
                self.dialect.close(&mut self.counts);
            }
            b"property" => self.dialect.property(tag),
            _ => {
                if let Some((case, _)) = &mut self.case {
                    case.child(tag);
                }
            }
        }
    }

    fn end(&mut self, name: &[u8]) {
        self.in_failure = false;
        match name {
            b"testcase" => {
                self.cases += 1;
                let Some((case, at)) = self.case.take() else { return };
                case.count(&mut self.dialect, &mut self.counts);
                if case.is_failed() && self.failures.len() < FAILING_TESTS_MAX {
                    let failure = case.failure(&self.dialect, at, self.document, self.cx);
                    self.failures.push(failure);
                }
            }
            b"testsuite" | b"testsuites" => self.dialect.close(&mut self.counts),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((case, _)) = self.case.as_mut().filter(|_| self.in_failure) {
            case.add(text);
        }
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn broken(why: &str) -> String {
    format!("it is no whole XML: {why}")
}

/// One of the five that XML has, or a character's number.
fn entity(name: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = name.resolve_char_ref() {
        return character.to_string();
    }
    let name = name.decode().unwrap_or_default();
    quick_xml::escape::resolve_xml_entity(&name).unwrap_or_default().to_owned()
}
