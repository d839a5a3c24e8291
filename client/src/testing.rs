//! Test servers that follow a script and record the requests. Streams are `tokio::io::duplex`, so the tests need no
//! sockets and can pause the clock.

mod messages;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio_util::codec::FramedRead;
use z3950_asn1::apdu::*;
use z3950_asn1::codec;
use z3950_asn1::codec::frame::ApduCodec;
use z3950_asn1::oid::Oid;

pub(crate) use self::messages::*;
use crate::error::{Cause, Error, Phase};
use crate::protocol::session::{Session, SessionOptions};
use crate::transport::{BoxStream, Connect, Connecting, Timeouts};
use crate::url::Host;

/// The server's action after the next request.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// Sends these APDUs.
    Send(Vec<Apdu>),
    /// Sends these octets.
    Octets(Vec<u8>),
    /// Sends these octets one at a time.
    Trickle(Vec<u8>),
    /// Sends nothing and continues to read.
    Silence,
    /// Closes the connection.
    HangUp,
}

/// The script of a server for one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    pub(crate) turns: Vec<Turn>,
    /// The number of octets after which the connection is closed, if any.
    pub(crate) budget: Option<usize>,
    /// Whether the server does not answer a Close after the last turn.
    pub(crate) ignores_close: bool,
}

impl<T: Into<Vec<Turn>>> From<T> for Script {
    fn from(turns: T) -> Self {
        Self {
            turns: turns.into(),
            ..Self::default()
        }
    }
}

/// The names of the events and requests in a conversation, in order: `connect`, `initRequest`, …, `end`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript(Arc<Mutex<Vec<String>>>);

impl Transcript {
    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("no panic").join(" ")
    }

    /// Waits until every connection has ended, and returns the transcript.
    pub(crate) async fn finished(&self) -> String {
        loop {
            let text = self.text();
            let count =
                |words: &[&str]| text.split(' ').filter(|word| words.contains(word)).count();
            if count(&["connect"]) == count(&["end", "hangup", "cut"]) {
                return text;
            }
            // The server records the end of its stream in a separate task, so let that task run.
            tokio::task::yield_now().await;
        }
    }

    fn note(&self, word: impl Into<String>) {
        self.0.lock().expect("no panic").push(word.into());
    }
}

/// Starts a server, and returns the client's end of the stream.
pub(crate) fn serve(script: impl Into<Script>, transcript: &Transcript) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(65_536);
    transcript.note("connect");
    tokio::spawn(run(theirs, script.into(), transcript.clone()));
    ours
}

/// Acts as the server on a stream. The caller must record `connect` if the transcript is to contain it.
pub(crate) async fn run<S>(stream: S, script: Script, transcript: Transcript)
where
    S: AsyncRead + AsyncWrite,
{
    let (reader, mut writer) = tokio::io::split(stream);
    let mut requests = FramedRead::new(reader, ApduCodec::new(1 << 20));
    let mut turns = script.turns.into_iter();
    let mut budget = script.budget.unwrap_or(usize::MAX);
    while let Some(request) = requests.next().await {
        let request = codec::decode(&request.expect("an APDU")).expect("decodes");
        transcript.note(describe(&request));
        let turn = turns.next().unwrap_or(match request {
            Apdu::Close(_) if !script.ignores_close => close(CloseReason::FINISHED),
            _ => Turn::Silence,
        });
        let (octets, step) = match turn {
            Turn::Send(apdus) => (apdus.iter().flat_map(encode).collect(), usize::MAX),
            Turn::Octets(octets) => (octets, usize::MAX),
            Turn::Trickle(octets) => (octets, 1),
            Turn::Silence => continue,
            Turn::HangUp => return transcript.note("hangup"),
        };
        let (octets, cut) = match octets.get(..budget) {
            Some(head) if head.len() < octets.len() || budget == 0 => (head, true),
            _ => (octets.as_slice(), false),
        };
        budget -= octets.len();
        for piece in octets.chunks(step) {
            // An error means that the client has closed the connection, which the test itself checks.
            let _ = writer.write_all(piece).await;
            tokio::task::yield_now().await;
        }
        if cut {
            return transcript.note("cut");
        }
    }
    transcript.note("end");
}

/// Starts a server that answers requests with `answers`, and closes the connection when `answers` returns `None`.
pub(crate) fn answering(
    mut answers: impl FnMut(Apdu) -> Option<Vec<Apdu>> + Send + 'static,
) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let mut peer = Peer::on(theirs);
    tokio::spawn(async move {
        while let Some(request) = peer.next().await
            && let Some(apdus) = answers(request)
        {
            for apdu in apdus {
                peer.send(apdu).await;
            }
        }
    });
    ours
}

