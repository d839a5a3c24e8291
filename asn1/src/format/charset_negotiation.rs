//! Negotiation of character set and language, version 3. The otherInfo of Init contains the client's proposal and the
//! server's response (negotiation record CharSetandLanguageNegotiation-3; Z39.50-2003 Appendix NEG).
//!
//! A character set is ISO 10646 in one of its encodings, a combination of ISO 2022 sets by their registration numbers,
//! or a private set. In practice, a private set is an EXTERNAL defined by Index Data that contains its name, such as
//! `iso-8859-1` or `marc-8`.

use std::borrow::Cow;

use z3950_marc::charset::utf8_or_latin1;

use crate::apdu::{External, ExternalEncoding};
use crate::describe::described;
use crate::oid::{self, Oid};
use crate::record::explain::LanguageCode;

described! {
    /// CharSetandLanguageNegotiation: the client's proposal or the server's response.
    pub enum CharSetandLanguageNegotiation {
        [1] Proposal(OriginProposal),
        [2] Response(TargetResponse),
    }

    /// OriginProposal: the client's preferences, best first.
    #[derive(Default)]
    pub struct OriginProposal {
        /// The proposed character sets; absent if the client proposes protocol version 2.
        [1] proposed_char_sets: Option<Vec<ProposedCharSet>>,
        [2] proposedlanguages: Option<Vec<LanguageCode>>,
        /// Whether records should also be in the selected set. If absent, they need not be.
        [3] records_in_selected_char_sets: Option<bool>,
    }

    /// TargetResponse: the server's selection from the elements of the proposal.
    #[derive(Default)]
    pub struct TargetResponse {
        [1] selected_char_sets: Option<SelectedCharSet>,
        [2] selected_language: Option<LanguageCode>,
        [3] records_in_selected_char_sets: Option<bool>,
    }

    /// A proposed character set.
    pub enum ProposedCharSet {
        [1] Iso2022(Iso2022),
        [2] Iso10646(Iso10646),
        [3] Private(PrivateCharacterSet),
    }

    /// The selected character set.
    pub enum SelectedCharSet {
        [1] Iso2022(Iso2022),
        [2] Iso10646(Iso10646),
        [3] Private(PrivateCharacterSet),
        /// No character set, because the peers have not reached an agreement.
        [4] None,
    }

    /// PrivateCharacterSet: a set that is defined neither by ISO 2022 nor by ISO 10646.
    pub enum PrivateCharacterSet {
        [1] ViaOid(Vec<Oid>),
        [2] ExternallySpecified(Box<External>),
        [3] PreviouslyAgreedUpon,
    }

    /// Iso2022: sets by their numbers in the ISO register, and the slots to which they are designated.
    pub enum Iso2022 {
        [1] OriginProposal(Iso2022Proposal),
        [2] TargetResponse(Iso2022Response),
    }

    /// The ISO 2022 sets offered by the client.
    pub struct Iso2022Proposal {
        /// The environment; if absent, any environment is acceptable.
        [0] proposed_environment: Option<Environment>,
        [1] proposed_sets: Vec<i64>,
        [2] proposed_initial_sets: Vec<InitialSet>,
        [3] proposed_left_and_right: LeftAndRight,
    }

    /// The ISO 2022 sets selected by the server.
    pub struct Iso2022Response {
        [0] selected_environment: Environment,
        [1] selected_sets: Vec<i64>,
        [2] selectedinitial_set: InitialSet,
        [3] selected_left_and_right: LeftAndRight,
    }

    /// Environment: the number of bits used in each octet.
    pub enum Environment {
        [1] SevenBit,
        [2] EightBit,
    }

    /// InitialSet: the character sets in use at the start.
    #[derive(Default)]
    pub struct InitialSet {
        [0] g0: Option<i64>,
        [1] g1: Option<i64>,
        [2] g2: Option<i64>,
        [3] g3: Option<i64>,
        [4] c0: i64,
        [5] c1: Option<i64>,
    }

    /// LeftAndRight: the character sets in the two halves of the code table at the start.
    pub struct LeftAndRight {
        [3] g_left: GraphicSet,
        [4] g_right: Option<GraphicSet>,
    }

    /// An ISO 2022 slot to which a character set is designated.
    pub integer GraphicSet { G0 = 0 "g0", G1 = 1 "g1", G2 = 2 "g2", G3 = 3 "g3" }

    /// Iso10646: Unicode, with its repertoire and encoding.
    pub struct Iso10646 {
        /// The repertoire, as the identifier 1.0.10646.1.level followed by the collections; if absent, all collections
        /// at level 3.
        [1] collections: Option<Oid>,
        /// The encoding, as the identifier 1.0.10646.1.0 followed by 2 for UCS-2, 4 for UCS-4, 5 for UTF-16 or 8 for
        /// UTF-8.
        [2] encoding_level: Oid,
    }
}

