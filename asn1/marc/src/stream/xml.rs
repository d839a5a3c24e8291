//! Splits MARCXML into records, which extend from a `record` tag to its end tag; the elements around them do not
//! matter. Comments, CDATA and document types are skipped, so that nothing in them is taken for a tag.

use std::io::{self, Read};
use std::ops::Range;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::window::{GUESS_OCTETS, MAX_RECORD, RawRecord, Window, find};

#[derive(Debug, Default)]
pub(super) struct XmlCutter {
    begun: bool,
    /// Whether the input is empty or has an element from MARCXML or its wrappers. Any other input is reported as not
    /// MARCXML.
    known: bool,
    /// The state between records.
    outside: Outside,
}

impl XmlCutter {
    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> io::Result<Option<RawRecord>> {
        if !std::mem::replace(&mut self.begun, true) {
            window.fill(GUESS_OCTETS)?;
            if let Some(encoding) = encoding(window.held()) {
                window.decode_from(encoding);
            }
            self.known = is_blank(window.held());
        }
        let mut from = 0;
        // `inside` is true while a record is open; the record then begins at offset 0 of the window. `content` is true
        // once the record has MARC content.
        let (mut inside, mut content) = (false, false);
        // The number of open elements within the record, in case it is a wrapper.
        let mut open = 0_usize;
        let (end, damage) = loop {
            if !inside {
                self.outside.text(window)?;
            }
            let Some(markup) = Markup::find(window, from)? else {
                let end = window.held().len();
                if !inside {
                    if end > 0 && !self.outside.is_open() {
                        self.outside.remains(window.offset(), 0..end);
                    }
                    window.pass(end);
                    if window.more()? {
                        from = 0;
                        continue;
                    }
                    if std::mem::replace(&mut self.known, true) {
                        return Ok(self
                            .outside
                            .gap()
                            .or_else(|| self.outside.unclosed(window.offset())));
                    }
                    self.outside.remains = None;
                    let damage = "not MARCXML: neither a record nor a collection";
                    return Ok(Some(RawRecord::damage(0, damage)));
                }
                self.outside.reported = true;
                let damage = if end >= MAX_RECORD {
                    format!("no end of the record within {MAX_RECORD} octets")
                } else {
                    "the input ends within the record".to_owned()
                };
                break (end, Some(damage));
            };
            self.known |= markup.kind == Kind::Cut || !markup.name.is_empty();
            // Junk before a record is reported before the record.
            let begins_record = markup.begins() && markup.name == "record";
            if !inside
                && (markup.kind == Kind::Cut || begins_record)
                && let Some(gap) = self.outside.gap()
            {
                return Ok(Some(gap));
            }
            match (markup.kind, markup.name) {
                (Kind::Cut, _) if !inside || !content => {
                    self.outside.reported = true;
                    window.pass(markup.start);
                    let end = markup.end - markup.start;
                    break (end, Some(UNCLOSED.to_owned()));
                }
                _ if begins_record && (!inside || !content) => {
                    // If a record is already open, it is a wrapper around this record.
                    self.outside
                        .record(window.offset(), inside.then_some(std::mem::take(&mut open)));
                    window.pass(markup.start);
                    (inside, from) = (true, markup.end - markup.start);
                    if markup.kind == Kind::Empty {
                        break (from, None);
                    }
                    continue;
                }
                _ if begins_record => break (markup.start, Some(UNCLOSED.to_owned())),
                (Kind::End, "record") if inside => break (markup.end, None),
                (Kind::End, "collection") if inside => {
                    break (markup.start, Some(UNCLOSED.to_owned()));
                }
                (Kind::Start | Kind::Empty, "leader" | "controlfield" | "datafield") if inside => {
                    content = true;
                }
                _ if !inside => self.outside.markup(&markup, window),
                (Kind::Start, _) => open += 1,
                (Kind::End, _) => open = open.saturating_sub(1),
                _ => {}
            }
            from = markup.end;
            if !inside {
                window.pass(from);
                from = 0;
            } else if from >= MAX_RECORD {
                self.outside.reported = true;
                let damage = format!("no end of the record within {MAX_RECORD} octets");
                break (from, Some(damage));
            }
        };
        Ok(Some(window.record(end, damage)))
    }
}

