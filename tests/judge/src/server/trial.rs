//! A check in progress. It can send arbitrary octets on its connection, within limits on the cost to the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncReadExt;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_util::codec::Framed;
use z3950_asn1::apdu::{
    Apdu, Close, CloseReason, IdAuthentication, InitializeRequest, InitializeResponse, Options,
};
use z3950_asn1::codec::frame::ApduCodec;
use z3950_asn1::codec::{
    self,
    frame::{Header, Length, StreamError},
};
use z3950_asn1::decoded;

use super::exchange::HasAnswer;
use super::ledger::Ledger;
use super::offer::Offer;
use super::options::{JudgeOptions, JudgedServer};
use super::verdict::{Checked, Preparation, Verdict, counted, want};
use z3950::error::chain;
use z3950::transport::{BoxStream, Connect};

/// The maximum length of an APDU that is quoted in a message, in characters.
const MAX_SUMMARY: usize = 400;
/// The number of unexpected APDUs that the judge reads while it waits for the server's Close. After this number, it assumes that
/// the server does not stop.
pub(super) const MAX_UNASKED: usize = 100;
/// The time for which the judge waits to see whether a server sends anything that it should not send.
pub(super) const QUIET: Duration = Duration::from_secs(1);

/// A check in progress.
pub(super) struct Trial {
    /// What the server offers.
    pub(super) offer: Arc<Offer>,
    target: Arc<JudgedServer>,
    stream: Option<Framed<BoxStream, ApduCodec>>,
    /// The options granted in the session.
    pub(super) granted: Options,
    /// The version in force; 0 before Init.
    pub(super) version: u8,
    pub(super) ledger: Ledger,
}

/// The next item received from the server.
pub(super) enum Received {
    Apdu(Box<Apdu>),
    /// Octets that are not an APDU, or more octets than the limit allows.
    Malformed(String),
    /// The end of the connection, with a description.
    End(String),
    /// No APDU arrived within this time.
    Silence(Duration),
}

impl Trial {
    pub(super) fn new(target: Arc<JudgedServer>, offer: Arc<Offer>) -> Self {
        Self {
            offer,
            target,
            stream: None,
            granted: Options::default(),
            version: 0,
            ledger: Ledger::default(),
        }
    }

    /// Returns the options of the judgement.
    pub(super) fn options(&self) -> &JudgeOptions {
        &self.target.options
    }

    /// Returns whether the connection is open, as far as the judge knows.
    pub(super) fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Opens a connection, after closing any open connection.
    pub(super) async fn connect(&mut self) -> Checked {
        self.leave().await;
        let JudgedServer {
            connector,
            host,
            port,
            options,
            ..
        } = &*self.target;
        let connected = connector.connect(host, *port, &options.timeouts).await;
        let stream = connected.map_err(|error| {
            self.ledger.is_unreachable = true;
            Verdict::not_judged(chain(&error))
        })?;
        let size = usize::try_from(options.limits.check_octets).unwrap_or(usize::MAX);
        self.stream = Some(Framed::new(stream, ApduCodec::new(size)));
        (self.version, self.granted) = (0, Options::default());
        Ok(())
    }

    /// Returns the Init of ordinary sessions. It proposes versions 1 to 3 and the usual options, and contains the credentials for
    /// the server.
    pub(super) fn base_init(&self) -> InitializeRequest {
        self.target.options.init.clone()
    }

    /// Opens a session that the check needs. Ends the check if this fails.
    pub(super) async fn session(&mut self) -> Checked<InitializeResponse> {
        let init = self.base_init();
        self.session_with(init).await
    }

    /// Opens a session that the check needs with the given Init. Ends the check if this fails.
    pub(super) async fn session_with(
        &mut self,
        init: InitializeRequest,
    ) -> Checked<InitializeResponse> {
        let opened = self.opened(init).await.given();
        self.ledger.is_unreachable |= opened.is_err();
        let response = opened?;
        if response.result {
            Ok(response)
        } else {
            Err(Verdict::not_judged("the server rejected Init"))
        }
    }

