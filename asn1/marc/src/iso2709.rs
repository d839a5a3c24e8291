//! ISO 2709, the exchange form of MARC: a lenient reader that reports its repairs, a strict reader, and a writer (ISO
//! 2709 §4). In real files, lengths, base addresses and directories are often wrong; the reader finds the fields anyway
//! and does not change them.

mod directory;
mod repair;
mod split;

use bytes::{BufMut, Bytes};

use self::directory::Directory;
pub use self::repair::{Repair, RepairKind};
pub(super) use self::split::{BYTE_ORDER_MARK, LOOK_AHEAD, filler, record_length};
pub use self::split::{MAX_RECORD, Split, split};
use super::layout;
use super::record::{FIELD_TERMINATOR, Field, Leader, MarcRecord, RECORD_TERMINATOR, Tag, number};
use super::text::is_separator;

/// The maximum length of a field in ISO 2709, including its terminator: the directory has four digits for it.
pub const MAX_FIELD: usize = 9_999;

/// A record, and the repairs that were needed to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parsed {
    /// The record; its fields share the octets that were read.
    pub record: MarcRecord,
    /// The repairs in the order in which they were made; empty for a valid record.
    pub repairs: Vec<Repair>,
}

/// The reason why octets are not a record, or why a record has no ISO 2709 form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Iso2709Error {
    /// There are fewer octets than in a leader.
    #[error("{octets} octets are too few for a leader of 24")]
    TooShort {
        /// The number of octets passed to the reader.
        octets: usize,
    },
    /// There is no octet 0x1E after the leader. This octet ends the directory and each field.
    #[error("no field terminator after the leader")]
    NoFieldTerminator,
    /// The strict reader found a fault, which [`parse`] would repair in this way.
    #[error("damaged record: {0}")]
    Damaged(Repair),
    /// A field is longer than the four digits in a directory entry can state.
    #[error("field {tag} has {octets} octets, ISO 2709 allows {MAX_FIELD}")]
    FieldTooLong {
        /// The tag of the field.
        tag: Tag,
        /// The length of the field with its terminator.
        octets: usize,
    },
    /// The record is longer than the five digits in its leader can state.
    #[error("the record has {octets} octets, ISO 2709 allows {MAX_RECORD}")]
    RecordTooLong {
        /// The length of the record with its terminator.
        octets: usize,
    },
    /// A terminator or delimiter is at a place where it would cut the record or a field.
    #[error("a separator octet inside {place}")]
    Separator {
        /// The place of the separator: the leader, or the tag of a field.
        place: String,
    },
}

/// Reads the first record in these octets, and repairs it if necessary.
///
/// The record length is trusted if it leads to a terminator; otherwise the record ends at the next terminator, or
/// before the leader of another record. A directory entry is trusted if it names exactly the octets between two
/// terminators; the other entries get the remaining fields, in order. The entry map (leader 20–22) is used if it is
/// plausible. The record shares `octets`; nothing is copied.
///
/// # Errors
/// [`Iso2709Error::TooShort`] and [`Iso2709Error::NoFieldTerminator`]; everything else is repaired.
pub fn parse(octets: &Bytes) -> Result<Parsed, Iso2709Error> {
    let octets = &without_sixth_digit(octets);
    let Some(leader) = octets.first_chunk() else {
        return Err(Iso2709Error::TooShort {
            octets: octets.len(),
        });
    };
    let leader = Leader(*leader);
    let mut repairs = Vec::new();
    // The length of a sound record is correct, so its end is known without a search.
    let sound = sound(octets, &leader);
    let content = match &sound {
        Some((content, _)) => {
            note_trailing(octets, content.len() + 1, &mut repairs);
            content.clone()
        }
        None => octets.slice(..content_end(octets, &leader, &mut repairs)),
    };
    for position in [10, 11, 22] {
        if !leader.octet(position).is_ascii_digit() {
            repairs.push(RepairKind::LeaderDigit { position }.at(position));
        }
    }
    let fields = sound
        .map(|(_, fields)| fields)
        .or_else(|| directory::sound_fields(&content, &leader));
    let fields = match fields {
        Some(fields) => fields,
        None => damaged_fields(&content, &leader, &mut repairs)?,
    };
    let mut record = MarcRecord { leader, fields };
    if record.mend_code_length() {
        repairs.push(RepairKind::LeaderDigit { position: 11 }.at(11));
    }
    Ok(Parsed { record, repairs })
}

