//! Reads the attributes of a term: sets, types and values, each of which is supported, refused or ignored under the profile
//! (Z39.50-2003 §3.7.1, Appendix ATR.1, conditions 113 to 123 and 246). Also determines the index for a scan or sort (§3.2.8.1.1,
//! §3.2.7.1.3).

use std::borrow::Cow;

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, SortKey, StringOrNumeric, Term,
};
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::oid::{BIB_1, Oid};

use super::support::{KEY, NAME_NORMALIZED, STRING, can};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::fields::{Fields, IndexId, Kind};
use crate::memory::index::Terms;
use crate::memory::profile::{Profile, TypeProfile, UnsupportedPolicy, place};
use crate::memory::words::words;

/// The attributes of a term, all of them supported by the index and the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) struct TermAttributes {
    /// The index selected by the Use attribute.
    pub(in crate::memory) index: IndexId,
    /// The kind of the index.
    pub(in crate::memory) kind: Kind,
    /// The relation (Bib-1 type 2); the default is 3.
    pub(in crate::memory) relation: i64,
    /// The position (Bib-1 type 3); the default is 3.
    pub(in crate::memory) position: i64,
    /// The structure (Bib-1 type 4).
    pub(in crate::memory) structure: Option<i64>,
    /// The truncation (Bib-1 type 5); the default is 100.
    pub(in crate::memory) truncation: i64,
    /// The completeness (Bib-1 type 6); the default is 1.
    pub(in crate::memory) completeness: i64,
}

/// Formats a value for a message.
fn shown(value: &StringOrNumeric) -> String {
    match value {
        StringOrNumeric::Numeric(value) => value.to_string(),
        StringOrNumeric::String(name) => name.to_string_lossy().into_owned(),
    }
}

impl TermAttributes {
    /// Reads the attributes of a term; `attribute_set` is the default set.
    ///
    /// # Errors
    /// Fails with the condition for the first unsupported attribute: sets are checked first, then types, then values in the order
    /// of their types.
    pub(in crate::memory) fn read(
        fields: &Fields,
        attribute_set: &Oid,
        elements: &[AttributeElement],
    ) -> Result<Self, Diagnostic> {
        let profile = &fields.profile;
        let mut given = values(profile, attribute_set, elements)?;
        let (index, kind) = access(fields, given.first_mut().and_then(Option::take))?;
        let mut read = |attribute_type| {
            let value = place(attribute_type).and_then(|place| given.get_mut(place)?.take());
            supported(profile, kind, attribute_type, value)
        };
        // The attributes are read in the order of their types, so the first unsupported one is refused.
        Ok(Self {
            index,
            kind,
            relation: read(bib1::RELATION)?.unwrap_or(bib1::RELATION_EQUAL),
            position: read(bib1::POSITION)?.unwrap_or(bib1::POSITION_ANY),
            structure: read(bib1::STRUCTURE)?,
            truncation: read(bib1::TRUNCATION)?.unwrap_or(bib1::TRUNCATION_NONE),
            completeness: read(bib1::COMPLETENESS)?
                .unwrap_or(bib1::COMPLETENESS_INCOMPLETE_SUBFIELD),
        })
    }
}

/// Returns the values by type. A value that occurs twice is used once; two different values of a type are an error.
fn values(
    profile: &Profile,
    attribute_set: &Oid,
    elements: &[AttributeElement],
) -> Result<[Option<StringOrNumeric>; 6], Diagnostic> {
    // A term without attributes has the attribute set of the query, so that set is checked.
    let sets = elements
        .iter()
        .map(|element| element.attribute_set.as_ref());
    let none_given = elements.is_empty().then_some(None);
    for set in sets.chain(none_given) {
        let set = set.unwrap_or(attribute_set);
        if *set != BIB_1 {
            refused(profile.other_sets, || set.to_string())?;
        }
    }
    let mut values = [const { None }; 6];
    let of_bib_1 = |element: &&AttributeElement| {
        *element.attribute_set.as_ref().unwrap_or(attribute_set) == BIB_1
    };
    for element in elements.iter().filter(of_bib_1) {
        let attribute_type = element.attribute_type;
        let Some(known) = place(attribute_type).and_then(|place| values.get_mut(place)) else {
            refused(profile.other_types, || attribute_type.to_string())?;
            continue;
        };
        let value = value(element)?;
        if known
            .replace(value.clone())
            .is_some_and(|before| before != value)
        {
            return Err(diagnostic(
                Condition::ATTRIBUTE_COMBINATION,
                attribute_type.to_string(),
            ));
        }
    }
    Ok(values)
}

