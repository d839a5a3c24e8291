//! A fake server of a cluster for tests, which does things that real nodes do not do on demand.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use z3950_server::lock;

use super::address::ClusterAddress;

/// A request as received by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FakeRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The header fields, in lower case, each with its value.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl FakeRequest {
    /// Returns the value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known == name);
        found.map(|(_, value)| &**value)
    }
}

/// The server's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum FakeAnswer {
    /// The server answers with this status and this JSON value.
    Json(u16, Value),
    /// The server answers with these octets: head and body.
    Octets(Vec<u8>),
    /// The server sends these octets, and closes the connection.
    Cut(Vec<u8>),
    /// The server sends the first octets once, and then the second octets again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// The server sends these octets, and then stops sending.
    Hang(Vec<u8>),
}

impl FakeAnswer {
    /// Creates an answer with status 200, a media type and this body.
    pub(crate) fn of(media_type: &str, body: &str) -> Self {
        Self::with("200 OK", &format!("Content-Type: {media_type}\r\n"), body)
    }

    /// Creates an answer with this status, these lines of the head and this body.
    pub(crate) fn with(status: &str, lines: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\n{lines}Content-Length: {length}\r\n\r\n{body}");
        Self::Octets(text.into_bytes())
    }
}

/// A server, and the requests that it has received.
pub(crate) struct FakeNode {
    port: u16,
    asked: Arc<Mutex<Vec<FakeRequest>>>,
    /// The number of connections so far.
    connections: Arc<Mutex<usize>>,
    /// Notified of each connection that a client closes.
    closed: Arc<Notify>,
    listening: tokio::task::AbortHandle,
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl FakeNode {
    /// Starts a server that answers each request with the result of a function.
    pub(crate) async fn start(
        answer: impl Fn(&FakeRequest) -> FakeAnswer + Send + Sync + 'static,
    ) -> Self {
        Self::listen(None, answer).await
    }

    /// Starts a server, which answers over TLS if there is an acceptor.
    pub(crate) async fn listen(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(&FakeRequest) -> FakeAnswer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (asked, connections, closed) = (Arc::default(), Arc::default(), Arc::default());
        let noted: Arc<Mutex<Vec<FakeRequest>>> = Arc::clone(&asked);
        let answer = Arc::new(move |request: &FakeRequest| {
            lock(&noted).push(request.clone());
            answer(request)
        });
        let (counted, told) = (Arc::clone(&connections), Arc::clone(&closed));
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *lock::<usize>(&counted) += 1;
                let (answer, told, tls) = (Arc::clone(&answer), Arc::clone(&told), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                drop(serve(stream, &*answer, &told).await);
                            }
                        }
                        None => drop(serve(stream, &*answer, &told).await),
                    }
                });
            }
        });
        Self {
            port,
            asked,
            connections,
            closed,
            listening: listening.abort_handle(),
        }
    }

    /// Returns the requests so far.
    pub(crate) fn asked(&self) -> Vec<FakeRequest> {
        lock(&self.asked).clone()
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        *lock(&self.connections)
    }

    /// Waits until a client has closed a connection.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Returns the address of an index.
    pub(crate) fn address(&self) -> ClusterAddress {
        ClusterAddress {
            is_secure: false,
            host: "127.0.0.1".to_owned(),
            port: self.port,
            index: "books".to_owned(),
        }
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    answer: &impl Fn(&FakeRequest) -> FakeAnswer,
    closed: &Notify,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let request = match read(&mut stream).await {
            Ok(request) => request,
            Err(error) => {
                closed.notify_one();
                return Err(error);
            }
        };
        match answer(&request) {
            FakeAnswer::Json(status, body) => {
                let body = body.to_string();
                let head = format!(
                    "HTTP/1.1 {status} \r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).await?;
            }
            FakeAnswer::Octets(octets) => stream.write_all(&octets).await?,
            FakeAnswer::Cut(octets) => {
                stream.write_all(&octets).await?;
                return stream.shutdown().await;
            }
            FakeAnswer::Endless(first, others) => {
                stream.write_all(&first).await?;
                while stream.write_all(&others).await.is_ok() {}
                closed.notify_one();
                return Ok(());
            }
            FakeAnswer::Hang(octets) => {
                stream.write_all(&octets).await?;
                stream.flush().await?;
                // Wait until the client closes the connection.
                let _ = stream.read_u8().await;
                closed.notify_one();
                return Ok(());
            }
        }
        stream.flush().await?;
    }
}

async fn read<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> std::io::Result<FakeRequest> {
    let mut line = String::new();
    let mut head = Vec::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim_end().is_empty() {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let mut first = head.first().into_iter().flat_map(|line| line.split(' '));
    let mut next = || first.next().unwrap_or_default().to_owned();
    let (method, path) = (next(), next());
    let fields: Vec<_> = head
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = fields
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body).await?;
    Ok(FakeRequest {
        method,
        path,
        fields,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}
