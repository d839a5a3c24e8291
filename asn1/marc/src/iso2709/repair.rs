//! The repairs made by the lenient ISO 2709 reader, with their offsets (ISO 2709 §4.3–4.6): one kind for each type of
//! damage.

use crate::record::Tag;

/// One repair: the fault, and its offset in octets from the start of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (octet {offset})")]
#[non_exhaustive]
pub struct Repair {
    /// The kind of fault.
    pub kind: RepairKind,
    /// The 0-based offset in octets from the start of the record.
    pub offset: usize,
}

/// The kinds of damage that the reader can repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepairKind {
    /// Leader 0–4 is not the length of the record; the position of the terminator is used instead.
    #[error("record length {}{actual}", Stated(*.stated))]
    RecordLength {
        /// The length in the leader, if it is a number.
        stated: Option<usize>,
        /// The number of octets up to and including the terminator.
        actual: usize,
    },
    /// The record does not end with 0x1D; all octets up to the next record or the end are read.
    #[error("no record terminator")]
    RecordTerminatorMissing,
    /// Octets other than line ends follow the record. They are ignored.
    #[error("{count} octets after the record")]
    TrailingOctets {
        /// The number of octets after the record.
        count: usize,
    },
    /// A leader position that describes the layout does not have a digit, or has an implausible one; the usual value is
    /// assumed.
    #[error("leader position {position} is not usable")]
    LeaderDigit {
        /// The position in the leader, from 0.
        position: usize,
    },
    /// Leader 12–16 is not the end of the directory.
    #[error("base address {}{actual}", Stated(*.stated))]
    BaseAddress {
        /// The base address in the leader, if it is a number.
        stated: Option<usize>,
        /// The offset of the first field.
        actual: usize,
    },
    /// The directory does not end with 0x1E. It is taken to end after its last readable entry.
    #[error("no field terminator after the directory")]
    DirectoryTerminatorMissing,
    /// Directory entries have more than 12 octets, because their numbers have more digits than usual for long fields. The entries are
    /// consistent with the fields, and are used.
    #[error("directory entries of more than 12 octets")]
    LongEntries,
    /// The directory ends within an entry, which is left out.
    #[error("{count} octets at the end of the directory are not an entry")]
    DirectoryRemainder {
        /// The number of octets left out.
        count: usize,
    },
    /// An entry does not point to a field; its tag is assigned to the next field without an entry.
    #[error("directory entry {tag} does not point to a field")]
    DirectoryEntry {
        /// The tag of the entry.
        tag: Tag,
    },
    /// The directory has more entries than the record has fields; this entry is left out.
    #[error("no field for directory entry {tag}")]
    FieldMissing {
        /// The tag of the entry.
        tag: Tag,
    },
    /// A field does not end with 0x1E. Its end is taken from the directory or from the end of the record.
    #[error("no field terminator after field {tag}")]
    FieldTerminatorMissing {
        /// The tag of the field.
        tag: Tag,
    },
    /// A field has no directory entry, and so no tag; the field is left out.
    #[error("{octets} octets of a field that no directory entry names")]
    FieldUnlisted {
        /// The length of the field without the terminator.
        octets: usize,
    },
}

impl RepairKind {
    /// Returns whether data is lost: octets are missing, or were left out because their field is unknown. All other
    /// repairs keep every octet of every field: they recompute numbers, or give a field the tag of a remaining entry.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::RecordTerminatorMissing
            | Self::TrailingOctets { .. }
            | Self::DirectoryRemainder { .. }
            | Self::FieldMissing { .. }
            | Self::FieldUnlisted { .. } => true,
            Self::RecordLength { .. }
            | Self::LeaderDigit { .. }
            | Self::BaseAddress { .. }
            | Self::DirectoryTerminatorMissing
            | Self::LongEntries
            | Self::DirectoryEntry { .. }
            | Self::FieldTerminatorMissing { .. } => false,
        }
    }

    /// Returns whether fields were guessed: tags were assigned to the fields in order, or a field ends without a terminator. If octets are
    /// missing within a record, such a repair may be the only sign of the loss.
    pub fn is_guess(&self) -> bool {
        matches!(
            self,
            Self::DirectoryTerminatorMissing
                | Self::DirectoryEntry { .. }
                | Self::FieldTerminatorMissing { .. }
        )
    }

    /// Returns a repair of this kind at an offset from the start of the record.
    pub(super) fn at(self, offset: usize) -> Repair {
        Repair { kind: self, offset }
    }
}

/// A number stated in the leader, displayed as the part of a message before the correct number.
struct Stated(Option<usize>);

impl std::fmt::Display for Stated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number} instead of "),
            None => f.write_str("is not a number; it should be "),
        }
    }
}
