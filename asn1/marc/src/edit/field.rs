//! Changes one field of a record.

use std::fmt;
use std::ops::Deref;

use bytes::{BufMut, Bytes, BytesMut};

use super::{EditError, make_utf8};
use crate::record::{Field, Leader, MarcRecord, SUBFIELD_DELIMITER, Tag};

/// A field of a record that can be changed, returned by [`MarcRecord::field_mut`]. It dereferences to the [`Field`].
///
/// Text must be UTF-8; the record is converted to UTF-8 if necessary. If an error is returned, nothing has been
/// changed.
pub struct FieldMut<'a> {
    leader: &'a mut Leader,
    before: &'a mut [Field],
    field: &'a mut Field,
    after: &'a mut [Field],
}

impl Deref for FieldMut<'_> {
    type Target = Field;

    fn deref(&self) -> &Field {
        self.field
    }
}

impl fmt::Debug for FieldMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FieldMut").field(&self.field).finish()
    }
}

impl<'a> FieldMut<'a> {
    /// Returns the field at a position in the record, counted from 0.
    pub(super) fn at(record: &'a mut MarcRecord, place: usize) -> Option<Self> {
        let (before, rest) = record.fields.split_at_mut_checked(place)?;
        let (field, after) = rest.split_first_mut()?;
        Some(Self {
            leader: &mut record.leader,
            before,
            field,
            after,
        })
    }

    /// Replaces the data of the first subfield with this code. If there is no such subfield, adds one at the end.
    ///
    /// # Errors
    /// [`EditError`] for a control field, an invalid code, a control character, and a record that cannot hold the text.
    pub fn set(&mut self, code: &str, text: &str) -> Result<&mut Self, EditError> {
        self.check_subfield(code, text)?;
        self.ensure_representable(text.as_bytes())?;
        let mut body = self.head(text.len() + code.len() + 1);
        let mut is_set = false;
        for subfield in self.field.subfields_with(self.leader.code_length()) {
            let is_it = !is_set && subfield.code == code.as_bytes();
            is_set |= is_it;
            let data = if is_it {
                text.as_bytes()
            } else {
                subfield.data
            };
            put(&mut body, subfield.code, data);
        }
        if !is_set {
            put(&mut body, code.as_bytes(), text.as_bytes());
        }
        self.field.body = body.freeze();
        Ok(self)
    }

    /// Adds a subfield at the end.
    ///
    /// # Errors
    /// The same errors as [`FieldMut::set`].
    pub fn push(&mut self, code: &str, text: &str) -> Result<&mut Self, EditError> {
        self.check_subfield(code, text)?;
        self.ensure_representable(text.as_bytes())?;
        let mut body = self.head(text.len() + code.len() + 1);
        let indicators = self.field.indicators().len();
        body.put_slice(self.field.body.get(indicators..).unwrap_or_default());
        put(&mut body, code.as_bytes(), text.as_bytes());
        self.field.body = body.freeze();
        Ok(self)
    }

    /// Removes all subfields with this code. Returns whether any subfield was removed.
    ///
    /// # Errors
    /// [`EditError::NoSubfield`] if no other subfield would be left ([`MarcRecord::remove`] deletes the field instead),
    /// [`EditError::ControlField`], [`EditError::BareText`], and [`EditError::Code`].
    pub fn remove(&mut self, code: &str) -> Result<bool, EditError> {
        self.check_subfield(code, "")?;
        let mut body = self.head(0);
        let (mut is_found, mut has_others) = (false, false);
        for subfield in self.field.subfields_with(self.leader.code_length()) {
            if subfield.code == code.as_bytes() {
                is_found = true;
            } else {
                has_others = true;
                put(&mut body, subfield.code, subfield.data);
            }
        }
        if is_found && !has_others {
            return Err(EditError::NoSubfield(self.tag));
        }
        if is_found {
            self.field.body = body.freeze();
        }
        Ok(is_found)
    }

    /// Replaces all subfields.
    ///
    /// # Errors
    /// The same errors as [`FieldMut::set`], and [`EditError::NoSubfield`].
    pub fn set_subfields<C, V>(
        &mut self,
        subfields: impl IntoIterator<Item = (C, V)>,
    ) -> Result<&mut Self, EditError>
    where
        C: AsRef<str>,
        V: AsRef<str>,
    {
        self.check_data()?;
        let code_length = self.leader.code_length();
        let body = body_of(self.tag, &self.head(0), subfields, code_length)?;
        self.ensure_representable(&body)?;
        self.field.body = body;
        Ok(self)
    }

    /// Sets the indicators, in which a space is a blank: `set_indicators("1 ")`. There must be two, or as many as the
    /// field has.
    ///
    /// # Errors
    /// [`EditError::Indicators`], and [`EditError::ControlField`].
    pub fn set_indicators(&mut self, indicators: &str) -> Result<&mut Self, EditError> {
        self.check_data()?;
        let found = self.field.indicators().len();
        check_indicators(indicators, found)
            .or_else(|_| check_indicators(indicators, USUAL_INDICATORS))?;
        let rest = self.field.body.get(found..).unwrap_or_default();
        self.field.body = [indicators.as_bytes(), rest].concat().into();
        Ok(self)
    }

