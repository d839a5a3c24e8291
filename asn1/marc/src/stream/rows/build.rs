//! Builds a record from the cells of a row.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use super::headings::{Column, Headings, Kind, Place};
use crate::language;
use crate::record::{Field, Leader, MarcRecord, Tag};
use crate::remarks::Remarks;
use crate::stream::octets;
use crate::table::{from_spreadsheet, without_formula};
use crate::text::{SEPARATORS, without_separators};

impl Headings {
    /// Builds the record of a row, and adds remarks on data that is lost. Returns `None` if the row is empty.
    pub fn record(&self, cells: &[Vec<u8>], remarks: &mut Remarks) -> Option<MarcRecord> {
        RowRecord::new(self, remarks).record(cells)
    }
}

/// The record of a row under construction.
pub(super) struct RowRecord<'a> {
    headings: &'a Headings,
    remarks: &'a mut Remarks,
    leader: Leader,
    /// Control fields, each with its number among the fields with the same tag.
    control: BTreeMap<(Tag, usize), Vec<char>>,
    fields: Vec<Draft>,
    /// The number of values so far, by tag and subfield.
    counts: HashMap<(Tag, u8), usize>,
}

/// A field under construction.
struct Draft {
    tag: Tag,
    /// The field's number among the fields with the same tag.
    number: usize,
    subfields: Vec<(u8, String)>,
    /// Whether a named column, such as `title`, added to the field. The subfields are then sorted by code, because the
    /// order of named columns in the table does not matter.
    is_named: bool,
}

const FIXED: Tag = Tag(*b"008");
const COPIES: Tag = Tag(*b"852");
/// The lengths of control fields (MARC 21 006, 008).
const LENGTHS: [(Tag, usize); 2] = [(Tag(*b"006"), 18), (FIXED, 40)];
/// The code for a value that has not been entered (MARC 21, fill character).
const FILL: char = '|';

impl<'a> RowRecord<'a> {
    pub(super) fn new(headings: &'a Headings, remarks: &'a mut Remarks) -> Self {
        let mut leader = Leader::default();
        leader.0[9] = b'a';
        Self {
            headings,
            remarks,
            leader,
            control: BTreeMap::new(),
            fields: Vec::new(),
            counts: HashMap::new(),
        }
    }

    pub(super) fn record(mut self, cells: &[Vec<u8>]) -> Option<MarcRecord> {
        let mut has_octets = false;
        let mut texts = Vec::with_capacity(cells.len());
        for cell in cells {
            let octets = Bytes::copy_from_slice(cell);
            let (text, is_other) = octets::text(&octets, self.remarks);
            has_octets |= is_other;
            texts.push(self.sound(&text));
        }
        let headings = self.headings;
        let mut pairs: Vec<(&Column, String)> =
            headings.columns.iter().zip(texts.iter().cloned()).collect();
        // Whole fields come before their parts, and explicit codes come before inferred codes.
        pairs.sort_by_key(|(column, _)| match column.place {
            Place::Leader | Place::Control(_) => 0,
            Place::Positions(..) => 1,
            _ => 2,
        });
        for (column, text) in &pairs {
            if !text.trim().is_empty() {
                self.put(column, text);
            }
        }
        let more = texts
            .iter()
            .skip(headings.columns.len())
            .filter(|text| !text.trim().is_empty())
            .count();
        if more > 0 {
            self.remarks
                .loss(|| format!("cells without a heading: {more}"));
        }
        if self.control.is_empty() && self.fields.is_empty() {
            return None;
        }
        Some(octets::restored(self.finished(), has_octets))
    }

    /// Returns the text of a cell on one line, without the characters that protect it in spreadsheet programs.
    fn sound(&mut self, text: &str) -> String {
        let text = if self.headings.is_spreadsheet {
            from_spreadsheet(text)
        } else {
            without_formula(text)
        };
        let replaced = without_separators(text, "?");
        if replaced.is_some() {
            self.remarks.loss(|| SEPARATORS.to_owned());
        }
        let text = replaced.as_deref().unwrap_or(text);
        text.replace(char::is_control, " ")
    }