    /// Connects and sends Init. Afterwards, the version and the options in the answer are in force.
    pub(super) async fn opened(&mut self, init: InitializeRequest) -> Checked<InitializeResponse> {
        self.connect().await?;
        self.init(init).await
    }

    /// Sends Init on the open connection.
    pub(super) async fn init(&mut self, init: InitializeRequest) -> Checked<InitializeResponse> {
        let proposed = (init.protocol_version, init.options);
        let response = self.ask(init).await?;
        let common = response.protocol_version.intersection(proposed.0);
        self.version = common.highest().unwrap_or(0);
        self.granted = response.options.intersection(proposed.1);
        self.ledger.is_ended |= !response.result;
        Ok(response)
    }

    /// Ends the check unless the option was granted.
    pub(super) fn needs(&self, option: Options) -> Checked {
        if self.granted.contains(option) {
            return Ok(());
        }
        let names: Vec<&str> = option.names().collect();
        let reason = format!("{} was not granted at Init", names.join(" and "));
        Err(Verdict::not_offered(reason))
    }

    /// Ends the check unless version 3 is in force.
    pub(super) fn needs_version_3(&self) -> Checked {
        match self.version {
            3.. => Ok(()),
            version => {
                let reason = format!("version {version} is in force");
                Err(Verdict::not_offered(reason))
            }
        }
    }

    /// Sends a request. Fails unless the next APDU received is its answer.
    pub(super) async fn ask<R: HasAnswer>(&mut self, request: R) -> Checked<R::Answer> {
        self.send(&request.into()).await?;
        self.answer_to::<R>().await
    }

    /// Sends a request that may end the session. Fails unless its answer is received next or the session ends. Returns `None` if
    /// the session ended.
    pub(super) async fn ask_or_end<R: HasAnswer>(
        &mut self,
        request: R,
    ) -> Checked<Option<R::Answer>> {
        self.send(&request.into()).await?;
        let received = self.receive().await;
        if received.is_over() {
            return Ok(None);
        }
        let wanted = || format!("{} or the end of the session", R::ANSWER);
        received.into_answer::<R>(wanted).map(Some)
    }

    /// Waits for the answer to a request of the type `R`.
    pub(super) async fn answer_to<R: HasAnswer>(&mut self) -> Checked<R::Answer> {
        let received = self.receive().await;
        received.into_answer::<R>(|| R::ANSWER.to_owned())
    }

    /// Sends an APDU.
    pub(super) async fn send(&mut self, apdu: &Apdu) -> Checked {
        let octets = encoded(apdu)?;
        self.send_octets(octets).await
    }

    /// Sends arbitrary octets in one write.
    pub(super) async fn send_octets(&mut self, octets: impl Into<Bytes>) -> Checked {
        let octets = octets.into();
        let JudgedServer { pacer, options, .. } = &*self.target;
        self.ledger.pace(pacer, options.pause).await;
        self.note(true, &octets);
        let limit = self.answer_limit();
        let Some(stream) = &mut self.stream else {
            return Err(Verdict::not_judged("there is no connection"));
        };
        match timeout(limit, stream.send(octets)).await {
            Ok(Ok(())) => Ok(()),
            // The server may have answered before it ended the connection, so the answer is read in any case.
            Ok(Err(_)) => Ok(()),
            Err(_) => {
                self.ledger.is_silent = true;
                Err(Verdict::fail(
                    "a server that reads requests",
                    format!("octets that it did not take within {}", seconds(limit)),
                ))
            }
        }
    }

    /// Sends each octet in a separate write.
    pub(super) async fn send_slowly(&mut self, octets: impl Into<Bytes>) -> Checked {
        let octets = octets.into();
        self.ledger.requests += 1;
        self.note(true, &octets);
        for position in 0..octets.len() {
            let Some(stream) = &mut self.stream else {
                return Err(Verdict::not_judged("there is no connection"));
            };
            // Errors are ignored: if the server has ended the connection, its answer is still read later.
            let _ = stream.send(octets.slice(position..=position)).await;
            yield_now().await;
        }
        Ok(())
    }

