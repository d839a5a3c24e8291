//! Negotiation of character set and language (Z39.50-2003 Appendix NEG, charsetNegotiation-3). The server selects UTF-8 or
//! nothing. Records stay in the character set that they declare.

use z3950_asn1::apdu::{InitializeRequest, OtherInformation};
use z3950_asn1::format::charset_negotiation::{
    CharSetandLanguageNegotiation, OriginProposal, ProposedCharSet, SelectedCharSet, TargetResponse,
};

use crate::offer::Offer;

/// The client's proposal, if there is one.
pub(super) fn proposal(request: &InitializeRequest) -> Option<OriginProposal> {
    let information = request.other_info.as_ref();
    match information.and_then(OtherInformation::value)? {
        CharSetandLanguageNegotiation::Proposal(proposal) => Some(proposal),
        CharSetandLanguageNegotiation::Response(_) => None,
    }
}

/// The server's selection. Of the languages, it is the first that the server offers.
pub(super) fn response(proposal: &OriginProposal, offer: &Offer) -> TargetResponse {
    let sets = proposal.proposed_char_sets.as_deref();
    let languages = proposal.proposedlanguages.as_deref().unwrap_or_default();
    TargetResponse {
        selected_char_sets: sets.map(|sets| {
            let utf_8 = sets.iter().find(|set| is_utf_8(set));
            utf_8.map_or(SelectedCharSet::None, selected)
        }),
        selected_language: languages
            .iter()
            .find(|language| {
                let mut offered = offer.languages.iter();
                offered.any(|offered| language.as_bytes().eq_ignore_ascii_case(offered.as_bytes()))
            })
            .cloned(),
        records_in_selected_char_sets: proposal.records_in_selected_char_sets.map(|_| false),
    }
}

fn is_utf_8(set: &ProposedCharSet) -> bool {
    let name = set.name();
    name.is_some_and(|name| name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8"))
}

/// Selects a set as it was proposed, by number or by name.
fn selected(set: &ProposedCharSet) -> SelectedCharSet {
    match set {
        ProposedCharSet::Iso2022(_) => SelectedCharSet::None,
        ProposedCharSet::Iso10646(set) => SelectedCharSet::Iso10646(set.clone()),
        ProposedCharSet::Private(set) => SelectedCharSet::Private(set.clone()),
    }
}
