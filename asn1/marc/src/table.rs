//! Records as rows of a table, in comma-separated values (RFC 4180) or separated by tabs (text/tab-separated-values with the
//! same quotation marks).

use std::fmt;
use std::str::FromStr;

use crate::crosswalk::dublin_core::elements;
use crate::crosswalk::labels::{clean, has_controls};
use crate::crosswalk::{Citation, Identifiers};
use crate::record::{Field, Leader, MarcRecord, Tag};
use crate::text::text_lossless;

/// What separates the values of a cell: repeated fields, and repeated subfields where a column has only one code.
pub const SEPARATOR: &str = " | ";

/// The columns of a table without a list of them. They suit MARC 21 and UNIMARC.
pub const DEFAULT_COLUMNS: &str = "001,title,author,year,publisher,isbn,issn";

/// The most columns.
pub const MAX_COLUMNS: usize = 1000;

/// The columns that are not fields: the parts of a citation, elements of Dublin Core, and where the record comes from.
const NAMES: [&str; 18] = [
    "title",
    "author",
    "year",
    "isbn",
    "issn",
    "lccn",
    "oclc",
    "source",
    "contributor",
    "subject",
    "description",
    "publisher",
    "type",
    "format",
    "language",
    "relation",
    "coverage",
    "rights",
];

/// The columns of a table: `001,020a,245ab,008/35-37,title`.
///
/// | column | its values |
/// |---|---|
/// | `001` | a control field; of a data field, all subfields whose code is a letter |
/// | `245ab` | these subfields of each field, in record order |
/// | `020a` | each subfield of this code |
/// | `008/35-37`, `LDR/06` | characters of a control field or of the leader, from 0 |
/// | `title`, `author`, `year`, `isbn`, `issn`, `lccn`, `oclc` | as in a [`Citation`] |
/// | `publisher`, `subject`, `language` … | elements of Dublin Core |
/// | `source` | where the record comes from |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    /// As given, for the header.
    name: String,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// A name of [`NAMES`].
    Named(&'static str),
    Leader,
    /// The field; of a data field, the subfields with these codes, or with any letter.
    Field(Tag, String),
    /// The first and the last character of the leader or a control field.
    Positions(Option<Tag>, usize, usize),
}

/// Why a text is not a list of columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column that is neither a field nor a name.
    #[error(
        "{column:?} is not a column: use fields such as 001, 020a, 245ab, 008/35-37 or LDR/06, or {}",
        NAMES.join(", ")
    )]
    Unknown {
        /// The column as given.
        column: String,
    },
    /// More than [`MAX_COLUMNS`].
    #[error("more than {MAX_COLUMNS} columns")]
    TooMany,
}

impl Default for Columns {
    fn default() -> Self {
        DEFAULT_COLUMNS.parse().unwrap_or(Self(Vec::new()))
    }
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let columns = text.split(',').take(MAX_COLUMNS + 1).map(|column| {
            let name = column.trim();
            let content = content(name).ok_or_else(|| ColumnsError::Unknown {
                column: name.to_owned(),
            })?;
            let name = name.to_owned();
            Ok(Column { name, content })
        });
        let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
        match columns.len() > MAX_COLUMNS {
            true => Err(ColumnsError::TooMany),
            false => Ok(Self(columns)),
        }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|column| &*column.name).collect();
        f.write_str(&names.join(","))
    }
}

fn content(name: &str) -> Option<Content> {
    if let Some(known) = NAMES.into_iter().find(|known| *known == name) {
        return Some(Content::Named(known));
    }
    let (tag, rest) = name.split_at_checked(3)?;
    let is_letter = |octet: u8| octet.is_ascii_digit() || octet.is_ascii_uppercase();
    let octets: [u8; 3] = tag.as_bytes().try_into().ok()?;
    if !octets.iter().copied().all(is_letter) {
        return None;
    }
    let tag = (tag != "LDR").then_some(Tag(octets));
    if let Some(positions) = rest.strip_prefix('/') {
        let (first, last) = positions.split_once('-').unwrap_or((positions, positions));
        let number = |text: &str| text.parse().ok().filter(|number: &usize| *number <= 9999);
        let (first, last) = (number(first)?, number(last)?);
        return (first <= last).then_some(Content::Positions(tag, first, last));
    }
    // `245$a$b` is also written so.
    let codes: String = rest.split('$').collect();
    match tag {
        None => codes.is_empty().then_some(Content::Leader),
        Some(tag) => {
            let are_codes = codes.bytes().all(|code| code.is_ascii_graphic());
            are_codes.then_some(Content::Field(tag, codes))
        }
    }
}

/// How the cells of a row are separated and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Commas, and lines that end in CR LF (RFC 4180).
    Csv,
    /// Tabs, and lines that end in LF.
    Tsv,
    /// CSV for programs that calculate: it begins with a byte order mark, by which they recognise UTF-8, and a cell that they
    /// would take for a formula begins with an apostrophe.
    Spreadsheet,
}

/// A table of records: its columns, and how they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    form: TableForm,
    columns: Vec<Column>,
    header: String,
}

