//! The keys of a sort: the parts of records to compare, and the rules for comparing them.

use std::cmp::Ordering;

use z3950_asn1::apdu::{
    CaseSensitivity, DatabaseName, MissingValueAction, SortElement, SortKey, SortKeySpec,
    SortRelation,
};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::{MarcRecord, Tag};

use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::attributes::sort_index;
use crate::memory::fields::{
    FILED, Fields, IndexId, NOT_FILED, OF_BIB_1, SUBFIELD_MARK, effective_tag, marked, not_filed,
};
use crate::memory::words::words;

/// The order of records by sort keys, for backends that merge sorted lists from other servers.
#[derive(Debug)]
pub struct RecordOrder(Vec<Key>);

/// The values of a record for the keys of a [`RecordOrder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortValues {
    values: Vec<Option<Vec<u8>>>,
    has_key: bool,
}

impl SortValues {
    /// Returns whether the record has a value for the most significant key.
    pub fn has_key(&self) -> bool {
        self.has_key
    }
}

/// The maximum size of a value that [`RecordOrder`] compares, in octets. Headings are shorter.
const MAX_VALUE: usize = 512;

impl RecordOrder {
    /// Creates the order for these keys, most significant first.
    ///
    /// # Errors
    /// Condition 207 if a key cannot be read from records or applies only to particular databases; 214 if a key sorts by
    /// frequency; otherwise the condition for the first unsupported attribute.
    pub fn new(keys: &[SortKeySpec]) -> Result<Self, Diagnostic> {
        let of_database = |name: &DatabaseName| {
            let name = name.0.as_bytes();
            Err(diagnostic(Condition::SORT_SEQUENCE, name))
        };
        let keys = keys
            .iter()
            .map(|key| Key::read(key, &OF_BIB_1, of_database));
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    /// Returns the values of a record for the keys.
    pub fn values(&self, record: &MarcRecord) -> SortValues {
        let found = |key: &Key| {
            let mut value = key.found(&OF_BIB_1, record, key.by(None)?)?;
            value.truncate(MAX_VALUE);
            Some(value)
        };
        let values: Vec<_> = self.0.iter().map(found).collect();
        SortValues {
            has_key: values.first().is_some_and(Option::is_some),
            values: { values.into_iter().zip(&self.0) }
                .map(|(value, key)| value.or_else(|| key.missing.value().map(<[u8]>::to_vec)))
                .collect(),
        }
    }

    /// Compares the values of two records.
    pub fn compared(&self, left: &SortValues, right: &SortValues) -> Ordering {
        compared(&self.0, &left.values, &right.values)
    }
}

/// Compares two lists of values. A record without a value sorts last.
pub(super) fn compared<V: Ord>(keys: &[Key], left: &[Option<V>], right: &[Option<V>]) -> Ordering {
    let values = left.iter().zip(right);
    let orders = values
        .zip(keys)
        .map(|((left, right), key)| match (left, right) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(left), Some(right)) if key.descending => right.cmp(left),
            (Some(left), Some(right)) => left.cmp(right),
        });
    orders.fold(Ordering::Equal, Ordering::then)
}

/// A sort key.
#[derive(Debug)]
pub(super) struct Key {
    /// The sources of the key's values, each for a particular database or for all databases (`None`).
    pub(super) by: Vec<(Option<u16>, By)>,
    descending: bool,
    pub(super) case_sensitive: bool,
    pub(super) missing: Missing,
}

/// The source of a key's values.
#[derive(Debug)]
pub(super) enum By {
    Index(IndexId),
    /// The first field with this tag: the complete field, or its first subfield with this code.
    Field(Tag, Option<u8>),
}

/// The treatment of records without a value for the key.
#[derive(Debug)]
pub(super) enum Missing {
    /// Records without a value sort last in either direction; this is the default if the client requests no other treatment.
    Last,
    /// The sort fails if a record does not have a value.
    Abort,
    /// Records without a value sort as if they had this one.
    Value(Vec<u8>),
}

impl Missing {
    fn value(&self) -> Option<&[u8]> {
        match self {
            Self::Value(value) => Some(value),
            Self::Last | Self::Abort => None,
        }
    }
}

