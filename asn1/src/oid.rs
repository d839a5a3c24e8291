//! OBJECT IDENTIFIERs, and the names of the identifiers that Z39.50-2003 Appendix OID registers under 1.2.840.10003:
//! attribute sets, diagnostic sets, record syntaxes, user information formats, schemas and services.

use std::fmt;
use std::str::FromStr;

use rasn::types::{Constraints, Identifier, Tag};

use crate::production::ber;

/// OBJECT IDENTIFIER, stored as its contents octets, so that no memory is allocated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid {
    len: u8,
    octets: [u8; Self::MAX_OCTETS],
}

impl Oid {
    /// The maximum number of contents octets of an identifier; registered identifiers need fewer than 20.
    pub const MAX_OCTETS: usize = 31;

    /// Returns an identifier under the arc of Z39.50, 1.2.840.10003: `Oid::z3950(&[5, 10])` is USMARC.
    ///
    /// This function is for constants: if the arcs do not fit, compilation fails.
    #[expect(clippy::panic, reason = "it stops the compilation of a constant")]
    pub const fn z3950(mut arcs: &[u32]) -> Self {
        let mut oid = Self::of(&[0x2a, 0x86, 0x48, 0xce, 0x13]);
        while let [arc, rest @ ..] = arcs {
            oid = match oid.with_arc(*arc) {
                Some(longer) => longer,
                None => panic!("an object identifier too long for a constant"),
            };
            arcs = rest;
        }
        oid
    }

    /// Creates an identifier from its contents octets, for constants.
    #[expect(
        clippy::indexing_slicing,
        reason = "it stops the compilation of a constant"
    )]
    const fn of(contents: &[u8]) -> Self {
        let mut octets = [0; Self::MAX_OCTETS];
        let mut i = 0;
        while i < contents.len() {
            octets[i] = contents[i];
            i += 1;
        }
        Self {
            len: i as u8,
            octets,
        }
    }

    /// Creates an identifier from its arcs. Returns `None` if X.660 does not allow the arcs or the identifier is too
    /// long.
    pub fn from_arcs(arcs: &[u32]) -> Option<Self> {
        let (&first, &second, rest) = match arcs {
            [first, second, rest @ ..] => (first, second, rest),
            _ => return None,
        };
        if first > 2 || (first < 2 && second > 39) {
            return None;
        }
        let root = Self {
            len: 0,
            octets: [0; Self::MAX_OCTETS],
        };
        let start = root.with_arc((first * 40).checked_add(second)?)?;
        rest.iter().try_fold(start, |oid, &arc| oid.with_arc(arc))
    }

    /// Returns the contents octets of the BER encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.octets
            .get(..usize::from(self.len))
            .unwrap_or(&self.octets)
    }

    /// Returns the registered name, such as `usmarc` or `Bib-1`, if it is in the table of this module.
    pub fn name(&self) -> Option<&'static str> {
        NAMES
            .iter()
            .find(|(_, oid)| oid == self)
            .map(|(name, _)| *name)
    }

    /// Returns the identifier with a registered name; case is ignored.
    pub fn by_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, oid)| *oid)
    }

    /// Returns the registered record syntaxes, each with its name.
    pub fn record_syntaxes() -> impl Iterator<Item = (&'static str, Self)> {
        Self::registered(5)
    }

    /// Returns the registered identifiers of a class, each with its name: class 3 for attribute sets, 5 for record
    /// syntaxes.
    pub(crate) fn registered(class: u32) -> impl Iterator<Item = (&'static str, Self)> {
        let class = Self::z3950(&[class]);
        let names = NAMES.iter().copied();
        names.filter(move |(_, oid)| oid.as_bytes().starts_with(class.as_bytes()))
    }

    /// Returns the names of record syntaxes: the registered names, and other names in common use.
    pub fn record_syntax_names() -> impl Iterator<Item = (&'static str, Self)> {
        Self::record_syntaxes().chain(RECORD_SYNTAX_ALIASES)
    }

    /// Returns the record syntax with a name, in any case, or with an object identifier in dotted form.
    pub fn record_syntax_by_name(name: &[u8]) -> Option<Self> {
        let dotted = std::str::from_utf8(name)
            .ok()
            .and_then(|text| text.parse().ok());
        dotted.or_else(|| {
            let mut names = Self::record_syntax_names();
            let found = names.find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
            found.map(|(_, syntax)| syntax)
        })
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the length was compared with the array's"
    )]
    const fn with_arc(mut self, arc: u32) -> Option<Self> {
        let mut groups = 1;
        while groups < 5 && arc >> (7 * groups) != 0 {
            groups += 1;
        }
        while groups > 0 {
            groups -= 1;
            if self.len as usize == Self::MAX_OCTETS {
                return None;
            }
            let more = if groups > 0 { 0x80 } else { 0 };
            self.octets[self.len as usize] = more | (arc >> (7 * groups) & 0x7f) as u8;
            self.len += 1;
        }
        Some(self)
    }

    /// Creates an identifier from contents octets. There must be at least one and at most [`Oid::MAX_OCTETS`] octets,
    /// and the last octet must end an arc.
    fn from_contents(contents: &[u8]) -> Option<Self> {
        let last = contents.last()?;
        let mut octets = [0; Self::MAX_OCTETS];
        octets.get_mut(..contents.len())?.copy_from_slice(contents);
        let len = u8::try_from(contents.len()).ok()?;
        (last & 0x80 == 0).then_some(Self { len, octets })
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arc: u128 = 0;
        let mut first = true;
        for octet in self.as_bytes() {
            arc = arc << 7 | u128::from(octet & 0x7f);
            if octet & 0x80 != 0 {
                continue;
            }
            if first {
                let root = (arc / 40).min(2);
                write!(f, "{root}.{}", arc - root * 40)?;
                first = false;
            } else {
                write!(f, ".{arc}")?;
            }
            arc = 0;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{self} ({name})"),
            None => write!(f, "{self}"),
        }
    }
}

