//! Tests of messages as lines, with and without secrets.

use serde_json::json;

use super::super::json_line;
use super::*;

fn entry(head: &str, body: &[u8]) -> HttpEntry {
    HttpEntry {
        time: SystemTime::UNIX_EPOCH,
        session: 3,
        direction: Direction::Received,
        message: HttpMessage {
            head: head.to_owned(),
            body: Bytes::copy_from_slice(body),
        },
    }
}

#[test]
fn messages_are_read_back() {
    for (head, body) in [
        ("GET /cat?query=a HTTP/1.1\nhost: a\n", &b""[..]),
        (
            "HTTP/1.1 200 OK\ncontent-type: text/xml\n",
            b"<a>\xc3\xa9</a>",
        ),
        ("HTTP/1.1 200 OK\n", b"\xe9\xff"),
    ] {
        let mut entry = entry(head, body);
        entry.direction = Direction::Sent;
        let read = HttpEntry::from_json(&entry.to_json());
        assert_eq!(read, Ok(Some(entry)));
    }
    for (object, expected) in [
        (json!({"octets": ""}), Ok(None)),
        (json!({"head": 1}), Err("head is not a text")),
        (json!({"head": "", "body": 1}), Err("body is not a text")),
        (
            json!({"head": "", "body-octets": "f"}),
            Err("body-octets are not in hexadecimal"),
        ),
        (json!({"head": ""}), Err("session is not a number")),
        (
            json!({"head": "", "session": 1}),
            Err("direction is neither received nor sent"),
        ),
    ] {
        assert_eq!(HttpEntry::from_json(&object), expected, "{object}");
    }
}

#[test]
fn audit_r_x3_tokens_are_left_out_in_both_directions() {
    let names = [
        "x-info-2-auth1.0-authenticationToken",
        "x-token",
        "x-api_key",
        "x-Client-Secret",
    ];
    for name in names {
        for (head, body) in [
            (
                format!("GET /cat?query=a&{name}=opensesame HTTP/1.1\n"),
                String::new(),
            ),
            (
                format!("HTTP/1.1 302 Found\nlocation: /cat?{name}=opensesame&a=b\n"),
                String::new(),
            ),
            (
                "POST / HTTP/1.1\n".to_owned(),
                format!("{name}=opensesame&query=a"),
            ),
            (
                "POST / HTTP/1.1\n".to_owned(),
                format!("<a><b:{name}>opensesame</b:{name}></a>"),
            ),
            (
                "HTTP/1.1 200 OK\n".to_owned(),
                format!(
                    "<a><b>{name}=opensesame</b><{}>opensesame</{}></a>",
                    &name[2..],
                    &name[2..]
                ),
            ),
        ] {
            for direction in Direction::ALL {
                let mut entry = entry(&head, body.as_bytes());
                entry.direction = direction;
                for text in [
                    entry.to_json().to_string(),
                    entry.to_string(),
                    format!("{entry:?}"),
                ] {
                    assert!(!text.contains("opensesame"), "{name}: {text}");
                    assert!(text.contains('*'), "{name}: {text}");
                }
            }
        }
    }
}

#[test]
fn audit_r_x9_lines_change_nothing_on_a_terminal() {
    let words = "a\u{1b}[31m\u{9b}2J\u{202e}b\u{2066}\u{2028}";
    let entry = entry(&format!("GET /?query={words} HTTP/1.1\n"), words.as_bytes());
    let line = json_line(&entry.to_json());
    for text in [line.clone(), entry.to_string(), format!("{entry:?}")] {
        let is_bad = |one: char| z3950_marc::text::is_unprintable(one) && one != '\n';
        assert!(!text.contains(is_bad), "{text:?}");
    }
    let read: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(HttpEntry::from_json(&read), Ok(Some(entry)));
}

