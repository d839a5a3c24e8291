//! The task of a session with an SRU server. It sends one request at a time, and cancels a request whose caller has
//! dropped its future.

use tokio::sync::{mpsc, oneshot};
use tracing::trace;
use z3950_asn1::apdu::{
    Apdu, DeleteFunction, DeleteResultSetRequest, DeleteResultSetResponse, DeleteSetStatus,
    InitializeRequest, InitializeResponse, ListStatus, Options, SortKeySpec,
};
use z3950_asn1::sru::SruLimits;
use z3950_asn1::types::Bits;
use z3950_asn1::via::Via;

use super::explain::SruDescription;
use super::query::Translations;
use super::server::SruServer;
use super::sets::{ResultSets, SruExchange};
use crate::error::{Error, Phase, ProtocolFault};
use crate::protocol::driver::task::Inbox;
use crate::protocol::driver::{Command, End, State, StateSender, examine};
use crate::protocol::service::init::{EXCEPTIONAL_RECORD_SIZE, PREFERRED_MESSAGE_SIZE};
use crate::protocol::session::options::SessionOptions;
use crate::target::Endpoint;
use crate::transport::http::HttpClient;
use crate::transport::{Routes, Timeouts};

/// The options that an SRU session grants: search, present, delete, scan, sort, extended services (for updates), named
/// result sets (which the client stores), and type-104 queries (Z39.50-2003 §3.2.1.1.3).
const GRANTED: Options = Options(Bits::of(&[0, 1, 2, 7, 8, 10, 14, 19]));

/// A request for the description of a database.
#[derive(Debug)]
pub(crate) struct DescriptionRequest {
    pub(crate) database: String,
    pub(crate) timeouts: Timeouts,
    pub(crate) reply: oneshot::Sender<Result<SruDescription, Error>>,
}

/// The next thing that the task has to do.
enum Assignment {
    Command(Command),
    Description(DescriptionRequest),
}

/// The task of a session with an SRU server.
pub(crate) struct SruTask {
    /// The state of the session. It is the first field, and therefore dropped first, so that callers see the end of the
    /// session if the task is dropped.
    state: StateSender,
    exchange: SruExchange,
    inbox: Inbox,
    descriptions: mpsc::Receiver<DescriptionRequest>,
}

impl SruTask {
    /// Creates the task of a session for which Init has not been sent yet.
    pub(crate) fn new(
        endpoint: &Endpoint,
        proxy: Option<&str>,
        routes: &Routes,
        options: &SessionOptions,
        inbox: Inbox,
        descriptions: mpsc::Receiver<DescriptionRequest>,
        state: StateSender,
    ) -> Self {
        let limits = SruLimits::default();
        let proxy = proxy.map(str::to_owned);
        let http = HttpClient::new(routes.clone(), endpoint.clone(), proxy, limits.document);
        Self {
            exchange: SruExchange {
                server: SruServer::new(http, options.sru.clone(), limits),
                sets: ResultSets::default(),
                translations: Translations::default(),
            },
            inbox,
            descriptions,
            state,
        }
    }

    /// Serves requests until the client closes the session. An SRU server cannot end the session.
    pub(crate) async fn run(mut self) {
        while let Some(assignment) = self.next().await {
            match assignment {
                Assignment::Command(command) => self.carry_out(command).await,
                Assignment::Description(request) => self.describe(request).await,
            }
        }
        trace!("session ended");
        self.state.set(State::Ended(End::Closed));
        self.inbox.triggers.close();
        self.inbox.commands.close();
        while let Some(mut command) = self.inbox.commands.recv().await {
            command.reply.send(Err(End::Closed.error()));
        }
        self.exchange.server.http.disconnect();
        self.state.set(State::Gone(End::Closed));
    }

    async fn carry_out(&mut self, mut command: Command) {
        let closing = self.inbox.closing.clone();
        command.reply.note_sent(Phase::of(&command.request));
        let Command {
            request,
            sort,
            timeouts,
            reply,
        } = &mut command;
        let answer = tokio::select! {
            biased;
            () = closing.cancelled() => Some(Err(End::Closed.error())),
            () = reply.closed() => None,
            answer = self.answer(request, sort, timeouts) => Some(answer),
        };
        match answer {
            Some(answer) => command.reply.send(answer),
            None => self.exchange.server.http.disconnect(),
        }
    }

