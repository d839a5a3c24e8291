//! Init (Z39.50-2003 §3.2.1): decides whether to admit the client, and negotiates the protocol version, options, message sizes,
//! character set and language (Appendix NEG, charsetNegotiation-3). The only character set that the server ever selects is UTF-8.
//! This does not affect records, which have the character set that they declare.

use std::net::IpAddr;
use std::sync::Arc;

use z3950_asn1::apdu::{
    Apdu, ExternalValue, InitializeRequest, InitializeResponse, Options, OtherInformation,
    ProtocolVersion,
};
use z3950_asn1::format::charset_negotiation::{
    CharSetandLanguageNegotiation, OriginProposal, ProposedCharSet, SelectedCharSet, TargetResponse,
};
use z3950_asn1::format::user_info1::UserInfo1;
use z3950_asn1::types::{Bits, InternationalString};

use crate::access::Admission;
use crate::association::Terms;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::guesses::Penalty;
use crate::logins::Proof;
use crate::offer::Offer;
use crate::target::{Target, UserPermit};
use crate::units::count;

/// Returns the answer and the agreed terms, which are `None` if there is no common version or the client is not admitted. In
/// these cases, the result is FALSE and the reason is in the userInformationField, as with other servers. Also returns the
/// penalty for a wrong password.
pub(crate) fn answer(
    request: &InitializeRequest,
    target: &Arc<Target>,
    peer: Option<IpAddr>,
    proof: Proof,
) -> (Apdu, Option<(Terms, Option<UserPermit>)>, Penalty) {
    let offer = &target.offer;
    let protocol_version = request.protocol_version.intersection(offer.versions);
    let limits = &target.limits;
    let preferred = agreed(
        request.preferred_message_size,
        limits.preferred_message_size,
    );
    let exceptional = agreed(
        request.exceptional_record_size,
        limits.exceptional_record_size,
    );
    let exceptional = exceptional.max(preferred);
    let proposed = proposal(request);
    let mut response = InitializeResponse {
        protocol_version,
        options: options(request, offer, protocol_version, proposed.is_some()),
        preferred_message_size: count(preferred),
        exceptional_record_size: count(exceptional),
        result: true,
        implementation_id: text(&offer.implementation_id),
        implementation_name: text(&offer.implementation_name),
        implementation_version: text(&offer.implementation_version),
        other_info: proposed.and_then(|proposal| {
            let answer = selection(&proposal, offer);
            other_information(&CharSetandLanguageNegotiation::Response(answer))
        }),
        ..InitializeResponse::default()
    };
    let mut penalty = Penalty::default();
    let admitted = protocol_version.highest().ok_or(None).and_then(|version| {
        let (permit, unproved) = admit(request, target, peer, proof, &mut penalty).map_err(Some)?;
        let terms = Terms {
            version,
            options: response.options,
            preferred_message_size: preferred,
            exceptional_record_size: exceptional,
            unproved,
        };
        Ok((terms, permit))
    });
    if let Err(why) = &admitted {
        let why = why.clone();
        response.result = false;
        response.other_info = None;
        response.user_information_field = why.and_then(|why| UserInfo1::diagnostic(why).ok());
    }
    (response.into(), admitted.ok(), penalty)
}

/// Returns the user's permit if the client is admitted as a user, and whether the client must still authenticate.
fn admit(
    request: &InitializeRequest,
    target: &Arc<Target>,
    peer: Option<IpAddr>,
    proof: Proof,
    penalty: &mut Penalty,
) -> Result<(Option<UserPermit>, bool), Diagnostic> {
    let access = &target.access;
    let is_blocked = |address: &IpAddr| {
        let mut blocked = access.blocked.iter();
        blocked.any(|blocked| blocked.to_canonical() == *address)
    };
    if let Some(address) = peer.filter(is_blocked) {
        return Err(diagnostic(Condition::ADDRESS_BLOCKED, address.to_string()));
    }
    if !target.has_logins() {
        return Ok((None, false));
    }
    let prove = || {
        let (proved, due) = target.logins.judge(peer, &target.limits, proof);
        *penalty = due;
        proved
    };
    let credentials = request.id_authentication.as_ref();
    let admission = access.admit(credentials, prove);
    match admission? {
        Admission::Anybody => Ok((None, false)),
        Admission::Unproved => Ok((None, true)),
        Admission::User(user) => match UserPermit::take(target, user) {
            Some(permit) => Ok((Some(permit), false)),
            None => Err(diagnostic(Condition::TOO_MANY_SESSIONS, "")),
        },
    }
}

