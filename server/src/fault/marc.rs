//! Applies faults to the MARC records in an answer: a wrong character set in the leader, or damage as in real files (ISO 2709 §4).

use std::str::FromStr;

use z3950_asn1::apdu::{External, ExternalEncoding};
use z3950_marc::{FIELD_TERMINATOR, RECORD_TERMINATOR};

/// The length of the leader in octets.
const LEADER: usize = 24;

/// A kind of damage to a MARC record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The second half of the record is cut off.
    Truncated,
    /// The record length in the leader is 10 octets less than the real length.
    Length,
    /// The base address in the leader is 99999.
    BaseAddress,
    /// Every digit of the lengths and addresses in the directory is 9.
    Directory,
    /// The field terminators are replaced by spaces.
    Terminators,
    /// The leader is replaced by 24 letters.
    Leader,
    /// The record is empty.
    Empty,
}

impl Damage {
    /// The names of all kinds of damage, for messages.
    pub(super) const NAMES: &'static str =
        "truncated | length | base-address | directory | terminators | leader | empty";

    fn inflict(self, record: &mut Vec<u8>) {
        match self {
            Self::Truncated => record.truncate(record.len() / 2),
            Self::Length => {
                let length = record.len().saturating_sub(10).min(99_999);
                overwrite(record, 0, format!("{length:05}").as_bytes());
            }
            Self::BaseAddress => overwrite(record, 12, b"99999"),
            Self::Directory => {
                let directory = record.iter_mut().skip(LEADER);
                let entries = directory.take_while(|octet| **octet != FIELD_TERMINATOR);
                for (place, octet) in entries.enumerate() {
                    // An entry in the directory has a tag of three octets, and then nine digits. Only the digits are changed.
                    if place % 12 >= 3 {
                        *octet = b'9';
                    }
                }
            }
            Self::Terminators => {
                for octet in record
                    .iter_mut()
                    .filter(|octet| **octet == FIELD_TERMINATOR)
                {
                    *octet = b' ';
                }
            }
            Self::Leader => overwrite(record, 0, &[b'x'; LEADER]),
            Self::Empty => record.clear(),
        }
    }
}

impl FromStr for Damage {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "truncated" => Self::Truncated,
            "length" => Self::Length,
            "base-address" => Self::BaseAddress,
            "directory" => Self::Directory,
            "terminators" => Self::Terminators,
            "leader" => Self::Leader,
            "empty" => Self::Empty,
            _ => return Err(()),
        })
    }
}

/// Damages a record if it is MARC.
pub(super) fn damage(record: &mut External, damage: Damage) {
    change(record, |octets| damage.inflict(octets));
}

/// Sets the character set in the leader of a record if it is MARC.
pub(super) fn label(record: &mut External, label: u8) {
    change(record, |octets| overwrite(octets, 9, &[label]));
}

/// Changes the octets of a record if it ends like MARC; leaves other records unchanged.
fn change(record: &mut External, change: impl FnOnce(&mut Vec<u8>)) {
    if let ExternalEncoding::OctetAligned(octets) = &mut record.encoding
        && octets.last() == Some(&RECORD_TERMINATOR)
    {
        let mut changed = octets.to_vec();
        change(&mut changed);
        *octets = changed.into();
    }
}

fn overwrite(record: &mut [u8], at: usize, octets: &[u8]) {
    if let Some(place) = record.get_mut(at..at + octets.len()) {
        place.copy_from_slice(octets);
    }
}
