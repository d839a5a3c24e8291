//! Tests of the page as seen by HTTP clients; some of the server's records are hostile.

mod lists;
mod typed;
mod unions;
mod ways;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use z3950::Client;
use z3950_marc::Field;
use z3950_server::access::{Access, User};
use z3950_server::fault::Faults;
use z3950_server::testing::{TestServer, TestServerBuilder, record};

use z3950::profile::Profiles;

use super::*;
use crate::gateway::{Gateway, GatewayOptions};
use crate::remote::{RemoteDatabase, RemoteOptions};

fn builder() -> TestServerBuilder {
    TestServer::builder().web(Arc::new(CataloguePage::new()))
}

fn demo() -> TestServer {
    builder().demo().start()
}

/// Requests a path; returns the head and body of the answer, with its chunks joined.
fn get(server: &TestServer, path: &str) -> (String, String) {
    asked(
        server,
        &format!("GET {path} HTTP/1.1\r\nHost: lib.example:2100\r\n"),
    )
}

fn asked(server: &TestServer, head: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server.addr()).expect("a server");
    let request = format!("{head}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8(answer).expect("UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked {
        joined(body)
    } else {
        body.to_owned()
    };
    (head.to_owned(), body)
}

fn joined(mut body: &str) -> String {
    let mut all = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        all += &rest[..length];
        body = rest[length..].trim_start();
    }
    all
}

#[test]
fn each_path_has_its_page() {
    let server = demo();
    let style = format!("{} ", PageLayout::new(true).style_path);
    for (path, status, part) in [
        ("/", 200, "<h1><bdi>Search the catalogue"),
        ("/targets", 200, "281 records"),
        (
            "/search?q=emma+austen&target=books",
            200,
            "Interpreted as <bdi>all of these words</bdi>",
        ),
        ("/search?q=emma&target=nowhere", 200, "class=\"failure\""),
        ("/search?q=", 200, "<h1><bdi>Search the catalogue"),
        ("/search?q=%40and+war", 400, "The query cannot be read"),
        ("/search?q=%40and+war", 400, "value=\"@and war\""),
        (
            "/search?q=war&start=0",
            400,
            "A position is a number from 1.",
        ),
        (
            "/search?q=war&target=books&at=999",
            404,
            "There is no record 999 in",
        ),
        (
            "/search?q=war&target=books&format=pdf",
            404,
            "cannot be written",
        ),
        (
            "/search?q=z39.50r%3A%2F%2Flib.example%2Fcat%3Fid7",
            404,
            "it has no gateway",
        ),
        (style.trim(), 200, "prefers-color-scheme"),
        ("/favicon.ico", 404, "There is no such page."),
        ("/search/style-0.css", 404, "There is no such page."),
        ("/targets/all", 404, "There is no such page."),
        ("/get", 404, "There is no such page."),
        ("/%zz", 400, ""),
        ("/get?operation=explain", 404, "explainResponse"),
        ("/favicon.ico?query=emma", 404, "searchRetrieveResponse"),
        ("/?operation=explain", 200, "explainResponse"),
        ("/books?query=emma", 200, "searchRetrieveResponse"),
    ] {
        let (head, body) = get(&server, path);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path}: {head}"
        );
        assert!(body.contains(part), "{path}: {body}");
        assert!(!body.contains("<script"), "{path}: {body}");
        if body.starts_with("<!DOCTYPE") {
            assert!(head.contains("default-src 'none'"), "{path}: {head}");
            assert!(body.contains("</html>"), "{path}: {body}");
            assert_eq!(body.matches("<h1>").count(), 1, "{path}: {body}");
        }
    }
    for (path, place) in [
        ("/%73earch?q=emma", "/search?q=emma"),
        ("/search/", "/search"),
        ("/Search/?q=%3Cb%3E&target=a", "/search?q=%3Cb%3E&target=a"),
        ("/targets/", "/targets"),
        ("/%74ARGETS", "/targets"),
        ("/%67et?url=a", "/get?url=a"),
    ] {
        let (head, body) = get(&server, path);
        assert!(head.starts_with("HTTP/1.1 308 "), "{path}: {head}");
        let lower = head.to_lowercase();
        let line = format!("\r\nlocation: {}\r\n", place.to_lowercase());
        assert!(format!("{lower}\r\n").contains(&line), "{path}: {head}");
        assert_eq!(body, "", "{path}");
    }
    let page = Arc::new(
        CataloguePage::new()
            .with_gateway(Gateway::new(GatewayOptions::default(), Profiles::default())),
    );
    let with_gateway = TestServer::builder().demo().web(page).start();
    let (head, _) = get(&with_gateway, "/search?q=z39.50r://lib.example/cat?id7");
    assert!(head.starts_with("HTTP/1.1 303 "), "{head}");
    let place = "location: /get?url=z39.50r%3A%2F%2Flib.example%2Fcat%3Fid7";
    assert!(head.contains(place), "{head}");
    let (head, _) = asked(
        &server,
        "POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n",
    );
    assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
}

