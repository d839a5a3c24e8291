//! Applies faults to HTTP answers.

use std::time::Duration;

use hyper::StatusCode;
use z3950_asn1::apdu::PresentStatus;

use super::answer::HttpAnswer;
use super::wire::WriteMode;
use crate::fault::{Fault, sru};

/// The effects of faults on the way an answer is written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ActiveFaults {
    pub(super) manner: WriteMode,
    /// The delay before the first octet.
    pub(super) delay: Duration,
    /// Whether no answer is sent.
    pub(super) is_silent: bool,
}

/// Applies faults to an answer, in the order of the rules.
pub(super) fn strike(faults: &[Fault], answer: &mut HttpAnswer) -> ActiveFaults {
    let mut struck = ActiveFaults::default();
    let manner = &mut struck.manner;
    for fault in faults {
        match fault {
            Fault::Delay(time) => struck.delay += *time,
            Fault::Silence => struck.is_silent = true,
            Fault::Trickle => manner.trickle = Some(Duration::ZERO),
            Fault::Rate(rate) => manner.trickle = Some(Duration::from_secs(1) / rate.get()),
            Fault::CutAfter(octets) | Fault::ResetAfter(octets) => {
                manner.cut_after = Some(*octets);
                manner.reset |= matches!(fault, Fault::ResetAfter(_));
            }
            Fault::HangUp => manner.hang_up = true,
            Fault::Octets(octets) => manner.instead = Some(octets.clone()),
            Fault::Garbage(count) => manner.instead = Some(sru::garbage(*count).into()),
            Fault::PresentStatus(status) => answer.status = http_status(*status, answer.status),
            fault => {
                if matches!(fault, Fault::Html) {
                    answer.kind = Some(HTML);
                }
                let body = std::mem::take(&mut answer.body);
                answer.body = sru::body(fault, body.into()).into();
            }
        }
    }
    struck
}

const HTML: &str = "text/html; charset=utf-8";

/// Returns the status that a rule requests, if it is a final HTTP status; otherwise, returns `known`.
fn http_status(wanted: PresentStatus, known: StatusCode) -> StatusCode {
    let wanted = u16::try_from(wanted.0)
        .ok()
        .filter(|code| *code >= 200)
        .and_then(|code| StatusCode::from_u16(code).ok());
    wanted.unwrap_or(known)
}

#[cfg(test)]
mod tests;
