//! Init: what this client offers, and what the server grants (Z39.50-2003 §3.2.1).

mod user_information;

use z3950_asn1::apdu::{
    Apdu, External, IdAuthentication, IdPass, InitializeRequest, InitializeResponse, Options,
    OtherInformation, ProtocolVersion,
};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::charset_negotiation::{
    CharSetandLanguageNegotiation, OriginProposal, TargetResponse,
};
use z3950_asn1::types::{Bits, InternationalString};

use crate::error::{Diagnostics, Error, InitRejected};

/// `preferredMessageSize` offered, in octets.
pub const PREFERRED_MESSAGE_SIZE: u32 = 1_048_576;
/// `exceptionalRecordSize` offered, in octets.
pub const EXCEPTIONAL_RECORD_SIZE: u32 = 16_777_216;
/// Room for the rest of an APDU that holds an exceptional record, in octets.
pub const APDU_SLACK: u32 = 65_536;

/// The implemented services and features. Access control and resource control are added by sessions with a handler for them.
pub const IMPLEMENTED: Options = Options(Bits::of(&[
    0, 1, 2, 3, 4, 7, 8, 10, 11, 12, 13, 14, 16, 18, 19, 21,
]));

/// What Init offers. By default everything that this client implements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InitOptions {
    /// The protocol versions offered.
    pub versions: ProtocolVersion,
    /// The services and features offered.
    pub options: Options,
    /// The preferred maximum of octets in a response; 0 means no limit.
    pub preferred_message_size: u32,
    /// The most octets of a single record. 0 offers no limit; the limit enforced is then that of
    /// [`EXCEPTIONAL_RECORD_SIZE`].
    pub exceptional_record_size: u32,
    /// The client's identity; see [`authenticate`]. Never shown.
    pub authentication: Option<IdAuthentication>,
    /// The identifier of the implementor.
    pub implementation_id: Option<String>,
    /// The name of the program.
    pub implementation_name: String,
    /// The version of the program.
    pub implementation_version: String,
    /// A value for the server in a user information format.
    pub user_information: Option<External>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
}

impl Default for InitOptions {
    fn default() -> Self {
        Self {
            versions: ProtocolVersion::UP_TO_3,
            options: IMPLEMENTED,
            preferred_message_size: PREFERRED_MESSAGE_SIZE,
            exceptional_record_size: EXCEPTIONAL_RECORD_SIZE,
            authentication: None,
            implementation_id: None,
            implementation_name: "z3950".into(),
            implementation_version: env!("CARGO_PKG_VERSION").into(),
            user_information: None,
            other_info: None,
        }
    }
}

impl InitOptions {
    /// Proposes a character set and a language.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn negotiating(mut self, proposal: OriginProposal) -> Result<Self, EncodeError> {
        let proposal = CharSetandLanguageNegotiation::Proposal(proposal);
        let other_info = self.other_info.get_or_insert_default();
        other_info.put_value(&proposal)?;
        self.options = self.options | Options::NEGOTIATION_MODEL;
        Ok(self)
    }

    /// The request with these options.
    pub fn request(&self) -> InitializeRequest {
        InitializeRequest {
            reference_id: None,
            protocol_version: self.versions,
            options: self.options,
            preferred_message_size: self.preferred_message_size.into(),
            exceptional_record_size: self.exceptional_record_size.into(),
            id_authentication: self.authentication.clone(),
            implementation_id: self
                .implementation_id
                .as_deref()
                .map(InternationalString::from),
            implementation_name: Some(self.implementation_name.as_str().into()),
            implementation_version: Some(self.implementation_version.as_str().into()),
            user_information_field: self.user_information.clone(),
            other_info: self.other_info.clone(),
            unknown: Default::default(),
        }
    }

    /// The size limit of received APDUs, in octets: it bounds memory whatever is negotiated.
    pub fn max_apdu_size(&self) -> usize {
        let record = match self.exceptional_record_size {
            0 => EXCEPTIONAL_RECORD_SIZE,
            size => size,
        };
        usize::try_from(record.saturating_add(APDU_SLACK)).unwrap_or(usize::MAX)
    }
}

/// The forms of [`InitOptions::authentication`] (Z39.50-2003 §3.2.1.1.2).
pub mod authenticate {
    use super::{IdAuthentication, IdPass};