/// The state of the splitter outside records, where there are wrapper elements of any name, their text, and remains of
/// damaged records.
#[derive(Debug, Default)]
struct Outside {
    /// The range of the remains of damaged records since the last record, as offsets in the input.
    remains: Option<Range<u64>>,
    /// Whether the report on the last record also covers the octets after it.
    reported: bool,
    /// The number of elements that are open around records.
    open: usize,
    /// The value of `open` at the innermost collection, an element that contains records and no text.
    collection: Option<usize>,
    /// The number of open `record` elements that enclose MARC records, as in SRU and OAI-PMH.
    wrappers: usize,
    /// The number of open `record` elements outside the innermost collection.
    around_collection: usize,
    /// The offset of the last `record` element that encloses a MARC record.
    wrapper: u64,
    /// The offset of a `record` element that is still open when its collection ends.
    unclosed: Option<u64>,
    /// The number of open elements that are documents of records: collections, and SRU and OAI-PMH responses.
    documents: usize,
}

impl Outside {
    /// Skips the text before the next markup. Text is expected within wrapper elements; elsewhere, it belongs to
    /// damaged records.
    fn text<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<()> {
        loop {
            let held = window.held();
            let end = held.iter().position(|octet| *octet == b'<');
            let length = end.unwrap_or(held.len());
            let text = held.get(..length).unwrap_or_default();
            if (self.open == 0 || self.collection == Some(self.open))
                && let Some(first) = text.iter().position(is_text)
                && let Some(last) = text.iter().rposition(is_text)
            {
                self.remains(window.offset(), first..last + 1);
            }
            window.pass(length);
            if end.is_some() || !window.more()? {
                return Ok(());
            }
        }
    }

    /// Notes a tag outside records: the tag of a wrapper element, or a part of a damaged record.
    fn markup<R: Read>(&mut self, markup: &Markup, window: &Window<R>) {
        let is_answer = matches!(markup.name, "searchRetrieveResponse" | "OAI-PMH");
        if is_answer || markup.name == "collection" {
            match markup.kind {
                Kind::Start => self.documents += 1,
                Kind::End => self.documents = self.documents.saturating_sub(1),
                _ => {}
            }
        }
        if is_answer && markup.kind == Kind::End {
            self.wrappers = 0;
        }
        match (markup.kind, markup.name) {
            (Kind::Start, "collection") => {
                self.open += 1;
                self.collection = Some(self.open);
                self.around_collection = self.wrappers;
            }
            (Kind::End, "collection") => {
                if self.collection.is_some() && self.wrappers > self.around_collection {
                    self.wrappers = self.around_collection;
                    self.unclosed = Some(self.wrapper).filter(|_| !self.reported);
                }
                let open = self.collection.take().unwrap_or(self.open);
                self.open = open.saturating_sub(1);
                if std::mem::take(&mut self.reported) {
                    self.remains = None;
                }
            }
            (Kind::End, "record") if self.wrappers > 0 => {
                self.wrappers -= 1;
                self.open = self.open.saturating_sub(1);
            }
            (Kind::Unclosed, _)
            | (Kind::End, "record")
            | (_, "leader" | "controlfield" | "datafield" | "subfield") => {
                self.remains(window.offset(), markup.start..markup.end);
            }
            (Kind::Start, _) => self.open += 1,
            (Kind::End, _) => self.open = self.open.saturating_sub(1),
            (Kind::Empty | Kind::Cut | Kind::Other, _) => {}
        }
    }

    /// Returns whether a document or a wrapper element is open, so that its missing end has to be reported.
    fn is_open(&self) -> bool {
        self.documents > 0 || self.wrappers > 0
    }

    /// Notes that a record begins at `offset`. If `within` is set, another record with this number of open elements
    /// surrounds it, so the outer record is only a wrapper.
    fn record(&mut self, offset: u64, within: Option<usize>) {
        self.reported = false;
        if let Some(open) = within {
            self.wrapper = offset;
            self.wrappers += 1;
            self.open += 1 + open;
        }
    }

    /// Notes that the octets in a range of the window, which begins at `offset`, are remains of a damaged record.
    fn remains(&mut self, offset: u64, place: Range<usize>) {
        let at = |index: usize| offset.saturating_add(u64::try_from(index).unwrap_or(u64::MAX));
        let start = self
            .remains
            .as_ref()
            .map_or(at(place.start), |remains| remains.start);
        self.remains = Some(start..at(place.end));
    }