impl Table {
    /// A table with these columns.
    pub fn new(form: TableForm, columns: &Columns) -> Self {
        let columns = columns.0.clone();
        let mut header = match form {
            TableForm::Spreadsheet => "\u{FEFF}".to_owned(),
            TableForm::Csv | TableForm::Tsv => String::new(),
        };
        let names = columns.iter().map(|column| column.name.clone());
        form.put_row(names, &mut header);
        Self {
            form,
            columns,
            header,
        }
    }

    /// The first line: the columns as they were given.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Appends the row of a record in UTF-8, and returns a message for each loss. `source` says where the record comes from.
    ///
    /// A cell is one line: white space around a subfield is removed, control characters become blanks, and the marks of
    /// non-filing words are left out. Octets that are not UTF-8 show as `\xNN`.
    pub fn write(
        &self,
        record: &MarcRecord,
        source: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Vec<String> {
        let mut row = TableRow {
            record,
            source,
            citation: None,
            elements: None,
            notes: Vec::new(),
        };
        let cells = self.columns.iter();
        let cells = cells.map(|column| row.cell(&column.content));
        let mut line = String::new();
        self.form.put_row(cells, &mut line);
        out.extend_from_slice(line.as_bytes());
        row.notes
    }
}

impl TableForm {
    fn put_row(self, cells: impl Iterator<Item = String>, line: &mut String) {
        let separator = if self == Self::Tsv { '\t' } else { ',' };
        let begin = line.len();
        for (index, cell) in cells.enumerate() {
            if index > 0 {
                line.push(separator);
            }
            let is_formula = self == Self::Spreadsheet && cell.starts_with(['=', '+', '-', '@']);
            let cell = if is_formula { format!("'{cell}") } else { cell };
            match cell.contains([separator, '"', '\r', '\n']) {
                true => {
                    line.push('"');
                    line.push_str(&cell.replace('"', "\"\""));
                    line.push('"');
                }
                false => line.push_str(&cell),
            }
        }
        // A blank line is no row.
        if line.len() == begin {
            line.push_str("\"\"");
        }
        line.push_str(if self == Self::Tsv { "\n" } else { "\r\n" });
    }
}

/// A record on its way into a row; what several columns need is computed once.
struct TableRow<'a> {
    record: &'a MarcRecord,
    source: Option<&'a str>,
    citation: Option<Citation>,
    elements: Option<Vec<(&'static str, String)>>,
    notes: Vec<String>,
}

impl TableRow<'_> {
    fn cell(&mut self, content: &Content) -> String {
        let values = match content {
            Content::Named(name) => self.named(name),
            Content::Leader => self.positions(None, 0, Leader::LENGTH),
            Content::Field(tag, codes) => self.field(*tag, codes),
            Content::Positions(tag, first, last) => self.positions(*tag, *first, *last),
        };
        let values = values.into_iter().filter(|value| !value.is_empty());
        values.collect::<Vec<_>>().join(SEPARATOR)
    }

    fn named(&mut self, name: &str) -> Vec<String> {
        if name == "source" {
            return self.source.map(str::to_owned).into_iter().collect();
        }
        let record = self.record;
        if matches!(name, "title" | "author" | "year") || Identifiers::KINDS.contains(&name) {
            let citation = self.citation.get_or_insert_with(|| Citation::of(record));
            return match name {
                "title" => citation.title.clone().into_iter().collect(),
                "author" => citation.author.clone().into_iter().collect(),
                "year" => citation
                    .year
                    .map(|year| year.to_string())
                    .into_iter()
                    .collect(),
                kind => citation.identifiers.of_kind(kind).to_vec(),
            };
        }
        let elements = self.elements.get_or_insert_with(|| elements(record)).iter();
        let of_name = elements.filter(|(element, _)| *element == name);
        of_name.map(|(_, value)| value.clone()).collect()
    }

    fn field(&mut self, tag: Tag, codes: &str) -> Vec<String> {
        let record = self.record;
        let fields = record.fields_by_tag(tag);
        fields
            .flat_map(|field| match field.value() {
                Some(value) => vec![self.text(value, field)],
                None => self.subfields(field, codes),
            })
            .collect()
    }

    fn subfields(&mut self, field: &Field, codes: &str) -> Vec<String> {
        let is_shown = |code: &[u8]| match codes {
            "" => code.iter().all(u8::is_ascii_alphabetic),
            codes => matches!(code, [code] if codes.as_bytes().contains(code)),
        };
        let shown = field
            .subfields_with(self.record.leader.code_length())
            .filter(|subfield| is_shown(subfield.code));
        let texts: Vec<String> = shown
            .map(|subfield| self.text(subfield.data, field))
            .filter(|text| !text.is_empty())
            .collect();
        match codes.len() {
            1 => texts,
            _ => vec![texts.join(" ")],
        }
    }

    fn positions(&mut self, tag: Option<Tag>, first: usize, last: usize) -> Vec<String> {
        let visible = |character: char| match character.is_control() {
            true => ' ',
            false => character,
        };
        let part = |octets: &[u8]| -> String {
            let text = text_lossless(octets);
            let part = text.chars().skip(first).take(last - first + 1);
            part.map(visible).collect()
        };
        match tag {
            None => vec![part(&self.record.leader.0)],
            Some(tag) => {
                let fields = self.record.fields_by_tag(tag);
                fields.filter_map(Field::value).map(part).collect()
            }
        }
    }

