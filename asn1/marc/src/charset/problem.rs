//! The problems in a conversion, with their positions: damaged text, and characters that a set lacks. Conversion always
//! continues; the caller decides whether a problem matters.

use std::fmt;

/// A place where text could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The offset of the problem in octets: in the input when decoding, in the text in NFC when encoding.
    pub offset: usize,
    /// The kind of problem.
    pub kind: ProblemKind,
}

/// The reason why text could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Octets that the character set leaves unassigned; U+FFFD replaces them.
    Unassigned {
        /// The unassigned octets: one octet, or the three octets of an EACC code.
        octets: Vec<u8>,
        /// The name of the MARC-8 graphic set, or of the character set if it is not MARC-8.
        set: &'static str,
    },
    /// Octets that are malformed in the character set; U+FFFD replaces them.
    Malformed {
        /// The malformed octets.
        octets: Vec<u8>,
        /// The name of the character set.
        set: &'static str,
    },
    /// A MARC-8 escape sequence that names no known set; U+FFFD replaces the escape character.
    UnknownEscape,
    /// Combining marks without a character after them; a no-break space becomes their base.
    MarkWithoutBase,
    /// A character that the character set lacks; it is replaced according to [`super::Unencodable`]. The offset of a
    /// mark is the offset of its base character.
    Unencodable {
        /// The character that the set lacks.
        character: char,
        /// The name of the character set.
        set: &'static str,
    },
}

impl ProblemKind {
    /// Returns whether octets could not be decoded and were replaced by U+FFFD.
    pub fn is_undecoded(&self) -> bool {
        matches!(
            self,
            Self::Unassigned { .. } | Self::Malformed { .. } | Self::UnknownEscape
        )
    }

    pub(super) fn at(self, offset: usize) -> Problem {
        Problem { offset, kind: self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ProblemKind::Unassigned { octets, set } => {
                write!(f, "no character {} in {set}", hexadecimal(octets))
            }
            ProblemKind::Malformed { octets, set } => {
                write!(f, "{} is not {set}", hexadecimal(octets))
            }
            ProblemKind::UnknownEscape => f.write_str("an unknown escape sequence"),
            ProblemKind::MarkWithoutBase => f.write_str("a combining mark without a character"),
            ProblemKind::Unencodable { character, set } => {
                let number = u32::from(*character);
                if character.is_control() {
                    write!(f, "no U+{number:04X} in {set}")
                } else {
                    write!(f, "no {character} (U+{number:04X}) in {set}")
                }
            }
        }?;
        write!(f, " at octet {}", self.offset)
    }
}

fn hexadecimal(octets: &[u8]) -> String {
    let octets: Vec<_> = octets.iter().map(|octet| format!("{octet:02X}")).collect();
    octets.join(" ")
}
