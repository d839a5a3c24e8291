//! The task that owns the stream of a session: sends each request, takes what comes back, ends it properly.
//!
//! ```text
//!            request                    answer
//!   idle ---------------> operation ---------------> idle        Z39.50-2003 §3.1: one operation at a time,
//!     |                       |                                  so none carries a referenceId
//!     | closed, Close, end    | the same, a fault, no answer in time
//!     v                       v
//!   ended: callers are told -> Close is sent and awaited where version 3 is spoken -> gone
//! ```
//!
//! What a server may send in between is answered here: AccessControlRequest with a refusal, for nobody can be
//! asked; ResourceControlRequest with "go on", if it wants an answer. Everything else is a fault. The answer to
//! a request that nobody waits for any longer is still taken, so that the next one gets its own.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::codec::Framed;
use tokio_util::sync::CancellationToken;
use tracing::{Level, debug, trace};
use z3950_asn1::apdu::{
    AccessControlRequest, AccessControlResponse, Apdu, DefaultDiagFormat, DiagRec,
    ResourceControlRequest, ResourceControlResponse,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec;
use z3950_asn1::codec::frame::{ApduCodec, StreamError};

use super::{Command, End, State};
use crate::error::{Cause, Error, Phase, ProtocolFault};
use crate::service;
use crate::service::close::{closed_by_server, farewell};
use crate::transport::{Limit, Timeouts};

/// How many requests of its own a server may send during one of ours, or between two.
const MAX_INTERRUPTIONS: usize = 64;

/// The task's own view of a session.
pub(super) struct Connection<S> {
    framed: Framed<S, ApduCodec>,
    /// The version in force, once Init was accepted.
    version: Option<u8>,
    /// For what is sent between two requests.
    timeouts: Timeouts,
    interruptions: usize,
    commands: mpsc::Receiver<Command>,
    closing: CancellationToken,
    state: watch::Sender<State>,
    /// Who waits for the answer to the request in progress.
    pending: Option<oneshot::Sender<Result<Apdu, Error>>>,
}

/// Why the task stops serving.
enum Stop {
    Closing,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// A session before Init, taking APDUs of up to `max_apdu_size` octets.
    pub(super) fn new(
        stream: S,
        max_apdu_size: usize,
        timeouts: Timeouts,
        commands: mpsc::Receiver<Command>,
        closing: CancellationToken,
        state: watch::Sender<State>,
    ) -> Self {
        Self {
            framed: Framed::new(stream, ApduCodec::new(max_apdu_size)),
            version: None,
            timeouts,
            interruptions: 0,
            commands,
            closing,
            state,
            pending: None,
        }
    }

    /// Serves requests until the session ends, and says farewell.
    pub(super) async fn run(mut self) {
        let stop = self.serve().await;
        let limit = Limit::within(self.timeouts.close);
        let error = match &stop {
            Stop::Closing => None,
            Stop::Failed(error) => Some(error),
        };
        let farewell = (self.version >= Some(3)).then(|| farewell(error)).flatten();
        let mut is_answered = false;
        if let Some(farewell) = farewell {
            let sent = limit
                .hold(
                    Phase::Close,
                    self.send(&farewell.close.into(), Phase::Close),
                )
                .await;
            is_answered = farewell.is_answered && matches!(sent, Ok(Ok(())));
        }
        let end = self.tell(stop).await;
        // The server may be gone or silent: what follows is courtesy, and ends at the limit.
        let _ = limit
            .hold(Phase::Close, async {
                if is_answered {
                    self.await_close().await;
                }
                self.framed.get_mut().shutdown().await
            })
            .await;
        self.state.send_replace(State::Gone(end));
    }

    /// Tells everyone that the session is over.
    async fn tell(&mut self, stop: Stop) -> End {
        let (end, error) = match stop {
            Stop::Closing => (End::Closed, End::Closed.error()),
            Stop::Failed(error) => (End::Failed(Arc::new(error.clone())), error),
        };
        trace!(?end, "session ended");
        self.state.send_replace(State::Ended(end.clone()));
        self.answer(Err(error));
        self.commands.close();
        while let Some(command) = self.commands.recv().await {
            let _ = command.reply.send(Err(end.error()));
        }
        end
    }

    async fn serve(&mut self) -> Stop {
        loop {
            // What the server sent first is seen first: no request goes out on a session already closed.
            let done = tokio::select! {
                biased;
                frame = self.framed.next() => self.interruption(frame).await,
                () = self.closing.cancelled() => return Stop::Closing,
                command = self.commands.recv() => match command {
                    Some(command) => self.operation(command).await,
                    None => return Stop::Closing,
                },
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    /// One operation, from its request to its answer.
    async fn operation(&mut self, command: Command) -> Result<(), Stop> {
        let Command {
            request,
            timeouts,
            reply,
        } = command;
        if reply.is_closed() {
            return Ok(());
        }
        let phase = Phase::of(&request);
        let limit = timeouts.to_answer();
        self.pending = Some(reply);
        self.interruptions = 0;
        match limit.hold(phase, self.send(&request, phase)).await? {
            Err(
                error @ Error::ProtocolError {
                    fault: ProtocolFault::Encode(_),
                    ..
                },
            ) => {
                self.answer(Err(error));
                return Ok(());
            }
            // The server may have said why it went away: what it sent is still to be read.
            Err(Error::Unavailable {
                cause: Cause::Disconnected,
                ..
            }) => {}
            sent => sent?,
        }
        loop {
            let frame = tokio::select! {
                biased;
                frame = limit.hold(phase, self.framed.next()) => frame?,
                () = self.closing.cancelled() => return Err(Stop::Closing),
            };
            match self.receive(frame, phase)? {
                Apdu::AccessControlRequest(challenge) => {
                    limit.hold(phase, self.refuse(*challenge, phase)).await??;
                    // The operation goes on without a caller, to whatever answer the server has for it.
                    self.answer(Err(Error::AccessRefused { phase }));
                }
                Apdu::ResourceControlRequest(question) => {
                    limit.hold(phase, self.go_on(*question, phase)).await??;
                }
                answer => {
                    service::examine(&request, &answer)?;
                    if let Some(version) = service::init::agreed_version(&request, &answer) {
                        self.version = Some(version);
                    }
                    self.interruptions = 0;
                    self.answer(Ok(answer));
                    return Ok(());
                }
            }
        }
    }

    /// What comes without a request in progress.
    async fn interruption(
        &mut self,
        frame: Option<Result<Bytes, StreamError>>,
    ) -> Result<(), Stop> {
        let limit = self.timeouts.to_answer();
        match self.receive(frame, Phase::Idle)? {
            Apdu::AccessControlRequest(challenge) => {
                limit
                    .hold(Phase::Idle, self.refuse(*challenge, Phase::Idle))
                    .await??;
            }
            Apdu::ResourceControlRequest(question) => {
                limit
                    .hold(Phase::Idle, self.go_on(*question, Phase::Idle))
                    .await??;
            }
            apdu => {
                let fault = ProtocolFault::Unexpected(apdu.name());
                return Err(Error::fault(Phase::Idle, fault).into());
            }
        }
        Ok(())
    }

    /// Refuses to prove an identity: version 3 has words for it, others only the end of the connection.
    async fn refuse(&mut self, challenge: AccessControlRequest, phase: Phase) -> Result<(), Error> {
        self.interrupted(phase)?;
        if self.version < Some(3) {
            return Err(Error::AccessRefused { phase });
        }
        let diagnostic = DefaultDiagFormat::bib1(Condition::DATABASE_ACCESS_DENIED.0, "");
        let response = AccessControlResponse {
            reference_id: challenge.reference_id,
            security_challenge_response: Default::default(),
            diagnostic: Some(DiagRec::DefaultFormat(diagnostic)),
            other_info: None,
        };
        self.send(&response.into(), phase).await
    }

    /// Lets the server go on with the operation, whatever it costs in its units.
    async fn go_on(&mut self, question: ResourceControlRequest, phase: Phase) -> Result<(), Error> {
        self.interrupted(phase)?;
        if !question.response_required {
            return Ok(());
        }
        let response = ResourceControlResponse {
            reference_id: question.reference_id,
            continue_flag: true,
            result_set_wanted: None,
            other_info: None,
        };
        self.send(&response.into(), phase).await
    }

    fn interrupted(&mut self, phase: Phase) -> Result<(), Error> {
        self.interruptions += 1;
        if self.interruptions > MAX_INTERRUPTIONS {
            return Err(Error::fault(
                phase,
                ProtocolFault::Interruptions(MAX_INTERRUPTIONS),
            ));
        }
        Ok(())
    }

    /// Gives the caller of the request in progress its result, if it has none yet and still waits.
    fn answer(&mut self, result: Result<Apdu, Error>) {
        if let Some(reply) = self.pending.take() {
            let _ = reply.send(result);
        }
    }

    async fn send(&mut self, apdu: &Apdu, phase: Phase) -> Result<(), Error> {
        let octets = codec::encode(apdu).map_err(|error| Error::fault(phase, error))?;
        debug!(apdu = apdu.name(), octets = octets.len(), "sent");
        trace_body(&octets);
        self.framed
            .send(octets.into())
            .await
            .map_err(|error| stream_error(error, phase))
    }

    /// What came, if it is an APDU other than Close.
    fn receive(
        &self,
        frame: Option<Result<Bytes, StreamError>>,
        phase: Phase,
    ) -> Result<Apdu, Error> {
        let octets = match frame {
            Some(Ok(octets)) => octets,
            Some(Err(error)) => return Err(stream_error(error, phase)),
            None => {
                return Err(Error::Unavailable {
                    phase,
                    cause: Cause::Disconnected,
                });
            }
        };
        let apdu = codec::decode(&octets).inspect_err(|fault| {
            debug!(octets = octets.len(), %fault, "received what does not decode");
            trace_body(&octets);
        });
        let apdu = apdu.map_err(|error| Error::fault(phase, error))?;
        debug!(apdu = apdu.name(), octets = octets.len(), "received");
        trace_body(&octets);
        match apdu {
            Apdu::Close(close) => Err(closed_by_server(phase, *close)),
            apdu => Ok(apdu),
        }
    }

    /// Takes what comes until the server's Close, or the end of the stream.
    async fn await_close(&mut self) {
        while let Some(Ok(octets)) = self.framed.next().await {
            if let Ok(apdu) = codec::decode(&octets) {
                debug!(apdu = apdu.name(), octets = octets.len(), "received");
                if matches!(apdu, Apdu::Close(_)) {
                    return;
                }
            }
        }
        // Octets left unread when the connection closes could cost the server our Close.
        let mut dropped = [0; 4096];
        while matches!(self.framed.get_mut().read(&mut dropped).await, Ok(1..)) {}
    }
}

fn stream_error(error: StreamError, phase: Phase) -> Error {
    let cause = match error {
        StreamError::Frame(fault) => {
            debug!(%fault, "received what is no APDU");
            return Error::fault(phase, fault);
        }
        StreamError::CutOff(octets) => Cause::CutOff(octets),
        StreamError::Io(error) => match error.kind() {
            std::io::ErrorKind::BrokenPipe
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::ConnectionAborted
            | std::io::ErrorKind::UnexpectedEof => Cause::Disconnected,
            _ => Cause::Other(Arc::new(error)),
        },
    };
    Error::Unavailable { phase, cause }
}

/// The octets of an APDU for people, secrets left out; at trace level only.
fn trace_body(octets: &[u8]) {
    if tracing::enabled!(Level::TRACE) {
        trace!("\n{}", codec::dump::dump(octets));
    }
}
