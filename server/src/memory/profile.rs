//! Profiles of the attributes that a server supports, refuses and ignores. By default, a server supports everything that its
//! backend supports, and refuses other attributes with the exact Bib-1 diagnostic. Other profiles imitate other servers.

use std::collections::BTreeSet;

use z3950_asn1::bib1::attributes::{
    COMPLETENESS, POSITION, RELATION, STRUCTURE, STRUCTURE_PHRASE, TRUNCATION, USE,
};
use z3950_asn1::bib1::diagnostics::Condition;

/// The attributes that searches, scans and sorts may use.
///
/// ```
/// use z3950_asn1::bib1::attributes::{STRUCTURE, TRUNCATION, USE};
/// use z3950_server::memory::Profile;
///
/// // Three access points and no truncation; several words are a phrase.
/// let profile = Profile::default()
///     .only(USE, [4, 1003, 1032])
///     .only(TRUNCATION, [100])
///     .suppose(STRUCTURE, 1);
/// # let _ = profile;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The rules for the six types of Bib-1: Use, Relation, Position, Structure, Truncation, Completeness.
    pub types: [TypeProfile; 6],
    /// The treatment of attribute types other than these six.
    pub other_types: UnsupportedPolicy,
    /// The treatment of attributes from sets other than Bib-1.
    pub other_sets: UnsupportedPolicy,
    /// Whether a term without a Use attribute is refused (condition 116); otherwise, it is searched in the index `any`.
    pub use_required: bool,
    /// Whether proximity is supported; otherwise, it is refused (condition 110).
    pub proximity: bool,
    /// Whether result sets can be operands; otherwise, they are refused (condition 18).
    pub result_sets: bool,
    /// The minimum length of a truncated word, in characters; shorter words are refused (condition 9).
    pub shortest_truncated: usize,
    /// The diagnostic for a term whose type cannot be compared with entries of its index.
    pub term_type: Condition,
}

/// The rules for the values of one attribute type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeProfile {
    /// The supported values, provided that the backend supports them too.
    pub values: Values,
    /// The treatment of unsupported values.
    pub others: UnsupportedPolicy,
    /// The value that is assumed for a term without an attribute of this type; `None` for the backend's default.
    pub supposed: Option<i64>,
}

/// A set of supported values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// All values that the backend supports.
    All,
    /// Only these values.
    Only(BTreeSet<i64>),
    /// All values except these.
    AllBut(BTreeSet<i64>),
}

impl Values {
    fn take(&self, value: i64) -> bool {
        match self {
            Self::All => true,
            Self::Only(values) => values.contains(&value),
            Self::AllBut(values) => !values.contains(&value),
        }
    }
}

/// What to do with an unsupported attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsupportedPolicy {
    /// Refuse the query with this diagnostic, with the value as additional information.
    Refuse(Condition),
    /// Refuse the query with this diagnostic, without additional information.
    RefuseBriefly(Condition),
    /// Search for the term without the attribute.
    Ignore,
}

impl Default for Profile {
    fn default() -> Self {
        let of = |condition| TypeProfile {
            values: Values::All,
            others: UnsupportedPolicy::Refuse(condition),
            supposed: None,
        };
        Self {
            types: [
                of(Condition::USE),
                of(Condition::RELATION),
                of(Condition::POSITION),
                of(Condition::STRUCTURE),
                of(Condition::TRUNCATION),
                of(Condition::COMPLETENESS),
            ],
            other_types: UnsupportedPolicy::Refuse(Condition::ATTRIBUTE_TYPE),
            other_sets: UnsupportedPolicy::Refuse(Condition::ATTRIBUTE_SET),
            use_required: false,
            proximity: true,
            result_sets: true,
            shortest_truncated: 0,
            term_type: Condition::TERM_TYPE,
        }
    }
}

impl Profile {
    /// The names of the predefined profiles: `bib-1` (the default), `zebra` and `yaz-ztest`.
    pub const NAMES: &[&str] = &["bib-1", "zebra", "yaz-ztest"];

