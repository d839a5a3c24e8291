//! Messages about errors in retrievals and sessions, with exit codes. A message states what was attempted, the phase in
//! which it failed, the server's answer, and advice.

use z3950::error::chain;
use z3950::error::{Cause, Error, GatewayError, Phase, ProtocolFault};
use z3950::retrieve::{Outcome, OutcomeName};
use z3950::sru::SruFault;
use z3950::transport::{CertificateAdvice, certificate_advice, is_alert};
use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::error::FrameErrorKind;

use crate::console::exit::Exit;
use crate::console::password;

/// Returns the exit code for an error, and a one-line message that contains all its causes and any advice.
pub(crate) fn explain(error: &Error) -> (Exit, String) {
    let name = error.code();
    let words = match (error, name) {
        (Error::ProtocolError { fault, .. }, OutcomeName::NotGranted) => fault.to_string(),
        (
            Error::Unavailable {
                phase: Phase::Resolve,
                cause: Cause::Dns(reason),
                ..
            },
            _,
        ) => {
            // The chain of causes would repeat the reason four times, so the reason is shown only once.
            let reason = reason.to_string();
            let reason = reason.rsplit(": ").next().unwrap_or_default();
            advised(format!("{error} ({reason})"), advice(error))
        }
        _ => advised(chain(error), advice(error)),
    };
    (name.into(), words)
}

/// If the error means that the server does not offer Sort, returns a message saying that the result is not sorted.
/// Returns `None` for other errors.
pub(crate) fn unsorted(error: &Error) -> Option<String> {
    let is_lack = error.is_not_offered();
    is_lack.then(|| "the server does not offer sort: the records are in its own order".to_owned())
}

/// Returns the message and the exit code for an outcome other than a delivered record.
pub(crate) fn explain_outcome(outcome: &Outcome) -> (Exit, String) {
    let advice = of_syntax(outcome.diagnostics());
    match (outcome, advice) {
        (Outcome::Failed(error), None) => explain(error),
        (_, advice) => {
            let advice = advice.or_else(|| outcome.diagnostics().iter().find_map(hint));
            let message = advised(outcome.to_string(), advice);
            (outcome.name().into(), message)
        }
    }
}

fn advised(message: String, advice: Option<&str>) -> String {
    match advice {
        Some(advice) => format!("{message}; {advice}"),
        None => message,
    }
}

fn advice(error: &Error) -> Option<&'static str> {
    match error {
        Error::InitRejected(_) if password::is_missing() => Some(NO_PASSWORD),
        Error::Unavailable { phase, cause, .. } => lost(*phase, cause),
        Error::ProtocolError { phase, fault, .. } => broken(*phase, fault),
        Error::AccessRefused { .. } => Some(ASKED),
        Error::Ended {
            cause: Some(cause), ..
        } => advice(cause),
        Error::Gateway(GatewayError::Unreachable { error, .. }) => advice(error),
        // The message already names the fault of each source, so it needs no advice.
        Error::Incomplete(_) => None,
        other => other.diagnostics().iter().find_map(hint),
    }
}

/// The advice if a server refuses a user who has given no password.
const NO_PASSWORD: &str = "no password given: --password-env VARIABLE or --password-command COMMAND gives it, and on a terminal it is asked for";
/// The advice if a server requests credentials.
const ASKED: &str = "give them with --user and --password-env, or use z3950 open at a terminal, which prompts for them";
/// The advice if a certificate is not trusted.
const UNTRUSTED: &str = "--ca-file FILE trusts the server's own certificate or its CA; --insecure accepts any certificate, so that the server may be an impostor";
/// The advice if a certificate was issued for a different host.
const OTHER_NAME: &str = "connect to a name in the certificate, or make a certificate for this host: openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=HOST -addext subjectAltName=DNS:HOST (IP:ADDRESS for an address); --insecure accepts any certificate, so that the server may be an impostor";
/// The advice if a certificate has expired.
const OUTDATED: &str = "the server needs another certificate; --insecure accepts any certificate, so that the server may be an impostor";
/// The advice if the server sends a TLS alert.
const UNKNOWN: &str = "the server may require a client certificate: --certificate names one";

