//! A check in progress: a connection of its own, on which any octets can be sent, with limits on what the server may cost.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::codec::Framed;
use z3950_asn1::apdu::{
    Apdu, Close, CloseReason, IdAuthentication, InitializeRequest, InitializeResponse, Options,
};
use z3950_asn1::codec::stream::ApduCodec;
use z3950_asn1::codec::{
    self,
    frame::{Header, Length, StreamError},
};
use z3950_asn1::decoded;

use super::check::{Checked, Preparation, Verdict};
use super::judge::{JudgeOptions, JudgedServer};
use super::offer::Offer;
use super::requests::HasAnswer;
use crate::transport::{BoxStream, Connect};

/// The most APDUs kept of a check for its report.
const MAX_EXCHANGES: usize = 200;
/// The most octets kept of an APDU for the report.
const MAX_KEPT: usize = 4096;
/// The most characters of an APDU in a message.
const MAX_SUMMARY: usize = 400;

/// An APDU, or other octets, that was sent or received.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Whether the judge sent it, not the server.
    pub is_sent: bool,
    /// Its octets, the first 4096 of them; credentials are left out.
    pub octets: Bytes,
    /// How many octets it has.
    pub length: usize,
    /// What it says: the name of the APDU and its elements in JSON, shortened.
    pub summary: String,
}

/// A check in progress.
pub(super) struct Trial {
    /// What is known about the server.
    pub(super) offer: Arc<Offer>,
    target: Arc<JudgedServer>,
    stream: Option<Framed<BoxStream, ApduCodec>>,
    /// The options in force in the session.
    pub(super) granted: Options,
    /// The version in force; 0 before Init.
    pub(super) version: u8,
    next_request: Instant,
    /// What was said.
    pub(super) exchanges: Vec<Exchange>,
    /// How many requests were sent.
    pub(super) requests: u32,
    /// How many octets were received.
    pub(super) octets: u64,
    /// Whether the server could not be reached, or did not answer Init.
    pub(super) is_unreachable: bool,
}

