//! Tests with valid and invalid certificates. Only a valid certificate is accepted, unless verification is turned off.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, date_time_ymd,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{CertificateError, OtherError, ServerConfig};

use super::*;
use crate::transport::Tcp;

const HOST: &str = "lib.example";

/// A certificate authority whose certificate is in a file.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
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

    fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// Issues a certificate for `name`. Returns it with its key.
    fn certify(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, KeyPair) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key)
    }
}

/// Starts a server that sends a greeting to one client. If `clients` is given, the server requires a client certificate
/// issued by this authority.
async fn server((chain, key): (String, KeyPair), clients: Option<&Authority>) -> SocketAddr {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain.as_bytes())
        .collect::<Result<_, _>>()
        .expect("certificates");
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key");
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            let root = CertificateDer::from_pem_file(authority.root()).expect("a root");
            roots.add(root).expect("added");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
    };
    let config = builder.with_single_cert(chain, key).expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("accepted");
        if let Ok(mut stream) = acceptor.accept(stream).await {
            let _ = stream.write_all(b"hello").await;
            let _ = stream.shutdown().await;
        }
    });
    address
}

/// Returns what a client receives from the server as text, or the error with all its causes.
async fn heard(address: SocketAddr, options: &TlsOptions) -> String {
    heard_by_name(HOST, address, options).await
}

async fn heard_by_name(host: &str, address: SocketAddr, options: &TlsOptions) -> String {
    let connector = Tls::new(Tcp::new(address), options).expect("options");
    let host = host.parse().expect("a host");
    match connector.connect(&host, 210, &Timeouts::default()).await {
        Ok(mut stream) => {
            let mut text = String::new();
            match stream.read_to_string(&mut text).await {
                Ok(_) => text,
                Err(error) => error.to_string(),
            }
        }
        Err(error) => {
            let mut words = error.to_string();
            let mut level: &dyn std::error::Error = &error;
            while let Some(source) = level.source() {
                words = format!("{words}: {source}");
                level = source;
            }
            words
        }
    }
}

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions {
        roots: Some(authority.root().into()),
        ..TlsOptions::default()
    }
}

fn unchanged(_: &mut CertificateParams) {}

#[tokio::test]
async fn only_the_right_certificate_is_accepted() {
    let authority = Authority::new();
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    };
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![HOST.to_owned()]).expect("a name");
    let alone = params.self_signed(&key).expect("a certificate");
    for (certificate, words) in [
        (authority.certify(HOST, unchanged), "hello"),
        (
            authority.certify(HOST, expired),
            "the server's certificate expired on 2002-01-01",
        ),
        (
            authority.certify("other.example", unchanged),
            "not valid for lib.example, only for other.example",
        ),
        (
            (alone.pem(), key),
            "not signed by an authority that is trusted",
        ),
    ] {
        let address = server(certificate, None).await;
        let found = heard(address, &trusting(&authority)).await;
        assert!(found.contains(words), "{found}: {words}");
        assert_eq!(found == "hello", words == "hello");
        if words != "hello" {
            assert!(
                found.starts_with(
                    "TLS with the server failed: the server's certificate is not trusted"
                ),
                "{found}"
            );
        }
    }
}

/// Creates a self-signed CA certificate (CA:TRUE), as `openssl req -x509` does.
fn by_itself(
    names: &[&str],
    common: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> (String, KeyPair) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, common);
    change(&mut params);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate.pem(), key)
}

