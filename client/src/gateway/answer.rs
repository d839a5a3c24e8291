//! Converts the response from a gateway to an outcome: a record, whose syntax follows from the media type, or the
//! reason why there is none. The reason is given by the status (RFC 9110 §15) and possibly a description of the problem
//! (RFC 9457), whose members `outcome`, `hits` and `diagnostic` are the same as in the output of `z3950 get --json`.

use hyper::StatusCode;
use serde_json::Value;
use z3950_asn1::apdu::{AddInfo, DefaultDiagFormat, DiagRec, External};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::{is_marc, sutrs_external};
use z3950_marc::charset::utf8_or_latin1;

use crate::error::{Cause, Diagnostics, Error, GatewayError, Phase};
use crate::plan::Plan;
use crate::retrieve::{DeliveredRecord, Outcome, OutcomeName};
use crate::transport::http::HttpAnswer;

/// The maximum number of characters from a gateway's text in a message.
const MAX_WORDS: usize = 500;

/// Returns the outcome for the gateway's response to a plan's request.
pub(super) fn outcome(answer: HttpAnswer, plan: &Plan) -> Outcome {
    // Only 200 is accepted: status 206, for example, would come with a part of a record.
    if answer.status == StatusCode::OK {
        return match record(&answer, plan.defaults.record_syntax) {
            Some(external) => Outcome::Delivered(Box::new(DeliveredRecord::new(
                external,
                plan.defaults.record_syntax,
            ))),
            None => {
                let words = match &*answer.media_type {
                    "" => "an answer without a media type".to_owned(),
                    name => format!("an answer of type {name}, which is not a record"),
                };
                Error::from(GatewayError::NoGateway(words)).into()
            }
        };
    }
    failure(&answer)
}

/// Returns the outcome for a response without a record.
pub(super) fn failure(answer: &HttpAnswer) -> Outcome {
    let problem = ProblemDetails::of(answer);
    let name = problem.name();
    let words = problem.words(answer.status);
    Outcome::Failed(match (answer.status, name) {
        (StatusCode::MULTIPLE_CHOICES, _) => Error::Ambiguous {
            hits: problem.hits().unwrap_or(2),
        },
        (_, Some(OutcomeName::NoMatch)) => Error::NoMatch,
        (_, Some(OutcomeName::RecordRefused)) if problem.diagnostic().is_some() => {
            return match problem.diagnostic() {
                Some(diagnostic) => Outcome::RecordDiagnostic { diagnostic },
                None => Error::from(GatewayError::Refused(words)).into(),
            };
        }
        (_, Some(OutcomeName::SearchRefused)) => problem.refused(Phase::Search),
        (_, Some(OutcomeName::PresentRefused)) => problem.refused(Phase::Present),
        (StatusCode::BAD_REQUEST | StatusCode::URI_TOO_LONG, _) => GatewayError::Url(words).into(),
        (StatusCode::UNAUTHORIZED, _) => {
            let hint =
                "a user and password for it are part of its address: http://user:password@host/";
            GatewayError::Forbidden(format!("{words}; {hint}")).into()
        }
        (StatusCode::FORBIDDEN, _) => GatewayError::Forbidden(words).into(),
        (StatusCode::NOT_ACCEPTABLE, _) => GatewayError::Form(words).into(),
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, _) => {
            let cause = Cause::HttpStatus {
                status: answer.status.to_string(),
                retry_after: answer.retry_after,
            };
            let phase = Phase::Search;
            Error::Unavailable { phase, cause }
        }
        (StatusCode::BAD_GATEWAY, _) => GatewayError::Refused(words).into(),
        (StatusCode::GATEWAY_TIMEOUT, _) => GatewayError::NoAnswer(words).into(),
        // A server that is not a gateway may answer with any status for this path, so the status says nothing about the record.
        _ => GatewayError::NoGateway(words).into(),
    })
}

/// Returns the record in the syntax given by its media type; `None` for other media types. If the requested syntax is a
/// MARC format, MARC is assumed to be in that format.
fn record(answer: &HttpAnswer, requested: Option<Oid>) -> Option<External> {
    let octets = answer.body.clone();
    match &*answer.media_type {
        "application/marc" => {
            let syntax = requested.filter(is_marc).unwrap_or(oid::USMARC);
            Some(External::octet_aligned(syntax, octets))
        }
        "text/plain" => sutrs_external(&utf8_or_latin1(&octets)),
        name if name.ends_with("/xml") || name.ends_with("+xml") => {
            Some(External::octet_aligned(oid::XML, octets))
        }
        _ => None,
    }
}

/// A gateway's description of a failure: a JSON object, or text.
enum ProblemDetails {
    Object(Value),
    Text(String),
    Nothing,
}

impl ProblemDetails {
    fn of(answer: &HttpAnswer) -> Self {
        match &*answer.media_type {
            "application/problem+json" | "application/json" => {
                serde_json::from_slice(&answer.body).map_or(Self::Nothing, Self::Object)
            }
            "text/plain" => Self::Text(utf8_or_latin1(&answer.body).into_owned()),
            _ => Self::Nothing,
        }
    }

    fn member(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Object(object) => object.get(name),
            _ => None,
        }
    }

    fn name(&self) -> Option<OutcomeName> {
        self.member("outcome")?.as_str()?.parse().ok()
    }

    fn hits(&self) -> Option<u64> {
        self.member("hits")?.as_u64()
    }

    /// Returns the server's diagnostic, if it is in the default format.
    fn diagnostic(&self) -> Option<DiagRec> {
        let member = self.member("diagnostic")?;
        let text = |name: &str| member.get(name).and_then(Value::as_str);
        let set = text("set")?.parse().ok()?;
        let addinfo = text("addinfo").unwrap_or_default();
        Some(DiagRec::DefaultFormat(DefaultDiagFormat {
            diagnostic_set_id: set,
            condition: member.get("code")?.as_i64()?,
            addinfo: AddInfo::V2Addinfo(addinfo.into()),
        }))
    }

    /// Returns the error for a refusal by the server, as reported by the gateway.
    fn refused(&self, phase: Phase) -> Error {
        Error::Refused {
            phase,
            diagnostics: Diagnostics(self.diagnostic().into_iter().collect()),
        }
    }

    /// Returns the gateway's text on one line, or the reason phrase of the status if there is no text.
    fn words(&self, status: StatusCode) -> String {
        let words = match self {
            Self::Object(object) => object.get("detail").and_then(Value::as_str),
            Self::Text(text) => Some(text.as_str()),
            Self::Nothing => None,
        };
        let words: Vec<&str> = words.unwrap_or_default().split_whitespace().collect();
        let words: String = words.join(" ").chars().take(MAX_WORDS).collect();
        if words.is_empty() {
            format!("HTTP status {status}")
        } else {
            words
        }
    }
}