#[test]
fn records_are_shown_listed_and_downloaded() {
    let server = demo();
    let (_, list) = get(&server, "/search?q=au%3Aausten&target=books");
    let link = list.split("<li><a href=\"").nth(1).expect("a record");
    let link = link
        .split('"')
        .next()
        .expect("a link")
        .replace("&#38;", "&");
    let (_, shown) = get(&server, &link);
    for part in [
        "<dt>Title</dt>",
        "<dt>Author</dt>",
        "value=\"z39.50r://lib.example:2100/books?",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for (format, start) in [
        ("marc", "0"),
        ("marcxml", "<?xml"),
        ("json", "["),
        (
            "csv",
            "001,title,author,year,publisher,isbn,issn,source\r\npg",
        ),
        ("spreadsheet", "\u{feff}001,"),
        ("mrk", "=LDR"),
        ("dc", "<?xml"),
    ] {
        let all = "/search?q=au:austen&target=books&all=1";
        let list = "/search?q=au:austen&target=books";
        for (link, name) in [(&*link, "\"pg"), (list, "\"records."), (all, "\"records.")] {
            let link = format!("{link}&format={format}");
            let (head, body) = get(&server, &link);
            let name = format!("attachment; filename={name}");
            assert!(head.contains(&name), "{link}: {head}");
            let start = match (format, link.contains("&at=")) {
                ("json", true) => "{",
                ("marcxml", true) => "<record",
                _ => start,
            };
            assert!(body.starts_with(start), "{link}: {body}");
        }
    }
    let (_, next) = get(&server, &link_of(&shown, "Next record"));
    assert!(next.contains("2 of "), "{next}");
    let (_, first) = get(&server, &link_of(&next, "Previous record"));
    assert!(!first.contains("Previous record"), "{first}");
}

/// Returns the URL of the first link with this text.
fn link_of(page: &str, text: &str) -> String {
    let found = page.split_once(text);
    let (before, _) = found.unwrap_or_else(|| panic!("{text}: {page}"));
    let (_, link) = before.rsplit_once("<a href=\"").expect("a link");
    let link = link.split('"').next().expect("its end");
    link.replace("&#38;", "&")
}

#[test]
fn facets_narrow_the_search_and_can_be_taken_back() {
    let server = demo();
    let (_, list) = get(&server, "/search?q=war");
    assert_eq!(list.matches("<nav class=\"facets\"").count(), 2, "{list}");
    let rows = list.find("<section id=\"in-1\"");
    let facets = list.find("aria-label=\"Narrow the search in Demo catalogue: books\"");
    assert!(rows < facets, "{list}");
    let count = "<bdi>1868</bdi></a> <span class=\"note\">2</span>";
    assert!(list.contains(count), "{list}");
    let (_, narrowed) = get(&server, &link_of(&list, count));
    assert!(narrowed.contains("2 records"), "{narrowed}");
    assert_eq!(narrowed.matches("<section").count(), 1, "{narrowed}");
    // Lists, records and files that are reached from the narrowed list also belong to the narrowed search.
    let (_, record) = get(&server, &link_of(&narrowed, "<bdi>Little women"));
    let (_, again) = get(&server, &link_of(&record, "Back to the results"));
    assert!(again.contains("2 records"), "{again}");
    let (_, file) = get(&server, &link_of(&narrowed, "CSV<"));
    assert_eq!(file.lines().count(), 3, "{file}");
    let subject = "<bdi>Sisters Juvenile fiction.</bdi>";
    let (_, twice) = get(&server, &link_of(&narrowed, subject));
    assert!(twice.contains("1 record<"), "{twice}");
    assert!(!twice.contains("<nav class=\"facets\""), "{twice}");
    let without = "Remove<span class=\"hidden\"> Year 1868";
    let (_, wider) = get(&server, &link_of(&twice, without));
    assert!(
        !wider.contains("> Year 1868") && wider.contains("> Subject Sisters"),
        "{wider}"
    );
    let (head, _) = get(&server, "/search?q=war&narrow=shelf:1");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

#[test]
fn text_of_records_is_harmless() {
    let long = "x".repeat(9_000);
    let server = builder()
        .database(
            "cat",
            [
                record("a", "<script>alert(1)</script> war"),
                record("b", "war \u{202e}evil\u{7}"),
                record("c", &format!("war {long}")),
                record("d\"><b>", "war =1+1"),
            ],
        )
        .start();
    let (_, list) = get(&server, "/search?q=war&target=cat");
    assert!(list.contains("4 records"), "{list}");
    assert!(
        !list.contains("<script") && !list.contains('\u{202e}'),
        "{list}"
    );
    assert!(list.contains("further characters are left out"), "{list}");
    assert!(list.len() < 20_000, "{}", list.len());
    for at in 1..=4 {
        let (head, shown) = get(&server, &format!("/search?q=war&target=cat&at={at}"));
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let is_harmless = !["<script", "<b>", "\u{202e}", "\u{7}"]
            .iter()
            .any(|text| shown.contains(text));
        assert!(is_harmless, "{at}: {shown}");
    }
    let (_, echoed) = get(&server, "/search?q=%22%3E%3Cscript%3E&target=%3Cb%3E");
    assert!(
        !echoed.contains("<script") && !echoed.contains("<b>"),
        "{echoed}"
    );
}

#[test]
fn r_g_no_control_character_reaches_a_page() {
    let raw: String = ('\0'..='\u{9f}').filter(|one| one.is_control()).collect();
    // A record cannot contain the ISO 2709 separators.
    let in_record = raw.replace(['\u{1d}', '\u{1e}', '\u{1f}'], "");
    let typed = text::encoded(format!("war{raw}\u{202e}"));
    let mut odd = record("odd", &format!("War {in_record}"));
    let note = Field::data(b"520", "  ", [("a", format!("A note {in_record}"))]);
    odd.fields.push(note);
    let gateway = Gateway::new(GatewayOptions::default(), Profiles::default());
    let page = CataloguePage::new().with_gateway(gateway);
    let server = TestServer::builder().database("cat", [odd]);
    let server = server.web(Arc::new(page)).start();
    for path in [
        format!("/search?q={typed}"),
        format!("/search?q=war&target={typed}"),
        format!("/search?q=war&target=cat&target=no&in={typed}"),
        format!("/search?q=war&narrow=author:{typed}"),
        format!("/search?q=war&format={typed}"),
        format!("/search?q=pqf:@{typed}"),
        format!("/search?q={typed}&tick=none"),
        format!("/search?q=http://{typed}"),
        format!("/search?q=war&sort={typed}"),
        "/search?q=war".to_owned(),
        "/search?q=war&at=1".to_owned(),
        "/search?q=war&at=1&format=dc".to_owned(),
        format!("/get?url=z39.50r://lib.example/{typed}"),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: lib.example\r\nAccept: text/html\r\n");
        let (_, body) = asked(&server, &request);
        let is_raw = |one: &char| one.is_control() && !['\n', '\t'].contains(one);
        assert_eq!(body.chars().find(is_raw), None, "{path}: {body}");
        let title = body.split("<title>").nth(1).unwrap_or_default();
        let title = title.split("</title>").next().unwrap_or_default();
        assert!(!title.contains('\u{202e}'), "{path}: {title}");
    }
}

#[test]
fn r_g_unknown_paths_are_pages_for_browsers() {
    let server = demo();
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let words = "There is no page at this address";
    let diagnostic = "info:srw/diagnostic/1/235";
    for (path, accepted, status, part) in [
        ("/nosuch", browser, 404, words),
        ("/nosuch/deeper?a=b", browser, 404, words),
        ("/Books/", browser, 200, "explainResponse"),
        ("/nosuch", "*/*", 404, "explainResponse"),
        ("/nosuch", "application/sru+xml", 404, "explainResponse"),
        ("/nosuch", "text/html;q=0", 404, "explainResponse"),
        ("/Books?a=b", browser, 200, "explainResponse"),
        ("/nosuch?query=emma", browser, 404, diagnostic),
        ("/nosuch?operation=explain", browser, 404, "explainResponse"),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: lib.example\r\nAccept: {accepted}\r\n");
        let (head, body) = asked(&server, &request);
        let line = format!("HTTP/1.1 {status} ");
        assert!(head.starts_with(&line), "{path} {accepted}: {head}");
        assert!(body.contains(part), "{path} {accepted}: {body}");
        let is_page = head.to_lowercase().contains("content-type: text/html");
        assert_eq!(is_page, part == words, "{path} {accepted}: {head}");
    }
    let request = "HEAD /nosuch HTTP/1.1\r\nHost: lib.example\r\nAccept: text/html\r\n";
    let (head, body) = asked(&server, request);
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    assert!(head.to_lowercase().contains("vary: accept"), "{head}");
    assert_eq!(body, "");
}

#[test]
fn one_database_that_fails_does_not_keep_the_others() {
    let faults = Faults::new().with("on search db=two: fail 2".parse().expect("a rule"));
    let server = builder()
        .database("one", [record("a", "War")])
        .database("two", [record("b", "War")])
        .faults(faults)
        .start();
    let (_, list) = get(&server, "/search?q=war");
    assert_eq!(list.matches("<section").count(), 2, "{list}");
    assert_eq!(list.matches("class=\"failure\"").count(), 1, "{list}");
    assert_eq!(list.matches("<li><a").count(), 1, "{list}");
}

#[test]
fn several_records_of_a_url_are_listed() {
    let options = GatewayOptions {
        has_page: true,
        ..GatewayOptions::default()
    };
    let gateway = Gateway::new(options, Profiles::default());
    let page = CataloguePage::new().with_gateway(gateway);
    let records = [
        record("a \"b\"", "One"),
        record("a \"b\"", "Two"),
        record("c", "Three"),
    ];
    let server = TestServer::builder().database("cat", records);
    let server = server.web(Arc::new(page)).start();
    let request = "GET /z39.50r://lib.example:2100/cat?a%20%22b%22 HTTP/1.1\r\nHost: lib.example:2100\r\nAccept: text/html\r\n";
    let (head, choices) = asked(&server, request);
    assert!(head.starts_with("HTTP/1.1 300 "), "{head}");
    let (_, list) = get(&server, &link_of(&choices, "Show the 2 records"));
    assert!(list.contains("2 records"), "{choices} {list}");
}

/// Starts a server with the user ann that delays the answer to a wrong password by ten seconds or more.
fn guarded(page: CataloguePage) -> TestServer {
    let mut user = User::default();
    user.name = "ann".to_owned();
    user.password = Some("secret".to_owned());
    let mut access = Access::default();
    access.users = vec![user];
    let builder = TestServer::builder().demo().access(access);
    let builder = builder.limit(|limits| limits.refusal_delay = Duration::from_secs(10));
    builder.web(Arc::new(page)).start()
}

#[test]
fn clients_that_guess_passwords_have_to_wait() {
    let url = "/get?url=z39.50r://lib.example:2100/books?pg1342";
    for path in ["/", url] {
        let gateway = Gateway::new(GatewayOptions::default(), Profiles::default());
        let server = guarded(CataloguePage::new().with_gateway(gateway));
        let (sender, first) = std::sync::mpsc::channel();
        // The answers to the first guesses are delayed, and further guesses are refused without a check.
        for _ in 0..8 {
            let (sender, address) = (sender.clone(), server.addr());
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).expect("a server");
                let request = format!(
                    "GET {path} HTTP/1.1\r\nHost: lib.example:2100\r\nAuthorization: Basic YW5uOndyb25n\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(request.as_bytes()).expect("sent");
                let mut answer = String::new();
                // The server may already have stopped, so an error is ignored.
                if stream.read_to_string(&mut answer).is_ok() {
                    let _ = sender.send(answer);
                }
            });
        }
        let answer = first.recv().expect("an answer").to_lowercase();
        assert!(answer.starts_with("http/1.1 429 "), "{path}: {answer}");
        assert!(answer.contains("retry-after: "), "{path}: {answer}");
    }
}

