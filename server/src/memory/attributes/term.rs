//! The text of an operand's term, whatever its type (Z39.50-2003 §3.7.1; conditions 11, 125, 126 and 229).

use std::borrow::Cow;

use z3950_asn1::apdu::Term;
use z3950_asn1::bib1::diagnostics::Condition;

use crate::diagnostic::{Diagnostic, diagnostic};
use crate::memory::fields::Kind;
use crate::memory::profile::Profile;

/// The most octets of a term.
const MOST_TERM_OCTETS: usize = 8192;

/// A term as text.
pub(super) struct TermText<'q> {
    /// The octets, if the term was sent as text.
    pub(super) octets: &'q [u8],
    pub(super) text: Cow<'q, str>,
}

impl<'q> TermText<'q> {
    /// Reads the two text types, and other types if an index of this kind can compare them: numbers with numbers, codes and
    /// dates, times with dates.
    ///
    /// Octets that are not UTF-8 are read as Latin-1, which peers without UTF-8 send.
    pub(super) fn read(term: &'q Term, kind: Kind, profile: &Profile) -> Result<Self, Diagnostic> {
        let comparable = !matches!(kind, Kind::Text | Kind::Octets);
        let text = |octets: &'q [u8]| {
            let latin_1 = |_| Cow::Owned(octets.iter().map(|octet| char::from(*octet)).collect());
            Self {
                octets,
                text: std::str::from_utf8(octets).map_or_else(latin_1, Cow::Borrowed),
            }
        };
        let other = match term {
            Term::General(octets) => return bounded(text(octets)),
            Term::CharacterString(characters) => return bounded(text(characters.as_bytes())),
            Term::DateTime(time) if kind == Kind::Date => return bounded(text(time.as_bytes())),
            Term::Numeric(number) if comparable => {
                return Ok(Self {
                    octets: &[],
                    text: Cow::Owned(number.to_string()),
                });
            }
            Term::Numeric(_) => "numeric",
            Term::Oid(_) => "oid",
            Term::DateTime(_) => "dateTime",
            Term::External(_) => "external",
            Term::IntegerAndUnit(_) => "integerAndUnit",
            Term::Null => "null",
        };
        Err(diagnostic(profile.term_type, other))
    }

    pub(super) fn malformed(&self) -> Diagnostic {
        diagnostic(Condition::MALFORMED_TERM, &*self.text)
    }

    pub(super) fn illegal(&self) -> Diagnostic {
        diagnostic(Condition::TERM_VALUE, &*self.text)
    }
}

fn bounded(term: TermText<'_>) -> Result<TermText<'_>, Diagnostic> {
    match term.octets.len() {
        0..=MOST_TERM_OCTETS => Ok(term),
        _ => Err(diagnostic(Condition::TOO_MANY_CHARACTERS, "")),
    }
}
