//! Reads the attributes of a term: sets, types and values, each supported, refused or ignored under the profile (Z39.50-2003
//! §3.7.1, Appendix ATR.1, conditions 113 to 123 and 246).

use z3950_asn1::apdu::{AttributeElement, AttributeValue, StringOrNumeric};
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{BIB_1, Oid};

use super::support::Group;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::memory::fields::{Fields, IndexId, Kind};
use crate::memory::profile::{Profile, Treatment, TypeProfile, place};

/// The attributes of a term, with values that its index and the profile support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) struct TermAttributes {
    /// The index of Use.
    pub(in crate::memory) index: IndexId,
    /// The kind of the index.
    pub(in crate::memory) kind: Kind,
    /// Bib-1 type 2, by default 3.
    pub(in crate::memory) relation: i64,
    /// Bib-1 type 3, by default 3.
    pub(in crate::memory) position: i64,
    /// Bib-1 type 4.
    pub(in crate::memory) structure: Option<i64>,
    /// Bib-1 type 5, by default 100.
    pub(in crate::memory) truncation: i64,
    /// Bib-1 type 6, by default 1.
    pub(in crate::memory) completeness: i64,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Number(i64),
    Name(String),
}

impl Value {
    fn shown(&self) -> String {
        match self {
            Self::Number(value) => value.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl TermAttributes {
    /// Reads the attributes of a term; `attribute_set` is their default set.
    ///
    /// # Errors
    /// The first unsupported attribute: sets first, then types, then values in the order of their types.
    pub(in crate::memory) fn read(
        fields: &Fields,
        profile: &Profile,
        attribute_set: &Oid,
        elements: &[AttributeElement],
    ) -> Result<Self, Diagnostic> {
        let mut given = values(profile, attribute_set, elements)?;
        let (index, kind) = access(fields, profile, given.first_mut().and_then(Option::take))?;
        let group = Group::of(kind);
        let mut read = |attribute_type| {
            let value = place(attribute_type)
                .and_then(|place| given.get_mut(place))
                .and_then(Option::take);
            supported(profile, group, attribute_type, value)
        };
        let relation = read(bib1::RELATION)?;
        let position = read(bib1::POSITION)?;
        let structure = read(bib1::STRUCTURE)?;
        let truncation = read(bib1::TRUNCATION)?;
        let completeness = read(bib1::COMPLETENESS)?;
        Ok(Self {
            index,
            kind,
            relation: relation.unwrap_or(bib1::RELATION_EQUAL),
            position: position.unwrap_or(bib1::POSITION_ANY),
            structure,
            truncation: truncation.unwrap_or(bib1::TRUNCATION_NONE),
            completeness: completeness.unwrap_or(bib1::COMPLETENESS_INCOMPLETE_SUBFIELD),
        })
    }
}

/// The values by type. Duplicates are dropped; two values of a type contradict each other.
fn values(
    profile: &Profile,
    attribute_set: &Oid,
    elements: &[AttributeElement],
) -> Result<[Option<Value>; 6], Diagnostic> {
    // A term without attributes has the query's set.
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

/// The value: a number, a name, or a list of alternatives with only one.
fn value(element: &AttributeElement) -> Result<Value, Diagnostic> {
    let list = match &element.attribute_value {
        AttributeValue::Numeric(value) => return Ok(Value::Number(*value)),
        AttributeValue::Complex(complex) => complex.list.as_slice(),
    };
    match list {
        [StringOrNumeric::Numeric(value)] => Ok(Value::Number(*value)),
        [StringOrNumeric::String(name)] => Ok(Value::Name(name.to_string_lossy().into_owned())),
        _ => Err(diagnostic(Condition::COMPLEX_ATTRIBUTE, "")),
    }
}

/// The index of a Use value, a number or a name. In the profile, a name stands for the first number of its row.
fn access(
    fields: &Fields,
    profile: &Profile,
    given: Option<Value>,
) -> Result<(IndexId, Kind), Diagnostic> {
    let rules = profile.of(bib1::USE);
    let supposed = rules.and_then(|rules| rules.supposed).map(Value::Number);
    let anywhere = (IndexId::ANY, fields.kind(IndexId::ANY));
    let Some(value) = given.or(supposed) else {
        return match profile.use_required {
            true => Err(diagnostic(Condition::USE_REQUIRED, "")),
            false => Ok(anywhere),
        };
    };
    let points = fields.points();
    let found = match &value {
        Value::Number(number) => points
            .by_use(*number)
            .filter(|_| profile.takes(bib1::USE, *number)),
        Value::Name(name) => points.by_name(name).filter(|(_, row)| {
            row.uses.is_empty()
                || row
                    .uses
                    .iter()
                    .any(|number| profile.takes(bib1::USE, *number))
        }),
    };
    match found {
        Some((index, row)) => Ok((index, row.kind)),
        None => not_taken(rules, || value.shown()).map(|()| anywhere),
    }
}

/// The index of a single Use attribute; `None` if it is unsupported.
pub(in crate::memory) fn access_of(
    fields: &Fields,
    profile: &Profile,
    element: &AttributeElement,
) -> Option<IndexId> {
    let value = value(element).ok()?;
    access(fields, profile, Some(value))
        .ok()
        .map(|(index, _)| index)
}

/// A value if the index and the profile support it, the default if there is none, or none if it is ignored.
fn supported(
    profile: &Profile,
    group: Group,
    attribute_type: i64,
    given: Option<Value>,
) -> Result<Option<i64>, Diagnostic> {
    let rules = profile.of(attribute_type);
    let can = |value: i64| group.can(attribute_type, value);
    match given {
        None => Ok(rules
            .and_then(|rules| rules.supposed)
            .filter(|value| can(*value))),
        Some(Value::Number(value)) if can(value) && profile.takes(attribute_type, value) => {
            Ok(Some(value))
        }
        Some(other) => not_taken(rules, || other.shown()).map(|()| None),
    }
}

fn not_taken(rules: Option<&TypeProfile>, value: impl Fn() -> String) -> Result<(), Diagnostic> {
    rules.map_or(Ok(()), |rules| refused(rules.others, value))
}

fn refused(treatment: Treatment, value: impl Fn() -> String) -> Result<(), Diagnostic> {
    match treatment {
        Treatment::Refuse(condition) => Err(diagnostic(condition, value())),
        Treatment::RefuseBriefly(condition) => Err(diagnostic(condition, "")),
        Treatment::Ignore => Ok(()),
    }
}