#[test]
fn the_page_asks_for_the_password_that_sessions_need() {
    let mut user = User::default();
    user.name = "ann".to_owned();
    user.password = Some("secret".to_owned());
    let mut access = Access::default();
    access.users = vec![user];
    let server = builder().demo().access(access).start();
    for path in ["/", "/targets", "/search?q=emma"] {
        let (head, body) = get(&server, path);
        assert!(head.starts_with("HTTP/1.1 401 "), "{path}: {head}");
        assert!(body.contains("the operator of this server"), "{body}");
        assert!(
            head.to_lowercase().contains("www-authenticate: basic"),
            "{head}"
        );
        let login =
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\n");
        let (head, _) = asked(&server, &login);
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
    }
}

#[test]
fn r_g_a_blocked_address_is_not_asked_for_a_password() {
    let url = "/get?url=z39.50r://lib.example:2100/books?pg1342";
    let users = [Vec::new(), {
        let mut user = User::default();
        user.name = "ann".to_owned();
        user.password = Some("secret".to_owned());
        vec![user]
    }];
    for users in users {
        let mut access = Access::default();
        access.users = users;
        access.blocked = vec![Ipv4Addr::LOCALHOST.into()];
        let gateway = Gateway::new(GatewayOptions::default(), Profiles::default());
        let page = Arc::new(CataloguePage::new().with_gateway(gateway));
        let server = TestServer::builder()
            .demo()
            .access(access)
            .web(page)
            .start();
        for path in ["/", "/targets", "/search?q=emma", url] {
            for login in ["", "Authorization: Basic YW5uOnNlY3JldA==\r\n"] {
                let request = format!("GET {path} HTTP/1.1\r\nHost: lib.example:2100\r\n{login}");
                let (head, body) = asked(&server, &request);
                assert!(head.starts_with("HTTP/1.1 403 "), "{path}: {head}");
                assert!(!head.to_lowercase().contains("www-authenticate"), "{head}");
                assert!(body.contains("this network address is blocked"), "{body}");
            }
        }
    }
}

#[test]
fn databases_of_others_are_not_listed() {
    let mut user = User::default();
    user.name = "ann".to_owned();
    user.password = Some("secret".to_owned());
    user.databases = Some(vec!["Books".to_owned()]);
    let mut access = Access::default();
    access.users = vec![user];
    access.anonymous = true;
    let server = builder().demo().access(access).start();
    for path in ["/", "/targets", "/search?q=emma"] {
        let login = "Host: a\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\n";
        let (_, of_ann) = asked(&server, &format!("GET {path} HTTP/1.1\r\n{login}"));
        assert!(!of_ann.contains("serials"), "{path}: {of_ann}");
        // If there is only one database, the form does not offer a choice.
        assert_eq!(of_ann.contains("books"), path != "/", "{path}: {of_ann}");
        let (_, of_all) = get(&server, path);
        assert!(of_all.contains("serials"), "{path}: {of_all}");
    }
}
