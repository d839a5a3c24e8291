//! Converts the holdings fields of a bibliographic record (MARC 21 Format for Holdings Data, 841 to 878) to the
//! elements of an OPAC record.

use std::collections::HashMap;

use z3950_marc::record::Subfield;
use z3950_marc::{Field, MarcRecord, text_lossless};

use super::status::CircStatus;
use super::{CircRecord, HoldingsAndCircData, HoldingsRecord, OpacRecord, Volume};
use crate::apdu::External;
use crate::types::InternationalString;

impl OpacRecord {
    /// Makes an OPAC record from a MARC 21 record: `bibliographic` unchanged, and a holding for each location (852) in
    /// `record`.
    ///
    /// Fields after an 852 belong to it, and fields before the first 852 belong to the first holding. Without any 852,
    /// all holdings fields form one holding. An item (876 to 878) that has the barcode of an 852 belongs to that 852.
    /// A holding has circulation data only if the status of each of its items is recognised. A record without holdings
    /// fields has no holdings.
    pub fn of_marc(bibliographic: External, record: &MarcRecord) -> Self {
        let holdings = MarcHolding::all(record).map(|holding| {
            let items: Option<Vec<CircRecord>> =
                holding.items.iter().map(MarcItem::circulation).collect();
            HoldingsRecord::HoldingsAndCirc(Box::new(HoldingsAndCircData {
                circulation_data: items.filter(|items| !items.is_empty()),
                ..holding.data
            }))
        });
        let holdings: Vec<HoldingsRecord> = holdings.collect();
        Self {
            bibliographic_record: Some(bibliographic),
            holdings_data: (!holdings.is_empty()).then_some(holdings),
        }
    }
}

/// A holding in the fields of a MARC 21 record.
pub(in crate::record) struct MarcHolding {
    /// The elements of the holding, except its circulation data.
    pub(in crate::record) data: HoldingsAndCircData,
    pub(in crate::record) items: Vec<MarcItem>,
}

/// An item from the fields 876 to 878, or from the 852 of a holding without such fields.
#[derive(Default)]
pub(in crate::record) struct MarcItem {
    /// The identifier: $p, or $a if there is no $p.
    pub(in crate::record) id: Option<InternationalString>,
    /// The copy number: $t.
    pub(in crate::record) copy_number: Option<InternationalString>,
    /// The status: $j.
    pub(in crate::record) status: Option<InternationalString>,
    /// The restrictions: $h.
    pub(in crate::record) restrictions: Option<InternationalString>,
    /// The temporary location: $l.
    pub(in crate::record) temporary_location: Option<InternationalString>,
    /// The volume: the field 863 to 865 with the same $8, or $3 if there is no such field.
    pub(in crate::record) volume: Option<InternationalString>,
    /// The note: $z.
    pub(in crate::record) note: Option<InternationalString>,
}

impl MarcHolding {
    /// Returns the holdings of a record, in the order of its fields.
    pub(in crate::record) fn all(record: &MarcRecord) -> impl Iterator<Item = Self> {
        let holdings = holdings(record).into_iter();
        holdings.map(|fields| Self {
            data: holding(&fields),
            items: items(&fields),
        })
    }
}

impl MarcItem {
    /// Returns the item as an element of an OPAC record; `None` if its status is not recognised.
    fn circulation(&self) -> Option<CircRecord> {
        let status = CircStatus::of(&self.status.as_ref()?.to_string_lossy());
        Some(CircRecord {
            available_now: status.available?,
            availability_date: status.due.as_deref().map(Into::into),
            restrictions: self.restrictions.clone(),
            item_id: self.id.clone(),
            on_hold: status.holds.is_some_and(|holds| holds > 0),
            enum_and_chron: self.volume.clone(),
            temporary_location: self.temporary_location.clone(),
            ..CircRecord::default()
        })
    }
}

impl Volume {
    /// Returns enumeration and chronology as text, such as `v.1:no.2 (1911)`.
    pub(in crate::record) fn text(&self) -> Option<InternationalString> {
        let present = |text: &Option<InternationalString>| {
            let text = text.clone();
            text.filter(|text| !text.as_bytes().trim_ascii().is_empty())
        };
        match (present(&self.enumeration), present(&self.chronology)) {
            (Some(enumeration), Some(chronology)) => {
                let parts = [enumeration.as_bytes(), b" (", chronology.as_bytes(), b")"];
                Some((&*parts.concat()).into())
            }
            (one, other) => one.or(other).or(present(&self.enum_and_chron)),
        }
    }
}