    async fn describe(&mut self, mut request: DescriptionRequest) {
        let closing = self.inbox.closing.clone();
        let (database, timeouts) = (&*request.database, &request.timeouts);
        let answer = tokio::select! {
            biased;
            () = closing.cancelled() => Some(Err(End::Closed.error())),
            () = request.reply.closed() => None,
            answer = self.exchange.describe(database, timeouts) => Some(answer),
        };
        match answer {
            // An error means that the caller no longer waits for the answer.
            Some(answer) => drop(request.reply.send(answer)),
            None => self.exchange.server.http.disconnect(),
        }
    }

    /// Waits for the next assignment. Returns `None` when the session is closed.
    async fn next(&mut self) -> Option<Assignment> {
        loop {
            let inbox = &mut self.inbox;
            tokio::select! {
                biased;
                () = inbox.closing.cancelled() => return None,
                // No operation is in progress, so there is nothing to cancel and the reply is 0.
                Some(trigger) = inbox.triggers.recv() => drop(trigger.reply.send(0)),
                Some(request) = self.descriptions.recv() => {
                    return Some(Assignment::Description(request));
                }
                command = inbox.commands.recv() => match command {
                    Some(command) if command.reply.is_closed() => {}
                    command => return command.map(Assignment::Command),
                },
            }
        }
    }

    async fn answer(
        &mut self,
        request: &Apdu,
        sort: &[SortKeySpec],
        timeouts: &Timeouts,
    ) -> Result<Apdu, Error> {
        let mut answer: Apdu = match request {
            Apdu::InitializeRequest(request) => self.init(request, timeouts).await?.into(),
            Apdu::SearchRequest(request) => {
                let found = self.exchange.search(request, sort, timeouts);
                found.await?.into()
            }
            Apdu::PresentRequest(request) => self.exchange.present(request, timeouts).await?.into(),
            Apdu::SortRequest(request) => self.exchange.sort(request, timeouts).await?.into(),
            Apdu::ScanRequest(request) => self.exchange.scan(request, timeouts).await?.into(),
            Apdu::DeleteResultSetRequest(request) => self.delete(request).into(),
            Apdu::ExtendedServicesRequest(request) => {
                self.exchange.task(request, timeouts).await?.into()
            }
            other => {
                let fault = ProtocolFault::NotGranted(other.name());
                return Err(Error::fault(Phase::of(other), fault));
            }
        };
        answer.set_reference_id(request.reference_id().cloned());
        examine(request, &answer)?;
        Ok(answer)
    }

    /// Connects to the server. SRU has no Init, so nothing is sent (Z39.50-2003 §3.2.1).
    async fn init(
        &mut self,
        request: &InitializeRequest,
        timeouts: &Timeouts,
    ) -> Result<InitializeResponse, Error> {
        self.exchange
            .server
            .log_in(request.id_authentication.as_ref());
        let via = Via::of_version(request.implementation_version.as_ref());
        self.exchange.server.http.pass_on(&via);
        self.exchange.sets = ResultSets::default();
        self.exchange.server.http.connect(timeouts).await?;
        Ok(InitializeResponse {
            protocol_version: request.protocol_version,
            options: request.options.intersection(GRANTED),
            preferred_message_size: PREFERRED_MESSAGE_SIZE.into(),
            exceptional_record_size: EXCEPTIONAL_RECORD_SIZE.into(),
            result: true,
            implementation_name: Some("SRU".into()),
            ..InitializeResponse::default()
        })
    }

    /// Removes result sets from the state of the session (Z39.50-2003 §3.2.4).
    fn delete(&mut self, request: &DeleteResultSetRequest) -> DeleteResultSetResponse {
        if request.delete_function == DeleteFunction::ALL {
            self.exchange.sets = ResultSets::default();
            return DeleteResultSetResponse::default();
        }
        let statuses = request
            .result_set_list
            .iter()
            .flatten()
            .map(|id| ListStatus {
                id: id.clone(),
                status: if self.exchange.sets.remove(&id.0) {
                    DeleteSetStatus::SUCCESS
                } else {
                    DeleteSetStatus::RESULT_SET_DID_NOT_EXIST
                },
            });
        let statuses: Vec<_> = statuses.collect();
        let is_whole = statuses
            .iter()
            .all(|status| status.status == DeleteSetStatus::SUCCESS);
        DeleteResultSetResponse {
            delete_operation_status: if is_whole {
                DeleteSetStatus::SUCCESS
            } else {
                DeleteSetStatus::NOT_ALL_REQUESTED_RESULT_SETS_DELETED
            },
            delete_list_statuses: Some(statuses),
            ..DeleteResultSetResponse::default()
        }
    }
}