/// Returns advice about a connection that failed or was lost.
fn lost(phase: Phase, cause: &Cause) -> Option<&'static str> {
    Some(match (phase, cause) {
        (Phase::Resolve, Cause::Dns(_)) => {
            "check the name; z3950 targets list shows the servers known by name"
        }
        (Phase::Connect, Cause::Refused(_)) => "no server is listening there: check host and port",
        (Phase::Connect, Cause::Timeout(_)) => {
            "check host and port, and whether a firewall or a proxy blocks the connection"
        }
        (Phase::Connect, Cause::Other(_)) => "check host and port, or the path of the socket",
        (Phase::Proxy, Cause::Proxy(refusal)) if refusal.status() == Some(407) => {
            "the proxy wants credentials: --proxy http://user:password@host:port"
        }
        (Phase::Proxy, _) => "check the proxy; --proxy none connects directly",
        (_, Cause::Tls(error)) => match certificate_advice(error) {
            Some(CertificateAdvice::Renew) => OUTDATED,
            Some(CertificateAdvice::Name) => OTHER_NAME,
            _ => UNTRUSTED,
        },
        (_, Cause::Handshake(error) | Cause::Other(error)) if is_alert(error) => UNKNOWN,
        (Phase::Tls, _) => "the port may not use TLS: try without ssl:, or http:// for https://",
        (Phase::Init, Cause::Timeout(_)) => {
            "the port may belong to another service, or --timeout may be too short"
        }
        (_, Cause::Timeout(_)) => "--timeout sets how long to wait",
        (_, Cause::Deadline) => "--deadline sets the limit for the whole command",
        _ => return None,
    })
}

/// The first octets of TLS records that contain an alert or a handshake. No APDU begins with either octet.
const TLS: [u8; 2] = [0x15, 0x16];

/// Returns advice about a server that violates the protocol. If this happens at Init, the server may use a different
/// protocol.
fn broken(phase: Phase, fault: &ProtocolFault) -> Option<&'static str> {
    match (phase, fault) {
        (Phase::Init, ProtocolFault::Frame(frame)) => Some(match frame.kind {
            FrameErrorKind::NotAnApdu(octet) if TLS.contains(&octet) => {
                "the port speaks TLS: put ssl: before the host, or tls = true in a profile for it"
            }
            _ => "the server does not speak Z39.50: check the port",
        }),
        (_, ProtocolFault::Sru(SruFault::Http(_))) => {
            Some("the port may speak TLS: try https://, or another protocol than HTTP")
        }
        _ => None,
    }
}

/// Returns advice about a retrieval whose record syntax the server does not support.
fn of_syntax(diagnostics: &[DiagRec]) -> Option<&'static str> {
    let mut conditions = diagnostics.iter().filter_map(condition);
    let is_it = |of| {
        matches!(
            of,
            Condition::NOT_AVAILABLE_IN_SYNTAX | Condition::RECORD_SYNTAX
        )
    };
    conditions.any(is_it).then_some(
        "name another record syntax in the URL, such as ;rs=unimarc or ;rs=xml, or let --fallback try others",
    )
}

fn condition(diagnostic: &DiagRec) -> Option<Condition> {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => Some(Condition(diagnostic.condition)),
        DiagRec::ExternallyDefined(_) => None,
    }
}

/// Returns advice about a diagnostic from the server.
fn hint(diagnostic: &DiagRec) -> Option<&'static str> {
    Some(match condition(diagnostic)? {
        Condition::DATABASE_UNAVAILABLE | Condition::DATABASE_DOES_NOT_EXIST => {
            "check the database"
        }
        Condition::COMBINATION => "search the databases one by one",
        Condition::USE => {
            "the server does not support this attribute; z3950 probe shows which ones it does"
        }
        Condition::STRUCTURE => {
            "the server requires another structure attribute; --fallback tries others"
        }
        Condition::NOT_AVAILABLE_IN_SYNTAX if is_of_schema(diagnostic) => {
            "try another schema with --element-set; z3950 explain URL lists them"
        }
        Condition::ELEMENT_SET_NAME => "try the element set F or B, or none",
        Condition::NOT_AVAILABLE_IN_SYNTAX | Condition::RECORD_SYNTAX => {
            "try another record syntax; z3950 probe shows which ones the server supports"
        }
        Condition::DATABASE_ACCESS_DENIED
        | Condition::ACCESS_CONTROL_FAILURE
        | Condition::BAD_USER_ID
        | Condition::BAD_USER_ID_OR_PASSWORD => {
            if password::is_missing() {
                NO_PASSWORD
            } else {
                "give credentials with --user and --password-env"
            }
        }
        Condition::TEMPORARY_SYSTEM_ERROR
        | Condition::TEMPORARILY_OUT_OF_RESOURCES
        | Condition::TOO_MANY_SESSIONS => "try again later",
        _ => return None,
    })
}

