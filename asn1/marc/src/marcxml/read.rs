//! Reads a `record` element. The reader accepts anything whose meaning is clear to a person, but requires well-formed
//! XML.

use bytes::{BufMut, Bytes, BytesMut};
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use super::{INDICATORS, XmlRecord};
use crate::record::{Field, Leader, MarcRecord, SUBFIELD_DELIMITER, Tag};
use crate::remarks::Remarks;
use crate::text::{SEPARATORS, without_separators};

/// The maximum depth of nested elements. MARCXML itself needs four levels; wrappers such as OAI-PMH need a few more.
pub const MAX_DEPTH: usize = 64;

/// The reason why text is not a MARCXML record. Offsets count octets from the start of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MarcXmlError {
    /// The text is not well-formed XML.
    #[error("not well-formed XML: {fault} (octet {offset})")]
    Syntax {
        /// The offset of the fault.
        offset: u64,
        /// The description of the fault.
        fault: String,
    },
    /// Elements are nested more than [`MAX_DEPTH`] levels deep.
    #[error("elements nested more than {MAX_DEPTH} levels deep (octet {offset})")]
    TooDeep {
        /// The offset of the element.
        offset: u64,
    },
    /// The text ends before the record does.
    #[error("the text ends within the record")]
    Unfinished,
    /// The text has no `record` element.
    #[error("no record element")]
    NoRecord,
    /// The text contains something besides the record. Only [`only_from_xml`] returns this error.
    #[error("a single record is expected, and there is something else next to it (octet {offset})")]
    NotAlone {
        /// The offset of the additional text or element.
        offset: u64,
    },
}

/// Reads the first record in XML text, whatever surrounds it.
///
/// White space in text is kept. An ISO 2709 separator in text cannot be kept: U+FFFD replaces it, which counts as a loss. The following are
/// repaired, each with a remark: a leader that is not 24 octets long is padded with blanks or truncated; a missing or empty indicator and a
/// missing code become blanks; an `&` that does not begin a reference is kept as text; a field without a tag of three octets is left out;
/// and elements and text outside the schema are ignored. Missing indicators, a lone `&` and foreign elements are not losses; everything
/// else is a loss, such as text in a foreign element of a field, a missing leader, or a subfield without a code. Text in a single subfield
/// with an empty code becomes text without a subfield, which is how [`super::to_xml`] writes it.
///
/// # Errors
/// [`MarcXmlError`] for text that is not well-formed up to the end of the record, or that does not hold a record.
pub fn from_xml(text: &str) -> Result<XmlRecord, MarcXmlError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().allow_dangling_amp = true;
    let mut builder = Builder::default();
    let mut open: Vec<Element> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|error| MarcXmlError::Syntax {
            offset: reader.error_position(),
            fault: error.to_string(),
        })?;
        match event {
            Event::Start(start) => {
                if open.len() >= MAX_DEPTH {
                    let offset = reader.buffer_position();
                    return Err(MarcXmlError::TooDeep { offset });
                }
                open.push(builder.begin(&start, open.last().copied()));
            }
            Event::Empty(start) => {
                let element = builder.begin(&start, open.last().copied());
                if builder.end(element) {
                    return Ok(builder.finish());
                }
            }
            Event::End(_) => {
                if let Some(element) = open.pop()
                    && builder.end(element)
                {
                    return Ok(builder.finish());
                }
            }
            Event::Text(text) => {
                let text = text.xml10_content();
                if text.contains('&') {
                    builder.note("an & that begins no reference is read as text");
                }
                builder.text(&text, open.last().copied());
            }
            Event::CData(text) => builder.text(&text.xml10_content(), open.last().copied()),
            Event::GeneralRef(reference) => builder.reference(&reference, open.last().copied()),
            Event::Eof if builder.in_record => return Err(MarcXmlError::Unfinished),
            Event::Eof => return Err(MarcXmlError::NoRecord),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// Reads a record as [`from_xml`] does, but fails if the text contains anything other than the record and the elements
/// around it, such as `collection`.
///
/// # Errors
/// [`MarcXmlError`] as from [`from_xml`], for text that is not well-formed up to its end, and for another record, element or text
/// before or after the record.
pub fn only_from_xml(text: &str) -> Result<XmlRecord, MarcXmlError> {
    let read = from_xml(text)?;
    check_alone(text)?;
    Ok(read)
}

/// Checks that text has exactly one `record` element, with only elements around it.
fn check_alone(text: &str) -> Result<(), MarcXmlError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0usize;
    // The depth of the `record` element, and whether the element has ended.
    let mut record: Option<(usize, bool)> = None;
    loop {
        let offset = reader.buffer_position();
        let event = reader.read_event().map_err(|error| MarcXmlError::Syntax {
            offset: reader.error_position(),
            fault: error.to_string(),
        })?;
        let is_inside = matches!(record, Some((_, false)));
        let is_alone = match &event {
            Event::Start(start) => {
                depth += 1;
                let name = start.local_name();
                let name: &str = name.as_ref();
                match record {
                    None if name == "record" => record = Some((depth, false)),
                    None => {}
                    Some(_) if is_inside && name != "record" => {}
                    Some(_) => return Err(MarcXmlError::NotAlone { offset }),
                }
                true
            }
            Event::End(_) => {
                let ended = record.map(|(at, has_ended)| (at, has_ended || at == depth));
                let is_alone = record.is_some();
                record = ended;
                depth = depth.saturating_sub(1);
                is_alone
            }
            Event::Text(text) => is_inside || text.xml10_content().trim_ascii().is_empty(),
            // `expand_empty_elements` turns an empty element into a start and an end, so `Empty` does not occur.
            Event::CData(_) | Event::GeneralRef(_) | Event::Empty(_) => is_inside,
            Event::Eof if depth > 0 => return Err(MarcXmlError::Unfinished),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => true,
        };
        if !is_alone {
            return Err(MarcXmlError::NotAlone { offset });
        }
    }
}

