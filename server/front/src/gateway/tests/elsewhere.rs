//! Servers elsewhere: which are asked, by which addresses, and how they fail.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use z3950::profile::Profiles;
use z3950::transport::{Resolve, Resolving};
use z3950::url::Host;
use z3950_server::testing::{TestServer, record};

use super::{SOON, Site};
use crate::gateway::{Gateway, GatewayOptions};

/// Names that all lead to one address.
struct LeadsTo(SocketAddr);

impl Resolve for LeadsTo {
    fn resolve<'a>(&'a self, host: &'a Host, _: u16) -> Resolving<'a> {
        let address = match host {
            Host::Name(_) => self.0,
            Host::Ipv4(address) => SocketAddr::new((*address).into(), self.0.port()),
            Host::Ipv6(address) => SocketAddr::new((*address).into(), self.0.port()),
        };
        Box::pin(async move { Ok(vec![address]) })
    }
}

/// A site whose names lead to `address`.
fn site(address: SocketAddr, targets: &[&str], is_open: bool) -> Site {
    let mut options = GatewayOptions {
        time: SOON,
        ..GatewayOptions::default()
    };
    options.targets.open = is_open;
    for target in targets {
        let allowed = options.targets.allow(target, &Profiles::default());
        allowed.expect("a target");
    }
    let resolver = Arc::new(LeadsTo(address));
    Site::of(Gateway::with_resolver(
        options,
        Profiles::default(),
        resolver,
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn named_servers_are_asked_and_others_only_at_public_addresses() {
    let other = TestServer::builder()
        .database("cat", [record("id9", "Persuasion")])
        .start();
    let named = site(other.addr(), &["lib.example", "maps.example:9/cat"], false);
    for (target, expected) in [
        ("/z39.50r://lib.example/cat?id9", "200"),
        ("/z39.50r://LIB.example.:210/cat?id9", "200"),
        ("/z39.50r://maps.example:9/cat?id9", "200"),
        ("z39.50r://lib.example/cat?id9", "200"),
        ("/z39.50r://lib.example/cat?none", "404"),
        ("/z39.50r://lib.example:211/cat?id9", "403"),
        ("/z39.50r://maps.example:9/dog?id9", "403"),
        ("/z39.50r://other.example/cat?id9", "403"),
    ] {
        let found = named.status(target).await;
        assert!(found.starts_with(expected), "{target}: {found}");
    }
    let asked = other.transcript().len();
    let open = site(other.addr(), &[], true);
    for target in [
        // The name leads to the loopback address.
        "/z39.50r://lib.example/cat?id9",
        "/gopher://lib.example/0/a",
        "/z39.50r://127.0.0.2/cat?id9",
        "/z39.50r://[::ffff:127.0.0.1]/cat?id9",
        "/z39.50r://10.0.0.1/cat?id9",
        "/z39.50r://localhost/cat?id9",
        "/z39.50r://lib.example:22/cat?id9",
    ] {
        let found = open.status(target).await;
        assert!(found.starts_with("403"), "{target}: {found}");
    }
    for url in ["z39.50r://lib.example/cat?id9", "gopher://lib.example/0/a"] {
        let found = open.status(&format!("/{url}")).await;
        let words = "403 the name leads to addresses that are not public";
        assert_eq!(found.trim_end(), words, "{url}");
    }
    assert_eq!(other.transcript().len(), asked, "nothing was sent");
}

/// The header Host repeats the host of the URL, as RFC 9112 §3.2.2 asks for, and is not taken for the gateway's own name.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_of_a_whole_url_is_not_the_gateway() {
    let other = TestServer::builder()
        .database("books", [record("id7", "Persuasion")])
        .start();
    let site = site(other.addr(), &["lib.example"], false);
    let request = "GET z39.50r://lib.example/books?id7 HTTP/1.1\r\nHost: lib.example\r\nConnection: close\r\n\r\n";
    let (head, body) = site.say(request).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(body.contains("Persuasion"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_and_absent_servers_are_504() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent = listener.local_addr().expect("an address");
    let site_of_silent = site(silent, &["lib.example"], false);
    let found = site_of_silent
        .status("/z39.50r://lib.example/cat?id9")
        .await;
    assert!(found.starts_with("504"), "{found}");
    drop(listener);
    let found = site_of_silent
        .status("/z39.50r://lib.example/cat?id9")
        .await;
    assert!(
        found.starts_with("504") && found.contains("refused"),
        "{found}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn gopher_items_are_fetched_and_never_run() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut line = Vec::new();
            while let Ok(octet) = stream.read_u8().await {
                line.push(octet);
                if octet == b'\n' {
                    break;
                }
            }
            let reply: &[u8] = match &*line {
                b"/menu\r\n" => b"0About\t/about\tlib.example\t70\r\n.\r\n",
                b"/about\r\n" => b"<script>alert(1)</script>\r\n.\r\n",
                b"/big\r\n" => &[b'x'; 3000],
                _ => b"3gone\t\terror.host\t1\r\n.\r\n",
            };
            stream.write_all(reply).await.expect("sent");
        }
    });
    let mut options = GatewayOptions {
        octets: 2048,
        ..GatewayOptions::default()
    };
    let allowed = options.targets.allow("lib.example", &Profiles::default());
    allowed.expect("a target");
    let resolver = Arc::new(LeadsTo(address));
    let site = Site::of(Gateway::with_resolver(
        options,
        Profiles::default(),
        resolver,
    ));
    for (target, status, media_type, words) in [
        (
            "/gopher://lib.example/1/menu",
            "200",
            "text/plain; charset=utf-8",
            "gopher://lib.example/0/about",
        ),
        (
            "gopher://lib.example/0/about",
            "200",
            "text/plain; charset=utf-8",
            "<script>",
        ),
        (
            "/gopher://lib.example/h/about",
            "200",
            "application/octet-stream",
            "<script>",
        ),
        (
            "/gopher://lib.example/9/about",
            "200",
            "application/octet-stream",
            "<script>",
        ),
        (
            "/get?url=gopher://lib.example/1/menu&format=raw",
            "200",
            "application/octet-stream",
            "0About\t/about",
        ),
        (
            "/gopher://lib.example/1/none",
            "404",
            "text/plain; charset=utf-8",
            "",
        ),
        (
            "/gopher://lib.example/9/big",
            "502",
            "text/plain; charset=utf-8",
            "larger than 2048",
        ),
        (
            "/gopher://lib.example:71/0/about",
            "403",
            "text/plain; charset=utf-8",
            "not a target",
        ),
    ] {
        let (head, body) = site.ask(target, "").await;
        let head = head.to_ascii_lowercase();
        assert!(
            head.starts_with(&format!("http/1.1 {status} ")),
            "{target}: {head} {body}"
        );
        let field = format!("content-type: {media_type}\r\n");
        assert!(head.contains(&field), "{target}: {head}");
        assert!(body.contains(words), "{target}: {body}");
    }
}