/// Returns whether an SRU server refused the requested record schema, with SRU diagnostic 66 or 67.
fn is_of_schema(diagnostic: &DiagRec) -> bool {
    let words = diagnostic.to_string();
    ["66", "67"]
        .iter()
        .any(|number| words.contains(&format!("SRU diagnostic {number}:")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;
    use z3950_asn1::apdu::DefaultDiagFormat;
    use z3950_asn1::codec::frame::Scanner;

    #[test]
    fn errors_name_the_attempt_the_cause_and_a_remedy() {
        let lost = Error::unavailable;
        let io =
            |kind: io::ErrorKind, words: &str| Arc::new(io::Error::new(kind, words.to_owned()));
        let refused = io(
            io::ErrorKind::ConnectionRefused,
            "Connection refused (os error 111)",
        );
        let second = Duration::from_secs(1);
        let not_an_apdu = |octet| Scanner::new(100).scan(&[octet]).expect_err("no APDU");
        let refusal = |condition, addinfo: &str| {
            let diagnostic = DefaultDiagFormat::bib1(condition, addinfo);
            Error::refused(Phase::Search, DiagRec::DefaultFormat(diagnostic))
        };
        let diagnostic = |condition| refusal(condition, "x");
        for (error, exit, words) in [
            (
                lost(Phase::Connect, Cause::Refused(refused)),
                Exit::Transport,
                "cannot connect: Connection refused (os error 111); no server is listening there: check host and port",
            ),
            (
                lost(Phase::Init, Cause::Timeout(second)),
                Exit::Transport,
                "no answer to Init in time: no response within 1 s; the port may belong to another service, or --timeout may be too short",
            ),
            (
                lost(Phase::Search, Cause::Deadline),
                Exit::Transport,
                "no answer to Search: the deadline passed; --deadline sets the limit for the whole command",
            ),
            (
                lost(Phase::Init, Cause::Disconnected),
                Exit::Transport,
                "closed during Init: check credentials, address allow-list or database: connection closed by the server",
            ),
            (
                lost(
                    Phase::Tls,
                    Cause::Handshake(io(io::ErrorKind::UnexpectedEof, "tls handshake eof")),
                ),
                Exit::Transport,
                "TLS with the server failed: the handshake failed: tls handshake eof; the port may not use TLS: try without ssl:, or http:// for https://",
            ),
            (
                lost(
                    Phase::Proxy,
                    Cause::Refused(io(
                        io::ErrorKind::ConnectionRefused,
                        "http://p.example:80: nobody",
                    )),
                ),
                Exit::Transport,
                "the proxy cannot be reached: connection refused: http://p.example:80: nobody; check the proxy; --proxy none connects directly",
            ),
            (
                Error::fault(Phase::Init, not_an_apdu(0x15)),
                Exit::Transport,
                "protocol error during Init: expected an APDU, found octet 0x15; the port speaks TLS: put ssl: before the host, or tls = true in a profile for it",
            ),
            (
                Error::fault(Phase::Init, not_an_apdu(b'H')),
                Exit::Transport,
                "protocol error during Init: expected an APDU, found octet 0x48; the server does not speak Z39.50: check the port",
            ),
            (
                diagnostic(235),
                Exit::Refused,
                "Search failed: diagnostic 235 (there is no database of this name): x; check the database",
            ),
            (
                refusal(238, "x (SRU diagnostic 66: no such schema)"),
                Exit::Refused,
                "Search failed: diagnostic 238 (the record is not available in the syntax asked for): x (SRU diagnostic 66: no such schema); try another schema with --element-set; z3950 explain URL lists them",
            ),
            (
                diagnostic(1011),
                Exit::Refused,
                "Search failed: diagnostic 1011 (user or password is wrong): x; give credentials with --user and --password-env",
            ),
            (
                Error::fault(Phase::Search, SruFault::Http("invalid".into())),
                Exit::Transport,
                "protocol error during Search: not an HTTP response: invalid; the port may speak TLS: try https://, or another protocol than HTTP",
            ),
            (
                Error::access_refused(Phase::Search),
                Exit::Refused,
                "the server asked for credentials during Search, but none were given; give them with --user and --password-env, or use z3950 open at a terminal, which prompts for them",
            ),
            (
                Error::fault(Phase::Scan, ProtocolFault::NotGranted("scan")),
                Exit::Refused,
                "the server does not offer scan",
            ),
        ] {
            assert_eq!(explain(&error), (exit, words.to_owned()));
        }
    }
}
