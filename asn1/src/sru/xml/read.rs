//! Reads elements one at a time, within limits and without building a tree.

use bytes::Bytes;
use quick_xml::errors::SyntaxError;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::XmlError;
use crate::sru::SruLimits;
use z3950_marc::charset::{Charset, utf8_or_latin1};
use z3950_marc::text::escape_unprintable;

/// Returns the document in UTF-8, without a byte order mark.
///
/// A document that is not UTF-8 is decoded from the encoding that it declares, or from ISO 8859-1 if it declares
/// none. If most of its characters outside of ASCII are UTF-8, only the octets that are not UTF-8 become U+FFFD, so
/// that one faulty record does not garble the others.
pub(in crate::sru) fn document(octets: Bytes, limits: &SruLimits) -> Result<Bytes, XmlError> {
    if octets.len() > limits.document {
        return Err(XmlError::TooLong {
            limit: limits.document,
        });
    }
    if std::str::from_utf8(&octets).is_err() {
        let text = match declared_charset(&octets) {
            Some(charset) => charset.decode(&octets).text.into_owned(),
            None if is_mostly_utf8(&octets) => String::from_utf8_lossy(&octets).into_owned(),
            None => utf8_or_latin1(&octets).into_owned(),
        };
        return Ok(Bytes::from(text));
    }
    let mark = if octets.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    };
    Ok(octets.slice(mark..))
}

/// Returns whether the valid UTF-8 characters outside of ASCII outnumber the octets that are not valid UTF-8.
fn is_mostly_utf8(octets: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    for chunk in octets.utf8_chunks() {
        let characters = chunk.valid().chars();
        valid += characters.filter(|character| !character.is_ascii()).count();
        invalid += chunk.invalid().len();
    }
    valid > invalid
}

fn declared_charset(octets: &[u8]) -> Option<Charset> {
    Charset::by_name(declared_encoding(octets)?).filter(|charset| *charset != Charset::Utf8)
}

/// Returns the encoding in the declaration, `encoding="…"`.
pub(in crate::sru) fn declared_encoding(octets: &[u8]) -> Option<&str> {
    let declaration = octets.strip_prefix(b"<?xml")?;
    let end = declaration.iter().position(|octet| *octet == b'>')?;
    let declaration = std::str::from_utf8(declaration.get(..end)?).ok()?;
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(char::is_ascii)?;
    rest.get(1..)?.split(quote).next()
}

/// A declared namespace, and the depth of the element that declares it.
struct Declaration {
    depth: usize,
    prefix: String,
    /// The namespace, as written.
    namespace: String,
}

/// The content of an element.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sru) enum ElementContent {
    /// An element, with the text before and after it.
    Markup(Bytes),
    /// Text without elements.
    Text(String),
}

/// A reader of the elements of a document in the form returned by [`document`].
pub(in crate::sru) struct XmlReader<'a> {
    reader: Reader<&'a [u8]>,
    octets: &'a Bytes,
    limits: &'a SruLimits,
    depth: usize,
    elements: usize,
    element_start: usize,
    declarations: Vec<Declaration>,
}

