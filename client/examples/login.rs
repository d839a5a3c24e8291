//! Logs in over TLS to a server whose certificate was issued by a private authority. The authority's certificate is in
//! memory.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use z3950::error::Report;
use z3950::{Client, Credentials, Pem, Query, TlsOptions};
use z3950_server::access::{Access, User};
use z3950_server::testing::TestServer;
use z3950_server::tls::{ClientCertificates, Tls};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Report> {
    let (server, authority) = server()?;
    let target = format!("ssl:localhost:{}/books", server.addr_tls().port());

    let client = Client::builder()
        .credentials("localhost", Credentials::password("ann", "secret"))
        .tls(TlsOptions::new().with_roots(Pem::text(authority)))
        .build()?;
    let books = client.connect(target).await?;
    let hits = books.search(Query::title("emma")).await?;
    println!("{} found", hits.count());
    Ok(())
}

/// Starts a server that admits only Ann, and returns it with its authority's certificate.
fn server() -> Result<(TestServer, String), Report> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = CertificateParams::new(vec!["localhost".to_owned()])?;
    let certificate = names.signed_by(&key, &authority)?.pem();
    let pem = (certificate.as_bytes(), key.serialize_pem());
    let tls = Tls::from_pem(pem.0, pem.1.as_bytes(), &ClientCertificates::Unasked)?;
    let mut ann = User::default();
    (ann.name, ann.password) = ("ann".to_owned(), Some("secret".to_owned()));
    let mut access = Access::default();
    access.users.push(ann);
    let server = TestServer::builder().demo().access(access).tls(tls).start();
    Ok((server, authority.pem()))
}