#[test]
fn secrets_are_left_out() {
    for (head, body, expected) in [
        (
            "GET /cat?query=a&x-info-2-auth1.0-authenticationToken=S1&wskey=S2&token=S3 HTTP/1.1\nX-Api-Key: S4\nCookie2: S5\n\
             X-Auth-Token: S6\nWWW-Authenticate: Basic realm=\"cat\"\n",
            "",
            "authenticationToken=*&wskey=*&token=* HTTP/1.1\nX-Api-Key: *\nCookie2: *\nX-Auth-Token: *\n\
             WWW-Authenticate: Basic realm=\"cat\"\n",
        ),
        (
            "CONNECT ann:S1@h:80 HTTP/1.1\nHost: ann:S2@h\n",
            "",
            "CONNECT *@h:80 HTTP/1.1\nHost: *@h\n",
        ),
        (
            "GET //ann:S1@h/books?a=b@c HTTP/1.1\n",
            "",
            "GET //*@h/books?a=b@c HTTP/1.1\n",
        ),
        (
            "GET /cat?x-username=ann&x-password=opensesame&query=a HTTP/1.1\nHost: a\n",
            "",
            "x-username=ann&x-password=*&query=a HTTP/1.1\nHost: a\n",
        ),
        (
            "GET /cat?X%2dPassword=opensesame HTTP/1.1\n",
            "",
            "X%2dPassword=* HTTP/1.1",
        ),
        (
            "GET / HTTP/1.1\nAUTHORIZATION: Basic opensesame\n",
            "",
            "AUTHORIZATION: *\n",
        ),
        (
            "POST / HTTP/1.1\n",
            "query=a&x-password=opensesame",
            "query=a&x-password=*",
        ),
        (
            "POST / HTTP/1.1\n",
            "<a:x-password b='c'>opensesame</a:x-password><d>e</d>",
            "<a:x-password b='c'>*</a:x-password><d>e</d>",
        ),
        (
            "POST / HTTP/1.1\n",
            " <password>opensesame</password>",
            "<password>*</password>",
        ),
        (
            "POST / HTTP/1.1\n",
            "<password><![CDATA[opensesame]]></password><d>e</d>",
            "<password>*</password><d>e</d>",
        ),
        (
            "POST / HTTP/1.1\n",
            "<a:password><!-- -->open<b/>sesame opensesame</a:password >e",
            "<a:password>*</a:password >e",
        ),
        ("POST / HTTP/1.1\n", "<password/>e", "<password/>e"),
        // Secrets may be in headers.
        (
            "GET / HTTP/1.1\ncookie: session=opensesame\nhost: a\n",
            "",
            "\ncookie: *\nhost: a\n",
        ),
        (
            "HTTP/1.1 200 OK\nset-cookie: session=opensesame; Secure\n",
            "",
            "\nset-cookie: *\n",
        ),
        (
            "GET / HTTP/1.1\nreferer: http://a/b?token=opensesame\n",
            "",
            "\nreferer: *\n",
        ),
        // Secrets may be in URLs, which may be escaped.
        (
            "GET http://ann:opensesame@a/b?c@d HTTP/1.1\n",
            "",
            "GET http://*@a/b?c@d HTTP/1.1\n",
        ),
        (
            "GET /z39.50r://ann:open:opensesame@a:210/b?c HTTP/1.1\nhost: d\n",
            "",
            "GET /z39.50r://*@a:210/b?c HTTP/1.1\nhost: d\n",
        ),
        (
            "GET /?url=z39.50r%3A%2f%2Fann%3Aopensesame%40a%2Fb%3Fc%40d&e=f HTTP/1.1\n",
            "",
            "GET /?url=z39.50r%3A%2f%2F*%40a%2Fb%3Fc%40d&e=f HTTP/1.1\n",
        ),
        (
            "GET /?url=a%253A%252F%252Fann:p%25252Fopensesame%2540a HTTP/1.1\n",
            "",
            "GET /?url=a%253A%252F%252F*%2540a HTTP/1.1\n",
        ),
        (
            "GET /http://http://ann:opensesame@a/ HTTP/1.1\n",
            "",
            "GET /http://http://*@a/ HTTP/1.1\n",
        ),
        (
            "HTTP/1.1 302 Found\nlocation: http://ann:p?opensesame@a/b\n",
            "",
            "\nlocation: http://*@a/b\n",
        ),
        (
            "HTTP/1.1 200 OK\n",
            "<a href=\"ftp://ann:opensesame@a\">b@c</a>",
            "<a href=\"ftp://*@a\">b@c</a>",
        ),
        (
            "POST / HTTP/1.1\n",
            "url=http://ann:opensesame@a",
            "url=http://*@a",
        ),
        ("GET http://a/b@c HTTP/1.1\n", "", "GET http://a/b@c HTTP"),
        ("GET /a:/b@c%4 HTTP/1.1\n", "", "GET /a:/b@c%4 HTTP"),
        // A body in an unknown format is redacted completely, but XML is not.
        (
            "POST / HTTP/1.1\ncontent-type: text/plain\n",
            "opensesame",
            "\n\n**********",
        ),
        ("POST / HTTP/1.1\n", "opensesame\0", "\n\n***********"),
        (
            "POST / HTTP/1.1\nContent-Type: Text/XML\n",
            "<a>b</a>",
            "<a>b</a>",
        ),
        (
            "POST / HTTP/1.1\n",
            "<passwords>opensesame</passwords>",
            "<passwords>*</passwords>",
        ),
        // These are not names for secrets.
        (
            "POST / HTTP/1.1\n",
            "<passages>a</passages>",
            "<passages>a</passages>",
        ),
        ("POST / HTTP/1.1\n", "a=b&c", "a=b&c"),
        ("POST / HTTP/1.1\n", "%=b&%é=c", "%=b&%é=c"),
    ] {
        let entry = entry(head, body.as_bytes());
        let shown = format!("{entry:?}");
        assert!(shown.contains(expected), "{shown}");
        let line = entry.to_json().to_string();
        assert!(!line.contains(&hex::digits(b"opensesame")), "{line}");
        for text in [shown, line] {
            assert!(!text.contains("opensesame"), "{text}");
        }
    }
}