    /// Waits for the next APDU.
    pub(super) async fn receive(&mut self) -> Received {
        let limit = self.answer_limit();
        let received = self.receive_within(limit).await;
        self.ledger.is_silent |= matches!(received, Received::Silence(_));
        received
    }

    /// Waits for the next APDU for at most this time.
    async fn receive_within(&mut self, limit: Duration) -> Received {
        let received = self.read_within(limit).await;
        self.ledger.is_ended |= received.is_over();
        received
    }

    async fn read_within(&mut self, limit: Duration) -> Received {
        let most = self.target.options.limits.check_octets;
        let Some(stream) = &mut self.stream else {
            return Received::End("there is no connection".to_owned());
        };
        let octets = match timeout(limit, stream.next()).await {
            Err(_) => return Received::Silence(limit),
            Ok(None) => return Received::End("the end of the connection".to_owned()),
            Ok(Some(Err(StreamError::Io(error)))) => {
                return Received::End(format!("the end of the connection ({error})"));
            }
            Ok(Some(Err(error))) => {
                self.ledger.is_ended |= matches!(error, StreamError::CutOff(_));
                let rest = stream.read_buffer().clone().freeze();
                self.ledger.octets += rest.len() as u64;
                self.note(false, &rest);
                return Received::Malformed(error.to_string());
            }
            Ok(Some(Ok(octets))) => octets,
        };
        self.ledger.octets = self.ledger.octets.saturating_add(octets.len() as u64);
        self.note(false, &octets);
        if self.ledger.octets > most {
            self.stream = None;
            return Received::Malformed(format!("more than {most} octets in one check"));
        }
        match codec::decode(&octets) {
            Ok(apdu) => Received::Apdu(Box::new(apdu)),
            Err(error) => Received::Malformed(format!("an APDU that does not decode: {error}")),
        }
    }

    /// Returns what the server sends within a second although no request is waiting for an answer.
    pub(super) async fn unasked(&mut self) -> Received {
        self.receive_within(QUIET).await
    }

    /// Fails if the server sends anything within a second, or ends the connection.
    pub(super) async fn silence(&mut self) -> Checked {
        let received = self.unasked().await;
        let holds = matches!(received, Received::Silence(_));
        want(holds, "nothing", || received.to_string())
    }

    /// Returns whether the server stops sending, either by ending the connection or by being silent for a second.
    pub(super) async fn stops(&mut self) -> bool {
        let most = self.target.options.limits.check_octets;
        let Some(stream) = &mut self.stream else {
            return true;
        };
        let mut part = [0; 4096];
        while let Ok(Ok(count @ 1..)) = timeout(QUIET, stream.get_mut().read(&mut part)).await {
            self.ledger.octets = self.ledger.octets.saturating_add(count as u64);
            if self.ledger.octets > most {
                return false;
            }
        }
        true
    }

    /// Returns whether a session can be opened and a search in it is answered.
    pub(super) async fn is_answered(&mut self) -> bool {
        if self.session().await.is_err() {
            return false;
        }
        match self.good_search() {
            Ok(search) => self.ask(search).await.is_ok(),
            Err(_) => true,
        }
    }

    /// Closes the connection like a client that has finished, and waits a moment for the server to close its side too, so that a
    /// check never has two connections at the same time. Returns whether the server stopped sending.
    pub(super) async fn leave(&mut self) -> bool {
        let Some(mut stream) = self.stream.take() else {
            return true;
        };
        let mut unasked = 0;
        let goodbye = async {
            if self.version >= 3 {
                let close = encoded(&Close::new(CloseReason::FINISHED, None).into());
                if let Ok(octets) = close {
                    stream.send(Bytes::from(octets)).await.ok()?;
                }
            }
            while unasked < MAX_UNASKED {
                let octets = stream.next().await?.ok()?;
                if matches!(codec::decode(&octets), Ok(Apdu::Close(_))) {
                    break;
                }
                unasked += 1;
            }
            Some(())
        };
        let _ = timeout(self.target.options.timeouts.close, goodbye).await;
        (self.version, self.granted) = (0, Options::default());
        unasked < MAX_UNASKED
    }