/// Reads a record as [`parse`] does, but fails instead of repairing it.
///
/// # Errors
/// The errors from [`parse`], and [`Iso2709Error::Damaged`] with the first repair.
pub fn parse_strict(octets: &Bytes) -> Result<MarcRecord, Iso2709Error> {
    let parsed = parse(octets)?;
    match parsed.repairs.into_iter().next() {
        None => Ok(parsed.record),
        Some(repair) => Err(Iso2709Error::Damaged(repair)),
    }
}

/// Returns whether the octets are a single record that has fields and that [`parse`] reads without loss, because its leader and directory
/// account for all octets. This takes less time than [`parse`]. The result may be `false` even for a record that [`parse`] reads without
/// loss.
pub fn is_whole(octets: &[u8]) -> bool {
    let Some(leader) = octets.first_chunk().map(|leader| Leader(*leader)) else {
        return false;
    };
    let is_stated = leader.record_length() == Some(octets.len()) && !has_sixth_digit(octets);
    is_stated
        && directory::is_terminated(octets, octets.len())
        && (octets.split_last()).is_some_and(|(_, content)| directory::is_sound(content, &leader))
        && leader.base_address() > Some(Leader::LENGTH + 1)
}

/// Writes a record: its leader, a new directory, and the unchanged fields. In the leader, the record length and the base address are
/// recomputed, positions 10 and 11 are set to the numbers of indicators and code characters in the fields, and the entry map is the usual
/// one (`4500`).
///
/// # Errors
/// Fails if the record has a field of more than [`MAX_FIELD`] octets, has more than [`MAX_RECORD`] octets, or contains a separator that
/// would split it. Write such a record in a different form.
pub fn encode(record: &MarcRecord) -> Result<Vec<u8>, Iso2709Error> {
    let mut octets = Vec::new();
    append(record, &mut octets)?;
    Ok(octets)
}

/// Appends the record as [`encode`] writes it. If this fails, nothing is appended.
pub(super) fn append(record: &MarcRecord, out: &mut Vec<u8>) -> Result<(), Iso2709Error> {
    let base = Leader::LENGTH + record.fields.len() * ENTRY_LENGTH + 1;
    let body: usize = record.fields.iter().map(|field| field.body.len() + 1).sum();
    let length = base + body + 1;
    check(record, length)?;

    let mut leader = layout::of_exchange(record).0;
    write_digits(&mut leader, 0, digits::<5>(length));
    write_digits(&mut leader, 12, digits::<5>(base));
    let begin = out.len();
    out.reserve(length);
    out.put_slice(&leader);
    let mut start = 0;
    for field in &record.fields {
        let octets = field.body.len() + 1;
        let [a, b, c] = field.tag.0;
        let [d, e, f, g] = digits(octets);
        let [h, i, j, k, l] = digits(start);
        let entry: [u8; ENTRY_LENGTH] = [a, b, c, d, e, f, g, h, i, j, k, l];
        out.put_slice(&entry);
        start += octets;
    }
    out.put_u8(FIELD_TERMINATOR);
    for field in &record.fields {
        out.put_slice(&field.body);
        out.put_u8(FIELD_TERMINATOR);
    }
    out.put_u8(RECORD_TERMINATOR);

    // Searching the whole record once is quicker than searching each field.
    let terminators = count_terminators(out.get(begin..).unwrap_or_default());
    if terminators != record.fields.len() + 2 {
        out.truncate(begin);
        let mut fields = record.fields.iter();
        let odd = fields.find(|field| count_terminators(&field.body) > 0);
        let tag = odd.map_or_else(String::new, |field| field.tag.to_string());
        return Err(separator(&format!("field {tag}")));
    }
    Ok(())
}

/// Counts field and record terminators, several octets at a time.
fn count_terminators(octets: &[u8]) -> usize {
    // Each chunk is short enough for the number of its terminators to fit into an octet.
    let chunks = octets.chunks(usize::from(u8::MAX));
    let counts = chunks.map(|chunk| -> u8 {
        let octets = chunk.iter();
        octets.map(|octet| u8::from(is_terminator(octet))).sum()
    });
    counts.map(usize::from).sum()
}

/// The length of a directory entry in octets: three for the tag, four digits for the length, five digits for the start.
const ENTRY_LENGTH: usize = 12;

