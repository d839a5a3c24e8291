//! Character sets for library records and queries: converts octets to Unicode and back, and detects the character set
//! of a record. MARC-8, ISO 5426 and danMARC are implemented here; all other sets come from `encoding_rs`.
//!
//! | file | contents |
//! |---|---|
//! | `label` | [`Charset::by_name`]: the common names of character sets |
//! | `choose` | [`choose()`]: detects the set by the leader, field 100 of UNIMARC, or the octets |
//! | `declared` | records in UTF-8 that do not declare it |
//! | `record` | [`to_utf8`], [`to_charset`]: complete records |
//! | `marc8`, `iso5426` | sets that only libraries use, with tables that `asn1/marc/tables/generate.py` writes |
//! | `danmarc` | ISO 8859-1 with escapes, the set of danMARC2 |
//! | `combine`, `cluster` | combining marks moved from before their character to after it, and back |
//! | `problem` | [`Problem`]: text that could not be converted, with its offset |

mod choose;
mod cluster;
mod combine;
mod danmarc;
mod declared;
mod foreign;
mod iso5426;
mod label;
mod marc8;
mod problem;
mod record;
mod references;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod mutation;

use std::borrow::Cow;
use std::fmt;

pub use encoding_rs::Encoding;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd};

pub(crate) use self::choose::unimarc_sets;
pub use self::choose::{Choice, Reason, choose};
pub(crate) use self::declared::{declares_utf8, undeclared_utf8};
pub use self::problem::{Problem, ProblemKind};
pub use self::record::{Converted, FieldProblem, to_charset, to_utf8};

/// A character set, which decodes and encodes text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Charset {
    /// UTF-8 (ISO 10646).
    Utf8,
    /// MARC-8 with all the Library of Congress sets: Latin, Greek, Cyrillic, Hebrew, Arabic, EACC, symbols.
    Marc8,
    /// ISO 646 with ISO 5426, the Latin set of UNIMARC.
    Iso5426,
    /// The danMARC2 set: ISO 8859-1 with `@` as an escape character. Combining marks are written as escapes.
    Danmarc,
    /// The danMARC2 set with combining marks written as spacing characters. It is decoded like [`Charset::Danmarc`].
    Danmarc2,
    /// ISO 8859-1 in the strict sense: each octet is the character with the same number.
    Latin1,
    /// A set from the Encoding Standard: windows-125x, ISO 8859-x, KOI8, GB18030, Big5, EUC-KR, Shift_JIS and so on.
    ///
    /// UTF-16 is not supported, because the separators in records are single octets.
    Other(&'static Encoding),
}

/// Options for a conversion. The defaults suit text meant for people to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The character set of the octets, even if the record declares a different set. `None` means that the set is detected.
    pub charset: Option<Charset>,
    /// The normal form of decoded text. `None` means NFC for text that is decoded from sets other than UTF-8, and no
    /// change for text in UTF-8.
    pub form: Option<NormalForm>,
    /// What to do with the marks around non-filing characters (U+0098, U+009C).
    pub non_sorting: NonSorting,
    /// Whether to replace references such as `&#xXXXX;` in MARC-8 with the characters they stand for (MARC 21: lossless
    /// conversion).
    pub character_references: bool,
    /// The replacement for a character that the target set lacks.
    pub unencodable: Unencodable,
}

/// A Unicode normal form (UAX 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormalForm {
    /// Composed form, in which é is one character.
    Nfc,
    /// Decomposed form, in which é is e followed by a combining mark.
    Nfd,
}

/// What to do with the marks around non-filing characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NonSorting {
    /// The marks are kept as U+0098 and U+009C.
    #[default]
    Keep,
    /// The marks are removed; the characters between them stay.
    Strip,
}

/// The replacement for a character that a character set lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unencodable {
    /// The replacement is `?`.
    #[default]
    QuestionMark,
    /// The replacement is `&#xXXXX;`, as the Library of Congress defines for MARC-8 (lossless conversion).
    Reference,
    /// The character is left out.
    Omit,
}

impl Unencodable {
    /// Returns the replacement for a character.
    pub fn replacement(self, character: char) -> String {
        match self {
            Unencodable::QuestionMark => "?".to_owned(),
            Unencodable::Reference => format!("&#x{:04X};", u32::from(character)),
            Unencodable::Omit => String::new(),
        }
    }
}

/// The result of decoding octets to text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// The decoded text; borrowed if the octets are already valid UTF-8.
    pub text: Cow<'a, str>,
    /// The problems found, in the order of their offsets; empty if there were none.
    pub problems: Vec<Problem>,
}

/// The result of encoding text in a character set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded<'a> {
    /// The octets, in which characters that the set lacks are replaced. They are borrowed if the text needs no
    /// conversion.
    pub octets: Cow<'a, [u8]>,
    /// The characters that the set lacks, in order; empty if every character was written.
    pub problems: Vec<Problem>,
}

/// Text that a character set cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnencodableText(pub Problem);