    /// Returns a report if a document is not closed at the end of the input, because records may be missing.
    fn unclosed(&mut self, offset: u64) -> Option<RawRecord> {
        let is_open = std::mem::take(&mut self.documents) > 0;
        let is_wrapped = std::mem::take(&mut self.wrappers) > 0;
        if self.reported {
            return None;
        }
        let (offset, damage) = match (is_open, is_wrapped) {
            (true, _) => (
                offset,
                "the input ends within the document: records may be missing",
            ),
            (false, true) => (self.wrapper, UNCLOSED),
            (false, false) => return None,
        };
        Some(RawRecord::damage(offset, damage))
    }

    /// Returns a report if there are remains of damaged records after the last record.
    fn gap(&mut self) -> Option<RawRecord> {
        if let Some(offset) = self.unclosed.take() {
            return Some(RawRecord::damage(offset, UNCLOSED));
        }
        let remains = self.remains.take().filter(|_| !self.reported)?;
        let last = remains.end.saturating_sub(1);
        let damage = format!("octets {}-{last} are in no record", remains.start);
        Some(RawRecord::damage(remains.start, damage))
    }
}

const UNCLOSED: &str = "the record is not closed";

/// Returns whether an octet between records is text: neither white space nor part of a byte order mark, which occurs in
/// concatenated files.
fn is_text(octet: &u8) -> bool {
    !octet.is_ascii_whitespace() && !matches!(octet, 0 | 0x1A | 0xEF | 0xBB | 0xBF)
}

/// Returns whether the octets are only white space, as in a file without records.
fn is_blank(octets: &[u8]) -> bool {
    let octets = octets.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(octets);
    octets.trim_ascii().is_empty()
}

/// Returns the encoding of a document that is not in UTF-8, according to its byte order mark or declaration.
fn encoding(octets: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(octets) {
        return Some(encoding);
    }
    match octets {
        [b'<', 0, ..] => return Some(UTF_16LE),
        [0, b'<', ..] => return Some(UTF_16BE),
        _ => {}
    }
    let declaration = octets.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..find(declaration, b"?>")?)?;
    let value = declaration.get(find(declaration, b"encoding")? + b"encoding".len()..)?;
    let value = value.trim_ascii_start().strip_prefix(b"=")?;
    let (quote, label) = value.trim_ascii_start().split_first()?;
    let label = label.split(|octet| octet == quote).next()?;
    // UTF-8 needs no conversion.
    Encoding::for_label(label).filter(|encoding| *encoding != UTF_8)
}

/// One piece of markup; `start` and `end` are indices in the window.
struct Markup {
    start: usize,
    end: usize,
    kind: Kind,
    /// The local name of a tag if it is one of [`NAMES`], or an empty string.
    name: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Start,
    Empty,
    End,
    /// The truncated start tag of a record, such as `<rec`.
    Cut,
    /// Markup that does not end, such as `<!--` or a lone `<`.
    Unclosed,
    Other,
}

impl Markup {
    fn of(start: usize, end: usize, kind: Kind) -> Self {
        let name = "";
        Self {
            start,
            end,
            kind,
            name,
        }
    }

    /// Returns whether the markup is a start tag or an empty element.
    fn begins(&self) -> bool {
        matches!(self.kind, Kind::Start | Kind::Empty)
    }

    /// Finds the first markup at or after an index; `None` if there is no more markup, or none that ends within [`MAX_RECORD`].
    fn find<R: Read>(window: &mut Window<R>, from: usize) -> io::Result<Option<Self>> {
        let Some(start) = window.find(from, b"<", MAX_RECORD)? else {
            return Ok(None);
        };
        window.fill(start + LONGEST_OPENING)?;
        let opening = window.from(start);
        let (opening, closing): (&[u8], &[u8]) = if opening.starts_with(b"<!--") {
            (b"<!--", b"-->")
        } else if opening.starts_with(b"<![CDATA[") {
            (b"<![CDATA[", b"]]>")
        } else if opening.starts_with(b"<?") {
            (b"<?", b"?>")
        } else {
            return Self::tag(window, start);
        };
        let inside = start + opening.len();
        if let Some(end) = end_of(window, inside, opening, closing)? {
            return Ok(Some(Self::of(start, end, Kind::Other)));
        }
        // The markup is never closed: only its opening is skipped, so that the following text is not lost.
        Ok(Some(Self::of(start, inside, Kind::Unclosed)))
    }