    fn put(&mut self, column: &Column, text: &str) {
        match column.place {
            Place::LeftOut => {}
            Place::Unnamed => self.remarks.loss(|| "a cell without a heading".to_owned()),
            Place::Leader => {
                let length = text.chars().count();
                if length != Leader::LENGTH {
                    self.remarks
                        .loss(|| format!("the leader has {length} characters instead of 24"));
                }
                self.leader = Leader::padded(text.as_bytes()).printable();
            }
            Place::Positions(None, first, last) => self.put_in_leader(first, last, text),
            Place::Positions(Some(tag), first, last) => {
                for (number, value) in self.coded_values(tag, text).into_iter().enumerate() {
                    self.put_positions((tag, number), first, last, &value);
                }
            }
            Place::Control(tag) => {
                for value in self.coded_values(tag, text) {
                    let number = self.next(tag, b' ');
                    let mut value: Vec<char> = value.chars().collect();
                    let length = length_of(tag).unwrap_or(value.len());
                    value.resize(length.max(value.len()), ' ');
                    self.control.insert((tag, number), value);
                }
            }
            Place::Subfield(tag, code) => {
                for value in self.values(text) {
                    let number = self.next(tag, code);
                    self.add(tag, number, code, value, false);
                }
            }
            Place::Named(kind, tag, code) => self.put_named(kind, tag, code, text),
        }
    }

    /// Returns the number of the next field with this tag that gets a subfield with this code.
    fn next(&mut self, tag: Tag, code: u8) -> usize {
        let count = self.counts.entry((tag, code)).or_default();
        *count += 1;
        *count - 1
    }