/// The role of an open element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Record,
    Leader,
    Control,
    Data,
    Subfield,
    /// An element around the record.
    Outside,
    /// An element within the record that is not in the schema.
    Foreign,
    /// An element within the leader or a field that is not in the schema.
    ForeignInField,
}

#[derive(Default)]
struct Builder {
    in_record: bool,
    leader: Option<Leader>,
    fields: Vec<Field>,
    remarks: Remarks,
    is_field_lost: bool,
    /// The tag of the open field; `None` if the tag in the XML cannot be used.
    tag: Option<Tag>,
    body: BytesMut,
    /// The number of subfields in the open field.
    subfields: usize,
    /// The position in the body at which the text of a first subfield with an empty code begins.
    bare: Option<usize>,
    code: String,
    /// The number of characters in the longest code.
    longest_code: usize,
    text: String,
}

impl Builder {
    fn begin(&mut self, start: &BytesStart<'_>, parent: Option<Element>) -> Element {
        let name = start.local_name();
        let name: &str = name.as_ref();
        match (parent, name) {
            // A record that contains a record is a wrapper, as in SRU and OAI-PMH.
            (_, "record") if self.leader.is_none() && self.fields.is_empty() => {
                self.in_record = true;
                self.remarks = Remarks::default();
                self.is_field_lost = false;
                Element::Record
            }
            (Some(Element::Record), "leader") => {
                self.text.clear();
                Element::Leader
            }
            (Some(Element::Record), "controlfield") => {
                self.tag = self.tag(start);
                self.text.clear();
                Element::Control
            }
            (Some(Element::Record), "datafield") => {
                self.tag = self.tag(start);
                self.body = BytesMut::new();
                self.subfields = 0;
                self.bare = None;
                // MarcXchange has as many indicators as the leader says; in MARCXML the leader always says two.
                let required = match self.leader.map(|leader| leader.octet(10)) {
                    Some(b'0') => 0,
                    Some(b'1') => 1,
                    _ => 2,
                };
                for (index, name) in INDICATORS.into_iter().enumerate() {
                    let indicator = attribute(start, name).filter(|value| !value.is_empty());
                    match indicator {
                        Some(indicator) => {
                            let indicator = self.text_without_separators(indicator, " ");
                            self.check_length(name, &indicator, 1);
                            self.body.put_slice(indicator.as_bytes());
                        }
                        None if index < required => {
                            self.note(&format!("{name} missing, read as a blank"));
                            self.body.put_u8(b' ');
                        }
                        None => break,
                    }
                }
                Element::Data
            }
            (Some(Element::Data), "subfield") => {
                self.separate_bare_text();
                self.code = attribute(start, "code").unwrap_or_else(|| {
                    self.loss("subfield without a code, read as a blank");
                    " ".to_owned()
                });
                let length = self.leader.map_or(1, |leader| leader.code_length());
                let code = std::mem::take(&mut self.code);
                let code = self.text_without_separators(code, "?");
                self.check_length("subfield code", &code, length);
                self.code = code;
                self.text.clear();
                Element::Subfield
            }
            _ if self.in_record => {
                let is_marc = matches!(name, "leader" | "controlfield" | "datafield" | "subfield");
                let is_nested = matches!(parent, Some(Element::Foreign | Element::ForeignInField));
                if is_marc || !is_nested {
                    self.note(&format!("element {name} ignored"));
                    self.remarks.is_loss |= is_marc;
                    self.is_field_lost |= is_marc;
                }
                match parent {
                    Some(Element::Record | Element::Foreign | Element::Outside) | None => {
                        Element::Foreign
                    }
                    Some(_) => Element::ForeignInField,
                }
            }
            _ => Element::Outside,
        }
    }