/// The names of the ISO 10646 encodings, each with the last arc of its identifier.
const ENCODINGS: &[(&str, u32)] = &[("ucs-2", 2), ("ucs-4", 4), ("utf-16", 5), ("utf-8", 8)];

impl Iso10646 {
    /// Returns UTF-8, with all collections at level 3.
    pub fn utf_8() -> Option<Self> {
        Self::named("utf-8")
    }

    fn named(name: &str) -> Option<Self> {
        let (_, form) = ENCODINGS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Self {
            collections: None,
            encoding_level: encoding_level(*form)?,
        })
    }

    /// Returns the name of the encoding; `None` if it has no number in the standard.
    pub fn name(&self) -> Option<&'static str> {
        let is_it = |form: u32| encoding_level(form) == Some(self.encoding_level);
        ENCODINGS
            .iter()
            .find(|(_, form)| is_it(*form))
            .map(|(name, _)| *name)
    }
}

fn encoding_level(form: u32) -> Option<Oid> {
    Oid::from_arcs(&[1, 0, 10646, 1, 0, form])
}

impl PrivateCharacterSet {
    /// Creates a private set with a name, in the form sent by Index Data's programs.
    pub fn named(name: &str) -> Self {
        Self::ExternallySpecified(Box::new(External::octet_aligned(oid::CHARSET_ID, name)))
    }

    /// Returns the name of the private set, if it has one.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        let Self::ExternallySpecified(external) = self else {
            return None;
        };
        match &external.encoding {
            ExternalEncoding::OctetAligned(octets) => Some(utf8_or_latin1(octets)),
            _ => None,
        }
    }
}

/// Implements names for proposed and selected sets.
macro_rules! named_sets {
    ($($set:ident),*) => {$(
        impl $set {
            /// Returns the set with this name: an ISO 10646 encoding (`utf-8`, `utf-16`, `ucs-2`, `ucs-4`), or a
            /// private set for any other name.
            pub fn named(name: &str) -> Self {
                match Iso10646::named(name) {
                    Some(set) => Self::Iso10646(set),
                    None => Self::Private(PrivateCharacterSet::named(name)),
                }
            }

            /// Returns the name as sent by the peer; `None` for a set without a name, or if there is no agreement.
            pub fn name(&self) -> Option<Cow<'_, str>> {
                match self {
                    Self::Iso10646(set) => set.name().map(Cow::Borrowed),
                    Self::Private(set) => set.name(),
                    _ => None,
                }
            }
        }
    )*};
}
named_sets!(ProposedCharSet, SelectedCharSet);

impl OriginProposal {
    /// Creates a proposal of sets and languages by name, best first; an empty list is left out. If `records_too` is
    /// set, the client also wants records in the selected set.
    pub fn named(char_sets: &[&str], languages: &[&str], records_too: bool) -> Self {
        let sets = char_sets
            .iter()
            .map(|name| ProposedCharSet::named(name))
            .collect();
        let languages_named = languages
            .iter()
            .map(|language| (*language).into())
            .collect();
        Self {
            proposed_char_sets: (!char_sets.is_empty()).then_some(sets),
            proposedlanguages: (!languages.is_empty()).then_some(languages_named),
            records_in_selected_char_sets: (!char_sets.is_empty()).then_some(records_too),
        }
    }
}
