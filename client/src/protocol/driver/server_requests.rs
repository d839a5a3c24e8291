//! Handles requests that the server sends during an operation or a session, for access control or resource control
//! (Z39.50-2003 §3.2.5, §3.2.6). The session continues to work while a handler decides on the response.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use z3950_asn1::apdu::{
    AccessControlRequest, AccessControlResponse, Apdu, DefaultDiagFormat, DiagRec, ReferenceId,
    ResourceControlRequest, ResourceControlResponse, SecurityChallengeResponse,
};
use z3950_asn1::bib1::diagnostics::Condition;

use super::task::{Driver, HandlerAnswer};
use crate::error::{Error, Phase, ProtocolFault};
use crate::protocol::service::access::Challenge;
use crate::protocol::service::resource::{Decision, ResourceQuestion};

/// The maximum number of requests that a server may send during one of the client's requests, or between two of the
/// client's requests.
pub(super) const MAX_INTERRUPTIONS: usize = 64;

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    pub(super) fn challenged(&mut self, request: AccessControlRequest) -> Result<(), Error> {
        let (operation, phase) = self.interrupted(request.reference_id.as_ref())?;
        let Some(handler) = self.options.access_control.clone() else {
            let refusal = access_response(request.reference_id, None);
            return self.respond(operation, phase, refusal, true);
        };
        self.pause(operation);
        let challenge = Challenge::new(phase, request.security_challenge);
        self.handler_answers.push(Box::pin(async move {
            let response = handler.answer(challenge).await;
            HandlerAnswer {
                operation,
                is_refusal: response.is_none(),
                response: Some(access_response(request.reference_id, response)),
            }
        }));
        Ok(())
    }

    /// Handles a resource control request. Without a handler, every operation continues, whatever its cost.
    pub(super) fn questioned(&mut self, request: ResourceControlRequest) -> Result<(), Error> {
        let (operation, phase) = self.interrupted(request.reference_id.as_ref())?;
        let reference_id = request.reference_id.clone();
        let is_answered = request.response_required;
        let Some(handler) = self.options.resource_control.clone() else {
            return if is_answered {
                self.put(resource_response(reference_id, Decision::GO_ON), phase)
            } else {
                Ok(())
            };
        };
        if is_answered {
            self.pause(operation);
        }
        let question = ResourceQuestion::new(phase, request);
        self.handler_answers.push(Box::pin(async move {
            let decision = handler.answer(question).await;
            HandlerAnswer {
                operation,
                is_refusal: false,
                response: is_answered.then(|| resource_response(reference_id, decision)),
            }
        }));
        Ok(())
    }

    /// Sends the response from a handler, if the operation is still in progress.
    pub(super) fn decided(&mut self, answer: HandlerAnswer) -> Result<(), Error> {
        let Some(response) = answer.response else {
            return Ok(());
        };
        let mut phase = Phase::Idle;
        if let Some(number) = answer.operation {
            let Some(operation) = self.operations.numbered(number) else {
                // The server has ended the operation without waiting for the response, so no response is sent.
                return Ok(());
            };
            operation.questions = operation.questions.saturating_sub(1);
            operation.wait();
            phase = operation.phase();
        }
        self.respond(answer.operation, phase, response, answer.is_refusal)
    }

    /// Counts a request from the server, and returns the operation to which it belongs and the phase of that operation.
    fn interrupted(
        &mut self,
        reference: Option<&ReferenceId>,
    ) -> Result<(Option<u64>, Phase), Error> {
        let phase = self.operations.phase();
        let found = self
            .operations
            .find(reference)
            .map_err(|fault| Error::fault(phase, fault))?;
        let (interruptions, number, phase) = match found {
            Some(operation) => {
                let phase = operation.phase();
                (&mut operation.interruptions, Some(operation.number), phase)
            }
            None => (&mut self.interruptions, None, Phase::Idle),
        };
        *interruptions += 1;
        if *interruptions > MAX_INTERRUPTIONS {
            let fault = ProtocolFault::Interruptions(MAX_INTERRUPTIONS);
            Err(Error::fault(phase, fault))
        } else {
            Ok((number, phase))
        }
    }

    /// Suspends the answer timeout of an operation until the handler has responded.
    fn pause(&mut self, operation: Option<u64>) {
        if let Some(operation) = operation.and_then(|number| self.operations.numbered(number)) {
            operation.questions += 1;
            operation.wait();
        }
    }

    /// Sends a response. In version 3, a refusal is sent as a diagnostic. In earlier versions, it closes the
    /// connection.
    ///
    /// After a refusal, the caller of the operation receives the error immediately, while the operation still waits for
    /// the server's answer.
    fn respond(
        &mut self,
        operation: Option<u64>,
        phase: Phase,
        response: Apdu,
        is_refusal: bool,
    ) -> Result<(), Error> {
        if is_refusal && self.version() < Some(3) {
            return Err(Error::AccessRefused { phase });
        }
        self.put(response, phase)?;
        if is_refusal
            && let Some(operation) = operation.and_then(|number| self.operations.numbered(number))
        {
            operation.reply.send(Err(Error::AccessRefused { phase }));
            operation.abandoned = Some(Instant::now());
        }
        Ok(())
    }
}

/// Returns the response to a challenge, or a refusal if the handler returned no response.
fn access_response(
    reference_id: Option<ReferenceId>,
    response: Option<SecurityChallengeResponse>,
) -> Apdu {
    let refusal = DefaultDiagFormat::bib1(Condition::DATABASE_ACCESS_DENIED.0, "");
    let is_refusal = response.is_none();
    Apdu::from(AccessControlResponse {
        reference_id,
        security_challenge_response: response.into(),
        diagnostic: is_refusal.then_some(DiagRec::DefaultFormat(refusal)),
        other_info: None,
    })
}

fn resource_response(reference_id: Option<ReferenceId>, decision: Decision) -> Apdu {
    Apdu::from(ResourceControlResponse {
        reference_id,
        continue_flag: decision.is_to_go_on,
        result_set_wanted: decision.result_set_wanted,
        other_info: None,
    })
}