#[tokio::test]
async fn audit_c3_a_named_certificate_is_accepted_within_its_dates_and_for_its_name() {
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    };
    let early = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(3001, 1, 1);
        params.not_after = date_time_ymd(3002, 1, 1);
    };
    for (certificate, words) in [
        (by_itself(&[HOST], "x", unchanged), "hello"),
        (by_itself(&[], "LIB.example", unchanged), "hello"),
        (
            by_itself(&[HOST], "x", expired),
            "the server's certificate expired on 2002-01-01",
        ),
        (
            by_itself(&[HOST], "x", early),
            "the server's certificate is not valid before 3001-01-01",
        ),
        (
            by_itself(&["other.example"], HOST, unchanged),
            "not valid for lib.example, only for other.example",
        ),
        (
            by_itself(&[], "other.example", unchanged),
            "not valid for lib.example, only for other.example",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("named.pem");
        std::fs::write(&file, &certificate.0).expect("written");
        let options = TlsOptions {
            roots: Some(file.into()),
            ..TlsOptions::default()
        };
        let found = heard(server(certificate, None).await, &options).await;
        assert!(found.contains(words), "{found}: {words}");
    }
    // A common name that is an IP address is compared with the server's address, not with a name.
    for (common, words) in [
        ("127.0.0.1", "hello"),
        ("127.0.0.2", "not valid for 127.0.0.1, only for 127.0.0.2"),
    ] {
        let certificate = by_itself(&[], common, unchanged);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("named.pem");
        std::fs::write(&file, &certificate.0).expect("written");
        let options = TlsOptions {
            roots: Some(file.into()),
            ..TlsOptions::default()
        };
        let address = server(certificate, None).await;
        let found = heard_by_name("127.0.0.1", address, &options).await;
        assert!(found.contains(words), "{found}: {words}");
    }
    // This self-signed CA certificate is not among the certificates that the options name, so it is refused.
    let authority = Authority::new();
    let found = heard(
        server(by_itself(&[HOST], "x", unchanged), None).await,
        &trusting(&authority),
    )
    .await;
    assert!(found.contains("a CA certificate (CA:TRUE)"), "{found}");
}

#[tokio::test]
async fn audit_c3_a_named_certificate_needs_no_authority() {
    let (known, stranger) = (Authority::new(), Authority::new());
    let certificate = stranger.certify(HOST, unchanged);
    let file = known.folder.path().join("named.pem");
    std::fs::write(&file, &certificate.0).expect("written");
    let options = TlsOptions {
        roots: Some(file.into()),
        ..TlsOptions::default()
    };
    let found = heard(server(certificate, None).await, &options).await;
    assert_eq!(found, "hello");
    let late = stranger.certify(HOST, |params| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    });
    std::fs::write(known.folder.path().join("late.pem"), &late.0).expect("written");
    let late_options = TlsOptions {
        roots: Some(known.folder.path().join("late.pem").into()),
        ..TlsOptions::default()
    };
    let found = heard(server(late, None).await, &late_options).await;
    assert!(found.contains("expired on 2002-01-01"), "{found}");
    // If `roots` has a server's certificate, that certificate alone is trusted, and not others from the same issuer.
    let found = heard(
        server(stranger.certify(HOST, unchanged), None).await,
        &options,
    )
    .await;
    assert!(found.contains("not signed by an authority"), "{found}");
}

#[test]
fn each_rejection_has_its_remedy() {
    for (error, remedy) in [
        (CertificateError::Expired, CertificateAdvice::Renew),
        (CertificateError::InvalidPurpose, CertificateAdvice::Renew),
        (CertificateError::NotValidForName, CertificateAdvice::Name),
        (CertificateError::UnknownIssuer, CertificateAdvice::Trust),
    ] {
        assert_eq!(
            UntrustedCertificate(error.clone()).advice(),
            remedy,
            "{error:?}"
        );
    }
}

#[test]
fn audit_r_x5_rejections_are_words() {
    let of_webpki =
        |name: &'static str| CertificateError::Other(OtherError(Arc::new(io::Error::other(name))));
    let other_kind = CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
        signature_algorithm_id: vec![6, 8],
        public_key_algorithm_id: vec![6, 7],
    };
    for (error, expected) in [
        (other_kind, "another kind than the authority's key"),
        (CertificateError::Revoked, "cannot be used: revoked"),
        (
            CertificateError::InvalidOcspResponse,
            "cannot be used: invalid ocsp response",
        ),
        (
            of_webpki("MaximumPathBuildCallsExceeded"),
            "maximum path build calls exceeded",
        ),
        (
            of_webpki("EndOfPath(Context { a: [1] })"),
            "cannot be used: end of path",
        ),
        (
            of_webpki("Certificate is odd"),
            "cannot be used: Certificate is odd",
        ),
    ] {
        let words = UntrustedCertificate(error.clone()).to_string();
        assert!(words.contains(expected), "{words}");
        assert!(!words.contains(['{', '(', '[']), "{words}");
    }
}