/// Returns the value of an attribute: a number, a name, or the only value of a list.
fn value(element: &AttributeElement) -> Result<StringOrNumeric, Diagnostic> {
    match &element.attribute_value {
        AttributeValue::Numeric(value) => Ok(StringOrNumeric::Numeric(*value)),
        AttributeValue::Complex(complex) => match complex.list.as_slice() {
            [value] => Ok(value.clone()),
            _ => Err(diagnostic(Condition::COMPLEX_ATTRIBUTE, "")),
        },
    }
}

/// Returns the index for a Use value, which is a number or a name. A name is supported if the index has no Use values, or if the
/// profile supports any of them.
fn access(fields: &Fields, given: Option<StringOrNumeric>) -> Result<(IndexId, Kind), Diagnostic> {
    let profile = &fields.profile;
    let rules = profile.of(bib1::USE);
    let supposed = rules.and_then(|rules| rules.supposed);
    let anywhere = (IndexId::ANY, fields.kind(IndexId::ANY));
    let Some(value) = given.or(supposed.map(StringOrNumeric::Numeric)) else {
        return if profile.use_required {
            Err(diagnostic(Condition::USE_REQUIRED, ""))
        } else {
            Ok(anywhere)
        };
    };
    let points = &fields.points;
    let found = match &value {
        StringOrNumeric::Numeric(number) => points
            .by_use(*number)
            .filter(|_| profile.takes(bib1::USE, *number)),
        StringOrNumeric::String(name) => {
            let named = points.by_name(&name.to_string_lossy());
            named.filter(|(_, row)| {
                let mut uses = row.uses.iter();
                row.uses.is_empty() || uses.any(|number| profile.takes(bib1::USE, *number))
            })
        }
    };
    match found {
        Some((index, row)) => Ok((index, row.kind)),
        None => not_taken(rules, || shown(&value)).map(|()| anywhere),
    }
}

/// Returns the index for a single Use attribute; `None` if the attribute is not supported.
pub(in crate::memory) fn access_of(fields: &Fields, element: &AttributeElement) -> Option<IndexId> {
    let (index, _) = access(fields, Some(value(element).ok()?)).ok()?;
    Some(index)
}

/// Returns the value if the index and the profile support it. Returns the default for a missing value, and `None` for a value
/// that the profile ignores.
fn supported(
    profile: &Profile,
    kind: Kind,
    attribute_type: i64,
    given: Option<StringOrNumeric>,
) -> Result<Option<i64>, Diagnostic> {
    let rules = profile.of(attribute_type);
    let can = |value: i64| can(kind, attribute_type, value);
    match given {
        None => Ok(rules
            .and_then(|rules| rules.supposed)
            .filter(|value| can(*value))),
        Some(StringOrNumeric::Numeric(value))
            if can(value) && profile.takes(attribute_type, value) =>
        {
            Ok(Some(value))
        }
        Some(other) => not_taken(rules, || shown(&other)).map(|()| None),
    }
}

fn not_taken(rules: Option<&TypeProfile>, value: impl Fn() -> String) -> Result<(), Diagnostic> {
    rules.map_or(Ok(()), |rules| refused(rules.others, value))
}

fn refused(treatment: UnsupportedPolicy, value: impl Fn() -> String) -> Result<(), Diagnostic> {
    match treatment {
        UnsupportedPolicy::Refuse(condition) => Err(diagnostic(condition, value())),
        UnsupportedPolicy::RefuseBriefly(condition) => Err(diagnostic(condition, "")),
        UnsupportedPolicy::Ignore => Ok(()),
    }
}

