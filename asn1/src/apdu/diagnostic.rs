//! Diagnostics in the default format or any other format: `DiagRec` (Z39.50-2003 §4.1, Appendix DIAG).

use std::borrow::Cow;
use std::fmt;

use z3950_marc::charset::utf8_or_latin1;

use super::External;
use crate::bib1::diagnostics::Condition;
use crate::describe::{Describe, Value, bare_choices};
use crate::oid::{BIB_1_DIAGNOSTICS, Oid};
use crate::production::productions;
use crate::types::{InternationalString, VisibleString};

productions! {
    /// A diagnostic in any format.
    pub enum DiagRec {
        DefaultFormat(DefaultDiagFormat),
        ExternallyDefined(External),
    }

    /// A condition from a diagnostic set, with additional information.
    pub struct DefaultDiagFormat {
        diagnostic_set_id: Oid,
        condition: i64,
        addinfo: AddInfo,
    }
}

bare_choices! {
    /// The additional information in a diagnostic, in the string type of protocol version 2 or 3.
    pub enum AddInfo {
        V2Addinfo(VisibleString),
        V3Addinfo(InternationalString),
    }
}

impl AddInfo {
    /// Returns the octets of the additional information, of either string type.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::V2Addinfo(text) => text.as_bytes(),
            Self::V3Addinfo(text) => text.as_bytes(),
        }
    }

    /// Returns the additional information as text. If it is not UTF-8, it is read as ISO 8859-1.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        utf8_or_latin1(self.as_bytes())
    }
}

impl DefaultDiagFormat {
    /// Creates a diagnostic with a Bib-1 condition. `addinfo` travels as `v2Addinfo`, which peers understand in every
    /// protocol version.
    pub fn bib1(condition: i64, addinfo: impl Into<VisibleString>) -> Self {
        Self {
            diagnostic_set_id: BIB_1_DIAGNOSTICS,
            condition,
            addinfo: AddInfo::V2Addinfo(addinfo.into()),
        }
    }

    /// Returns the meaning of a Bib-1 condition in plain words; `None` if the diagnostic is from another diagnostic set
    /// or its code is unassigned.
    pub fn message(&self) -> Option<&'static str> {
        (self.diagnostic_set_id == BIB_1_DIAGNOSTICS)
            .then(|| Condition(self.condition).message())
            .flatten()
    }
}

impl Describe for DefaultDiagFormat {
    /// Describes the elements of the diagnostic, with the meaning of a Bib-1 condition added as `message`.
    fn describe(&self) -> Value {
        let message = self.message().map(|text| Value::Text(text.to_owned()));
        Value::group(vec![
            ("diagnostic_set_id", self.diagnostic_set_id.describe()),
            ("condition", self.condition.describe()),
            ("message", message.unwrap_or(Value::Nothing)),
            ("addinfo", self.addinfo.describe()),
        ])
    }
}

impl fmt::Display for DefaultDiagFormat {
    /// Writes, for example, `diagnostic 235 (database does not exist): nosuchdb`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "diagnostic {}", self.condition)?;
        match self.message() {
            Some(message) => write!(f, " ({message})")?,
            None if self.diagnostic_set_id == BIB_1_DIAGNOSTICS => {}
            None => write!(f, " of set {:?}", self.diagnostic_set_id)?,
        }
        match self.addinfo.to_string_lossy() {
            addinfo if addinfo.is_empty() => Ok(()),
            addinfo => write!(f, ": {}", with_names(&addinfo)),
        }
    }
}

/// Returns the additional information with each object identifier in it followed by its registered name.
fn with_names(addinfo: &str) -> String {
    let mut text = String::new();
    for part in addinfo.split_inclusive([' ', ',', ';']) {
        let word = part.trim_end_matches([' ', ',', ';']);
        match word.parse::<Oid>() {
            Ok(oid) if oid.name().is_some() => text.push_str(&format!("{oid:?}")),
            _ => text.push_str(word),
        }
        text.push_str(part.get(word.len()..).unwrap_or_default());
    }
    text
}

impl fmt::Display for DiagRec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DefaultFormat(diagnostic) => diagnostic.fmt(f),
            Self::ExternallyDefined(External {
                direct_reference: Some(format),
                ..
            }) => {
                write!(f, "a diagnostic in format {format:?}")
            }
            Self::ExternallyDefined(_) => f.write_str("a diagnostic in a format without a name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f14_object_identifiers_in_addinfo_have_their_names() {
        for (addinfo, shown) in [
            ("1.2.840.10003.5.10", "1.2.840.10003.5.10 (usmarc)"),
            (
                "1.2.840.10003.5.101, 1.2.840.10003.5.9999",
                "1.2.840.10003.5.101 (sutrs), 1.2.840.10003.5.9999",
            ),
            ("version 1.2 of books", "version 1.2 of books"),
        ] {
            let diagnostic = DefaultDiagFormat::bib1(239, addinfo).to_string();
            assert!(diagnostic.ends_with(&format!(": {shown}")), "{diagnostic}");
        }
    }

    #[test]
    fn audit_c6_addinfo_that_is_not_utf_8_is_iso_8859_1() {
        for (octets, shown) in [
            (&b"b\xFCcher"[..], "bücher"),
            ("bücher".as_bytes(), "bücher"),
            (b"\xC3", "Ã"),
            (b"", ""),
        ] {
            let addinfos = [
                AddInfo::V2Addinfo(octets.into()),
                AddInfo::V3Addinfo(octets.into()),
            ];
            for addinfo in addinfos {
                let diagnostic = DefaultDiagFormat {
                    addinfo,
                    ..DefaultDiagFormat::bib1(1, "")
                };
                assert_eq!(diagnostic.addinfo.to_string_lossy(), shown);
                assert!(diagnostic.to_string().ends_with(shown), "{diagnostic}");
            }
            assert_eq!(InternationalString::from(octets).to_string_lossy(), shown);
        }
    }
}
