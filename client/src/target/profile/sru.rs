//! The table `sru` in a profile, with the options for a server over SRU (SRU 1.1, 1.2 and 2.0).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use z3950_asn1::apdu::AttributeValue;
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::query::names::Names;
use z3950_asn1::sru::Version;

/// The options for requests to an SRU server.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SruOptions {
    /// The SRU version of requests, 1.1 by default. Responses in any version are accepted.
    #[serde(deserialize_with = "version")]
    pub version: Version,
    /// How to send requests.
    pub method: SruMethod,
    /// The schema to request for MARC records, as a short name or an identifier. The default is `marcxml`.
    pub schema: Option<String>,
    /// The CQL index for each Use value. In a file, the key is an index name or a Use value, as in `isbn =
    /// "bath.isbn"`.
    #[serde(deserialize_with = "indexes")]
    pub indexes: BTreeMap<i64, String>,
    /// Whether the server accepts PQF, as `x-pquery` or, in version 2.0, as `queryType=pqf`. If it does, queries are
    /// sent in PQF unless they were typed in CQL.
    pub pqf: bool,
    /// Whether to sort with the parameter `sortKeys` instead of `sortby` in the query.
    pub sort_keys: bool,
    /// Whether to send the user name and password as `x-username` and `x-password` instead of the header Authorization.
    pub login_in_url: bool,
    /// Parameters that the server requires in each request.
    pub parameters: BTreeMap<String, String>,
}

/// How to send SRU requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SruMethod {
    /// With GET, as parameters in the URL.
    #[default]
    Get,
    /// With POST, as a form.
    Post,
    /// With POST, as XML in a SOAP 1.1 envelope.
    Soap,
}

impl SruMethod {
    /// All methods of sending requests.
    pub const ALL: [Self; 3] = [Self::Get, Self::Post, Self::Soap];

    /// Returns the name of the method in lower case, such as `get`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Soap => "soap",
        }
    }
}

impl fmt::Display for SruMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for text that is not the name of a method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not get, post or soap")]
pub struct SruMethodError(String);

impl FromStr for SruMethod {
    type Err = SruMethodError;

    fn from_str(text: &str) -> Result<Self, SruMethodError> {
        let mut all = Self::ALL.into_iter();
        all.find(|method| method.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| SruMethodError(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for SruMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
    let text = String::deserialize(deserializer)?;
    sru_version(&text)
        .ok_or_else(|| serde::de::Error::custom(format!("{text} is not 1.1, 1.2 or 2.0")))
}

/// Returns the SRU version for a number such as `1.1`, or `None` for any other text.
pub fn sru_version(text: &str) -> Option<Version> {
    let mut all = [Version::V1_1, Version::V1_2, Version::V2_0].into_iter();
    all.find(|version| version.as_str() == text)
}

/// Deserializes a map from index names or Use values to CQL indexes.
fn indexes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<i64, String>, D::Error> {
    let named = BTreeMap::<String, String>::deserialize(deserializer)?;
    let by_use = named.into_iter().map(|(name, index)| {
        let value = use_of(&name).ok_or_else(|| {
            serde::de::Error::custom(format!("{name} is not the name of an index"))
        })?;
        Ok((value, index))
    });
    by_use.collect()
}

/// Returns the Use value for the name of an index, or for a number.
pub(super) fn use_of(name: &str) -> Option<i64> {
    if let Ok(value) = name.parse() {
        return Some(value);
    }
    let attributes = Names::default().attributes(name).ok()?;
    attributes
        .iter()
        .find_map(|attribute| match attribute.attribute_value {
            AttributeValue::Numeric(value) if attribute.attribute_type == USE => Some(value),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let text = "version = \"1.2\"\nmethod = \"SOAP\"\nschema = \"MARC21-xml\"\npqf = true\nsort_keys = true\n\
                    login_in_url = true\nparameters = { x-info-5 = \"1\" }\nindexes = { isbn = \"alma.isbn\", 12 = \"rec.id\" }";
        let options: SruOptions = toml::from_str(text).expect("options");
        assert_eq!(options.version, Version::V1_2);
        assert_eq!(options.method, SruMethod::Soap);
        assert_eq!(options.schema.as_deref(), Some("MARC21-xml"));
        assert!(options.pqf && options.sort_keys && options.login_in_url);
        assert_eq!(options.parameters.len(), 1);
        let indexes: Vec<_> = options.indexes.into_iter().collect();
        assert_eq!(indexes, [(7, "alma.isbn".into()), (12, "rec.id".into())]);
        assert_eq!(toml::from_str::<SruOptions>(""), Ok(SruOptions::default()));
        for (text, words) in [
            ("version = \"3.0\"", "3.0 is not 1.1, 1.2 or 2.0"),
            ("method = \"put\"", "put is not get, post or soap"),
            (
                "indexes = { nosuch = \"x\" }",
                "nosuch is not the name of an index",
            ),
            ("other = 1", "unknown field `other`"),
        ] {
            let error = toml::from_str::<SruOptions>(text).expect_err(text);
            assert!(error.message().contains(words), "{error}");
        }
    }
}
