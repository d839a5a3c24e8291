//! A MARC record as octets: its leader, its fields in order, and views of indicators and subfields (ISO 2709 §4; MARC
//! 21, UNIMARC). Nothing is decoded, tidied or regrouped here: odd tags, odd codes, repeated fields and empty subfields
//! are kept.

use std::borrow::Cow;
use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

use super::text::text_lossless;

/// IS3 of ISO 646, which ends a record (ISO 2709 §4.7).
pub const RECORD_TERMINATOR: u8 = 0x1D;
/// IS2, which ends the directory and every field (ISO 2709 §4.6).
pub const FIELD_TERMINATOR: u8 = 0x1E;
/// IS1, which begins a subfield identifier (ISO 2709 §4.5).
pub const SUBFIELD_DELIMITER: u8 = 0x1F;

/// A bibliographic, authority or holdings record in any MARC format.
///
/// Every value of this type is valid; [`super::iso2709::encode`] decides whether it fits ISO 2709.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarcRecord {
    /// The first 24 octets of the record. In a record that was read, the record length and base address are those of
    /// the source, even if they are wrong; a code length that contradicts the subfields has been replaced by the usual
    /// length.
    pub leader: Leader,
    /// The fields, in the order of the directory.
    pub fields: Vec<Field>,
}

impl MarcRecord {
    /// Returns the fields with this tag (`"245"`, `b"FMT"` or a [`Tag`]) in record order. A tag that is not three
    /// octets long matches no field.
    pub fn fields_by_tag(&self, tag: impl AsRef<[u8]>) -> impl Iterator<Item = &Field> {
        self.fields
            .iter()
            .filter(move |field| field.tag.0 == tag.as_ref())
    }

    /// Returns the first field with this tag.
    pub fn field(&self, tag: impl AsRef<[u8]>) -> Option<&Field> {
        self.fields_by_tag(tag).next()
    }

    /// Returns the trimmed value of the first field 001. A search for a docid compares its term with this value.
    pub fn control_number(&self) -> Option<&[u8]> {
        Some(self.field("001")?.body.trim_ascii())
    }

    /// Resets the code length in the leader to 1 if the fields contradict a greater length. Returns whether it was
    /// reset.
    pub(super) fn mend_code_length(&mut self) -> bool {
        let is_wrong = self.contradicts_code_length();
        if is_wrong {
            self.leader.0[11] = b'2';
        }
        is_wrong
    }

    /// Returns whether the fields contradict the code length in the leader.
    pub(super) fn contradicts_code_length(&self) -> bool {
        let length = self.leader.code_length();
        if length == 1 {
            return false;
        }
        let (mut all, mut odd) = (0_usize, 0_usize);
        for field in &self.fields {
            let delimited = field
                .subfields_with(length)
                .filter(|subfield| !subfield.code.is_empty());
            for subfield in delimited {
                all += 1;
                odd += usize::from(!is_plain_code(subfield.code, length));
            }
        }
        odd * ODD_CODES > all
    }
}

/// The fields contradict a code length if more than one in this many subfield codes does not fit it.
const ODD_CODES: usize = 10;

/// Returns whether the octets look like a code of several characters. A one-character code followed by its text rarely
/// does, because text often begins with a capital, a space or a bracket.
fn is_plain_code(code: &[u8], length: usize) -> bool {
    let of = |letter: fn(&u8) -> bool| {
        code.iter()
            .all(|octet| letter(octet) || octet.is_ascii_digit())
    };
    code.len() == length && (of(u8::is_ascii_lowercase) || of(u8::is_ascii_uppercase))
}

/// The record label: 24 octets (ISO 2709 §4.3). Any octets are valid, so that a damaged leader can be shown and kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leader(pub [u8; Leader::LENGTH]);

impl Leader {
    /// The length of every leader, in octets.
    pub const LENGTH: usize = 24;

    /// Returns the length of the record in octets, terminator included (positions 0–4); `None` if it is not a number.
    pub fn record_length(&self) -> Option<usize> {
        number(self.0.get(..5)?)
    }

    /// Returns the offset of the first field in octets (positions 12–16); `None` if it is not a number.
    pub fn base_address(&self) -> Option<usize> {
        number(self.0.get(12..17)?)
    }

    /// Returns position 9. In MARC 21, it is `a` for UTF-8 and blank for MARC-8; in UNIMARC, it has no meaning.
    pub fn character_coding(&self) -> u8 {
        self.octet(9)
    }

    /// Returns the number of characters in a subfield code, which is position 11 without the delimiter. It is 1 unless
    /// the leader says 2 to 8.
    pub fn code_length(&self) -> usize {
        match self.octet(11) {
            digit @ b'3'..=b'9' => usize::from(digit - b'1'),
            _ => 1,
        }
    }

