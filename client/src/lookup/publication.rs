//! The publication that a record describes. A record without a standard number is looked up by its title, author and
//! year. A record that is found counts only if it has the same title and no conflicting author.
//!
//! | file | holds |
//! |---|---|
//! | `fields` | the fields of MARC 21 and UNIMARC that describe a publication |
//! | `title` | a title as a term, and whether two titles agree |
//! | `names` | names as terms, and whether the names of two records agree |
//! | `likeness` | the choice of the record that is most like another |
//! | `searches` | the searches for a publication, most likely first |

mod fields;
mod likeness;
mod names;
mod searches;
mod title;

use std::fmt;

use z3950_asn1::apdu::External;
use z3950_marc::charset::Charset;
use z3950_marc::crosswalk::Citation;
use z3950_marc::{Field, Leader, MarcRecord};

use self::fields::Places;
pub(crate) use self::likeness::Likeness;
use self::names::Authors;
pub(crate) use self::searches::{broader_searches, searches};
use self::title::Title;
use crate::record::Record;

/// The maximum number of titles, one for each script, that are read from a record.
const MOST_TITLES: usize = 3;
/// The maximum number of characters of a title that are shown.
const MOST_SHOWN: usize = 100;

/// The parts of a record that identify a publication: title, names, year and kind of material. They are read from MARC
/// 21 (245, 008, 100 to 111, 700 to 720), UNIMARC (200, 100, 700 to 722), MODS or Dublin Core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The titles in each script. There is at least one.
    titles: Vec<Title>,
    authors: Authors,
    year: Option<u16>,
    /// The type of the record (leader position 6) and whether it is a serial, or `None` if the type is unknown.
    material: Option<(u8, bool)>,
    control_number: Option<String>,
}

impl Publication {
    /// Reads the publication from a record in UTF-8. Returns `None` if its title has neither a letter nor a digit.
    ///
    /// ```
    /// use z3950::lookup::Publication;
    /// use z3950::marc::{Field, MarcRecord};
    ///
    /// let record = MarcRecord {
    ///     fields: vec![
    ///         Field::data(b"100", "1 ", [("a", "Austen, Jane,"), ("d", "1775-1817.")]),
    ///         Field::data(b"245", "10", [("a", "Emma :"), ("b", "a novel /"), ("c", "Jane Austen.")]),
    ///         Field::data(b"260", "  ", [("c", "1816.")]),
    ///     ],
    ///     ..MarcRecord::default()
    /// };
    /// let publication = Publication::of(&record).expect("a title");
    /// assert_eq!(publication.to_string(), "Emma / Austen, Jane, 1816");
    /// ```
    pub fn of(record: &MarcRecord) -> Option<Self> {
        let places = Places::of(record);
        let language = places.language(record);
        let titles: Vec<Title> = places
            .titles(record)
            .into_iter()
            .filter_map(|field| Title::of(&places.parts(field), places.skipped(field), &language))
            .take(MOST_TITLES)
            .collect();
        if titles.is_empty() {
            return None;
        }
        let number = record.control_number().map(fields::text);
        Some(Self {
            titles,
            authors: Authors::of(record, places),
            year: Citation::of(record).year,
            material: material(&record.leader),
            control_number: number.filter(|number| !number.is_empty()),
        })
    }

    /// Reads the publication from a record sent by a server. Returns `None` if no title can be read from records in
    /// this syntax.
    pub(crate) fn of_retrieved(record: &External, charset: Option<Charset>) -> Option<Self> {
        let record = Record::new(record.clone(), None).with_charset(charset);
        if let Some(marc) = record.marc().or_else(|| record.described()) {
            return Self::of(&marc);
        }
        let title = record.title()?;
        Self::of(&MarcRecord {
            leader: Leader::default(),
            fields: vec![Field::data(b"245", "  ", [("a", title)])],
        })
    }

    /// Returns a key for this publication. Publications with the same key are looked up with the same searches.
    pub fn normalized(&self) -> String {
        let titles: Vec<String> = self.titles.iter().map(Title::key).collect();
        let (authors, year) = (self.authors.key(), self.year.unwrap_or_default());
        format!(
            "{} / {authors}, {year}, {:?}",
            titles.join(" = "),
            self.material
        )
    }
}

impl fmt::Display for Publication {
    /// Writes title, author and year, as far as they are known: `Emma / Austen, Jane, 1816`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = self.titles.first().map_or("", |title| &*title.shown);
        match title.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => write!(f, "{}…", title.get(..end).unwrap_or_default())?,
            None => f.write_str(title)?,
        }
        if let Some(author) = self.authors.shown() {
            write!(f, " / {author}")?;
        }
        match self.year {
            Some(year) => write!(f, ", {year}"),
            None => Ok(()),
        }
    }
}

/// Returns the kind of material given by leader positions 6 and 7. Manuscripts and printed texts count as the same
/// kind.
fn material(leader: &Leader) -> Option<(u8, bool)> {
    let kind = match leader.octet(6) {
        b't' => b'a',
        kind if kind.is_ascii_lowercase() => kind,
        _ => return None,
    };
    Some((kind, matches!(leader.octet(7), b'b' | b'i' | b's')))
}