impl<'a> XmlReader<'a> {
    pub(in crate::sru) fn new(octets: &'a Bytes, limits: &'a SruLimits) -> Self {
        // `document` has already checked that the octets are UTF-8.
        let mut reader = Reader::from_str(std::str::from_utf8(octets).unwrap_or_default());
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            octets,
            limits,
            depth: 0,
            elements: 0,
            element_start: 0,
            declarations: Vec::new(),
        }
    }

    /// Creates a reader that treats an `&` that does not begin a reference as text, because some servers send it.
    pub(in crate::sru) fn tolerant(octets: &'a Bytes, limits: &'a SruLimits) -> Self {
        let mut tolerant = Self::new(octets, limits);
        tolerant.reader.config_mut().allow_dangling_amp = true;
        tolerant
    }

    /// Reads the start tag of the root element and returns it.
    pub(in crate::sru) fn root(&mut self) -> Result<BytesStart<'a>, XmlError> {
        let root = match self.child() {
            Err(XmlError::Unfinished) if self.elements == 0 => Err(XmlError::NoElement),
            Err(XmlError::DocumentType { .. }) if self.is_html() => Err(self.html()),
            other => other,
        };
        match root?.ok_or(XmlError::NoElement)? {
            root if local_name(&root).eq_ignore_ascii_case("html") => Err(self.html()),
            root => Ok(root),
        }
    }

    /// Reads the start tag of the next child of the current element and returns it; `None` at the end of the current
    /// element. The child has to be read to its end before the next child is requested, either with one of the other
    /// functions or by reading its children.
    pub(in crate::sru) fn child(&mut self) -> Result<Option<BytesStart<'a>>, XmlError> {
        // Drop the declarations of elements that have ended.
        let depth = self.depth;
        let is_over = |declaration: &Declaration| declaration.depth > depth;
        while self.declarations.last().is_some_and(is_over) {
            self.declarations.pop();
        }
        loop {
            match self.event()? {
                Event::Start(start) => {
                    self.declare(&start)?;
                    return Ok(Some(start));
                }
                Event::End(_) => return Ok(None),
                Event::Eof => return Err(XmlError::Unfinished),
                _ => {}
            }
        }
    }

    /// Reads the current element to its end, and returns its text, trimmed. The text of its children is included.
    pub(in crate::sru) fn text(&mut self) -> Result<String, XmlError> {
        let mut text = String::new();
        let end = self.depth;
        loop {
            match self.event()? {
                Event::End(_) if self.depth < end => break,
                Event::Eof => return Err(XmlError::Unfinished),
                event => put_text(&mut text, &event),
            }
        }
        match text.trim_ascii() {
            trimmed if trimmed.len() == text.len() => Ok(text),
            trimmed => Ok(trimmed.to_owned()),
        }
    }

    /// Returns the number in the current element, if it contains one.
    pub(in crate::sru) fn number(&mut self) -> Result<Option<u64>, XmlError> {
        Ok(self.text()?.parse().ok())
    }

    /// Returns the number in the current element, which must contain a number or be empty. `name` is the name of the
    /// element for the error.
    pub(in crate::sru) fn count(&mut self, name: &'static str) -> Result<Option<u64>, XmlError> {
        let text = self.text()?;
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) if text.is_empty() => Ok(None),
            Err(_) => Err(XmlError::Count {
                name,
                value: text.chars().take(MAX_VALUE).collect(),
            }),
        }
    }

    /// Skips the current element.
    pub(in crate::sru) fn skip(&mut self) -> Result<(), XmlError> {
        let end = self.depth;
        loop {
            match self.event()? {
                Event::End(_) if self.depth < end => return Ok(()),
                Event::Eof => return Err(XmlError::Unfinished),
                _ => {}
            }
        }
    }

    /// Reads to the end of the root element. Tolerates faults after the last child that was read, but not a missing end
    /// tag of the root element.
    pub(in crate::sru) fn finish(&mut self) -> Result<(), XmlError> {
        while self.depth > 0 {
            match self.event() {
                Ok(Event::Eof) | Err(XmlError::Unfinished) => return Err(XmlError::Unfinished),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Returns the content of the current element as a separate document. If it uses namespaces that are declared in
    /// enclosing elements, their declarations are added to its first element.
    pub(in crate::sru) fn content(&mut self) -> Result<ElementContent, XmlError> {
        let end = self.depth;
        let begin = self.position();
        let mut first: Option<FirstElement> = None;
        let mut text = String::new();
        let finish = loop {
            let place = self.position();
            match self.event()? {
                Event::Start(start) if first.is_none() => {
                    first = Some(FirstElement::new(place, &start));
                }
                Event::End(_) if self.depth < end => break place,
                Event::Eof => return Err(XmlError::Unfinished),
                event if first.is_none() => put_text(&mut text, &event),
                _ => {}
            }
        };
        let Some(first) = first else {
            return Ok(ElementContent::Text(text.trim_ascii().to_owned()));
        };
        let octets = self.octets.get(begin..finish).unwrap_or_default();
        let before = octets.len() - octets.trim_ascii_start().len();
        let after = octets.len() - octets.trim_ascii_end().len();
        let range = begin + before..finish - after;
        let missing = self.missing(octets, &first);
        if missing.is_empty() {
            return Ok(ElementContent::Markup(self.octets.slice(range)));
        }
        let place = first.name_end.clamp(range.start, range.end);
        let parts = [
            self.octets.get(range.start..place).unwrap_or_default(),
            missing.as_bytes(),
            self.octets.get(place..range.end).unwrap_or_default(),
        ];
        Ok(ElementContent::Markup(Bytes::from(parts.concat())))
    }

    /// Returns the limits on the document.
    pub(in crate::sru) fn limits(&self) -> &'a SruLimits {
        self.limits
    }

    /// Returns the offset of the start tag that was read last.
    pub(in crate::sru) fn element_start(&self) -> usize {
        self.element_start
    }

    /// Returns the current offset from the start of the document, in octets.
    pub(in crate::sru) fn position(&self) -> usize {
        let position = usize::try_from(self.reader.buffer_position());
        position.unwrap_or(usize::MAX).min(self.octets.len())
    }

    /// Returns the namespace, as written, of the element whose start tag was read last.
    pub(in crate::sru) fn namespace(&self, start: &BytesStart<'_>) -> &str {
        let name = start.name();
        let name: &str = name.as_ref();
        let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
        let mut inner_first = self.declarations.iter().rev();
        let declaration = inner_first.find(|declaration| declaration.prefix == prefix);
        declaration.map_or("", |declaration| &declaration.namespace)
    }

    /// Returns the namespace declarations that an element and its descendants need, but do not contain.
    fn missing(&self, octets: &[u8], first: &FirstElement) -> String {
        let mut missing = String::new();
        let mut seen: Vec<&str> = Vec::new();
        for declaration in self.declarations.iter().rev() {
            let prefix = &*declaration.prefix;
            if seen.contains(&prefix) {
                continue;
            }
            seen.push(prefix);
            let is_needed = match prefix {
                // A record without a namespace must not inherit the SRU namespace, so it is not declared as the default.
                "" => !is_sru(&declaration.namespace),
                prefix => {
                    let prefix = format!("{prefix}:");
                    memchr::memmem::find(octets, prefix.as_bytes()).is_some()
                }
            };
            if is_needed && !first.declared.iter().any(|declared| declared == prefix) {
                let colon = if prefix.is_empty() { "" } else { ":" };
                let namespace = &declaration.namespace;
                let quote = if namespace.contains('"') { '\'' } else { '"' };
                missing.push_str(&format!(" xmlns{colon}{prefix}={quote}{namespace}{quote}"));
            }
        }
        missing
    }

    fn declare(&mut self, start: &BytesStart<'_>) -> Result<(), XmlError> {
        for (prefix, namespace) in declarations(start) {
            if self.declarations.len() == MAX_NAMESPACES {
                return Err(XmlError::TooMany {
                    what: "namespaces",
                    limit: MAX_NAMESPACES,
                    offset: self.element_start,
                });
            }
            self.declarations.push(Declaration {
                depth: self.depth,
                prefix,
                namespace,
            });
        }
        Ok(())
    }

    /// Returns the next event, after checking the limits on elements.
    pub(super) fn event(&mut self) -> Result<Event<'a>, XmlError> {
        let offset = self.position();
        let event = self.reader.read_event().map_err(|error| match error {
            // Apart from invalid `<!` markup, a syntax error means that markup is not closed before the end.
            quick_xml::Error::Syntax(fault) if fault != SyntaxError::InvalidBangMarkup => {
                XmlError::Unfinished
            }
            error => {
                // The message may contain names from the document, so its length is limited.
                let words: String = error.to_string().chars().take(MAX_FAULT).collect();
                XmlError::Syntax {
                    offset: self.reader.error_position(),
                    fault: escape_unprintable(&words, |_| false).into_owned(),
                }
            }
        })?;
        match &event {
            Event::Start(_) => {
                self.depth += 1;
                self.elements += 1;
                self.element_start = offset;
                if self.depth > self.limits.depth {
                    let limit = self.limits.depth;
                    return Err(XmlError::TooDeep { limit, offset });
                }
                if self.elements > self.limits.elements {
                    let limit = self.limits.elements;
                    return Err(XmlError::TooMany {
                        what: "elements",
                        limit,
                        offset,
                    });
                }
            }
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::DocType(_) => return Err(XmlError::DocumentType { offset }),
            _ => {}
        }
        Ok(event)
    }

    /// Returns the beginning of the document, which shows whether it is HTML.
    fn beginning(&self) -> String {
        let beginning = self.octets.get(..MAX_TITLE_OFFSET).unwrap_or(self.octets);
        String::from_utf8_lossy(beginning).into_owned()
    }

    fn is_html(&self) -> bool {
        self.beginning()
            .to_ascii_lowercase()
            .contains("<!doctype html")
    }

    /// Returns the error for a page in place of a response, with the title of the page.
    fn html(&self) -> XmlError {
        let text = self.beginning();
        let lower = text.to_ascii_lowercase();
        let title = lower.find("<title").and_then(|begin| {
            let begin = begin + lower.get(begin..)?.find('>')? + 1;
            let end = begin + lower.get(begin..)?.find('<')?;
            text.get(begin..end)
        });
        let words = title.unwrap_or_default().split_whitespace();
        let title = words.collect::<Vec<_>>().join(" ");
        XmlError::Html {
            title: title.chars().take(MAX_TITLE).collect(),
        }
    }
}

