//! From a term with its Bib-1 attributes to a look into the indexes, or to the diagnostic that says which attribute is
//! in the way (Z39.50-2003 Appendix ATR.1, conditions 113 to 125 and 246).
//!
//! | type | taken | otherwise |
//! |---|---|---|
//! | Use | 1032, 12, 1007 docid; 7 ISBN; 4 title; 1003 author; 1016 or none any | 114 |
//! | Relation | 3 or none | 117 |
//! | Position | 3 or none | 119 |
//! | Structure of a docid | 104, 107, 108 or none | 118 |
//! | Structure of an ISBN | 1, 2, 6, 107, 108, 109 or none | 118 |
//! | Structure of words | 1 and 101: one behind the other; 2, 6, 102, 105 or none: all of them, anywhere | 118 |
//! | Truncation | 100 or none; 1 with words | 120 |
//! | Completeness | 1 or none | 122 |

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, StringOrNumeric, Term,
};
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{BIB_1, Oid};

use super::index::WordIndex;
use super::isbn;
use super::words::words;
use crate::diagnostic::{Diagnostic, diagnostic};

/// A look into the indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup<'a> {
    /// Records with exactly this docid.
    Docid(&'a [u8]),
    /// Records with this ISBN, normalized.
    Isbn(String),
    /// Records with these words.
    Words(WordLookup),
}

/// A look for words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WordLookup {
    /// At least one.
    pub(super) words: Vec<String>,
    pub(super) index: WordIndex,
    /// Whether the words have to stand one behind the other.
    pub(super) phrase: bool,
    /// Whether the words (of a phrase the last one) may go on.
    pub(super) truncated: bool,
}

/// What a term looks for; `attribute_set` is that of the query.
///
/// # Errors
/// The first attribute that is not supported, or the term where it does not suit its attributes.
pub(super) fn lookup<'a>(
    attribute_set: &Oid,
    operand: &'a AttributesPlusTerm,
) -> Result<Lookup<'a>, Diagnostic> {
    let attributes = Attributes::read(attribute_set, &operand.attributes)?;
    let access = attributes.access()?;
    attributes.only(bib1::RELATION, &[bib1::RELATION_EQUAL], Condition::RELATION)?;
    attributes.only(bib1::POSITION, &[bib1::POSITION_ANY], Condition::POSITION)?;
    attributes.only(bib1::STRUCTURE, access.structures(), Condition::STRUCTURE)?;
    attributes.only(
        bib1::TRUNCATION,
        access.truncations(),
        Condition::TRUNCATION,
    )?;
    let incomplete = bib1::COMPLETENESS_INCOMPLETE_SUBFIELD;
    attributes.only(bib1::COMPLETENESS, &[incomplete], Condition::COMPLETENESS)?;

    let octets = octets(&operand.term)?;
    let text = || String::from_utf8_lossy(octets);
    let malformed = || diagnostic(Condition::MALFORMED_TERM, octets);
    match access {
        Access::Docid => Ok(Lookup::Docid(octets)),
        Access::Isbn => isbn::normalized(&text())
            .map(Lookup::Isbn)
            .ok_or_else(malformed),
        Access::Words(index) => {
            let words = words(&text());
            let structure = attributes.value(bib1::STRUCTURE);
            let lookup = WordLookup {
                index,
                phrase: structure.is_some_and(|structure| IN_ORDER.contains(&structure)),
                truncated: attributes.value(bib1::TRUNCATION) == Some(bib1::TRUNCATION_RIGHT),
                words,
            };
            let found = (!lookup.words.is_empty()).then_some(Lookup::Words(lookup));
            found.ok_or_else(malformed)
        }
    }
}

/// The octets of a term of one of the two types that are texts.
fn octets(term: &Term) -> Result<&[u8], Diagnostic> {
    let unsupported = match term {
        Term::General(octets) => return Ok(octets),
        Term::CharacterString(text) => return Ok(text.as_bytes()),
        Term::Numeric(_) => "numeric",
        Term::Oid(_) => "oid",
        Term::DateTime(_) => "dateTime",
        Term::External(_) => "external",
        Term::IntegerAndUnit(_) => "integerAndUnit",
        Term::Null => "null",
    };
    Err(diagnostic(Condition::TERM_TYPE, unsupported))
}

/// What a Use attribute gives access to.
#[derive(Clone, Copy)]
enum Access {
    Docid,
    Isbn,
    Words(WordIndex),
}

/// Structure 101, a name as it is indexed; the field writes it like a phrase.
const STRUCTURE_NORMALIZED_NAME: i64 = 101;
/// Structure 102, a name in any order.
const STRUCTURE_UNNORMALIZED_NAME: i64 = 102;
/// Structure 105, words of any kind.
const STRUCTURE_FREE_FORM_TEXT: i64 = 105;
/// Structure 109, a string of digits.
const STRUCTURE_NUMERIC_STRING: i64 = 109;

