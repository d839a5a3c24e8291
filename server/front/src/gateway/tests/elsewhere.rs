//! Tests of URLs that lead to other servers: the permission to contact these servers, their addresses, and their failures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use z3950::Client;
use z3950::gopher::{Body, GopherOptions};
use z3950::profile::Profiles;
use z3950::transport::{Resolve, Resolving};
use z3950::url::{GopherUrl, Host, Mode};
use z3950_server::testing::{TestServer, record};

use super::{SOON, Site};
use crate::gateway::{Gateway, GatewayOptions};

/// A resolver that resolves each name to the same address.
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

/// Returns a gateway whose resolver resolves each name to `address`.
fn site(address: SocketAddr, targets: &[&str], is_open: bool) -> Site {
    let mut options = GatewayOptions::default();
    options.targets.open = is_open;
    site_with(options, address, targets)
}

fn site_with(mut options: GatewayOptions, address: SocketAddr, targets: &[&str]) -> Site {
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
        // `lib.example` resolves to the loopback address, which is not public.
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

/// The Host header repeats the host in the URL, as RFC 9112 §3.2.2 requires, and must not be taken for a name of the gateway.
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
    let options = GatewayOptions {
        time: SOON,
        ..GatewayOptions::default()
    };
    let site_of_silent = site_with(options, silent, &["lib.example"]);
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
    // The library's client can read the replies that the gateway passes on.
    let gateway = site.server.http_url("").parse().expect("a gateway");
    let client = Client::new().with_gateway(gateway);
    let mut options = GopherOptions::default();
    let fetched = async |url: &str, options: &GopherOptions| {
        let url = GopherUrl::parse(url, Mode::Strict).expect("a URL");
        let fetched = client.gopher_by_gateway(&url, options).await;
        fetched.expect("it has a gateway")
    };
    let menu = fetched("gopher://lib.example/1/menu", &options).await;
    let Body::Menu(items) = menu.expect("a menu").body else {
        panic!("no menu")
    };
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].display, "About");
    let text = fetched("gopher://lib.example/0/about", &options).await;
    let text = text.expect("a text").body;
    assert_eq!(text, Body::Text("<script>alert(1)</script>\r\n".into()));
    for (url, words) in [
        ("gopher://lib.example/1/none", "no record"),
        ("gopher://lib.example/9/big", "larger than 2048"),
        ("gopher://lib.example:71/0/about", "not a target"),
        ("gopher://lib.example/7/find", "search term"),
    ] {
        let error = fetched(url, &options).await.expect_err(url);
        let shown = words_of(&error);
        assert!(shown.contains(words), "{url}: {shown}");
    }
    for (octets, is_read) in [(30, true), (29, false)] {
        options.max_octets = octets;
        let text = fetched("gopher://lib.example/0/about", &options).await;
        assert_eq!(text.is_ok(), is_read, "{octets}: {text:?}");
    }
    let url = GopherUrl::parse("gopher://lib.example/", Mode::Strict).expect("a URL");
    let without = Client::new().gopher_by_gateway(&url, &options).await;
    assert!(without.is_none());
}

/// Formats an error with its causes.
fn words_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        words += &format!(": {next}");
        cause = next.source();
    }
    words
}

#[tokio::test(flavor = "multi_thread")]
async fn several_records_elsewhere_are_300() {
    let other = TestServer::builder()
        .database("cat", [record("twice", "One"), record("twice", "Two")])
        .database("dog", [record("once", "Three")])
        .start();
    let site = site(other.addr(), &["lib.example"], false);
    let target = "/z39.50r://lib.example/cat?twice";
    let (head, body) = site.ask(target, "Accept: application/json\r\n").await;
    assert!(head.starts_with("HTTP/1.1 300 "), "{head}");
    assert!(body.contains("\"hits\":2"), "{body}");
    assert!(body.contains("\"outcome\":\"ambiguous\""), "{body}");
    assert!(!body.contains("\"links\""), "{body}");
    let found = site.status("/z39.50r://lib.example/cat+dog?twice").await;
    assert!(found.starts_with("300 "), "{found}");
    for link in ["cat", "dog"].map(|name| format!("\n/z39.50r://lib.example/{name}?twice\n")) {
        assert!(found.contains(&link), "{found}");
    }
    let found = site.status("/z39.50r://lib.example/dog?once").await;
    assert!(found.starts_with("200 "), "{found}");
}

/// Concurrent requests must keep the pause of the server's profile, as if one client had sent them.
#[tokio::test(flavor = "multi_thread")]
async fn pauses_of_profiles_hold_across_requests() {
    let pause = Duration::from_millis(150);
    let other = TestServer::builder()
        .database("cat", [record("id9", "Persuasion")])
        .start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    let text = format!(
        "[targets.slow]\nhost = \"127.0.0.1\"\nport = {}\npause = {}\n",
        other.addr().port(),
        pause.as_secs_f64()
    );
    std::fs::write(&path, text).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("profiles");
    let mut options = GatewayOptions::default();
    let allowed = options.targets.allow("slow", &profiles);
    allowed.expect("a target");
    let site = Site::of(Gateway::new(options, profiles));
    let target = format!("/{}", other.url("cat?id9"));
    let begun = Instant::now();
    let all = (0..4).map(|_| site.status(&target));
    for found in futures_util::future::join_all(all).await {
        assert!(found.starts_with("200 "), "{found}");
    }
    // The retrievals need at least one Init and four searches in all, with a pause between any two consecutive requests.
    assert!(begun.elapsed() >= pause * 4, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_records_are_502_in_all_forms_but_raw() {
    for (damage, is_whole) in [
        ("truncated", false),
        // The record is empty, so the client asks for another syntax and gets a complete record.
        ("empty", true),
        ("leader", true),
        ("length", true),
    ] {
        let other = TestServer::builder()
            .database("cat", [record("id9", "Persuasion")])
            .rule(&format!("on any: damage {damage}"))
            .start();
        let site = site(other.addr(), &["lib.example"], false);
        let target = "/get?url=z39.50r://lib.example/cat?id9";
        for form in ["marc", "marcxml", "json", "mrk", "dc", "text", "html"] {
            let found = site.status(&format!("{target}&format={form}")).await;
            let expected = if is_whole { "200" } else { "502" };
            assert!(found.starts_with(expected), "{damage} {form}: {found}");
            let has_reason = found.contains("the record is damaged: ");
            assert_eq!(has_reason, !is_whole, "{damage} {form}: {found}");
        }
        let raw = site.status(&format!("{target}&format=raw")).await;
        assert!(raw.starts_with("200"), "{damage}: {raw}");
    }
}