/// Tests that a certificate with the subject of a trusted authority is refused if it is self-signed with a key of a
/// different type.
#[tokio::test]
async fn audit_r_x5_the_subject_of_an_authority_is_refused_in_words() {
    let kinds = [
        &PKCS_ED25519,
        &PKCS_ECDSA_P256_SHA256,
        &PKCS_ECDSA_P384_SHA384,
    ];
    for of_root in kinds {
        for own in kinds {
            let named = |names: Vec<String>| {
                let mut params = CertificateParams::new(names).expect("a name");
                params.distinguished_name = DistinguishedName::new();
                let name = &mut params.distinguished_name;
                name.push(DnType::CommonName, "An authority");
                params
            };
            let key = KeyPair::generate_for(of_root).expect("a key");
            let mut root = named(Vec::new());
            root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let root = root.self_signed(&key).expect("an authority");
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("root.pem");
            std::fs::write(&file, root.pem()).expect("written");
            let key = KeyPair::generate_for(own).expect("a key");
            let certificate = named(vec![HOST.to_owned()]);
            let certificate = certificate.self_signed(&key).expect("a certificate");
            let options = TlsOptions {
                roots: Some(file.into()),
                ..TlsOptions::default()
            };
            let address = server((certificate.pem(), key), None).await;
            let words = heard(address, &options).await;
            assert!(words.contains("certificate"), "{words}");
            assert!(!words.contains(['{', '[', '_']), "{words}");
            let is_debug = |word: &str| word.chars().filter(char::is_ascii_uppercase).count() > 3;
            assert!(!words.split_whitespace().any(is_debug), "{words}");
        }
    }
}

#[test]
fn an_unknown_rejection_is_quoted() {
    let unknown = CertificateError::Other(OtherError(Arc::new(io::Error::other("unknown"))));
    let text = UntrustedCertificate(unknown).to_string();
    assert!(
        text.starts_with("the server's certificate cannot be used: "),
        "{text}"
    );
}

#[tokio::test]
async fn any_certificate_is_accepted_without_verification() {
    let authority = Authority::new();
    let insecure = TlsOptions {
        insecure: true,
        ..TlsOptions::default()
    };
    let address = server(authority.certify("other.example", unchanged), None).await;
    assert_eq!(heard(address, &insecure).await, "hello");
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let (chain, key) = clients.certify("client.example", unchanged);
    let file = clients.folder.path().join("client.pem");
    std::fs::write(&file, format!("{chain}{}", key.serialize_pem())).expect("written");
    let without = trusting(&servers);
    let with = TlsOptions {
        certificate: Some(ClientCertificate {
            chain: file.clone().into(),
            key: file.into(),
        }),
        ..without.clone()
    };
    let address = server(servers.certify(HOST, unchanged), Some(&clients)).await;
    assert_eq!(heard(address, &with).await, "hello");
    let address = server(servers.certify(HOST, unchanged), Some(&clients)).await;
    assert_ne!(heard(address, &without).await, "hello");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").expect("written");
    let wrong = folder.path().join("key.pem");
    let (chain, key) = by_itself(&[HOST], HOST, unchanged);
    std::fs::write(&wrong, key.serialize_pem()).expect("written");
    for (path, words) in [
        (
            empty.as_path(),
            "empty.pem, which holds nothing: it is empty",
        ),
        (wrong.as_path(), "key.pem, which holds a private key"),
        (folder.path(), "cannot use "),
        (Path::new("nosuch.pem"), "cannot use nosuch.pem"),
    ] {
        let options = TlsOptions {
            roots: Some(Pem::file(path)),
            ..TlsOptions::default()
        };
        let error = Tls::new(Tcp::default(), &options).err().expect("refused");
        assert!(error.to_string().contains(words), "{error}");
    }
    let shown = folder.path().join("cert.pem");
    std::fs::write(&shown, chain).expect("written");
    let other = folder.path().join("other.pem");
    let another = KeyPair::generate().expect("a key");
    std::fs::write(&other, another.serialize_pem()).expect("written");
    for (key, words) in [
        (&shown, "no private key in "),
        (&other, "other.pem does not belong to the certificate in "),
    ] {
        let options = TlsOptions {
            certificate: Some(ClientCertificate {
                chain: Pem::file(&shown),
                key: Pem::file(key),
            }),
            insecure: true,
            ..TlsOptions::default()
        };
        let error = Tls::new(Tcp::default(), &options).err().expect("refused");
        assert!(error.to_string().contains(words), "audit_d16: {error}");
    }
}

