//! Tests of the gateway on the port of a server, end to end.

mod elsewhere;
mod hostile;
mod logins;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use z3950::profile::Profiles;
use z3950::{Client, Error, error};
use z3950_server::access::{Access, User};
use z3950_server::testing::{TestServer, record};

use super::{Gateway, GatewayOptions};

/// A server with a gateway.
struct Site {
    server: TestServer,
}

impl Site {
    fn new(change: impl FnOnce(&mut GatewayOptions)) -> Self {
        let mut options = GatewayOptions::default();
        change(&mut options);
        Self::of(Gateway::new(options, Profiles::default()))
    }

    fn of(gateway: Gateway) -> Self {
        let gateway = Arc::new(gateway);
        let books = [
            record("id7", "Emma"),
            record("twice", "One"),
            record("twice", "Two"),
            record("evil", "<script>alert(1)</script>\u{202e}\u{7}"),
        ];
        let maps = [record("id7", "A map")];
        let server = TestServer::builder()
            .database("books", books)
            .database("maps", maps)
            .web(gateway.clone())
            .start();
        gateway.set_listeners(vec![server.addr()]);
        Self { server }
    }

    /// Sends a request with additional header lines, and returns the head and body of the answer.
    async fn ask(&self, target: &str, lines: &str) -> (String, String) {
        let host = self.server.addr();
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n");
        self.say(&request).await
    }

    async fn say(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.server.addr()).await.expect("open");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    async fn status(&self, target: &str) -> String {
        let (head, body) = self.ask(target, "").await;
        let status = head.split(' ').nth(1).unwrap_or_default();
        format!("{status} {body}")
    }

