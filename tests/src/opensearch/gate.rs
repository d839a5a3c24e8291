//! A gate, which is a proxy in front of a node. The requests of a connection pass through it one after the other, and a function
//! in the test decides what happens to each request. A test can thus suspend a program at a certain request, or refuse the
//! requests of a user who has no rights.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::PATIENCE;

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The request is forwarded to the node, and the client receives the answer.
    Through,
    /// The request is not forwarded to the node, and the client does not receive an answer.
    HeldBefore,
    /// The request is forwarded to the node, but the client does not receive the answer.
    HeldAfter,
    /// The gate refuses the request with this HTTP status.
    Refused(u16),
}

/// A running gate. It remains open until the program ends.
#[derive(Debug)]
pub struct Gate {
    /// The loopback port on which the gate listens.
    pub port: u16,
    held: Receiver<String>,
}

/// An HTTP request or answer.
struct Message {
    /// The first line and the header fields, with the empty line after them.
    head: String,
    body: Vec<u8>,
}

impl Gate {
    /// Opens a gate in front of a port. `decide` receives the head of each request.
    ///
    /// # Panics
    /// Panics if there is no free port.
    pub fn open(node: u16, decide: impl Fn(&str) -> Passage + Send + Sync + 'static) -> Self {
        Self::with(node, None, decide)
    }

    /// Opens a gate that uses TLS with its clients.
    ///
    /// # Panics
    /// Panics if there is no free port.
    pub fn open_tls(
        node: u16,
        tls: ServerConfig,
        decide: impl Fn(&str) -> Passage + Send + Sync + 'static,
    ) -> Self {
        Self::with(node, Some(Arc::new(tls)), decide)
    }

    fn with(
        node: u16,
        tls: Option<Arc<ServerConfig>>,
        decide: impl Fn(&str) -> Passage + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, held) = channel();
        let decide = Arc::new(decide);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (tls, decide, held) = (tls.clone(), Arc::clone(&decide), sender.clone());
                // An error means that either side has closed the connection.
                std::thread::spawn(move || match tls {
                    None => serve(stream, node, &*decide, &held),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).map_err(Error::other)?;
                        serve(StreamOwned::new(connection, stream), node, &*decide, &held)
                    }
                });
            }
        });
        Self { port, held }
    }

    /// Waits until a request or its answer is held back. Returns the first line of the request.
    ///
    /// # Panics
    /// Panics if this takes minutes.
    pub fn held(&self) -> String {
        self.held.recv_timeout(PATIENCE).expect("a held request")
    }
}

fn serve<S: Read + Write>(
    stream: S,
    node: u16,
    decide: &dyn Fn(&str) -> Passage,
    held: &Sender<String>,
) -> Result<()> {
    let mut client = BufReader::new(stream);
    let mut node = BufReader::new(TcpStream::connect((Ipv4Addr::LOCALHOST, node))?);
    loop {
        let request = Message::read(&mut client)?;
        let passage = decide(&request.head);
        if let Passage::Refused(status) = passage {
            let answer = "{\"error\":{\"type\":\"security_exception\",\"reason\":\"refused\"}}";
            let length = answer.len();
            let head = format!(
                "HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            );
            client.get_mut().write_all((head + answer).as_bytes())?;
            client.get_mut().flush()?;
            continue;
        }
        let mut answer = None;
        if passage != Passage::HeldBefore {
            request.write(node.get_mut())?;
            answer = Some(Message::read(&mut node)?);
        }
        match answer {
            Some(answer) if passage == Passage::Through => answer.write(client.get_mut())?,
            _ => {
                let line = request.head.lines().next().unwrap_or_default();
                // Sending fails if the test has ended, so that nobody is waiting for the line.
                let _ = held.send(line.to_owned());
                client.read_to_end(&mut Vec::new())?;
                return Ok(());
            }
        }
    }
}

impl Message {
    fn read(stream: &mut impl BufRead) -> Result<Self> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let field = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(": "));
            let found = fields.find(|(own, _)| own.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value)
        };
        if field("transfer-encoding") == Some("chunked") {
            let body = chunked(stream)?;
            return Ok(Self { head, body });
        }
        let length = field("content-length").and_then(|value| value.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body)?;
        Ok(Self { head, body })
    }

    fn write(&self, stream: &mut impl Write) -> Result<()> {
        stream.write_all(self.head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

/// Reads a chunked body, including the lengths of the chunks.
fn chunked(stream: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim_end(), 16).map_err(Error::other)?;
        body.extend_from_slice(line.as_bytes());
        let mut chunk = vec![0; length + 2];
        stream.read_exact(&mut chunk)?;
        body.append(&mut chunk);
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Returns the TLS configuration of a host whose certificate is valid until the start of this year, and the certificate of its
/// issuer in PEM.
///
/// # Panics
/// Panics if the host is not a name or address.
pub fn certified(host: &str, year: i32) -> (ServerConfig, String) {
    let key = || KeyPair::generate().expect("a key");
    let mut issuer = CertificateParams::default();
    issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(issuer, key()).expect("an issuer");
    let own = key();
    let mut params = CertificateParams::new([host.to_owned()]).expect("a name");
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(year, 1, 1);
    let certificate = params.signed_by(&own, &issuer).expect("signed");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(own.serialize_der().into()),
        );
    (config.expect("a certificate"), issuer.pem())
}