    /// Reads a tag, or the document type with its brackets.
    fn tag<R: Read>(window: &mut Window<R>, start: usize) -> io::Result<Option<Self>> {
        let mut index = start + 1;
        let (mut quote, mut brackets) = (None, 0_usize);
        let document_type = window.from(start).starts_with(DOCUMENT_TYPE);
        loop {
            let Some(&octet) = window.held().get(index) else {
                if index - start < MAX_RECORD && window.more()? {
                    continue;
                }
                if is_cut(window.from(start)) {
                    return Ok(Some(Self::of(start, window.held().len(), Kind::Cut)));
                }
                // A document type that never ends is read as text, so that the following text is not lost.
                let end = start + DOCUMENT_TYPE.len();
                return Ok(document_type.then_some(Self::of(start, end, Kind::Other)));
            };
            match (quote, octet) {
                // A tag cannot contain another tag, so this one was not closed.
                (_, b'<') if !document_type || window.from(index).starts_with(DOCUMENT_TYPE) => {
                    let tag = window.held().get(start..index).unwrap_or_default();
                    let kind = if is_cut(tag) {
                        Kind::Cut
                    } else {
                        Kind::Unclosed
                    };
                    return Ok(Some(Self::of(start, index, kind)));
                }
                (Some(open), octet) if open == octet => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(octet),
                (None, b'[') => brackets += 1,
                (None, b']') => brackets = brackets.saturating_sub(1),
                (None, b'>') if brackets == 0 || !document_type => break,
                _ => {}
            }
            index += 1;
        }
        let end = index + 1;
        let (kind, name) = kind(window.held().get(start..end).unwrap_or_default());
        Ok(Some(Self {
            start,
            end,
            kind,
            name,
        }))
    }
}

const DOCUMENT_TYPE: &[u8] = b"<!DOCTYPE";

/// The length of `<![CDATA[`.
const LONGEST_OPENING: usize = 9;

/// Returns the index after the end of a comment, CDATA section or processing instruction; `None` if the next markup of the same
/// kind, which cannot be nested, begins first, or if the markup does not end within [`MAX_RECORD`].
fn end_of<R: Read>(
    window: &mut Window<R>,
    inside: usize,
    opening: &[u8],
    closing: &[u8],
) -> io::Result<Option<usize>> {
    let mut index = inside;
    loop {
        let telling = |octet: &u8| *octet == b'<' || closing.first() == Some(octet);
        let Some(place) = window.from(index).iter().position(telling) else {
            index = window.held().len();
            if index - inside >= MAX_RECORD || !window.more()? {
                return Ok(None);
            }
            continue;
        };
        index += place;
        window.fill(index + LONGEST_OPENING)?;
        let here = window.from(index);
        if here.starts_with(closing) {
            return Ok(Some(index + closing.len()));
        }
        if here.starts_with(opening) {
            return Ok(None);
        }
        index += 1;
    }
}

/// Returns whether a tag that does not end may be a truncated start tag of a record.
fn is_cut(tag: &[u8]) -> bool {
    let local = local_name(tag.strip_prefix(b"<").unwrap_or(tag));
    !local.is_empty() && b"record".starts_with(local)
}

/// Returns the local name of an element. `inside` is its tag without the characters before the name.
fn local_name(inside: &[u8]) -> &[u8] {
    let is_end = |octet: &u8| octet.is_ascii_whitespace() || matches!(octet, b'/' | b'>');
    let name = inside.split(is_end).next().unwrap_or_default();
    name.rsplit(|octet| *octet == b':').next().unwrap_or(name)
}

/// The element names that identify the kind of document. The last two names are those of SRU and OAI-PMH answers, which
/// may be empty.
const NAMES: [&str; 8] = [
    "record",
    "collection",
    "leader",
    "controlfield",
    "datafield",
    "subfield",
    "searchRetrieveResponse",
    "OAI-PMH",
];

/// Returns the kind of a complete tag, and its name if it is one of [`NAMES`].
fn kind(tag: &[u8]) -> (Kind, &'static str) {
    let inside = tag.strip_prefix(b"<").unwrap_or(tag);
    let (kind, inside) = match inside {
        [b'!', ..] => return (Kind::Other, ""),
        [b'/', inside @ ..] => (Kind::End, inside),
        _ if tag.ends_with(b"/>") => (Kind::Empty, inside),
        _ => (Kind::Start, inside),
    };
    let local = local_name(inside);
    let known = NAMES.into_iter().find(|known| known.as_bytes() == local);
    (kind, known.unwrap_or_default())
}
