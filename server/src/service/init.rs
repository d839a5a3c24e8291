//! Init (Z39.50-2003 §3.2.1): admission, protocol version, options and message sizes.

mod negotiation;

use std::net::IpAddr;
use std::sync::Arc;

use z3950_asn1::apdu::{
    Apdu, ExternalValue, InitializeRequest, InitializeResponse, Options, OtherInformation,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::charset_negotiation::CharSetandLanguageNegotiation;
use z3950_asn1::format::user_info1::UserInfo1;
use z3950_asn1::types::{Bits, InternationalString};

use crate::access::Admission;
use crate::association::Terms;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::offer::Offer;
use crate::target::{Seat, Target};
use crate::units::count;

/// The answer, and what is agreed on; `None` if there is no common version or the client is not admitted. Then the result is
/// FALSE, with the reason in the userInformationField, as other servers send it.
pub(crate) fn answer(
    request: &InitializeRequest,
    target: &Arc<Target>,
    peer: Option<IpAddr>,
) -> (Apdu, Option<(Terms, Option<Seat>)>) {
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
    let proposal = negotiation::proposal(request);
    let mut response = InitializeResponse {
        protocol_version,
        options: options(request, offer, proposal.is_some()),
        preferred_message_size: count(preferred),
        exceptional_record_size: count(exceptional),
        result: true,
        implementation_id: text(&offer.implementation_id),
        implementation_name: text(&offer.implementation_name),
        implementation_version: text(&offer.implementation_version),
        other_info: proposal.and_then(|proposal| {
            let answer = negotiation::response(&proposal, offer);
            other_information(&CharSetandLanguageNegotiation::Response(answer))
        }),
        ..InitializeResponse::default()
    };
    let admitted = match protocol_version.highest() {
        None => Err(None),
        Some(version) => admit(request, target, peer)
            .map(|(seat, unproved)| (version, seat, unproved))
            .map_err(Some),
    };
    let granted = match admitted {
        Ok((version, seat, unproved)) => {
            let terms = Terms {
                version,
                options: response.options,
                preferred_message_size: preferred,
                exceptional_record_size: exceptional,
                unproved,
            };
            Some((terms, seat))
        }
        Err(why) => {
            response.result = false;
            response.other_info = None;
            response.user_information_field = why.and_then(|why| UserInfo1::diagnostic(why).ok());
            None
        }
    };
    (response.into(), granted)
}

/// The seat of the client, if it is a user, and whether it must still authenticate.
fn admit(
    request: &InitializeRequest,
    target: &Arc<Target>,
    peer: Option<IpAddr>,
) -> Result<(Option<Seat>, bool), Diagnostic> {
    let access = &target.access;
    let is_blocked = |address: &IpAddr| {
        let mut blocked = access.blocked.iter();
        blocked.any(|blocked| blocked.to_canonical() == *address)
    };
    if let Some(address) = peer.filter(is_blocked) {
        return Err(diagnostic(BLOCKED, address.to_string()));
    }
    match access.admit(request.id_authentication.as_ref())? {
        Admission::Anybody => Ok((None, false)),
        Admission::Unproved => Ok((None, true)),
        Admission::User(user) => match Seat::take(target, user) {
            Some(seat) => Ok((Some(seat), false)),
            None => Err(diagnostic(Condition::TOO_MANY_SESSIONS, "")),
        },
    }
}

/// 1016: the address is blocked.
const BLOCKED: Condition = Condition(1016);

/// The options that are both requested and offered. The negotiation model is only granted if there is something to negotiate.
fn options(request: &InitializeRequest, offer: &Offer, negotiates: bool) -> Options {
    let Options(agreed) = request.options.intersection(offer.options);
    let Options(model) = Options::NEGOTIATION_MODEL;
    let granted = agreed
        .positions()
        .filter(|bit| negotiates || !model.contains(*bit));
    Options(granted.fold(Bits::default(), Bits::with))
}

/// The smaller of the requested size and the server's limit; zero or less requests no limit.
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