/// Returns the holdings fields of a record, grouped by location.
fn holdings(record: &MarcRecord) -> Vec<Vec<&Field>> {
    let mut holdings: Vec<Vec<&Field>> = Vec::new();
    // The index of each holding that has a barcode in its 852, by barcode.
    let mut barcodes: HashMap<&[u8], usize> = HashMap::new();
    let mut located = false;
    for field in &record.fields {
        let location = field.tag.as_ref() == b"852";
        match field.tag.as_ref() {
            b"852" | b"843" | b"845" | b"853" | b"854" | b"855" | b"863" | b"864" | b"865"
            | b"866" | b"867" | b"868" => {}
            _ if is_item(field) => {}
            _ => continue,
        }
        let barcode = field.subfield("p").filter(|_| location || is_item(field));
        let known = barcode
            .filter(|_| !location)
            .and_then(|code| barcodes.get(code));
        let last = match known {
            Some(index) => holdings.get_mut(*index),
            None => holdings.last_mut(),
        };
        match last {
            Some(last) if !(location && located) => last.push(field),
            _ => holdings.push(vec![field]),
        }
        if let (true, Some(barcode)) = (location, barcode) {
            barcodes.insert(barcode, holdings.len() - 1);
        }
        located |= location;
    }
    // Captions alone do not describe holdings, so holdings with nothing else are dropped.
    holdings.retain(|fields| fields.iter().any(|field| !is_caption(field)));
    holdings
}

fn is_caption(field: &Field) -> bool {
    matches!(field.tag.as_ref(), b"853" | b"854" | b"855")
}

fn is_item(field: &Field) -> bool {
    matches!(field.tag.as_ref(), b"876" | b"877" | b"878")
}

/// Returns the items of a holding. If it has no item fields, an 852 with a barcode or a status counts as an item.
fn items(fields: &[&Field]) -> Vec<MarcItem> {
    let of = |field: &Field, code: &str| text(std::iter::once(joined(field, code, " ")), "");
    let captions = captions(fields);
    let values: HashMap<&[u8], &Field> = fields
        .iter()
        .rev()
        .filter(|field| is_value(field))
        .filter_map(|value| Some((value.subfield("8")?, *value)))
        .collect();
    let volume_of = |item: &Field| {
        let value = values.get(item.subfield("8")?)?;
        volume(value, &captions).text()
    };
    let items = fields
        .iter()
        .copied()
        .filter(|field| is_item(field))
        .map(|field| MarcItem {
            id: of(field, "p").or_else(|| of(field, "a")),
            copy_number: of(field, "t"),
            status: of(field, "j"),
            restrictions: of(field, "h"),
            temporary_location: of(field, "l"),
            volume: volume_of(field).or_else(|| of(field, "3")),
            note: of(field, "z"),
        });
    let items: Vec<MarcItem> = items.collect();
    if !items.is_empty() {
        return items;
    }
    let location = fields.iter().find(|field| field.tag.as_ref() == b"852");
    let item = location.map(|field| MarcItem {
        id: of(field, "p"),
        status: status_in_location(field),
        ..MarcItem::default()
    });
    let is_one = |item: &MarcItem| item.id.is_some() || item.status.is_some();
    item.filter(is_one).into_iter().collect()
}

/// Returns the status in an 852. MARC 21 defines no subfield for it, but Evergreen uses $n and Polaris $r.
fn status_in_location(field: &Field) -> Option<InternationalString> {
    let mut known = wanted(field, "nr").filter(|subfield| {
        let status = CircStatus::of(&text_lossless(subfield.data));
        status.available.is_some()
    });
    known.next().map(|subfield| subfield.data.into())
}

fn is_value(field: &Field) -> bool {
    matches!(field.tag.as_ref(), b"863" | b"864" | b"865")
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
    let captions = captions(fields);
    let values = fields.iter().filter(|field| is_value(field));
    let volumes: Vec<Volume> = values
        .map(|field| volume(field, &captions))
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

/// Joins the non-empty texts; `None` if all are empty.
fn text(parts: impl Iterator<Item = Vec<u8>>, between: &str) -> Option<InternationalString> {
    let parts: Vec<Vec<u8>> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| (&*parts.join(between.as_bytes())).into())
}

/// Returns the data of the subfields with one of the codes, in field order, separated by `between`.
fn joined(field: &Field, codes: &str, between: &str) -> Vec<u8> {
    let parts: Vec<&[u8]> = wanted(field, codes).map(|subfield| subfield.data).collect();
    parts.join(between.as_bytes())
}

/// Returns the subfields that have one of the codes and are not empty.
fn wanted<'f>(field: &'f Field, codes: &str) -> impl Iterator<Item = Subfield<'f>> {
    field.subfields().filter(|subfield| match subfield.code {
        [code] => codes.as_bytes().contains(code) && !subfield.data.is_empty(),
        _ => false,
    })
}