/// The structures whose words stand one behind the other.
const IN_ORDER: &[i64] = &[bib1::STRUCTURE_PHRASE, STRUCTURE_NORMALIZED_NAME];

impl Access {
    fn structures(self) -> &'static [i64] {
        match self {
            Self::Docid => &[
                bib1::STRUCTURE_URX,
                bib1::STRUCTURE_LOCAL_NUMBER,
                bib1::STRUCTURE_STRING,
            ],
            Self::Isbn => &[
                bib1::STRUCTURE_PHRASE,
                bib1::STRUCTURE_WORD,
                bib1::STRUCTURE_WORD_LIST,
                bib1::STRUCTURE_LOCAL_NUMBER,
                bib1::STRUCTURE_STRING,
                STRUCTURE_NUMERIC_STRING,
            ],
            Self::Words(_) => &[
                bib1::STRUCTURE_PHRASE,
                bib1::STRUCTURE_WORD,
                bib1::STRUCTURE_WORD_LIST,
                STRUCTURE_NORMALIZED_NAME,
                STRUCTURE_UNNORMALIZED_NAME,
                STRUCTURE_FREE_FORM_TEXT,
            ],
        }
    }

    fn truncations(self) -> &'static [i64] {
        match self {
            Self::Docid | Self::Isbn => &[bib1::TRUNCATION_NONE],
            Self::Words(_) => &[bib1::TRUNCATION_NONE, bib1::TRUNCATION_RIGHT],
        }
    }
}

/// The attributes of a term, a value for each type; type 1 comes first.
struct Attributes([Option<i64>; 6]);

impl Attributes {
    fn read(attribute_set: &Oid, elements: &[AttributeElement]) -> Result<Self, Diagnostic> {
        // A term without attributes has those that the query's set supposes.
        let sets = elements
            .iter()
            .map(|element| element.attribute_set.as_ref());
        let none_given = elements.is_empty().then_some(None);
        for set in sets.chain(none_given) {
            let set = set.unwrap_or(attribute_set);
            if *set != BIB_1 {
                return Err(diagnostic(Condition::ATTRIBUTE_SET, set.to_string()));
            }
        }
        let mut attributes = Self([None; 6]);
        for element in elements {
            let attribute_type = element.attribute_type.to_string();
            let Some(place) = attributes.place(element.attribute_type) else {
                return Err(diagnostic(Condition::ATTRIBUTE_TYPE, attribute_type));
            };
            if place.replace(numeric(&element.attribute_value)?).is_some() {
                return Err(diagnostic(Condition::ATTRIBUTE_COMBINATION, attribute_type));
            }
        }
        Ok(attributes)
    }

    fn place(&mut self, attribute_type: i64) -> Option<&mut Option<i64>> {
        let index = usize::try_from(attribute_type.checked_sub(1)?).ok()?;
        self.0.get_mut(index)
    }

    fn value(&self, attribute_type: i64) -> Option<i64> {
        let index = usize::try_from(attribute_type.checked_sub(1)?).ok()?;
        self.0.get(index).copied().flatten()
    }

    fn access(&self) -> Result<Access, Diagnostic> {
        match self.value(bib1::USE) {
            Some(bib1::USE_DOC_ID | bib1::USE_LOCAL_NUMBER | bib1::USE_STANDARD_IDENTIFIER) => {
                Ok(Access::Docid)
            }
            Some(bib1::USE_ISBN) => Ok(Access::Isbn),
            Some(bib1::USE_TITLE) => Ok(Access::Words(WordIndex::Title)),
            Some(bib1::USE_AUTHOR) => Ok(Access::Words(WordIndex::Author)),
            Some(bib1::USE_ANY) | None => Ok(Access::Words(WordIndex::Any)),
            Some(unsupported) => Err(diagnostic(Condition::USE, unsupported.to_string())),
        }
    }

    /// Refuses any value but these; none is always taken.
    fn only(
        &self,
        attribute_type: i64,
        supported: &[i64],
        condition: Condition,
    ) -> Result<(), Diagnostic> {
        match self.value(attribute_type) {
            Some(value) if !supported.contains(&value) => {
                Err(diagnostic(condition, value.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// The value as a number; of a complex value, the only one in its list.
fn numeric(value: &AttributeValue) -> Result<i64, Diagnostic> {
    match value {
        AttributeValue::Numeric(value) => Ok(*value),
        AttributeValue::Complex(complex) => match complex.list.as_slice() {
            [StringOrNumeric::Numeric(value)] => Ok(*value),
            _ => Err(diagnostic(Condition::COMPLEX_ATTRIBUTE, "")),
        },
    }
}
