//! What the lenient ISO 2709 reader repaired, and where (ISO 2709 §4.3–4.6): one kind for each type of damage.

use crate::record::Tag;

/// One repair: what was wrong and where, counted in octets from the first of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (octet {offset})")]
#[non_exhaustive]
pub struct Repair {
    /// What was wrong.
    pub kind: RepairKind,
    /// Where, 0-based, in octets from the start of the record.
    pub offset: usize,
}

/// The ways in which a record can be damaged and still be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepairKind {
    /// Leader 0–4 is not the length of the record; the terminator decides.
    #[error("record length {}{actual}", Stated(*.stated))]
    RecordLength {
        /// What the leader says, if it is a number.
        stated: Option<usize>,
        /// The octets up to and with the terminator.
        actual: usize,
    },
    /// The octets end without 0x1D; they are read to their end.
    #[error("no record terminator")]
    RecordTerminatorMissing,
    /// Octets other than line ends follow the record; they are not read.
    #[error("{count} octets after the record")]
    TrailingOctets {
        /// How many.
        count: usize,
    },
    /// A digit of the leader that describes the layout is not a digit or makes no sense; the usual value is assumed.
    #[error("leader position {position} is not usable")]
    LeaderDigit {
        /// The position in the leader, from 0.
        position: usize,
    },
    /// Leader 12–16 is not the end of the directory.
    #[error("base address {}{actual}", Stated(*.stated))]
    BaseAddress {
        /// What the leader says, if it is a number.
        stated: Option<usize>,
        /// Where the first field begins.
        actual: usize,
    },
    /// No 0x1E ends the directory; its last readable entry does.
    #[error("no field terminator after the directory")]
    DirectoryTerminatorMissing,
    /// Entries of the directory have more than 12 octets, because the numbers of long fields have more digits than there is room
    /// for; they agree, and are followed.
    #[error("directory entries of more than 12 octets")]
    LongEntries,
    /// The directory ends within an entry, which is left out.
    #[error("{count} octets at the end of the directory are not an entry")]
    DirectoryRemainder {
        /// How many.
        count: usize,
    },
    /// An entry does not point to a field; the next field without an entry gets its tag.
    #[error("directory entry {tag} does not point to a field")]
    DirectoryEntry {
        /// The tag of the entry.
        tag: Tag,
    },
    /// More entries than fields: this one is left out.
    #[error("no field for directory entry {tag}")]
    FieldMissing {
        /// The tag of the entry.
        tag: Tag,
    },
    /// A field does not end with 0x1E; the directory or the end of the record ends it.
    #[error("no field terminator after field {tag}")]
    FieldTerminatorMissing {
        /// The tag of the field.
        tag: Tag,
    },
    /// A field without an entry, and so without a tag: it is left out.
    #[error("{octets} octets of a field that no directory entry names")]
    FieldUnlisted {
        /// Its length without the terminator.
        octets: usize,
    },
}

impl RepairKind {
    /// Whether data is lost: octets are missing, or were left out because nothing says what they are. Every other repair
    /// keeps all octets of all fields; numbers are recomputed, or a field gets the tag of a remaining entry.
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

    /// Whether fields were guessed: tags were given to the fields in their order, or something other than a terminator ends them.
    /// If octets are missing within a record, all else that can be seen of it is this.
    pub fn is_guess(&self) -> bool {
        matches!(
            self,
            Self::DirectoryTerminatorMissing
                | Self::DirectoryEntry { .. }
                | Self::FieldTerminatorMissing { .. }
        )
    }

    /// The repair of this kind at an offset from the start of the record.
    pub(super) fn at(self, offset: usize) -> Repair {
        Repair { kind: self, offset }
    }
}

/// A number of the leader as a message shows it, before the right one.
struct Stated(Option<usize>);

impl std::fmt::Display for Stated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number} instead of "),
            None => f.write_str("is not a number; it should be "),
        }
    }
}
