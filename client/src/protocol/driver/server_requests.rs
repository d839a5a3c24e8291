//! Requests of the server within an operation or a session: access control and resource control (Z39.50-2003 §3.2.5,
//! §3.2.6). Handlers may take their time; the session continues meanwhile.

use tokio::io::{AsyncRead, AsyncWrite};
use z3950_asn1::apdu::{
    AccessControlRequest, AccessControlResponse, Apdu, DefaultDiagFormat, DiagRec, ReferenceId,
    ResourceControlRequest, ResourceControlResponse, SecurityChallengeResponse,
};
use z3950_asn1::bib1::diagnostics::Condition;

use super::task::Driver;
use crate::error::{Error, Phase, ProtocolFault};
use crate::protocol::service::access::Challenge;
use crate::protocol::service::resource::{Decision, ResourceQuestion};

/// The most requests that a server may send during one of ours, or between two.
pub(super) const MAX_INTERRUPTIONS: usize = 64;

/// A handler's response to a request of the server.
pub(super) struct Verdict {
    /// `None` for the session as a whole.
    operation: Option<u64>,
    reference_id: Option<ReferenceId>,
    answer: Ruling,
}

enum Ruling {
    Access(Option<SecurityChallengeResponse>),
    /// `None` if the server wants no answer.
    Resource(Option<Decision>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    pub(super) fn challenged(&mut self, request: AccessControlRequest) -> Result<(), Error> {
        let (operation, phase) = self.interrupted(request.reference_id.as_ref())?;
        let Some(handler) = self.options.access_control.clone() else {
            return self.put_access(operation, phase, request.reference_id, None);
        };
        self.pause(operation);
        let challenge = Challenge::new(phase, request.security_challenge);
        self.verdicts.push(Box::pin(async move {
            let response = handler.respond(challenge).await;
            Verdict {
                operation,
                reference_id: request.reference_id,
                answer: Ruling::Access(response),
            }
        }));
        Ok(())
    }

    /// Without a handler, operations continue whatever they cost.
    pub(super) fn questioned(&mut self, request: ResourceControlRequest) -> Result<(), Error> {
        let (operation, phase) = self.interrupted(request.reference_id.as_ref())?;
        let reference_id = request.reference_id.clone();
        let is_answered = request.response_required;
        let Some(handler) = self.options.resource_control.clone() else {
            if is_answered {
                self.put_resource(phase, reference_id, Decision::GO_ON)?;
            }
            return Ok(());
        };
        if is_answered {
            self.pause(operation);
        }
        let question = ResourceQuestion::new(phase, request);
        self.verdicts.push(Box::pin(async move {
            let decision = handler.decide(question).await;
            Verdict {
                operation,
                reference_id,
                answer: Ruling::Resource(is_answered.then_some(decision)),
            }
        }));
        Ok(())
    }

    /// Sends a handler's response, if the operation is still in progress.
    pub(super) fn decided(&mut self, verdict: Verdict) -> Result<(), Error> {
        let Verdict {
            operation: number,
            reference_id,
            answer,
        } = verdict;
        let phase = match number.map(|number| self.operations.numbered(number)) {
            // The server did not wait for the response.
            Some(None) => return Ok(()),
            None => Phase::Idle,
            Some(Some(operation)) => operation.phase(),
        };
        if !matches!(answer, Ruling::Resource(None))
            && let Some(operation) = number.and_then(|number| self.operations.numbered(number))
        {
            operation.questions = operation.questions.saturating_sub(1);
            operation.wait();
        }
        match answer {
            Ruling::Access(response) => self.put_access(number, phase, reference_id, response),
            Ruling::Resource(Some(decision)) => self.put_resource(phase, reference_id, decision),
            Ruling::Resource(None) => Ok(()),
        }
    }

    /// The operation that a request of the server belongs to, and its phase; counts the requests.
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
        match *interruptions > MAX_INTERRUPTIONS {
            false => Ok((number, phase)),
            true => {
                let fault = ProtocolFault::Interruptions(MAX_INTERRUPTIONS);
                Err(Error::fault(phase, fault))
            }
        }
    }

    /// Suspends the answer timeout until the handler has responded.
    fn pause(&mut self, operation: Option<u64>) {
        if let Some(operation) = operation.and_then(|number| self.operations.numbered(number)) {
            operation.questions += 1;
            operation.wait();
        }
    }

    /// Responds to a challenge, or refuses it: with a diagnostic in version 3, before that by closing the connection.
    ///
    /// After a refusal the caller has its error, and the operation waits for the server's answer without it.
    fn put_access(
        &mut self,
        operation: Option<u64>,
        phase: Phase,
        reference_id: Option<ReferenceId>,
        response: Option<SecurityChallengeResponse>,
    ) -> Result<(), Error> {
        let is_refused = response.is_none();
        if is_refused && self.version() < Some(3) {
            return Err(Error::AccessRefused { phase });
        }
        let diagnostic = DefaultDiagFormat::bib1(Condition::DATABASE_ACCESS_DENIED.0, "");
        let response = AccessControlResponse {
            reference_id,
            security_challenge_response: response.into(),
            diagnostic: is_refused.then_some(DiagRec::DefaultFormat(diagnostic)),
            other_info: None,
        };
        self.put(response.into(), phase)?;
        if is_refused
            && let Some(operation) = operation.and_then(|number| self.operations.numbered(number))
        {
            operation.answer(Err(Error::AccessRefused { phase }));
        }
        Ok(())
    }

    fn put_resource(
        &mut self,
        phase: Phase,
        reference_id: Option<ReferenceId>,
        decision: Decision,
    ) -> Result<(), Error> {
        let response = ResourceControlResponse {
            reference_id,
            continue_flag: decision.is_to_go_on,
            result_set_wanted: decision.result_set_wanted,
            other_info: None,
        };
        self.put(Apdu::from(response), phase)
    }
}
