//! MARC-in-JSON, the object form: `{"leader": …, "fields": [{"001": …}, {"245": {"ind1": …, "ind2": …, "subfields": […]}}]}`.
//! Text is read and written unchanged; U+FFFD replaces octets that are not UTF-8, which JSON cannot hold (RFC 8259 §8.1).

mod members;

use bytes::{BufMut, Bytes, BytesMut};
use serde_core::{
    Deserialize, Deserializer,
    de::Error,
    ser::{Serialize, SerializeMap, Serializer},
};
use serde_json::Value;

use self::members::{Json, Members};

use super::record::{Field, Leader, MarcRecord, SUBFIELD_DELIMITER, Tag, split_characters};
use super::remarks::Remarks;
use super::text::SEPARATORS;

/// Returns the record as one line of JSON, without a newline.
///
/// Each subfield is a separate object, so order and repetition are kept. Three things go beyond the usual form: a
/// data field with more than two indicators has `ind3` and so on; a missing indicator is an empty string; text before
/// the first subfield becomes a subfield with an empty code.
pub fn to_json(record: &MarcRecord) -> String {
    // Serialization cannot fail: keys are strings, and no serializer returns an error.
    serde_json::to_string(record).unwrap_or_default()
}

/// Returns the record as a JSON value, for use within a larger value.
pub fn to_value(record: &MarcRecord) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

/// Serializes a record as MARC-in-JSON, as [`to_json`] does.
impl Serialize for MarcRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let code_length = self.leader.code_length();
        let fields = self.fields.iter().map(|field| {
            let content = FieldContent { field, code_length };
            Member(&field.tag.0, content)
        });
        let mut members = serializer.serialize_map(Some(2))?;
        members.serialize_entry("leader", &Text(&self.leader.0))?;
        members.serialize_entry("fields", &fields.collect::<Vec<_>>())?;
        members.end()
    }
}

/// Deserializes a record from MARC-in-JSON, as [`from_json`] does: with `serde_json::from_str` or `from_reader`, or as part of a larger
/// value. Errors name the place in the record, as in `fields[2].245.subfields is not an array`. The format must be self-describing, as JSON
/// is.
impl<'de> Deserialize<'de> for MarcRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        of_json(json).map_err(D::Error::custom)
    }
}

/// The reason why text is not a MARC-in-JSON record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarcJsonError {
    /// The text is not JSON.
    #[error("not JSON")]
    Json(#[from] serde_json::Error),
    /// The JSON is not a record.
    #[error("{path} is not {expected}")]
    Shape {
        /// The place of the fault, as in `fields[2].245.subfields`.
        path: String,
        /// A description of what was expected instead.
        expected: &'static str,
    },
    /// A member that may occur only once occurs twice in an object.
    #[error("{path} is given twice")]
    Repeated {
        /// The place of the object, as in `fields[2].245.subfields`.
        path: String,
    },
}

/// Parses one record in the form that [`to_json`] writes, and in the forms that other programs usually write: a missing
/// `ind1` or `ind2` is a blank, one object may hold several fields or subfields, even with the same name, and unknown
/// members of a data field are ignored. ISO 2709 separators in text cannot be kept; U+FFFD replaces them.
///
/// # Errors
/// [`MarcJsonError`] for text that is not JSON (or nested deeper than 128 levels) and for JSON of a different shape.
pub fn from_json(text: &str) -> Result<MarcRecord, MarcJsonError> {
    of_json(serde_json::from_str(text)?)
}

/// Parses a record like [`from_json`], but repairs faults that [`from_json`] refuses, with remarks: a leader that is not 24 octets long is
/// padded or truncated, a missing leader becomes the default one, an indicator that is not one character and an empty code become blanks,
/// and malformed fields and subfields are left out. ISO 2709 separators in text are replaced, with a remark.
///
/// # Errors
/// [`MarcJsonError`] for text that is not JSON, has no array of fields, or has neither a leader nor a field.
pub(crate) fn from_json_lenient(
    text: &str,
    remarks: &mut Remarks,
) -> Result<MarcRecord, MarcJsonError> {
    let mut json: Json = serde_json::from_str(text)?;
    if json.replace_separators() {
        remarks.loss(|| SEPARATORS.to_owned());
    }
    let mut reading = Reading {
        remarks: Some(remarks),
        longest_code: 0,
    };
    reading.record(&json)
}

/// Reads one record from a JSON value, as [`from_json`] does.
///
/// # Errors
/// [`MarcJsonError::Shape`] for a value that is not a record.
pub fn from_value(value: &Value) -> Result<MarcRecord, MarcJsonError> {
    of_json(Json::deserialize(value)?)
}

