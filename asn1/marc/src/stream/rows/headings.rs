//! The headings of a table, and the fields into which the values of its columns go.

use std::collections::HashSet;

use crate::record::Tag;
use crate::table::{Content, SEPARATOR, content};

/// The columns of a table, with the fields for their values in MARC 21 records.
///
/// | heading | goes to |
/// |---|---|
/// | `001`, `245`, `245$a`, `020a`, `245ab`, `008/35-37`, `LDR/06` | that place; the value of a field or of several subfields goes to one subfield |
/// | `title`, `author`, `year`, `isbn`, `publisher`, `subject` … | the usual MARC 21 field for the table column with this name |
/// | `edition`, `series`, `place`, `summary`, `url`, `barcode` … | the usual MARC 21 field for these data |
/// | `source`, `input`, `available`, `due` … | no field, because these data do not belong to a record |
#[derive(Clone, Debug)]
pub struct Headings {
    pub(super) columns: Vec<Column>,
    pub(super) separator: String,
    pub(super) is_spreadsheet: bool,
    pub(super) is_unimarc: bool,
    left_out: Vec<String>,
}

/// A column and the place for its values.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) heading: String,
    pub(super) place: Place,
}

/// The place for the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The values are ignored.
    LeftOut,
    /// The column does not have a heading, so it must be empty.
    Unnamed,
    Leader,
    /// Characters of the leader (`None`) or of a control field, from the first to the last position.
    Positions(Option<Tag>, usize, usize),
    Control(Tag),
    Subfield(Tag, u8),
    Named(Kind, Tag, u8),
}

/// The conversion of the values of a named column to subfields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Each value becomes a field.
    Plain,
    /// The text after a colon becomes `$b`.
    Title,
    /// The first value becomes the main entry, and the others become added entries. Dates become `$d`.
    Author,
    Contributor,
    /// The value also becomes the first date in 008.
    Date,
    /// The first value becomes the language in 008. If there are several values, all of them become one 041.
    Language,
    /// The value becomes the type in the leader, or a genre.
    Type,
    /// The value becomes a number with the OCLC prefix.
    Oclc,
    /// The value becomes a subject with subdivisions: the text after each `--` becomes `$x`.
    Subdivided,
}

/// The reason why a table cannot be read as records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadingError {
    /// Some headings do not name a place in a record.
    #[error("no place in a record for the column{} {}", if .0.len() == 1 { "" } else { "s" }, quoted(.0))]
    Unknown(Vec<String>),
    /// Two columns are for a place that occurs only once in a record.
    #[error("columns {first} and {second} both go to {place}, which a record has once")]
    Twice {
        /// The number of the first of these columns, from 1.
        first: usize,
        /// The number of the second column.
        second: usize,
        /// The heading of the second column.
        place: String,
    },
    /// A place was assigned to a column that the table does not have.
    #[error("there is no column {0:?}")]
    NoColumn(String),
    /// The place that was assigned to a column does not exist.
    #[error("{0:?} is not a place in a record, such as 245$a, 001, 008/35-37 or title")]
    NoPlace(String),
    /// No column has a place in a record.
    #[error("no column goes to a record")]
    Nothing,
}

fn quoted(headings: &[String]) -> String {
    let quoted: Vec<String> = headings
        .iter()
        .map(|heading| format!("{heading:?}"))
        .collect();
    quoted.join(", ")
}

/// The names of columns, and their places in MARC 21.
#[rustfmt::skip]
const NAMES: &[(&[&str], Kind, &[u8; 3], u8)] = &[
    (&["title"], Kind::Title, b"245", b'a'),
    (&["author", "authors", "creator"], Kind::Author, b"100", b'a'),
    (&["contributor", "contributors", "editor", "editors"], Kind::Contributor, b"700", b'a'),
    (&["year", "date", "publication year", "publication date"], Kind::Date, b"264", b'c'),
    (&["publisher"], Kind::Plain, b"264", b'b'),
    (&["place", "place of publication"], Kind::Plain, b"264", b'a'),
    (&["edition"], Kind::Plain, b"250", b'a'),
    (&["series"], Kind::Plain, b"490", b'a'),
    (&["isbn", "isbn10", "isbn13", "isbn 10", "isbn 13"], Kind::Plain, b"020", b'a'),
    (&["issn", "eissn"], Kind::Plain, b"022", b'a'),
    (&["lccn"], Kind::Plain, b"010", b'a'),
    (&["oclc", "oclc number"], Kind::Oclc, b"035", b'a'),
    (&["subject", "subjects"], Kind::Subdivided, b"650", b'a'),
    (&["coverage"], Kind::Subdivided, b"651", b'a'),
    (&["type", "genre"], Kind::Type, b"655", b'a'),
    (&["description", "note", "notes"], Kind::Plain, b"500", b'a'),
    (&["summary", "abstract"], Kind::Plain, b"520", b'a'),
    (&["format", "extent", "pages"], Kind::Plain, b"300", b'a'),
    (&["language", "languages"], Kind::Language, b"041", b'a'),
    (&["relation"], Kind::Plain, b"787", b't'),
    (&["rights"], Kind::Plain, b"540", b'a'),
    (&["url", "link"], Kind::Plain, b"856", b'u'),
    (&["library"], Kind::Plain, b"852", b'a'),
    (&["location"], Kind::Plain, b"852", b'b'),
    (&["call number", "shelfmark"], Kind::Plain, b"852", b'h'),
    (&["item id", "barcode"], Kind::Plain, b"852", b'p'),
];

