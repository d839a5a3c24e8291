//! Parses the unsolicited APDUs that rules name: `close shutdown "good night"`, `segment`, `access-control`,
//! `resource-control` and `init-response`.

use z3950_asn1::apdu::{
    AccessControlRequest, Apdu, Close, CloseReason, InitializeResponse, Options, ProtocolVersion,
    ResourceControlRequest, SecurityChallenge, Segment,
};

use super::words::{RuleError, Words, choices};

/// The names and arguments of the APDUs, for messages.
pub(super) const NAMES: &str = "close [REASON [WORDS]] | segment | access-control [CHALLENGE] | resource-control [ask] | init-response";

/// Parses an APDU by its name and arguments.
pub(super) fn read(words: &mut Words<'_>) -> Result<Apdu, RuleError> {
    let at = words.position();
    match words.need("an APDU")?.as_str() {
        "close" => close(words),
        "segment" => Ok(Segment::default().into()),
        "access-control" => {
            let challenge = words.next()?.unwrap_or_default();
            Ok(access_control(challenge).into())
        }
        "resource-control" => {
            let ask = words.parse_if_any("ask", |text| (text == "ask").then_some(()))?;
            Ok(resource_control(ask.is_some()).into())
        }
        "init-response" => Ok(init_response().into()),
        other => {
            let choices = choices(NAMES);
            Err(RuleError::new(at, format!("no APDU {other:?}{choices}")))
        }
    }
}

/// Parses the reason and message of a Close; the default reason is `finished`.
pub(super) fn close(words: &mut Words<'_>) -> Result<Apdu, RuleError> {
    let reason = words.parse_if_any("a reason, by name or number", reason)?;
    let diagnostic_information = words.next()?;
    let reason = reason.unwrap_or(CloseReason::FINISHED);
    Ok(Close::new(reason, diagnostic_information.as_deref()).into())
}

/// Parses a reason: its name in the standard, or any number; `None` for other text.
fn reason(text: &str) -> Option<CloseReason> {
    let mut named = (0..=9).map(CloseReason);
    named
        .find(|reason| reason.name() == Some(text))
        .or_else(|| text.parse().ok().map(CloseReason))
}

/// Returns a challenge in the simple form.
pub(super) fn access_control(challenge: impl Into<bytes::Bytes>) -> AccessControlRequest {
    AccessControlRequest {
        reference_id: None,
        security_challenge: SecurityChallenge::SimpleForm(challenge.into().into()),
        other_info: None,
    }
}

/// Returns a ResourceControlRequest, which may require a response.
fn resource_control(response_required: bool) -> ResourceControlRequest {
    ResourceControlRequest {
        suspended_flag: response_required.then_some(true),
        response_required,
        ..ResourceControlRequest::default()
    }
}

/// Returns an InitResponse that grants version 3, Search and Present.
fn init_response() -> InitializeResponse {
    InitializeResponse {
        protocol_version: ProtocolVersion::UP_TO_3,
        options: Options::SEARCH | Options::PRESENT,
        preferred_message_size: 1 << 20,
        exceptional_record_size: 1 << 20,
        result: true,
        ..InitializeResponse::default()
    }
}
