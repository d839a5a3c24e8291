//! Init: InitializeRequest `[20]`, InitializeResponse `[21]` (Z39.50-2003 §3.2.1).

use std::fmt;

use super::{External, OtherInformation, ReferenceId};
use crate::describe::redacted;
use crate::optional::Unknown;
use crate::production::{production, productions};
use crate::types::{Bits, InternationalString, VisibleString};

productions! {
    /// The client's offer at the start of a session.
    #[derive(Default)]
    pub struct InitializeRequest {
        reference_id: Option<ReferenceId>,
        protocol_version: ProtocolVersion,
        options: Options,
        /// The preferred size of messages in octets; 0 means no limit.
        [5] preferred_message_size: i64,
        /// The maximum size of a single record in octets; 0 means no limit.
        [6] exceptional_record_size: i64,
        [explicit 7] id_authentication: Option<IdAuthentication>,
        [110] implementation_id: Option<InternationalString>,
        [111] implementation_name: Option<InternationalString>,
        [112] implementation_version: Option<InternationalString>,
        [explicit 11] user_information_field: Option<External>,
        other_info: Option<OtherInformation>,
        unknown: Unknown,
    }

    /// The server's answer to the client's offer; `result` is true if the server accepts the session.
    #[derive(Default)]
    pub struct InitializeResponse {
        reference_id: Option<ReferenceId>,
        protocol_version: ProtocolVersion,
        options: Options,
        /// The preferred size of messages in octets; 0 means no limit.
        [5] preferred_message_size: i64,
        /// The maximum size of a single record in octets; 0 means no limit.
        [6] exceptional_record_size: i64,
        [12] result: bool,
        [110] implementation_id: Option<InternationalString>,
        [111] implementation_name: Option<InternationalString>,
        [112] implementation_version: Option<InternationalString>,
        [explicit 11] user_information_field: Option<External>,
        other_info: Option<OtherInformation>,
        unknown: Unknown,
    }

    /// The protocol versions that a peer supports; bit 0 is version 1.
    #[derive(Copy, Eq, Default)]
    [3] pub struct ProtocolVersion(pub Bits)

    /// The services and features that a peer offers or grants (Z39.50-2003 §3.2.1.1.3).
    #[derive(Copy, Eq, Default)]
    [4] pub struct Options(pub Bits)
}

production! {
    /// The client's credentials, which `Debug` never shows.
    #[derive(Clone, PartialEq)]
    pub enum IdAuthentication {
        /// Free text, by convention `user/password`.
        Open(VisibleString),
        IdPass(IdPass),
        Anonymous,
        Other(External),
    }
}

impl fmt::Debug for IdAuthentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open(_) => "Open(<redacted>)",
            Self::IdPass(_) => "IdPass(<redacted>)",
            Self::Anonymous => "Anonymous",
            Self::Other(_) => "Other(<redacted>)",
        })
    }
}

redacted! {
    /// A group, user and password, which `Debug` never shows.
    #[derive(Default)]
    pub struct IdPass {
        [0] group_id: Option<InternationalString>,
        [1] user_id: Option<InternationalString>,
        [2] password: Option<InternationalString>,
    }
}

impl ProtocolVersion {
    /// Versions 1, 2 and 3.
    pub const UP_TO_3: Self = Self(Bits::of(&[0, 1, 2]));
    /// Versions 1 and 2.
    pub const UP_TO_2: Self = Self(Bits::of(&[0, 1]));
    /// Only version 1.
    pub const ONLY_1: Self = Self(Bits::of(&[0]));

    /// Returns the versions that both values contain.
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0.intersection(other.0))
    }

    /// Returns the highest version in the set, from 1 to 3; `None` if the set is empty. Versions 1 and 2 are the same
    /// protocol.
    pub fn highest(self) -> Option<u8> {
        self.0
            .positions()
            .filter(|&position| position < 3)
            .last()
            .map(|position| position + 1)
    }
}

macro_rules! options {
    ($($constant:ident = $bit:literal $name:literal),* $(,)?) => {
        impl Options {
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $constant: Self = Self(Bits::of(&[$bit]));
            )*

            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$constant, $name)),*];
        }
    };
}

options! {
    SEARCH = 0 "search", PRESENT = 1 "present", DELETE = 2 "delSet", RESOURCE_REPORT = 3 "resourceReport",
    TRIGGER_RESOURCE_CONTROL = 4 "triggerResourceCtrl", RESOURCE_CONTROL = 5 "resourceCtrl",
    ACCESS_CONTROL = 6 "accessCtrl", SCAN = 7 "scan", SORT = 8 "sort",
    EXTENDED_SERVICES = 10 "extendedServices", SEGMENTATION_1 = 11 "level-1Segmentation",
    SEGMENTATION_2 = 12 "level-2Segmentation", CONCURRENT_OPERATIONS = 13 "concurrentOperations",
    NAMED_RESULT_SETS = 14 "namedResultSets", ENCAPSULATION = 15 "encapsulation",
    RESULT_COUNT = 16 "resultCount", NEGOTIATION_MODEL = 17 "negotiationModel",
    DUPLICATE_DETECTION = 18 "duplicateDetection", QUERY_TYPE_104 = 19 "queryType104",
    PQES_CORRECTION = 20 "pQESCorrection", STRING_SCHEMA = 21 "stringSchema",
}

impl Options {
    /// Returns the standard's names for the options that are set, in bit order; bits without a name are left out.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let set = move |option: &&(Self, _)| self.contains(option.0);
        Self::NAMES.iter().filter(set).map(|(_, name)| *name)
    }

    /// Returns the option with this name; case is ignored. Returns `None` for a name that is not in the standard.
    pub fn by_name(name: &str) -> Option<Self> {
        let mut known = Self::NAMES.iter();
        let found = known.find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(option, _)| *option)
    }

    /// Returns whether every option of `other` is set.
    pub fn contains(self, other: Self) -> bool {
        other
            .0
            .positions()
            .all(|position| self.0.contains(position))
    }

    /// Returns the options set in either value.
    pub fn union(self, other: Self) -> Self {
        Self(other.0.positions().fold(self.0, Bits::with))
    }

    /// Returns the options set in both values.
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0.intersection(other.0))
    }
}

impl std::ops::BitOr for Options {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}