/// The options that require version 3. In version 2, an answer is a single APDU, and operations are serial (Z39.50-2003 §3.3,
/// §3.5).
const OF_VERSION_3: [Options; 3] = [
    Options::SEGMENTATION_1,
    Options::SEGMENTATION_2,
    Options::CONCURRENT_OPERATIONS,
];

/// Returns the options that are requested, offered, and available in the version in force. The negotiation model is granted only
/// if the client has sent a proposal.
fn options(
    request: &InitializeRequest,
    offer: &Offer,
    version: ProtocolVersion,
    negotiates: bool,
) -> Options {
    let Options(agreed) = request.options.intersection(offer.options);
    let has_version_3 = version.highest() >= Some(3);
    let is_granted = |bit: &u8| {
        let is_one = |option: &Options| option.0.contains(*bit);
        (negotiates || !is_one(&Options::NEGOTIATION_MODEL))
            && (has_version_3 || !OF_VERSION_3.iter().any(is_one))
    };
    let granted = agreed.positions().filter(is_granted);
    Options(granted.fold(Bits::default(), Bits::with))
}

/// Returns the size requested by the client, limited to the server's maximum `own`. If the requested size is zero or negative,
/// the client sets no limit.
fn agreed(asked: i64, own: usize) -> usize {
    match usize::try_from(asked) {
        Ok(asked) if asked > 0 => asked.min(own),
        _ => own,
    }
}

fn text(words: &Option<String>) -> Option<InternationalString> {
    words.as_deref().map(Into::into)
}

fn other_information(value: &impl ExternalValue) -> Option<OtherInformation> {
    let mut information = OtherInformation::default();
    information.put_value(value).ok()?;
    Some(information)
}

/// Returns the client's proposal of character sets and languages, if there is one.
fn proposal(request: &InitializeRequest) -> Option<OriginProposal> {
    let information = request.other_info.as_ref();
    match information.and_then(OtherInformation::value)? {
        CharSetandLanguageNegotiation::Proposal(proposal) => Some(proposal),
        CharSetandLanguageNegotiation::Response(_) => None,
    }
}

/// Returns the server's selection from a proposal. The language is the first proposed one that the server offers.
fn selection(proposal: &OriginProposal, offer: &Offer) -> TargetResponse {
    let sets = proposal.proposed_char_sets.as_deref();
    let languages = proposal.proposedlanguages.as_deref().unwrap_or_default();
    let is_offered = |language: &&InternationalString| {
        let mut offered = offer.languages.iter();
        offered.any(|offered| language.as_bytes().eq_ignore_ascii_case(offered.as_bytes()))
    };
    TargetResponse {
        selected_char_sets: sets.map(|sets| {
            let utf_8 = sets.iter().find(|set| is_utf_8(set));
            utf_8.map_or(SelectedCharSet::None, selected)
        }),
        selected_language: languages.iter().find(is_offered).cloned(),
        records_in_selected_char_sets: proposal.records_in_selected_char_sets.map(|_| false),
    }
}

fn is_utf_8(set: &ProposedCharSet) -> bool {
    let name = set.name();
    name.is_some_and(|name| name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8"))
}

/// Returns the selection of a character set in the form in which it was proposed: by number or by name.
fn selected(set: &ProposedCharSet) -> SelectedCharSet {
    match set {
        ProposedCharSet::Iso2022(_) => SelectedCharSet::None,
        ProposedCharSet::Iso10646(set) => SelectedCharSet::Iso10646(set.clone()),
        ProposedCharSet::Private(set) => SelectedCharSet::Private(set.clone()),
    }
}