/// Checks that a record with the given total length can be written. Separators in the bodies of its fields are found only when the fields
/// are written.
fn check(record: &MarcRecord, length: usize) -> Result<(), Iso2709Error> {
    if record.leader.0.iter().copied().any(is_separator) {
        return Err(separator("the leader"));
    }
    for field in &record.fields {
        let (tag, octets) = (field.tag, field.body.len() + 1);
        if octets > MAX_FIELD {
            return Err(Iso2709Error::FieldTooLong { tag, octets });
        }
        if tag.0.iter().copied().any(is_separator) {
            return Err(separator(&format!("field {tag}")));
        }
    }
    if length > MAX_RECORD {
        return Err(Iso2709Error::RecordTooLong { octets: length });
    }
    Ok(())
}

/// Returns the last `N` decimal digits of a number.
fn digits<const N: usize>(number: usize) -> [u8; N] {
    let mut digits = [b'0'; N];
    let mut rest = u32::try_from(number).unwrap_or(u32::MAX);
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    digits
}

fn write_digits<const N: usize>(
    leader: &mut [u8; Leader::LENGTH],
    position: usize,
    digits: [u8; N],
) {
    for (octet, digit) in leader.iter_mut().skip(position).zip(digits) {
        *octet = digit;
    }
}

fn separator(place: &str) -> Iso2709Error {
    Iso2709Error::Separator {
        place: place.to_owned(),
    }
}

fn is_terminator(octet: &u8) -> bool {
    matches!(*octet, FIELD_TERMINATOR | RECORD_TERMINATOR)
}

/// Returns the octets of the record without its terminator, and the fields, if the record ends at the stated length and
/// its directory is correct.
fn sound(octets: &Bytes, leader: &Leader) -> Option<(Bytes, Vec<Field>)> {
    let length = leader.record_length()?;
    if !directory::is_terminated(octets, length) {
        return None;
    }
    let content = octets.slice(..length - 1);
    let fields = directory::sound_fields(&content, leader)?;
    Some((content, fields))
}

/// Returns the record without the first digit of a six-digit length, which makes the leader one octet longer. Programs that do
/// not check the length write six digits for a record of more than 99,999 octets.
fn without_sixth_digit(octets: &Bytes) -> Bytes {
    octets.slice(usize::from(has_sixth_digit(octets))..)
}

fn has_sixth_digit(octets: &[u8]) -> bool {
    octets.get(..LENGTH_DIGITS + 1).and_then(number).is_some()
        && octets.get(Leader::LENGTH - 3..Leader::LENGTH + 1) == Some(b"4500".as_slice())
}

/// The number of digits in the record length.
const LENGTH_DIGITS: usize = 5;

/// Returns the fields of a record whose directory is not valid.
fn damaged_fields(
    content: &Bytes,
    leader: &Leader,
    repairs: &mut Vec<Repair>,
) -> Result<Vec<Field>, Iso2709Error> {
    if let Some(fields) = directory::long_entries(content) {
        repairs.push(RepairKind::LongEntries.at(Leader::LENGTH));
        return Ok(fields);
    }
    let directory = Directory::read(content, leader, repairs);
    let directory = directory.ok_or(Iso2709Error::NoFieldTerminator)?;
    Ok(directory.fields(content, repairs))
}

/// Returns the length of a damaged record without its terminator. The record ends at its terminator, at the next record, or at the last
/// octet. Adds repairs for a missing terminator, a wrong length and trailing octets.
fn content_end(octets: &[u8], leader: &Leader, repairs: &mut Vec<Repair>) -> usize {
    let stated = leader.record_length();
    let length = split::record_length(octets, true).unwrap_or(octets.len());
    let is_terminated = directory::is_terminated(octets, length);
    if !is_terminated {
        repairs.push(RepairKind::RecordTerminatorMissing.at(length));
    }
    let lacks_terminator = !is_terminated && stated == Some(length + 1);
    if stated != Some(length) && !lacks_terminator {
        let actual = length;
        repairs.push(RepairKind::RecordLength { stated, actual }.at(0));
    }
    note_trailing(octets, length, repairs);
    length - usize::from(is_terminated)
}

/// Adds a repair if octets other than line ends follow the record.
fn note_trailing(octets: &[u8], length: usize, repairs: &mut Vec<Repair>) {
    let trailing = octets.get(length..).unwrap_or_default();
    if !trailing.iter().all(split::is_filler) {
        let count = trailing.len();
        repairs.push(RepairKind::TrailingOctets { count }.at(length));
    }
}

#[cfg(test)]
mod tests;