impl Charset {
    /// Decodes one data element (a subfield or a term) to NFC, and keeps the marks around non-filing characters. This
    /// never fails; see [`Decoded::problems`].
    pub fn decode(self, octets: &[u8]) -> Decoded<'_> {
        self.decode_with(octets, &Options::default())
    }

    /// Decodes one data element according to the options. [`Options::charset`] is ignored.
    ///
    /// In MARC-8, every element starts in ASCII and ANSEL, so pass each subfield separately.
    pub fn decode_with<'a>(self, octets: &'a [u8], options: &Options) -> Decoded<'a> {
        let mut problems = Vec::new();
        let (text, unnormalised) = match self {
            Charset::Utf8 => (foreign::decode_utf8(octets, &mut problems), false),
            Charset::Latin1 => (encoding_rs::mem::decode_latin1(octets), false),
            Charset::Other(encoding) => (foreign::decode(encoding, octets, &mut problems), true),
            Charset::Marc8 => library(octets, marc8::decode(octets, &mut problems)),
            Charset::Iso5426 => library(octets, iso5426::decode(octets, &mut problems)),
            Charset::Danmarc | Charset::Danmarc2 => {
                library(octets, danmarc::decode(octets, &mut problems))
            }
        };
        let text = if options.character_references && self == Charset::Marc8 {
            references::resolve(text)
        } else {
            text
        };
        let text = normalise(text, options.form, unnormalised);
        let text = match options.non_sorting {
            NonSorting::Keep => text,
            NonSorting::Strip => strip_non_sorting(text),
        };
        Decoded { text, problems }
    }

    /// Encodes text, or fails if the set lacks one of its characters.
    ///
    /// # Errors
    /// [`UnencodableText`] with the first character that the set lacks.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, UnencodableText> {
        let encoded = self.encode_with(text, Unencodable::QuestionMark);
        match encoded.problems.into_iter().next() {
            None => Ok(encoded.octets.into_owned()),
            Some(problem) => Err(UnencodableText(problem)),
        }
    }

    /// Encodes text, and replaces characters that the set lacks. For UTF-8, which has every character, the text is
    /// returned unchanged.
    pub fn encode_with(self, text: &str, unencodable: Unencodable) -> Encoded<'_> {
        let as_it_is = match self {
            Charset::Utf8 => true,
            Charset::Other(encoding) => encoding.is_ascii_compatible() && text.is_ascii(),
            Charset::Danmarc | Charset::Danmarc2 => false,
            _ => text.is_ascii() && (self != Charset::Marc8 || !text.contains('\u{1B}')),
        };
        if as_it_is {
            let (octets, problems) = (Cow::Borrowed(text.as_bytes()), Vec::new());
            return Encoded { octets, problems };
        }
        let (octets, problems) = match self {
            Charset::Marc8 => {
                let mut encoder = marc8::encode::Marc8Encoder::new(text.len());
                let problems = cluster::write(text, &mut encoder, unencodable, self.name());
                (encoder.finish(), problems)
            }
            Charset::Iso5426 => {
                let mut encoder = iso5426::Iso5426Encoder::new(text.len());
                let problems = cluster::write(text, &mut encoder, unencodable, self.name());
                (encoder.finish(), problems)
            }
            Charset::Danmarc => danmarc::encode(text, false, unencodable),
            Charset::Danmarc2 => danmarc::encode(text, true, unencodable),
            Charset::Latin1 => foreign::encode_latin1(text, unencodable),
            Charset::Other(encoding) => foreign::encode(encoding, text, unencodable),
            Charset::Utf8 => (text.as_bytes().to_vec(), Vec::new()),
        };
        let octets = Cow::Owned(octets);
        Encoded { octets, problems }
    }

    /// Returns whether the octets are plain ASCII and have the same meaning in this set, so that no conversion is
    /// needed.
    fn keeps(self, octets: &[u8]) -> bool {
        // `fold` does not exit early, so the compiler can vectorise the loop.
        let foreign = |found, octet: &u8| found | !octet.is_ascii() | (*octet == 0x1B);
        let plain = !octets.iter().fold(false, foreign);
        match self {
            Charset::Other(encoding) => plain && encoding.is_ascii_compatible(),
            Charset::Danmarc | Charset::Danmarc2 => {
                plain && !octets.iter().any(danmarc::is_special)
            }
            _ => plain,
        }
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charset({})", self.name())
    }
}

/// Returns the text of octets in an unknown character set, such as those of a peer's messages. The set is assumed to be
/// UTF-8, or ISO 8859-1 if the octets are not UTF-8.
pub fn utf8_or_latin1(octets: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(octets) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => encoding_rs::mem::decode_latin1(octets),
    }
}

/// Returns the text decoded from a library character set such as MARC-8, and whether it may need to be normalized. If `decoded` is `None`,
/// the octets are ASCII and are returned as text.
fn library(octets: &[u8], decoded: Option<(String, bool)>) -> (Cow<'_, str>, bool) {
    match decoded {
        Some((text, unnormalised)) => (Cow::Owned(text), unnormalised),
        None => (String::from_utf8_lossy(octets), false),
    }
}

fn normalise(text: Cow<'_, str>, form: Option<NormalForm>, unnormalised: bool) -> Cow<'_, str> {
    match form {
        None if !unnormalised => text,
        None | Some(NormalForm::Nfc) if !is_nfc(&text) => Cow::Owned(text.nfc().collect()),
        Some(NormalForm::Nfd) if !is_nfd(&text) => Cow::Owned(text.nfd().collect()),
        _ => text,
    }
}

fn strip_non_sorting(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_mark = |character| matches!(character, '\u{98}' | '\u{9C}');
    if text.contains(is_mark) {
        Cow::Owned(text.replace(is_mark, ""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