impl Headings {
    /// Parses the first row of a table. `map` replaces headings that are not suitable. Each of its pairs consists of the heading or the
    /// number (from 1) of a column, and the heading to use instead. An empty heading leaves the column out.
    ///
    /// # Errors
    /// [`HeadingError`] if a column does not have a place, or two columns have the same place and it occurs only once
    /// in a record.
    pub fn read(names: &[String], map: &[(String, String)]) -> Result<Self, HeadingError> {
        let mut given: Vec<Option<&str>> = vec![None; names.len()];
        for (column, place) in map {
            let index =
                column_of(names, column).ok_or_else(|| HeadingError::NoColumn(column.clone()))?;
            if let Some(given) = given.get_mut(index) {
                *given = Some(place.trim());
            }
        }
        let mut unknown = Vec::new();
        let mut columns = Vec::with_capacity(names.len());
        for (name, given) in names.iter().zip(given) {
            let heading = name.trim().to_owned();
            let place = match given {
                Some("") => Some(Place::LeftOut),
                Some(text) => match place(text) {
                    Some(place) => Some(place),
                    None => return Err(HeadingError::NoPlace(text.to_owned())),
                },
                None => place(&heading),
            };
            match place {
                Some(place) => columns.push(Column { heading, place }),
                None => unknown.push(heading),
            }
        }
        if !unknown.is_empty() {
            return Err(HeadingError::Unknown(unknown));
        }
        let left_out = leave_out(&mut columns);
        refuse_twice(&columns)?;
        if !columns.iter().any(Column::is_of_record) {
            return Err(HeadingError::Nothing);
        }
        let has = |tag: &[u8; 3]| columns.iter().any(|column| column.tag() == Some(Tag(*tag)));
        let is_unimarc = has(b"200") && !has(b"245");
        Ok(Self {
            columns,
            separator: SEPARATOR.to_owned(),
            is_spreadsheet: false,
            is_unimarc,
            left_out,
        })
    }

    /// Sets the separator between several values in a cell; [`SEPARATOR`] by default. White space around values is
    /// ignored.
    #[must_use]
    pub fn with_separator(self, separator: &str) -> Self {
        Self {
            separator: separator.to_owned(),
            ..self
        }
    }

    /// Sets whether the table was written for spreadsheet programs. If so, an apostrophe before text that would be a
    /// formula is removed, as written by [`TableForm::Spreadsheet`](crate::table::TableForm::Spreadsheet). Text written
    /// as a formula, such as `="0141439513"`, is recognized in any table.
    #[must_use]
    pub fn of_spreadsheet(self, is_spreadsheet: bool) -> Self {
        Self {
            is_spreadsheet,
            ..self
        }
    }

    /// Returns the headings of columns that are left out because they do not belong to a record, or because another
    /// column has the same values.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

impl Column {
    fn is_of_record(&self) -> bool {
        !matches!(self.place, Place::LeftOut | Place::Unnamed)
    }

