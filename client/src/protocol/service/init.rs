//! Init: negotiates the services and limits that the client offers and the server grants (Z39.50-2003 §3.2.1).

mod user_information;

use z3950_asn1::apdu::{
    Apdu, IdAuthentication, IdPass, InitializeRequest, InitializeResponse, Options, ProtocolVersion,
};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::charset_negotiation::{
    CharSetandLanguageNegotiation, OriginProposal, TargetResponse,
};
use z3950_asn1::types::Bits;

use crate::error::{Diagnostics, Error, InitRejected};

/// The offered `preferredMessageSize`, in octets.
pub(crate) const PREFERRED_MESSAGE_SIZE: u32 = 1_048_576;
/// The offered `exceptionalRecordSize`, in octets.
pub const EXCEPTIONAL_RECORD_SIZE: u32 = 16_777_216;
/// The number of octets that an APDU with an exceptional record may have in addition to the record.
pub const APDU_SLACK: u32 = 65_536;

/// The services and features that this client implements. Access control and resource control are offered only in
/// sessions that have a handler for them.
pub(crate) const IMPLEMENTED: Options = Options(Bits::of(&[
    0, 1, 2, 3, 4, 7, 8, 10, 11, 12, 13, 14, 16, 18, 19, 21,
]));

/// Returns the default Init request, which offers everything that this client implements.
pub fn offer() -> InitializeRequest {
    InitializeRequest {
        options: IMPLEMENTED,
        preferred_message_size: PREFERRED_MESSAGE_SIZE.into(),
        exceptional_record_size: EXCEPTIONAL_RECORD_SIZE.into(),
        implementation_name: Some("z3950".into()),
        implementation_version: Some(env!("CARGO_PKG_VERSION").into()),
        ..InitializeRequest::new()
    }
}

/// Adds a proposal for a character set and a language to the Init request.
///
/// # Errors
/// Fails only if BER cannot encode a value.
pub fn negotiating(
    mut init: InitializeRequest,
    proposal: OriginProposal,
) -> Result<InitializeRequest, EncodeError> {
    let proposal = CharSetandLanguageNegotiation::Proposal(proposal);
    let other_info = init.other_info.get_or_insert_default();
    other_info.put_value(&proposal)?;
    init.options = init.options | Options::NEGOTIATION_MODEL;
    Ok(init)
}

/// Returns the maximum size of received APDUs, in octets. The memory is always limited: an offer of 0, which means no
/// limit, is treated as [`EXCEPTIONAL_RECORD_SIZE`].
pub(crate) fn max_apdu_size(offered: &InitializeRequest) -> usize {
    let record = match u32::try_from(offered.exceptional_record_size) {
        Ok(0) | Err(_) => EXCEPTIONAL_RECORD_SIZE,
        Ok(size) => size,
    };
    usize::try_from(record.saturating_add(APDU_SLACK)).unwrap_or(usize::MAX)
}

/// Combines a user, group and password, each of which is optional (Z39.50-2003 §3.2.1.1.2).
pub fn id_pass(
    user: Option<&str>,
    group: Option<&str>,
    password: Option<&str>,
) -> IdAuthentication {
    IdAuthentication::IdPass(IdPass {
        group_id: group.map(Into::into),
        user_id: user.map(Into::into),
        password: password.map(Into::into),
    })
}

/// The result of Init: the values on which client and server have agreed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InitOutcome {
    pub(crate) version: u8,
    pub(crate) options: Options,
}

/// The server's description of itself, and the values that are in effect after Init.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The protocol version in effect, 1 to 3: the highest version that both sides support.
    pub version: u8,
    /// The options in effect, which the client has offered and the server has granted.
    pub options: Options,
    /// Messages to the user, from `userInformationField` and `otherInfo`.
    pub text: Vec<String>,
    /// Diagnostics from `userInformationField` and `otherInfo`, sent although Init was accepted.
    pub diagnostics: Diagnostics,
    /// The InitializeResponse as received.
    pub response: InitializeResponse,
}

impl ServerInfo {
    /// Creates the information from the response of a server that accepts the offer.
    pub(crate) fn new(offered: &InitializeRequest, response: InitializeResponse) -> Self {
        let said = user_information::read(&response);
        Self {
            version: version(offered.protocol_version, &response),
            options: offered.options.intersection(response.options),
            text: said.text,
            diagnostics: said.diagnostics,
            response,
        }
    }

    /// Returns the character set and language that the server selected from the proposal, or `None` if it selected
    /// none.
    pub fn negotiated(&self) -> Option<TargetResponse> {
        match self.response.other_info.as_ref()?.value()? {
            CharSetandLanguageNegotiation::Response(response) => Some(response),
            CharSetandLanguageNegotiation::Proposal(_) => None,
        }
    }
}

/// Returns the protocol version in effect. A server that accepts Init without naming a common version is assumed to use
/// version 2, in which servers do not send requests.
fn version(offered: ProtocolVersion, response: &InitializeResponse) -> u8 {
    offered
        .intersection(response.protocol_version)
        .highest()
        .unwrap_or(2)
}

/// Returns an error if the server rejected Init.
pub(crate) fn examine(response: &InitializeResponse) -> Result<(), Error> {
    if response.result {
        return Ok(());
    }
    let said = user_information::read(response);
    Err(InitRejected {
        text: said.text,
        diagnostics: said.diagnostics,
    }
    .into())
}

/// Returns the values in effect after an accepted Init, or `None` for any other request or answer.
pub(crate) fn agreed(request: &Apdu, answer: &Apdu) -> Option<InitOutcome> {
    match (request, answer) {
        (Apdu::InitializeRequest(request), Apdu::InitializeResponse(response)) => {
            Some(InitOutcome {
                version: version(request.protocol_version, response),
                options: request.options.intersection(response.options),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::codec;

    #[test]
    fn the_offer_matches_the_implementation() {
        let octets = codec::encode(&offer().into()).expect("encodes");
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let expected = [
            &[
                0x83, 2, 5, 0xe0, 0x84, 4, 2, 0xf9, 0xbe, 0xb4, 0x85, 3, 0x10, 0, 0, 0x86, 4, 1, 0,
                0, 0,
            ][..],
            &[0x9f, 0x6f, 5],
            b"z3950",
            &[0x9f, 0x70, u8::try_from(version.len()).expect("short")],
            version,
        ]
        .concat();
        let (header, contents) = octets.split_at(2);
        assert_eq!(header.first(), Some(&0xb4));
        assert_eq!(contents, expected);
    }

    #[test]
    fn secrets_do_not_show() {
        let password = Some(IdAuthentication::IdPass(IdPass {
            user_id: Some("me".into()),
            password: Some("secret".into()),
            group_id: None,
        }));
        let init = InitializeRequest {
            id_authentication: password,
            ..offer()
        };
        let shown = format!("{init:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("\"me\""),
            "{shown}"
        );
    }

    #[test]
    fn the_size_limit_follows_the_offer() {
        for (offered, limit) in [(16_777_216, 16_842_752), (0, 16_842_752), (1, 65_537)] {
            let init = InitializeRequest {
                exceptional_record_size: offered,
                ..offer()
            };
            assert_eq!(max_apdu_size(&init), limit);
        }
    }
}
