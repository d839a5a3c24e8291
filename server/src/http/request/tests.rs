//! Tests of heads as clients send them.

use hyper::Request;

use super::*;

fn heading(head: &str) -> Result<Heading, Problem> {
    heading_of(head, false)
}

fn heading_of(head: &str, is_web: bool) -> Result<Heading, Problem> {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut request = Request::builder()
        .method(words.next().unwrap_or_default())
        .uri(words.next().unwrap_or_default());
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        request = request.header(name, value);
    }
    let (head, ()) = request.body(()).expect("a head").into_parts();
    read(&head, b"", is_web)
}

#[test]
fn the_path_names_the_database() {
    for (path, expected) in [
        ("/", Some("")),
        ("/cat", Some("cat")),
        ("/cat/", Some("cat")),
        ("/a/b", Some("a/b")),
        ("/a%2Fb%20c", Some("a/b c")),
        ("/%C3%A9", Some("é")),
        ("/a+b", Some("a+b")),
        ("/%e9", None),
        ("/%", None),
        ("/%a", None),
        ("/%gg", None),
        ("/%0a", None),
    ] {
        let read = heading(&format!("GET {path}?query=a HTTP/1.1\nHost: a"));
        assert_eq!(
            read.ok().map(|heading| heading.database).as_deref(),
            expected,
            "{path}"
        );
    }
}

/// A request target may be a complete URL (RFC 9112 §3.2.2), but not a URL for another protocol.
#[test]
fn audit_r_e6_targets_of_other_schemes_are_refused() {
    for (target, is_encrypted, is_web, is_foreign) in [
        ("/cat?query=a", false, false, false),
        ("http://lib.example/cat", false, false, false),
        ("http://lib.example/cat", true, true, false),
        ("https://lib.example/cat", false, false, true),
        ("https://lib.example/", false, true, true),
        ("https://lib.example/cat", true, false, false),
        ("HTTPS://lib.example/cat", true, false, false),
        ("ftp://lib.example/cat", false, false, true),
        ("ftp://lib.example/cat", true, false, true),
        // The gateway itself explains why it does not fetch the URL.
        ("ftp://lib.example/cat", false, true, false),
        ("z39.50r://lib.example/cat?id7", false, true, false),
        ("z39.50r://lib.example/cat?id7", false, false, true),
    ] {
        let uri = target.parse().expect(target);
        let problem = foreign(&uri, is_encrypted, is_web);
        let status = problem.map(|problem| problem.status);
        let expected = is_foreign.then_some(StatusCode::BAD_REQUEST);
        assert_eq!(status, expected, "{target} {is_encrypted} {is_web}");
    }
}

#[test]
fn the_host_names_the_server() {
    for (host, expected) in [
        ("lib.example", ("lib.example", None)),
        ("lib.example:2100", ("lib.example", Some(2100))),
        ("lib.example:65535", ("lib.example", Some(65535))),
        ("lib.example:", ("lib.example", None)),
        ("127.0.0.1:80", ("127.0.0.1", Some(80))),
        ("[::1]:2100", ("[::1]", Some(2100))),
    ] {
        let read = heading(&format!("GET / HTTP/1.1\nHost: {host}")).expect("a heading");
        assert_eq!((read.authority.0.as_str(), read.authority.1), expected);
    }
    for refused in [
        "user@lib.example",
        "127.0.0.1:2100@lib.example",
        "lib.example:65536",
        "lib.example:2100:1",
        "lib.example:x",
        "lib example",
    ] {
        let read = heading(&format!("GET / HTTP/1.1\nHost: {refused}"));
        assert_eq!(
            read.err().map(|it| it.status.as_u16()),
            Some(400),
            "{refused}"
        );
    }
}

#[test]
fn pages_are_not_for_scripts_of_other_sites() {
    for (origin, is_taken) in [
        ("", true),
        ("Origin: http://lib.example:2100", true),
        ("Origin: https://LIB.example:2100", true),
        ("Origin: http://lib.example", false),
        ("Origin: http://evil.example:2100", false),
        ("Origin: http://lib.example:2100@evil.example", false),
        ("Origin: null", false),
    ] {
        let head = format!("GET /search?q=a HTTP/1.1\nHost: lib.example:2100\n{origin}");
        let read = heading_of(head.trim_end(), true);
        let status = read.err().map(|problem| problem.status.as_u16());
        assert_eq!(status, (!is_taken).then_some(403), "{origin}");
        assert!(heading_of(head.trim_end(), false).is_ok(), "SRU: {origin}");
    }
}

#[test]
fn basic_credentials_are_decoded() {
    let with = |credentials: &str| {
        heading(&format!(
            "GET / HTTP/1.1\nHost: a\nAuthorization: {credentials}"
        ))
        .map(|heading| heading.login.map(|login| (login.user, login.password)))
        .map_err(|problem| problem.status.as_u16())
    };
    let pair = |user: &str, password: &str| Ok(Some((user.to_owned(), password.to_owned())));
    assert_eq!(with("Basic YTpi"), pair("a", "b"));
    assert_eq!(with("basic  YTpiOmM="), pair("a", "b:c"));
    assert_eq!(with("Basic w6k6"), pair("é", ""));
    for wrong in [
        "Basic YWI=",
        "Basic !",
        "Basic",
        "Digest YTpi",
        "Basic 6To=",
    ] {
        assert_eq!(with(wrong), Err(401), "{wrong}");
    }
}

#[test]
fn lengths_are_found_in_octets() {
    for (octets, expected) in [
        (&b"POST / HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\n"[..], true),
        (b"POST / HTTP/1.1\nContent-Length:3\n\n", true),
        (b"\r\n\nPOST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", true),
        (b"POST / HTTP/1.1\r\nA: b\r\n\r\nContent-Length: 3", false),
        (b"", false),
    ] {
        assert_eq!(names_length(octets), expected, "{octets:?}");
    }
}

#[test]
fn bodies_are_forms_in_utf8_or_soap() {
    let form = "application/x-www-form-urlencoded";
    for (fields, expected) in [
        (format!("Content-Type: {form}"), Ok(Carrier::Form)),
        (
            format!("Content-Type: {form}; charset=\"utf-8\""),
            Ok(Carrier::Form),
        ),
        (
            format!("Content-Type: {form};a=b;CHARSET=US-ASCII"),
            Ok(Carrier::Form),
        ),
        (
            format!("Content-Type: {form}; charset=ISO-8859-1"),
            Err(415),
        ),
        (format!("Content-Type: {form}; a=b; charset"), Err(415)),
        (
            "Content-Type: text/xml; charset=iso-8859-1".to_owned(),
            Ok(Carrier::Soap),
        ),
        (
            format!("Content-Type: {form}\nContent-Encoding: identity"),
            Ok(Carrier::Form),
        ),
        (
            format!("Content-Type: {form}\nContent-Encoding: gzip"),
            Err(415),
        ),
        (
            format!("Content-Type: {form}\nExpect: 100-Continue"),
            Ok(Carrier::Form),
        ),
        (format!("Content-Type: {form}\nExpect: 200-ok"), Err(417)),
        ("A: b".to_owned(), Err(415)),
    ] {
        let read = heading(&format!("POST / HTTP/1.1\nHost: a\n{fields}"));
        let read = read.map(|heading| heading.carrier);
        assert_eq!(
            read.map_err(|problem| problem.status.as_u16()),
            expected,
            "{fields}"
        );
    }
}
