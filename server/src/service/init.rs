//! Init (Z39.50-2003 §3.2.1): which version, which services, how large the messages.

use z3950_asn1::apdu::{Apdu, InitializeRequest, InitializeResponse, Options, ProtocolVersion};
use z3950_asn1::optional::Unknown;

use super::count;
use crate::limits::Limits;
use crate::session::Terms;

/// The answer, and what is agreed on; `None` when no version is common and the result is FALSE.
pub(crate) fn answer(request: &InitializeRequest, limits: &Limits) -> (Apdu, Option<Terms>) {
    let protocol_version = request
        .protocol_version
        .intersection(ProtocolVersion::UP_TO_3);
    let preferred = agreed(
        request.preferred_message_size,
        limits.preferred_message_size,
    );
    let exceptional = agreed(
        request.exceptional_record_size,
        limits.exceptional_record_size,
    );
    let terms = protocol_version.highest().map(|version| Terms {
        version,
        preferred_message_size: preferred,
        exceptional_record_size: exceptional.max(preferred),
    });
    let response = InitializeResponse {
        reference_id: None,
        protocol_version,
        options: request.options.intersection(offered()),
        preferred_message_size: count(preferred),
        exceptional_record_size: count(exceptional.max(preferred)),
        result: terms.is_some(),
        implementation_id: None,
        implementation_name: Some("z3950d".into()),
        implementation_version: Some(env!("CARGO_PKG_VERSION").into()),
        user_information_field: None,
        other_info: None,
        unknown: Unknown::default(),
    };
    (response.into(), terms)
}

/// What the server does.
fn offered() -> Options {
    Options::SEARCH | Options::PRESENT | Options::DELETE | Options::NAMED_RESULT_SETS
}

/// The smaller of what is asked for and the server's own limit; 0, and less, asks for no limit.
fn agreed(asked: i64, own: usize) -> usize {
    match usize::try_from(asked) {
        Ok(asked) if asked > 0 => asked.min(own),
        _ => own,
    }
}