    /// Closes an element; returns `true` if it was the `record` element.
    fn end(&mut self, element: Element) -> bool {
        match element {
            Element::Record => {
                let found = self.leader.is_some() || !self.fields.is_empty();
                self.in_record = found;
                return found;
            }
            Element::Leader => {
                self.replace_separators(" ");
                let octets = self.text.as_bytes();
                if octets.len() != Leader::LENGTH {
                    let length = octets.len();
                    self.remarks
                        .loss(|| format!("the leader has {length} octets instead of 24"));
                }
                self.leader = Some(Leader::padded(octets));
            }
            Element::Control => {
                self.replace_separators(REPLACEMENT);
                let body = Bytes::copy_from_slice(self.text.as_bytes());
                self.field(body);
            }
            Element::Subfield => {
                let is_bare = self.code.is_empty() && !self.text.is_empty();
                if is_bare && self.subfields > 0 {
                    self.empty_code();
                    self.code.push(' ');
                }
                // An empty code of the first subfield marks text without a delimiter; an empty subfield has a delimiter.
                if is_bare && self.subfields == 0 {
                    self.bare = Some(self.body.len());
                } else {
                    self.body.put_u8(SUBFIELD_DELIMITER);
                }
                self.replace_separators(REPLACEMENT);
                self.longest_code = self.longest_code.max(self.code.chars().count());
                self.body.put_slice(self.code.as_bytes());
                self.body.put_slice(self.text.as_bytes());
                self.subfields += 1;
            }
            Element::Data => {
                let body = std::mem::take(&mut self.body).freeze();
                self.field(body);
            }
            Element::Outside | Element::Foreign | Element::ForeignInField => {}
        }
        false
    }

    /// Puts a delimiter and a blank code before the text of a first subfield with an empty code, because another subfield follows, and the
    /// text would otherwise be read as indicators. If the field already has the maximum number of indicators, the text cannot be read as
    /// another indicator, and is not changed.
    fn separate_bare_text(&mut self) {
        let place = self.bare.take();
        if let Some(place) = place.filter(|place| *place < INDICATORS.len()) {
            self.empty_code();
            let text = self.body.split_off(place);
            self.body.put_slice(&[SUBFIELD_DELIMITER, b' ']);
            self.body.put_slice(&text);
        }
    }

    fn empty_code(&mut self) {
        self.loss("subfield with an empty code, read as a blank");
    }

