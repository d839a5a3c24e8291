//! Tests of the routes to a server: TLS with valid and invalid certificates, proxies and Unix sockets. Also tests the messages
//! that are printed if no route works.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;
use z3950_tests::program::{Daemon, Ran, path, run, z3950};
use z3950_tests::surroundings::command;

/// The host name in certificates and proxy requests, which is never resolved.
const HOST: &str = "lib.example";

/// A `z3950d` with a single listener of any kind. It is stopped when this value is dropped.
struct Listener {
    child: Child,
    /// The address that the program prints after `listening on`.
    place: String,
}

impl Listener {
    fn start(arguments: &[&str]) -> Self {
        let mut child = command(path("z3950d"))
            .arg("--demo")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("z3950d starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("standard output is piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let place = line.trim_end().strip_prefix("listening on ");
        let place = place.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, place }
    }

    fn port(&self) -> &str {
        self.place.rsplit(':').next().expect("a port")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // An error means that the server has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate authority and its files.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("root.pem"), issuer.pem()).expect("written");
        Self { issuer, folder }
    }

    fn root(&self) -> String {
        text(&self.folder.path().join("root.pem"))
    }

    /// Creates a certificate for `names` and its key, and returns the paths of their files. Unless `is_issued` is true, the
    /// certificate is self-signed.
    fn certify(&self, names: &[&str], is_expired: bool, is_issued: bool) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let file = format!("{}-{is_expired}-{is_issued}", names.join("+"));
        let mut params = CertificateParams::new(names).expect("names");
        if is_expired {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = if is_issued {
            params.signed_by(&key, &self.issuer)
        } else {
            params.self_signed(&key)
        };
        let write = |ending: &str, pem: String| {
            let path = self.folder.path().join(format!("{file}.{ending}"));
            std::fs::write(&path, pem).expect("written");
            text(&path)
        };
        let certificate = certificate.expect("a certificate");
        (
            write("cert", certificate.pem()),
            write("key", key.serialize_pem()),
        )
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

fn tls_server((certificate, key): &(String, String), more: &[&str]) -> Listener {
    let listen = ["--listen", "tls:127.0.0.1:0", "--certificate"];
    Listener::start(&[&listen[..], &[certificate, "--key", key], more].concat())
}

/// Runs a search for the title "pride" at the target, without requesting records.
fn lookup(target: &str, options: &[&str]) -> Ran {
    let arguments = ["search", target, "ti:pride", "--count", "0"];
    z3950([&arguments[..], options].concat())
}

fn is_found(ran: &Ran) -> bool {
    ran.code == Some(0) && ran.stdout.starts_with("1 ")
}

#[test]
fn only_the_correct_certificate_is_accepted() {
    let authority = Authority::new();
    let root = authority.root();
    for (names, is_expired, is_issued, words) in [
        (&["127.0.0.1"][..], false, true, &[][..]),
        (&["127.0.0.1"], true, true, &["expired on 2002-01-01"]),
        (
            &["127.0.0.1"],
            false,
            false,
            &["not signed by an authority", "--ca-file"],
        ),
        (
            &["other.example"],
            false,
            true,
            &["not valid for 127.0.0.1", "subjectAltName"],
        ),
    ] {
        let server = tls_server(&authority.certify(names, is_expired, is_issued), &[]);
        let target = format!("ssl:127.0.0.1:{}/books", server.port());
        let ran = lookup(&target, &["--ca-file", &root]);
        match words {
            [] => assert!(is_found(&ran), "{ran:?}"),
            words => {
                assert_eq!(ran.code, Some(6), "{words:?}: {ran:?}");
                for words in [&["TLS with the server failed", "--insecure"], words].concat() {
                    assert!(ran.stderr.contains(words), "{words}: {ran:?}");
                }
            }
        }
        assert!(is_found(&lookup(&target, &["--insecure"])), "{words:?}");
        // The certificate was not issued by an authority that the system trusts.
        assert_eq!(lookup(&target, &[]).code, Some(6), "{words:?}");
    }
}

/// Creates a certificate and its key with the usual openssl command and these additional options. Returns the paths of their
/// files.
fn openssl(folder: &Path, more: &[&str]) -> Option<(String, String)> {
    let program = z3950_tests::peer::find("openssl")?;
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| text(&folder.join(name)));
    let plain = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
    ];
    let ran = run(
        command(program)
            .args(plain)
            .args(["-keyout", &key, "-out", &certificate])
            .args(more),
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    Some((certificate, key))
}

#[test]
fn audit_c3_a_plain_certificate_of_openssl_is_trusted_where_it_is_named() {
    for (options, words) in [
        (&["-subj", "/CN=127.0.0.1"][..], ""),
        (
            &["-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"],
            "",
        ),
        (&["-subj", "/CN=lib.example"], "only for lib.example"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(files) = openssl(folder.path(), options) else {
            return;
        };
        let server = tls_server(&files, &[]);
        let target = format!("ssl:127.0.0.1:{}/books", server.port());
        let ran = lookup(&target, &["--ca-file", &files.0]);
        assert_eq!(is_found(&ran), words.is_empty(), "{options:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
        // Without --ca-file, the certificate is not trusted.
        let ran = lookup(&target, &[]);
        assert_eq!(ran.code, Some(6), "{ran:?}");
        for words in ["CA:TRUE", "--ca-file FILE"] {
            assert!(ran.stderr.contains(words), "{ran:?}");
        }
        assert!(!ran.stderr.contains("CaUsedAsEndEntity"), "{ran:?}");
    }
}

#[test]
fn a_certificate_for_a_plain_connection_causes_a_warning() {
    let authority = Authority::new();
    let daemon = Daemon::start(["--demo"]);
    let target = format!("{}/books", daemon.address());
    let ran = lookup(&target, &["--ca-file", &authority.root()]);
    assert!(is_found(&ran), "{ran:?}");
    let words = "does not use TLS, so --ca-file has no effect";
    assert!(ran.stderr.contains(words), "{ran:?}");
    let ran = lookup(&target, &[]);
    assert!(is_found(&ran) && !ran.stderr.contains("TLS"), "{ran:?}");
}

#[test]
fn audit_d16_files_of_certificates_and_keys_are_named() {
    let authority = Authority::new();
    let (certificate, key) = authority.certify(&["127.0.0.1"], false, true);
    let (_, other) = authority.certify(&["other.example"], false, true);
    let server = |certificate: &str, key: &str, authorities: &str| {
        let mut command = command(path("z3950d"));
        command.args(["--demo", "--listen", "tls:127.0.0.1:0"]);
        command.args(["--certificate", certificate, "--key", key]);
        run(command.args(["--client-authorities", authorities]), "")
    };
    let client = |options: &[&str]| lookup("ssl:127.0.0.1:1/books", options);
    for (ran, words) in [
        (
            server(&certificate, &certificate, &certificate),
            &["no private key in ", ".cert, which holds a certificate"][..],
        ),
        (
            server(&key, &key, &certificate),
            &["no certificate in ", ".key, which holds a private key"],
        ),
        (
            server(&certificate, &key, &key),
            &["no certificate in ", ".key, which holds a private key"],
        ),
        (
            server(&certificate, &other, &certificate),
            &[
                "private key in ",
                &other,
                "does not belong to",
                &certificate,
            ],
        ),
        (
            server(&certificate, "/dev/zero", &certificate),
            &["/dev/zero", "more than"],
        ),
        (
            client(&["--cert", &certificate]),
            &["no private key in ", "which holds a certificate", "--key"],
        ),
        (
            client(&["--cert", &certificate, "--key", &other]),
            &[
                "private key in ",
                &other,
                "does not belong to",
                &certificate,
            ],
        ),
        (
            client(&["--ca-file", &key]),
            &["no certificate in ", "which holds a private key"],
        ),
        (
            client(&["--ca-file", "/dev/zero"]),
            &["/dev/zero", "more than"],
        ),
    ] {
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for words in words {
            assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        }
        assert!(!ran.stderr.contains("KeyMismatch"), "{ran:?}");
    }
}

#[test]
fn a_client_shows_its_certificate() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let roots = clients.root();
    let wanted = [
        "--client-authorities",
        &roots,
        "--require-client-certificate",
    ];
    let server = tls_server(&servers.certify(&["127.0.0.1"], false, true), &wanted);
    let target = format!("ssl:127.0.0.1:{}/books", server.port());
    let trusted = servers.root();
    let (certificate, key) = clients.certify(&["client.example"], false, true);
    let (stranger, its_key) = servers.certify(&["client.example"], false, true);
    let both = clients.folder.path().join("both.pem");
    let pems = [&certificate, &key].map(|path| std::fs::read_to_string(path).expect("read"));
    std::fs::write(&both, pems.concat()).expect("written");
    let both = text(&both);
    for (options, is_let_in) in [
        (&["--cert", &certificate, "--key", &key][..], true),
        (&["--cert", &both], true),
        (&["--cert", &stranger, "--key", &its_key], false),
        (&[], false),
    ] {
        let ran = lookup(&target, &[&["--ca-file", &trusted], options].concat());
        assert_eq!(is_found(&ran), is_let_in, "{options:?}: {ran:?}");
        if !is_let_in {
            assert_eq!(ran.code, Some(6), "{options:?}: {ran:?}");
            assert!(ran.stderr.contains("--cert"), "{options:?}: {ran:?}");
        }
    }
    // This key belongs to a different certificate.
    let ran = lookup(&target, &["--cert", &certificate, "--key", &its_key]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn tls_and_plain_do_not_mix() {
    let authority = Authority::new();
    let secured = tls_server(&authority.certify(&["127.0.0.1"], false, true), &[]);
    let plain = Daemon::start(["--demo"]);
    for (target, words) in [
        (format!("127.0.0.1:{}/books", secured.port()), "ssl:"),
        (format!("ssl:{}/books", plain.address()), "without ssl:"),
    ] {
        let ran = lookup(&target, &["--ca-file", &authority.root(), "--timeout", "5"]);
        assert_eq!(ran.code, Some(6), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

/// A proxy that forwards every connection to one address, and records the requests.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy. `handshake` reads the request and grants it, or returns `None` to refuse it.
    fn start(to: SocketAddr, handshake: fn(&mut TcpStream) -> Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        // The thread ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                thread::spawn(move || {
                    let mut near = stream;
                    if let Some(what) = handshake(&mut near) {
                        noted.lock().expect("no panic").push(what);
                        join(near, TcpStream::connect(to).expect("the server exists"));
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("no panic"))
    }
}

/// Forwards octets in both directions until both sides have closed the connection.
fn join(near: TcpStream, far: TcpStream) {
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            // When one side ends its stream, the stream to the other side is ended too.
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        })
    };
    let clones = (
        near.try_clone().expect("a clone"),
        far.try_clone().expect("a clone"),
    );
    let ways = [pass(near, far), pass(clones.1, clones.0)];
    ways.into_iter().for_each(|way| drop(way.join()));
}

/// Answers as an HTTP proxy that requires the credentials `user:secret`.
fn http(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut octet = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut octet).ok()?;
        head.extend(octet);
    }
    let head = String::from_utf8(head).expect("text");
    let is_known = head
        .to_ascii_lowercase()
        .contains("proxy-authorization: basic dxnlcjpzzwnyzxq=");
    let answer: &[u8] = if is_known {
        b"HTTP/1.1 200 Connection established\r\n\r\n"
    } else {
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    };
    stream.write_all(answer).ok()?;
    is_known.then(|| head.lines().next().expect("a line").to_owned())
}

/// Answers as a SOCKS5 proxy without authentication.
fn socks5(stream: &mut TcpStream) -> Option<String> {
    let mut read = |length: usize| {
        let mut octets = vec![0; length];
        stream.read_exact(&mut octets).ok()?;
        Some(octets)
    };
    let methods = usize::from(*read(2)?.last()?);
    read(methods)?;
    stream.write_all(b"\x05\x00").ok()?;
    let mut read = |length: usize| {
        let mut octets = vec![0; length];
        stream.read_exact(&mut octets).ok()?;
        Some(octets)
    };
    let length = usize::from(*read(5)?.last()?);
    let name = String::from_utf8(read(length)?).ok()?;
    let port = read(2)?;
    stream
        .write_all(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        .ok()?;
    Some(format!("{name}:{}", u16::from_be_bytes([port[0], port[1]])))
}

#[test]
fn proxies_lead_to_the_server() {
    let daemon = Daemon::start(["--demo"]);
    let http = Proxy::start(daemon.address(), http);
    let socks5 = Proxy::start(daemon.address(), socks5);
    let target = format!("{HOST}:2100/books");
    let by_http = format!("http://user:secret@{}", http.address);
    let by_socks5 = format!("socks5://{}", socks5.address);
    let ran = lookup(&target, &["--proxy", &by_http]);
    assert!(is_found(&ran), "{ran:?}");
    assert_eq!(http.asked(), ["CONNECT lib.example:2100 HTTP/1.1"]);
    let ran = lookup(&target, &["--proxy", &by_socks5]);
    assert!(is_found(&ran), "{ran:?}");
    assert_eq!(socks5.asked(), ["lib.example:2100"]);
    let named = format!("connect:user:secret@{},{target}", http.address);
    let ran = lookup(&named, &[]);
    assert!(is_found(&ran), "{ran:?}");
    assert_eq!(http.asked().len(), 1);
    let ran = run(
        command(path("z3950"))
            .env("ALL_PROXY", &by_socks5)
            .args(["search", &target, "ti:pride", "--count", "0"]),
        "",
    );
    assert!(is_found(&ran), "{ran:?}");
    assert_eq!(socks5.asked().len(), 1);
    // The proxy requires different credentials.
    let stranger = format!("http://user:wrong@{}", http.address);
    let ran = lookup(&target, &["--proxy", &stranger]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(
        ran.stderr.contains("the proxy refused to connect")
            && ran.stderr.contains("407")
            && !ran.stderr.contains("wrong"),
        "{ran:?}"
    );
}

#[test]
fn tls_goes_through_a_proxy_to_the_host_itself() {
    let authority = Authority::new();
    let server = tls_server(&authority.certify(&[HOST], false, true), &[]);
    let address = format!("127.0.0.1:{}", server.port());
    let proxy = Proxy::start(address.parse().expect("an address"), socks5);
    let target = format!("ssl:{HOST}:2101/books");
    let proxy = format!("socks5://{}", proxy.address);
    let ran = lookup(
        &target,
        &["--proxy", &proxy, "--ca-file", &authority.root()],
    );
    assert!(is_found(&ran), "{ran:?}");
}

#[test]
fn a_unix_socket_is_a_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket: PathBuf = folder.path().join("z");
    let socket = text(&socket);
    let server = Listener::start(&["--listen", &format!("unix:{socket}")]);
    assert_eq!(server.place, format!("unix:{socket}"));
    let ran = lookup(&format!("unix:{socket}:books"), &[]);
    assert!(is_found(&ran), "{ran:?}");
    let ran = lookup(&format!("unix:{socket}-nobody:books"), &[]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("nobody"), "{ran:?}");
}
