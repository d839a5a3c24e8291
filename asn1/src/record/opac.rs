//! The OPAC record syntax (Z39.50-2003 Appendix REC.3): a bibliographic record with the library's holdings and their
//! availability.
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its part"
)]

pub(super) mod from_marc;
mod show;
pub(super) mod status;

use self::status::CircStatus;
use crate::apdu::External;
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// OPACRecord: the bibliographic record, in any syntax, and the holdings.
    #[derive(Default)]
    pub struct OpacRecord {
        [1] bibliographic_record: Option<External>,
        [2] holdings_data: Option<Vec<HoldingsRecord>>,
    }

    /// HoldingsRecord: either a MARC holdings record, or the elements of such a record with the circulation data of
    /// its items.
    pub enum HoldingsRecord {
        [1] MarcHoldingsRecord(Box<External>),
        [2] HoldingsAndCirc(Box<HoldingsAndCircData>),
    }

    /// HoldingsAndCircData: one holding. The comment on each element names the corresponding place in a MARC 21
    /// holdings record.
    #[derive(Default)]
    pub struct HoldingsAndCircData {
        /// The type of the record (MARC 21 holdings, leader/06).
        [1] type_of_record: Option<InternationalString>,
        /// The encoding level (MARC 21 holdings, leader/17).
        [2] encoding_level: Option<InternationalString>,
        /// The physical format (MARC 21 holdings, 007/00-01).
        [3] format: Option<InternationalString>,
        /// The receipt or acquisition status (MARC 21 holdings, 008/06).
        [4] receipt_acq_status: Option<InternationalString>,
        /// The retention policy (MARC 21 holdings, 008/12).
        [5] general_retention: Option<InternationalString>,
        /// The completeness of the holdings (MARC 21 holdings, 008/16).
        [6] completeness: Option<InternationalString>,
        /// The date of the report (MARC 21 holdings, 008/26-31).
        [7] date_of_report: Option<InternationalString>,
        /// The code of the library (MARC 21 holdings, 852 $a).
        [8] nuc_code: Option<InternationalString>,
        /// The branch or collection (MARC 21 holdings, 852 $b).
        [9] local_location: Option<InternationalString>,
        /// The shelving location (MARC 21 holdings, 852 $c).
        [10] shelving_location: Option<InternationalString>,
        /// The call number (MARC 21 holdings, 852 $h and $i).
        [11] call_number: Option<InternationalString>,
        /// The shelving data (MARC 21 holdings, 852 $j to $m).
        [12] shelving_data: Option<InternationalString>,
        /// The copy number (MARC 21 holdings, 852 $t).
        [13] copy_number: Option<InternationalString>,
        /// The public note (MARC 21 holdings, 852 $z).
        [14] public_note: Option<InternationalString>,
        /// The note on reproductions (MARC 21 holdings, 843).
        [15] reproduction_note: Option<InternationalString>,
        /// The terms of use and reproduction (MARC 21 holdings, 845).
        [16] terms_use_repro: Option<InternationalString>,
        /// The enumeration and chronology (MARC 21 holdings, 853 to 868).
        [17] enum_and_chron: Option<InternationalString>,
        [18] volumes: Option<Vec<Volume>>,
        [19] circulation_data: Option<Vec<CircRecord>>,
    }

    /// Volume: a volume that the library holds.
    #[derive(Default)]
    pub struct Volume {
        [1] enumeration: Option<InternationalString>,
        [2] chronology: Option<InternationalString>,
        [3] enum_and_chron: Option<InternationalString>,
    }

    /// CircRecord: the circulation data of an item, such as whether it can be borrowed.
    #[derive(Default)]
    pub struct CircRecord {
        [1] available_now: bool,
        [2] availability_date: Option<InternationalString>,
        [3] available_thru: Option<InternationalString>,
        [4] restrictions: Option<InternationalString>,
        [5] item_id: Option<InternationalString>,
        [6] renewable: bool,
        [7] on_hold: bool,
        [8] enum_and_chron: Option<InternationalString>,
        [9] midspine: Option<InternationalString>,
        [10] temporary_location: Option<InternationalString>,
    }
}

impl HoldingsAndCircData {
    /// Adds a public note. If the existing note is the status of the only copy, as with some servers, the status is
    /// first moved to the circulation data.
    pub fn add_note(&mut self, note: &str) {
        let known = self.public_note.take();
        let known = known.filter(|known| !known.as_bytes().trim_ascii().is_empty());
        let words = known.as_ref().map(|known| known.to_string_lossy());
        let status = CircStatus::of(&words.unwrap_or_default());
        self.public_note = Some(match (known, status.available) {
            (Some(_), Some(available_now)) if self.circulation_data.is_none() => {
                self.circulation_data = Some(vec![CircRecord {
                    available_now,
                    availability_date: status.due.as_deref().map(Into::into),
                    on_hold: status.holds.is_some_and(|holds| holds > 0),
                    ..CircRecord::default()
                }]);
                note.into()
            }
            (Some(known), _) => (&*[known.as_bytes(), b"; ", note.as_bytes()].concat()).into(),
            (None, _) => note.into(),
        });
    }
}

#[cfg(test)]
mod tests;
