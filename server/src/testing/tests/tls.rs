//! Tests of the test server over TLS, with certificates for both sides.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;
use crate::tls::{ClientCertificates, Tls, TlsError};

/// A certificate authority, and the certificates and keys that it issued to the server and to a client.
struct Keys {
    authority: String,
    server: (String, String),
    client: (String, String),
}

fn keys() -> Keys {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let issue = |name: &str| {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &authority).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    };
    Keys {
        authority: authority.pem(),
        server: issue("localhost"),
        client: issue("client"),
    }
}

/// Returns the answer to an Init over TLS; `None` if the connection fails.
fn greeted(address: SocketAddr, keys: &Keys, certificate: bool) -> Option<Vec<u8>> {
    let init = encode(&init()).expect("encodes");
    answered(address, keys, certificate, &init)
}

/// Sends octets over TLS; returns the beginning of the answer, or `None` if the connection fails.
fn answered(address: SocketAddr, keys: &Keys, certificate: bool, octets: &[u8]) -> Option<Vec<u8>> {
    let mut roots = RootCertStore::empty();
    let chain = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate");
    roots.add(chain(&keys.authority)).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(
        tokio_rustls::rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .expect("protocols")
    .with_root_certificates(roots);
    let config = if certificate {
        let key = PrivateKeyDer::from_pem_slice(keys.client.1.as_bytes()).expect("a key");
        let chain = vec![chain(&keys.client.0)];
        config.with_client_auth_cert(chain, key).expect("fits")
    } else {
        config.with_no_client_auth()
    };
    let connector = TlsConnector::from(Arc::new(config));
    let talk = async {
        let stream = tokio::net::TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let mut stream = connector.connect(name, stream).await?;
        stream.write_all(octets).await?;
        let mut answer = vec![0; 1024];
        let count = stream.read(&mut answer).await?;
        answer.truncate(count);
        std::io::Result::Ok(answer)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(talk)
        .ok()
        .filter(|answer| !answer.is_empty())
}

#[cfg(feature = "sru")]
#[test]
fn sru_is_answered_over_tls() {
    let keys = keys();
    let clients = ClientCertificates::Unasked;
    let tls = Tls::from_pem(keys.server.0.as_bytes(), keys.server.1.as_bytes(), &clients);
    let server = TestServer::builder().demo().tls(tls.expect("TLS")).start();
    let request = b"GET /books?query=war&maximumRecords=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = answered(server.addr_tls(), &keys, false, request).expect("an answer");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[test]
fn clients_are_admitted_by_their_certificates() {
    let keys = keys();
    let authority = || keys.authority.clone().into_bytes();
    for (clients, without, with) in [
        (ClientCertificates::Unasked, true, true),
        (ClientCertificates::Optional(authority()), true, true),
        (ClientCertificates::Required(authority()), false, true),
    ] {
        let tls = Tls::from_pem(keys.server.0.as_bytes(), keys.server.1.as_bytes(), &clients);
        let server = TestServer::builder().tls(tls.expect("TLS")).start();
        let greeted = [false, true].map(|own| greeted(server.addr_tls(), &keys, own));
        let found = greeted.each_ref().map(Option::is_some);
        assert_eq!(found, [without, with], "{clients:?}");
        assert_eq!(greeted[1].as_ref().map(|answer| answer[0]), Some(0xb5));
        // The listener without TLS still works, and the listener with TLS accepts only TLS.
        assert!(!converse(server.addr(), &[init()]).is_empty());
        let mut plain = connect(server.addr_tls());
        plain
            .write_all(&encode(&init()).expect("encodes"))
            .expect("the server listens");
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(&[0xb5]), "{answer:x?}");
    }
}

#[test]
fn a_certificate_is_replaced_while_the_server_runs() {
    let [before, after] = [keys(), keys()];
    let none = ClientCertificates::Unasked;
    let tls = |keys: &Keys| {
        let (certificate, key) = &keys.server;
        Tls::from_pem(certificate.as_bytes(), key.as_bytes(), &none).expect("TLS")
    };
    let used = tls(&before);
    let server = TestServer::builder().tls(used.clone()).start();
    let trusted =
        || [&before, &after].map(|keys| greeted(server.addr_tls(), keys, false).is_some());
    assert_eq!(trusted(), [true, false]);
    used.replace(&tls(&after));
    assert_eq!(trusted(), [false, true]);
}

#[test]
fn the_end_of_a_certificate_is_known() {
    for (year, seconds) in [(2001, 981_158_400), (2100, 4_105_296_000)] {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned()];
        let mut params = CertificateParams::new(names).expect("a name");
        params.not_after = rcgen::date_time_ymd(year, 2, 3);
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        let key = key.serialize_pem();
        let none = ClientCertificates::Unasked;
        let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes(), &none).expect("TLS");
        let end = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(tls.expires(), Some(end), "{year}");
    }
}

#[test]
fn errors_in_certificates_are_reported() {
    let keys = keys();
    let (certificate, key) = (keys.server.0.as_bytes(), keys.server.1.as_bytes());
    let none = ClientCertificates::Unasked;
    let words = |tls: Result<Tls, TlsError>| tls.expect_err("refused").to_string();
    assert_eq!(
        words(Tls::from_pem(b"", key, &none)),
        "no certificate in what was given, which holds nothing: it is empty"
    );
    assert_eq!(
        words(Tls::from_pem(certificate, b"x", &none)),
        "no private key in what was given, which holds nothing in PEM"
    );
    let other = keys.client.1.as_bytes();
    let mismatch = words(Tls::from_pem(certificate, other, &none));
    assert!(mismatch.contains("does not belong to the certificate"));
    let authority = ClientCertificates::Required(Vec::new());
    assert_eq!(
        words(Tls::from_pem(certificate, key, &authority)),
        "no certificate in what was given, which holds nothing: it is empty"
    );
    let missing = Tls::load(
        "/nonexistent.pem".as_ref(),
        "/nonexistent.key".as_ref(),
        &none,
    );
    assert_eq!(words(missing), "cannot read /nonexistent.pem");
}