/// The error for text that is not an object identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an object identifier in dotted form")]
pub struct OidError;

impl FromStr for Oid {
    type Err = OidError;

    /// Parses the dotted form, such as `1.2.840.10003.5.10`.
    fn from_str(text: &str) -> Result<Self, OidError> {
        let arcs: Result<Vec<u32>, _> = text
            .split('.')
            .map(|arc| {
                if arc.bytes().all(|octet| octet.is_ascii_digit()) {
                    arc.parse().map_err(|_| OidError)
                } else {
                    Err(OidError)
                }
            })
            .take(Self::MAX_OCTETS + 2)
            .collect();
        Self::from_arcs(&arcs?).ok_or(OidError)
    }
}

/// The decoded identifier; `None` if its contents octets are malformed.
struct Contents(Option<Oid>);

impl From<&[u8]> for Contents {
    fn from(contents: &[u8]) -> Self {
        Self(Oid::from_contents(contents))
    }
}

impl From<Vec<u8>> for Contents {
    /// Rejects the constructed form, which X.690 §8.19.1 does not allow for an identifier.
    fn from(_: Vec<u8>) -> Self {
        Self(None)
    }
}

ber! {
    Oid: [] Tag::OBJECT_IDENTIFIER,
    decode(decoder, tag) {
        let codec = decoder.codec();
        let contents = decoder.decode_octet_string::<Contents>(tag, &Constraints::NONE)?;
        contents.0.ok_or_else(|| rasn::de::Error::custom("a malformed object identifier", codec))
    }
    encode(oid, encoder, tag) {
        let encoded = encoder.encode_octet_string(tag, &Constraints::NONE, oid.as_bytes(), Identifier::EMPTY);
        encoded.map(drop)
    }
}

/// Common names for record syntaxes that differ from their registered names.
const RECORD_SYNTAX_ALIASES: [(&str, Oid); 4] = [
    ("marc", USMARC),
    ("marc21", USMARC),
    ("danmarc2", DANMARC),
    ("grs1", GRS_1),
];

