//! Tests of the connectors for endpoints, and of TCP and Unix sockets with addresses that answer or do not answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

use super::*;
use crate::url::Mode;

#[cfg(feature = "tls")]
#[test]
fn certificates_are_read_once_and_only_for_tls() {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(Vec::new()).expect("no names");
    let certificate = params.self_signed(&key).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("roots.pem");
    let routes = Routes::default().tls(TlsOptions {
        roots: Some(Pem::file(&file)),
        ..TlsOptions::default()
    });
    let host: Host = "lib.example".parse().expect("a host");
    let plain = Endpoint::Tcp(host.clone(), 210);
    let secured = Endpoint::Tls(host, 210);
    assert!(routes.to(&plain, None).is_ok());
    assert!(matches!(routes.to(&secured, None), Err(RouteError::Tls(_))));
    std::fs::write(&file, certificate.pem()).expect("written");
    assert!(routes.clone().to(&secured, None).is_ok());
    std::fs::remove_file(&file).expect("removed");
    assert!(routes.to(&secured, None).is_ok());
    let others = routes.tls(TlsOptions {
        roots: Some(Pem::file(file)),
        ..TlsOptions::default()
    });
    assert!(others.to(&secured, None).is_err());
}

/// A connector that counts the connections made by another connector.
struct Counted(Arc<dyn Connect>, Arc<AtomicUsize>);

impl Connect for Counted {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.connect(host, port, timeouts)
    }
}

#[tokio::test]
async fn wrapped_routes_wrap_every_connection() {
    let count = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&count);
    let routes =
        Routes::default().wrapped(move |inner| Arc::new(Counted(inner, Arc::clone(&counter))));
    let folder = tempfile::tempdir().expect("a folder");
    let endpoint = Endpoint::Unix(folder.path().join("nothing"));
    let connector = routes.to(&endpoint, None).expect("a way");
    let timeouts = Timeouts::default();
    let refused = connector
        .connect(&endpoint.host(), endpoint.port(), &timeouts)
        .await;
    assert!(refused.is_err());
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

struct Names(io::Result<Vec<SocketAddr>>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> Resolving<'a> {
        Box::pin(async move {
            match &self.0 {
                Ok(addresses) => Ok(addresses.clone()),
                Err(error) => Err(error.kind().into()),
            }
        })
    }
}

struct Never;

impl Resolve for Never {
    fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> Resolving<'a> {
        Box::pin(std::future::pending())
    }
}

async fn connect(resolver: impl Resolve + 'static) -> Result<BoxStream, Error> {
    let host = Host::parse("lib.example", Mode::Strict).expect("a host");
    Tcp::new(resolver)
        .connect(&host, 210, &Timeouts::default())
        .await
}

/// Returns a local port on which probably nothing listens, because it was free a moment ago.
async fn unused() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("its address")
}

#[tokio::test]
async fn all_addresses_are_tried_in_order() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    assert!(connect(address).await.is_ok());
    assert!(
        connect(Names(Ok(vec![unused().await, address])))
            .await
            .is_ok()
    );
    if let Ok(listener) = TcpListener::bind("[::1]:0").await {
        assert!(
            connect(listener.local_addr().expect("its address"))
                .await
                .is_ok()
        );
    }
}

/// A resolver that counts its lookups.
struct CountedLookups(SocketAddr, Arc<AtomicUsize>);

impl Resolve for CountedLookups {
    fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> Resolving<'a> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { Ok(vec![self.0]) })
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_a_minute_or_after_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    let lookups = Arc::new(AtomicUsize::new(0));
    let tcp = Tcp::new(CountedLookups(address, Arc::clone(&lookups)));
    let (host, timeouts) = (Host::parse("a.example", Mode::Strict), Timeouts::default());
    let host = host.expect("a host");
    let check = async |port, is_reached: bool, expected| {
        let connected = tcp.connect(&host, port, &timeouts).await;
        assert_eq!(connected.is_ok(), is_reached);
        assert_eq!(lookups.load(Ordering::Relaxed), expected);
    };
    check(210, true, 1).await;
    check(210, true, 1).await;
    check(211, true, 2).await;
    tokio::time::pause();
    tokio::time::advance(REMEMBERED).await;
    tokio::time::resume();
    check(210, true, 3).await;
    drop(listener);
    check(210, false, 4).await;
    check(210, false, 5).await;
}

#[tokio::test]
async fn causes_are_distinguished() {
    let refused = connect(unused().await).await.err();
    assert!(matches!(
        refused,
        Some(Error::Unavailable {
            phase: Phase::Connect,
            cause: Cause::Refused(_)
        })
    ));
    for names in [Ok(vec![]), Err(io::ErrorKind::NotFound.into())] {
        let unknown = connect(Names(names)).await.err();
        assert!(matches!(
            unknown,
            Some(Error::Unavailable {
                phase: Phase::Resolve,
                cause: Cause::Dns(_)
            })
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_resolver_ends_at_the_limit() {
    let silent = connect(Never).await.err();
    assert!(matches!(
        silent,
        Some(Error::Unavailable {
            phase: Phase::Resolve,
            cause: Cause::Timeout(_)
        })
    ));
}

#[test]
fn families_take_turns() {
    let addresses = |text: &str| -> Vec<SocketAddr> {
        let parsed = text.split_whitespace().map(|address| address.parse());
        parsed.collect::<Result<_, _>>().expect("addresses")
    };
    for (resolved, order) in [
        ("", ""),
        ("1.1.1.1:1 1.1.1.2:1", "1.1.1.1:1 1.1.1.2:1"),
        (
            "[::1]:1 [::2]:1 1.1.1.1:1 1.1.1.2:1 1.1.1.3:1",
            "[::1]:1 1.1.1.1:1 [::2]:1 1.1.1.2:1 1.1.1.3:1",
        ),
        ("1.1.1.1:1 [::1]:1 [::2]:1", "1.1.1.1:1 [::1]:1 [::2]:1"),
    ] {
        assert_eq!(in_turn(addresses(resolved)), addresses(order));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_socket_is_found_by_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("z");
    let host = "localhost".parse().expect("a host");
    let listener = UnixListener::bind(&path).expect("a socket");
    let connector = Unix::new(&path);
    let mut stream = connector
        .connect(&host, 210, &Timeouts::default())
        .await
        .expect("connected");
    let (mut other, _) = listener.accept().await.expect("accepted");
    other.write_all(b"hello").await.expect("written");
    let mut octets = [0; 5];
    stream.read_exact(&mut octets).await.expect("read");
    assert_eq!(&octets, b"hello");
    drop(listener);
    let refused = connector.connect(&host, 210, &Timeouts::default()).await;
    assert!(matches!(
        refused.err(),
        Some(Error::Unavailable {
            phase: Phase::Connect,
            cause: Cause::Refused(_)
        })
    ));
}
