//! Holdings in the fields of a bibliographic record (MARC 21 Format for Holdings Data, 841 to 878), as the elements of an
//! OPAC record.

use z3950_marc::record::Subfield;
use z3950_marc::{Field, MarcRecord};

use super::{HoldingsAndCircData, HoldingsRecord, OpacRecord, Volume};
use crate::apdu::External;
use crate::types::InternationalString;

impl OpacRecord {
    /// The OPAC record of a MARC 21 record: `bibliographic` as it is, and a holding for each location (852) in `record`.
    ///
    /// The fields after an 852 belong to it, those before the first one to the first; without an 852 they are one holding. Items
    /// (876 to 878) do not say whether they are available, so there is no circulation data. A record without such fields has no
    /// holdings.
    pub fn of_marc(bibliographic: External, record: &MarcRecord) -> Self {
        let holdings = holdings(record);
        let data = holdings
            .iter()
            .map(|fields| HoldingsRecord::HoldingsAndCirc(Box::new(holding(fields))));
        Self {
            bibliographic_record: Some(bibliographic),
            holdings_data: (!holdings.is_empty()).then(|| data.collect()),
        }
    }
}

/// The holdings fields of a record, those of each location together.
fn holdings(record: &MarcRecord) -> Vec<Vec<&Field>> {
    let mut holdings: Vec<Vec<&Field>> = Vec::new();
    let mut located = false;
    for field in &record.fields {
        let location = field.tag.as_ref() == b"852";
        match field.tag.as_ref() {
            b"852" | b"843" | b"845" | b"853" | b"854" | b"855" | b"863" | b"864" | b"865"
            | b"866" | b"867" | b"868" => {}
            _ => continue,
        }
        match holdings.last_mut() {
            Some(last) if !(location && located) => last.push(field),
            _ => holdings.push(vec![field]),
        }
        located |= location;
    }
    // Captions alone describe no holdings.
    holdings.retain(|fields| fields.iter().any(|field| !is_caption(field)));
    holdings
}

fn is_caption(field: &Field) -> bool {
    matches!(field.tag.as_ref(), b"853" | b"854" | b"855")
}

fn holding(fields: &[&Field]) -> HoldingsAndCircData {
    let tagged = |tags: &'static [&'static [u8; 3]]| {
        let fields = fields.iter().copied();
        fields.filter(move |field| tags.iter().any(|tag| field.tag.as_ref() == *tag))
    };
    let location = |codes: &str, between: &str| {
        let parts = tagged(&[b"852"]).map(|field| joined(field, codes, between));
        text(parts, "; ")
    };
    let note = |tags| text(tagged(tags).map(|field| joined(field, LETTERS, " ")), "; ");
    let volumes: Vec<Volume> = tagged(&[b"863", b"864", b"865"])
        .map(|field| volume(field, fields))
        .filter(|volume| *volume != Volume::default())
        .collect();
    let statements = tagged(&[b"866", b"867", b"868"]).map(|field| joined(field, "a", "; "));
    HoldingsAndCircData {
        nuc_code: location("a", " "),
        local_location: location("b", " "),
        shelving_location: location("c", " "),
        call_number: location("hi", " "),
        shelving_data: location("jklm", " "),
        copy_number: location("t", " "),
        public_note: location("z", "; "),
        reproduction_note: note(&[b"843"]),
        terms_use_repro: note(&[b"845"]),
        enum_and_chron: text(statements, "; "),
        volumes: (!volumes.is_empty()).then_some(volumes),
        ..HoldingsAndCircData::default()
    }
}

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// The non-empty texts, joined; `None` if there is none.
fn text(parts: impl Iterator<Item = Vec<u8>>, between: &str) -> Option<InternationalString> {
    let parts: Vec<Vec<u8>> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| (&*parts.join(between.as_bytes())).into())
}

/// The data of the subfields with one of the codes, in the order of the field.
fn joined(field: &Field, codes: &str, between: &str) -> Vec<u8> {
    let parts: Vec<&[u8]> = wanted(field, codes).map(|subfield| subfield.data).collect();
    parts.join(between.as_bytes())
}