/// The maximum number of namespaces declared around a record. It is limited because the record is searched for each of
/// their prefixes.
const MAX_NAMESPACES: usize = 64;
/// The maximum offset of the title in an HTML page, in octets.
const MAX_TITLE_OFFSET: usize = 8 << 10;
/// The maximum number of characters of a fault that are shown. It is limited because names in the fault may have any
/// length.
const MAX_FAULT: usize = 200;
/// The maximum number of characters of an invalid value that are shown.
const MAX_VALUE: usize = 40;
/// The maximum number of characters of a title that are shown.
const MAX_TITLE: usize = 100;

/// The first element within another element.
struct FirstElement {
    /// The offset of the end of the element's name.
    name_end: usize,
    /// The prefixes that the element declares.
    declared: Vec<String>,
}

impl FirstElement {
    fn new(place: usize, start: &BytesStart<'_>) -> Self {
        let name = start.name();
        let name: &str = name.as_ref();
        Self {
            name_end: place + 1 + name.len(),
            declared: declarations(start).map(|(prefix, _)| prefix).collect(),
        }
    }
}

/// Returns the namespaces that an element declares, each with its prefix.
fn declarations(start: &BytesStart<'_>) -> impl Iterator<Item = (String, String)> {
    let mut found = Vec::new();
    if start.attributes_raw().contains("xmlns") {
        let mut attributes = start.attributes();
        for attribute in attributes.with_checks(false).filter_map(Result::ok) {
            let name: &str = attribute.key.as_ref();
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) => match rest.strip_prefix(':') {
                    Some(prefix) => prefix,
                    None => continue,
                },
                None => continue,
            };
            found.push((prefix.to_owned(), attribute.value.to_string()));
        }
    }
    found.into_iter()
}