    /// Closes the connection without sending Close.
    pub(super) fn hang_up(&mut self) {
        self.stream = None;
    }

    fn answer_limit(&self) -> Duration {
        let options = &self.target.options;
        let limit = options.timeouts.answer;
        limit.unwrap_or(options.limits.check_time)
    }

    fn note(&mut self, is_sent: bool, octets: &Bytes) {
        let octets = if is_sent {
            without_credentials(octets)
        } else {
            octets.clone()
        };
        self.ledger
            .note(is_sent, &octets, octets.len(), || summary_of(&octets));
    }
}

impl Received {
    /// Returns whether the session has ended, by Close or by the end of the connection.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::End(_) => true,
            Self::Apdu(apdu) => matches!(**apdu, Apdu::Close(_)),
            Self::Malformed(_) | Self::Silence(_) => false,
        }
    }

    fn into_answer<R: HasAnswer>(self, wanted: impl FnOnce() -> String) -> Checked<R::Answer> {
        let came = self.to_string();
        let answer = match self {
            Self::Apdu(apdu) => R::Answer::try_from(*apdu).ok(),
            _ => None,
        };
        answer.ok_or_else(|| Verdict::fail(wanted(), came))
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apdu(apdu) => f.write_str(&summary(apdu)),
            Self::Malformed(words) | Self::End(words) => f.write_str(words),
            Self::Silence(limit) => write!(f, "no answer within {}", seconds(*limit)),
        }
    }
}

/// Encodes an APDU that the judge is going to send.
pub(super) fn encoded(apdu: &Apdu) -> Checked<Vec<u8>> {
    codec::encode(apdu).map_err(|error| Verdict::not_judged(error.to_string()))
}

/// Formats an APDU as one line with its name and its elements in JSON, shortened.
pub(super) fn summary(apdu: &Apdu) -> String {
    let text = format!("{} {}", apdu.name(), decoded::to_json(apdu));
    match text.char_indices().nth(MAX_SUMMARY) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn summary_of(octets: &[u8]) -> String {
    match codec::decode(octets) {
        Ok(apdu) => summary(&apdu),
        Err(error) => format!("{}: {error}", counted(octets.len(), "octet")),
    }
}

/// Returns the octets of a request for the report. In an Init, the credentials are replaced with `*`.
fn without_credentials(octets: &Bytes) -> Bytes {
    let Ok(Apdu::InitializeRequest(mut init)) = codec::decode(octets) else {
        return octets.clone();
    };
    if init.id_authentication.is_none() {
        return octets.clone();
    }
    init.id_authentication = Some(IdAuthentication::Open("*".into()));
    encoded(&(*init).into()).map_or_else(|_| Bytes::new(), Bytes::from)
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Returns the contents of an APDU, without its tag and length.
pub(super) fn contents(octets: &[u8]) -> &[u8] {
    let header = Header::read(octets).ok().flatten();
    header.map_or(&[], |header| {
        octets.get(header.octets..).unwrap_or_default()
    })
}

/// Encodes contents with a tag of one octet.
pub(super) fn tagged(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len();
    let length = match u8::try_from(length) {
        Ok(short) if short < 0x80 => vec![short],
        _ => {
            let long = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
            [&[0x84][..], &long].concat()
        }
    };
    [&[tag][..], &length, contents].concat()
}

/// Replaces the contents of the first element of an APDU that has this one-octet tag. Empty contents remove the element.
pub(super) fn replaced(octets: &[u8], tag: u8, other: &[u8]) -> Vec<u8> {
    let mut rest = contents(octets);
    let mut changed = Vec::new();
    let mut is_done = false;
    while let Ok(Some(header)) = Header::read(rest) {
        let length = match header.length {
            Length::Definite(length) => length,
            Length::Indefinite => break,
        };
        let Some((element, after)) = rest.split_at_checked(header.octets + length) else {
            break;
        };
        if element.first() == Some(&tag) && !is_done {
            changed.extend(tagged(tag, other));
            is_done = true;
        } else {
            changed.extend(element);
        }
        rest = after;
    }
    tagged(octets.first().copied().unwrap_or_default(), &changed)
}