    fn values(&self, text: &str) -> Vec<String> {
        let separator = self.headings.separator.trim();
        let values = match self.headings.separator.as_str() {
            "" => vec![text],
            whole if whole == separator => text.split(separator).collect(),
            // The separator includes the spaces around it, so a separator character at the end of a cell is text.
            whole => text.trim().split(whole).collect(),
        };
        let values = values.into_iter().map(str::trim);
        values
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Returns the values of control fields; only some control fields can be repeated in a record.
    fn coded_values(&self, tag: Tag, text: &str) -> Vec<String> {
        let is_repeated = matches!(&tag.0, b"006" | b"007");
        if !is_repeated {
            let is_number = matches!(&tag.0, b"001" | b"003" | b"005");
            let text = if is_number { text.trim() } else { text };
            return vec![text.to_owned()];
        }
        match self.headings.separator.as_str() {
            "" => vec![text.to_owned()],
            separator => text.split(separator).map(str::to_owned).collect(),
        }
    }

    fn put_in_leader(&mut self, first: usize, last: usize, text: &str) {
        let places = self
            .leader
            .0
            .iter_mut()
            .take(last.saturating_add(1))
            .skip(first);
        let mut given = text.chars();
        for place in places {
            let given = given.next().unwrap_or(' ');
            *place = u8::try_from(given)
                .ok()
                .filter(u8::is_ascii_graphic)
                .unwrap_or(b' ');
        }
    }

    fn put_positions(&mut self, key: (Tag, usize), first: usize, last: usize, value: &str) {
        let length = length_of(key.0).unwrap_or(0).max(last + 1);
        let field = self.control.entry(key).or_default();
        field.resize(length.max(field.len()), FILL);
        let mut given = value.chars();
        for place in field.iter_mut().take(last + 1).skip(first) {
            *place = given.next().unwrap_or(' ');
        }
        if given.next().is_some() {
            self.remarks
                .loss(|| format!("{}/{first}-{last}: {value:?} is longer", key.0));
        }
    }

    fn put_named(&mut self, kind: Kind, tag: Tag, code: u8, text: &str) {
        if kind == Kind::Language {
            return self.put_languages(tag, &self.values(text));
        }
        // A record has only one title, and a title may contain the separator.
        let values = match kind {
            Kind::Title => vec![text.trim().to_owned()],
            _ => self.values(text),
        };
        for value in values {
            match kind {
                Kind::Title => {
                    let number = self.next(tag, code);
                    match value.split_once(" : ") {
                        Some((title, rest)) => {
                            self.add(tag, number, code, format!("{title} :"), true);
                            self.add(tag, number, b'b', rest.to_owned(), true);
                        }
                        None => self.add(tag, number, code, value, true),
                    }
                }
                Kind::Author | Kind::Contributor => {
                    let is_main = kind == Kind::Author && !self.counts.contains_key(&(tag, code));
                    let tag = if is_main { tag } else { Tag(*b"700") };
                    let number = self.next(tag, code);
                    let (name, dates) = split_dates(&value);
                    self.add(tag, number, code, name, true);
                    if let Some(dates) = dates {
                        self.add(tag, number, b'd', dates, true);
                    }
                }
                Kind::Date => {
                    let is_year =
                        value.len() == 4 && value.bytes().all(|octet| octet.is_ascii_digit());
                    let number = self.next(tag, code);
                    if is_year && number == 0 {
                        self.put_codes_if_free(&[(6, "s"), (7, &value), (11, "    ")]);
                    }
                    self.add(tag, number, code, value, true);
                }
                Kind::Type => match type_code(&value) {
                    Some(code) if !self.has_leader() => self.leader.0[6] = code,
                    Some(_) => {}
                    None => {
                        let number = self.next(tag, code);
                        self.add(tag, number, code, value, true);
                    }
                },
                Kind::Oclc => {
                    let number = self.next(tag, code);
                    let is_bare = value.bytes().all(|octet| octet.is_ascii_digit());
                    let value = if is_bare {
                        format!("(OCoLC){value}")
                    } else {
                        value
                    };
                    self.add(tag, number, code, value, true);
                }
                Kind::Subdivided => {
                    let number = self.next(tag, code);
                    let parts = value
                        .split("--")
                        .map(str::trim)
                        .filter(|part| !part.is_empty());
                    for (index, part) in parts.enumerate() {
                        let code = if index == 0 { code } else { b'x' };
                        self.add(tag, number, code, part.to_owned(), false);
                    }
                }
                Kind::Plain | Kind::Language => {
                    let number = self.next(tag, code);
                    // In the column of copies, a dash stands for a missing value.
                    if tag != COPIES || value != "-" {
                        self.add(tag, number, code, value, true);
                    }
                }
            }
        }
    }

    /// Writes the first language to 008. Writes all languages to 041 if there are several, or if 008 already has a
    /// language.
    fn put_languages(&mut self, tag: Tag, values: &[String]) {
        let code_of = |value: &String| {
            if language::is_code(value) {
                Some(value.to_lowercase())
            } else {
                language::code_of(value).map(str::to_owned)
            }
        };
        // A table repeats the language of 008 among the values, so repeated values are dropped.
        let mut distinct: Vec<&String> = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let values = distinct;
        let codes: Vec<Option<String>> = values.iter().copied().map(code_of).collect();
        let is_written = match codes.as_slice() {
            [Some(code), ..] => self.put_codes_if_free(&[(35, code)]),
            _ => false,
        };
        if is_written && values.len() == 1 {
            return;
        }
        let number = self.next(tag, b'a');
        for (value, code) in values.iter().zip(codes) {
            let value = code.unwrap_or_else(|| (*value).clone());
            self.add(tag, number, b'a', value, true);
        }
    }

    /// Writes codes to their positions in 008, unless any of these already has a code. Returns whether the codes were
    /// written.
    fn put_codes_if_free(&mut self, codes: &[(usize, &str)]) -> bool {
        let length = length_of(FIXED).unwrap_or(0);
        let field = self
            .control
            .entry((FIXED, 0))
            .or_insert_with(|| vec![FILL; length]);
        let are_free = codes.iter().all(|(place, code)| {
            let mut places = field.iter().skip(*place).take(code.len());
            places.len() == code.len() && places.all(|place| *place == FILL)
        });
        if are_free {
            for (place, code) in codes {
                for (place, code) in field.iter_mut().skip(*place).zip(code.chars()) {
                    *place = code;
                }
            }
        }
        are_free
    }

    fn has_leader(&self) -> bool {
        let mut columns = self.headings.columns.iter();
        columns.any(|column| matches!(column.place, Place::Leader | Place::Positions(None, ..)))
    }

    fn add(&mut self, tag: Tag, number: usize, code: u8, value: String, is_named: bool) {
        let mut fields = self.fields.iter_mut();
        let found = fields.find(|field| field.tag == tag && field.number == number);
        match found {
            Some(field) => {
                field.subfields.push((code, value));
                field.is_named |= is_named;
            }
            None => self.fields.push(Draft {
                tag,
                number,
                subfields: vec![(code, value)],
                is_named,
            }),
        }
    }

    fn finished(mut self) -> MarcRecord {
        let control = self.control.into_iter().map(|((tag, _), value)| {
            let value: String = value.into_iter().collect();
            Field::control(tag, value)
        });
        let mut fields: Vec<Field> = control.collect();
        let is_main = |draft: &Draft| matches!(&draft.tag.0, b"100" | b"110" | b"111" | b"130");
        let has_main = self.fields.iter().any(is_main);
        self.fields.sort_by_key(|draft| (draft.tag, draft.number));
        for mut draft in self.fields {
            if draft.is_named {
                draft.subfields.sort_by_key(|(code, _)| *code);
            }
            let indicators = if self.headings.is_unimarc {
                of_unimarc(&draft)
            } else {
                of_marc21(&draft, has_main)
            };
            let subfields = draft
                .subfields
                .into_iter()
                .map(|(code, value)| ([code], value));
            fields.push(Field::data(draft.tag, indicators, subfields));
        }
        MarcRecord {
            leader: self.leader,
            fields,
        }
    }
}

fn length_of(tag: Tag) -> Option<usize> {
    let mut lengths = LENGTHS.iter();
    lengths
        .find(|(known, _)| *known == tag)
        .map(|(_, length)| *length)
}

/// Splits a name and the dates after it: `Austen, Jane, 1775-1817`.
fn split_dates(value: &str) -> (String, Option<String>) {
    let is_dates = |text: &str| {
        let is_mark = |octet: u8| octet.is_ascii_digit() || matches!(octet, b'-' | b'?');
        text.contains('-')
            && text.bytes().any(|octet| octet.is_ascii_digit())
            && text.bytes().all(is_mark)
    };
    match value.rsplit_once(", ") {
        Some((name, dates)) if is_dates(dates.trim_end_matches('.')) => {
            (format!("{name},"), Some(dates.to_owned()))
        }
        _ => (value.to_owned(), None),
    }
}

/// Returns the code for a DCMI type in MARC 21 leader/06.
fn type_code(value: &str) -> Option<u8> {
    const TYPES: [(&str, u8); 7] = [
        ("Text", b'a'),
        ("StillImage", b'k'),
        ("MovingImage", b'g'),
        ("Sound", b'j'),
        ("Software", b'm'),
        ("Collection", b'p'),
        ("PhysicalObject", b'r'),
    ];
    let mut types = TYPES.iter();
    types
        .find(|(name, _)| name.eq_ignore_ascii_case(value))
        .map(|(_, code)| *code)
}

/// Returns whether the field has a name with the surname first.
fn is_inverted(draft: &Draft) -> bool {
    let name = draft.subfields.iter().find(|(code, _)| *code == b'a');
    name.is_some_and(|(_, name)| name.trim_end_matches(',').contains(','))
}

/// Returns the usual indicators for a MARC 21 field. Some of them depend on the form of a name, or on whether the
/// record has a main entry.
fn of_marc21(draft: &Draft, has_main: bool) -> &'static str {
    match &draft.tag.0 {
        b"100" | b"700" | b"800" if is_inverted(draft) => "1 ",
        b"100" | b"700" | b"800" => "0 ",
        b"600" if is_inverted(draft) => "14",
        b"600" => "04",
        b"110" | b"111" | b"710" | b"711" | b"810" | b"811" => "2 ",
        b"610" | b"611" => "24",
        b"130" | b"730" | b"740" => "0 ",
        b"240" => "10",
        b"245" if has_main => "10",
        b"245" => "00",
        b"246" => "3 ",
        b"264" => " 1",
        b"041" | b"490" | b"505" => "0 ",
        b"830" => " 0",
        b"050" | b"630" | b"648" | b"650" | b"651" | b"655" => " 4",
        b"082" => "04",
        b"024" => "8 ",
        b"856" => "40",
        [b'7', b'6'..=b'8', _] => "0 ",
        _ => "  ",
    }
}

/// Returns the usual indicators for a UNIMARC field.
fn of_unimarc(draft: &Draft) -> &'static str {
    match &draft.tag.0 {
        b"200" => "1 ",
        b"700" | b"701" | b"702" if is_inverted(draft) => " 1",
        b"700" | b"701" | b"702" => " 0",
        b"710" | b"711" | b"712" => "02",
        _ => "  ",
    }
}