/// Returns whether the namespace belongs to SRU, in any of its spellings.
fn is_sru(namespace: &str) -> bool {
    namespace.contains("/zing/srw") || super::is_new(namespace)
}

/// Returns the name of an element without its prefix.
pub(in crate::sru) fn local_name<'s>(start: &'s BytesStart<'_>) -> &'s str {
    let name: &'s str = start.name().into_inner();
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Returns the value of an attribute, which may have any prefix.
pub(in crate::sru) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let mut attributes = attributes.with_checks(false).filter_map(Result::ok);
    let found = attributes.find(|attribute| {
        let key: &str = attribute.key.as_ref();
        key.rsplit_once(':').map_or(key, |(_, local)| local) == name
    })?;
    let value = found.normalized_value(quick_xml::XmlVersion::Implicit1_0);
    Some(value.map_or_else(|_| found.value.to_string(), |value| value.into_owned()))
}

/// Appends the text of an event. A reference to an entity that XML does not define is appended as written.
fn put_text(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(part) => text.push_str(&part.xml10_content()),
        Event::CData(part) => text.push_str(&part.xml10_content()),
        Event::GeneralRef(reference) => {
            let name = reference.xml10_content();
            match (resolve_xml_entity(&name), reference.resolve_char_ref()) {
                (Some(meant), _) => text.push_str(meant),
                (None, Ok(Some(character))) => text.push(character),
                _ => text.extend(["&", &*name, ";"]),
            }
        }
        _ => {}
    }
}