    /// The text of octets in a cell.
    fn text(&mut self, octets: &[u8], field: &Field) -> String {
        if has_controls(octets) {
            let note = format!("control characters in {} replaced by blanks", field.tag);
            if self.notes.last() != Some(&note) {
                self.notes.push(note);
            }
        }
        clean(octets).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> MarcRecord {
        MarcRecord {
            leader: Leader(*b"00000nam a2200000   4500"),
            fields: vec![
                Field::control(b"001", "id1"),
                Field::control(b"008", "971201s1813    enk           000 1 eng  "),
                Field::data(
                    b"020",
                    "  ",
                    [("a", "0141439513 (pbk.) :"), ("c", "£5, \"net\"")],
                ),
                Field::data(b"020", "  ", [("a", "0306406152"), ("z", "x")]),
                Field::data(b"041", "0 ", [("a", "eng"), ("a", "fre")]),
                Field::data(
                    b"245",
                    "10",
                    [
                        ("6", "880-01"),
                        ("a", "=War, "),
                        ("b", "peace /"),
                        ("c", "me"),
                    ],
                ),
                Field::data(b"500", "  ", [("a", "\u{98}The\u{9C} end\x01")]),
                Field::data(b"650", " 0", [("a", "War"), ("x", "Fiction")]),
                Field::data(b"650", " 0", [("a", "Peace")]),
            ],
        }
    }

    fn check(form: TableForm, columns: &str, expected: &str, notes: &[&str]) {
        let columns: Columns = columns.parse().expect(columns);
        let table = Table::new(form, &columns);
        let mut out = table.header().as_bytes().to_vec();
        let found = table.write(&record(), Some("loc"), &mut out);
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            expected,
            "{columns}"
        );
        assert_eq!(found, notes, "{columns}");
    }

    #[test]
    fn rows_of_a_record() {
        for (columns, expected) in [
            (
                "001,020a",
                "001,020a\r\nid1,0141439513 (pbk.) : | 0306406152\r\n",
            ),
            (
                "245ab, 245$c ,245",
                "245ab,245$c,245\r\n\"=War, peace /\",me,\"=War, peace / me\"\r\n",
            ),
            ("020c", "020c\r\n\"£5, \"\"net\"\"\"\r\n"),
            ("041a,041", "041a,041\r\neng | fre,eng fre\r\n"),
            (
                "650,650ax",
                "650,650ax\r\nWar Fiction | Peace,War Fiction | Peace\r\n",
            ),
            (
                "008/35-37,LDR/06,LDR/5-7",
                "008/35-37,LDR/06,LDR/5-7\r\neng,a,nam\r\n",
            ),
            ("LDR,008/90", "LDR,008/90\r\n00000nam a2200000   4500,\r\n"),
            ("856u", "856u\r\n\"\"\r\n"),
            (
                "source,year,isbn,type",
                "source,year,isbn,type\r\nloc,1813,9780141439518 | 9780306406157,Text\r\n",
            ),
            (
                "subject,lccn",
                "subject,lccn\r\nWar -- Fiction | Peace,\r\n",
            ),
        ] {
            check(TableForm::Csv, columns, expected, &[]);
        }
        let lost = ["control characters in 500 replaced by blanks"];
        check(TableForm::Csv, "500", "500\r\nThe end\r\n", &lost);
    }

    #[test]
    fn forms_of_a_table() {
        for (form, expected) in [
            (TableForm::Csv, "001,245ab\r\nid1,\"=War, peace /\"\r\n"),
            (TableForm::Tsv, "001\t245ab\nid1\t=War, peace /\n"),
            (
                TableForm::Spreadsheet,
                "\u{FEFF}001,245ab\r\nid1,\"'=War, peace /\"\r\n",
            ),
        ] {
            check(form, "001,245ab", expected, &[]);
        }
    }

    #[test]
    fn columns_that_do_not_exist() {
        let long = vec!["001"; MAX_COLUMNS + 1].join(",");
        for (columns, column) in [
            ("", Some("")),
            ("001,", Some("")),
            ("24", Some("24")),
            ("titel", Some("titel")),
            ("001,008/9-8", Some("008/9-8")),
            ("008/x", Some("008/x")),
            ("LDRa", Some("LDRa")),
            ("245é", Some("245é")),
            ("24é", Some("24é")),
            (&long, None),
        ] {
            let expected = match column {
                Some(column) => ColumnsError::Unknown {
                    column: column.to_owned(),
                },
                None => ColumnsError::TooMany,
            };
            assert_eq!(columns.parse::<Columns>(), Err(expected), "{columns}");
        }
        assert!(long[4..].parse::<Columns>().is_ok());
        assert_eq!(Columns::default().to_string(), DEFAULT_COLUMNS);
        for name in NAMES {
            assert!(name.parse::<Columns>().is_ok(), "{name}");
        }
    }
}