/// Tests that PEM from memory works like a file, for authorities and for the client's own certificate.
#[tokio::test]
async fn audit_r_l6_certificates_are_taken_from_memory() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let (chain, key) = clients.certify("client.example", unchanged);
    let options = TlsOptions::new()
        .with_roots(Pem::text(servers.issuer.pem()))
        .with_certificate(Pem::text(chain), Pem::text(key.serialize_pem()));
    let address = server(servers.certify(HOST, unchanged), Some(&clients)).await;
    assert_eq!(heard(address, &options).await, "hello");
    assert!(!format!("{options:?}").contains("BEGIN"));
}

#[test]
fn audit_r_l6_pem_that_cannot_be_used_is_located() {
    let (chain, key) = by_itself(&[HOST], HOST, unchanged);
    let key = key.serialize_pem();
    let (another, _) = by_itself(&[HOST], HOST, unchanged);
    let lines = chain.lines().count();
    let no_end = chain.replace("-----END CERTIFICATE-----", "");
    let no_base64 = chain.replacen("\nM", "\n!", 1);
    let no_certificate = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
    let roots = |pem: &str| TlsOptions::new().with_roots(Pem::text(pem));
    let own = |chain: &str, key: &str| {
        TlsOptions::new().with_certificate(Pem::text(chain), Pem::text(key))
    };
    let twice = format!("{chain}{no_base64}");
    for (options, words) in [
        (
            roots(""),
            "no certificate in the PEM of the trusted certificates, which holds nothing: it is empty".to_owned(),
        ),
        (
            roots(&key),
            "no certificate in the PEM of the trusted certificates, which holds a private key".into(),
        ),
        (
            own("ca.pem", &key),
            "no certificate in the PEM of the client certificate, which holds nothing in PEM".into(),
        ),
        (
            own(&chain, &chain),
            "no private key in the PEM of the client's private key, which holds a certificate".into(),
        ),
        (
            roots(&format!("# my CA\n{no_end}{chain}")),
            "the PEM of the trusted certificates is damaged: the section that begins in line 2 has no end".into(),
        ),
        (
            roots(&twice),
            format!(
                "the PEM of the trusted certificates is damaged: the section that begins in line {} is not base64",
                lines + 1
            ),
        ),
        (
            roots("-----BEGIN CERTIFICATE\n"),
            "the section that begins in line 1 does not begin as PEM does".into(),
        ),
        (
            roots(&format!("{chain}{no_certificate}")),
            "cannot use certificate 2 in the PEM of the trusted certificates".into(),
        ),
        (
            own(&another, &key),
            "the private key in the PEM of the client's private key does not belong to the certificate in the PEM of the client certificate".into(),
        ),
    ] {
        let error = Tls::new(Tcp::default(), &options).err().expect("refused");
        assert!(error.to_string().contains(&words), "{error}: {words}");
    }
}