/// What the server sent next.
pub(super) enum Received {
    Apdu(Box<Apdu>),
    /// Octets that are no APDU, or more than the limit.
    Malformed(String),
    /// The end of the connection.
    End(String),
    /// Nothing, in the given time.
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
            next_request: Instant::now(),
            exchanges: Vec::new(),
            requests: 0,
            octets: 0,
            is_unreachable: false,
        }
    }

    /// How the server is judged.
    pub(super) fn options(&self) -> &JudgeOptions {
        &self.target.options
    }

    /// Whether a connection is open, as far as is known.
    pub(super) fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Opens a connection; one that is open is closed.
    pub(super) async fn connect(&mut self) -> Checked {
        self.leave().await;
        let JudgedServer {
            connector,
            host,
            port,
            options,
        } = &*self.target;
        let connected = connector.connect(host, *port, &options.timeouts).await;
        let stream = connected.map_err(|error| {
            self.is_unreachable = true;
            Verdict::not_judged(format!("cannot connect: {error}"))
        })?;
        let size = usize::try_from(options.limits.check_octets).unwrap_or(usize::MAX);
        self.stream = Some(Framed::new(stream, ApduCodec::new(size)));
        (self.version, self.granted) = (0, Options::default());
        Ok(())
    }

    /// What every session proposes: all versions and options, and the credentials of the target.
    pub(super) fn base_init(&self) -> InitializeRequest {
        self.target.options.init.clone()
    }

    /// Opens a session for a check that is not about Init.
    pub(super) async fn session(&mut self) -> Checked<InitializeResponse> {
        let init = self.base_init();
        self.session_with(init).await
    }

    /// Opens a session with another Init, for a check that is not about the answer.
    pub(super) async fn session_with(
        &mut self,
        init: InitializeRequest,
    ) -> Checked<InitializeResponse> {
        let opened = self.opened(init).await.given();
        self.is_unreachable |= opened.is_err();
        let response = opened?;
        match response.result {
            true => Ok(response),
            false => Err(Verdict::not_judged("the server rejected Init")),
        }
    }

    /// Connects and sends Init. The session has the version and the options of the answer.
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
        Ok(response)
    }

    /// Ends the check unless the option is in force.
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

    /// Sends a request, and fails unless its answer comes next.
    pub(super) async fn ask<R: HasAnswer>(&mut self, request: R) -> Checked<R::Answer> {
        self.send(&request.into()).await?;
        self.answer_to::<R>().await
    }

    /// Waits for the answer to a request of this kind.
    pub(super) async fn answer_to<R: HasAnswer>(&mut self) -> Checked<R::Answer> {
        let received = self.receive().await;
        let came = received.to_string();
        let answer = match received {
            Received::Apdu(apdu) => R::Answer::try_from(*apdu).ok(),
            _ => None,
        };
        answer.ok_or_else(|| Verdict::fail(R::ANSWER, came))
    }

    /// Sends an APDU.
    pub(super) async fn send(&mut self, apdu: &Apdu) -> Checked {
        let octets = encoded(apdu)?;
        self.send_octets(octets).await
    }

    /// Sends any octets in one write.
    pub(super) async fn send_octets(&mut self, octets: impl Into<Bytes>) -> Checked {
        let octets = octets.into();
        let pause = self.target.options.pause;
        sleep_until(self.next_request).await;
        self.next_request = Instant::now() + pause;
        self.requests += 1;
        self.note(true, &octets);
        let limit = self.answer_limit();
        let Some(stream) = &mut self.stream else {
            return Err(Verdict::not_judged("there is no connection"));
        };
        match timeout(limit, stream.send(octets)).await {
            Ok(Ok(())) => Ok(()),
            // The answer may have been sent before the connection ended.
            Ok(Err(_)) => Ok(()),
            Err(_) => Err(Verdict::fail(
                "a server that reads requests",
                format!("octets that it did not take within {}", seconds(limit)),
            )),
        }
    }

    /// Sends octets in a write each.
    pub(super) async fn send_slowly(&mut self, octets: impl Into<Bytes>) -> Checked {
        let octets = octets.into();
        self.requests += 1;
        self.note(true, &octets);
        for position in 0..octets.len() {
            let Some(stream) = &mut self.stream else {
                return Err(Verdict::not_judged("there is no connection"));
            };
            // The server may have ended the connection; what it said is read later.
            let _ = stream.send(octets.slice(position..=position)).await;
            yield_now().await;
        }
        Ok(())
    }

    /// Waits for the next APDU.
    pub(super) async fn receive(&mut self) -> Received {
        let limit = self.answer_limit();
        self.receive_within(limit).await
    }

    /// Waits for the next APDU, at most for the given time.
    pub(super) async fn receive_within(&mut self, limit: Duration) -> Received {
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
                let rest = stream.read_buffer().clone().freeze();
                self.octets += rest.len() as u64;
                self.note(false, &rest);
                return Received::Malformed(error.to_string());
            }
            Ok(Some(Ok(octets))) => octets,
        };
        self.octets = self.octets.saturating_add(octets.len() as u64);
        self.note(false, &octets);
        if self.octets > most {
            self.stream = None;
            return Received::Malformed(format!("more than {most} octets in one check"));
        }
        match codec::decode(&octets) {
            Ok(apdu) => Received::Apdu(Box::new(apdu)),
            Err(error) => Received::Malformed(format!("an APDU that does not decode: {error}")),
        }
    }

    /// Closes the connection as a client does that is finished, and waits a moment for the server to do so as well, so that
    /// it never has two of them.
    pub(super) async fn leave(&mut self) {
        let Some(mut stream) = self.stream.take() else {
            return;
        };
        let goodbye = async {
            if self.version >= 3 {
                let close = encoded(&Close::new(CloseReason::FINISHED, None).into());
                if let Ok(octets) = close {
                    stream.send(Bytes::from(octets)).await.ok()?;
                }
            }
            // A server that goes on sending is left.
            stream.next().await?.ok()
        };
        let _ = timeout(self.target.options.timeouts.close, goodbye).await;
        (self.version, self.granted) = (0, Options::default());
    }

    /// Ends the connection without a word.
    pub(super) fn hang_up(&mut self) {
        self.stream = None;
    }

    fn answer_limit(&self) -> Duration {
        let limit = self.target.options.timeouts.answer;
        limit
            .filter(|limit| !limit.is_zero())
            .unwrap_or(self.target.options.limits.check_time)
    }

    fn note(&mut self, is_sent: bool, octets: &Bytes) {
        if self.exchanges.len() == MAX_EXCHANGES {
            return;
        }
        let octets = match is_sent {
            true => without_credentials(octets),
            false => octets.clone(),
        };
        self.exchanges.push(Exchange {
            is_sent,
            summary: summary_of(&octets),
            length: octets.len(),
            octets: octets.slice(..octets.len().min(MAX_KEPT)),
        });
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

/// The octets of an APDU of the judge.
pub(super) fn encoded(apdu: &Apdu) -> Checked<Vec<u8>> {
    codec::encode(apdu).map_err(|error| Verdict::not_judged(error.to_string()))
}

/// An APDU in a line: its name, and its elements in JSON, shortened.
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
        Err(error) => format!("{} octets: {error}", octets.len()),
    }
}

/// The octets of a request as they may be shown: in Init, other credentials of the same length.
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

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The contents of an APDU, without its tag and length.
pub(super) fn contents(octets: &[u8]) -> &[u8] {
    let header = Header::read(octets).ok().flatten();
    header.map_or(&[], |header| {
        octets.get(header.octets..).unwrap_or_default()
    })
}

/// Contents under a tag of one octet.
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

/// An APDU in which the contents of the first element with this tag of one octet are others.
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
        match element.first() == Some(&tag) && !is_done {
            true => {
                changed.extend(tagged(tag, other));
                is_done = true;
            }
            false => changed.extend(element),
        }
        rest = after;
    }
    tagged(octets.first().copied().unwrap_or_default(), &changed)
}