    /// Returns the URL of a path on the site.
    fn url(&self, rest: &str) -> String {
        self.server.url(rest)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_records_come_by_every_form_of_request() {
    let site = Site::new(|_| {});
    let url = site.url("books?id7;rs=marc");
    let merged = url.replace("://", ":/");
    for target in [
        format!("/get?url={url}"),
        format!("/get?url={}", crate::text::encoded(&url)),
        format!("/{url}"),
        format!("/{merged}"),
        url.clone(),
        url.replace("127.0.0.1", "localhost"),
    ] {
        let (head, body) = site.ask(&target, "").await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{target}: {head} {body}");
        let head = head.to_ascii_lowercase();
        for field in [
            "content-type: application/marc\r\n",
            "content-disposition: attachment; filename=\"id7.mrc\"",
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'",
            "vary: accept",
        ] {
            assert!(head.contains(field), "{target}: {field}: {head}");
        }
        assert!(body.contains("Emma") && body.ends_with('\u{1d}'), "{body}");
    }
    // A request that is not for the gateway is answered as SRU on the same connection.
    let found = site.status("/books?query=emma").await;
    assert!(found.contains("numberOfRecords>1<"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_is_negotiated() {
    let site = Site::new(|_| {});
    let url = site.url("books?id7");
    let xml = "<subfield code=\"a\">Emma</subfield>";
    for (format, accept, media_type, words) in [
        ("", "*/*", "application/marc", "Emma"),
        (
            "",
            "application/marcxml+xml",
            "application/marcxml+xml",
            xml,
        ),
        ("", "application/json", "application/json", "\"leader\""),
        (
            "",
            "text/plain",
            "text/plain; charset=utf-8",
            "245 00 $a Emma",
        ),
        (
            "",
            "text/html,*/*;q=0.8",
            "text/html; charset=utf-8",
            "<h1 dir=\"auto\">Emma</h1>",
        ),
        ("marcxml", "text/html", "application/marcxml+xml", xml),
        ("mrk", "*/*", "text/plain; charset=utf-8", "=245  00$aEmma"),
        ("dc", "*/*", "application/xml", "<dc:title>Emma</dc:title>"),
        ("raw", "*/*", "application/marc", "Emma"),
        (
            "html",
            "*/*",
            "text/html; charset=utf-8",
            "&#38;format=marc\"",
        ),
    ] {
        let format = match format {
            "" => String::new(),
            name => format!("&format={name}"),
        };
        let target = format!("/get?url={}{format}", crate::text::encoded(&url));
        let (head, body) = site.ask(&target, &format!("Accept: {accept}\r\n")).await;
        let field = format!("content-type: {media_type}\r\n");
        let head = head.to_ascii_lowercase();
        assert!(head.contains(&field), "{format} {accept}: {head} {body}");
        assert!(body.contains(words), "{format} {accept}: {body}");
    }
    let (head, _) = site.ask(&format!("/{url}"), "Accept: image/png\r\n").await;
    assert!(head.starts_with("HTTP/1.1 406 "), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_statuses_with_words() {
    let site = Site::new(|options| options.has_page = true);
    let own = |rest: &str| format!("/{}", site.url(rest));
    for (target, status, words) in [
        (own("books?none"), "404", "no record matches"),
        (own("books?twice"), "300", "2 records match"),
        (own("nosuch?id7"), "502", "diagnostic 235"),
        (own("books?id7;rs=ukmarc"), "502", "diagnostic 239"),
        (own("books"), "400", "names no record"),
        ("/get".to_owned(), "400", "parameter url is missing"),
        ("/get?url=pg1342".to_owned(), "400", "character"),
        (
            format!("/get?url={}&format=gif", site.url("books?id7")),
            "400",
            "the format is marc",
        ),
        (
            "/z39.50r://lib.example/books?id7".to_owned(),
            "403",
            "lib.example:210 is not a target of this gateway",
        ),
        (
            "/z39.50r://127.0.0.1:1/books?id7".to_owned(),
            "403",
            "not a target",
        ),
        (
            format!("/gopher://{}/0/a", site.server.addr()),
            "403",
            "does not speak Gopher",
        ),
    ] {
        let found = site.status(&target).await;
        let is_it = found.starts_with(status) && found.contains(words);
        assert!(is_it, "{target}: {found}");
    }
    let both = site.status(&own("books+maps?id7")).await;
    let links = [own("books?id7"), own("maps?id7")];
    assert!(both.starts_with("300 "), "{both}");
    assert!(links.iter().all(|link| both.contains(link)), "{both}");
    let (head, body) = site
        .ask(&own("books?none"), "Accept: application/json\r\n")
        .await;
    assert!(head.contains("application/problem+json"), "{head}");
    assert!(body.contains("\"outcome\":\"no match\""), "{body}");
    let host = site.server.addr();
    for (origin, status) in [
        (format!("Origin: http://{host}\r\n"), "405"),
        ("Origin: http://evil.example\r\n".to_owned(), "403"),
    ] {
        let post = format!(
            "POST /get HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let (head, _) = site.say(&post).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
    }
    let session = own("books+maps").replace("50r:", "50s:");
    let (head, _) = site.ask(&session, "").await;
    assert!(head.starts_with("HTTP/1.1 303 "), "{head}");
    let location = "location: /search?target=books&target=maps";
    assert!(head.to_ascii_lowercase().contains(location), "{head}");
}

/// The gateway must refuse URLs that it cannot follow (RFC 1630), in every form of request.
#[tokio::test(flavor = "multi_thread")]
async fn audit_r_e6_other_schemes_and_unknown_databases_are_refused() {
    let site = Site::new(|options| options.has_page = true);
    let own = |rest: &str| site.url(rest).replace("50r:", "50s:");
    for (target, status, words) in [
        ("ftp://h.example/x".to_owned(), "400", "ftp: is not carried"),
        ("wais://h.example/x".to_owned(), "400", "wais: is not"),
        ("z39.50x://h.example/".to_owned(), "400", "z39.50x: is not"),
        ("https://h.example/".to_owned(), "400", "https: is not"),
        ("/ftp://h.example/x".to_owned(), "400", "ftp: is not"),
        ("/http://h.example/".to_owned(), "400", "http: is not"),
        ("/https:/h.example/".to_owned(), "400", "https: is not"),
        ("/news:comp.lang.c".to_owned(), "400", "news: is not"),
        (
            "/get?url=https://h.example/".to_owned(),
            "400",
            "https: is not",
        ),
        (own("nosuch"), "404", "no database nosuch"),
        (format!("/{}", own("nosuch")), "404", "no database nosuch"),
        (own("books+nosuch"), "404", "no database nosuch"),
        (own("books+maps"), "303", ""),
        (own("BOOKS"), "303", ""),
        (own("Default"), "303", ""),
        (own(""), "303", ""),
        (site.server.http_url("books?query=emma"), "200", "Emma"),
    ] {
        let found = site.status(&target).await;
        let is_it = found.starts_with(status) && found.contains(words);
        assert!(is_it, "{target}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_limited_in_number() {
    let site = Site::new(|options| options.requests_per_address = 0);
    let (head, _) = site.ask(&site.url("books?id7"), "").await;
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    assert!(
        head.to_ascii_lowercase().contains("retry-after: 2"),
        "{head}"
    );
    let site = Site::new(|options| options.requests_per_address = 1);
    for _ in 0..3 {
        let found = site.status(&site.url("books?id7")).await;
        assert!(found.starts_with("200"), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_cannot_be_searched_together_are_named_one_by_one() {
    let gateway = Arc::new(Gateway::new(GatewayOptions::default(), Profiles::default()));
    let server = TestServer::builder()
        .database("books", [record("id7", "Emma")])
        .rule("on search: fail 23")
        .web(gateway.clone())
        .start();
    gateway.set_listeners(vec![server.addr()]);
    let site = Site { server };
    let found = site.status(&site.url("books+maps?id7")).await;
    assert!(found.starts_with("400 these databases"), "{found}");
    let links = ["books?id7", "maps?id7"].map(|rest| format!("/{}\n", site.url(rest)));
    assert!(links.iter().all(|link| found.contains(link)), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_the_server_log_in_by_http() {
    let gateway = Arc::new(Gateway::new(GatewayOptions::default(), Profiles::default()));
    let mut user = User::default();
    user.name = "ann".to_owned();
    user.password = Some("secret".to_owned());
    user.databases = Some(vec!["books".to_owned()]);
    let mut access = Access::default();
    access.users.push(user);
    let server = TestServer::builder()
        .database("books", [record("id7", "Emma")])
        .database("maps", [record("id7", "A map")])
        .access(access)
        .web(gateway.clone())
        .start();
    gateway.set_listeners(vec![server.addr()]);
    let site = Site { server };
    let url = site.url("books?id7");
    let (head, _) = site.ask(&url, "").await;
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    assert!(
        head.to_ascii_lowercase()
            .contains("www-authenticate: basic")
    );
    let login = "Authorization: Basic YW5uOnNlY3JldA==\r\n";
    for (rest, status) in [("books?id7", 200), ("maps?id7", 403)] {
        let (head, body) = site.ask(&site.url(rest), login).await;
        let status = format!("HTTP/1.1 {status} ");
        assert!(head.starts_with(&status), "{rest}: {head} {body}");
    }
}

/// The library's client must get the same records from the gateway as from the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_finds_the_same_by_the_gateway() {
    let site = Site::new(|_| {});
    let direct = Client::new();
    let by_gateway = direct.with_gateway(site.server.http_url("").parse().expect("a gateway"));
    for rest in [
        "books?id7;rs=marc",
        "books?id7;rs=xml",
        "books?id7;rs=sutrs",
    ] {
        let url = site.url(rest);
        let one = direct.get(&url).await.expect("a record");
        let other = by_gateway.get(&url).await.expect("a record");
        assert_eq!(one.syntax(), other.syntax(), "{rest}");
        assert_eq!(one.text(), other.text(), "{rest}");
    }
    for rest in ["books?none", "books?twice", "nosuch?id7", "books?id7;esn=x"] {
        let url = site.url(rest);
        let one = direct.get(&url).await.expect_err(rest);
        let other = by_gateway.get(&url).await.expect_err(rest);
        assert_eq!(one.to_string(), other.to_string());
    }
    let elsewhere = by_gateway.get("z39.50r://lib.example/books?id7").await;
    let elsewhere = elsewhere.expect_err("it is closed");
    assert!(
        matches!(elsewhere, Error::Gateway(error::GatewayError::Forbidden(_))),
        "{elsewhere}"
    );
}

/// A short time limit.
const SOON: Duration = Duration::from_millis(300);