/// The subfields with one of the codes that are not empty.
fn wanted<'f>(field: &'f Field, codes: &str) -> impl Iterator<Item = Subfield<'f>> {
    field.subfields().filter(|subfield| match subfield.code {
        [code] => codes.as_bytes().contains(code) && !subfield.data.is_empty(),
        _ => false,
    })
}

/// Enumeration ($a to $h) and chronology ($i to $m) of 863 to 865, each value after the caption that the linked 853 to 855
/// has under the same code. A caption in brackets, such as `(year)`, is not shown (853 $i).
fn volume(field: &Field, fields: &[&Field]) -> Volume {
    let captions = fields.iter().copied().find(|caption| {
        is_caption(caption)
            && caption
                .tag
                .as_ref()
                .last()
                .is_some_and(|kind| field.tag.as_ref().last() == Some(kind))
            && link(caption) == link(field)
    });
    let part = |codes: &str| {
        let levels: Vec<Vec<u8>> = wanted(field, codes)
            .map(|level| {
                let caption = captions.and_then(|captions| captions.subfield(level.code));
                let caption = caption.filter(|caption| !caption.starts_with(b"("));
                [caption.unwrap_or_default(), level.data].concat()
            })
            .collect();
        (!levels.is_empty()).then(|| InternationalString::from(&*levels.join(&b":"[..])))
    };
    Volume {
        enumeration: part("abcdefgh"),
        chronology: part("ijklm"),
        enum_and_chron: None,
    }
}

/// The number that links captions with values: `1` of `$8 1` and of `$8 1.2`.
fn link(field: &Field) -> Option<&[u8]> {
    field.subfield("8")?.split(|octet| *octet == b'.').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid;

    /// Tag, and subfields by code.
    type Written<'a> = (&'a [u8; 3], &'a [(&'a str, &'a str)]);

    fn check(fields: &[Written<'_>], expected: &str) {
        let fields = fields
            .iter()
            .map(|(tag, subfields)| Field::data(*tag, "  ", subfields.iter().copied()));
        let record = MarcRecord {
            fields: fields.collect(),
            ..MarcRecord::default()
        };
        let opac = OpacRecord::of_marc(External::octet_aligned(oid::SUTRS, &b"War"[..]), &record);
        assert_eq!(opac.to_text(), format!("War\n{expected}"), "{record:?}");
    }

    #[test]
    fn holdings_of_fields() {
        check(&[(b"245", &[("a", "War")])], "");
        check(
            &[(
                b"852",
                &[
                    ("a", "DLC"),
                    ("b", "Main"),
                    ("h", "PG3366"),
                    ("i", ".V6"),
                    ("z", "Fragile"),
                ],
            )],
            "Holding 1:\n  Nuc code: DLC\n  Local location: Main\n  Call number: PG3366 .V6\n  Public note: Fragile\n",
        );
        check(
            &[
                (b"866", &[("a", "v.1-2")]),
                (b"852", &[("b", "Main")]),
                (b"843", &[("a", "Microfilm."), ("b", "London")]),
                (b"852", &[("b", "Annex"), ("t", "2")]),
                (b"866", &[("8", "0"), ("a", "v.3")]),
                (b"867", &[("a", "suppl.")]),
            ],
            "Holding 1:\n  Local location: Main\n  Reproduction note: Microfilm. London\n  Enum and chron: v.1-2\n\
             Holding 2:\n  Local location: Annex\n  Copy number: 2\n  Enum and chron: v.3; suppl.\n",
        );
        check(
            &[
                (
                    b"853",
                    &[("8", "1"), ("a", "v."), ("b", "no."), ("i", "(year)")],
                ),
                (
                    b"863",
                    &[("8", "1.1"), ("a", "1"), ("b", "2"), ("i", "1911")],
                ),
                (b"863", &[("8", "2.1"), ("a", "7")]),
            ],
            "Holding 1:\n  Volumes:\n    Enumeration: v.1:no.2\n    Chronology: 1911\n  Volumes:\n    Enumeration: 7\n",
        );
        check(&[(b"853", &[("a", "v.")])], "");
    }
}
