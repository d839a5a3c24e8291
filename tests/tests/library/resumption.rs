//! Tests that all connections of a client except the first resume a TLS session (RFC 8446 §2.2, RFC 5246 §7.3).

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::rustls::HandshakeKind::{self, Full, Resumed};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use z3950::transport::{Connect, Routes, Tcp, Tls, TlsOptions};
use z3950::{Client, ClientOptions, Query, Timeouts};
use z3950_server::testing::{TestServer, record};
use z3950_server::tls::{ClientCertificates, Tls as ServerTls};
use z3950_tests::peer;
use z3950_tests::program::z3950_fed;
use z3950_tests::surroundings::command;

/// The files with a certificate for 127.0.0.1 and its key.
struct Certified {
    chain: String,
    key: String,
    folder: TempDir,
}

impl Certified {
    fn new() -> Self {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let chain = params.self_signed(&key).expect("a certificate").pem();
        let key = key.serialize_pem();
        let folder = tempfile::tempdir().expect("a folder");
        for (name, pem) in [("cert.pem", &chain), ("key.pem", &key)] {
            std::fs::write(folder.path().join(name), pem).expect("written");
        }
        Self { chain, key, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns options that trust the certificate.
    fn options(&self) -> TlsOptions {
        TlsOptions::new().with_roots(self.file("cert.pem"))
    }

    fn client(&self) -> Client {
        Client::with_routes(
            ClientOptions::default(),
            Routes::default().tls(self.options()),
        )
    }
}

/// A relay that adds TLS to a server. Like most servers, it supports resumption in every TLS version.
struct Relay {
    address: SocketAddr,
    handshakes: Arc<Mutex<Vec<HandshakeKind>>>,
    connections: Arc<Mutex<JoinSet<()>>>,
}

impl Relay {
    async fn start(
        server: SocketAddr,
        certified: &Certified,
        version: &'static SupportedProtocolVersion,
    ) -> Self {
        let chain = CertificateDer::from_pem_slice(certified.chain.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_no_client_auth()
            .with_single_cert(vec![chain.expect("a certificate")], key.expect("a key"))
            .expect("a configuration");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let relay = Self {
            address: listener.local_addr().expect("its address"),
            handshakes: Arc::default(),
            connections: Arc::default(),
        };
        let handshakes = Arc::clone(&relay.handshakes);
        let connections = Arc::clone(&relay.connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("accepted");
                let (acceptor, handshakes) = (acceptor.clone(), Arc::clone(&handshakes));
                let relayed = async move {
                    let mut client = acceptor.accept(stream).await.expect("a handshake");
                    let kind = client.get_ref().1.handshake_kind().expect("it is over");
                    handshakes.lock().expect("locked").push(kind);
                    let mut server = TcpStream::connect(server).await.expect("connected");
                    // The client may disconnect without closing TLS, so errors are ignored.
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                };
                connections.lock().expect("locked").spawn(relayed);
            }
        });
        relay
    }

    fn target(&self) -> String {
        format!("ssl:{}/cat", self.address)
    }

    fn handshakes(&self) -> Vec<HandshakeKind> {
        self.handshakes.lock().expect("locked").clone()
    }

    /// Ends all connections abruptly.
    async fn lose_connections(&self) {
        let mut connections = std::mem::take(&mut *self.connections.lock().expect("locked"));
        connections.shutdown().await;
    }
}

fn serving() -> TestServer {
    TestServer::builder()
        .database("cat", [record("id7", "Emma")])
        .start()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_after_the_first_resume_tls() {
    for version in [&TLS12, &TLS13] {
        let (server, certified) = (serving(), Certified::new());
        let relay = Relay::start(server.addr(), &certified, version).await;
        let client = certified.client();
        let found = async |connection: &z3950::Connection| {
            let hits = connection.search(Query::title("emma")).await;
            hits.expect("a result set").count()
        };
        let first = client.connect(relay.target()).await.expect("a session");
        assert_eq!(found(&first).await, 1);
        let second = client.connect(relay.target()).await.expect("a session");
        assert_eq!(found(&second).await, 1);
        assert_eq!(relay.handshakes(), [Full, Resumed], "{version:?}");
        // A new session is opened to replace the lost one.
        relay.lose_connections().await;
        assert_eq!(found(&first).await, 1);
        assert_eq!(relay.handshakes(), [Full, Resumed, Resumed], "{version:?}");
        // A different client does not have a TLS session that it could resume.
        let other = certified.client();
        let alone = other.connect(relay.target()).await.expect("a session");
        assert_eq!(found(&alone).await, 1);
        assert_eq!(relay.handshakes()[3..], [Full], "{version:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_a_batch_opens_again_resume_tls() {
    for version in [&TLS12, &TLS13] {
        let certified = Certified::new();
        let server = TestServer::builder()
            .database(
                "cat",
                (0..12).map(|number| record(&format!("id{number}"), "Emma")),
            )
            .rule("on search nth-of-all=4: cut 0")
            .rule("on search nth-of-all=8: cut 0")
            .start();
        let relay = Relay::start(server.addr(), &certified, version).await;
        let roots = certified.file("cert.pem");
        let roots = roots.to_str().expect("text");
        let ran = z3950_fed(
            [
                "lookup",
                &relay.target(),
                "--input",
                "-",
                "--jobs",
                "1",
                "--ca-file",
                roots,
                "-vv",
            ],
            (0..12)
                .map(|number| format!("docid:id{number}\n"))
                .collect::<String>(),
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(relay.handshakes(), [Full, Resumed, Resumed], "{version:?}");
        let resumed = ran.stderr.matches(" resumed=true").count();
        assert_eq!(resumed, 2, "{}", ran.stderr);
    }
}

/// A running `openssl s_server`, which answers an HTTP request with a page about the TLS session. It is stopped when this value
/// is dropped.
struct OpenSsl {
    child: Child,
    address: SocketAddr,
}

impl OpenSsl {
    fn start(certified: &Certified, version: &str) -> Option<Self> {
        let mut child = command(peer::find("openssl")?)
            .args(["s_server", "-accept", "127.0.0.1:0", "-www", version])
            .arg("-cert")
            .arg(certified.file("cert.pem"))
            .arg("-key")
            .arg(certified.file("key.pem"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut lines = lines.map(|line| line.expect("text"));
        let address = lines.find_map(|line| line.strip_prefix("ACCEPT ")?.parse().ok());
        let address = address.expect("it listens");
        Some(Self { child, address })
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        // An error means that the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn sessions_of_openssl_are_resumed() {
    for version in ["-tls1_2", "-tls1_3"] {
        let certified = Certified::new();
        let Some(server) = OpenSsl::start(&certified, version) else {
            return;
        };
        let tls = Tls::new(Tcp::new(server.address), &certified.options()).expect("options");
        let host = "127.0.0.1".parse().expect("a host");
        for words in ["New, TLSv1.", "Reused, TLSv1."] {
            let stream = tls.connect(&host, 210, &Timeouts::default()).await;
            let mut stream = stream.expect("a connection");
            stream
                .write_all(b"GET / HTTP/1.0\r\n\r\n")
                .await
                .expect("written");
            let mut page = String::new();
            // The server may end without closing TLS, so errors are ignored.
            let _ = stream.read_to_string(&mut page).await;
            assert!(page.contains(words), "{version}: {page}");
        }
    }
}

/// Our server must not send TLS 1.3 tickets, because they confuse yaz-client. It supports resumption only in TLS 1.2.
#[tokio::test]
async fn our_server_lets_tls_1_2_be_resumed() {
    let certified = Certified::new();
    let pem = [&certified.chain, &certified.key].map(|pem| pem.as_bytes());
    let tls = ServerTls::from_pem(pem[0], pem[1], &ClientCertificates::Unasked);
    let server = TestServer::builder().tls(tls.expect("TLS")).start();
    for (version, second) in [(&TLS12, Resumed), (&TLS13, Full)] {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(pem[0]).expect("a certificate");
        roots.add(root).expect("added");
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        for expected in [Full, second] {
            let stream = TcpStream::connect(server.addr_tls())
                .await
                .expect("connected");
            let name = ServerName::try_from("127.0.0.1").expect("a name");
            let mut stream = connector.connect(name, stream).await.expect("a handshake");
            assert_eq!(
                stream.get_ref().1.handshake_kind(),
                Some(expected),
                "{version:?}"
            );
            stream.shutdown().await.expect("closed");
        }
    }
}