impl Key {
    /// Converts a key of the request; `known` returns the number of a database.
    ///
    /// # Errors
    /// Condition 207 for an unsupported key, 214 for sorting by frequency, or the errors of `known`.
    pub(super) fn read(
        spec: &SortKeySpec,
        fields: &Fields,
        known: impl Fn(&DatabaseName) -> Result<u16, Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        let descending = match spec.sort_relation {
            SortRelation::ASCENDING => false,
            SortRelation::DESCENDING => true,
            SortRelation(other) => {
                return Err(diagnostic(Condition::SORT_RELATION, other.to_string()));
            }
        };
        let by = match &spec.sort_element {
            SortElement::Generic(key) => vec![(None, By::read(key, fields)?)],
            SortElement::DatabaseSpecific(keys) => {
                let keys = keys.iter().map(|key| {
                    let number = known(&key.database_name)?;
                    Ok((Some(number), By::read(&key.db_sort, fields)?))
                });
                keys.collect::<Result<_, Diagnostic>>()?
            }
        };
        let case_sensitive = spec.case_sensitivity == CaseSensitivity::CASE_SENSITIVE;
        let missing = match &spec.missing_value_action {
            None => Missing::Last,
            Some(MissingValueAction::Abort) => Missing::Abort,
            Some(MissingValueAction::Null) => Missing::Value(Vec::new()),
            Some(MissingValueAction::MissingValueData(value)) => {
                let text = String::from_utf8_lossy(value);
                Missing::Value(value_of(text.into_owned(), case_sensitive))
            }
        };
        Ok(Self {
            by,
            descending,
            case_sensitive,
            missing,
        })
    }

    pub(super) fn by(&self, database: Option<u16>) -> Option<&By> {
        let mut all = self.by.iter();
        all.find(|(of, _)| of.is_none() || *of == database)
            .map(|(_, by)| by)
    }

    /// Returns the value of a key in a record; `None` if the record does not have one.
    pub(super) fn found(&self, fields: &Fields, record: &MarcRecord, by: &By) -> Option<Vec<u8>> {
        let value = value_of(by.text(fields, record)?, self.case_sensitive);
        (!value.is_empty()).then_some(value)
    }
}

impl By {
    fn read(key: &SortKey, fields: &Fields) -> Result<Self, Diagnostic> {
        if let SortKey::SortField(name) = key
            && let Some((tag, code)) = field(name.as_bytes())
        {
            return Ok(Self::Field(tag, code));
        }
        sort_index(fields, key).map(Self::Index)
    }

    /// Returns the text from a record by which it is sorted; `None` if the record does not have such a text.
    fn text(&self, fields: &Fields, record: &MarcRecord) -> Option<String> {
        match self {
            Self::Index(IndexId::DOCID) => {
                let docid = record.control_number()?;
                Some(String::from_utf8_lossy(docid).into_owned())
            }
            Self::Index(wanted) => {
                let mut found = None;
                fields.entries(record, &mut |_, indexes, text| {
                    if indexes.contains(*wanted) && found.is_none() {
                        found = Some(filed(text).replace(SUBFIELD_MARK, " "));
                    }
                });
                found
            }
            Self::Field(tag, code) => {
                let mut fields = record.fields.iter();
                let field = fields.find(|field| effective_tag(field) == *tag)?;
                if field.is_control() {
                    return Some(String::from_utf8_lossy(&field.body).into_owned());
                }
                let mut texts = Vec::new();
                for (place, subfield) in field.subfields().enumerate() {
                    let text = String::from_utf8_lossy(subfield.data);
                    let text = match place {
                        0 => filed(&marked(text, not_filed(field, is_unimarc(record)))),
                        _ => text.into_owned(),
                    };
                    match code {
                        Some(code) if subfield.code == [*code] => return Some(text),
                        Some(_) => {}
                        None => texts.push(text),
                    }
                }
                code.is_none().then(|| texts.join(" "))
            }
        }
    }
}

/// Parses a field name such as `245` or `245$a`; `None` for other text.
fn field(name: &[u8]) -> Option<(Tag, Option<u8>)> {
    let (tag, code) = name.split_first_chunk::<3>()?;
    let code = match code {
        [] => None,
        [b'$', code] => Some(*code),
        _ => return None,
    };
    tag.iter()
        .all(u8::is_ascii_digit)
        .then_some((Tag(*tag), code))
}

/// Removes the nonfiling characters from the text. If it has no other words, only the marks are removed.
pub(in crate::memory) fn filed(text: &str) -> String {
    let rest = text
        .strip_prefix(NOT_FILED)
        .and_then(|rest| rest.split_once(FILED));
    match rest {
        Some((_, filed)) if !words(filed).is_empty() => filed.to_owned(),
        _ => text.replace([NOT_FILED, FILED], ""),
    }
}

/// Converts text to the form in which it is compared.
fn value_of(text: String, case_sensitive: bool) -> Vec<u8> {
    if case_sensitive {
        text.into_bytes()
    } else {
        words(&text).join(" ").into_bytes()
    }
}
