//! Finds the field of a MARC record that contains an identifier, and returns whether the number there is valid or
//! cancelled. The fields are those of MARC 21 and UNIMARC, such as 010, 020, 022 and 035.

use std::fmt;

use z3950_asn1::apdu::External;
use z3950_asn1::oid::{Oid, UNIMARC};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::Field;
use z3950_marc::MarcRecord;
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::iso2709;
use z3950_marc::stream::marcxml_record;

use crate::identifier::{Identifier, Kind, normal, printed};

/// The place in a record where an identifier was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The tag of the field, such as `020`.
    pub tag: &'static str,
    /// The code of the subfield, or `None` in a control field.
    pub code: Option<&'static str>,
    /// The text of the subfield or control field that contains the identifier.
    pub text: String,
    /// Whether the number is cancelled or wrong, or belongs to another form of the publication.
    pub is_cancelled: bool,
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{}${code}", self.tag),
            None => f.write_str(self.tag),
        }
    }
}

/// A tag, the codes of subfields (none for a control field), and whether the numbers in them are cancelled or belong to
/// another form of the publication. In a list of locations, those for valid numbers come first.
type Location = (&'static str, &'static [&'static str], bool);

const LOCAL: Location = ("001", &[], false);
const OCLC: &[Location] = &[
    ("035", &["a"], false),
    LOCAL,
    ("035", &["z"], true),
    ("776", &["w"], true),
];
/// The MARC 21 locations of ISBN, ISSN and LCCN.
const MARC_21: [&[Location]; 3] = [
    &[
        ("020", &["a"], false),
        ("024", &["a"], false),
        ("020", &["z"], true),
        ("776", &["z"], true),
    ],
    &[
        ("022", &["a", "l"], false),
        ("022", &["m", "y", "z"], true),
        ("776", &["x"], true),
        ("490", &["x"], true),
        ("830", &["x"], true),
        ("440", &["x"], true),
        ("773", &["x"], true),
        ("780", &["x"], true),
        ("785", &["x"], true),
    ],
    &[("010", &["a"], false), ("010", &["z"], true)],
];
const UNIMARC_PLACES: [&[Location]; 3] = [
    &[
        ("010", &["a"], false),
        ("073", &["a"], false),
        ("010", &["z"], true),
    ],
    &[
        ("011", &["a", "f"], false),
        ("011", &["y", "z"], true),
        ("225", &["x"], true),
    ],
    &[],
];

/// Finds an identifier in a MARC record, or in the bibliographic record of an OPAC record. Returns `None` for other
/// records, and if none of the fields for this kind of identifier contains it.
pub fn matched(identifier: &Identifier, record: &External) -> Option<Match> {
    let (marc, syntax) = marc(record)?;
    matched_in(
        identifier,
        &marc,
        syntax == Some(UNIMARC) || is_unimarc(&marc),
    )
}

/// Returns whether a record contains a docid. In a MARC record, any field or subfield may contain it, because servers
/// use different fields.
pub(crate) fn has_docid(record: &External, docid: &[u8]) -> bool {
    let docid = docid.trim_ascii();
    let Some((marc, _)) = marc(record) else {
        let octets = RetrievedRecord::octets_of(record);
        return docid.is_empty() || octets.windows(docid.len()).any(|part| part == docid);
    };
    contains(&marc, docid)
}

/// Returns whether the whole text of a control field or subfield is `wanted`, apart from spaces around it.
fn contains(marc: &MarcRecord, wanted: &[u8]) -> bool {
    marc.fields.iter().any(|field| {
        let subfields = field.subfields().map(|subfield| subfield.data);
        let mut texts = field.value().into_iter().chain(subfields);
        texts.any(|text| text.trim_ascii() == wanted)
    })
}

/// Returns whether a record contains the identifier by which it was found.
pub(crate) fn has_identifier(record: &External, identifier: &Identifier) -> bool {
    if identifier.kind == Kind::Docid {
        has_docid(record, identifier.text.as_bytes())
    } else {
        matched(identifier, record).is_some()
    }
}

/// Returns whether a record that was returned for an identifier contains it, or `None` if this cannot be decided,
/// because the record is not MARC, or because the identifier is a docid, which servers store in different places.
pub fn holds(identifier: &Identifier, record: &External) -> Option<bool> {
    let (marc, syntax) = marc(record)?;
    match identifier.kind {
        Kind::Docid => None,
        // Some catalogues store their control number in a field other than 001, so any field may contain it.
        Kind::Local => Some(contains(&marc, identifier.text.as_bytes().trim_ascii())),
        _ => Some(
            matched_in(
                identifier,
                &marc,
                syntax == Some(UNIMARC) || is_unimarc(&marc),
            )
            .is_some(),
        ),
    }
}

/// Finds the identifier in a MARC record.
pub(super) fn matched_in(
    identifier: &Identifier,
    marc: &MarcRecord,
    is_unimarc: bool,
) -> Option<Match> {
    let [isbn, issn, lccn] = if is_unimarc { UNIMARC_PLACES } else { MARC_21 };
    let places = match identifier.kind {
        Kind::Isbn => isbn,
        Kind::Issn => issn,
        Kind::Lccn => lccn,
        Kind::Oclc => OCLC,
        Kind::Local | Kind::Docid => &[LOCAL],
    };
    let wanted = normal(identifier.kind, &identifier.text);
    places.iter().find_map(|&(tag, codes, is_cancelled)| {
        let found = |code| {
            let mut texts = marc.fields_by_tag(tag).flat_map(|field| texts(field, code));
            let text = texts.find(|text| has(identifier.kind, text, &wanted))?;
            Some(Match {
                tag,
                code,
                text,
                is_cancelled,
            })
        };
        match codes {
            [] => found(None),
            codes => codes.iter().find_map(|code| found(Some(*code))),
        }
    })
}

/// Decodes a MARC record sent by a server, or the MARC record in an OPAC record, and returns it with its record syntax.
/// Returns `None` for other records.
pub(super) fn marc(record: &External) -> Option<(MarcRecord, Option<Oid>)> {
    match RetrievedRecord::of(record) {
        RetrievedRecord::Opac(record) => {
            let record = record.bibliographic_record?;
            let marc = marc_in(RetrievedRecord::of(&record))?;
            Some((marc, record.direct_reference))
        }
        other => Some((marc_in(other)?, record.direct_reference)),
    }
}

fn marc_in(record: RetrievedRecord) -> Option<MarcRecord> {
    match record {
        RetrievedRecord::Marc(octets) => iso2709::parse(&octets).ok().map(|parsed| parsed.record),
        RetrievedRecord::Xml(octets) => marcxml_record(&octets)?.record.ok(),
        _ => None,
    }
}

/// Returns the texts of all subfields with this code, or the text of a control field if `code` is `None`.
pub(super) fn texts(field: &Field, code: Option<&str>) -> Vec<String> {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    match code {
        None => field.value().map(text).into_iter().collect(),
        Some(code) => field
            .subfields()
            .filter(|subfield| subfield.code == code.as_bytes())
            .map(|subfield| text(subfield.data))
            .collect(),
    }
}

/// Returns whether text contains `wanted`, a number in its normal form.
fn has(kind: Kind, text: &str, wanted: &str) -> bool {
    let found = printed(kind, text);
    if found.is_empty() {
        normal(kind, text) == wanted
    } else {
        found.iter().any(|number| number.normal == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::ExternalValue;
    use z3950_asn1::oid::{SUTRS, USMARC};
    use z3950_asn1::record::opac::OpacRecord;
    use z3950_marc::mrk;

    fn external(lines: &str) -> External {
        let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
        let records = mrk::parse_all(&text).expect("a record");
        let record = records.first().expect("a record");
        External::octet_aligned(USMARC, iso2709::encode(record).expect("fits"))
    }

    /// Builds an OPAC record that contains the record given as lines.
    fn opac(lines: &str) -> External {
        let record = OpacRecord::of_marc(external(lines), &MarcRecord::default());
        record.to_external().expect("encodes")
    }

    #[test]
    fn docids_are_found_in_any_field() {
        for (docid, lines, expected) in [
            ("b1", "=001  b1", true),
            ("b1", "=001  b11", false),
            ("b1", "=001  x\n=907  \\\\$a.b1$b b1 ", true),
            ("b1", "=245  00$aAbout b1 and b2", false),
        ] {
            for record in [external(lines), opac(lines)] {
                let found = has_docid(&record, docid.as_bytes());
                assert_eq!(found, expected, "{docid} in {lines}");
            }
        }
        for (docid, text, expected) in [
            ("b1", "id b1", true),
            ("b1", "id b2", false),
            ("", "", true),
        ] {
            let record = External::octet_aligned(SUTRS, text);
            assert_eq!(
                has_docid(&record, docid.as_bytes()),
                expected,
                "{docid} in {text}"
            );
        }
    }

    #[test]
    fn numbers_are_found_in_their_fields() {
        for (identifier, lines, place) in [
            (
                "isbn:9780306406157",
                "=020  \\\\$a0306406152 (pbk.)",
                "020$a",
            ),
            (
                "isbn:0-306-40615-2",
                "=020  \\\\$z9780306406157",
                "020$z cancelled",
            ),
            (
                "isbn:0306406152",
                "=020  \\\\$z0306406152\n=020  \\\\$a9780306406157",
                "020$a",
            ),
            (
                "isbn:0306406153",
                "=020  \\\\$z0-306-40615-3",
                "020$z cancelled",
            ),
            ("issn:03785955", "=022  \\\\$a0378-5955", "022$a"),
            ("issn:0378-5955", "=022  \\\\$y0378-5955", "022$y cancelled"),
            ("lccn:85-2", "=010  \\\\$a   85000002 ", "010$a"),
            ("oclc:12345", "=035  \\\\$a(OCoLC)ocm00012345", "035$a"),
            ("oclc:19564183", "=035  \\\\$a(OCoLC)ocm19564183", "035$a"),
            ("oclc:12345", "=035  \\\\$a(DE-599)12345", "-"),
            (
                "isbn:0306406152",
                "=020  \\\\$a(electronic bk.) 978-0-306-40615-7",
                "020$a",
            ),
            (
                "isbn:0306406152",
                "=020  \\\\$a9780141439518 ; 0306406152",
                "020$a",
            ),
            (
                "isbn:0306406152",
                "=776  08$z9780306406157",
                "776$z cancelled",
            ),
            ("isbn:0306406152", "=024  3\\$a9780306406157", "024$a"),
            (
                "isbn:0306406152",
                "=010  \\\\$a0306406152\n=200  1\\$aUn",
                "010$a",
            ),
            ("local:b1", "=001  b1", "001"),
            ("isbn:0306406152", "=020  \\\\$a9791090636071", "-"),
        ] {
            let identifier = identifier.parse().expect("an identifier");
            for record in [external(lines), opac(lines)] {
                let shown = match matched(&identifier, &record) {
                    Some(found) if found.is_cancelled => format!("{found} cancelled"),
                    Some(found) => found.to_string(),
                    None => "-".to_owned(),
                };
                assert_eq!(shown, place, "{identifier} in {lines}");
            }
        }
    }
}