/// The server's end of a session's stream, which the test itself controls.
pub(crate) struct Peer {
    requests: FramedRead<ReadHalf<DuplexStream>, ApduCodec>,
    writer: WriteHalf<DuplexStream>,
}

impl Peer {
    pub(crate) fn on(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            requests: FramedRead::new(reader, ApduCodec::new(1 << 20)),
            writer,
        }
    }

    /// Opens a session with `options`. The server answers Init with `response`.
    pub(crate) async fn accept(
        options: SessionOptions,
        response: InitializeResponse,
    ) -> (Session, Self) {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let opening = tokio::spawn(async move { Session::over(ours, &options).await });
        let mut peer = Self::on(theirs);
        peer.request().await;
        peer.send(response).await;
        (opening.await.expect("no panic").expect("a session"), peer)
    }

    /// Opens a session in version 3 whose server grants these options in addition to the options in [`init_response`].
    pub(crate) async fn granting(options: SessionOptions, granted: Options) -> (Session, Self) {
        let mut response = init_response(true, ProtocolVersion::UP_TO_3);
        response.options = response.options | granted;
        Self::accept(options, response).await
    }

    pub(crate) async fn next(&mut self) -> Option<Apdu> {
        let octets = self.requests.next().await?.expect("an APDU");
        Some(codec::decode(&octets).expect("decodes"))
    }

    pub(crate) async fn request(&mut self) -> Apdu {
        self.next().await.expect("a request")
    }

    /// Waits for a second, and returns whether the client sent nothing in that time.
    pub(crate) async fn hears_nothing(&mut self) -> bool {
        let second = std::time::Duration::from_secs(1);
        tokio::time::timeout(second, self.next()).await.is_err()
    }

    pub(crate) async fn send(&mut self, apdu: impl Into<Apdu>) {
        // An error means that the client has closed the connection, which the test itself checks.
        let _ = self.writer.write_all(&encode(&apdu.into())).await;
    }

    /// Returns the names of the remaining APDUs, up to the end of the stream.
    pub(crate) async fn rest(mut self) -> String {
        let mut names = Vec::new();
        while let Some(request) = self.next().await {
            names.push(describe(&request));
        }
        names.join(" ")
    }
}

fn describe(request: &Apdu) -> String {
    let syntax = |oid: &Option<Oid>| oid.and_then(|oid| oid.name()).unwrap_or("any");
    match request {
        Apdu::SearchRequest(search) => format!(
            "search({}/{}/{},{})",
            search.small_set_upper_bound,
            search.large_set_lower_bound,
            search.medium_set_present_number,
            syntax(&search.preferred_record_syntax)
        ),
        Apdu::PresentRequest(present) => format!(
            "present({}+{},{})",
            present.result_set_start_point,
            present.number_of_records_requested,
            syntax(&present.preferred_record_syntax)
        ),
        Apdu::Close(close) => format!("close({})", close.close_reason),
        other => other.name().to_owned(),
    }
}

/// A connector whose n-th connection uses the n-th script. It refuses further connections.
pub(crate) struct Scripted {
    scripts: Mutex<VecDeque<Script>>,
    pub(crate) transcript: Transcript,
}

impl Scripted {
    pub(crate) fn new<S: Into<Script>>(scripts: impl IntoIterator<Item = S>) -> Self {
        let scripts = scripts.into_iter().map(Into::into).collect();
        Self {
            scripts: Mutex::new(scripts),
            transcript: Transcript::default(),
        }
    }
}

impl Connect for Scripted {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let script = self.scripts.lock().expect("no panic").pop_front();
        let stream = script.map(|script| Box::new(serve(script, &self.transcript)) as BoxStream);
        let refused = || Error::Unavailable {
            phase: Phase::Connect,
            cause: Cause::Refused(Arc::new(std::io::ErrorKind::ConnectionRefused.into())),
        };
        Box::pin(std::future::ready(stream.ok_or_else(refused)))
    }
}

pub(crate) fn send(apdu: impl Into<Apdu>) -> Turn {
    Turn::Send(vec![apdu.into()])
}

/// Accepts an Init in version 3.
pub(crate) fn accepted() -> Turn {
    send(init_response(true, ProtocolVersion::UP_TO_3))
}

/// Sends a Present response with one record.
pub(crate) fn one(record: NamePlusRecord) -> Turn {
    send(presented(
        PresentStatus::SUCCESS,
        Some(Records::ResponseRecords(vec![record])),
    ))
}

pub(crate) fn close(reason: CloseReason) -> Turn {
    send(Close::new(reason, Some("so long")))
}