/// The syntax of ISO 10161 APDUs, 1.0.10161.2.1, used for an ILL-Request in an order.
pub const ILL: Oid = Oid::of(&[0x28, 0xcf, 0x31, 2, 1]);

macro_rules! registered {
    ($($(#[$meta:meta])* $constant:ident = $name:literal [$($arc:literal),+],)*) => {
        $($(#[$meta])* pub const $constant: Oid = Oid::z3950(&[$($arc),+]);)*
        const NAMES: &[(&str, Oid)] = &[$(($name, $constant),)*];
    };
}

registered! {
    /// Attribute set Bib-1.
    BIB_1 = "Bib-1" [3, 1],
    /// Attribute set Exp-1, for the Explain database.
    EXP_1 = "Exp-1" [3, 2],
    /// Attribute set Ext-1, for the extended services database.
    EXT_1 = "Ext-1" [3, 3],
    /// Attribute set CCL-1.
    CCL_1 = "CCL-1" [3, 4],
    /// Attribute set GILS.
    GILS = "GILS" [3, 5],
    /// Attribute set STAS.
    STAS = "STAS" [3, 6],
    /// Attribute set Collections.
    COLLECTIONS = "Collections" [3, 7],
    /// Attribute set CIMI.
    CIMI = "CIMI" [3, 8],
    /// Attribute set Geo.
    GEO = "Geo" [3, 9],
    /// Attribute set ZBIG.
    ZBIG = "ZBIG" [3, 10],
    /// Attribute set Util.
    UTIL = "Util" [3, 11],
    /// Attribute set XD-1.
    XD_1 = "XD-1" [3, 12],
    /// Attribute set Zthes.
    ZTHES = "Zthes" [3, 13],
    /// Attribute set Bib-2.
    BIB_2 = "Bib-2" [3, 18],
    /// Attribute set ZeeRex.
    ZEEREX = "ZeeRex" [3, 19],
    /// Diagnostic set Bib-1.
    BIB_1_DIAGNOSTICS = "Bib-1 diagnostics" [4, 1],
    /// Diagnostic format diag-1, from version 3.
    DIAG_1 = "diag-1" [4, 2],
    /// Diagnostic set for extended services.
    EXTENDED_SERVICES_DIAGNOSTICS = "ES diagnostics" [4, 3],
    /// Record syntax UNIMARC.
    UNIMARC = "unimarc" [5, 1],
    /// Record syntax INTERMARC.
    INTERMARC = "intermarc" [5, 2],
    /// Record syntax CCF.
    CCF = "ccf" [5, 3],
    /// Record syntax USMARC, now MARC 21.
    USMARC = "usmarc" [5, 10],
    /// Record syntax UKMARC.
    UKMARC = "ukmarc" [5, 11],
    /// Record syntax NORMARC.
    NORMARC = "normarc" [5, 12],
    /// Record syntax Librismarc.
    LIBRISMARC = "librismarc" [5, 13],
    /// Record syntax danMARC2.
    DANMARC = "danmarc" [5, 14],
    /// Record syntax FINMARC.
    FINMARC = "finmarc" [5, 15],
    /// Record syntax MAB.
    MAB = "mab" [5, 16],
    /// Record syntax CANMARC.
    CANMARC = "canmarc" [5, 17],
    /// Record syntax SBN MARC.
    SBN = "sbn" [5, 18],
    /// Record syntax PICAMARC.
    PICAMARC = "picamarc" [5, 19],
    /// Record syntax AUSMARC.
    AUSMARC = "ausmarc" [5, 20],
    /// Record syntax IBERMARC.
    IBERMARC = "ibermarc" [5, 21],
    /// Record syntax CATMARC.
    CATMARC = "catmarc" [5, 22],
    /// Record syntax MALMARC.
    MALMARC = "malmarc" [5, 23],
    /// Record syntax JPMARC.
    JPMARC = "jpmarc" [5, 24],
    /// Record syntax SWEMARC.
    SWEMARC = "swemarc" [5, 25],
    /// Record syntax SIGLEMARC.
    SIGLEMARC = "siglemarc" [5, 26],
    /// Record syntax ISDS/ISSN MARC.
    ISDSMARC = "isdsmarc" [5, 27],
    /// Record syntax RUSMARC.
    RUSMARC = "rusmarc" [5, 28],
    /// Record syntax HUNMARC.
    HUNMARC = "hunmarc" [5, 29],
    /// Record syntax Explain.
    EXPLAIN = "explain" [5, 100],
    /// Record syntax SUTRS, simple unstructured text.
    SUTRS = "sutrs" [5, 101],
    /// Record syntax OPAC, a bibliographic record with holdings.
    OPAC = "opac" [5, 102],
    /// Record syntax Summary.
    SUMMARY = "summary" [5, 103],
    /// Record syntax GRS-0.
    GRS_0 = "grs-0" [5, 104],
    /// Record syntax GRS-1, a generic tree.
    GRS_1 = "grs-1" [5, 105],
    /// Record syntax for extended services task packages.
    TASK_PACKAGE = "task-package" [5, 106],
    /// Record syntax for PDF documents.
    PDF = "pdf" [5, 109, 1],
    /// Record syntax for PostScript documents.
    POSTSCRIPT = "postscript" [5, 109, 2],
    /// Record syntax for HTML documents.
    HTML = "html" [5, 109, 3],
    /// Record syntax for TIFF images.
    TIFF = "tiff" [5, 109, 4],
    /// Record syntax for GIF images.
    GIF = "gif" [5, 109, 5],
    /// Record syntax for JPEG images.
    JPEG = "jpeg" [5, 109, 6],
    /// Record syntax for PNG images.
    PNG = "png" [5, 109, 7],
    /// Record syntax for MPEG films.
    MPEG = "mpeg" [5, 109, 8],
    /// Record syntax for SGML documents.
    SGML = "sgml" [5, 109, 9],
    /// Record syntax for XML documents.
    XML = "xml" [5, 109, 10],
    /// Record syntax named after the media type application/xml.
    APPLICATION_XML = "application-xml" [5, 109, 11],
    /// Record syntax for TIFF-B images.
    TIFF_B = "tiff-b" [5, 110, 1],
    /// Record syntax for WAV sound recordings.
    WAV = "wav" [5, 110, 2],
    /// Record syntax SQL-RS, the answer to an SQL query.
    SQL_RS = "sql-rs" [5, 111],
    /// Resource report format resource-1.
    RESOURCE_1 = "resource-1" [7, 1],
    /// Resource report format resource-2.
    RESOURCE_2 = "resource-2" [7, 2],
    /// Access control format prompt-1.
    PROMPT_1 = "prompt-1" [8, 1],
    /// Access control format des-1.
    DES_1 = "des-1" [8, 2],
    /// Access control format krb-1.
    KRB_1 = "krb-1" [8, 3],
    /// Extended service Persistent Result Set.
    PERSISTENT_RESULT_SET = "persistent-result-set" [9, 1],
    /// Extended service Persistent Query.
    PERSISTENT_QUERY = "persistent-query" [9, 2],
    /// Extended service Periodic Query Schedule.
    PERIODIC_QUERY_SCHEDULE = "periodic-query-schedule" [9, 3],
    /// Extended service Item Order.
    ITEM_ORDER = "item-order" [9, 4],
    /// Extended service Database Update, first version.
    DATABASE_UPDATE_1 = "database-update-1" [9, 5],
    /// Extended service Database Update, second version, which is encoded like version 3.
    DATABASE_UPDATE_2 = "database-update-2" [9, 5, 1],
    /// Extended service Database Update, version 3.
    DATABASE_UPDATE = "database-update" [9, 5, 1, 1],
    /// Extended service Export Specification.
    EXPORT_SPECIFICATION = "export-specification" [9, 6],
    /// Extended service Export Invocation.
    EXPORT_INVOCATION = "export-invocation" [9, 7],
    /// An extended service whose parameters are an XML document.
    XML_ES = "xml-es" [9, 1000, 105, 4],
    /// User information format SearchResult-1.
    SEARCH_RESULT_1 = "search-result-1" [10, 1],
    /// User information format userInfo-1, used for diagnostics in Init.
    USER_INFO_1 = "userInfo-1" [10, 3],
    /// Index Data's OtherInformation: the server to which a proxy connects.
    PROXY = "proxy" [10, 1000, 81, 1],
    /// Index Data's OtherInformation: the identifier of a session at a proxy.
    COOKIE = "cookie" [10, 1000, 81, 2],
    /// Index Data's OtherInformation: the address of a gateway's user.
    CLIENT_IP = "client-ip" [10, 1000, 81, 3],
    /// Index Data's OtherInformation: the result set to which a Scan is restricted.
    SCAN_SET = "scan-set" [10, 1000, 81, 4],
    /// Index Data's user information format: facets.
    FACET_1 = "facet-1" [10, 1000, 81, 5],
    /// Element specification format eSpec-1.
    ESPEC_1 = "eSpec-1" [11, 1],
    /// Variant set Variant-1.
    VARIANT_1 = "Variant-1" [12, 1],
    /// Schema WAIS.
    WAIS_SCHEMA = "WAIS" [13, 1],
    /// Schema GILS.
    GILS_SCHEMA = "GILS-schema" [13, 2],
    /// Tag set tagSet-M.
    TAG_SET_M = "tagSet-M" [14, 1],
    /// Tag set tagSet-G.
    TAG_SET_G = "tagSet-G" [14, 2],
    /// Negotiation of character set and language, version 2.
    CHARSET_NEGOTIATION_2 = "charset-negotiation-2" [15, 2],
    /// Negotiation of character set and language, version 3.
    CHARSET_NEGOTIATION = "charset-negotiation" [15, 3],
    /// The identifier under which a character set without an identifier is negotiated by name.
    CHARSET_ID = "charset-id" [15, 1000, 81, 1],
    /// Query syntax CQL, for a type-104 query.
    CQL = "CQL" [16, 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_text_and_octets_agree() {
        for (text, octets) in [
            (
                "1.2.840.10003.3.1",
                &[0x2a, 0x86, 0x48, 0xce, 0x13, 3, 1][..],
            ),
            ("2.5", &[85]),
            ("2.999.3", &[0x88, 0x37, 3]),
            ("0.0", &[0]),
            ("1.2.4294967295", &[0x2a, 0x8f, 0xff, 0xff, 0xff, 0x7f]),
        ] {
            let oid: Oid = text.parse().expect(text);
            assert_eq!(oid.as_bytes(), octets, "{text}");
            assert_eq!(oid.to_string(), text);
            assert_eq!(Oid::from_contents(octets), Some(oid));
        }
    }

    #[test]
    fn text_that_is_not_an_identifier_is_refused() {
        for text in [
            "",
            "1",
            "3.1",
            "1.40",
            "1.2.",
            "1..2",
            "1.2.x",
            "1.2.4294967296",
            "+1.2",
            &"1.2".repeat(40),
        ] {
            assert_eq!(text.parse::<Oid>(), Err(OidError), "{text}");
        }
        for contents in [&[][..], &[0x80], &[0x2a, 0x86], &[1; 32]] {
            assert_eq!(Oid::from_contents(contents), None);
        }
    }

    #[test]
    fn names_are_unique_and_found_in_any_case() {
        for (i, (name, oid)) in NAMES.iter().enumerate() {
            assert_eq!(Oid::by_name(&name.to_uppercase()), Some(*oid), "{name}");
            assert_eq!(oid.name(), Some(*name));
            assert!(
                NAMES
                    .iter()
                    .skip(i + 1)
                    .all(|(other, _)| !other.eq_ignore_ascii_case(name))
            );
        }
        assert!(Oid::record_syntaxes().any(|(name, oid)| (name, oid) == ("xml", XML)));
        assert!(
            Oid::record_syntaxes().all(|(_, oid)| oid.to_string().starts_with("1.2.840.10003.5."))
        );
        assert_eq!(USMARC.to_string(), "1.2.840.10003.5.10");
        assert_eq!(Oid::by_name("nothing"), None);
    }
}