    /// Resets the code length to 1 if a form that gives codes explicitly, as MARCXML does in attributes, has only codes of one character.
    /// `longest` is the number of characters in the longest code. Returns whether the code length was reset.
    pub(super) fn fit_codes(&mut self, longest: usize) -> bool {
        let is_wrong = longest == 1 && self.code_length() > 1;
        if is_wrong {
            self.0[11] = b'2';
        }
        is_wrong
    }

    /// Returns whether the octets look like a leader, with its lengths filled in or left blank.
    pub(super) fn is_plausible(&self) -> bool {
        let of = |range, kind: fn(&u8) -> bool| {
            self.0
                .get(range)
                .is_some_and(|octets: &[u8]| octets.iter().all(kind))
        };
        let counted = |octet: &u8| octet.is_ascii_digit() || *octet == b' ';
        of(0..5, counted)
            && of(5..10, |octet| matches!(octet, b' '..=b'~'))
            && self.octet(6).is_ascii_alphabetic()
            && of(10..12, u8::is_ascii_digit)
            && of(12..17, counted)
            && of(20..22, u8::is_ascii_digit)
    }

    /// Creates a leader from these octets, padded with spaces or truncated to 24 octets.
    pub fn padded(octets: &[u8]) -> Self {
        let mut leader = [b' '; Self::LENGTH];
        for (position, octet) in leader.iter_mut().zip(octets) {
            *position = *octet;
        }
        Leader(leader)
    }

    /// Replaces each octet that is not a printable ASCII character with a blank.
    pub(super) fn printable(self) -> Self {
        Leader(self.0.map(|octet| {
            if matches!(octet, b' '..=b'~') {
                octet
            } else {
                b' '
            }
        }))
    }

    /// Returns the octet at a position from 0 to 23; a blank for other positions.
    pub fn octet(&self, position: usize) -> u8 {
        self.0.get(position).copied().unwrap_or(b' ')
    }
}

impl Default for Leader {
    /// Returns the leader of a new MARC 21 monograph in UTF-8, with zeros for the lengths.
    fn default() -> Self {
        Leader(*b"00000nam a2200000   4500")
    }
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leader({:?})", text_lossless(&self.0))
    }
}

/// A field tag: three octets, usually digits, although `FMT`, `CAT` and spaces occur.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub [u8; 3]);

impl Tag {
    /// Returns whether the standards reserve the tag for control fields: `00X` (ISO 2709 §4.6).
    pub fn is_control(self) -> bool {
        self.0.starts_with(b"00")
    }
}

impl From<&[u8; 3]> for Tag {
    fn from(octets: &[u8; 3]) -> Self {
        Tag(*octets)
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_lossless(&self.0))
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({:?})", text_lossless(&self.0))
    }
}

/// One field: its tag and its octets without the field terminator.
///
/// A data field consists of indicators and subfields; each subfield begins with 0x1F. The indicators are the octets
/// before the first 0x1F. In a field without 0x1F, or with more than nine octets before it, the first two octets are
/// the indicators, and the text after them belongs to no subfield. [`Field::subfields`] returns this text first, with
/// an empty code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The tag as the directory gives it.
    pub tag: Tag,
    /// The octets between the field's start and its terminator.
    pub body: Bytes,
}

impl Field {
    /// Creates a control field: `Field::control(b"001", "pg1342")`.
    pub fn control(tag: impl Into<Tag>, value: impl Into<Bytes>) -> Self {
        Field {
            tag: tag.into(),
            body: value.into(),
        }
    }