/// The captions (853 to 855), by the last digit of the tag and the link.
type Captions<'f> = HashMap<(u8, Option<&'f [u8]>), &'f Field>;

fn captions<'f>(fields: &[&'f Field]) -> Captions<'f> {
    // If several captions have the same key, the first of them is kept.
    let all = fields.iter().rev().filter(|field| is_caption(field));
    all.map(|field| (pair(field), *field)).collect()
}

/// Returns the key that a field with captions shares with the fields that contain the corresponding values.
fn pair(field: &Field) -> (u8, Option<&[u8]>) {
    let digit = field.tag.as_ref().last();
    (digit.copied().unwrap_or_default(), link(field))
}

/// Returns the enumeration ($a to $h) and chronology ($i to $m) in a field 863 to 865. Each value follows its caption,
/// which has the same code in the linked field 853 to 855. A caption in brackets, such as `(year)`, is not shown (853
/// $i).
fn volume(field: &Field, captions: &Captions<'_>) -> Volume {
    let captions = captions.get(&pair(field));
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

/// Returns the number that links captions with values: `1` for both `$8 1` and `$8 1.2`.
fn link(field: &Field) -> Option<&[u8]> {
    field.subfield("8")?.split(|octet| *octet == b'.').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Describe as _;
    use crate::oid;

    /// A field in a test: its tag, and its subfields as codes and data.
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
        let mut text = String::new();
        for (number, holding) in (1..).zip(opac.holdings_data.iter().flatten()) {
            let HoldingsRecord::HoldingsAndCirc(data) = holding else {
                panic!("{holding:?}")
            };
            text.push_str(&format!("Holding {number}:\n{}", data.describe().to_text()));
        }
        assert_eq!(text, expected, "{record:?}");
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
            "Holding 1:\nNuc code: DLC\nLocal location: Main\nCall number: PG3366 .V6\nPublic note: Fragile\n",
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
            "Holding 1:\nLocal location: Main\nReproduction note: Microfilm. London\nEnum and chron: v.1-2\n\
             Holding 2:\nLocal location: Annex\nCopy number: 2\nEnum and chron: v.3; suppl.\n",
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
            "Holding 1:\nVolumes:\n  Enumeration: v.1:no.2\n  Chronology: 1911\nVolumes:\n  Enumeration: 7\n",
        );
        check(&[(b"853", &[("a", "v.")])], "");
    }

    #[test]
    fn circulation_of_items() {
        let item = "Circulation data:\n  Available now: yes\n  Item id: 1\n  Renewable: no\n  On hold: no\n";
        let available = [("p", "1"), ("j", "Available")];
        check(&[(b"876", &available)], &format!("Holding 1:\n{item}"));
        check(
            &[(b"852", &[("b", "Main")]), (b"876", &available)],
            &format!("Holding 1:\nLocal location: Main\n{item}"),
        );
        // Evergreen has the barcode in 852 $p and the status in 852 $n. A country code in $n is not a status.
        check(
            &[
                (b"852", &[("p", "1"), ("n", "Available")]),
                (b"852", &[("p", "2"), ("n", "dcu")]),
            ],
            &format!("Holding 1:\n{item}Holding 2:\n"),
        );
        check(
            &[(
                b"876",
                &[
                    ("a", "7"),
                    ("h", "Building use"),
                    ("j", "DUE 01-11-23 +2 HOLDS"),
                    ("l", "Reserve"),
                    ("3", "v.1"),
                ],
            )],
            "Holding 1:\nCirculation data:\n  Available now: no\n  Availability date: 01-11-23\n  Restrictions: Building use\n  \
             Item id: 7\n  Renewable: no\n  On hold: yes\n  Enum and chron: v.1\n  Temporary location: Reserve\n",
        );
        // If the status of one item is unknown, the circulation data of the other items is also omitted.
        let unknown = [("p", "2"), ("j", "Ask")];
        check(&[(b"876", &available), (b"876", &unknown)], "Holding 1:\n");
    }

    #[test]
    fn an_item_belongs_to_the_location_with_its_barcode() {
        let (first, second) = ([("p", "1"), ("j", "In")], [("p", "2"), ("j", "Out")]);
        let item = |available, id| {
            format!(
                "Circulation data:\n  Available now: {available}\n  Item id: {id}\n  Renewable: no\n  On hold: no\n"
            )
        };
        let of = |location, item| format!("Local location: {location}\n{item}");
        check(
            &[
                (b"852", &[("b", "Main"), ("p", "1")]),
                (b"852", &[("b", "Annex"), ("p", "2")]),
                (b"876", &first),
                (b"876", &second),
            ],
            &format!(
                "Holding 1:\n{}Holding 2:\n{}",
                of("Main", item("yes", 1)),
                of("Annex", item("no", 2))
            ),
        );
    }
}