    /// Returns the predefined profile with this name; `None` if there is no such profile.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "bib-1" => Some(Self::default()),
            "zebra" => Some(Self::zebra()),
            "yaz-ztest" => Some(Self::yaz_ztest()),
            _ => None,
        }
    }

    /// Returns a profile that behaves like Zebra: unknown structure and completeness values are ignored, an unknown relation is
    /// refused without naming its value, and terms that are not text are refused with condition 124.
    pub fn zebra() -> Self {
        let profile = Self {
            term_type: Condition::TERM_CODED_VALUE,
            other_types: UnsupportedPolicy::Ignore,
            ..Self::default()
        };
        profile
            .ignore_others(STRUCTURE)
            .ignore_others(COMPLETENESS)
            .others(
                RELATION,
                UnsupportedPolicy::RefuseBriefly(Condition::RELATION),
            )
    }

    /// Returns a profile that behaves like yaz-ztest, which ignores all attributes.
    pub fn yaz_ztest() -> Self {
        let ignoring = Self {
            other_types: UnsupportedPolicy::Ignore,
            other_sets: UnsupportedPolicy::Ignore,
            ..Self::default()
        };
        let types = [USE, RELATION, POSITION, STRUCTURE, TRUNCATION, COMPLETENESS];
        types.into_iter().fold(ignoring, |profile, attribute_type| {
            profile
                .only(attribute_type, [])
                .ignore_others(attribute_type)
        })
    }

    /// Supports only these values of an attribute type. Types other than 1 to 6 do not have rules and are not affected.
    #[must_use]
    pub fn only(self, attribute_type: i64, values: impl IntoIterator<Item = i64>) -> Self {
        let values = Values::Only(values.into_iter().collect());
        self.change(attribute_type, |rules| rules.values = values)
    }

    /// Supports all values of an attribute type except these.
    #[must_use]
    pub fn all_but(self, attribute_type: i64, values: impl IntoIterator<Item = i64>) -> Self {
        let values = Values::AllBut(values.into_iter().collect());
        self.change(attribute_type, |rules| rules.values = values)
    }

    /// Sets the treatment of unsupported values of an attribute type.
    #[must_use]
    pub fn others(self, attribute_type: i64, treatment: UnsupportedPolicy) -> Self {
        self.change(attribute_type, |rules| rules.others = treatment)
    }

    /// Ignores unsupported values of an attribute type.
    #[must_use]
    pub fn ignore_others(self, attribute_type: i64) -> Self {
        self.others(attribute_type, UnsupportedPolicy::Ignore)
    }

    /// Sets the default value of an attribute type. For example, the default structure 1 means that a term of several words is
    /// searched as a phrase.
    #[must_use]
    pub fn suppose(self, attribute_type: i64, value: i64) -> Self {
        self.change(attribute_type, |rules| rules.supposed = Some(value))
    }

    /// Sets the default structure to 1 (phrase), as on most servers.
    #[must_use]
    pub fn suppose_phrases(self) -> Self {
        self.suppose(STRUCTURE, STRUCTURE_PHRASE)
    }

    /// Returns whether the profile supports a value of an attribute type; the backend must support it too.
    pub fn takes(&self, attribute_type: i64, value: i64) -> bool {
        self.of(attribute_type)
            .is_some_and(|rules| rules.values.take(value))
    }

    /// Returns the rules of an attribute type; `None` for types other than 1 to 6.
    pub(super) fn of(&self, attribute_type: i64) -> Option<&TypeProfile> {
        self.types.get(place(attribute_type)?)
    }

    fn change(mut self, attribute_type: i64, change: impl FnOnce(&mut TypeProfile)) -> Self {
        if let Some(rules) = place(attribute_type).and_then(|place| self.types.get_mut(place)) {
            change(rules);
        }
        self
    }
}

/// Returns the index of an attribute type in [`Profile::types`]; `None` for types other than 1 to 6.
pub(super) fn place(attribute_type: i64) -> Option<usize> {
    usize::try_from(attribute_type.checked_sub(1)?)
        .ok()
        .filter(|place| *place < 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_limits_the_values_of_each_type() {
        let profile = Profile::default()
            .only(USE, [4])
            .all_but(TRUNCATION, [1, 2])
            .only(9, [1]);
        for (attribute_type, value, taken) in [
            (USE, 4, true),
            (USE, 5, false),
            (TRUNCATION, 1, false),
            (TRUNCATION, 3, true),
            (RELATION, 999, true),
            (0, 1, false),
            (7, 1, false),
            (i64::MIN, 1, false),
            (i64::MAX, 1, false),
        ] {
            assert_eq!(
                profile.takes(attribute_type, value),
                taken,
                "{attribute_type}={value}"
            );
        }
    }

    #[test]
    fn profiles_are_found_by_name() {
        for name in Profile::NAMES {
            assert!(Profile::by_name(name).is_some(), "{name}");
        }
        assert_eq!(Profile::by_name("bib-1"), Some(Profile::default()));
        assert_eq!(Profile::by_name("nosuch"), None);
        assert!(!Profile::yaz_ztest().takes(USE, 4));
    }
}