    fn tag(&self) -> Option<Tag> {
        match self.place {
            Place::Positions(tag, ..) => tag,
            Place::Control(tag) | Place::Subfield(tag, _) | Place::Named(_, tag, _) => Some(tag),
            Place::Leader | Place::LeftOut | Place::Unnamed => None,
        }
    }
}

/// Returns the index of a column, given its heading in any case, or its number.
fn column_of(names: &[String], column: &str) -> Option<usize> {
    let column = column.trim();
    let by_name = names
        .iter()
        .position(|name| name.trim().eq_ignore_ascii_case(column));
    by_name.or_else(|| {
        let number: usize = column.parse().ok()?;
        number.checked_sub(1).filter(|index| *index < names.len())
    })
}

/// Returns the place that a heading names; `None` if it does not name one.
fn place(heading: &str) -> Option<Place> {
    if heading.is_empty() {
        return Some(Place::Unnamed);
    }
    let name = heading.to_lowercase().replace(['_', '-'], " ");
    if name == "leader" {
        return Some(Place::Leader);
    }
    let named = NAMES
        .iter()
        .find(|(names, ..)| names.contains(&name.as_str()));
    if let Some((_, kind, tag, code)) = named {
        return Some(Place::Named(*kind, Tag(**tag), *code));
    }
    // The space in `245 $a` is not part of the name.
    let spaced = heading
        .split_at_checked(3)
        .filter(|(_, rest)| rest.starts_with(' '));
    let joined = spaced
        .map(|(tag, rest)| (tag, rest.trim_start()))
        .filter(|(_, rest)| rest.starts_with('$'))
        .map(|(tag, rest)| [tag, rest].concat());
    match content(joined.as_deref().unwrap_or(heading))? {
        Content::Leader => Some(Place::Leader),
        Content::Positions(tag, first, last) if tag.is_none_or(Tag::is_control) => {
            Some(Place::Positions(tag, first, last)).filter(|_| last < MAX_CONTROL)
        }
        Content::Positions(..) => None,
        // These columns do not come from a record: sources, inputs, and the state of copies.
        Content::Named(_) | Content::OfCopies(_) => Some(Place::LeftOut),
        Content::Field(tag, codes) if tag.is_control() => {
            codes.is_empty().then_some(Place::Control(tag))
        }
        Content::Field(tag, codes) => {
            let is_number = tag.0.iter().all(u8::is_ascii_digit);
            let code = codes.bytes().next();
            // A word of three capitals is a heading such as DOI, not a tag.
            (is_number || code.is_some()).then(|| Place::Subfield(tag, code.unwrap_or(b'a')))
        }
    }
}

/// The maximum length of a control field that is assembled from values for its positions.
const MAX_CONTROL: usize = 1000;

/// Leaves out columns whose values are also in another column: a named column if a column with a tag has the same subfield, and a column
/// with several subfields if an earlier column has the first of them. Returns the headings of all columns that are left out.
fn leave_out(columns: &mut [Column]) -> Vec<String> {
    let tagged: HashSet<(Tag, u8)> = columns
        .iter()
        .filter_map(|column| match column.place {
            Place::Subfield(tag, code) => Some((tag, code)),
            _ => None,
        })
        .collect();
    let mut headings: Vec<((Tag, u8), String)> = Vec::new();
    let mut left_out = Vec::new();
    for column in columns {
        let is_known = match column.place {
            Place::Named(_, tag, code) => {
                let old = (tag.0 == *b"264").then_some((Tag(*b"260"), code));
                tagged.contains(&(tag, code)) || old.is_some_and(|old| tagged.contains(&old))
            }
            Place::Subfield(tag, code) => {
                let same = headings.iter().find(|(known, _)| *known == (tag, code));
                let is_other = same.is_some_and(|(_, heading)| *heading != column.heading);
                headings.push(((tag, code), column.heading.clone()));
                is_other
            }
            _ => false,
        };
        if is_known {
            column.place = Place::LeftOut;
        }
        if column.place == Place::LeftOut {
            left_out.push(column.heading.clone());
        }
    }
    left_out
}

/// Refuses a second column for a place that occurs only once in a record.
fn refuse_twice(columns: &[Column]) -> Result<(), HeadingError> {
    for (second, column) in columns.iter().enumerate() {
        let is_single = match column.place {
            Place::Leader | Place::Positions(..) => true,
            Place::Control(tag) => !matches!(&tag.0, b"006" | b"007"),
            Place::Subfield(tag, _) => {
                matches!(&tag.0, b"100" | b"110" | b"111" | b"130" | b"240" | b"245")
            }
            Place::Named(kind, ..) => matches!(kind, Kind::Title | Kind::Date),
            Place::LeftOut | Place::Unnamed => false,
        };
        let mut before = columns.iter().take(second);
        if is_single && let Some(first) = before.position(|other| other.place == column.place) {
            return Err(HeadingError::Twice {
                first: first + 1,
                second: second + 1,
                place: column.heading.clone(),
            });
        }
    }
    Ok(())
}