    /// Explicitly anonymous.
    pub fn anonymous() -> IdAuthentication {
        IdAuthentication::Anonymous
    }

    /// A string that server and client agree on, usually `user/password`.
    pub fn open(text: &str) -> IdAuthentication {
        IdAuthentication::Open(text.into())
    }

    /// User, group and password, each optional.
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
}

/// What is in force after Init.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Agreed {
    pub(crate) version: u8,
    pub(crate) options: Options,
}

/// What the server is, and what is in force after Init.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The version in force, 1 to 3: the highest that both sides speak.
    pub version: u8,
    /// The versions the server named.
    pub versions: ProtocolVersion,
    /// The options in force: offered and granted.
    pub options: Options,
    /// The options the server named, whether offered or not.
    pub granted: Options,
    /// Octets; 0 means no limit.
    pub preferred_message_size: i64,
    /// Octets; 0 means no limit.
    pub exceptional_record_size: i64,
    /// The server's `implementationId`.
    pub implementation_id: Option<String>,
    /// The server's `implementationName`.
    pub implementation_name: Option<String>,
    /// The server's `implementationVersion`.
    pub implementation_version: Option<String>,
    /// Messages to the user, from `userInformationField` and `otherInfo`.
    pub text: Vec<String>,
    /// Diagnostics from the same elements, sent although Init was accepted.
    pub diagnostics: Diagnostics,
    /// `userInformationField` as received.
    pub user_information: Option<External>,
    /// `otherInfo` as received.
    pub other_info: Option<OtherInformation>,
}

impl ServerInfo {
    /// The meaning of an accepting response to an offer.
    pub(crate) fn new(offered: &InitOptions, response: &InitializeResponse) -> Self {
        let text = |string: &Option<InternationalString>| {
            string
                .as_ref()
                .map(|string| string.to_string_lossy().into_owned())
        };
        let said = user_information::read(response);
        Self {
            version: version(offered.versions, response),
            versions: response.protocol_version,
            options: offered.options.intersection(response.options),
            granted: response.options,
            preferred_message_size: response.preferred_message_size,
            exceptional_record_size: response.exceptional_record_size,
            implementation_id: text(&response.implementation_id),
            implementation_name: text(&response.implementation_name),
            implementation_version: text(&response.implementation_version),
            text: said.text,
            diagnostics: said.diagnostics,
            user_information: response.user_information_field.clone(),
            other_info: response.other_info.clone(),
        }
    }

    /// The character set and language that the server selected among those proposed, if it did.
    pub fn negotiated(&self) -> Option<TargetResponse> {
        match self.other_info.as_ref()?.value()? {
            CharSetandLanguageNegotiation::Response(response) => Some(response),
            CharSetandLanguageNegotiation::Proposal(_) => None,
        }
    }
}

/// The version in force. A server that accepts without naming a common version is taken to speak version 2, in which nothing
/// is sent unsolicited.
fn version(offered: ProtocolVersion, response: &InitializeResponse) -> u8 {
    offered
        .intersection(response.protocol_version)
        .highest()
        .unwrap_or(2)
}

/// Fails if the server rejected Init.
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

/// What is in force after an accepted Init; `None` for other exchanges.
pub(crate) fn agreed(request: &Apdu, answer: &Apdu) -> Option<Agreed> {
    match (request, answer) {
        (Apdu::InitializeRequest(request), Apdu::InitializeResponse(response)) => Some(Agreed {
            version: version(request.protocol_version, response),
            options: request.options.intersection(response.options),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::codec;

    #[test]
    fn the_offer_is_what_we_implement() {
        let octets = codec::encode(&InitOptions::default().request().into()).expect("encodes");
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
        let options = InitOptions {
            authentication: password,
            ..InitOptions::default()
        };
        let shown = format!("{options:?} {:?}", options.request());
        assert!(
            !shown.contains("secret") && !shown.contains("\"me\""),
            "{shown}"
        );
    }

    #[test]
    fn the_size_limit_follows_the_offer() {
        for (offered, limit) in [(16_777_216, 16_842_752), (0, 16_842_752), (1, 65_537)] {
            let options = InitOptions {
                exceptional_record_size: offered,
                ..InitOptions::default()
            };
            assert_eq!(options.max_apdu_size(), limit);
        }
    }
}
