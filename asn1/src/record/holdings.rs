//! Copies and their availability, in one form for all records with this information: OPAC records (Z39.50-2003 Appendix
//! REC.3), and MARC 21 fields 852 to 878 (Format for Holdings Data).

mod table;

use serde_json::{Value, json};
use z3950_marc::charset::{self, Charset};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::{MarcRecord, iso2709};

pub use self::table::table;
use super::opac::from_marc::{MarcHolding, MarcItem};
use super::opac::status::CircStatus;
use super::opac::{CircRecord, HoldingsAndCircData, HoldingsRecord, OpacRecord};
use super::retrieved::RetrievedRecord;
use crate::apdu::External;
use crate::types::InternationalString;

/// The maximum size in memory of the holdings of one record, in octets; holdings beyond this size are left out. The
/// data for a location is repeated in each of its items, so without this limit a small record could become very large.
const MAX_OCTETS: usize = 16 << 20;

/// A copy held by a library: an item, or a location whose items are unknown. All text is on a single line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// The code or name of the library (852 $a).
    pub library: Option<String>,
    /// The branch or collection (852 $b).
    pub location: Option<String>,
    /// The shelving location (852 $c).
    pub shelving_location: Option<String>,
    /// The item's temporary location (876 $l).
    pub temporary_location: Option<String>,
    /// The call number (852 $h and $i).
    pub call_number: Option<String>,
    /// The volume or issue of the item, or all volumes at the location (853 to 868).
    pub volume: Option<String>,
    /// The number of the copy (852 or 876 $t).
    pub copy: Option<String>,
    /// The number of the item, such as its barcode (852 or 876 $p).
    pub item_id: Option<String>,
    /// Whether the item can be borrowed now, if the record states this.
    pub available: Option<bool>,
    /// The date on which the item is due back, as written by the server.
    pub due: Option<String>,
    /// Whether a reader is waiting for the item.
    pub on_hold: Option<bool>,
    /// The number of readers who are waiting for the item.
    pub holds: Option<u32>,
    /// The status, as written by the server (876 $j).
    pub status: Option<String>,
    /// The restrictions on loans (876 $h).
    pub restrictions: Option<String>,
    /// The public note (852 or 876 $z).
    pub note: Option<String>,
}

/// Returns the holdings of an OPAC record. If it has none, returns the holdings in its bibliographic record. The MARC
/// records in it are decoded from `charset` or, if this is `None`, from the character set that they declare.
pub fn of_opac(record: &OpacRecord, charset: Option<Charset>) -> Vec<Holding> {
    let holdings = record.holdings_data.iter().flatten();
    let found = bounded(holdings.flat_map(|holding| {
        let (data, record) = match holding {
            HoldingsRecord::HoldingsAndCirc(data) => (Some(data), None),
            HoldingsRecord::MarcHoldingsRecord(external) => (None, Some(external)),
        };
        let of_record = record
            .into_iter()
            .flat_map(move |it| of_record(it, charset));
        data.into_iter()
            .flat_map(|data| of_data(data))
            .chain(of_record)
    }));
    match &record.bibliographic_record {
        Some(external) if found.is_empty() => {
            marc(external, charset).map_or(found, |record| of_marc(&record))
        }
        _ => found,
    }
}

/// Returns the holdings in a MARC 21 record in UTF-8. UNIMARC records have no holdings fields.
pub fn of_marc(record: &MarcRecord) -> Vec<Holding> {
    if is_unimarc(record) {
        return Vec::new();
    }
    bounded(
        MarcHolding::all(record).flat_map(|MarcHolding { data, items }| {
            let location = Holding::at(&data);
            let alone = items.is_empty().then(|| location.clone().without_items());
            let items = items
                .into_iter()
                .map(move |item| location.clone().with_marc(&item));
            alone.into_iter().chain(items)
        }),
    )
}

impl Holding {
    /// Returns a JSON object with every field by its name; unknown values are null.
    pub fn to_json(&self) -> Value {
        json!({
            "library": self.library,
            "location": self.location,
            "shelving_location": self.shelving_location,
            "temporary_location": self.temporary_location,
            "call_number": self.call_number,
            "volume": self.volume,
            "copy": self.copy,
            "item_id": self.item_id,
            "available": self.available,
            "due": self.due,
            "on_hold": self.on_hold,
            "holds": self.holds,
            "status": self.status,
            "restrictions": self.restrictions,
            "note": self.note,
        })
    }

    /// Makes a holding from the data for a location.
    fn at(data: &HoldingsAndCircData) -> Self {
        Self {
            library: text(&data.nuc_code),
            location: text(&data.local_location),
            shelving_location: text(&data.shelving_location),
            call_number: text(&data.call_number),
            volume: text(&data.enum_and_chron).or_else(|| volumes(data)),
            copy: text(&data.copy_number),
            note: text(&data.public_note),
            ..Self::default()
        }
    }

