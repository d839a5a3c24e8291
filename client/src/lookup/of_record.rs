//! The identifiers that a MARC record has of its own, in the order in which they are looked up: 010, 020, 022, 035.

use z3950_marc::MarcRecord;
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::standard_number::{Isbn, Issn, lccn, oclc_number};

use super::identifier::{Identifier, Kind};
use super::matched::{texts, unqualified};

/// The most identifiers taken from a record.
pub const MAX_IDENTIFIERS: usize = 20;

/// The fields and their numbers: that of a library names one record, that of a publisher may name several.
const MARC_21: [(&str, Kind); 4] = [
    ("010", Kind::Lccn),
    ("020", Kind::Isbn),
    ("022", Kind::Issn),
    ("035", Kind::Oclc),
];
const UNIMARC: [(&str, Kind); 3] = [
    ("010", Kind::Isbn),
    ("011", Kind::Issn),
    ("035", Kind::Oclc),
];

/// The LCCN, ISBNs, ISSNs and OCLC numbers of a record, in this order and each once, in their normal forms.
///
/// They are in subfield `a` of 010, 020, 022 and 035, and in UNIMARC of 010, 011 and 035. Left out are cancelled numbers in
/// other subfields, which may be those of another edition, numbers with a wrong check digit, and those of 035 without
/// the prefix of OCLC. Of more than [`MAX_IDENTIFIERS`], the first are taken.
pub fn identifiers(record: &MarcRecord) -> Vec<Identifier> {
    let places = match is_unimarc(record) {
        true => &UNIMARC[..],
        false => &MARC_21,
    };
    let mut found: Vec<Identifier> = Vec::new();
    for &(tag, kind) in places {
        let fields = record.fields_by_tag(tag);
        for text in fields.flat_map(|field| texts(field, Some("a"))) {
            let Some(text) = normal(kind, &text) else {
                continue;
            };
            let identifier = Identifier {
                kind,
                text,
                is_certain: true,
            };
            if !found.contains(&identifier) {
                found.push(identifier);
            }
            if found.len() == MAX_IDENTIFIERS {
                return found;
            }
        }
    }
    found
}

/// A number in its normal form; `None` if it is wrong.
fn normal(kind: Kind, text: &str) -> Option<String> {
    let number = unqualified(text);
    match kind {
        Kind::Isbn => Isbn::parse(number).map(|isbn| isbn.to_string()),
        Kind::Issn => Issn::parse(number).map(|issn| issn.to_string()),
        Kind::Lccn => lccn(text.trim()),
        Kind::Oclc => oclc_number(text).map(str::to_owned),
        Kind::Local | Kind::Docid => None,
    }
}

#[cfg(test)]
mod tests {
    use z3950_marc::mrk;

    use super::*;

    #[test]
    fn identifiers_are_taken_in_order() {
        for (lines, expected) in [
            ("=001  b1\n=245  00$aOne", ""),
            (
                "=020  \\\\$a0306406152 (pbk.)\n=020  \\\\$a978-0-306-40615-7$z0140449132\n=010  \\\\$a   85000002 ",
                "lccn:85000002 isbn:9780306406157",
            ),
            (
                "=035  \\\\$a(DE-599)123\n=035  \\\\$a(OCoLC)ocm00012345\n=022  \\\\$a0378-5955$y2434-561X",
                "issn:0378-5955 oclc:12345",
            ),
            ("=020  \\\\$a0306406153\n=020  \\\\$z0306406152", ""),
            // UNIMARC
            (
                "=010  \\\\$a2-07-036024-5\n=011  \\\\$a0378-5955\n=200  1\\$aUn",
                "isbn:9782070360246 issn:0378-5955",
            ),
        ] {
            let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
            let records = mrk::parse_all(&text).expect("a record");
            let found = identifiers(records.first().expect("a record"));
            let found: Vec<String> = found.iter().map(Identifier::to_string).collect();
            assert_eq!(found.join(" "), expected, "{lines}");
        }
    }

    #[test]
    fn their_number_is_bounded() {
        for (count, expected) in [
            (MAX_IDENTIFIERS, MAX_IDENTIFIERS),
            (MAX_IDENTIFIERS + 1, MAX_IDENTIFIERS),
        ] {
            let fields = (1..=count).map(|number| format!("=035  \\\\$a(OCoLC){number}\n"));
            let lines: String = fields.collect();
            let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}");
            let records = mrk::parse_all(&text).expect("a record");
            let found = identifiers(records.first().expect("a record"));
            assert_eq!(found.len(), expected);
        }
    }
}
