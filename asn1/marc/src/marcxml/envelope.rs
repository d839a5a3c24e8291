//! The elements around a record in a saved SRU or OAI-PMH response, where the record is escaped or encoded.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;
use quick_xml::reader::Reader;

use super::read::attribute;

/// Returns the text of the first `recordData`, if its record is escaped XML, i.e. has string packing (SRU 1.2,
/// recordPacking; SRU 2.0, recordXMLEscaping).
pub(crate) fn packed(text: &str) -> Option<String> {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) if start.local_name().as_ref() == "recordData" => break,
            Event::Eof => return None,
            _ => {}
        }
    }
    let mut packed = String::new();
    loop {
        match reader.read_event().ok()? {
            Event::Text(text) => packed.push_str(&text.xml10_content()),
            Event::CData(text) => packed.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => match resolve_xml_entity(&reference.xml10_content()) {
                Some(meant) => packed.push_str(meant),
                None => packed.push(reference.resolve_char_ref().ok()??),
            },
            Event::End(_) => break,
            Event::Start(_) | Event::Empty(_) | Event::Eof => return None,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    packed.trim_start().starts_with('<').then_some(packed)
}

/// Returns whether a `record` has the header of a deleted record, which has no other contents (OAI-PMH 2.0 §2.5.1).
pub(crate) fn is_deleted(text: &str) -> bool {
    let mut reader = Reader::from_str(text);
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(start) | Event::Empty(start)
                if start.local_name().as_ref() == "header" =>
            {
                return attribute(&start, "status").is_some_and(|status| status == "deleted");
            }
            Event::Eof => return false,
            _ => {}
        }
    }
    false
}