    /// Creates a data field: `Field::data(b"245", "10", [("a", "Emma /"), ("c", "Jane Austen.")])`.
    ///
    /// Nothing is checked: a delimiter inside a value begins another subfield, and [`super::iso2709::encode`] refuses terminators.
    /// [`Field::try_data`] checks its arguments.
    pub fn data<C, V>(
        tag: impl Into<Tag>,
        indicators: impl AsRef<[u8]>,
        subfields: impl IntoIterator<Item = (C, V)>,
    ) -> Self
    where
        C: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let mut body = BytesMut::from(indicators.as_ref());
        for (code, data) in subfields {
            body.put_u8(SUBFIELD_DELIMITER);
            body.put_slice(code.as_ref());
            body.put_slice(data.as_ref());
        }
        Field {
            tag: tag.into(),
            body: body.freeze(),
        }
    }

    /// Returns whether the field is one plain value: either `00X` without subfields, or a tag that is not a number (`FMT`) and a body
    /// without any delimiter. In danMARC2, `00X` fields have subfields; they have as many indicators as leader position 10 states, or one
    /// more, but at most four.
    pub fn is_control(&self) -> bool {
        if self.tag.is_control() {
            let begin = self
                .body
                .get(..=MOST_OF_CONTROL_FIELDS)
                .unwrap_or(&self.body);
            !position(begin, SUBFIELD_DELIMITER).is_some_and(|place| {
                let mut before = begin.iter().take(place);
                matches!(place, 0 | USUAL_INDICATORS)
                    || before.all(|octet| octet.is_ascii_digit() || *octet == b' ')
            })
        } else {
            !self.tag.0.iter().all(u8::is_ascii_digit) && !self.body.contains(&SUBFIELD_DELIMITER)
        }
    }

    /// Returns the value of a control field; `None` for a data field.
    pub fn value(&self) -> Option<&[u8]> {
        self.is_control().then_some(&self.body)
    }

    /// Returns the indicators, usually two octets; empty for a control field.
    pub fn indicators(&self) -> &[u8] {
        self.parts().0
    }

    /// Returns the subfields in order, with codes of one character; none for a control field.
    pub fn subfields(&self) -> Subfields<'_> {
        self.subfields_with(1)
    }

    /// Returns the subfields in order, with codes of `code_length` characters; this is usually [`Leader::code_length`].
    /// Only a few rare formats have codes of more than one character.
    pub fn subfields_with(&self, code_length: usize) -> Subfields<'_> {
        Subfields {
            rest: self.parts().1,
            code_length,
        }
    }

    /// Returns the data of the first subfield with this code (`"a"`).
    pub fn subfield(&self, code: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.subfields()
            .find(|subfield| subfield.code == code.as_ref())
            .map(|subfield| subfield.data)
    }

    /// Returns the data of the first subfield with this code as text, in which octets that are not UTF-8 are shown as `\xNN`.
    pub fn text(&self, code: impl AsRef<[u8]>) -> Option<Cow<'_, str>> {
        self.subfield(code).map(text_lossless)
    }

    /// Returns the indicators, and the octets after them.
    fn parts(&self) -> (&[u8], &[u8]) {
        if self.is_control() {
            return (&[], &[]);
        }
        let indicators = position(&self.body, SUBFIELD_DELIMITER)
            .filter(|place| *place <= MOST_INDICATORS)
            .unwrap_or_else(|| split_characters(&self.body, USUAL_INDICATORS).0.len());
        self.body
            .split_at_checked(indicators)
            .unwrap_or((&self.body, &[]))
    }
}

/// The number of indicators in MARC 21, UNIMARC and related formats.
const USUAL_INDICATORS: usize = 2;
/// The maximum number of indicators in a `00X` field with subfields.
const MOST_OF_CONTROL_FIELDS: usize = 4;
/// The maximum number of indicators, because leader position 10 is one digit.
const MOST_INDICATORS: usize = 9;

/// One subfield, borrowed from its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subfield<'a> {
    /// The code without the delimiter: usually one character (several octets if it is not ASCII). It is empty if the delimiter
    /// is the last octet or the text has no delimiter.
    pub code: &'a [u8],
    /// The data element, possibly empty.
    pub data: &'a [u8],
}

/// The iterator that [`Field::subfields`] returns.
#[derive(Clone, Debug)]
pub struct Subfields<'a> {
    rest: &'a [u8],
    code_length: usize,
}

impl<'a> Iterator for Subfields<'a> {
    type Item = Subfield<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&first, tail) = self.rest.split_first()?;
        let delimited = first == SUBFIELD_DELIMITER;
        let content = if delimited { tail } else { self.rest };
        let end = position(content, SUBFIELD_DELIMITER).unwrap_or(content.len());
        let (content, rest) = content.split_at_checked(end).unwrap_or((content, &[]));
        self.rest = rest;
        let code_length = if delimited { self.code_length } else { 0 };
        let (code, data) = split_characters(content, code_length);
        Some(Subfield { code, data })
    }
}

/// Splits the octets after `count` UTF-8 characters; an octet that is not UTF-8 counts as one character.
pub(super) fn split_characters(octets: &[u8], count: usize) -> (&[u8], &[u8]) {
    let mut length = 0;
    for _ in 0..count {
        length += character_length(octets.get(length..).unwrap_or_default());
    }
    octets.split_at_checked(length).unwrap_or((octets, &[]))
}

/// Returns the length of the first character in octets: 0 if there are no octets, 1 for an octet that does not begin
/// valid UTF-8.
pub(super) fn character_length(octets: &[u8]) -> usize {
    let announced = match octets.first() {
        None => return 0,
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        Some(_) => 1,
    };
    match octets.get(..announced).map(std::str::from_utf8) {
        Some(Ok(_)) => announced,
        _ => 1,
    }
}