/// Reads a record strictly.
fn of_json(mut json: Json) -> Result<MarcRecord, MarcJsonError> {
    json.replace_separators();
    Reading::strict().record(&json)
}

/// The state of reading one record.
struct Reading<'a> {
    /// The remarks on faults found so far; `None` if reading is strict and ends with an error at the first fault.
    remarks: Option<&'a mut Remarks>,
    /// The number of characters in the longest subfield code.
    longest_code: usize,
}

impl Reading<'_> {
    fn strict() -> Self {
        Self {
            remarks: None,
            longest_code: 0,
        }
    }

    /// Adds a remark on a fault that loses data. If reading is strict, returns the fault as an error instead.
    fn loss(&mut self, fault: MarcJsonError) -> Result<(), MarcJsonError> {
        let Some(remarks) = &mut self.remarks else {
            return Err(fault);
        };
        remarks.loss(|| fault.to_string());
        Ok(())
    }

    fn record(&mut self, record: &Json) -> Result<MarcRecord, MarcJsonError> {
        let members = record.members().map_or(&[][..], |members| &members.0);
        let written = member(members, "leader", "leader")?.and_then(Json::text);
        let listed = member(members, "fields", "fields")?.and_then(Json::items);
        if written.is_none() && listed.is_none() {
            return Err(shape("leader", "a string of 24 octets"));
        }
        let mut leader = self.leader(written)?;
        let listed = listed.ok_or_else(|| shape("fields", "an array"))?;
        let mut fields = Vec::with_capacity(listed.len());
        for (index, members) in listed.iter().enumerate() {
            let path = format!("fields[{index}]");
            let Some(Members(members)) = members.members() else {
                self.loss(shape(&path, "an object"))?;
                continue;
            };
            if members.is_empty() {
                self.loss(shape(&path, "an object with a field"))?;
            }
            for (tag, content) in members {
                match self.field(tag, content, leader, &path) {
                    Ok(field) => fields.push(field),
                    Err(fault) => self.loss(fault)?,
                }
            }
        }
        // An array named `fields` alone does not show that the JSON is a record, because other JSON may have such an array too.
        if written.is_none() && fields.is_empty() {
            return Err(shape("leader", "a string of 24 octets"));
        }
        if leader.fit_codes(self.longest_code)
            && let Some(remarks) = &mut self.remarks
        {
            remarks.note(|| "leader position 11 is not usable".to_owned());
        }
        Ok(MarcRecord { leader, fields })
    }

    fn leader(&mut self, text: Option<&str>) -> Result<Leader, MarcJsonError> {
        let octets = text.map(str::as_bytes).unwrap_or_default();
        if let Ok(leader) = octets.try_into() {
            return Ok(Leader(leader));
        }
        self.loss(shape("leader", "a string of 24 octets"))?;
        Ok(if octets.is_empty() {
            Leader::default()
        } else {
            Leader::padded(octets)
        })
    }

    fn field(
        &mut self,
        tag: &str,
        content: &Json,
        leader: Leader,
        path: &str,
    ) -> Result<Field, MarcJsonError> {
        let path = format!("{path}.{tag}");
        let tag: [u8; 3] = tag
            .as_bytes()
            .try_into()
            .map_err(|_| shape(&path, "a tag of three octets"))?;
        let body = match content {
            Json::Text(value) => Bytes::copy_from_slice(value.as_bytes()),
            Json::Object(Members(members)) => self.data(members, leader, &path)?,
            Json::Array(_) | Json::Other => return Err(shape(&path, "a string or an object")),
        };
        Ok(Field {
            tag: Tag(tag),
            body,
        })
    }

    fn data(
        &mut self,
        members: &[(String, Json)],
        leader: Leader,
        path: &str,
    ) -> Result<Bytes, MarcJsonError> {
        let mut body = self.indicators(members, leader, path)?;
        let path = format!("{path}.subfields");
        let subfields = member(members, "subfields", &path)?
            .and_then(Json::items)
            .ok_or_else(|| shape(&path, "an array"))?;
        let is_alone = subfields.len() == 1;
        for (index, subfield) in subfields.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(Members(subfield)) = subfield.members() else {
                self.loss(shape(&path, "an object"))?;
                continue;
            };
            if subfield.is_empty() {
                self.loss(shape(&path, "an object with a subfield"))?;
            }
            for (code, data) in subfield {
                let Some(data) = data.text() else {
                    self.loss(shape(&path, "an object of strings"))?;
                    continue;
                };
                // An empty code at the beginning marks text without a delimiter; an empty subfield has a delimiter. If other
                // subfields follow, text without a delimiter would be read as indicators, unless the field already has the
                // maximum number of indicators.
                let is_bare = index == 0 && code.is_empty() && !data.is_empty();
                let is_apart = is_alone && subfield.len() == 1 || body.len() >= INDICATORS.len();
                if !is_bare || self.remarks.is_some() && !is_apart {
                    self.code(code, data, leader, &path, &mut body)?;
                }
                body.put_slice(data.as_bytes());
            }
        }
        Ok(body.freeze())
    }

    /// Appends the indicators.
    fn indicators(
        &mut self,
        members: &[(String, Json)],
        leader: Leader,
        path: &str,
    ) -> Result<BytesMut, MarcJsonError> {
        let mut body = BytesMut::new();
        let mut empty = 0;
        for (index, name) in INDICATORS.into_iter().enumerate() {
            let path = format!("{path}.{name}");
            match member(members, name, &path)? {
                Some(Json::Text(indicator)) if indicator.is_empty() => empty += 1,
                Some(Json::Text(indicator)) => {
                    let (one, rest) = split_characters(indicator.as_bytes(), 1);
                    if !rest.is_empty() {
                        self.loss(shape(&path, "one character"))?;
                    }
                    // Only the last indicators can be missing, so empty indicators before this one become spaces.
                    body.put_bytes(b' ', std::mem::take(&mut empty));
                    body.put_slice(one);
                }
                Some(_) => {
                    self.loss(shape(&path, "a string"))?;
                    body.put_u8(b' ');
                }
                None if index < USUAL_INDICATORS => body.put_u8(b' '),
                None => {}
            }
        }
        let are_usual = !matches!(leader.octet(10), b'0' | b'1');
        if let Some(remarks) = self.remarks.as_mut().filter(|_| are_usual && empty > 0)
            && body.len() < USUAL_INDICATORS
        {
            remarks.note(|| format!("{path} has empty indicators, read as blanks"));
            body.put_bytes(b' ', USUAL_INDICATORS - body.len());
        }
        Ok(body)
    }

    /// Appends the delimiter and the code of a subfield.
    fn code(
        &mut self,
        code: &str,
        data: &str,
        leader: Leader,
        path: &str,
        body: &mut BytesMut,
    ) -> Result<(), MarcJsonError> {
        let length = code.chars().count();
        self.longest_code = self.longest_code.max(length);
        let is_missing = length == 0 && !data.is_empty();
        if length > leader.code_length() || is_missing {
            let expected = "a subfield whose code has the length that the leader says";
            self.loss(shape(path, expected))?;
        }
        body.put_u8(SUBFIELD_DELIMITER);
        body.put_slice(if is_missing { b" " } else { code.as_bytes() });
        Ok(())
    }
}

