//! Returns the identifiers in a MARC record, in the order in which they are looked up: 010, 020, 022, 035.

use z3950_marc::MarcRecord;
use z3950_marc::crosswalk::is_unimarc;

use super::matched::texts;
use crate::identifier::{Identifier, Kind, MAX_IDENTIFIERS, printed};

/// A tag, the kind of the numbers in this field, and the codes of the subfields that contain cancelled numbers.
type NumberField = (&'static str, Kind, &'static [&'static str]);

/// The fields with identifiers. A number assigned by a library comes first, because it identifies one record, while a
/// number assigned by a publisher may identify several.
const MARC_21: [NumberField; 4] = [
    ("010", Kind::Lccn, &["z"]),
    ("020", Kind::Isbn, &["z"]),
    ("022", Kind::Issn, &["y", "z"]),
    ("035", Kind::Oclc, &["z"]),
];
const UNIMARC: [NumberField; 3] = [
    ("010", Kind::Isbn, &["z"]),
    ("011", Kind::Issn, &["y", "z"]),
    ("035", Kind::Oclc, &["z"]),
];

/// Returns the LCCN, ISBNs, ISSNs and OCLC numbers of a record, in this order, without duplicates and in their normal
/// forms.
///
/// They are taken from subfield `a` of 010, 020, 022 and 035 (in UNIMARC, of 010, 011 and 035). Numbers in 035 count
/// only with OCLC's prefix. If none of these numbers is valid, numbers with a wrong check digit are returned, followed
/// by the cancelled numbers in other subfields, which may belong to another edition. At most [`MAX_IDENTIFIERS`] are
/// returned.
pub fn identifiers(record: &MarcRecord) -> Vec<Identifier> {
    let places = if is_unimarc(record) {
        &UNIMARC[..]
    } else {
        &MARC_21
    };
    let subfields = |tag: &'static str, code: &'static str| {
        let fields = record.fields_by_tag(tag);
        fields.flat_map(move |field| texts(field, Some(code)))
    };
    let valid = places.iter().flat_map(|&(tag, kind, _)| {
        let texts = subfields(tag, "a");
        texts.flat_map(move |text| all(kind, &text, false))
    });
    let valid = distinct(valid);
    if !valid.is_empty() {
        return valid;
    }
    let wrong = places.iter().flat_map(|&(tag, kind, _)| {
        let texts = subfields(tag, "a");
        texts.filter_map(move |text| misprinted(kind, &text))
    });
    let cancelled = places.iter().flat_map(|&(tag, kind, codes)| {
        let texts = codes.iter().flat_map(move |code| subfields(tag, code));
        texts.flat_map(move |text| all(kind, &text, true))
    });
    distinct(wrong.chain(cancelled))
}

/// Returns the first [`MAX_IDENTIFIERS`] identifiers, without duplicates.
fn distinct(identifiers: impl Iterator<Item = Identifier>) -> Vec<Identifier> {
    let mut found = Vec::new();
    for identifier in identifiers {
        if !found.contains(&identifier) {
            found.push(identifier);
        }
        if found.len() == MAX_IDENTIFIERS {
            break;
        }
    }
    found
}

/// Returns the valid numbers in the text, in their normal forms.
fn all(kind: Kind, text: &str, is_cancelled: bool) -> Vec<Identifier> {
    let found = printed(kind, text).into_iter();
    let sound = found.filter(|number| number.is_valid);
    sound
        .map(|number| of(kind, number.normal, is_cancelled))
        .collect()
}

/// Returns the first number in the text if its check digit is wrong, or `None` otherwise.
fn misprinted(kind: Kind, text: &str) -> Option<Identifier> {
    let first = printed(kind, text).into_iter().next()?;
    let is_wrong = !first.is_valid;
    is_wrong.then(|| of(kind, first.written.to_owned(), false))
}

fn of(kind: Kind, text: String, is_cancelled: bool) -> Identifier {
    Identifier {
        kind,
        text,
        is_certain: true,
        is_cancelled,
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
            // Wrong and cancelled numbers are used only if the record has no valid number.
            (
                "=020  \\\\$a0306406153\n=020  \\\\$z0306406152\n=022  \\\\$y0378-5955",
                "isbn:0306406153 isbn:9780306406157 (cancelled) issn:0378-5955 (cancelled)",
            ),
            ("=020  \\\\$aISBN 0141439513", "isbn:9780141439518"),
            ("=020  \\\\$aISBN: 0836932721 : $25.00", "isbn:0836932721"),
            ("=020  \\\\$a014143951X", "isbn:014143951X"),
            // This record is UNIMARC.
            (
                "=010  \\\\$a2-07-036024-5\n=011  \\\\$a0378-5955\n=200  1\\$aUn",
                "isbn:9782070360246 issn:0378-5955",
            ),
        ] {
            let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
            let records = mrk::parse_all(&text).expect("a record");
            let found: Vec<String> = identifiers(records.first().expect("a record"))
                .iter()
                .map(|identifier| {
                    if identifier.is_cancelled {
                        format!("{identifier} (cancelled)")
                    } else {
                        identifier.to_string()
                    }
                })
                .collect();
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
