//! Tests of the messages of errors.

use super::*;

#[test]
fn messages_are_plain_and_each_level_adds_its_own() {
    let chain = |error: Error| {
        let mut words = vec![error.to_string()];
        let mut level: &dyn std::error::Error = &error;
        while let Some(source) = level.source() {
            words.push(source.to_string());
            level = source;
        }
        words.join(" | ")
    };
    let closed = |phase, info: Option<&str>| Error::ProtocolClosed {
        phase,
        reason: CloseReason(42),
        info: info.map(str::to_owned),
    };
    let unavailable = |phase, cause| Error::Unavailable { phase, cause };
    for (error, words) in [
        (
            unavailable(Phase::Init, Cause::Disconnected),
            "closed during Init: check credentials, address allow-list or database | connection closed by the server",
        ),
        (
            unavailable(Phase::Search, Cause::Timeout(Duration::from_millis(1500))),
            "no answer to Search in time | no response within 1.5 s",
        ),
        (
            unavailable(
                Phase::Connect,
                Cause::Refused(Arc::new(io::Error::other("refused"))),
            ),
            "cannot connect | connection refused | refused",
        ),
        (
            unavailable(Phase::Connect, Cause::SessionsInUse(Duration::from_secs(5))),
            "cannot connect | as many sessions as the target allows are in use, and none was returned within 5 s",
        ),
        (
            closed(Phase::Search, Some("bye")),
            "the server closed the session during Search, reason 42: bye",
        ),
        (
            closed(Phase::Init, None),
            "the server closed the session during Init, reason 42; check credentials, address allow-list or database",
        ),
        (
            Error::Ended {
                cause: Some(Arc::new(closed(Phase::Idle, None))),
            },
            "the session has ended | the server closed the session during a pause, reason 42",
        ),
        (
            Error::Refused {
                phase: Phase::Search,
                diagnostics: Diagnostics::default(),
            },
            "Search failed: the server gave no reason",
        ),
        (
            InitRejected::default().into(),
            "the server refused the session: no reason given; check credentials, address allow-list or database",
        ),
        (
            Error::fault(Phase::Present, ProtocolFault::ReferenceId),
            "protocol error during Present | a response with a referenceId that was not sent",
        ),
    ] {
        assert_eq!(chain(error), words);
    }
}