    /// Sets the value of a control field.
    ///
    /// # Errors
    /// [`EditError`] for a data field, a control character, and a record that cannot hold the text.
    pub fn set_value(&mut self, value: &str) -> Result<&mut Self, EditError> {
        if !self.is_control() {
            return Err(EditError::DataField(self.tag));
        }
        check_text(self.tag, None, value)?;
        self.ensure_representable(value.as_bytes())?;
        self.field.body = Bytes::copy_from_slice(value.as_bytes());
        Ok(self)
    }

    fn check_data(&self) -> Result<(), EditError> {
        if self.is_control() {
            return Err(EditError::ControlField(self.tag));
        }
        Ok(())
    }

    /// Checks the code and the text of a subfield, and that the field can have subfields.
    fn check_subfield(&self, code: &str, text: &str) -> Result<(), EditError> {
        self.check_data()?;
        check_code(code, self.leader.code_length())?;
        check_text(self.tag, Some(code), text)?;
        let rest = self.field.body.get(self.field.indicators().len()..);
        match rest.and_then(|rest| rest.first()) {
            None | Some(&SUBFIELD_DELIMITER) => Ok(()),
            Some(_) => Err(EditError::BareText(self.tag)),
        }
    }

    /// Converts the record to UTF-8 so that it can hold this text, unless the text is ASCII, which is the same in all
    /// sets.
    fn ensure_representable(&mut self, text: &[u8]) -> Result<(), EditError> {
        if text.is_ascii() {
            return Ok(());
        }
        let others = self.before.iter().chain([&*self.field]);
        let mut record = MarcRecord {
            leader: *self.leader,
            fields: others.chain(self.after.iter()).cloned().collect(),
        };
        make_utf8(&mut record)?;
        *self.leader = record.leader;
        let own = self.before.iter_mut().chain([&mut *self.field]);
        for (own, made) in own.chain(self.after.iter_mut()).zip(record.fields) {
            *own = made;
        }
        Ok(())
    }

    /// Returns the indicators as the beginning of a body, with capacity for this many more octets. If a field without
    /// subfields lacks indicators, they are added.
    fn head(&self, more: usize) -> BytesMut {
        let mut head = BytesMut::with_capacity(self.field.body.len() + more + USUAL_INDICATORS);
        head.put_slice(self.field.indicators());
        if !self.field.body.contains(&SUBFIELD_DELIMITER) {
            head.put_bytes(b' ', USUAL_INDICATORS.saturating_sub(head.len()));
        }
        head
    }
}

/// The number of indicators in MARC 21 and UNIMARC.
pub(super) const USUAL_INDICATORS: usize = 2;

/// Checks the indicators and subfields of a data field, and returns its body.
pub(super) fn body_of<C, V>(
    tag: Tag,
    indicators: &[u8],
    subfields: impl IntoIterator<Item = (C, V)>,
    code_length: usize,
) -> Result<Bytes, EditError>
where
    C: AsRef<str>,
    V: AsRef<str>,
{
    let mut body = BytesMut::from(indicators);
    for (code, text) in subfields {
        let (code, text) = (code.as_ref(), text.as_ref());
        check_code(code, code_length)?;
        check_text(tag, Some(code), text)?;
        put(&mut body, code.as_bytes(), text.as_bytes());
    }
    if body.len() == indicators.len() {
        return Err(EditError::NoSubfield(tag));
    }
    Ok(body.freeze())
}

fn put(body: &mut BytesMut, code: &[u8], data: &[u8]) {
    body.put_u8(SUBFIELD_DELIMITER);
    body.put_slice(code);
    body.put_slice(data);
}

/// Checks that the text consists of `count` indicators.
pub(super) fn check_indicators(indicators: &str, count: usize) -> Result<(), EditError> {
    let is_one = |octet: u8| {
        octet.is_ascii_digit() || octet.is_ascii_lowercase() || matches!(octet, b' ' | b'|')
    };
    if indicators.len() != count || !indicators.bytes().all(is_one) {
        return Err(EditError::Indicators(indicators.to_owned()));
    }
    Ok(())
}

/// Returns whether a subfield can be written with this code: a printable ASCII character other than a blank (MARC 21), or one of the
/// danMARC2 letters. Any other letter has several octets, and other programs take the first of them for the code.
pub fn is_code(code: &str) -> bool {
    let is_one = |letter: char| letter.is_ascii_graphic() || "æøå".contains(letter);
    !code.is_empty() && code.chars().all(is_one)
}

/// Checks a code with this number of characters.
fn check_code(code: &str, length: usize) -> Result<(), EditError> {
    if code.chars().count() != length || !is_code(code) {
        let code = code.to_owned();
        return Err(EditError::Code { code, length });
    }
    Ok(())
}

/// Checks the text of a subfield, or of a control field. Latin-1 control characters are allowed, because records use some of them as marks,
/// for example around non-filing words.
pub(super) fn check_text(tag: Tag, code: Option<&str>, text: &str) -> Result<(), EditError> {
    match text.chars().find(char::is_ascii_control) {
        None => Ok(()),
        Some(character) => {
            let place = match code {
                Some(code) => format!("{tag}${code}"),
                None => tag.to_string(),
            };
            Err(EditError::Control { place, character })
        }
    }
}

#[cfg(test)]
mod tests;
