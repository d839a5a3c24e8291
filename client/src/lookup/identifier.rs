//! Identifiers as people write them: `isbn:0306406152`, `issn:`, `lccn:`, `oclc:`, `local:`, `docid:`; without a prefix
//! the shape decides.

use std::fmt;
use std::str::FromStr;

use z3950_asn1::record::standard_number::{Isbn, Issn, lccn, oclc_number};

/// What a record is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identifier {
    /// Which number it is.
    pub kind: Kind,
    /// As it was written, without the prefix.
    pub text: String,
    /// Whether the prefix said so, and not the shape.
    pub is_certain: bool,
}

/// The numbers by which records are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// International Standard Book Number.
    Isbn,
    /// International Standard Serial Number.
    Issn,
    /// Library of Congress Control Number.
    Lccn,
    /// Control number of OCLC.
    Oclc,
    /// The control number of the catalogue's own record.
    Local,
    /// The docid of RFC 2056 §4, whatever the server takes for one.
    Docid,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Isbn,
        Self::Issn,
        Self::Lccn,
        Self::Oclc,
        Self::Local,
        Self::Docid,
    ];

    /// The prefix without its colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isbn => "isbn",
            Self::Issn => "issn",
            Self::Lccn => "lccn",
            Self::Oclc => "oclc",
            Self::Local => "local",
            Self::Docid => "docid",
        }
    }

    /// What a number without a prefix must be. Eight digits are an ISSN only with its hyphen: without it they are
    /// sooner an LCCN.
    fn of_shape(text: &str) -> Self {
        match text {
            _ if Isbn::parse(text).is_some() => Self::Isbn,
            _ if text.contains('-') && Issn::parse(text).is_some() => Self::Issn,
            _ if oclc_number(text).is_some() => Self::Oclc,
            _ if lccn(text).is_some() => Self::Lccn,
            _ => Self::Docid,
        }
    }
}

/// A text that is no identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing stands behind {0}:")]
pub struct IdentifierError(String);

impl FromStr for Identifier {
    type Err = IdentifierError;

    /// Reads an identifier.
    ///
    /// # Errors
    /// A prefix with nothing behind it, or no text at all.
    fn from_str(text: &str) -> Result<Self, IdentifierError> {
        let text = text.trim();
        let prefixed = text.split_once(':').and_then(|(prefix, rest)| {
            let mut kinds = Kind::ALL.into_iter();
            let kind = kinds.find(|kind| kind.name().eq_ignore_ascii_case(prefix))?;
            Some((kind, rest.trim()))
        });
        match prefixed {
            Some((kind, "")) => Err(IdentifierError(kind.name().to_owned())),
            None if text.is_empty() => Err(IdentifierError(String::new())),
            Some((kind, rest)) => Ok(Self {
                kind,
                text: rest.to_owned(),
                is_certain: true,
            }),
            None => Ok(Self {
                kind: Kind::of_shape(text),
                text: text.to_owned(),
                is_certain: false,
            }),
        }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_shapes_decide() {
        for (text, shown) in [
            ("isbn:0306406152", "isbn:0306406152"),
            ("ISBN: 0-306-40615-3", "isbn:0-306-40615-3"),
            ("0-306-40615-2", "isbn:0-306-40615-2"),
            ("9791090636071", "isbn:9791090636071"),
            ("0306406153", "lccn:0306406153"),
            ("0378-5955", "issn:0378-5955"),
            ("03785955", "lccn:03785955"),
            ("n78-890351", "lccn:n78-890351"),
            ("(OCoLC)ocm00012345", "oclc:(OCoLC)ocm00012345"),
            ("pg1342", "docid:pg1342"),
            ("local:12345678", "local:12345678"),
            ("docid:0306406152", "docid:0306406152"),
            ("urn:isbn:0306406152", "docid:urn:isbn:0306406152"),
            ("isbn:", "nothing stands behind isbn:"),
            (" ", "nothing stands behind :"),
        ] {
            let found = text.parse::<Identifier>().map_or_else(
                |error| error.to_string(),
                |identifier| identifier.to_string(),
            );
            assert_eq!(found, shown, "{text}");
        }
    }
}