    fn field(&mut self, body: Bytes) {
        if let Some(tag) = self.tag.take() {
            self.fields.push(Field { tag, body });
        }
    }

    fn text(&mut self, text: &str, parent: Option<Element>) {
        match parent {
            Some(Element::Leader | Element::Control | Element::Subfield) => {
                self.text.push_str(text);
            }
            Some(Element::Record | Element::Data) if !text.trim_ascii().is_empty() => {
                self.loss("text outside of fields and subfields ignored");
            }
            Some(Element::ForeignInField) if !text.trim_ascii().is_empty() => {
                self.loss("text in an ignored element of a field left out");
            }
            _ => {}
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>, parent: Option<Element>) {
        let name = reference.xml10_content();
        match (resolve_xml_entity(&name), reference.resolve_char_ref()) {
            (Some(meant), _) => self.text(meant, parent),
            (None, Ok(Some(character))) => self.text(character.encode_utf8(&mut [0; 4]), parent),
            _ => {
                // The text that the entity stands for is missing from the record, so this is a loss.
                let words = format!(
                    "entity {name} is none of the five of XML, which alone are read: it stays as it is"
                );
                self.remarks.loss(|| words);
                self.text(&format!("&{name};"), parent);
            }
        }
    }

    fn tag(&mut self, start: &BytesStart<'_>) -> Option<Tag> {
        let Some(text) = attribute(start, "tag") else {
            self.loss("field without a tag left out");
            return None;
        };
        let text = self.text_without_separators(text, "?");
        let tag = text.as_bytes().try_into().ok().map(Tag);
        if tag.is_none() {
            let shown: String = text.chars().take(MAX_SHOWN).collect();
            self.loss(&format!("field {shown} left out, a tag has three octets"));
        }
        tag
    }

    /// Adds a remark on an attribute with more characters than ISO 2709 allows. The additional characters would be read
    /// as something else.
    fn check_length(&mut self, what: &str, value: &str, limit: usize) {
        let length = value.chars().count();
        if length > limit {
            let shown: String = value.chars().take(MAX_SHOWN).collect();
            self.loss(&format!(
                "{what} {shown} has {length} characters instead of {limit}"
            ));
        }
    }

    /// Replaces separators in the text of the open element.
    fn replace_separators(&mut self, stand_in: &str) {
        let text = std::mem::take(&mut self.text);
        self.text = self.text_without_separators(text, stand_in);
    }

    fn text_without_separators(&mut self, text: String, stand_in: &str) -> String {
        match without_separators(&text, stand_in) {
            Some(replaced) => {
                self.loss(SEPARATORS);
                replaced
            }
            None => text,
        }
    }

    fn note(&mut self, note: &str) {
        self.remarks.note(|| note.to_owned());
    }

    fn loss(&mut self, note: &str) {
        self.is_field_lost = true;
        self.remarks.loss(|| note.to_owned());
    }

    fn finish(mut self) -> XmlRecord {
        if self.leader.is_none() {
            self.remarks
                .loss(|| "no leader; a default one is used".to_owned());
        }
        let mut leader = self.leader.unwrap_or_default();
        if leader.fit_codes(self.longest_code) {
            self.note("leader position 11 is not usable");
        }
        XmlRecord {
            record: MarcRecord {
                leader,
                fields: self.fields,
            },
            remarks: self.remarks,
            is_field_lost: self.is_field_lost,
        }
    }
}

/// The replacement for a character that cannot be kept.
const REPLACEMENT: &str = "\u{FFFD}";
/// The maximum number of characters of a value that a note shows.
const MAX_SHOWN: usize = 20;

/// Returns the value of an attribute that has no prefix.
pub(super) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let found = attributes
        .with_checks(false)
        .filter_map(Result::ok)
        .find(|attribute| {
            let key: &str = attribute.key.as_ref();
            key == name
        })?;
    match found.normalized_value(XmlVersion::Implicit1_0) {
        Ok(value) => Some(value.into_owned()),
        // A value with an unknown entity is kept as written.
        Err(_) => Some(found.value.to_string()),
    }
}
