//! A scripted server that runs in the test's own task. It answers Init, Search and Close, unless a function in the test chooses
//! another reaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{DuplexStream, duplex};
use tokio::time::timeout;
use tokio_util::codec::Framed;
use z3950_asn1::apdu::{
    Apdu, Close, CloseReason, InitializeResponse, PresentStatus, ProtocolVersion,
};
use z3950_asn1::codec;
use z3950_asn1::codec::frame::ApduCodec;

use super::super::{Judge, JudgeOptions};
use crate::answers::{encode, found, init_response, presented};
use z3950::error::{Cause, Error, Phase};
use z3950::transport::{BoxStream, Connect, Connecting, Timeouts};
use z3950::url::{Host, Mode};

/// The server's reaction to an APDU.
pub(super) enum Does {
    /// Sends the usual answer.
    Answers,
    /// Sends these octets instead of an answer.
    Says(Vec<u8>),
    /// Sends these octets endlessly.
    Floods(Vec<u8>),
    /// Does not send anything.
    Nothing,
    /// Closes the connection.
    HangsUp,
    /// Closes the connection, and refuses all further connections.
    Dies,
    /// Does not send anything, and ignores the next APDU if it arrives immediately, like servers that process only one APDU per
    /// read.
    Overlooks,
}

/// A server whose reactions are determined by a function in the test.
pub(super) struct Scripted<R> {
    rule: Arc<R>,
    is_dead: Arc<AtomicBool>,
}

impl<R: Fn(&Apdu) -> Does + Send + Sync + 'static> Connect for Scripted<R> {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            if self.is_dead.load(Ordering::Relaxed) {
                let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
                return Err(Error::unavailable(
                    Phase::Connect,
                    Cause::Refused(Arc::new(error)),
                ));
            }
            let (near, far) = duplex(16 << 10);
            let (rule, is_dead) = (Arc::clone(&self.rule), Arc::clone(&self.is_dead));
            tokio::spawn(async move { serve(far, &*rule, &is_dead).await });
            Ok(Box::new(near) as BoxStream)
        })
    }
}

/// Serves until one side closes the connection.
async fn serve(
    stream: DuplexStream,
    rule: &impl Fn(&Apdu) -> Does,
    is_dead: &AtomicBool,
) -> Option<()> {
    let mut stream = Framed::new(stream, ApduCodec::new(4 << 20));
    while let Some(Ok(octets)) = stream.next().await {
        let apdu = codec::decode(&octets).ok()?;
        match rule(&apdu) {
            Does::Answers => {
                let answer = usual(&apdu)?;
                let is_last = matches!(answer, Apdu::Close(_));
                stream.send(encode(&answer).into()).await.ok()?;
                if is_last {
                    return None;
                }
            }
            Does::Says(octets) => stream.send(octets.into()).await.ok()?,
            Does::Floods(octets) => loop {
                stream.send(Bytes::from(octets.clone())).await.ok()?;
            },
            Does::Nothing => {}
            Does::HangsUp => return None,
            Does::Dies => {
                is_dead.store(true, Ordering::Relaxed);
                return None;
            }
            Does::Overlooks => {
                let _ = timeout(Duration::from_millis(500), stream.next()).await;
            }
        }
    }
    Some(())
}

/// Returns the answer of a server that grants all options, and that finds four records but does not send any of them.
fn usual(apdu: &Apdu) -> Option<Apdu> {
    Some(match apdu {
        Apdu::InitializeRequest(init) => granting(init.options).into(),
        Apdu::SearchRequest(_) => found(4, vec![]).into(),
        Apdu::PresentRequest(_) => presented(PresentStatus::FAILURE, None).into(),
        Apdu::Close(_) => Close::new(CloseReason::FINISHED, None).into(),
        _ => return None,
    })
}

/// Returns an answer that accepts Init with these options.
pub(super) fn granting(options: z3950_asn1::apdu::Options) -> InitializeResponse {
    InitializeResponse {
        options,
        ..init_response(true, ProtocolVersion::UP_TO_3)
    }
}

/// Prepares a judgement of a scripted server, limited to the checks whose names begin with one of these prefixes.
pub(super) fn judged(
    only: &[&str],
    change: impl FnOnce(&mut JudgeOptions),
    rule: impl Fn(&Apdu) -> Does + Send + Sync + 'static,
) -> Judge {
    let mut options = JudgeOptions {
        pause: Duration::ZERO,
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        ..JudgeOptions::default()
    };
    options.limits.check_octets = 256 << 10;
    change(&mut options);
    let connector = Scripted {
        rule: Arc::new(rule),
        is_dead: Arc::default(),
    };
    let host = Host::parse("localhost", Mode::Lenient).expect("a host");
    Judge::new(Arc::new(connector), host, 210, options)
}