/// Returns the offset of the first octet with the value `wanted`.
pub(super) fn position(octets: &[u8], wanted: u8) -> Option<usize> {
    octets.iter().position(|octet| *octet == wanted)
}

/// Parses a decimal number that consists of one to nine ASCII digits.
pub(super) fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + usize::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tag: &[u8; 3], body: &'static [u8], indicators: &[u8], subfields: &[(&[u8], &[u8])]) {
        let field = Field::control(tag, body);
        let found: Vec<_> = field.subfields().map(|s| (s.code, s.data)).collect();
        assert_eq!(field.indicators(), indicators, "{field:?}");
        assert_eq!(found, subfields, "{field:?}");
        let control = indicators.is_empty() && subfields.is_empty() && !body.is_empty();
        assert_eq!(field.value(), control.then_some(body), "{field:?}");
    }

    #[test]
    fn views_of_a_field() {
        check(
            b"245",
            b"10\x1FaEmma /\x1FcJane Austen.",
            b"10",
            &[(b"a", b"Emma /"), (b"c", b"Jane Austen.")],
        );
        check(b"500", b"  ", b"  ", &[]);
        check(b"500", b" ", b" ", &[]);
        check(b"500", b"  \x1Fa", b"  ", &[(b"a", b"")]);
        check(b"500", b"  \x1F\x1F", b"  ", &[(b"", b""), (b"", b"")]);
        check(
            b"500",
            b"\x1Fano indicators",
            b"",
            &[(b"a", b"no indicators")],
        );
        check(b"500", b"123\x1Fathree", b"123", &[(b"a", b"three")]);
        check(b"245", b"10No delimiter", b"10", &[(b"", b"No delimiter")]);
        check(
            b"245",
            b"10Late delimiter\x1Fax",
            b"10",
            &[(b"", b"Late delimiter"), (b"a", b"x")],
        );
        check(
            b"245",
            "1é\x1Fé\x1Fя".as_bytes(),
            "1é".as_bytes(),
            &[("é".as_bytes(), b""), ("я".as_bytes(), b"")],
        );
        check(b"245", b"\xFF\xFE\x1F\xC3", b"\xFF\xFE", &[(b"\xC3", b"")]);
        check(b"001", b"pg1342", b"", &[]);
        check(b"001", b"odd \x1F value", b"", &[]);
        check(b"001", b"00\x1FadanMARC2", b"00", &[(b"a", b"danMARC2")]);
        check(b"FMT", b"BK", b"", &[]);
        check(b"001", b"1234\x1Fastray", b"1234", &[(b"a", b"stray")]);
        check(b"001", b"12345\x1Fastray", b"", &[]);
        check(b"CAT", b"  \x1FaX", b"  ", &[(b"a", b"X")]);
    }

    #[test]
    fn built_fields_read_back() {
        let field = Field::data(b"245", "10", [("a", "Emma /"), ("c", "")]);
        assert_eq!(&field.body[..], b"10\x1FaEmma /\x1Fc");
        assert_eq!(field.subfield("a"), Some(&b"Emma /"[..]));
        assert_eq!(field.subfield("c"), Some(&b""[..]));
        assert_eq!(field.subfield("z"), None);
        let long = Field::data(b"245", "10", [("aa", "x")]);
        assert_eq!(
            long.subfields_with(2).next().map(|s| s.code),
            Some(&b"aa"[..])
        );
        assert_eq!(
            long.subfields_with(9).next().map(|s| s.code),
            Some(&b"aax"[..])
        );
    }

    #[test]
    fn leader_positions() {
        let leader = Leader(*b"00720cam a22002051  4500");
        assert_eq!(leader.record_length(), Some(720));
        assert_eq!(leader.base_address(), Some(205));
        assert_eq!(leader.character_coding(), b'a');
        assert_eq!(leader.code_length(), 1);
        assert_eq!(leader.octet(24), b' ');
        let blank = Leader([b' '; 24]);
        assert_eq!((blank.record_length(), blank.base_address()), (None, None));
        assert_eq!(Leader(*b"00720cam a23002051  4500").code_length(), 2);
    }

    #[test]
    fn a_record_finds_its_fields() {
        let record = MarcRecord {
            leader: Leader::default(),
            fields: vec![
                Field::data(b"650", " 0", [("a", "War")]),
                Field::control(b"001", "  id 7 "),
                Field::data(b"650", " 0", [("a", "Peace")]),
            ],
        };
        assert_eq!(record.control_number(), Some(&b"id 7"[..]));
        assert_eq!(record.fields_by_tag("650").count(), 2);
        assert_eq!(record.fields_by_tag(b"65").count(), 0);
        assert_eq!(MarcRecord::default().control_number(), None);
    }
}
