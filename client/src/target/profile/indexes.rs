//! The table `indexes` in a profile: the attributes that a server needs for searches in an index (Z39.50-2003 Appendix
//! ATR).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use z3950_asn1::apdu::{AttributeElement, AttributeValue};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::oid::BIB_1;

use super::habits::Attributes;
use super::sru::use_of;

/// The Use value for OCLC numbers, for which no query language has a name.
const OCLC_NUMBER: i64 = 1211;

/// The attributes to send for searches in an index, by the index's Bib-1 Use value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Indexes(BTreeMap<i64, Attributes>);

impl Indexes {
    /// Returns the indexes, each with its Use value and attributes.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &Attributes)> {
        self.0
            .iter()
            .map(|(value, attributes)| (*value, attributes))
    }

    /// Returns whether the table is empty, so that no index has special attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the attributes for the index of an operand to the operand. A Use attribute among them replaces the
    /// operand's own. Attributes of other types that the operand already has are kept.
    pub(crate) fn apply(&self, attributes: &mut Vec<AttributeElement>) {
        let is_use = |one: &AttributeElement| {
            one.attribute_type == USE && one.attribute_set.is_none_or(|set| set == BIB_1)
        };
        let Some(place) = attributes.iter().position(is_use) else {
            return;
        };
        let value = attributes.get(place).map(|one| &one.attribute_value);
        let Some(AttributeValue::Numeric(value)) = value else {
            return;
        };
        let Some(wanted) = self.0.get(value) else {
            return;
        };
        let has_use = wanted.0.iter().any(|one| one.attribute_type == USE);
        if has_use {
            attributes.remove(place);
        }
        wanted.complete(attributes);
    }
}

impl<'de> Deserialize<'de> for Indexes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = BTreeMap::<String, Written>::deserialize(deserializer)?;
        let mut indexes = BTreeMap::new();
        for (name, Written(attributes)) in written {
            let is_oclc = name.eq_ignore_ascii_case("oclc");
            let value = if is_oclc {
                Some(OCLC_NUMBER)
            } else {
                use_of(&name)
            };
            let value = value.ok_or_else(|| {
                serde::de::Error::custom(format!("{name} is not the name of an index"))
            })?;
            if indexes.insert(value, attributes).is_some() {
                let words = format!("the index {name} has two names here");
                return Err(serde::de::Error::custom(words));
            }
        }
        Ok(Self(indexes))
    }
}

/// The two forms of attributes in a targets file: a list, or a string with spaces or commas: `1=7 5=1`.
struct Written(Attributes);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            One(String),
            List(Vec<String>),
        }
        let texts = match Either::deserialize(deserializer)? {
            Either::One(text) => vec![text],
            Either::List(texts) => texts,
        };
        let mut all = Attributes::default();
        for text in texts.iter().flat_map(|text| text.split(',')) {
            // A name without `=` is the attribute set of the attribute that follows it.
            let mut set = String::new();
            for word in text.split_whitespace() {
                if !word.contains('=') {
                    set = format!("{word} ");
                    continue;
                }
                let read: Attributes = format!("{set}{word}")
                    .parse()
                    .map_err(serde::de::Error::custom)?;
                all.0.extend(read.0);
                set.clear();
            }
        }
        if all.0.is_empty() {
            return Err(serde::de::Error::custom("write attributes such as 1=7 5=1"));
        }
        Ok(Self(all))
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::RpnQuery;

    use super::*;

    #[test]
    fn audit_r_b10_a_profile_says_how_an_index_is_asked() {
        #[derive(Deserialize)]
        struct File {
            indexes: Indexes,
        }
        let text = "indexes = { isbn = '1=7 5=1', 1007 = ['1=1007', '4=6'], title = 'bib-1 1=4,4=2', oclc = '1=12' }";
        let file: File = toml::from_str(text).expect("indexes");
        assert_eq!(file.indexes.iter().count(), 4);
        for (query, expected) in [
            ("@attr 1=7 0306406152", "@attr 1=7 @attr 5=1 0306406152"),
            (
                "@attr 1=7 @attr 5=100 0306406152",
                "@attr 5=100 @attr 1=7 0306406152",
            ),
            ("@attr 1=1211 12345", "@attr 1=12 12345"),
            ("@attr 1=8 12345", "@attr 1=8 12345"),
            (
                "@and war @attr 1=1007 x",
                "@and war @attr 1=1007 @attr 4=6 x",
            ),
        ] {
            let mut parsed: RpnQuery = query.parse().expect("a query");
            let mut expected: RpnQuery = expected.parse().expect("a query");
            for operand in parsed.rpn.terms_mut() {
                file.indexes.apply(&mut operand.attributes);
                operand
                    .attributes
                    .iter_mut()
                    .for_each(|one| one.attribute_set = None);
                operand.attributes.sort_by_key(|one| one.attribute_type);
            }
            for operand in expected.rpn.terms_mut() {
                operand.attributes.sort_by_key(|one| one.attribute_type);
            }
            assert_eq!(parsed.to_string(), expected.to_string(), "{query}");
        }
        for wrong in [
            "nosuch = '1=7'",
            "isbn = ''",
            "isbn = '7'",
            "isbn = '1=7'\n7 = '1=8'",
        ] {
            assert!(
                toml::from_str::<File>(&format!("[indexes]\n{wrong}")).is_err(),
                "{wrong}"
            );
        }
    }
}
