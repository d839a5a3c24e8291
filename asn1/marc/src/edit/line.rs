//! Parses a field in the form that people type: `245 10 $a Emma / $c Jane Austen.`

use std::str::FromStr;

use crate::record::{Field, Tag};

/// The reason why text is not a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a field such as '852 __ $a Main library' or '003 DE-1': {reason}")]
#[non_exhaustive]
pub struct FieldError {
    /// The text that is not a field.
    pub text: String,
    /// A description of the fault.
    pub reason: &'static str,
}

impl FromStr for Field {
    type Err = FieldError;

    /// Parses a field in the form that people type: `245 10 $a Emma / $c Jane Austen.`, `852 __ $a Main library $b Annex`,
    /// `650 #0$aWar.`, `=650  \0$aWar.`, `003 DE-1`.
    ///
    /// A blank indicator is written as `#`, `_`, a backslash or a space; if there are no indicators, both are blank. A dollar sign before a
    /// lower-case letter or a digit begins a subfield; `{dollar}` is a dollar sign in text. Spaces around values are ignored. Text from
    /// other sources may contain dollar signs; [`Field::try_data`] does not interpret them.
    ///
    /// # Errors
    /// [`FieldError`] for text that is not a field, control characters and empty values.
    fn from_str(text: &str) -> Result<Self, FieldError> {
        read_field(text).map_err(|reason| FieldError {
            text: text.to_owned(),
            reason,
        })
    }
}

impl TryFrom<&str> for Field {
    type Error = FieldError;

    /// Parses a field like `from_str`.
    fn try_from(text: &str) -> Result<Self, FieldError> {
        text.parse()
    }
}

fn read_field(text: &str) -> Result<Field, &'static str> {
    if text.contains(char::is_control) {
        return Err("it has control characters");
    }
    let text = text.trim();
    let text = text.strip_prefix('=').unwrap_or(text);
    let (tag, rest) = split_tag(text).ok_or("it does not begin with a tag")?;
    if !rest.starts_with(' ') && !rest.starts_with('$') {
        return Err("a blank is missing after the tag");
    }
    if tag.is_control() {
        let value = rest.trim();
        if value.starts_with('$') {
            return Err("a control field has no subfields");
        }
        let value = value.replace("{dollar}", "$");
        return Ok(Field::control(tag, value.into_bytes()));
    }
    let begin = rest.find('$').ok_or("it has no subfield")?;
    let (head, data) = rest.split_at_checked(begin).ok_or("it has no subfield")?;
    let indicators = indicators(head)?;
    let subfields = subfields(data)?;
    let subfields = subfields.iter().map(|(code, value)| (code, value));
    Ok(Field::data(tag, indicators, subfields))
}

/// Splits text into its tag and the rest.
fn split_tag(text: &str) -> Option<(Tag, &str)> {
    let (tag, rest) = text.split_at_checked(3)?;
    Some((Tag::try_from(tag).ok()?, rest))
}

/// Parses the text between the tag and the first subfield.
fn indicators(head: &str) -> Result<[u8; 2], &'static str> {
    let is_known = |octet: &u8| {
        octet.is_ascii_lowercase() || octet.is_ascii_digit() || b"#_\\| ".contains(octet)
    };
    if !head.bytes().all(|octet| is_known(&octet)) {
        return Err("an indicator is a digit, a small letter, |, or for a blank # or _");
    }
    let head = head.strip_prefix(' ').unwrap_or(head);
    let found = match *head.trim().as_bytes() {
        [] => [b' ', b' '],
        [first, second] => [first, second],
        // The position of a single indicator decides which one it is.
        [one] if head.starts_with(' ') => [b' ', one],
        [one] => [one, b' '],
        _ => return Err("it has more than two indicators"),
    };
    Ok(found.map(|octet| match octet {
        b'#' | b'_' | b'\\' => b' ',
        octet => octet,
    }))
}

/// Parses subfields. The text must begin with the first subfield.
fn subfields(data: &str) -> Result<Vec<(String, String)>, &'static str> {
    let mut subfields: Vec<(String, String)> = Vec::new();
    for part in data.split('$').skip(1) {
        let mut characters = part.chars();
        let code = characters.next();
        match code.filter(|code| code.is_ascii_lowercase() || code.is_ascii_digit()) {
            Some(code) => subfields.push((code.to_string(), characters.as_str().to_owned())),
            None => match subfields.last_mut() {
                Some((_, value)) => {
                    value.push('$');
                    value.push_str(part);
                }
                None => return Err("a subfield code is a small letter or a digit"),
            },
        }
    }
    for (_, value) in &mut subfields {
        *value = value.trim().replace("{dollar}", "$");
    }
    if subfields.iter().any(|(_, value)| value.is_empty()) {
        return Err("a subfield is empty");
    }
    Ok(subfields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrk;
    use crate::record::MarcRecord;

    #[test]
    fn r_f15_fields_are_read_as_people_type_them() {
        for (text, expected) in [
            (
                "852 __ $a Main library $b Annex",
                "=852  \\\\$aMain library$bAnnex",
            ),
            ("852 ## $a Main", "=852  \\\\$aMain"),
            ("852 $a Main", "=852  \\\\$aMain"),
            ("852$aMain", "=852  \\\\$aMain"),
            ("852    $a Main", "=852  \\\\$aMain"),
            ("852 1  $a Main", "=852  1\\$aMain"),
            ("852 1 $a Main", "=852  1\\$aMain"),
            ("852  1 $a Main", "=852  \\1$aMain"),
            ("852 1_$aMain", "=852  1\\$aMain"),
            ("=852  8\\$aMain$x3{dollar}5", "=852  8\\$aMain$x3{dollar}5"),
            (
                "852 __ $a 5 US$ $b $ $c x",
                "=852  \\\\$a5 US{dollar}$b{dollar}$cx",
            ),
            ("003 DE-1", "=003  DE-1"),
            ("=003  DE-1", "=003  DE-1"),
            ("CAT __ $a X", "=CAT  \\\\$aX"),
            ("852 |1 $a ü", "=852  |1$aü"),
        ] {
            let field: Field = text
                .parse()
                .unwrap_or_else(|error: FieldError| panic!("{error}"));
            let record = MarcRecord {
                fields: vec![field],
                ..MarcRecord::default()
            };
            let written = mrk::to_mrk(&record);
            assert_eq!(written.lines().nth(1), Some(expected), "{text}");
        }
        for (text, words) in [
            ("", "tag"),
            ("85", "tag"),
            ("LDR 00000", "tag"),
            ("8é2 $a x", "tag"),
            ("852", "a blank is missing"),
            ("852x $a x", "a blank is missing"),
            ("852 __ Main", "no subfield"),
            ("852 123 $a Main", "more than two"),
            ("852 A_ $a Main", "an indicator is"),
            ("852 __ $A Main", "a subfield code"),
            ("852 __ $a $b x", "empty"),
            ("852 __ $a x\u{1f}by", "control characters"),
            ("003 ", "a blank is missing"),
            ("003 $a x", "no subfields"),
        ] {
            let error = Field::try_from(text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