/// Returns the terms to scan, and the start in the same form; an empty start means the first term.
///
/// With structure 1, 3 or 101, the scan is over the complete entries of a text index, if it has them; otherwise, it is over its
/// words.
///
/// # Errors
/// Fails with the condition for the first unsupported attribute.
pub(in crate::memory) fn scan_start(
    fields: &Fields,
    attribute_set: &Oid,
    start: &AttributesPlusTerm,
) -> Result<(Terms, Vec<u8>), Diagnostic> {
    let TermAttributes {
        index,
        kind,
        relation,
        truncation,
        structure,
        ..
    } = TermAttributes::read(fields, attribute_set, &start.attributes)?;
    let refused = |condition, value: i64| Err(diagnostic(condition, value.to_string()));
    if relation != bib1::RELATION_EQUAL {
        return refused(Condition::RELATION, relation);
    }
    if ![bib1::TRUNCATION_NONE, bib1::TRUNCATION_RIGHT].contains(&truncation) {
        return refused(Condition::TRUNCATION, truncation);
    }
    let term = TermText::read(&start.term, kind, &fields.profile)?;
    let text = &*term.text;
    let as_wholes = matches!(
        structure,
        Some(bib1::STRUCTURE_PHRASE | KEY | NAME_NORMALIZED | STRING)
    );
    let (terms, start) = match kind {
        Kind::Octets => return Ok((Terms::Keys(index), term.octets.to_vec())),
        Kind::Text if as_wholes && fields.has_keys(index) => {
            (Terms::Keys(index), kind.key(text).unwrap_or_default())
        }
        Kind::Text => (
            Terms::Words(index),
            words(text).into_iter().next().unwrap_or_default(),
        ),
        // A scan can start at an incomplete key, so its words are used if it is not a key.
        _ => (
            Terms::Keys(index),
            kind.key(text).unwrap_or_else(|| words(text).concat()),
        ),
    };
    Ok((terms, start.into_bytes()))
}

/// Returns the index for a sort key, which is a name, or attributes with a Use value.
///
/// # Errors
/// Fails with condition 207 for elements and for a name without an index, or, for attributes, with the condition for the first
/// unsupported attribute.
pub(in crate::memory) fn sort_index(fields: &Fields, key: &SortKey) -> Result<IndexId, Diagnostic> {
    match key {
        SortKey::SortField(name) => {
            let name = name.to_string_lossy();
            let found = fields.points.by_name(&name).map(|(index, _)| index);
            found.ok_or_else(|| diagnostic(Condition::SORT_SEQUENCE, &*name))
        }
        SortKey::ElementSpec(_) => Err(diagnostic(Condition::SORT_SEQUENCE, "elementSpec")),
        SortKey::SortAttributes(by) => Ok(TermAttributes::read(fields, &by.id, &by.list.0)?.index),
    }
}

/// The maximum number of octets in a term.
const MOST_TERM_OCTETS: usize = 8192;

/// A term converted to text (conditions 11, 125, 126 and 229).
pub(super) struct TermText<'q> {
    /// The octets of the term, if it was sent as text.
    pub(super) octets: &'q [u8],
    pub(super) text: Cow<'q, str>,
}

impl<'q> TermText<'q> {
    /// Converts a term to text. The term may be of either text type, or of another type that can be compared with an index of
    /// this kind: a number with an index of numbers, codes or dates, a time with an index of dates.
    ///
    /// Octets that are not UTF-8 are read as Latin-1, because clients without UTF-8 support send it.
    pub(super) fn read(term: &'q Term, kind: Kind, profile: &Profile) -> Result<Self, Diagnostic> {
        let comparable = !matches!(kind, Kind::Text | Kind::Octets);
        let text = |octets: &'q [u8]| {
            let latin_1 = |_| Cow::Owned(octets.iter().map(|octet| char::from(*octet)).collect());
            Self {
                octets,
                text: std::str::from_utf8(octets).map_or_else(latin_1, Cow::Borrowed),
            }
        };
        let other = match term {
            Term::General(octets) => return bounded(text(octets)),
            Term::CharacterString(characters) => return bounded(text(characters.as_bytes())),
            Term::DateTime(time) if kind == Kind::Date => return bounded(text(time.as_bytes())),
            Term::Numeric(number) if comparable => {
                return Ok(Self {
                    octets: &[],
                    text: Cow::Owned(number.to_string()),
                });
            }
            Term::Numeric(_) => "numeric",
            Term::Oid(_) => "oid",
            Term::DateTime(_) => "dateTime",
            Term::External(_) => "external",
            Term::IntegerAndUnit(_) => "integerAndUnit",
            Term::Null => "null",
        };
        Err(diagnostic(profile.term_type, other))
    }
}

fn bounded(term: TermText<'_>) -> Result<TermText<'_>, Diagnostic> {
    match term.octets.len() {
        0..=MOST_TERM_OCTETS => Ok(term),
        _ => Err(diagnostic(Condition::TOO_MANY_CHARACTERS, "")),
    }
}
