//! The client's side of a connection in memory.

use super::*;
use crate::connection;

/// A test client that is connected to the server by a pipe in memory.
pub(super) struct Client {
    pub(super) stream: Framed<DuplexStream, ApduCodec>,
    pub(super) stop: watch::Sender<bool>,
    pub(super) task: JoinHandle<()>,
}

/// The capacity of the pipe between client and server, in octets.
pub(super) const CAPACITY: usize = 1 << 16;

impl Client {
    pub(super) fn new(limits: Limits, faults: Faults) -> Self {
        Self::of(catalogue(), limits, faults)
    }

    pub(super) fn of(backend: Arc<dyn Backend>, limits: Limits, faults: Faults) -> Self {
        Self::in_slot(backend, limits, faults, None)
    }

    pub(super) fn in_slot(
        backend: Arc<dyn Backend>,
        limits: Limits,
        faults: Faults,
        slot: Option<Slot>,
    ) -> Self {
        let target = Target::new(backend, limits);
        Self::on(target, faults, Arc::new(Unobserved), slot)
    }

    pub(super) fn on(
        target: Target,
        faults: Faults,
        observer: Arc<dyn Observer>,
        slot: Option<Slot>,
    ) -> Self {
        let context = Context {
            faults: Arc::new(faults),
            observer,
            ..Context::new(target)
        };
        Self::within(Arc::new(context), slot)
    }

    /// Connects a client to a server that may have other clients.
    pub(super) fn within(context: Arc<Context>, slot: Option<Slot>) -> Self {
        let (ours, theirs) = tokio::io::duplex(CAPACITY);
        let (stop, stopping) = watch::channel(false);
        let client = connection::Client {
            number: 1,
            peer: Peer::Unix,
            begun: Instant::now(),
            slot,
            #[cfg(feature = "sru")]
            speaks_http: true,
        };
        let metrics = Arc::clone(&context.metrics);
        let observer = Arc::clone(&context.observer);
        let task = tokio::spawn(async move {
            let mut tally = Tally::new(1, Peer::Unix, metrics, observer, stopping.clone());
            let mut theirs = theirs;
            serve(&mut theirs, &client, context, stopping, &mut tally).await;
        });
        Self {
            stream: Framed::new(ours, ApduCodec::new(1 << 20)),
            stop,
            task,
        }
    }

    pub(super) async fn open(limits: Limits, faults: Faults) -> Self {
        let mut client = Self::new(limits, faults);
        client.send(init()).await;
        assert_eq!(client.heard().await, "initResponse");
        client
    }

    pub(super) async fn send(&mut self, apdu: Apdu) {
        let octets = codec::encode(&apdu).expect("encodes");
        self.stream
            .send(octets.into())
            .await
            .expect("the server listens");
    }

    pub(super) async fn send_octets(&mut self, octets: &[u8]) {
        self.stream
            .get_mut()
            .write_all(octets)
            .await
            .expect("the server listens");
    }

    pub(super) async fn next(&mut self) -> Option<Apdu> {
        let octets = self.stream.next().await?.expect("an APDU");
        Some(codec::decode(&octets).expect("a valid answer"))
    }

    /// Returns a description of the next answer: the APDU's name, the message of a Close, or `end`.
    pub(super) async fn heard(&mut self) -> String {
        match self.next().await {
            None => "end".to_owned(),
            Some(Apdu::Close(close)) => {
                let words = close.diagnostic_information.unwrap_or_default();
                format!("{}: {}", close.close_reason, words.to_string_lossy())
            }
            Some(apdu) => apdu.name().to_owned(),
        }
    }

    /// Returns the descriptions of all answers until the connection ends.
    pub(super) async fn heard_to_the_end(&mut self) -> Vec<String> {
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "end") {
            heard.push(self.heard().await);
        }
        heard
    }
}
