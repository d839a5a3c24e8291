//! Tests of retrieval from scripted servers, with every kind of reply and every way in which a reply can end.
//! Connections are made by `tokio::io::duplex`, and the clock is paused, so waits take no time.

mod hostile;
mod mutation;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::*;
use crate::transport::{BoxStream, Connecting};
use crate::url::{Host, Mode};

/// An action of a server after a request.
#[derive(Debug, Clone)]
enum Turn {
    /// Sends octets. After the last action, the connection is closed.
    Send(Vec<u8>),
    /// Sends single octets at intervals, without end.
    Trickle,
    /// Sends the same octets without end.
    Endless(&'static [u8]),
    /// Sends nothing more and keeps the connection open.
    Silence,
}

/// A server with a script for each connection. The last script is used for all further connections. Requests are
/// recorded.
#[derive(Debug, Clone)]
struct Scripted {
    servers: Vec<Vec<Turn>>,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Scripted {
    fn new(servers: &[&[Turn]]) -> Self {
        Self {
            servers: servers.iter().map(|turns| turns.to_vec()).collect(),
            requests: Arc::default(),
        }
    }

    fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("no panic");
        requests
            .iter()
            .map(|request| request.escape_ascii().to_string())
            .collect()
    }
}

impl Connect for Scripted {
    fn connect<'a>(&'a self, _: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            let (ours, mut theirs) = tokio::io::duplex(4096);
            let requests = Arc::clone(&self.requests);
            let count = requests.lock().expect("no panic").len();
            let turns = self
                .servers
                .get(count)
                .or(self.servers.last())
                .expect("a server")
                .clone();
            requests.lock().expect("no panic").push(Vec::new());
            tokio::spawn(async move {
                let mut request = vec![0; 1024];
                let length = theirs.read(&mut request).await.expect("a request");
                request.truncate(length);
                requests.lock().expect("no panic")[count] = request;
                for turn in turns {
                    // An error means that the client has closed the connection, which the test itself checks.
                    let _ = play(&mut theirs, turn).await;
                }
            });
            Ok(Box::new(ours) as BoxStream)
        })
    }
}

async fn play(stream: &mut tokio::io::DuplexStream, turn: Turn) -> std::io::Result<()> {
    match turn {
        Turn::Send(octets) => stream.write_all(&octets).await,
        Turn::Silence => std::future::pending().await,
        Turn::Endless(octets) => loop {
            stream.write_all(octets).await?;
        },
        Turn::Trickle => loop {
            stream.write_all(b"x").await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        },
    }
}

fn sent(octets: impl AsRef<[u8]>) -> Turn {
    Turn::Send(octets.as_ref().to_vec())
}

fn url(path: &str) -> GopherUrl {
    GopherUrl::parse(format!("gopher://gopher.example/{path}"), Mode::Lenient).expect("a URL")
}

async fn get(path: &str, server: &Scripted) -> Result<Reply, GopherError> {
    retrieve(&url(path), &GopherOptions::default(), server).await
}