    /// Returns the location as a single copy, for records without items. Innovative's servers do not send items, but
    /// send the status of the only item as the public note.
    fn without_items(self) -> Self {
        let status = CircStatus::of(self.note.as_deref().unwrap_or_default());
        if status.available.is_none() {
            return self;
        }
        let located = Self {
            status: self.note,
            note: None,
            ..self
        };
        located.with_status(status)
    }

    fn with_status(self, status: CircStatus) -> Self {
        Self {
            available: status.available,
            due: status.due,
            on_hold: status.holds.map(|holds| holds > 0),
            holds: status.holds,
            ..self
        }
    }

    /// Returns the holding with the data for an item at this location. If the item is the only one at the location and
    /// does not name its volume, it gets the volumes of the location.
    fn with_item(self, item: &CircRecord, is_only: bool) -> Self {
        let of_note = || CircStatus::of(self.note.as_deref()?).due;
        let due = text(&item.availability_date).or_else(of_note);
        Self {
            volume: text(&item.enum_and_chron).or(self.volume.filter(|_| is_only)),
            temporary_location: text(&item.temporary_location),
            item_id: text(&item.item_id),
            available: Some(item.available_now),
            due: due.filter(|_| !item.available_now),
            on_hold: Some(item.on_hold),
            restrictions: text(&item.restrictions),
            ..self
        }
    }

    /// Returns the holding with the data for an item in a MARC record.
    fn with_marc(self, item: &MarcItem) -> Self {
        let status = text(&item.status);
        let said = CircStatus::of(status.as_deref().unwrap_or_default());
        let located = Self {
            volume: text(&item.volume).or(self.volume),
            copy: text(&item.copy_number).or(self.copy),
            temporary_location: text(&item.temporary_location),
            item_id: text(&item.id),
            restrictions: text(&item.restrictions),
            note: text(&item.note).or(self.note),
            status,
            ..self
        };
        located.with_status(said)
    }

    /// Returns the number of octets in the holding's text.
    fn octets(&self) -> usize {
        let texts = [
            &self.library,
            &self.location,
            &self.shelving_location,
            &self.temporary_location,
            &self.call_number,
            &self.volume,
            &self.copy,
            &self.item_id,
            &self.due,
            &self.status,
            &self.restrictions,
            &self.note,
        ];
        texts.into_iter().flatten().map(String::len).sum()
    }
}

fn bounded(holdings: impl Iterator<Item = Holding>) -> Vec<Holding> {
    let mut octets = 0_usize;
    let fits = |holding: &Holding| {
        octets = octets.saturating_add(size_of::<Holding>() + holding.octets());
        octets <= MAX_OCTETS
    };
    holdings.take_while(fits).collect()
}

/// Returns a holding for each item in this part of an OPAC record, or one holding if it has no items.
fn of_data(data: &HoldingsAndCircData) -> impl Iterator<Item = Holding> {
    let items = data.circulation_data.as_deref().unwrap_or_default();
    let location = Holding::at(data);
    let alone = items.is_empty().then(|| location.clone().without_items());
    let is_only = items.len() == 1;
    let items = items
        .iter()
        .map(move |item| location.clone().with_item(item, is_only));
    alone.into_iter().chain(items)
}

/// Returns the holdings in a holdings record within an OPAC record. The holdings record is MARC or text.
fn of_record(external: &External, charset: Option<Charset>) -> Vec<Holding> {
    match RetrievedRecord::of(external) {
        RetrievedRecord::Sutrs(words) => vec![Holding {
            note: text(&Some(words)),
            ..Holding::default()
        }],
        _ => marc(external, charset).map_or_else(Vec::new, |record| of_marc(&record)),
    }
}

/// Returns the MARC record in an EXTERNAL, converted to UTF-8.
fn marc(external: &External, charset: Option<Charset>) -> Option<MarcRecord> {
    let RetrievedRecord::Marc(octets) = RetrievedRecord::of(external) else {
        return None;
    };
    let record = iso2709::parse(&octets).ok()?.record;
    let mut options = charset::Options::default();
    options.charset = charset;
    Some(charset::to_utf8(&record, &options).record)
}

/// Returns the text on one line; `None` if there is no text.
fn text(value: &Option<InternationalString>) -> Option<String> {
    let text = value.as_ref()?.to_string_lossy();
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn volumes(data: &HoldingsAndCircData) -> Option<String> {
    let volumes: Vec<String> = data
        .volumes
        .iter()
        .flatten()
        .filter_map(|volume| text(&volume.text()))
        .collect();
    (!volumes.is_empty()).then(|| volumes.join("; "))
}

#[cfg(test)]
mod tests;
