//! Tests with scripted proxies on an in-memory stream: the octets sent to a proxy, and the handling of its answers.

use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;

/// A connector that returns one stream, and records the destination.
struct Scripted(Mutex<Option<BoxStream>>, Arc<Mutex<String>>);

impl Connect for Scripted {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            *self.1.lock().expect("unpoisoned") = format!("{host}:{port}");
            let stream = self.0.lock().expect("unpoisoned").take();
            stream.ok_or_else(|| Error::Unavailable {
                phase: Phase::Connect,
                cause: Cause::Other(Arc::new(io::Error::other("a second connection"))),
            })
        })
    }
}

/// Connects to lib.example:210 through `proxy`. Each pair in `script` consists of the octets that the proxy expects,
/// and its answer. `outcome` contains the first octets from the server, or the error with its source.
async fn check(proxy: &str, script: &[(&[u8], &[u8])], outcome: &str) {
    let (near, mut far) = duplex(4096);
    let reached = Arc::new(Mutex::new(String::new()));
    let scripted = Scripted(Mutex::new(Some(Box::new(near))), Arc::clone(&reached));
    let proxy: Proxy = proxy.parse().expect("a proxy");
    let place = format!("{}:{}", proxy.host, proxy.port);
    let connector = Proxied::new(scripted, proxy, NoProxy::default());
    let host = "lib.example".parse().expect("a host");
    let timeouts = Timeouts::default();
    let play = async {
        for (asked, answer) in script {
            let mut octets = vec![0; asked.len()];
            far.read_exact(&mut octets).await.expect("the request");
            assert_eq!(
                octets.escape_ascii().to_string(),
                asked.escape_ascii().to_string()
            );
            far.write_all(answer).await.expect("written");
        }
        let _ = far.shutdown().await;
    };
    let connect = async {
        let mut stream = match connector.connect(&host, 210, &timeouts).await {
            Ok(stream) => stream,
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                return format!("{error}: {}", source.unwrap_or_default());
            }
        };
        let mut octets = Vec::new();
        stream
            .read_to_end(&mut octets)
            .await
            .expect("the server's octets");
        String::from_utf8_lossy(&octets).into_owned()
    };
    let (found, ()) = tokio::join!(connect, play);
    assert_eq!(found, outcome);
    assert_eq!(*reached.lock().expect("unpoisoned"), place);
}

#[tokio::test]
async fn http_proxies_are_asked_to_connect() {
    let request = b"CONNECT lib.example:210 HTTP/1.1\r\nhost: lib.example:210\r\n\r\n";
    check(
        "http://proxy.example:3128",
        &[(request, b"HTTP/1.1 200 OK\r\n\r\nserver")],
        "server",
    )
    .await;
    check(
        "proxy.example",
        &[(request, b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")],
        "the proxy refused to connect: http://proxy.example:80 answered 407 Proxy Authentication Required",
    )
    .await;
    check(
        "http://a:b%40c@proxy.example",
        &[(
            b"CONNECT lib.example:210 HTTP/1.1\r\nhost: lib.example:210\r\nproxy-authorization: Basic YTpiQGM=\r\n\r\n",
            b"HTTP/1.1 200 Connection established\r\n\r\n",
        )],
        "",
    )
    .await;
    check(
        "http://proxy.example:3128",
        &[(request, b"220 mail.example ESMTP\r\n")],
        "the connection failed at the proxy: transport failure",
    )
    .await;
}

#[tokio::test]
async fn socks5_proxies_resolve_the_name() {
    let request = b"\x05\x01\x00\x03\x0blib.example\x00\xd2";
    check(
        "socks5://proxy.example",
        &[
            (b"\x05\x01\x00", b"\x05\x00"),
            (request, b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\xd2server"),
        ],
        "server",
    )
    .await;
    check(
        "socks5h://user:secret@proxy.example:9050",
        &[
            (b"\x05\x02\x00\x02", b"\x05\x02"),
            (b"\x01\x04user\x06secret", b"\x01\x00"),
            (request, b"\x05\x05\x00\x01\x7f\x00\x00\x01\x00\xd2"),
        ],
        "the proxy refused to connect: socks5://proxy.example:9050: Connection refused",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_proxy_ends_at_the_limit() {
    let (near, _far) = duplex(4096);
    let scripted = Scripted(Mutex::new(Some(Box::new(near))), Arc::default());
    let proxy = "proxy.example".parse().expect("a proxy");
    let connector = Proxied::new(scripted, proxy, NoProxy::default());
    let host = "lib.example".parse().expect("a host");
    let error = connector
        .connect(&host, 210, &Timeouts::default())
        .await
        .err();
    assert!(matches!(
        error,
        Some(Error::Unavailable {
            phase: Phase::Proxy,
            cause: Cause::Timeout(_)
        })
    ));
}

#[test]
fn proxies_are_read_and_shown_without_secrets() {
    for (text, shown) in [
        ("http://proxy.example:3128/", "http://proxy.example:3128"),
        ("proxy.example", "http://proxy.example:80"),
        ("SOCKS5://u:p@[::1]", "socks5://[::1]:1080"),
        ("socks://192.0.2.1:9", "socks5://192.0.2.1:9"),
        (
            "https://u:p@proxy.example",
            "https://proxy.example is not a proxy: only http and socks5 are supported",
        ),
        (
            "http://u:p@:3",
            "http://:3 is not a proxy: its host or port is malformed",
        ),
        (
            "http://a%zz@h.example",
            "http://h.example is not a proxy: its credentials are malformed",
        ),
    ] {
        let found = text
            .parse::<Proxy>()
            .map_or_else(|error| error.to_string(), |proxy| format!("{proxy:?}"));
        assert_eq!(found, shown, "{text}");
    }
}

#[test]
fn the_environment_chooses() {
    let chosen = |variables: &[(&str, &str)]| {
        let (proxy, _) = Proxy::from_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
        .expect("proxies");
        proxy.map(|proxy| proxy.to_string()).unwrap_or_default()
    };
    for (variables, proxy) in [
        (&[][..], ""),
        (
            &[
                ("ALL_PROXY", "socks5://a.example"),
                ("HTTPS_PROXY", "http://b.example"),
            ],
            "socks5://a.example:1080",
        ),
        (
            &[("all_proxy", "a.example"), ("ALL_PROXY", "b.example")],
            "http://a.example:80",
        ),
        (
            &[("ALL_PROXY", " "), ("HTTPS_PROXY", "b.example")],
            "http://b.example:80",
        ),
        (&[("HTTP_PROXY", "b.example")], ""),
    ] {
        assert_eq!(chosen(variables), proxy, "{variables:?}");
    }
}

#[test]
fn hosts_may_be_exempt() {
    for (list, host, exempt) in [
        ("", "lib.example", false),
        ("", "localhost", true),
        ("", "127.0.0.9", true),
        ("", "[::1]", true),
        ("lib.example", "LIB.example", true),
        ("lib.example", "a.lib.example", true),
        (".lib.example", "a.lib.example", true),
        ("lib.example", "alib.example", false),
        ("other.example, 10.1.2.3", "10.1.2.3", true),
        ("*", "lib.example", true),
    ] {
        let parsed = Host::parse(host, Mode::Lenient).expect("a host");
        assert_eq!(NoProxy::new(list).has(&parsed), exempt, "{list:?} {host}");
    }
}