/// Returns a short description of a reply's body and notes, or of an error and its causes.
fn shown(result: Result<Reply, GopherError>) -> String {
    match result {
        Ok(reply) => {
            let body = match &reply.body {
                Body::Text(text) => format!("text {}", text.escape_ascii()),
                Body::Binary(octets) => format!("octets {}", octets.escape_ascii()),
                Body::Menu(items) => {
                    let items = items
                        .iter()
                        .map(|item| item.url.as_deref().unwrap_or(&item.display));
                    format!("menu {}", items.collect::<Vec<_>>().join(" "))
                }
                Body::Attributes(items) => {
                    let names = items
                        .iter()
                        .flat_map(|item| &item.blocks)
                        .map(|block| block.name.as_str());
                    format!("attributes {}", names.collect::<Vec<_>>().join(" "))
                }
            };
            let notes = reply.notes.iter().map(|note| format!(" | {note}"));
            notes.fold(body, |line, note| line + &note)
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

#[tokio::test(start_paused = true)]
async fn replies_are_read_by_type_and_header() {
    let menu = "0A\t/a\th.example\t70\r\niHello\t\t\t0\r\nwords\r\n.\r\n";
    let stuffed = "a\r\n..b\r\n.\r\n";
    for (path, reply, expected) in [
        ("0a", "a\r\nb\r\n.\r\n", r"text a\r\nb\r\n"),
        ("0a", stuffed, r"text a\r\n.b\r\n"),
        ("0a", "a\r\n..b\r\n", r"text a\r\n..b\r\n"),
        ("6a", stuffed, r"text a\r\n.b\r\n"),
        ("0a", "", "text  | the server sent nothing"),
        ("9a", "\0\u{1}.\r\n", r"octets \x00\x01.\r\n"),
        ("Ia", stuffed, r"octets a\r\n..b\r\n.\r\n"),
        ("ha", "<p>", "octets <p>"),
        (
            "",
            menu,
            "menu gopher://h.example/0/a Hello words | 1 lines of the menu have no location",
        ),
        (
            "7a%09x",
            "0A\t/a\th.example\t70\r\n",
            "menu gopher://h.example/0/a",
        ),
        ("1a", "", "menu  | the server sent nothing"),
        ("0a%09%09+", "+5\r\na\nb\nc", r"text a\nb\nc"),
        (
            "0a%09%09+",
            "+9\r\n..\r\n.\r\n\r\n more",
            r"text ..\r\n.\r\n\r\n",
        ),
        ("0a%09%09+", "+-1\r\na\r\n..b\r\n.\r\n", r"text a\r\n.b\r\n"),
        ("0a%09%09+", "+-2\r\na\r\n.\r\n", r"text a\r\n.\r\n"),
        ("9a%09%09+", "+2\r\n\0\n", r"octets \x00\n"),
        (
            "0a%09%09+application/gopher+-menu",
            "+-2\r\n0A\t/a\th.example\t70\t+\r\n",
            "menu gopher://h.example/0/a",
        ),
        ("9a%09%09+text/plain%20De", "+1\r\na", "text a"),
        ("0a%09%09+image/gif", "+1\r\na", "octets a"),
        (
            "0a%09%09+",
            "a\r\n",
            r"text a\r\n | the server does not answer by Gopher+, so this is the item in its only view",
        ),
        (
            "0a%09%09!",
            "+-1\r\n+INFO: 0A\t/a\th.example\t70\r\n+ADMIN:\r\n me\r\n.\r\n",
            "attributes +INFO +ADMIN",
        ),
        (
            "1a%09%09$+ADMIN",
            "+-2\r\n+INFO: 0A\t/a\th.example\t70\r\n+ADMIN:\r\n me\r\n",
            "attributes +INFO +ADMIN",
        ),
        (
            "0a%09%09!",
            "a text\r\n",
            "the server does not answer by Gopher+",
        ),
        (
            "0a%09%09+",
            "--1\r\n1 Me <me@h.example>\r\nNot here\r\n.\r\n",
            "the server has no such item: Not here",
        ),
        (
            "0a%09%09!",
            "--2\r\n2 Me\r\nBusy\r\n",
            "the server says to try again later: Busy",
        ),
        (
            "0a%09%09+",
            "-11\r\n3\r\nGone away",
            "the server says that the item has moved: Gone awa",
        ),
        (
            "0a%09%09+",
            "--1\r\nwords\r\n.\r\n",
            "the server refused the item: words",
        ),
        (
            "0a",
            "3'/a' does not exist\t\terror.host\t1\r\n",
            "the server has no such item: '/a' does not exist",
        ),
        (
            "9a",
            "3No\t\terror.host\t1\r\niSorry\t\th\t1\r\n.\r\n",
            "the server has no such item: No",
        ),
        (
            "1a",
            "3No\t\terror.host\t1\r\n0Other\t/\th.example\t70\r\n",
            "menu No gopher://h.example/0/",
        ),
        ("0a", "3 men in a boat\r\n", r"text 3 men in a boat\r\n"),
        (
            "0a%09%09+",
            "+5\r\nab",
            "the reply ended 2 octets into its body, before the end it announced",
        ),
        (
            "0a%09%09+",
            "+-1\r\nab\r\n",
            "the reply ended 4 octets into its body, before the end it announced",
        ),
        (
            "0a%09%09+",
            "+99999999999\r\nab",
            "the reply is larger than 67108864 octets, the limit",
        ),
    ] {
        let server = Scripted::new(&[&[sent(reply)]]);
        assert_eq!(
            shown(get(path, &server).await),
            expected,
            "{path} {reply:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_with_its_own_end_needs_no_end_of_connection() {
    for (path, reply, expected, seconds) in [
        ("0a%09%09+", "+1\r\na", "text a", 0),
        ("0a%09%09+", "+-1\r\na\r\n.\r\n", r"text a\r\n", 0),
        ("1a", ".\r\n", "menu ", 0),
        ("0a", "a\r\n.\r\n", r"text a\r\n", 1),
        (
            "0a",
            "a\r\n",
            "the reply stopped after 3 octets: no response within 30 s",
            30,
        ),
        (
            "9a",
            "a\r\n.\r\n",
            "the reply stopped after 6 octets: no response within 30 s",
            30,
        ),
        ("0a", "", "no reply: no response within 30 s", 30),
    ] {
        let server = Scripted::new(&[&[sent(reply), Turn::Silence]]);
        let begun = Instant::now();
        assert_eq!(
            shown(get(path, &server).await),
            expected,
            "{path} {reply:?}"
        );
        assert_eq!(begun.elapsed().as_secs(), seconds, "{path} {reply:?}");
    }
}

/// Tests that a lone dot ends text even if the connection stays open, and that octets after it are reported (RFC 1436
/// §3.4). If a server closes the connection, it may have sent an unchanged file that contains such lines, so nothing is
/// left out.
#[tokio::test(start_paused = true)]
async fn audit_b17_a_lone_dot_ends_text() {
    let note = |octets: &str| {
        format!(
            " | a lone dot ends the reply, and {octets} after it are left out; --format raw shows them"
        )
    };
    let text = sent("a\r\n.\r\n");
    let text_and = |octets: &str| format!(r"text a\r\n{}", note(octets));
    for (path, turns, expected) in [
        (
            "0a",
            vec![text.clone(), Turn::Silence],
            r"text a\r\n".to_owned(),
        ),
        (
            "0a",
            vec![text.clone(), sent("b"), Turn::Silence],
            text_and("1 octet"),
        ),
        (
            "0a",
            vec![sent("a\r\n.\r\nbc"), Turn::Silence],
            text_and("2 octets"),
        ),
        ("0a", vec![text.clone()], r"text a\r\n".to_owned()),
        (
            "0a",
            vec![text.clone(), sent("..b\r\n")],
            r"text a\r\n.\r\n..b\r\n".to_owned(),
        ),
        (
            "0a",
            vec![text.clone(), sent("..b\r\n.\r\n")],
            r"text a\r\n.\r\n.b\r\n".to_owned(),
        ),
        (
            "0a%09%09+",
            vec![sent("+-1\r\na\r\n.\r\nb"), Turn::Silence],
            text_and("1 octet"),
        ),
        (
            "1a",
            vec![sent("0A\t/a\th.example\t70\r\n.\r\nb"), Turn::Silence],
            format!("menu gopher://h.example/0/a{}", note("1 octet")),
        ),
    ] {
        let server = Scripted::new(&[&turns]);
        let begun = Instant::now();
        assert_eq!(
            shown(get(path, &server).await),
            expected,
            "{path} {turns:?}"
        );
        assert!(begun.elapsed().as_secs() <= 1, "{path} {turns:?}");
    }
    // After the dot, the server sends octets without end, quickly or one at a time. The text still ends at the dot, and
    // the client stops reading within this number of seconds.
    for (after, seconds) in [(Turn::Endless(b"b"), 1), (Turn::Trickle, 30)] {
        let server = Scripted::new(&[&[text.clone(), after]]);
        let options = GopherOptions {
            max_octets: 1 << 16,
            ..GopherOptions::default()
        };
        let begun = Instant::now();
        let reply = retrieve(&url("0a"), &options, &server)
            .await
            .expect("a reply");
        assert!(matches!(&reply.body, Body::Text(text) if text == "a\r\n"));
        assert!(begun.elapsed().as_secs() <= seconds);
    }
}

/// Tests that a NUL octet in a selector is sent and reported as a caution, because a selector may contain any octets
/// except tab, CR and LF (Gopher URL draft §2.1).
#[tokio::test(start_paused = true)]
async fn audit_b19_a_nul_octet_in_a_selector_is_sent() {
    let server = Scripted::new(&[&[sent("a\r\n.\r\n")]]);
    for mode in [Mode::Strict, Mode::Lenient] {
        let url = GopherUrl::parse("gopher://gopher.example/0a%00b", mode).expect("a URL");
        let result = retrieve(&url, &GopherOptions::default(), &server).await;
        assert_eq!(shown(result), r"text a\r\n");
        let cautions = crate::url::Locator::from(crate::url::Url::Gopher(url)).cautions();
        assert_eq!(cautions, [crate::url::Caution::EscapedControl]);
    }
    assert_eq!(server.requests(), [r"a\x00b\r\n", r"a\x00b\r\n"]);
}

#[tokio::test(start_paused = true)]
async fn attributes_by_name_are_filtered_if_the_server_cannot() {
    let all = "+-2\r\n+INFO: 0A\t/a\th.example\t70\r\n+ADMIN:\r\n me\r\n+VIEWS:\r\n text/plain: <1k>\r\n\
               +ASK:\r\n Ask: Name\r\n";
    let server = Scripted::new(&[&[sent("the item\r\n")], &[sent(all)]]);
    let result = get("0a%09%09!+VIEW", &server).await;
    assert_eq!(
        shown(result),
        "attributes +INFO +VIEWS | the server cannot select attributes, so all were requested"
    );
    assert_eq!(server.requests(), [r"a\t\t!+VIEW\r\n", r"a\t\t!\r\n"]);
    let server = Scripted::new(&[&[sent("the item\r\n")], &[sent(all)]]);
    let questions = form(&url("0a%09%09?"), &GopherOptions::default(), &server).await;
    let prompts: Vec<_> = questions
        .expect("a form")
        .into_iter()
        .map(|question| question.prompt)
        .collect();
    assert_eq!(prompts, ["Name"]);
    assert_eq!(server.requests(), [r"a\t\t!+ASK\r\n", r"a\t\t!\r\n"]);
}

#[tokio::test(start_paused = true)]
async fn unsendable_urls_are_refused() {
    let server = Scripted::new(&[&[Turn::Silence]]);
    for (url, expected) in [
        (
            "gopher://gopher.example/7/find",
            "the URL is for a search and has no search term",
        ),
        (
            "gopher://gopher.example/0/f%09%09?",
            "the item has a form that must be filled in first",
        ),
        (
            "gopher://gopher.example/8guest",
            "the URL names a terminal session, which telnet opens",
        ),
        (
            "gopher://gopher.example/T",
            "the URL names a terminal session, which telnet opens",
        ),
        (
            "gopher://gopher.example/2",
            "the URL names a CSO phone book, which Gopher does not read",
        ),
        (
            "gopher://gopher.example/3x",
            "the URL names an error, where nothing can be fetched",
        ),
        (
            "gopher://gopher.example:25/0a",
            "port 25 is reserved for another protocol and was not connected to",
        ),
    ] {
        let url = GopherUrl::parse(url, Mode::Strict).expect("a URL");
        let result = retrieve(&url, &GopherOptions::default(), &server).await;
        assert_eq!(shown(result), expected);
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    let options = GopherOptions {
        allow_reserved_port: true,
        wire: PlusWire::Protocol,
        ..GopherOptions::default()
    };
    let url =
        GopherUrl::parse("gopher://gopher.example:25/0a%09%09+", Mode::Strict).expect("a URL");
    assert_eq!(plan(&url, &options).expect("a plan").request, b"a\t+\r\n");
}

/// Tests requirement G-6.2: `$` asks for the attributes of all items in a directory. On any other item, it means `!`,
/// so the reply has the attributes of that item.
#[tokio::test(start_paused = true)]
async fn g_6_2_without_a_directory_the_attributes_of_all_items_are_those_of_the_item() {
    let one = "+INFO: 0A\ta\th.example\t70\t+\r\n+ADMIN:\r\n me\r\n";
    let two = "+INFO: 1B\tb\th.example\t70\t+\r\n+ABSTRACT:\r\n x\r\n";
    for (path, body, expected) in [
        ("0a%09%09$", one.to_owned(), "attributes +INFO +ADMIN"),
        ("9a%09%09$", one.to_owned(), "attributes +INFO +ADMIN"),
        ("0a%09%09!", one.to_owned(), "attributes +INFO +ADMIN"),
        (
            "1a%09%09$",
            format!("{one}{two}"),
            "attributes +INFO +ADMIN +INFO +ABSTRACT",
        ),
    ] {
        let server = Scripted::new(&[&[sent(format!("+-1\r\n{body}.\r\n"))]]);
        assert_eq!(shown(get(path, &server).await), expected, "{path}");
        let mark = path.chars().last().expect("a mark");
        assert_eq!(server.requests(), [format!(r"a\t\t{mark}\r\n")], "{path}");
    }
}
