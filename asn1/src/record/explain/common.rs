//! Types that several Explain records use, such as dates, human-readable text, addresses and attribute combinations
//! (Z39.50-2003 Appendix REC.1, subsidiary definitions).

use crate::apdu::{DatabaseName, OtherInformation, StringOrNumeric};
use crate::describe::{Describe, Value, described};
use crate::oid::Oid;
use crate::production::productions;
use crate::types::{GeneralizedTime, InternationalString, OctetString};

productions! {
    /// HumanString: text for people, in one or more languages.
    #[derive(Default)]
    pub struct HumanString(pub Vec<HumanText>)
}

described! {
    /// CommonInfo: the dates of the record, and the language of its text.
    #[derive(Default)]
    pub struct CommonInfo {
        [0] date_added: Option<GeneralizedTime>,
        [1] date_changed: Option<GeneralizedTime>,
        [2] expiry: Option<GeneralizedTime>,
        [3] human_string_language: Option<LanguageCode>,
        other_info: Option<OtherInformation>,
    }

    /// Text in one language.
    pub struct HumanText {
        [0] language: Option<LanguageCode>,
        [1] text: InternationalString,
    }

    /// One representation of an icon.
    pub struct Icon {
        [1] body_type: IconType,
        [2] content: OctetString,
    }

    /// The file format of an icon.
    pub enum IconType {
        [1] IanaType(InternationalString),
        [2] Z3950Type(InternationalString),
        [3] OtherType(InternationalString),
    }

    /// ContactInfo: the person or office that answers questions.
    pub struct ContactInfo {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] address: Option<HumanString>,
        [3] email: Option<InternationalString>,
        [4] phone: Option<InternationalString>,
    }

    /// NetworkAddress: the address on which the server listens.
    pub enum NetworkAddress {
        [0] InternetAddress(InternetAddress),
        [1] OsiPresentationAddress(OsiPresentationAddress),
        [2] Other(OtherAddress),
    }

    /// A host and a port.
    pub struct InternetAddress {
        [0] host_address: InternationalString,
        [1] port: i64,
    }

    /// The selectors of an OSI address.
    pub struct OsiPresentationAddress {
        [0] p_sel: InternationalString,
        [1] s_sel: Option<InternationalString>,
        [2] t_sel: Option<InternationalString>,
        [3] n_sap: InternationalString,
    }

    /// An address of any other kind.
    pub struct OtherAddress {
        [0] r#type: InternationalString,
        [1] address: InternationalString,
    }

    /// AttributeCombinations: the attributes that can be combined in one operand.
    pub struct AttributeCombinations {
        [0] default_attribute_set: Oid,
        [1] legal_combinations: Vec<AttributeCombination>,
    }

    /// AttributeOccurrence: the values that an attribute type may have in a combination.
    pub struct AttributeOccurrence {
        [0] attribute_set: Option<Oid>,
        [1] attribute_type: i64,
        [2] must_be_supplied: Option<()>,
        attribute_values: OccurrenceValues,
    }

    /// Any supported value, no value, or one of the listed values.
    pub enum OccurrenceValues {
        [3] AnyOrNone,
        [4] Specific(Vec<StringOrNumeric>),
    }
}

/// LanguageCode: a three-letter code from ANSI/NISO Z39.53.
pub type LanguageCode = InternationalString;

impl Describe for HumanString {
    /// Describes text without a language as only the text.
    fn describe(&self) -> Value {
        let texts = self.0.iter().map(|one| match one.language {
            None => one.text.describe(),
            Some(_) => one.describe(),
        });
        Value::List(texts.collect())
    }
}

impl From<&str> for HumanString {
    fn from(text: &str) -> Self {
        Self(vec![HumanText {
            language: None,
            text: text.into(),
        }])
    }
}

/// IconObject: one icon, in one or more representations.
pub type IconObject = Vec<Icon>;

/// DatabaseList: related databases.
pub type DatabaseList = Vec<DatabaseName>;

/// AttributeCombination: a pattern, with an entry for each attribute type.
pub type AttributeCombination = Vec<AttributeOccurrence>;