/// Octets that are written as a JSON string.
struct Text<'a>(&'a [u8]);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(self.0))
    }
}

/// An object with one member.
struct Member<'a, T>(&'a [u8], T);

impl<T: Serialize> Serialize for Member<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(Text(self.0), &self.1)])
    }
}

/// The content of a field in JSON.
struct FieldContent<'a> {
    field: &'a Field,
    code_length: usize,
}

impl Serialize for FieldContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(value) = self.field.value() {
            return Text(value).serialize(serializer);
        }
        let mut members = serializer.serialize_map(None)?;
        let mut indicators = self.field.indicators();
        for (index, name) in INDICATORS.into_iter().enumerate() {
            if indicators.is_empty() && index >= USUAL_INDICATORS {
                break;
            }
            let (one, rest) = split_characters(indicators, 1);
            members.serialize_entry(name, &Text(one))?;
            indicators = rest;
        }
        let subfields = self
            .field
            .subfields_with(self.code_length)
            .map(|subfield| Member(subfield.code, Text(subfield.data)));
        members.serialize_entry("subfields", &subfields.collect::<Vec<_>>())?;
        members.end()
    }
}

/// The names of the indicators. A field can have at most nine, because leader position 10 is one digit.
const INDICATORS: [&str; 9] = [
    "ind1", "ind2", "ind3", "ind4", "ind5", "ind6", "ind7", "ind8", "ind9",
];
/// The number of indicators that are always written.
const USUAL_INDICATORS: usize = 2;

/// Returns the member with a given name, which may occur only once.
fn member<'a>(
    members: &'a [(String, Json)],
    name: &str,
    path: &str,
) -> Result<Option<&'a Json>, MarcJsonError> {
    let mut found = members.iter().filter(|(known, _)| known == name);
    let first = found.next().map(|(_, value)| value);
    match found.next() {
        None => Ok(first),
        Some(_) => Err(MarcJsonError::Repeated {
            path: path.to_owned(),
        }),
    }
}

fn shape(path: &str, expected: &'static str) -> MarcJsonError {
    MarcJsonError::Shape {
        path: path.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests;
